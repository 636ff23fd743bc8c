"""A member of a group as a process of its own: how it is told what to be, and what it tells in return.

Both sides of the pipe are written here once: `MemberSettings` becomes the arguments of ``streams-assignor member``, and
each event becomes one line of JSON, ``{"event": "assigned", "time": ..., ...}``, on its standard output.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

from attrs import Attribute, field, fields, frozen

from assignor.member import Received
from upgrade.releases import OURS


@frozen(kw_only=True)
class MemberSettings:
    """What the ``member`` command is told; an attribute is the option of that name."""

    bootstrap_servers: str
    group: str
    topic: tuple[str, ...]
    release: str = OURS.name
    upgrade_from: str | None = None
    standbys: int = 0
    application_server: str = ""
    session_timeout_ms: int = 10_000
    api_version: str | None = None

    def arguments(self) -> list[str]:
        """Write them as a command line.

        >>> MemberSettings(bootstrap_servers="b:1", group="g", topic=("t", "u")).arguments()[4:8]
        ['--topic', 't', '--topic', 'u']
        """
        given = {name: value for name, value in _values(self).items() if value not in ("", None)}
        return [
            argument
            for name, value in given.items()
            for one in (value if isinstance(value, tuple) else (value,))
            for argument in (f"--{name.replace('_', '-')}", str(one))
        ]


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(names)


@frozen
class Started:
    """The process runs and is about to join."""

    kind: ClassVar = "started"
    release: str
    upgrade_from: str | None
    process_id: str


@frozen
class Subscribed:
    """It sends its subscription in a JoinGroup."""

    kind: ClassVar = "subscribed"
    used: int
    supported: int


@frozen
class Assigned:
    """It took an assignment; with `rejoin` it is going to rejoin at once, so the group has not settled."""

    kind: ClassVar = "assigned"
    generation: int
    member_id: str
    leader: bool
    version: int
    supported: int
    active: tuple[str, ...] = field(converter=_names)
    standby: tuple[str, ...] = field(converter=_names)
    rejoin: bool

    @classmethod
    def of(cls, received: Received, *, generation: int, member_id: str, leader: bool) -> Assigned:
        """Tell what a member received."""
        return cls(
            generation=generation,
            member_id=member_id,
            leader=leader,
            version=received.version,
            supported=received.supported,
            active=[str(task) for task in sorted(received.active)],
            standby=[str(task) for task in sorted(received.standby)],
            rejoin=received.rejoin is not None,
        )


@frozen
class Rejoin:
    """The negotiation of the version makes it rejoin."""

    kind: ClassVar = "rejoin"
    how: str


@frozen
class Revoked:
    """It gave its partitions back, before it rejoins."""

    kind: ClassVar = "revoked"
    partitions: tuple[str, ...] = field(converter=_names)


@frozen
class Processed:
    """It processed all records of a partition between two offsets, both included."""

    kind: ClassVar = "processed"
    partition: str
    first: int = field(metadata={"key": "from"})
    last: int = field(metadata={"key": "to"})


@frozen
class Failed:
    """It dies of this."""

    kind: ClassVar = "failed"
    error: str


@frozen
class Stopped:
    """It left the group because it was told to; the last line."""

    kind: ClassVar = "stopped"
    reason: str


Event = Started | Subscribed | Assigned | Rejoin | Revoked | Processed | Failed | Stopped

KINDS: Final[Mapping[str, type[Event]]] = MappingProxyType(
    {event.kind: event for event in (Started, Subscribed, Assigned, Rejoin, Revoked, Processed, Failed, Stopped)}
)


def to_line(event: Event, time: float) -> str:
    """Write an event as a line of JSON, without the end of the line.

    >>> to_line(Processed("orders-0", 3, 5), time=1.5)
    '{"event": "processed", "time": 1.5, "partition": "orders-0", "from": 3, "to": 5}'
    """
    return json.dumps({"event": event.kind, "time": time, **_values(event)})


def from_line(line: str) -> Event:
    """Read what `to_line` wrote; ``ValueError`` if it is something else.

    >>> from_line('{"event": "processed", "time": 1.5, "partition": "orders-0", "from": 3, "to": 5}')
    Processed(partition='orders-0', first=3, last=5)
    """
    try:
        values = json.loads(line)
        event = KINDS[values["event"]]
        return event(**{attribute.name: values[_key(attribute)] for attribute in fields(event)})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not an event of a member: {line.strip()[:200]!r}") from error


def _values(record: MemberSettings | Event) -> dict[str, Any]:
    return {_key(attribute): getattr(record, attribute.name) for attribute in fields(type(record))}


def _key(attribute: Attribute[Any]) -> str:
    return str(attribute.metadata.get("key", attribute.name))
