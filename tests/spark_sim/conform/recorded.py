"""Captures made here: of simulated groups, and record by record."""

import json

from spark_sim.conform.capture import Capture
from spark_sim.scenario import Scenario
from spark_sim.world import World


class Recorded(World):
    """A simulated group that keeps what a broker would keep: every generation whose leader has answered."""

    def run(self):
        self.records = []
        return super().run()

    def _answers(self, joined, leader):
        answers = super()._answers(joined, leader)
        if answers is not None:
            self.records.append(
                {
                    "protocol": "stream",
                    "generation": joined.generation,
                    "leader": joined.leader,
                    "members": [
                        seat(member, member.rpartition("-")[0], blob, answers.get(member, b""))
                        for member, blob in joined.subscriptions.items()
                    ],
                }
            )
        return answers


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
    """Run a scenario: the world, and its capture as text."""
    world = Recorded(Scenario.parse(line)).run()
    starts = [str(instance) for _, instance in world.scenario.members]
    starts += [str(instance) for step in world.scenario.steps for _, instance in step.members if instance]
    return world, json.dumps({"steps": list(dict.fromkeys(starts)), "generations": world.records})


def parsed(*records, **more):
    """A capture with these records."""
    return Capture.parse(json.dumps({"generations": records} | more))
