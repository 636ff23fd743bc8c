"""Histories of one real node: whether a release starts on its disk is what the model says of the same history.

A history is a level at which a release formats the disk, and steps; its last step starts the release in question.
"""

import pytest

from streams_assignor.spark_sim.brokers._properties import ALL_NODES_IN_CLUSTER
from streams_assignor.spark_sim.brokers.actions import run_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.scenario import level_text
from streams_assignor.upgrade.cluster.brokers._kraft import finalized_levels
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release, version_named
from tests.lab.integration.clusters import Cluster, JavaTools
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.subprocesses import wait_until

STARTED = "Kafka Server started"
FATAL = (
    "Encountered fatal fault",
    "Tried to apply FeatureLevelRecord",
    "Unsupported metadata version",
    "Exiting Kafka due to fatal exception",
    "UNSUPPORTED_VERSION",
)
ALONE = {"4.1-IV1": 27, "4.0-IV3": 25, "4.2-IV1": 29, "4.3-IV0": 30, "3.9-IV0": 21}
"""Levels of metadata.version that a step changes without any other feature."""
NO_STREAMS = "downgrade streams.version=0"

HISTORIES = [
    # release, its level, steps, whether the quorum is dynamic
    ("4.2.2", "4.1-IV1", "bounce 4.1.2", False),
    ("4.2.2", "4.1-IV1", "finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 4.1.2", False),
    ("4.2.2", "4.1-IV1", "finalize 4.2-IV1 | downgrade 4.1-IV1 | snapshot | bounce 4.1.2", False),
    ("4.2.2", "4.2-IV1", "downgrade 4.1-IV1 | snapshot | bounce 4.1.2", False),
    ("4.2.2", "4.2-IV1", f"downgrade 4.1-IV1 | {NO_STREAMS} | snapshot | bounce 4.1.2", False),
    ("4.3.1", "4.2-IV1", "bounce 4.2.2", False),
    ("4.3.1", "4.3-IV0", "bounce 4.2.2", False),
    ("4.1.2", "4.1-IV1", "bounce 4.3.1 | bounce 4.1.2", False),
    ("4.1.2", "4.1-IV1", "bounce 4.3.1 | finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 4.1.2", False),
    ("4.1.2", "4.1-IV1", "bounce 4.3.1 | finalize 4.2-IV1 | downgrade 4.1-IV1 | snapshot | bounce 4.1.2", False),
    ("3.9.2", "3.9-IV0", "bounce 4.3.1", False),
    ("3.9.2", "3.3-IV3", "bounce 4.3.1", False),
    ("3.9.2", "3.3-IV0", "bounce 4.3.1", False),
    ("3.9.2", "3.3-IV0", "finalize 3.9-IV0 | bounce 4.3.1", False),
    ("3.9.2", "3.3-IV0", "finalize 3.9-IV0 | snapshot | bounce 4.3.1", False),
    ("3.6.2", "3.6-IV2", "bounce 3.9.2 | bounce 3.6.2", False),
    ("3.6.2", "3.6-IV2", "bounce 3.9.2 | finalize 3.9-IV0 | bounce 3.6.2", False),
    ("3.3.2", "3.3-IV3", "bounce 3.9.2 | finalize 3.9-IV0 | bounce 4.4.0", False),
    ("4.0.2", "4.0-IV3", "bounce 4.1.2 | finalize 4.1-IV1 | downgrade 4.0-IV3 | bounce 4.0.2", False),
    ("4.0.2", "4.0-IV3", "bounce 4.1.2 | finalize 4.1-IV1 | downgrade 4.0-IV3 | snapshot | bounce 4.0.2", False),
    ("4.1.2", "4.1-IV1", "bounce 4.3.1 | bounce 4.1.2", True),
    ("4.2.2", "4.1-IV1", "finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 4.1.2", True),
    ("4.2.2", "4.1-IV1", "finalize 4.2-IV1 | downgrade 4.1-IV1 | snapshot | bounce 4.1.2", True),
    ("3.9.2", "3.9-IV0", "bounce 4.3.1 | bounce 3.9.2", True),
]


def steps_of(history):
    return [step.split() for step in history.split(" | ")]


def simulated(release, level, history):
    """Whether the model says that the release of the last step starts."""
    levels = finalized_levels(broker_release(release), version_named(level))
    head = f"1@{release} level {' '.join(map(level_text, levels.items()))}"
    lines = (
        f"bounce 1>{words[0]}" if verb == "bounce" else " ".join((verb, *words)) for verb, *words in steps_of(history)
    )
    state = run_scenario(parse_scenario(" | ".join((head, *lines))))
    assert {ALL_NODES_IN_CLUSTER}.issuperset(violation.property for violation in state.violations)
    return not state.violations


class RealNode:
    """A node with both roles, and the steps of a history."""

    def __init__(self, folder, cluster, tools):
        self._log, self._cluster, self._tools = folder / "1/data/__cluster_metadata-0", cluster, tools
        self.release = ""

    def start(self, release, **how):
        self.release = release
        self._cluster.start(1, release, settings={"metadata.log.max.snapshot.interval.ms": "0"}, **how)

    def change(self, verb, word):
        name, _, number = word.partition("=") if "=" in word else ("metadata.version", "", ALONE[word])
        verb = {"finalize": "upgrade"}.get(verb, verb)
        done = self._tools.features("--bootstrap-server", self._cluster.brokers, verb, "--feature", f"{name}={number}")
        assert 0 == done.status, done

    def snapshot(self):
        """Let the node write two snapshots: the second one has all that was there when the first one began."""
        self._cluster.stop(1)
        before = set(self._log.glob("*.checkpoint"))
        child = self._cluster.launch(1, self.release, settings={"metadata.log.max.snapshot.interval.ms": "1000"})
        wait_until(lambda: len({*self._log.glob("*.checkpoint")} - before) > 1, child)
        self._cluster.stop(1)
        self._cluster.start(1, self.release, settings={"metadata.log.max.snapshot.interval.ms": "0"})

    def starts(self, release):
        """Whether a release starts on the disk."""
        self._cluster.stop(1)
        child = self._cluster.launch(1, release, settings={"metadata.log.max.snapshot.interval.ms": "0"})
        wait_until(lambda: child.ended or any(word in line for line in child.lines for word in (STARTED, *FATAL)))
        self.release = release
        return any(STARTED in line for line in child.lines)


def really(folder, release, level, history, *, is_dynamic):
    """Whether the release of the last step starts on the disk of a real node with this history."""
    with Cluster(folder, metadata=level, is_standalone=is_dynamic) as cluster, JavaTools() as tools:
        node = RealNode(folder, cluster, tools)
        node.start(release, metadata=level)
        started = True
        for verb, *words in steps_of(history):
            assert started, "only the last step may fail"
            if verb == "bounce":
                started = node.starts(*words)
            elif verb == "snapshot":
                node.snapshot()
            else:
                node.change(verb, *words)
        return started


@pytest.mark.broker
@pytest.mark.exhaustive
@pytest.mark.parametrize(("release", "level", "history", "is_dynamic"), HISTORIES)
def test_a_real_node_starts_where_the_model_says_so(tmp_path, release, level, history, is_dynamic):
    try:
        for name in {release, *(words[0] for verb, *words in steps_of(history) if verb == "bounce")}:
            class_path(f"org.apache.kafka:kafka_2.13:{name}")
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")

    expected = simulated(release, level, history)

    assert expected == really(tmp_path / "cluster", release, level, history, is_dynamic=is_dynamic)


def test_the_model_has_both_answers_for_these_histories():
    answers = [simulated(*case[:3]) for case in HISTORIES]

    assert (24, 9) == (len(answers), answers.count(False))
