"""Two more things that have to hold, of which only the history of Kafka knows that they might not."""

from __future__ import annotations

from typing import Final

from spark_sim.explore.search import Graph
from spark_sim.properties import Violation
from spark_sim.threads import Thread
from spark_sim.world import World
from subscription_codec.consumer_protocol import decode_member_assignment

NOTED: Final = "always: who keeps its tasks takes note of what it is given"
FARTHEST: Final = "eventually: the group gets as far as its release can"


class Noting(World):
    """A world in which somebody sees whether cooperative members know of the partitions that their consumers get."""

    def take(self, thread: Thread) -> None:
        """Take an answer; a consumer that keeps what it has owns the new partitions from then on (KAFKA-8972)."""
        events = len(self.events)
        assert thread.member_id is not None
        blob = self.coordinator.take(thread.member_id)
        super().take(thread)
        dropped = any(event.kind == "dropped" for event in self.events[events:])
        if dropped and thread.cooperative and (given := decode_member_assignment(blob).assigned_partitions):
            count = sum(len(topic.partitions) for topic in given)
            self.report([Violation(NOTED, thread.name, f"is given {count} partitions, and makes no tasks of them")])


def stays_behind(graph: Graph) -> str | None:
    """Say what holds back a group, wherever the operator goes home; None if some end is as far as its release can."""
    packed = graph.packed
    best = packed.cell.upgrade.target
    for state in graph.ending:
        found = [packed.parts.values[number] for number in graph.parts[state]]
        versions = {part.word for part in found}
        protocols = {packed.tables.cooperative(packed.courses[part.course][part.place]) for part in found}
        if versions == {best.latest_version} and protocols == {best.protocol() == "cooperative"}:
            return None
    return f"nobody gets to version {best.latest_version} and {best.protocol()} rebalancing, whatever happens"
