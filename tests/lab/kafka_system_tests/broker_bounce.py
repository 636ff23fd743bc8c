"""The steps of Kafka's ``streams_broker_bounce_test.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.lab.kafka_system_tests import smoke
from tests.lab.kafka_system_tests.system import System

_FAILED_AT: Final = "10000 records produced"
"""Half of the records; kafkatest waits for two minutes, when the driver has sent all of them."""
_DELIVERED: Final = "^ALL-RECORDS-DELIVERED$"
"""Kafkatest records as well that some are missing. With these brokers at least once holds, so here none may be."""
_JUDGED: Final = "^(SUCCESS|FAILURE)$"
_DRIVER_SECONDS: Final = 600
_BOUNCES: Final = 5


def one_broker(system: System, *, failure: str, threads: int) -> None:
    """``test_broker_type_bounce``: the leader of a topic fails, or each leader of it five times."""
    _begin(system, threads)
    topic = system.random.choice(smoke.TOPICS)
    _FAILURES[failure](system, topic)
    _end(system)


def many_brokers(system: System, *, failure: str) -> None:
    """``test_many_brokers_bounce``: with ``num_failures`` 2 kafkatest ends the first broker only."""
    _begin(system, threads=3)
    node = system.nodes[0]
    if failure == "clean_shutdown":
        system.cluster.stop(node)
    else:
        system.cluster.kill(node)
    _end(system)


def _clean_shutdown(system: System, topic: str) -> None:
    system.cluster.stop(system.leader(topic))


def _hard_shutdown(system: System, topic: str) -> None:
    system.cluster.kill(system.leader(topic))


def _clean_bounce(system: System, topic: str) -> None:
    for _ in range(_BOUNCES):
        system.cluster.stop(node := system.leader(topic))
        system.start_broker(node)


def _hard_bounce(system: System, topic: str) -> None:
    for _ in range(_BOUNCES):
        system.cluster.kill(node := system.leader(topic))
        system.start_broker(node)


_FAILURES: Final[Mapping[str, Callable[[System, str], None]]] = {
    "clean_shutdown": _clean_shutdown,
    "hard_shutdown": _hard_shutdown,
    "clean_bounce": _clean_bounce,
    "hard_bounce": _hard_bounce,
}
FAILURES: Final = tuple(_FAILURES)


def _begin(system: System, threads: int) -> None:
    replicas = len(system.nodes)
    system.create_topics(dict.fromkeys(smoke.TOPICS, 3), replicas, **{"min.insync.replicas": "2"})
    driver = system.drive(smoke.CLASS, system.release, "run")
    smoke.add_processors(system, 1, threads=threads, replicas=replicas)
    system.use(system.processors[0], smoke.CLASS, system.release, "process")
    system.processors[0].start()
    driver.wait_for(_FAILED_AT, 0)


def _end(system: System) -> None:
    (driver,) = system.others
    for line in (_DELIVERED, _JUDGED):
        driver.wait_for(line, 0, seconds=_DRIVER_SECONDS)
    system.processors[0].stop_until(smoke.CLOSED)
