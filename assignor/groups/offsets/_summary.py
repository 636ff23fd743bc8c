"""Lags in one view: for JSON, for one line, and for a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, frozen

from streams_assignor.formats.text import count
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.check import Finding, FindingSeverity
from streams_assignor.groups.offsets._lag import (
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
    def _known(self) -> list[int] | None:
        """The known lags; None if there are partitions or failures, and no lag is known."""
        known = [partition.lag for partition in self.partitions if partition.lag is not None]
        return known if known or not (self.partitions or self.failures) else None

    @property
    def total(self) -> int | None:
        """The sum of all lags that are known; None if none is."""
        return None if self._known is None else sum(self._known)

    @property
    def most(self) -> int | None:
        """The largest lag of a partition that is known; None if none is."""
        return None if self._known is None else max(self._known, default=0)

    @property
    def unknown(self) -> int:
        """The number of partitions with an unknown lag."""
        return sum(partition.lag is None for partition in self.partitions)

    @property
    def sum_text(self) -> str:
        """The sum in few characters."""
        return "?" if self.total is None else f"{'≥ ' if self.unknown else ''}{self.total:,}"

    @property
    def text(self) -> str:
        """One line."""
        unknown = f"unknown of {count(self.unknown, 'partition')}" if self.unknown else ""
        if self.total is None:
            return unknown or "unknown"
        known = f"{self.total:,} in {count(len(self.partitions), 'partition')}, at most {self.most:,} in one"
        return "; ".join(filter(None, (known, unknown)))


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
    """Return the JSON form; docs/reference/group.md lists the keys. None if offsets were not read."""
    summary = lag_summary(group)
    if summary is None:
        return None
    return {
        "total": summary.total,
        "most": summary.most,
        "unknown": summary.unknown,
        "failures": list(summary.failures),
        "partitions": [
            {
                "topic": partition.partition.topic,
                "partition": partition.partition.partition,
                "task": None if partition.task is None else str(partition.task),
                "member": partition.member.name if partition.member else None,
                "committed": partition.committed,
                "end": partition.end,
                "lag": partition.lag,
            }
            for partition in summary.partitions
        ],
        "tasks": [{"task": str(task.task), "member": task.member.name, "lag": task.lag} for task in summary.tasks],
        "state": [
            {
                "task": str(state_lag.task),
                "member": state_lag.member.name,
                "restored": state_lag.restored,
                "end": state_lag.end,
                "lag": state_lag.lag,
            }
            for state_lag in summary.state
        ],
    }


def check_lag(group: InspectedGroup, most: int) -> InspectedGroup:
    """Return the group with the problems of a limit for each partition: a lag above it, or an unknown one."""
    summary = lag_summary(group)
    if summary is None:
        return group
    above = sorted(
        (partition for partition in summary.partitions if (partition.lag or 0) > most),
        key=lambda partition: -(partition.lag or 0),
    )
    problems = list[Finding]()
    if above:
        worst = [f"{partition.partition} ({partition.lag:,})" for partition in above]
        parameters = {"partitions": worst, "limit": most}
        problems.append(Finding(FindingSeverity.PROBLEM, "lag", parameters, _members(above)))
    known = {finding.code for finding in group.findings}
    problems += [finding for finding in unknown_lag(summary) if finding.code not in known]
    return evolve(group, findings=(*problems, *group.findings)) if problems else group


def unknown_lag(summary: LagSummary) -> Iterator[Finding]:
    """Yield the problem that a lag is not known: of some partitions, or which partitions there are."""
    unknown = [partition for partition in summary.partitions if partition.lag is None]
    if unknown or (summary.failures and not summary.partitions):
        parameters = {"partitions": [str(partition.partition) for partition in unknown], "failures": summary.failures}
        yield Finding(FindingSeverity.PROBLEM, "unknown-lag", parameters, _members(unknown))


def _members(partitions: Iterable[PartitionLag]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(partition.member.name for partition in partitions if partition.member))
