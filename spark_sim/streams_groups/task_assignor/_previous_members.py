"""Members that had a task before, and the choice of one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from streams_assignor.spark_sim.streams_groups.task_assignor._process_state import ProcessState
from streams_assignor.spark_sim.streams_groups.task_assignor._types import AssignmentMemberSpec, StreamsTaskId, task_ids

HasTask = Callable[[ProcessState], bool]
"""Whether a process must not be given the task, because it has it."""


@frozen
class PreviousMember:
    """A member of a process."""

    id: str
    process: ProcessState

    @property
    def load(self) -> tuple[float, int]:
        """The load of its process, and its own number of tasks."""
        return self.process.load, self.process.task_counts[self.id]


@frozen
class Candidate:
    """A member with state of a task."""

    member: PreviousMember
    is_standby: bool
    offset_sum: int = 0

    @property
    def rank(self) -> tuple[bool, int]:
        """Sorts standbys of the previous assignment first, then the most caught-up state."""
        return not self.is_standby, -self.offset_sum


Pick = Callable[[Sequence[PreviousMember], HasTask], PreviousMember | None]
Collect = Callable[[PreviousMember, AssignmentMemberSpec], Iterable[tuple[StreamsTaskId, Candidate]]]


def standbys_of(member: PreviousMember, spec: AssignmentMemberSpec) -> Iterable[tuple[StreamsTaskId, Candidate]]:
    """Yield the standby tasks of the current target assignment."""
    for task in task_ids(spec.standby_tasks):
        yield task, Candidate(member, is_standby=True)


def standbys_and_offsets_of(
    member: PreviousMember, spec: AssignmentMemberSpec
) -> Iterable[tuple[StreamsTaskId, Candidate]]:
    """Yield standby tasks, then tasks with a reported offset sum: state on local disk (KAFKA-20719)."""
    standbys = task_ids(spec.standby_tasks)
    for task in standbys:
        yield task, Candidate(member, is_standby=True, offset_sum=spec.task_offsets.get(task, 0))
    for task, offset_sum in spec.task_offsets.items():
        if task not in standbys:
            yield task, Candidate(member, is_standby=False, offset_sum=offset_sum)


def previous_members(
    candidates: Iterable[tuple[StreamsTaskId, Candidate]],
) -> Mapping[StreamsTaskId, Sequence[PreviousMember]]:
    """Return the members with state of each task, the best one first."""
    by_task: dict[StreamsTaskId, list[Candidate]] = {}
    for task, candidate in candidates:
        by_task.setdefault(task, []).append(candidate)
    return {
        task: [candidate.member for candidate in sorted(candidates_of_task, key=_rank)]
        for task, candidates_of_task in by_task.items()
    }


def compare_with_first(members: Sequence[PreviousMember], has_task: HasTask) -> PreviousMember | None:
    """Pick the first member, or a later one with less load; none if the process of the first has the task.

    This is KAFKA-20899: the first member is neither skipped nor forgotten when its process has the task, so a second
    standby never returns to the member that had it.
    """
    first, *others = members
    picked = first
    for member in others:
        if not has_task(member.process) and _is_less_loaded(member, picked):
            picked = member
    return None if has_task(first.process) else picked


def skip_holders(members: Sequence[PreviousMember], has_task: HasTask) -> PreviousMember | None:
    """Pick the first member of a process without the task, or a later one with less load."""
    picked = None
    for member in members:
        if not has_task(member.process) and (picked is None or _is_less_loaded(member, picked)):
            picked = member
    return picked


def _is_less_loaded(member: PreviousMember, than: PreviousMember) -> bool:
    return all(own < other for own, other in zip(member.load, than.load, strict=True))


def _rank(candidate: Candidate) -> tuple[bool, int]:
    return candidate.rank
