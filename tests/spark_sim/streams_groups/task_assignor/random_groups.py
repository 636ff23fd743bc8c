"""Random streams groups, and the same as a question for the real assignor (``StreamsGroupAssignorOracle``).

There the members are static, have racks and client tags, too: some of them the same.
"""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from attrs import evolve, frozen

from streams_assignor.spark_sim.streams_groups.task_assignor import (
    AssignmentMemberSpec,
    GroupSpec,
    KnownTopology,
    MemberAssignment,
    StreamsTaskId,
    TargetAssignment,
    assign,
)


@frozen
class Case:
    """A group before its rebalance, with its topology."""

    group: GroupSpec
    topology: KnownTopology

    @property
    def tasks(self) -> list[StreamsTaskId]:
        return [StreamsTaskId(each, at) for each, count in self.topology.partitions.items() for at in range(count)]


def a_case(seed: int) -> Case:
    """A group with an arbitrary previous assignment, or with one that the assignor made before members changed."""
    choose = random.Random(seed)
    partitions = {name: choose.randint(1, 8) for name in _subtopologies(choose)}
    stateful = [each for each in partitions if choose.random() < 0.7]
    processes = [str(UUID(int=choose.getrandbits(128))) for _ in range(choose.randint(1, 6))]
    members = {f"{choose.getrandbits(64):x}": choose.choice(processes) for _ in range(choose.randint(1, 12))}
    topology = KnownTopology(partitions, frozenset(stateful))
    group = GroupSpec(
        {id_: AssignmentMemberSpec(process) for id_, process in members.items()}, choose.choice([0, 1, 1, 2, 2, 3])
    )
    case = Case(group, topology)
    return _after_a_change(choose, case) if choose.random() < 0.6 else _arbitrary(choose, case)


def _subtopologies(choose: random.Random) -> list[str]:
    names = [*map(str, range(12)), "clicks", "käse", "Ä", "\U0001f600", "\uffee"]
    return choose.sample(names, choose.randint(1, 4))


def _arbitrary(choose: random.Random, case: Case) -> Case:
    """Any tasks on any members, also twice, also of subtopologies that are gone."""
    tasks = [*case.tasks, StreamsTaskId("gone", 0)]
    density = choose.choice([0.1, 0.3, 0.6])

    def some() -> list[StreamsTaskId]:
        return [task for task in tasks if choose.random() < density]

    members = {
        id_: evolve(
            spec,
            active_tasks=_by_subtopology(some()),
            standby_tasks=_by_subtopology(some()),
            warmup_tasks=_by_subtopology(some()),
            task_offsets={task: choose.choice([0, 5, 5, 100]) for task in some()},
        )
        for id_, spec in case.group.members.items()
    }
    return evolve(case, group=evolve(case.group, members=members))


def _after_a_change(choose: random.Random, case: Case) -> Case:
    """Some members have left, others have joined since the last assignments; some report offsets of their state."""
    members = dict(case.group.members)
    for _ in range(choose.randint(1, 3)):
        release = choose.choice(["4.2.2", "4.3.1", "4.4.0"])
        made = assign(evolve(case.group, members=members), case.topology, release=release)
        members = {id_: given(spec, made.members[id_]) for id_, spec in members.items()}
        for id_ in choose.sample(list(members), choose.randint(0, len(members) - 1)):
            if choose.random() < 0.5:
                spec = members.pop(id_)
                if choose.random() < 0.5:  # a restarted member has another id and its state
                    members[f"{choose.getrandbits(64):x}"] = AssignmentMemberSpec(
                        spec.process_id, task_offsets={task: choose.randint(0, 9) for task in _state(case, spec)}
                    )
        if choose.random() < 0.5:
            process = choose.choice(
                [*(spec.process_id for spec in members.values()), str(UUID(int=choose.getrandbits(128)))]
            )
            members[f"{choose.getrandbits(64):x}"] = AssignmentMemberSpec(process)
    order = list(members)
    choose.shuffle(order)
    return evolve(case, group=evolve(case.group, members={id_: members[id_] for id_ in order}))


def given(spec: AssignmentMemberSpec, made: MemberAssignment) -> AssignmentMemberSpec:
    """A member with this target assignment."""
    return evolve(spec, active_tasks=made.active_tasks, standby_tasks=made.standby_tasks)


def _state(case: Case, spec: AssignmentMemberSpec) -> list[StreamsTaskId]:
    held = [spec.active_tasks, spec.standby_tasks]
    return [task for task in case.tasks if any(task.partition in each.get(task.subtopology_id, ()) for each in held)]


def _by_subtopology(tasks: list[StreamsTaskId]) -> dict[str, frozenset[int]]:
    names = {task.subtopology_id for task in tasks}
    return {name: frozenset(each.partition for each in tasks if each.subtopology_id == name) for name in sorted(names)}


def question(case: Case) -> dict[str, Any]:
    """The case for the real assignor."""
    topology = case.topology
    return {
        "subtopologies": [[name, count, name in topology.stateful] for name, count in topology.partitions.items()],
        "standbys": case.group.num_standby_replicas,
        "members": [[id_, *_member(spec)] for id_, spec in case.group.members.items()],
    }


def _member(spec: AssignmentMemberSpec) -> list[Any]:
    offsets: dict[str, dict[str, int]] = {}
    for task, offset_sum in spec.task_offsets.items():
        offsets.setdefault(task.subtopology_id, {})[str(task.partition)] = offset_sum
    held = [_lists(each) for each in (spec.active_tasks, spec.standby_tasks, spec.warmup_tasks)]
    ignored = spec.process_id[:2]  # an instance id, a rack and the value of a client tag
    return [spec.process_id, *held, offsets, ignored]


def plain(assignment: TargetAssignment) -> dict[str, Any]:
    """An assignment in the form of the real assignor's answer, with sorted partitions."""
    return {
        id_: {"active": _lists(each.active_tasks), "standby": _lists(each.standby_tasks)}
        for id_, each in assignment.members.items()
    }


def answer(real: Mapping[str, Any]) -> Any:
    """The real assignor's answer with sorted partitions, or its error."""
    if "error" in real:
        return real
    return {
        id_: {kind: {name: sorted(held) for name, held in tasks.items()} for kind, tasks in each.items()}
        for id_, each in real["members"].items()
    }


def _lists(tasks: Mapping[str, frozenset[int]]) -> dict[str, list[int]]:
    return {name: sorted(partitions) for name, partitions in tasks.items()}
