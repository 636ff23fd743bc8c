"""A capture of a real group, as values: who was in each generation, what everybody sent, and what the leader answered.

The file is JSON. Only ``generations`` has to be there; ``steps`` and ``snapshots`` say what was started when.
docs/guide/conformance.md describes all of it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from attrs import frozen

from assignor.streams_assignor import NAME

_T = TypeVar("_T")
_MISSING: Final = object()
_LAST_GENERATION: Final = 2**31 - 1


class NotACapture(ValueError):
    """A file that is none; the message names what was expected, what came, and where."""


def instance_prefix(instance: int) -> str:
    """Say how the client ids of an instance begin."""
    return f"peer-{instance}-"


@frozen(kw_only=True)
class Seat:
    """One member in one generation: whole consumer-protocol messages, ``b""`` if nobody has answered it.

    ``instance_id`` is the ``group.instance.id`` of a static member, ``client_id`` may be unknown ("").
    """

    member_id: str
    client_id: str
    instance_id: str | None
    subscription: bytes
    assignment: bytes


@frozen(kw_only=True)
class Generation:
    """One record of the group: its number, the leader's member id (None: nobody is there), and the members."""

    number: int
    leader: str | None
    seats: tuple[Seat, ...]

    @property
    def answered(self) -> bool:
        """Whether the leader's answer is in the record."""
        return any(seat.assignment for seat in self.seats)


@frozen(kw_only=True)
class Snapshot:
    """The group after one start: what was started (``step``) as which instance, and what could be seen then.

    ``dead`` are the instances whose process had ended by itself, ``settled`` says whether the group had come to rest.
    """

    step: str
    instance: int
    members: frozenset[str]
    dead: tuple[int, ...]
    settled: bool

    def is_of(self, client: str) -> bool:
        """Whether the instance that was started has this client id."""
        return client.startswith(instance_prefix(self.instance))


@frozen(kw_only=True)
class Capture:
    """A whole file. ``steps`` are the releases, in order, each with its configuration: ``2.4.1,upgrade.from=2.3``."""

    generations: tuple[Generation, ...]
    steps: tuple[str, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Capture:
        """Read a file; ``NotACapture`` says what is wrong with it."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NotACapture(f"expected JSON: {error}") from None
        top = _Part("", given)
        generations = top.each("generations", _generation)
        _check_order(generations)
        return cls(
            generations=generations,
            steps=top.each("steps", _Part.text) if "steps" in top else (),
            snapshots=top.each("snapshots", _snapshot) if "snapshots" in top else (),
        )


def _check_order(generations: Sequence[Generation]) -> None:
    for at, (before, after) in enumerate(itertools.pairwise(generations), start=1):
        if after.number < before.number:
            raise NotACapture(
                f"expected the oldest generation first, but generations[{at}] is {after.number} after {before.number}"
            )


def _generation(part: _Part) -> Generation:
    protocol = part.get("protocol", None, "a text or null", str, type(None))
    if protocol not in (NAME, None):
        part.refuse("protocol", f"{NAME!r}, which is what members of Kafka Streams speak", protocol)
    number = part.get("generation", _MISSING, "a number", int)
    if not 0 <= number <= _LAST_GENERATION:
        part.refuse("generation", f"a number from 0 to {_LAST_GENERATION}", number)
    leader = part.get("leader", None, "a member id or null", str, type(None)) or None
    seats = part.each("members", _seat)
    if len({seat.member_id for seat in seats}) < len(seats):
        part.refuse("members", "members with different ids", [seat.member_id for seat in seats])
    return Generation(number=number, leader=leader, seats=seats)


def _seat(part: _Part) -> Seat:
    return Seat(
        member_id=part.get("member_id", _MISSING, "a text", str),
        client_id=part.get("client_id", "", "a text", str, type(None)) or "",
        instance_id=part.get("group_instance_id", None, "a text or null", str, type(None)),
        subscription=part.blob("subscription"),
        assignment=part.blob("assignment") if part.has("assignment") else b"",
    )


def _snapshot(part: _Part) -> Snapshot:
    return Snapshot(
        step=part.get("step", _MISSING, "a text", str),
        instance=part.get("instance", _MISSING, "a number", int),
        members=frozenset(part.each("members", lambda member: member.get("member_id", _MISSING, "a text", str))),
        dead=part.each("dead", _Part.number) if "dead" in part else (),
        settled=part.get("settled", True, "true or false", bool),
    )


class _Part:
    """A value somewhere in the file, which knows where it stands."""

    def __init__(self, place: str, value: Any) -> None:
        self._place = place
        self._value = value

    def __contains__(self, key: str) -> bool:
        return isinstance(self._value, Mapping) and key in self._value

    def get(self, key: str, default: Any, expected: str, *types: type) -> Any:
        """Take a value of one of the types; ``_MISSING`` as default: it has to be there."""
        if not isinstance(self._value, Mapping):
            raise NotACapture(f"expected an object{self._where()}, got {_shown(self._value)}")
        value = self._value.get(key, default)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            self.refuse(key, expected, value)
        return value

    def each(self, key: str, read: Callable[[_Part], _T]) -> tuple[_T, ...]:
        """Read a list that has to be there."""
        values: Sequence[Any] = self.get(key, _MISSING, "a list", list)
        return tuple(read(_Part(f"{self._inside(key)}[{number}]", value)) for number, value in enumerate(values))

    def has(self, key: str) -> bool:
        """Whether there is something at a key: null is nothing."""
        return key in self and self._value[key] is not None

    def blob(self, key: str) -> bytes:
        """Read hex that has to be there."""
        text = self.get(key, _MISSING, "hex", str)
        try:
            return bytes.fromhex(text)
        except ValueError:
            self.refuse(key, "hex", text)

    def text(self) -> str:
        """Take the value itself, if it is text."""
        if not isinstance(self._value, str):
            raise NotACapture(f"expected a text{self._where()}, got {_shown(self._value)}")
        return self._value

    def number(self) -> int:
        """Take the value itself, if it is a whole number."""
        if not isinstance(self._value, int) or isinstance(self._value, bool):
            raise NotACapture(f"expected a number{self._where()}, got {_shown(self._value)}")
        return self._value

    def refuse(self, key: str, expected: str, got: object) -> NoReturn:
        """Say what was expected at a key."""
        came = "nothing" if got is _MISSING else _shown(got)
        raise NotACapture(f"expected {expected} at {self._inside(key)}, got {came}")

    def _inside(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def _where(self) -> str:
        return f" at {self._place}" if self._place else ""


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
