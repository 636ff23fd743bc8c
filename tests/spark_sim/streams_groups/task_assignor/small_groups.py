"""All small streams groups, and the properties that each rebalance of them has to have."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.streams_groups.task_assignor import (
    AssignmentMemberSpec,
    GroupSpec,
    KnownTopology,
    StreamsTaskId,
    TargetAssignment,
    assign,
)
from tests.spark_sim.streams_groups.task_assignor.random_groups import Case, given

Property = Callable[[Case, TargetAssignment], bool]


def held(case: Case, made: TargetAssignment, kind: str) -> list[tuple[str, StreamsTaskId]]:
    """Processes with each task that a member of theirs has, as often as it is there."""
    return [
        (case.group.members[id_].process_id, StreamsTaskId(name, at))
        for id_, each in made.members.items()
        for name, partitions in getattr(each, kind).items()
        for at in partitions
    ]


def every_task_has_one_active_owner(case: Case, made: TargetAssignment) -> bool:
    return Counter(task for _, task in held(case, made, "active_tasks")) == Counter(case.tasks)


def no_process_has_a_task_twice(case: Case, made: TargetAssignment) -> bool:
    every = [*held(case, made, "active_tasks"), *held(case, made, "standby_tasks")]
    return len(every) == len(set(every))


def as_many_standbys_as_configured_or_possible(case: Case, made: TargetAssignment) -> bool:
    processes = {spec.process_id for spec in case.group.members.values()}
    wanted = min(case.group.num_standby_replicas, len(processes) - 1)
    counts = Counter(task for _, task in held(case, made, "standby_tasks"))
    return all(counts[task] == wanted * case.topology.is_stateful(task.subtopology_id) for task in case.tasks)


SAFETY: Final[Mapping[str, Property]] = {
    each.__name__: each
    for each in (
        every_task_has_one_active_owner,
        no_process_has_a_task_twice,
        as_many_standbys_as_configured_or_possible,
    )
}


def after(case: Case, made: TargetAssignment) -> Case:
    """The same members at the next rebalance."""
    members = {id_: given(spec, made.members[id_]) for id_, spec in case.group.members.items()}
    return evolve(case, group=evolve(case.group, members=members))


def moved(before: TargetAssignment, made: TargetAssignment) -> list[str]:
    """The members of which a rebalance takes or adds tasks."""
    return [id_ for id_, each in made.members.items() if each != before.members[id_]]


def new_groups(processes: int, tasks: int, standbys: int) -> Iterator[Case]:
    """Groups of one stateful subtopology without a previous assignment, the smallest first."""
    for number, count, replicas, threads in product(
        range(1, processes + 1), range(1, tasks + 1), range(standbys + 1), (1, 2)
    ):
        members = {
            f"{process}{thread}": AssignmentMemberSpec(process)
            for process in "ABCDEF"[:number]
            for thread in range(1, threads + 1)
        }
        yield Case(GroupSpec(members, replicas), KnownTopology({"0": count}, frozenset({"0"})))


def unstable(release: str, cases: Iterator[Case]) -> Iterator[tuple[Case, TargetAssignment]]:
    """Assigned groups of which a rebalance moves tasks although nothing has changed."""
    for case in cases:
        made = assign(case.group, case.topology, release=release)
        again = after(case, made)
        if moved(made, assign(again.group, again.topology, release=release)):
            yield again, made
