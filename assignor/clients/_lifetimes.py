"""Consumers that a child process inherits, and consumers that are dropped without ``close``.

The child of ``os.fork`` has the sockets of its parent and none of its threads: a call of the consumer would block
without limit, or talk to the brokers as the parent.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary, WeakMethod, finalize

from streams_assignor.errors import StreamsAssignorError


class UsedAfterForkError(StreamsAssignorError, RuntimeError):
    """A call of a consumer in a process that was forked from the one that has made it."""


_clients: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()


def forbid_after_fork(client: Any, name: str) -> None:
    """Make each public method of this object raise ``UsedAfterForkError`` in child processes; the text has the name."""
    _clients[client] = (
        f"{name} was made in process {os.getpid()}, from which this one was forked: make another consumer here"
    )


def warn_unless_closed(client: Any, name: str, abandon: Callable[[], object] = lambda: None) -> Callable[[], object]:
    """Return what to call when the client is closed.

    If it is not called, there is a ``ResourceWarning`` when the object is collected, or at the end of this process, and
    ``abandon`` is called, which must not refer to the object.
    """
    return finalize(client, _abandon, os.getpid(), name, abandon).detach


def weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a method while its object exists, and does not keep the object."""
    reference = WeakMethod(method)

    def call(*arguments: Any, **named: Any) -> Any:
        return None if (alive := reference()) is None else alive(*arguments, **named)

    return call


def _abandon(process: int, name: str, abandon: Callable[[], object]) -> None:
    if os.getpid() == process:
        warnings.warn(f"unclosed {name}: call close()", ResourceWarning, stacklevel=2)
        abandon()


def _refuse_calls() -> None:
    for client, error in _clients.items():
        for method in dir(type(client)):
            if not method.startswith("_") and callable(getattr(type(client), method)):
                setattr(client, method, partial(_refuse, error))


def _refuse(error: str, *_: object, **__: object) -> NoReturn:
    raise UsedAfterForkError(error)


os.register_at_fork(after_in_child=_refuse_calls)
