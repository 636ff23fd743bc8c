"""Histories of real nodes: whether a release starts on their disks is what the model says of the same history.

A history is a level at which the release of each node formats its disk, and steps; its last step starts the release in
question on each node, one by one.
"""

import pytest

from streams_assignor.spark_sim.brokers.actions import run_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.properties import ALL_NODES_IN_CLUSTER
from streams_assignor.spark_sim.brokers.scenario import level_text
from streams_assignor.upgrade.cluster.brokers.kraft import finalized_levels
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
    # the releases of the nodes, their level, steps, whether the quorum is dynamic
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
    ("4.2.2 4.2.2 4.2.2", "4.1-IV1", "finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 4.1.2", False),
    ("4.2.2 4.2.2 4.2.2", "4.1-IV1", "finalize 4.2-IV1 | downgrade 4.1-IV1 | snapshot | bounce 4.1.2", False),
    ("4.1.2 4.2.2 4.3.1", "4.1-IV1", "bounce 4.2.2", False),
    ("4.1.2 4.2.2 4.3.1", "4.1-IV1", "bounce 3.9.2", False),
]


def steps_of(history):
    return [step.split() for step in history.split(" | ")]


def simulated(releases, level, history):
    """Whether the model says that the release of the last step starts."""
    nodes = list(enumerate(releases.split(), 1))
    levels = finalized_levels(broker_release(nodes[0][1]), version_named(level))
    head = (
        f"{' '.join(f'{node}@{release}' for node, release in nodes)} level {' '.join(map(level_text, levels.items()))}"
    )
    lines = (
        " | ".join(f"bounce {node}>{words[0]}" for node, _ in nodes) if verb == "bounce" else " ".join((verb, *words))
        for verb, *words in steps_of(history)
    )
    state = run_scenario(parse_scenario(" | ".join((head, *lines))))
    assert {ALL_NODES_IN_CLUSTER}.issuperset(violation.property for violation in state.violations)
    return not state.violations


class RealNodes:
    """Nodes with both roles, and the steps of a history."""

    def __init__(self, folder, cluster, tools, releases, level):
        self._folder, self._cluster, self._tools = folder, cluster, tools
        self._releases = dict(enumerate(releases.split(), 1))
        for node, release in self._releases.items():
            cluster.launch(node, release, settings={"metadata.log.max.snapshot.interval.ms": "0"}, metadata=level)
        for node in self._releases:
            cluster.wait(node)

    def change(self, verb, word):
        name, _, number = word.partition("=") if "=" in word else ("metadata.version", "", ALONE[word])
        verb = {"finalize": "upgrade"}.get(verb, verb)
        done = self._tools.features("--bootstrap-server", self._cluster.brokers, verb, "--feature", f"{name}={number}")
        assert 0 == done.status, done

    def snapshot(self):
        """Let each node write two snapshots: the second one has all that was there when the first one began."""
        for node, release in self._releases.items():
            log = self._folder / f"{node}/data/__cluster_metadata-0"
            self._cluster.stop(node)
            before = set(log.glob("*.checkpoint"))
            child = self._cluster.launch(node, release, settings={"metadata.log.max.snapshot.interval.ms": "1000"})
            wait_until(lambda log=log, before=before: len({*log.glob("*.checkpoint")} - before) > 1, child)
            self._cluster.stop(node)
            self._cluster.start(node, release, settings={"metadata.log.max.snapshot.interval.ms": "0"})

    def start(self, release):
        """Whether a release starts on each disk."""
        return all(self._starts(node, release) for node in list(self._releases))

    def _starts(self, node, release):
        self._cluster.stop(node)
        child = self._cluster.launch(node, release, settings={"metadata.log.max.snapshot.interval.ms": "0"})
        wait_until(lambda: child.ended or any(word in line for line in child.lines for word in (STARTED, *FATAL)))
        self._releases[node] = release
        return any(STARTED in line for line in child.lines)


def really(folder, releases, level, history, *, is_dynamic):
    """Whether the release of the last step starts on the disks of real nodes with this history."""
    number = len(releases.split())
    with (
        Cluster(folder, metadata=level, controllers=number, is_standalone=is_dynamic) as cluster,
        JavaTools() as tools,
    ):
        nodes = RealNodes(folder, cluster, tools, releases, level)
        started = True
        for verb, *words in steps_of(history):
            assert started, "only the last step may fail"
            if verb == "bounce":
                started = nodes.start(*words)
            elif verb == "snapshot":
                nodes.snapshot()
            else:
                nodes.change(verb, *words)
        return started


@pytest.mark.broker
@pytest.mark.exhaustive
@pytest.mark.parametrize(("releases", "level", "history", "is_dynamic"), HISTORIES)
def test_a_real_node_starts_where_the_model_says_so(tmp_path, releases, level, history, is_dynamic):
    try:
        for name in {*releases.split(), *(words[0] for verb, *words in steps_of(history) if verb == "bounce")}:
            class_path(f"org.apache.kafka:kafka_2.13:{name}")
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")

    expected = simulated(releases, level, history)

    assert expected == really(tmp_path / "cluster", releases, level, history, is_dynamic=is_dynamic)


def test_the_model_has_both_answers_for_these_histories():
    answers = [simulated(*case[:3]) for case in HISTORIES]

    assert (28, 11) == (len(answers), answers.count(False))
