"""The lags of all processes for all tasks, without a cell for each pair.

Most processes have no state of most tasks, so their lags are equal. A task has one common lag, and exceptions.
"""

from __future__ import annotations

from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final

from attrs import define

from streams_assignor.codec import TaskId
from streams_assignor.errors import FatalError
from streams_assignor.task_assignors.application_state import EMPTY, LATEST_OFFSET, KafkaStreamsState

UNLIMITED_LAG: Final = (1 << 63) - 1
"""The ``acceptable.recovery.lag`` with which all processes count as caught up (Java: ``Long.MAX_VALUE``)."""


@define(eq=False)
class TaskLags:
    """The lags of one task."""

    process_count: int
    common: int
    """The lag of all processes that are not in ``exceptions``."""
    exceptions: dict[int, int]
    caught_up: set[int]
    """Those of ``exceptions`` that have caught up."""
    others_caught_up: bool
    """Whether there are other processes, and all of them have caught up."""
    caught_up_count: int
    """The number of processes that have caught up."""
    least: int
    """The smallest lag."""

    @classmethod
    def of(cls, processes: int, acceptable: int, common: int, exceptions: dict[int, int]) -> TaskLags:
        """Find the processes that have caught up; ``exceptions`` is not empty."""
        others = processes - len(exceptions)
        caught_up = {process for process, lag in exceptions.items() if _is_caught_up(lag, acceptable)}
        others_caught_up = bool(others) and _is_caught_up(common, acceptable)
        least = min(exceptions.values())
        return cls(
            processes,
            common,
            exceptions,
            caught_up,
            others_caught_up,
            len(caught_up) + (others if others_caught_up else 0),
            min(least, common) if others else least,
        )

    def lag(self, process: int) -> int:
        """Return the lag of one process."""
        return self.exceptions.get(process, self.common)

    def has_caught_up(self, process: int) -> bool:
        """Whether a process has caught up."""
        return process in self.caught_up or (self.others_caught_up and process not in self.exceptions)

    def by_lag(self) -> Iterator[int]:
        """Yield all processes, smallest lag first, then in order."""
        special, usual = self.exceptions, self.common
        ordered = sorted((lag, process) for process, lag in special.items())
        yield from (process for lag, process in ordered if lag < usual)
        yield from (process for process in range(self.process_count) if process not in special)
        yield from (process for lag, process in ordered if lag > usual)


def _is_caught_up(lag: int, acceptable: int) -> bool:
    return lag == LATEST_OFFSET or 0 <= lag <= acceptable or acceptable == UNLIMITED_LAG


@define(eq=False)
class Lags:
    """The lags of a group. Processes and tasks are numbers, as in ``PartialAssignment``."""

    common: list[int]
    """The common lag of each task."""
    by_task: dict[int, TaskLags]
    """The lags of the tasks that have exceptions."""

    def of(self, process: int, task: int) -> int:
        """Return the lag of one process."""
        return self.by_task[task].lag(process) if task in self.by_task else self.common[task]


def collect_lags(processes: Sequence[KafkaStreamsState], tasks: Sequence[TaskId], acceptable: int) -> Lags:
    """Collect the lags of all processes; raise ``FatalError`` for a missing one, as Kafka's leader fails."""
    split = [_split_shared(process.lags) for process in processes]
    bases = {id(base): base for _, base in split}
    most_used = Counter(id(base) for _, base in split).most_common(1)[0][0]
    usual = _lags_in_order(bases[most_used], tasks)
    differing = {name: _differences(_lags_in_order(base, tasks), usual) for name, base in bases.items()}
    special: defaultdict[int, dict[int, int]] = defaultdict(dict)
    number = {task: at for at, task in enumerate(tasks)}
    for process, (own, base) in enumerate(split):
        for at, lag in differing[id(base)]:
            special[at][process] = lag
        for task, lag in own.items():
            if (its := number.get(task)) is None:
                continue  # it has no state, or no longer exists
            if lag != usual[its]:
                special[its][process] = lag
            else:
                special[its].pop(process, None)
    _require_all_lags(processes, tasks, usual, special)
    number_of_clients = len(processes)
    return Lags(
        usual,
        {task: TaskLags.of(number_of_clients, acceptable, usual[task], lags) for task, lags in special.items() if lags},
    )


_MISSING: Final = -(1 << 63)


def _require_all_lags(
    processes: Sequence[KafkaStreamsState],
    tasks: Sequence[TaskId],
    usual: list[int],
    special: Mapping[int, dict[int, int]],
) -> None:
    missing = {at for at, lag in enumerate(usual) if lag == _MISSING and len(special.get(at, ())) < len(processes)}
    missing |= {at for at, lags in special.items() if _MISSING in lags.values()}
    if missing:
        raise FatalError(
            f"a process has no lag of task {tasks[min(missing)]}, which has state", "IllegalStateException"
        )


def _split_shared(lags: Mapping[TaskId, int]) -> tuple[Mapping[TaskId, int], Mapping[TaskId, int]]:
    """Split lags into those of one process and those that it may share with others."""
    if not isinstance(lags, ChainMap):
        return EMPTY, lags
    *own, base = lags.maps
    return own[0] if len(own) == 1 else ChainMap(*own), base


def _lags_in_order(lags: Mapping[TaskId, int], tasks: Sequence[TaskId]) -> list[int]:
    """Return all lags in the order of the tasks; fast if they have that order already."""
    return [*lags.values()] if [*lags] == tasks else [*map(lags.get, tasks, repeat(_MISSING))]


_BLOCK: Final = 128


def _differences(column: list[int], usual: list[int]) -> list[tuple[int, int]]:
    """Return the differences, block by block: nearly all blocks are equal, and that check is fast."""
    return [
        (at, column[at])
        for start in range(0, len(column), _BLOCK)
        if column[start : start + _BLOCK] != usual[start : start + _BLOCK]
        for at in range(start, min(start + _BLOCK, len(column)))
        if column[at] != usual[at]
    ]
