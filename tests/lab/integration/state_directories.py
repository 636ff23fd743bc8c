"""One release of Kafka Streams on the state of another: what it says, and how much it restores.

``python -m tests.lab.integration.state_directories 4.3.1 4.2.1`` plays one pair. A word after a comma is a setting:
``4.3.1,upgrade.from=4.2``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.lab.integration.clusters import OLDER
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.kafka_jars import driver
from tests.lab.integration.peers import Member
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

RECORDS = 200
FRESH = "fresh"
"""A word that empties the state directory before the member starts."""
_SETTLED_SECONDS = 2.0


@frozen
class StateDirectoryResult:
    """What the second release did on the state of the first."""

    runs: bool
    """It had its task and went on."""
    log: str
    """What it printed, warnings and errors too."""


def play_pair(first: str, second: str, brokers: str, folder: Path) -> StateDirectoryResult:
    """Count with the first release, stop it, and start the second one on its state directory."""
    name = f"state-{uuid4().hex[:8]}"
    state = folder / name
    topics = [f"{name}-data", f"{name}-output"]
    admin = AdminClient({"bootstrap.servers": brokers})
    for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        future.result(TIMEOUT_SECONDS)
    for number, words in enumerate((first, second)):
        release, *given = words.split(",")
        if FRESH in given:
            shutil.rmtree(state)
        state.mkdir(parents=True, exist_ok=True)
        member = Member(f"{number}@{release}", _command(release, given, brokers, name, state, topics), {})
        try:
            runs = _works(member, brokers, topics[0], number)
        finally:
            member.stop()
        if number == 0 and not runs:
            raise AssertionError("\n".join(member.lines))
    return StateDirectoryResult(runs, "\n".join(member.lines))


def _command(release: str, given: list[str], brokers: str, name: str, state: Path, topics: list[str]) -> list[str]:
    settings = {
        "bootstrap.servers": brokers,
        "application.id": name,
        "state.dir": str(state),
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "500",
        "commit.interval.ms": "200",
        **dict(word.partition("=")[::2] for word in given if word != FRESH),
    }
    return [*driver("Stored", release), *topics, *(f"{key}={value}" for key, value in settings.items())]


def _works(member: Member, brokers: str, topic: str, number: int) -> bool:
    """Send records to a member; whether it gets its task and keeps it while it counts them."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not member.tasks and not member.ended:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    producer = Producer({"bootstrap.servers": brokers})
    for record in range(RECORDS):
        producer.produce(topic, key=f"{number}-{record}", value=b"x" * 100)
    producer.flush(TIMEOUT_SECONDS)
    settled = time.monotonic() + _SETTLED_SECONDS
    while time.monotonic() < settled and not member.ended:
        time.sleep(0.1)
    return not member.ended and bool(member.tasks)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="state-") as scratch, ExitStack() as stack:
        brokers = broker_of(OLDER, Path(scratch), stack)
        for pair in " ".join(sys.argv[1:]).split("/"):
            first, second = pair.split()
            found = play_pair(first, second, brokers, Path(scratch))
            print(f"== {first} then {second}: {'runs' if found.runs else 'does not run'}\n{found.log}", flush=True)


if __name__ == "__main__":
    main()
