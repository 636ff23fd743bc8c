"""Exceptions that a signal handler raises, such as ``KeyboardInterrupt``, in the middle of this project's own steps.

Python runs a handler on the main thread, when a function begins, after a call, and at the end of a round of a loop; not
between two assignments, and not within a call of C. So a step is whole if it is one call of C, or assignments only.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Any, Final, TypeVar

T = TypeVar("T")
_FUNCTION_BEGINS: Final = dis.opmap["RESUME"]
_WAIT_SECONDS: Final = 0.5


def has_begun(call: Callable[..., object], trace: TracebackType | None) -> bool:
    """Whether the first line of a function was reached, given the traceback of an exception caught beside its call.

    A signal handler runs before that line, too, and its own frame is then the next one of the traceback.
    """
    assert trace is not None, "an exception that was caught has one"
    function: Any = call
    while isinstance(function, partial):
        function = function.func
    called = trace.tb_next
    if called is None or called.tb_frame.f_code is not function.__code__:
        return False
    opcode: int = called.tb_frame.f_code.co_code[called.tb_lasti]
    return opcode != _FUNCTION_BEGINS


def interruptible(call: Callable[[], T]) -> T:
    """Return what a function returns that waits in C for a broker, where Ctrl-C has no effect before the end.

    An interrupted call goes on in its thread, with all objects that it uses, until it or the process ends.
    """
    result = Future[T]()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:  # raised in the caller's thread
            result.set_exception(error)

    Thread(target=run, daemon=True).start()
    while not result.done():  # a signal that comes just before a wait begins has its effect at the end of the wait
        wait((result,), _WAIT_SECONDS)
    return result.result()
