"""Scenario language of streams groups: one line describes a group and the steps that happen to it.

    A@4.3.1 B@4.3.1 group 4.3.1 tasks=2 standbys=1 | start A | settle | start B | heartbeat B | crash A | settle

The head lists the members with their releases (``A.1`` and ``A.2`` are two members of process A), ``group`` with the
release of the group coordinator, and what the group is like: ``tasks=2+1`` are two subtopologies with two and one
tasks, ``standbys`` is num.standby.replicas, ``stateless`` names subtopologies without state, ``static`` names members
with a ``group.instance.id``, ``next`` is the release to which the brokers are brought, and ``classic`` counts members
of the classic protocol that the group still has. No other member runs at first.
``VERBS`` lists the steps.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from streams_assignor.spark_sim.model.scenario import Verb, make_verb
from streams_assignor.spark_sim.streams_groups._coordinator import GroupTopology
from streams_assignor.spark_sim.streams_groups.rules import NEWEST


class StreamsGroupOperands(enum.Enum):
    """The words behind a verb."""

    MEMBER = "one member"
    MEMBER_ID = "one member id, such as A#1"
    NOTHING = "nothing"


VERBS: Final[Mapping[str, Verb[StreamsGroupOperands]]] = {
    "start": make_verb(StreamsGroupOperands.MEMBER, "{names} starts with a new member id"),
    "stop": make_verb(StreamsGroupOperands.MEMBER, "{names} stops and leaves the group"),
    "restart": make_verb(StreamsGroupOperands.MEMBER, "{names} leaves the group and starts again"),
    "update": make_verb(StreamsGroupOperands.MEMBER, "{names} restarts with the next topology epoch"),
    "heartbeat": make_verb(StreamsGroupOperands.MEMBER, "{names} sends a heartbeat and receives the answer"),
    "callback": make_verb(StreamsGroupOperands.MEMBER, "the application of {names} revokes, takes or drops tasks"),
    "receive": make_verb(StreamsGroupOperands.MEMBER, "the answer reaches {names}"),
    "expire": make_verb(StreamsGroupOperands.MEMBER_ID, "the session of member id {names} ends"),
    "crash": make_verb(StreamsGroupOperands.MEMBER, "{names} crashes"),
    "stall": make_verb(
        StreamsGroupOperands.MEMBER, "the application of {names} does not poll for max.poll.interval.ms"
    ),
    "lose-request": make_verb(StreamsGroupOperands.MEMBER, "a heartbeat of {names} is lost"),
    "lose-response": make_verb(StreamsGroupOperands.MEMBER, "the answer to a heartbeat of {names} is lost"),
    "slow-response": make_verb(
        StreamsGroupOperands.MEMBER, "a heartbeat of {names} is answered, and the answer is slow"
    ),
    "delay": make_verb(
        StreamsGroupOperands.MEMBER, "a heartbeat of {names} is late; its member sends the next one before"
    ),
    "arrive": make_verb(
        StreamsGroupOperands.MEMBER_ID, "a late heartbeat of member id {names} reaches the coordinator"
    ),
    "delay-commit": make_verb(StreamsGroupOperands.MEMBER, "a commit of {names} is late"),
    "arrive-commit": make_verb(
        StreamsGroupOperands.MEMBER_ID, "a late commit of member id {names} reaches the coordinator"
    ),
    "silence": make_verb(
        StreamsGroupOperands.MEMBER, "the session of {names} ends, as no heartbeat reaches the coordinator"
    ),
    "linger": make_verb(
        StreamsGroupOperands.MEMBER, "the rebalance timeout of {names} ends before it has revoked its tasks"
    ),
    "retire": make_verb(StreamsGroupOperands.NOTHING, "a member of the classic protocol leaves the group"),
    "failover": make_verb(StreamsGroupOperands.NOTHING, "another broker becomes the coordinator and loads the records"),
    "roll": make_verb(StreamsGroupOperands.NOTHING, "a broker of the next release becomes the coordinator"),
    "settle": make_verb(StreamsGroupOperands.NOTHING, "the protocol goes on until nothing changes"),
}
"""The verbs of steps."""

FAULTS: Final = (
    *("crash", "stall", "lose-request", "lose-response", "slow-response", "delay", "delay-commit", "silence"),
    *("linger", "failover"),
)
"""The steps that a search counts as faults."""


@frozen
class GroupStep:
    """One step: a verb and its operand."""

    verb: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.name}".rstrip()

    @property
    def description(self) -> str:
        """The meaning of the step as text.

        >>> GroupStep("crash", "A").description
        'A crashes'
        """
        return VERBS[self.verb].describe("", (), names=[self.name])


@frozen
class GroupScenario:
    """A parsed scenario; ``str`` returns its line."""

    members: tuple[tuple[str, str], ...]
    """Name and release of each member."""
    topology: GroupTopology
    num_standby_replicas: int = 0
    classic_members: int = 0
    """Members of the classic protocol that are in the group when it migrates."""
    coordinator: str = NEWEST
    next_coordinator: str = ""
    """The release to which the brokers are brought; "" if they stay."""
    static_members: tuple[str, ...] = ()
    steps: tuple[GroupStep, ...] = ()

    @property
    def head(self) -> str:
        """The part of the line before the first bar."""
        words = [f"{name}@{release}" for name, release in self.members]
        words += ["group", self.coordinator, f"tasks={'+'.join(map(str, self.topology.partitions))}"]
        words += [f"standbys={self.num_standby_replicas}"] if self.num_standby_replicas else []
        words += [f"classic={self.classic_members}"] if self.classic_members else []
        words += [f"next={self.next_coordinator}"] if self.next_coordinator else []
        words += [f"static={','.join(self.static_members)}"] if self.static_members else []
        stateless = [str(number) for number, is_stateful in enumerate(self.topology.stateful) if not is_stateful]
        return " ".join([*words, *([f"stateless={','.join(stateless)}"] if stateless else [])])

    def __str__(self) -> str:
        return " | ".join([self.head, *map(str, self.steps)])
