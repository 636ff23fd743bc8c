"""A real Kafka broker, from wherever this machine can get one."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.integration.clusters import OLDER, Cluster

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000"}


@contextmanager
def a_broker() -> Iterator[str]:
    """Its bootstrap address; `Unavailable` if there is no way to have one.

    `OLDER` is the last release that also understands the oldest clients.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder, Cluster(Path(folder)) as cluster:
        cluster.start(1, OLDER, settings=SETTINGS)
        yield cluster.brokers
