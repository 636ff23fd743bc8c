"""Captures made here: of simulated groups, and record by record."""

import json

from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation


class Recorded(Simulation):
    """A simulated group that keeps what a broker would keep: every generation whose leader has answered."""

    def run(self):
        self.records = []
        return super().run()

    def on_assignment_computed(self, leader, answers):
        group = self.coordinator
        self.records.append(
            {
                "protocol": "stream",
                "generation": group.generation,
                "leader": leader.member_id,
                "members": [
                    seat(member, member.rpartition("-")[0], encoded, answers.get(member, b""))
                    for member, encoded in group.subscriptions.items()
                ],
            }
        )
        super().on_assignment_computed(leader, answers)


def seat(member_id, client_id, subscription, assignment=b"", instance_id=None):
    """A member of a record."""
    return {
        "member_id": member_id,
        "group_instance_id": instance_id,
        "client_id": client_id,
        "subscription": subscription.hex(),
        "assignment": assignment.hex(),
    }


def record(number, leader, *seats):
    """One generation."""
    return {"protocol": "stream", "generation": number, "leader": leader, "members": list(seats)}


def recorded(line):
    """Run a scenario: the simulation, and its capture as text."""
    simulation = Recorded(Scenario.parse(line)).run()
    starts = [str(instance) for _, instance in simulation.scenario.members]
    starts += [str(instance) for step in simulation.scenario.steps for _, instance in step.members if instance]
    return simulation, json.dumps({"steps": list(dict.fromkeys(starts)), "generations": simulation.records})


def parsed(*records, **more):
    """A capture with these records."""
    return Capture.parse(json.dumps({"generations": records} | more))
