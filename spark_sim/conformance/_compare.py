"""Tables of the facts that are compared between captured messages and ours, and the differences found.

Versions have to be equal, and so do all their consequences. The tasks of a member may differ where Kafka iterates over
hash maps (up to 2.5). From 2.6 on the numbers of tasks are mostly deterministic (``comparable_facts``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from streams_assignor.codec import TaskId
from streams_assignor.probing.model import AssignmentContent
from streams_assignor.probing.rules import BY_NAME
from streams_assignor.spark_sim.conformance._identity import StartedAs
from streams_assignor.spark_sim.conformance.messages import AssignmentMessage, SubscriptionMessage, UnreadableMessage
from streams_assignor.spark_sim.model.events import format_tasks


@frozen
class Difference:
    """One fact on which the capture and our members differ."""

    generation: int
    member: str
    """"" for the group."""
    what: str
    captured: str
    ours: str
    why: str

    def __str__(self) -> str:
        member = f"{self.member} " if self.member else ""
        return f"{member}{self.what}: captured {self.captured}, ours {self.ours}"


FactDifference = tuple[str, str, str]
"""The name of a fact, its captured value and ours."""

Fact = Callable[[Any], object]

_SUBSCRIPTION_FACTS: Final[Mapping[str, Fact]] = {
    "sends version": lambda sent: sent.used_version,
    "sends supported version": lambda sent: sent.supported_version,
    "sends consumer protocol": lambda sent: sent.consumer_protocol_version,
}
_ASSIGNMENT_FACTS: Final[Mapping[str, Fact]] = {
    "receives version": lambda got: got.version,
    "receives supported version": lambda got: got.supported_version,
    "receives error code": lambda got: got.error_code,
}
HOSTS, ANY_TASKS, ALL_TASKS, DETERMINISTIC, PREVIOUS = "hosts", "some", "everything", "follows", "previous"
_CONDITIONAL_FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    HOSTS: {"receives hosts": lambda got: ", ".join(map(str, sorted(got.hosts))) or "none"},
    ANY_TASKS: {"receives tasks": lambda got: "some" if got.partitions_by_task else "none"},
    DETERMINISTIC: {
        "receives active tasks": lambda got: len(got.partitions_by_task),
        "receives standby tasks": lambda got: len(got.standby_partitions_by_task),
        "is asked to rejoin immediately": lambda got: "yes" if got.is_to_rejoin else "no",
    },
    PREVIOUS: {
        "receives its previous tasks": lambda got: (
            f"{format_tasks(got.partitions_by_task)} and standbys {format_tasks(got.standby_partitions_by_task)}"
        )
    },
}
"""Facts that have to be equal under a condition (``comparable_facts``); ``ALL_TASKS`` is a condition for the group."""


def subscription_differences(
    captured: SubscriptionMessage, ours: SubscriptionMessage | UnreadableMessage
) -> Iterator[FactDifference]:
    """Yield the differences between a captured subscription and ours."""
    return _differing(_SUBSCRIPTION_FACTS, captured, ours)


def assignment_differences(
    captured: AssignmentMessage | UnreadableMessage | None,
    ours: AssignmentMessage | UnreadableMessage | None,
    conditions: Collection[str] = (),
) -> Iterator[FactDifference]:
    """Yield the differences between assignments; ``conditions`` as from ``comparable_facts``."""
    if isinstance(captured, AssignmentMessage) and isinstance(ours, AssignmentMessage):
        yield from _differing(_ASSIGNMENT_FACTS, captured, ours)
        for name, facts in _CONDITIONAL_FACTS.items():
            yield from _differing(facts if name in conditions else {}, captured, ours)
    elif type(captured) is not type(ours):
        yield "receives", _shown(captured), _shown(ours)


def comparable_facts(
    leader: StartedAs,
    subscriptions: Iterable[SubscriptionMessage | UnreadableMessage],
    max_offset_sum: int,
    *,
    fewer_tasks_than_members: bool = False,
) -> tuple[str, ...]:
    """Return the conditions that hold for the assignments of a leader that reads the captured subscriptions.

    Leaders from 2.4 on treat all members of a future version as one process with a random id, and iterate over
    processes in the order of their ids: the result is not deterministic. It is not deterministic either with a custom
    task assignor, if a state store may lag too far behind for its member to take over the task, if lags decide between
    the threads of a process, or if members have client tags.

    Args:
        leader: the release and configuration of the leader.
        subscriptions: the captured subscriptions.
        max_offset_sum: the largest offset sum of the capture.
        fewer_tasks_than_members: some members receive no task; the choice is random unless the leader probes.
    """
    readable = [sent for sent in subscriptions if isinstance(sent, SubscriptionMessage)]
    rules, behaviour = BY_NAME[leader.release.rule_set].leader, leader.release.behaviour
    probes = any(sent.used_version > leader.release.supported_version for sent in readable)
    by_chance = probes and rules.content_for_future is AssignmentContent.REGULAR
    by_lag = may_assign_warmups(leader, max_offset_sum) or (
        behaviour.lag_based and _lag_decides_between_threads(readable)
    )
    if by_chance or by_lag or leader.custom_task_assignor:
        return (HOSTS,)
    conditions = {
        HOSTS: True,
        # In 2.4 and 2.5 the members whose tasks are withheld are random.
        ANY_TASKS: (behaviour.lag_based or not behaviour.cooperative) and (probes or not fewer_tasks_than_members),
        ALL_TASKS: not behaviour.cooperative,
        DETERMINISTIC: behaviour.lag_based and not any(sent.seen.client_tags for sent in readable),
        PREVIOUS: probes and rules.content_while_probing is AssignmentContent.PREVIOUS,
    }
    return tuple(name for name, holds in conditions.items() if holds)


def may_assign_warmups(leader: StartedAs, max_offset_sum: int) -> bool:
    """Whether a leader may assign warm-ups: it knows the end offsets of changelogs, a capture does not have them."""
    return leader.release.behaviour.lag_based and max_offset_sum > leader.config.acceptable_recovery_lag


def _lag_decides_between_threads(subscriptions: Collection[SubscriptionMessage]) -> bool:
    """Whether a process with state has several members: each task goes to the member with the least lag."""
    members = Counter(sent.process_id for sent in subscriptions)
    return any(sent.offset_sums and members[sent.process_id] > 1 for sent in subscriptions)


def same_tasks(
    captured: AssignmentMessage | UnreadableMessage | None, ours: AssignmentMessage | UnreadableMessage | None
) -> bool:
    """Whether a member receives exactly the same tasks."""
    if not isinstance(captured, AssignmentMessage) or not isinstance(ours, AssignmentMessage):
        return captured is ours
    return (
        captured.active_tasks == ours.active_tasks
        and captured.standby_partitions_by_task.keys() == ours.standby_partitions_by_task.keys()
    )


def active_owner_counts(answers: Iterable[AssignmentMessage | UnreadableMessage | None]) -> Counter[TaskId]:
    """Return the number of active owners of each task."""
    return Counter(task for got in answers if isinstance(got, AssignmentMessage) for task in got.partitions_by_task)


def group_differences(
    captured: Counter[TaskId], ours: Counter[TaskId], conditions: Collection[str]
) -> Iterator[FactDifference]:
    """Yield the differences between the tasks of the whole group: tasks with two owners, and the set of tasks."""
    twice, ours_twice = (sorted(task for task, count in counts.items() if count > 1) for counts in (captured, ours))
    if bool(twice) != bool(ours_twice):
        yield "tasks assigned twice", format_tasks(twice), format_tasks(ours_twice)
    if ALL_TASKS in conditions and captured.keys() != ours.keys():
        yield "tasks assigned", format_tasks(captured), format_tasks(ours)


def _differing(facts: Mapping[str, Fact], captured: object, ours: object) -> Iterator[FactDifference]:
    for what, fact in facts.items():
        real, own = fact(captured), fact(ours)
        if real != own:
            yield what, str(real), str(own)


def _shown(got: AssignmentMessage | UnreadableMessage | None) -> str:
    match got:
        case None:
            return "nothing"
        case UnreadableMessage(problem):
            return f"an unreadable assignment ({problem})"
        case _:
            return f"an assignment in version {got}"
