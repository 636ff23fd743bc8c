"""Reads the capture of a real group: the members of each generation, their subscriptions and their assignments.

``Capture.parse`` refuses a file with anything invalid in it. ``JsonNode`` reads a file value by value, for a reader
that shows the valid members beside invalid ones. The file is JSON. Only ``generations`` is required; ``steps`` and
``snapshots`` describe which release was started when. The format is described in docs/how-to/conformance.md.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from attrs import frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.protocol import PROTOCOL_NAME
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

_T = TypeVar("_T")
_MISSING: Final = object()
_LAST_GENERATION: Final = 2**31 - 1


class InvalidCapture(StreamsAssignorError, ValueError):
    """A file that is not a capture; the message names the expected value, the actual value and the place."""


def instance_prefix(instance: int) -> str:
    """Return the prefix of the client ids of an instance."""
    return f"peer-{instance}-"


@frozen(kw_only=True)
class GenerationRecord:
    """One record of the group, with messages as bytes: a replay gives the same bytes to simulated members."""

    number: int
    leader: str | None
    """The leader's member id; None for an empty group."""
    members: tuple[DescribedGroupMember, ...]
    """With their messages. The client id is empty if it is unknown; the assignment, if the leader sent none."""

    @property
    def has_assignments(self) -> bool:
        """Whether the record contains assignments."""
        return any(record.assignment for record in self.members)


@frozen(kw_only=True)
class StartSnapshot:
    """The group after the start of one instance."""

    step: str
    """The release and configuration of the started instance."""
    instance: int
    member_ids: frozenset[str]
    terminated_instances: tuple[int, ...]
    """Instances whose process had ended by itself."""
    quiescent: bool
    """Whether the group was stable."""

    def is_started_client(self, client: str) -> bool:
        """Whether a client id belongs to the started instance."""
        return client.startswith(instance_prefix(self.instance))


@frozen(kw_only=True)
class Capture:
    """A whole file."""

    generations: tuple[GenerationRecord, ...]
    steps: tuple[str, ...] = ()
    """The releases in order, each with its configuration: ``2.4.1,upgrade.from=2.3``."""
    snapshots: tuple[StartSnapshot, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Capture:
        """Parse a file.

        Raises:
            InvalidCapture: the text is not a capture.
        """
        top = JsonNode.parse(text)
        generations = top.each("generations", _generation)
        _check_order(generations)
        return cls(
            generations=generations,
            steps=top.each("steps", JsonNode.text) if "steps" in top else (),
            snapshots=top.each("snapshots", _snapshot) if "snapshots" in top else (),
        )


def _check_order(generations: Sequence[GenerationRecord]) -> None:
    for at, (before, after) in enumerate(itertools.pairwise(generations), start=1):
        if after.number < before.number:
            raise InvalidCapture(
                f"expected the oldest generation first, but generations[{at}] is {after.number} after {before.number}"
            )


def _generation(node: JsonNode) -> GenerationRecord:
    protocol = node.get("protocol", None, "a text or null", str, type(None))
    if protocol not in (PROTOCOL_NAME, None):
        node.reject("protocol", f"{PROTOCOL_NAME!r}, the protocol of Kafka Streams", protocol)
    number = node.get("generation", _MISSING, "a number", int)
    if not 0 <= number <= _LAST_GENERATION:
        node.reject("generation", f"a number from 0 to {_LAST_GENERATION}", number)
    leader = node.get("leader", None, "a member id or null", str, type(None)) or None
    records = node.each("members", _member_record)
    if len({record.member_id for record in records}) < len(records):
        node.reject("members", "members with different ids", [record.member_id for record in records])
    return GenerationRecord(number=number, leader=leader, members=records)


def _member_record(node: JsonNode) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=node.get("member_id", _MISSING, "a text", str),
        client_id=node.get("client_id", "", "a text", str, type(None)) or "",
        group_instance_id=node.get("group_instance_id", None, "a text or null", str, type(None)),
        subscription=node.hex_bytes("subscription"),
        assignment=node.hex_bytes("assignment") if node.is_present("assignment") else b"",
    )


def _snapshot(node: JsonNode) -> StartSnapshot:
    return StartSnapshot(
        step=node.get("step", _MISSING, "a text", str),
        instance=node.get("instance", _MISSING, "a number", int),
        member_ids=frozenset(node.each("members", lambda member: member.get("member_id", _MISSING, "a text", str))),
        terminated_instances=node.each("dead", JsonNode.number) if "dead" in node else (),
        quiescent=node.get("settled", True, "true or false", bool),
    )


class JsonNode:
    """A JSON value with its path in the file."""

    def __init__(self, place: str, value: Any) -> None:
        self._place = place
        self._value = value

    @classmethod
    def parse(cls, text: str) -> JsonNode:
        """Parse a file; ``InvalidCapture`` if it is not JSON."""
        try:
            return cls("", parse_json(text))
        except InvalidInput as error:
            raise InvalidCapture(str(error)) from None

    def __contains__(self, key: str) -> bool:
        return isinstance(self._value, Mapping) and key in self._value

    def get(self, key: str, default: Any, expected: str, *types: type) -> Any:
        """Return a value of one of the types; with ``_MISSING`` as default it is required."""
        if not isinstance(self._value, Mapping):
            raise InvalidCapture(f"expected an object{self._where()}, got {_preview(self._value)}")
        value = self._value.get(key, default)
        if not isinstance(value, types) or (isinstance(value, bool) and not {bool, object} & {*types}):
            self.reject(key, expected, value)
        return value

    def value(self, key: str) -> Any:
        """Return the value at a key, whatever it is; None without one.

        >>> node = JsonNode("", {"leader": "A"})
        >>> node.value("leader"), node.value("generation")
        ('A', None)
        """
        return self.get(key, None, "", object)

    def each(self, key: str, read: Callable[[JsonNode], _T]) -> tuple[_T, ...]:
        """Return the items of a required list."""
        values: Sequence[Any] = self.get(key, _MISSING, "a list", list)
        return tuple(read(JsonNode(f"{self._inside(key)}[{number}]", value)) for number, value in enumerate(values))

    def is_present(self, key: str) -> bool:
        """Whether there is a value other than null at a key."""
        return key in self and self._value[key] is not None

    def hex_bytes(self, key: str) -> bytes:
        """Return the bytes of a required hex text."""
        text = self.get(key, _MISSING, "hex", str)
        try:
            return bytes.fromhex(text)
        except ValueError:
            self.reject(key, "hex", text)

    def text(self) -> str:
        """Return the value itself as text."""
        if not isinstance(self._value, str):
            raise InvalidCapture(f"expected a text{self._where()}, got {_preview(self._value)}")
        return self._value

    def number(self) -> int:
        """Return the value itself as an integer."""
        if not isinstance(self._value, int) or isinstance(self._value, bool):
            raise InvalidCapture(f"expected a number{self._where()}, got {_preview(self._value)}")
        return self._value

    def reject(self, key: str, expected: str, got: object) -> NoReturn:
        """Raise ``InvalidCapture`` with the expected and the actual value at a key."""
        came = "nothing" if got is _MISSING else _preview(got)
        raise InvalidCapture(f"expected {expected} at {self._inside(key)}, got {came}")

    def _inside(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def _where(self) -> str:
        return f" at {self._place}" if self._place else ""


def _preview(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
