"""Captures of real rolling bounces as the records of a coordinator, in segments."""

from pathlib import Path

from streams_assignor.groups.capture import Capture
from tests.assignor.groups.history.segments import NOW, batch, record

TESTS = Path(__file__).parents[2]
CAPTURES = sorted((*(TESTS / "captures").glob("*.json"), *(TESTS / "spark_sim/conformance/captures").glob("*.json")))
SECOND_MS = 1000


def capture_of(path):
    return Capture.parse(path.read_text())


def named(name):
    return capture_of(next(path for path in CAPTURES if path.stem == name))


def value_of(generation):
    """The fields of a ``GroupMetadata`` record."""
    return {
        "protocolType": "consumer",
        "generation": generation.number,
        "protocol": "stream" if generation.members else None,
        "leader": generation.leader,
        "currentStateTimestamp": NOW,
        "members": [
            {
                "memberId": each.member_id,
                "groupInstanceId": each.group_instance_id,
                "clientId": each.client_id,
                "clientHost": "/127.0.0.1",
                "rebalanceTimeout": 300_000,
                "sessionTimeout": 10_000,
                "subscription": each.subscription,
                "assignment": each.assignment,
            }
            for each in generation.members
        ],
    }


def write_segment(folder, partition, **captures):
    """A partition with one group for each capture, a record a second."""
    pairs = [
        record(2, {"group": group}, value_of(generation), NOW + at * SECOND_MS, 3)
        for group, capture in captures.items()
        for at, generation in enumerate(capture.generations)
    ]
    where = folder / f"__consumer_offsets-{partition}"
    where.mkdir(parents=True, exist_ok=True)
    (where / f"{0:020}.log").write_bytes(batch(pairs))
    return folder
