"""One look at a group, or at all groups of a cluster, as the options ask for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field

from streams_assignor.cli.group.watch import CONFIRM_SECONDS, Look
from streams_assignor.formats.text import printable
from streams_assignor.groups import (
    ClusterGroups,
    CrashLoopDetector,
    InspectedGroup,
    InspectedMember,
    NoSuchGroup,
    inspect_group,
)
from streams_assignor.groups.check import check_members
from streams_assignor.groups.offsets import UnreadRecordsDetector, check_lag, offset_request
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.releases import Release

if TYPE_CHECKING:
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

_NEAREST: Final = 3


@define
class Looks:
    """Looks at a group, or at all of a cluster, and what they remember."""

    lookup: GroupLookup
    name: str | None = None
    """The group; None: all groups."""
    assume: Release | None = None
    reads_lag: bool = False
    max_lag: int | None = None
    unread: UnreadRecordsDetector | None = None
    """None: problems that one look shows are enough."""
    expect_members: int = 0
    report: Callable[[str], object] = lambda _line: None
    _detectors: dict[str, CrashLoopDetector] = field(factory=dict, init=False)

    def look(self) -> Look:
        """Look once; an error of the cluster is part of the result."""
        try:
            cluster = ClusterGroups(groups=(self.lookup.group(self.name),)) if self.name else self.lookup.groups()
        except NoSuchGroup as error:
            return Look(error=NoSuchGroup(f"{error}{self._similar}"))
        except ClusterError as error:
            return Look(error=error)
        now = time.monotonic()
        names = {group.name for group in cluster.groups}
        for gone in self._detectors.keys() - names:
            del self._detectors[gone]
        if self.unread:
            self.unread.forget_others(names)
        found = [
            self._detectors.setdefault(each.name, CrashLoopDetector()).update(
                inspect_group(each, assume=self.assume), now
            )
            for each in cluster.groups
        ]
        groups = tuple(
            evolve(group, findings=(*check_members(group.described, self.expect_members), *group.findings))
            for group in (self._with_offsets(found) if self.reads_lag else found)
        )
        undecided = self.unread is not None and self.unread.is_undecided(time.monotonic(), CONFIRM_SECONDS)
        return Look(groups=groups, failures=cluster.failures, is_undecided=undecided)

    def _with_offsets(self, groups: Sequence[InspectedGroup]) -> Sequence[InspectedGroup]:
        """Return the groups with their offsets, and with the problems that these show."""
        described = [group for group in groups if not group.described.error or any(map(_has_assignment, group.members))]
        offsets = self.lookup.offsets([offset_request(each) for each in described], self.report) if described else {}
        self.report("")
        found = [evolve(group, offsets=offsets.get(group.described.name)) for group in groups]
        if self.unread:
            now = time.monotonic()
            found = [self.unread.update(group, now) for group in found]
        return found if self.max_lag is None else [check_lag(group, self.max_lag) for group in found]

    @cached_property
    def _similar(self) -> str:
        """The groups with the most similar names, as text; empty if there are none."""
        with suppress(ClusterError):
            if similar := get_close_matches(self.name or "", self.lookup.names(), n=_NEAREST):
                return f"; did you mean {' or '.join(map(printable, similar))}?"
        return ""


def _has_assignment(member: InspectedMember) -> bool:
    return bool(member.assignment.partitions or member.assignment.active)


def progress_report(*, watch: bool = False) -> Callable[[str], object]:
    """Return what shows a line at a terminal until the next one; an empty line clears it."""
    if watch or not sys.stderr.isatty():
        return lambda _line: None
    from streams_assignor.formats.console import SafeConsole

    status = SafeConsole(stderr=True).status("")

    def report(line: str) -> None:
        status.update(line)
        status.start() if line else status.stop()

    return report
