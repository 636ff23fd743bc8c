"""The interface for the bytes after the last field of userdata, where no decoder of Kafka looks.

The protocol carries these bytes, and one extension gives them a meaning: ``upgrade.cluster.client.feature_levels``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, runtime_checkable

from streams_assignor.errors import UsageError


@runtime_checkable
class Extension(Protocol):
    """The extension of one member. Any member of the group can write any bytes: no method fails because of them."""

    def trailing(self) -> bytes:
        """Return the bytes after the last field of the next subscription."""
        ...

    def merge(self, carried: Iterable[bytes]) -> bytes:
        """Return the bytes for all assignments, as leader, given those of all subscriptions."""
        ...

    def on_assignment(self, trailing: bytes) -> None:
        """Take the bytes of an assignment that the member has applied."""
        ...


@runtime_checkable
class ClientExtension(Extension, Protocol):
    """An extension that a client adapter drives, beside the calls of ``Extension``."""

    def attach(
        self,
        call_later: Callable[[float, Callable[[], None]], None],
        rejoin: Callable[[Hashable, Callable[[], bool]], None],
    ) -> None:
        """Keep two functions of the adapter, both for any thread.

        ``call_later(seconds, call)`` calls something on the client's thread. ``rejoin(content, is_due)`` makes the
        member rejoin so that the group carries ``content``: later if it has rejoined for the same before, and then only
        if ``is_due()``.
        """
        ...

    def on_joined(self, *, leads: bool) -> None:
        """The member has applied its assignment; called on the client's thread."""
        ...

    def close(self) -> None:
        """Release what ``attach`` has taken: the membership has ended."""
        ...


def check_extension(extension: object, *, for_client: bool = False) -> None:
    """Raise ``UsageError`` for anything but an extension or None."""
    needed, example = (ClientExtension, "FeatureLevels") if for_client else (Extension, "CarriedLevels")
    if extension is not None and (isinstance(extension, type) or not isinstance(extension, needed)):
        got = f"the class {extension.__name__}" if isinstance(extension, type) else f"a {type(extension).__name__}"
        raise UsageError(f"expected an extension, such as {example}([...]), got {got}")
