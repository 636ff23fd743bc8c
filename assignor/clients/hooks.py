"""Adds a coroutine before or after an asynchronous method of a client library."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

AsyncCall = Callable[..., Awaitable[Any]]


def run_before(first: Callable[[], Awaitable[None]], original: AsyncCall) -> AsyncCall:
    """Return a method that awaits ``first``, then the original, which runs also if ``first`` raises."""

    @wraps(original)
    async def hooked(*arguments: Any, **settings: Any) -> Any:
        try:
            await first()
        finally:
            result = await original(*arguments, **settings)
        return result

    return hooked


def run_after(original: AsyncCall, then: Callable[[], Awaitable[None]]) -> AsyncCall:
    """Return a method that awaits the original, then ``then``, which runs also if the original raises."""

    @wraps(original)
    async def hooked(*arguments: Any, **settings: Any) -> Any:
        try:
            return await original(*arguments, **settings)
        finally:
            await then()

    return hooked
