"""Exceptions that a signal handler raises, such as ``KeyboardInterrupt``, in the middle of this project's own steps.

Python runs a handler on the main thread, when a function begins, after a call, and at the end of a round of a loop; not
between two assignments, and not within a call of C. So a step is whole if it is one call of C, or assignments only.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Final

_FUNCTION_BEGINS: Final = dis.opmap["RESUME"]


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
