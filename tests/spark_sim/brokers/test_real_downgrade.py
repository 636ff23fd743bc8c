"""The way back from a level that loses nothing, with real nodes: what ``MetadataLog.levels_from`` claims."""

import time

import pytest

from streams_assignor.spark_sim.brokers._properties import ALL_NODES_IN_CLUSTER
from streams_assignor.spark_sim.brokers.actions import run_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from tests.lab.integration.clusters import Cluster, JavaTools
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.subprocesses import wait_until

OLD = "4.1.1"
LINE = f"1@4.3.1 level 4.2-IV1 | downgrade 4.1-IV1{{}} | bounce 1>{OLD}"
DEADLY = "metadata.version', featureLevel=29), but this controller only supports versions 7-27"
STARTED = "Kafka Server started"


def lowered_and_back(folder, *, snapshots):
    """Lower 4.3.1 from 4.2-IV1 to 4.1-IV1 and start 4.1.1 on its disk: its log, up to its start or its end."""
    settings = {"metadata.log.max.snapshot.interval.ms": "1000"} if snapshots else {}
    others = ["--feature", "share.version=0", "--feature", "streams.version=0"]
    with Cluster(folder, metadata="4.2-IV1") as cluster, JavaTools() as tools:
        cluster.start(1, settings=settings)
        done = tools.features(
            "--bootstrap-server", cluster.brokers, "downgrade", "--feature", "metadata.version=27", *others
        )
        assert 0 == done.status, done
        time.sleep(8 if snapshots else 0)  # some intervals of snapshots: a file alone does not say which level is in it
        cluster.stop(1)
        child = cluster.launch(1, OLD)
        wait_until(lambda: any(STARTED in line or DEADLY in line for line in child.lines), child)
        return "\n".join(child.lines)


@pytest.mark.broker
@pytest.mark.exhaustive
@pytest.mark.parametrize("snapshots", [False, True])
def test_a_level_that_was_left_is_deadly_until_a_snapshot_has_taken_its_place(tmp_path, snapshots):
    try:
        class_path(f"org.apache.kafka:kafka_2.13:{OLD}")
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")

    output = lowered_and_back(tmp_path / "cluster", snapshots=snapshots)
    simulated = run_scenario(parse_scenario(LINE.format(" | snapshot" if snapshots else "")))

    assert (STARTED in output, DEADLY in output) == (snapshots, not snapshots)
    assert ([] if snapshots else [ALL_NODES_IN_CLUSTER]) == [violation.property for violation in simulated.violations]
