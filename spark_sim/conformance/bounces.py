"""Finds rolling bounces in the records of a Kafka Streams group, while the records go by.

A *span* begins with the generation before the first in which a member is gone or a member sends other versions. It ends

- before the next such change, as soon as no member of its first generation is left, there are as many as then, and
  all send the same versions;
- before a pause (``PAUSE_MS``, or ``MIXED_PAUSE_MS`` while members send different versions);
- when the group is empty, deleted, or has another protocol.

A span is a rolling bounce if its members send different versions, or if none of its first members is left at the end:
releases that send the same versions show as restarts only. A span in which some members left, failed or came is none.
Until a span begins, only the last generation of a group is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from attrs import define, field, frozen

from assignor.inspect.capture import Capture, GenerationRecord, MemberRecord
from assignor.inspect.described_group import DescribedGroupMember
from assignor.inspect.member import decode_members
from assignor.protocol import PROTOCOL_NAME
from spark_sim.conformance._identity import Incarnation, identify_members
from spark_sim.conformance.messages import SubscriptionMessage, decode_subscription_message

PAUSE_MS: Final = 3_600_000
"""A rolling bounce without a restart for an hour is over, unless members still send different versions."""
MIXED_PAUSE_MS: Final = 86_400_000
MOST_JOINS: Final = 20_000
"""Members of all generations of a span; of a larger one only the numbers are kept."""

_CACHED: Final = 4096
"""A record is compared with the one before: its members are decoded once."""
SentVersions = tuple[int, ...]
"""What tells releases apart: used version, supported version, version of the consumer protocol; () if unreadable."""


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
    capture: Capture | None
    """All its generations; None if they are too many."""


@define
class BounceFinder:
    """Follows one group."""

    group: str
    _records: list[GenerationRecord] = field(factory=list)
    """Of the span; the last record if none has begun, and the first and the last one if there are too many."""
    _begun: bool = False
    _first_time: int = 0
    _last_time: int = 0
    _joins: int = 0
    _versions: set[SentVersions] = field(factory=set)

    def on_group_metadata(self, time: int, value: Mapping[str, Any] | None) -> Bounce | None:
        """Take the ``GroupMetadata`` record of a classic group; return the bounce that ends before it."""
        if value is None or not value["members"] or value["protocol"] != PROTOCOL_NAME:
            return self.close()
        record, ended = _generation_record(value), None
        if self._records:
            change = _has_change(self._records[-1], record)
            if self._begun and (self._is_over(time) or (change and self._is_complete())):
                last, last_time, ended = self._records[-1], self._last_time, self.close()
                self._append(last, last_time)
            if not self._begun and not change:
                self._forget()
            self._begun = self._begun or change
        self._append(record, time)
        return ended

    def close(self) -> Bounce | None:
        """Return the bounce that is open at the end, and forget it."""
        ended = self._bounce() if self._begun else None
        self._forget()
        return ended

    def _append(self, record: GenerationRecord, time: int) -> None:
        if not self._records:
            self._first_time = time
        self._records.append(record)
        self._last_time = time
        self._joins += len(record.members)
        self._versions |= _versions(record)
        self._begun = self._begun or len(self._versions) > 1
        if self._is_too_large:
            del self._records[1:-1]

    def _forget(self) -> None:
        self._records, self._begun, self._joins, self._versions = [], False, 0, set()

    @property
    def _is_too_large(self) -> bool:
        return self._joins > MOST_JOINS

    def _is_over(self, time: int) -> bool:
        mixed = len(_versions(self._records[-1])) > 1
        return time - self._last_time > (MIXED_PAUSE_MS if mixed else PAUSE_MS)

    def _is_complete(self) -> bool:
        first, last = self._records[0], self._records[-1]
        if len(last.members) < len(first.members) or len(_versions(last)) > 1:
            return False
        return _ids(first).isdisjoint(_ids(last)) and _replaces_all_members(self._records)

    def _bounce(self) -> Bounce | None:
        first, last = self._records[0], self._records[-1]
        if len(self._versions) == 1 and not _replaces_all_members(self._records):
            return None
        return Bounce(
            group=self.group,
            first_generation=first.number,
            last_generation=last.number,
            from_time=self._first_time,
            until_time=self._last_time,
            from_releases=_releases(first),
            to_releases=_releases(last),
            capture=None if self._is_too_large else Capture(generations=tuple(self._records)),
        )


@define
class BounceFinders:
    """Follows all groups of a partition."""

    keeps_group: Callable[[str], bool]
    _finders: dict[str, BounceFinder] = field(factory=dict)
    _found: list[Bounce] = field(factory=list)

    def on_group_metadata(self, group: str, time: int, value: Mapping[str, Any] | None) -> None:
        """Take a ``GroupMetadata`` record."""
        if not self.keeps_group(group):
            return
        finder = self._finders.get(group) or self._finders.setdefault(group, BounceFinder(group))
        if ended := finder.on_group_metadata(time, value):
            self._found.append(ended)

    def close(self) -> list[Bounce]:
        """Return all bounces, also those that are open at the end."""
        open_ones = (finder.close() for finder in self._finders.values())
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


def _replaces_all_members(generations: Sequence[GenerationRecord]) -> bool:
    """Whether no member of the first generation is in the last one. A member may change its member id."""
    first, last = _members_of_ends(generations)
    return first.isdisjoint(last)


def _keeps_all_members(generations: Sequence[GenerationRecord]) -> bool:
    """Whether all members of the first generation are in the last one, maybe under other member ids."""
    first, last = _members_of_ends(generations)
    return first <= last


def _members_of_ends(generations: Sequence[GenerationRecord]) -> tuple[set[Incarnation], set[Incarnation]]:
    incarnations = identify_members(Capture(generations=tuple(generations)))
    return set(incarnations[0].values()), set(incarnations[-1].values())


def _releases(record: GenerationRecord) -> str:
    """Return the releases that send the versions of the members."""
    described = [
        DescribedGroupMember(member_id=each.member_id, subscription=each.subscription) for each in record.members
    ]
    found = (each.subscription for each in decode_members(described, streams=True))
    return "; ".join(sorted({str(sent.candidate_releases) for sent in found}))


def _generation_record(value: Mapping[str, Any]) -> GenerationRecord:
    return GenerationRecord(
        number=value["generation"],
        leader=value["leader"] or None,
        members=tuple(
            MemberRecord(
                member_id=each["memberId"],
                client_id=each["clientId"],
                instance_id=each.get("groupInstanceId"),
                subscription=each["subscription"],
                assignment=each["assignment"],
            )
            for each in value["members"]
        ),
    )
