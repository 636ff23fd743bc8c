"""A member is killed: which members had caught up on its tasks, which take them over, how much they have to read."""

from __future__ import annotations

from itertools import takewhile

from attrs import frozen
from confluent_kafka import Consumer, TopicPartition

from tests.lab.integration.group_log import Generation, generations
from tests.lab.integration.peers import TIMEOUT_SECONDS, Group, ScenarioFailed
from tests.lab.integration.topologies import PARTITIONS


@frozen
class Failover:
    """One task of a killed member. All names are those of the members.

    ``end`` is the end of its changelog, ``reported`` the offset sum by which the new owner joined, ``read`` how many
    records it read before it began.
    """

    task: str
    killed: str
    led_by: str
    by: str
    end: int
    reported: int | None
    read: int | None


def failovers_after_crash(group: Group, name: str) -> list[Failover]:
    """Kill a member as soon as all is quiet; `Failed` if others take over than those who had caught up.

    They may have to pass their tasks on soon: the final owner warms up meanwhile.
    """
    before = generations(group.brokers, group.topics.application)[-1]
    ends = _ends_when_quiet(group, before)
    dead = sorted(group.members[name].tasks)
    standing = {task: {each for each, its in before.standbys().items() if task in its} for task in dead}
    received = {each: len(member.lines) for each, member in group.members.items()}
    group.kill(name)
    group.settle(all_members=False)
    after = _first_without(name, generations(group.brokers, group.topics.application))
    found = []
    for task in dead:
        by = after.owner(task)
        reported = after.sum_of(by, task)
        read = _restored(group, by, task, received[by])
        found.append(Failover(task, name, after.leading, by, ends[task], reported, read))
        if by not in standing[task] or reported != ends[task] or read is None or read >= ends[task]:
            raise ScenarioFailed(f"{sorted(standing[task])} had caught up on what others had: {found[-1]}")
    return found


def _restored(group: Group, by: str, task: str, received: int) -> int | None:
    """How many records a member read before it began; its line may come later than the assignment."""

    def read() -> int | None:
        return group.members[by].restored(task, received)

    group.eventually(lambda: read() is not None, lambda: f"{by} has not restored {task}")
    return read()


def _first_without(name: str, log: list[Generation]) -> Generation:
    """The first generation in which a member is no more, of those at the end."""
    later = takewhile(lambda each: name not in each.standbys(), reversed(log))
    return [each for each in later if each.answered][-1]


def _ends_when_quiet(group: Group, generation: Generation) -> dict[str, int]:
    """Wait until all is committed and all standbys are at the end of their changelogs; return those ends."""
    reader = Consumer({"bootstrap.servers": group.brokers, "group.id": group.topics.application})
    try:
        sources = [TopicPartition(group.topics.source, number) for number in range(PARTITIONS)]

        def committed() -> list[int]:
            return [each.offset for each in reader.committed(sources, TIMEOUT_SECONDS)]

        sent = [group.sent] * PARTITIONS
        group.eventually(lambda: committed() == sent, lambda: f"committed {committed()}, not {sent}")
        changelogs = [TopicPartition(group.topics.changelog, number) for number in range(PARTITIONS)]
        ends = {f"0_{each.partition}": reader.get_watermark_offsets(each, TIMEOUT_SECONDS)[1] for each in changelogs}
    finally:
        reader.close()
    _catch_up(group, generation.standbys(), ends)
    return ends


def _catch_up(group: Group, standbys: dict[str, set[str]], ends: dict[str, int]) -> None:
    def stored() -> dict[str, dict[str, int | None]]:
        return {name: {task: group.members[name].stored.get(task) for task in its} for name, its in standbys.items()}

    expected = {name: {task: ends[task] for task in its} for name, its in standbys.items()}
    group.eventually(lambda: stored() == expected, lambda: f"standbys are at {stored()}, not at {expected}")
