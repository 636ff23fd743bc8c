"""Properties that only known bugs violate; ordinary runs do not check them."""

from __future__ import annotations

from typing import Final

from streams_assignor import ReceivedAssignment
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed.bfs import PackedGraph

ASSIGNED_PARTITIONS_RECORDED: Final = "always: a member that keeps its tasks records the partitions that it receives"
UPGRADE_COMPLETED: Final = "eventually: the group reaches the latest version of its release"


class ExtraPropertySimulation(Simulation):
    """A simulation that checks whether cooperative members record the partitions that their consumers get."""

    def on_sync(self, member: SimulatedMember, assignment: bytes, received: ReceivedAssignment) -> None:
        """Check a dropped assignment: a cooperative consumer owns its partitions nevertheless (KAFKA-8972)."""
        if received.dropped and member.cooperative:
            given = decode_consumer_assignment(assignment).assigned_partitions
            if count := sum(len(topic.partitions) for topic in given):
                text = f"is given {count} partitions, and makes no tasks of them"
                self.report_violations([Violation(ASSIGNED_PARTITIONS_RECORDED, member.name, text)])


def never_completed(graph: PackedGraph) -> str | None:
    """Return a message if no terminal state is on the latest version and protocol; None if one is."""
    packed = graph.encoding
    best = packed.cell.upgrade.target
    for state in graph.terminal_states:
        process_states = [packed.process_states.values[number] for number in graph.process_states[state]]
        versions = {part.payload for part in process_states}
        protocols = {
            packed.protocol_table.cooperative(packed.instance_sequences[part.sequence][part.rounds_done])
            for part in process_states
        }
        if versions == {best.supported_version} and protocols == {best.rebalance_protocol() == "cooperative"}:
            return None
    return f"no member reaches version {best.supported_version} and {best.rebalance_protocol()} rebalancing"
