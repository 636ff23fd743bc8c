"""Lags in one view: for JSON, for one line, and for a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve, field, frozen

from assignor.formats.text import count
from assignor.groups._group import InspectedGroup
from assignor.groups.check import Finding, FindingSeverity
from assignor.groups.offsets._lag import (
    PartitionLag,
    StateLag,
    TaskLag,
    partition_lags,
    state_lags,
    task_lags,
)


@frozen(kw_only=True)
class LagSummary:
    """The lags of a group."""

    partitions: Sequence[PartitionLag] = field(hash=False)
    tasks: Sequence[TaskLag] = field(hash=False)
    state: Sequence[StateLag] = field(hash=False)
    failures: tuple[str, ...]
    """Why some are unknown."""

    @property
    def total(self) -> int:
        """The sum of all lags that are known."""
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def most(self) -> int:
        """The largest lag of a partition that is known."""
        return max((each.lag or 0 for each in self.partitions), default=0)

    @property
    def unknown(self) -> int:
        """The number of partitions with an unknown lag."""
        return sum(each.lag is None for each in self.partitions)

    @property
    def sum_text(self) -> str:
        """The sum in few characters."""
        if not self.unknown:
            return f"{self.total:,}"
        return f"≥ {self.total:,}" if self.unknown < len(self.partitions) else "?"

    @property
    def text(self) -> str:
        """One line."""
        unknown = f"; unknown of {count(self.unknown, 'partition')}" if self.unknown else ""
        return f"{self.total:,} in {count(len(self.partitions), 'partition')}, at most {self.most:,} in one{unknown}"


def lag_summary(group: InspectedGroup) -> LagSummary | None:
    """Return the lags of a group; None if its offsets were not read."""
    if group.offsets is None:
        return None
    partitions = partition_lags(group)
    return LagSummary(
        partitions=partitions,
        tasks=task_lags(partitions),
        state=state_lags(group),
        failures=group.offsets.failures,
    )


def lag_json(group: InspectedGroup) -> dict[str, Any] | None:
    """Return the JSON form; docs/how-to/group.md lists the keys. None if offsets were not read."""
    found = lag_summary(group)
    if found is None:
        return None
    return {
        "total": found.total,
        "most": found.most,
        "unknown": found.unknown,
        "failures": list(found.failures),
        "partitions": [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "task": None if each.task is None else str(each.task),
                "member": each.member.name if each.member else None,
                "committed": each.committed,
                "end": each.end,
                "lag": each.lag,
            }
            for each in found.partitions
        ],
        "tasks": [{"task": str(each.task), "member": each.member.name, "lag": each.lag} for each in found.tasks],
        "state": [
            {
                "task": str(each.task),
                "member": each.member.name,
                "restored": each.restored,
                "end": each.end,
                "lag": each.lag,
            }
            for each in found.state
        ],
    }


def check_lag(group: InspectedGroup, most: int) -> InspectedGroup:
    """Return the group with the problems of a limit for each partition: a lag above it, or an unknown one."""
    found = lag_summary(group)
    if found is None:
        return group
    above = sorted((each for each in found.partitions if (each.lag or 0) > most), key=lambda each: -(each.lag or 0))
    unknown = [each for each in found.partitions if each.lag is None]
    problems = []
    if above:
        worst = [f"{each.partition} ({each.lag:,})" for each in above]
        parameters = {"partitions": worst, "limit": most}
        problems.append(Finding(FindingSeverity.PROBLEM, "lag", parameters, _members(above)))
    if unknown:
        names = [str(each.partition) for each in unknown]
        parameters = {"partitions": names, "failures": found.failures}
        problems.append(Finding(FindingSeverity.PROBLEM, "unknown-lag", parameters, _members(unknown)))
    return evolve(group, findings=(*problems, *group.findings)) if problems else group


def _members(found: Iterable[PartitionLag]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.member.name for each in found if each.member))
