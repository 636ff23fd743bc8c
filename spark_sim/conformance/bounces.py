"""Finds rolling bounces in the records of a Kafka Streams group, while the records go by.

A *span* begins with the generation before the first in which a member is gone or a member sends other versions. It ends

- before the next such change, as soon as no member of its first generation is left, there are as many as then, and
  all send the same versions;
- before a pause (``PAUSE_MS``, or ``MIXED_PAUSE_MS`` while members send different versions);
- when the group is empty, deleted, or has another protocol.

A span is a rolling bounce if its members send different versions, or if none of its first members is left at the end:
releases that send the same versions show as restarts only. A span in which some members left, failed or came is none.
Until a span begins, only the last generation of a group is kept; then all of them, in a file.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

from attrs import define, evolve, field, fields, frozen

from streams_assignor.groups.capture import Capture, GenerationRecord
from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.groups.member import decode_members
from streams_assignor.protocol import PROTOCOL_NAME
from streams_assignor.spark_sim.conformance._identity import Incarnation, identify_members
from streams_assignor.spark_sim.conformance.messages import SubscriptionMessage, decode_subscription_message
from streams_assignor.upgrade.input_values import parse_json

PAUSE_MS: Final = 3_600_000
"""A rolling bounce without a restart for an hour is over, unless members still send different versions."""
MIXED_PAUSE_MS: Final = 86_400_000
MOST_JOINS: Final = 20_000
"""Members of all generations of a span; of a larger one only the numbers are kept."""

_CACHED: Final = 4096
"""A record is compared with the one before: its members are decoded once."""
SentVersions = tuple[int, ...]
"""Facts that tell releases apart: used, supported and consumer protocol version; () if unreadable."""


_TEXTS: Final = ("member_id", "client_id", "group_instance_id")
_MESSAGES: Final = ("subscription", "assignment")


@define
class RecordFile:
    """Generations in a file of this process; spans have their places."""

    path: Path
    _file: IO[bytes] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._file = self.path.open("w+b")

    def append(self, record: GenerationRecord) -> int:
        """Write a generation, and return its place."""
        place = self._file.seek(0, 2)
        self._file.write(_line(record))
        return place

    def read(self, places: Iterable[int]) -> Iterator[GenerationRecord]:
        """Yield the generations of these places."""
        self._file.flush()
        return _read(self._file, places)

    def close(self) -> None:
        """Close the file; captures of its places can be loaded."""
        self._file.close()


@frozen
class StoredCapture:
    """The generations of a bounce, in a file."""

    path: Path
    places: tuple[int, ...]

    def load(self) -> Capture:
        """Read them."""
        with self.path.open("rb") as file:
            return Capture(generations=tuple(_read(file, self.places)))


def _read(file: IO[bytes], places: Iterable[int]) -> Iterator[GenerationRecord]:
    for place in places:
        file.seek(place)
        yield _record(file.readline())


def _line(record: GenerationRecord) -> bytes:
    """Return a generation as a line of JSON, whatever texts it has."""
    members = [[getattr(member, name) for name in _TEXTS] + [_hex(member)] for member in record.members]
    return json.dumps([record.number, record.leader, members]).encode() + b"\n"


def _hex(member: DescribedGroupMember) -> list[str]:
    return [getattr(member, name).hex() for name in _MESSAGES]


def _record(line: bytes) -> GenerationRecord:
    number, leader, members = parse_json(line)
    return GenerationRecord(number=number, leader=leader, members=tuple(map(_member, members)))


def _member(values: Sequence[Any]) -> DescribedGroupMember:
    *texts, messages = values
    named: dict[str, Any] = dict(zip(_TEXTS, texts, strict=True))
    named |= zip(_MESSAGES, map(bytes.fromhex, messages), strict=True)
    return DescribedGroupMember(**named)


@frozen(kw_only=True)
class Bounce:
    """A rolling bounce of a group."""

    group: str
    first_generation: int
    last_generation: int
    from_time: int
    until_time: int
    from_releases: str
    """Releases that send the versions of its first members."""
    to_releases: str
    joins: int
    """Members of all generations."""
    capture: Capture | StoredCapture | None
    """All its generations; None if they are too many."""

    def loaded(self) -> Bounce:
        """Return it with its generations in memory."""
        return evolve(self, capture=self.capture.load()) if isinstance(self.capture, StoredCapture) else self

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; its generations are in the file of its finder, at these places."""
        values = {member.name: getattr(self, member.name) for member in fields(Bounce)}
        return values | {"capture": self.capture.places if isinstance(self.capture, StoredCapture) else None}

    @classmethod
    def of_json(cls, values: Mapping[str, Any], file: Path) -> Bounce:
        """Return the bounce of JSON values; ``file`` has its generations."""
        places = values["capture"]
        return cls(**{**values, "capture": None if places is None else StoredCapture(file, tuple(places))})


@define
class _Span:
    """The generations of a group since a span may have begun; the last one is not yet in the file."""

    file: RecordFile
    first: GenerationRecord
    first_time: int
    last: GenerationRecord
    last_time: int
    joins: int
    versions: set[SentVersions]
    places: array[int] = field(factory=lambda: array("q"))
    """The places of the generations before the last one; none if there are too many."""

    @classmethod
    def of(cls, file: RecordFile, record: GenerationRecord, time: int) -> _Span:
        """Return the span of one generation."""
        return cls(file, record, time, record, time, len(record.members), _versions(record))

    def append(self, record: GenerationRecord, time: int) -> None:
        """Take the next generation."""
        if not self.is_too_large:
            self.places.append(self.file.append(self.last))
        self.last, self.last_time = record, time
        self.joins += len(record.members)
        self.versions |= _versions(record)

    @property
    def is_too_large(self) -> bool:
        return self.joins > MOST_JOINS

    @property
    def is_complete(self) -> bool:
        """Whether as many members as at first are there, none of the first ones, and all send the same versions."""
        if len(self.last.members) < len(self.first.members) or len(_versions(self.last)) > 1:
            return False
        return _ids(self.first).isdisjoint(_ids(self.last)) and self.replaces_all_members

    @property
    def replaces_all_members(self) -> bool:
        """Whether no member of the first generation is in the last one. A member may change its member id."""
        before = [self.first] if self.is_too_large else self.file.read(self.places)
        first, last = _members_of_ends([*before, self.last])
        return first.isdisjoint(last)

    def is_over(self, time: int) -> bool:
        """Whether a record at this time is after a pause."""
        return time - self.last_time > (MIXED_PAUSE_MS if len(_versions(self.last)) > 1 else PAUSE_MS)

    def bounce(self, group: str) -> Bounce | None:
        """Return the rolling bounce that it is; None if it is none."""
        if len(self.versions) == 1 and not self.replaces_all_members:
            return None
        return Bounce(
            group=group,
            first_generation=self.first.number,
            last_generation=self.last.number,
            from_time=self.first_time,
            until_time=self.last_time,
            from_releases=_releases(self.first),
            to_releases=_releases(self.last),
            joins=self.joins,
            capture=None if self.is_too_large else self._stored(),
        )

    def _stored(self) -> StoredCapture:
        return StoredCapture(self.file.path, (*self.places, self.file.append(self.last)))


@define
class BounceFinder:
    """Follows one group."""

    group: str
    file: RecordFile
    _span: _Span | None = None
    """The last generation only, unless ``_begun``."""
    _begun: bool = False

    def on_group_metadata(self, time: int, value: Mapping[str, Any] | None) -> Bounce | None:
        """Take the ``GroupMetadata`` record of a classic group; return the bounce that ends before it."""
        if value is None or not value["members"] or value["protocol"] != PROTOCOL_NAME:
            return self.close()
        record, ended = _generation_record(value), None
        if self._span:
            change = _has_change(self._span.last, record)
            if self._begun and (self._span.is_over(time) or (change and self._span.is_complete)):
                last, last_time, ended = self._span.last, self._span.last_time, self.close()
                self._append(last, last_time)
            if not self._begun and not change:
                self._span = None
            self._begun = self._begun or change
        self._append(record, time)
        return ended

    def close(self) -> Bounce | None:
        """Return the bounce that is open at the end, and forget it."""
        ended = self._span.bounce(self.group) if self._span and self._begun else None
        self._span, self._begun = None, False
        return ended

    def _append(self, record: GenerationRecord, time: int) -> None:
        if self._span is None:
            self._span = _Span.of(self.file, record, time)
        else:
            self._span.append(record, time)
        self._begun = self._begun or len(self._span.versions) > 1


@define
class BounceFinders:
    """Follows all groups of a partition."""

    keeps_group: Callable[[str], bool]
    file: RecordFile
    _finders: dict[str, BounceFinder] = field(factory=dict)
    _found: list[Bounce] = field(factory=list)

    def on_group_metadata(self, group: str, time: int, value: Mapping[str, Any] | None) -> None:
        """Take a ``GroupMetadata`` record."""
        if not self.keeps_group(group):
            return
        finder = self._finders.get(group) or self._finders.setdefault(group, BounceFinder(group, self.file))
        if ended := finder.on_group_metadata(time, value):
            self._found.append(ended)

    def close(self) -> list[Bounce]:
        """Return all bounces, also those that are open at the end."""
        open_ones = [finder.close() for finder in self._finders.values()]
        self.file.close()
        return [*self._found, *(bounce for bounce in open_ones if bounce)]


def _has_change(before: GenerationRecord, after: GenerationRecord) -> bool:
    """Whether a member is gone, or one sends versions that none has sent."""
    if not _versions(after) <= _versions(before):
        return True
    return not _ids(before) <= _ids(after) and not _keeps_all_members((before, after))


def _ids(record: GenerationRecord) -> set[str]:
    return {member.member_id for member in record.members}


def _versions(record: GenerationRecord) -> set[SentVersions]:
    return {_sent_versions(member.subscription) for member in record.members}


@lru_cache(maxsize=_CACHED)
def _sent_versions(subscription: bytes) -> SentVersions:
    """Return the versions of a subscription; a version that a leader has lowered counts as the supported one."""
    sent = decode_subscription_message(subscription)
    if not isinstance(sent, SubscriptionMessage):
        return ()
    used = sent.supported_version if sent.is_probeable else sent.used_version
    return used, sent.supported_version, sent.consumer_protocol_version


def _keeps_all_members(generations: Sequence[GenerationRecord]) -> bool:
    """Whether all members of the first generation are in the last one, maybe under other member ids."""
    first, last = _members_of_ends(generations)
    return first <= last


def _members_of_ends(generations: Sequence[GenerationRecord]) -> tuple[set[Incarnation], set[Incarnation]]:
    incarnations = identify_members(Capture(generations=tuple(generations)))
    return set(incarnations[0].values()), set(incarnations[-1].values())


def _releases(record: GenerationRecord) -> str:
    """Return the releases that send the versions of the members."""
    subscriptions = (member.subscription for member in decode_members(record.members, streams=True))
    return "; ".join(sorted({str(sent.candidate_releases) for sent in subscriptions}))


def _generation_record(value: Mapping[str, Any]) -> GenerationRecord:
    return GenerationRecord(
        number=value["generation"],
        leader=value["leader"] or None,
        members=tuple(
            DescribedGroupMember(
                member_id=member["memberId"],
                client_id=member["clientId"],
                group_instance_id=member.get("groupInstanceId"),
                subscription=member["subscription"],
                assignment=member["assignment"],
            )
            for member in value["members"]
        ),
    )
