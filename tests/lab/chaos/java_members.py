"""A member of a run that is Kafka Streams, of any release from 2.0 on: it copies the records, as the others do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams_assignor.upgrade import release_named
from tests.lab.chaos.members import Worker
from tests.lab.chaos.worker_events import EventLine, WorkerSettings, owns
from tests.lab.integration.kafka_jars import counting

COPY = (1).to_bytes(8, "big")
"""The value of each record that it writes, which no other member does."""

_COMMIT_MS = 100
_TRANSACTION_MS = 5000  # as for the others
_GUARANTEES = (((3, 0), "exactly_once_v2"), ((2, 6), "exactly_once_beta"))
"""From a release on, the name of what fences a transaction by the generation of its member."""


class JavaWorker(Worker):
    """One life of a process of Kafka Streams (`CountingListener`, stateless): one copy in the output for each record.

    It tells what it owns while it is running (not in a rebalance, not even in a cooperative one), and follows no orders
    but the end of its input.
    """

    def _command(self) -> Sequence[str]:
        settings = self.settings
        pairs = (f"{key}={value}" for key, value in configuration(settings).items())
        return [*counting(settings.release), settings.topic, settings.output, *pairs]

    def _event(self, line: str) -> EventLine | None:
        return event(line, self.settings.topic)


def configuration(settings: WorkerSettings) -> Mapping[str, str | int | None]:
    """What Kafka Streams is told."""
    reported: dict[str, str | int | None] = {
        "bootstrap.servers": settings.bootstrap_servers,
        "application.id": settings.group,
        "client.id": settings.client_id,
        "state.dir": settings.state,
        "shape": "stateless",
        "commit.interval.ms": _COMMIT_MS,
        "producer.acks": "all",  # the default before 3.0 loses what a dying broker has not handed on
        "producer.retries": 2**31 - 1,  # the default before 2.1 dies of a broker that is away for a second
    }
    if settings.protocol == "classic":
        reported |= {"session.timeout.ms": settings.session_ms, "heartbeat.interval.ms": settings.session_ms // 10}
    else:  # the brokers have the timeouts
        reported["group.protocol"] = settings.protocol
    if settings.instance_id:
        reported["group.instance.id"] = settings.instance_id
    if settings.upgrade_from:
        reported["upgrade.from"] = settings.upgrade_from
    if settings.kind == "exactly-once":
        number = release_named(settings.release).number
        reported["processing.guarantee"] = next(name for first, name in _GUARANTEES if number >= first)
        reported["producer.transaction.timeout.ms"] = _TRANSACTION_MS
    return reported


def event(line: str, topic: str) -> EventLine | None:
    """What a line of it means; None if nothing that matters here."""
    match line.split():
        case ["owns", *tasks]:
            return owns(f"{topic}-{task.removeprefix('0_')}" for task in tasks)
        case ["died", *why]:
            return {"event": "failed", "error": " ".join(why)}
    return None
