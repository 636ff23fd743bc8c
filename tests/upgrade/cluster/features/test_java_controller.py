"""The model beside the real controller's classes of Kafka 4.3.1, on random clusters and requests."""

import subprocess
import tempfile
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import EventType, FeatureCluster, FeatureNode
from streams_assignor.upgrade.cluster.features.dialects import Code
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS
from streams_assignor.upgrade.cluster.features.registration import register_broker, start_broker
from streams_assignor.upgrade.cluster.features.update_features import UpdateFeaturesRequest, UpdateItem, update_features
from tests.draws import examples
from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm

pytestmark = [pytest.mark.java, pytest.mark.slow]
SOURCE = Path(__file__).parent / "java/FeatureOracle.java"
NAMES = ("kraft.version", "transaction.version", "group.version", "eligible.leader.replicas.version")


@pytest.fixture(name="kafka", scope="module")
def fixture_kafka() -> Iterator[subprocess.Popen[str]]:
    try:
        jars = class_path("org.apache.kafka:kafka-metadata:4.3.1")
        java()
    except Unavailable as missing:
        pytest.skip(f"no controller of Kafka 4.3.1: {missing}")
    with tempfile.TemporaryDirectory(prefix="feature-oracle-") as folder, tempfile.TemporaryFile() as errors:
        compile_java([SOURCE], folder, jars)
        command = [*jvm(f"{folder}:{jars}", "128m", "off"), "org.apache.kafka.controller.FeatureOracle"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        with subprocess.Popen(command, encoding="ascii", **pipes) as process:
            yield process
            process.stdin.close()


def ask(kafka, kind, cluster, last):
    """The answer of Kafka: the tab-separated parts of its answer."""
    controllers = [
        cluster.active_controller,
        *(node for node in cluster.controllers.values() if node != cluster.active_controller),
    ]
    levels = ",".join(f"{name}={level}" for name, level in cluster.finalized.items())
    quorum = ",".join(map(str, sorted(cluster.voter_ids)))
    print(
        kind, levels, as_text(cluster.brokers.values()), as_text(controllers), quorum, last, sep="|", file=kafka.stdin
    )
    kafka.stdin.flush()
    return kafka.stdout.readline().rstrip("\n").split("\t")


def as_text(nodes):
    def ranges(node):
        return ",".join(f"{name}={low}-{high}" for name, (low, high) in node.supports.items())

    return ";".join(f"{node.id}:{ranges(node)}" for node in nodes)


metadata_ranges = st.tuples(st.sampled_from([1, 7, 7, 7, 22]), st.integers(22, 31))
small_ranges = st.tuples(st.sampled_from([0, 0, 0, 0, 1]), st.integers(1, 2))


@st.composite
def supports(draw):
    """Ranges of a node: metadata.version, and some of the others."""
    others = draw(st.dictionaries(st.sampled_from(NAMES), small_ranges))
    return {METADATA_VERSION: draw(metadata_ranges), **others}


@st.composite
def clusters(draw):
    """Clusters whose active controller is 4.3.1, and anything else besides it."""
    local = {**CATALOGS["4.3"].supported_ranges(), METADATA_VERSION: (7, draw(st.sampled_from([30, 31])))}
    quorum = draw(st.sampled_from([{1}, {1, 2}, {1, 2, 3}]))
    others = {number for number in quorum - {1} if draw(st.integers(0, 5))}
    controllers = {
        1: FeatureNode(1, local),
        **{number: FeatureNode(number, draw(supports())) for number in sorted(others)},
    }
    brokers = {number: FeatureNode(number, draw(supports())) for number in draw(st.sets(st.integers(4, 6), max_size=2))}
    metadata = draw(st.one_of(st.integers(7, 30), st.integers(20, 27)))
    levels = {name: draw(st.integers(0, local[name][1])) for name in NAMES}
    finalized = {METADATA_VERSION: metadata, **{name: level for name, level in levels.items() if level}}
    return FeatureCluster(brokers=brokers, controllers=controllers, voter_ids=quorum, active=1, finalized=finalized)


updates = st.one_of(
    st.builds(UpdateItem, st.just(METADATA_VERSION), st.integers(-1, 32), st.integers(0, 4)),
    st.builds(UpdateItem, st.sampled_from((*NAMES, "nope")), st.integers(-1, 3), st.integers(0, 4)),
)
requests = st.lists(updates, min_size=1, max_size=3, unique_by=lambda each: each.feature).map(tuple)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cluster=clusters(), asked=requests)
def test_it_answers_and_writes_what_kafka_does(kafka, cluster, asked):
    wire = ",".join(f"{each.feature}={each.level}:{each.upgrade_type}" for each in asked)

    code, written, message = ask(kafka, "update", cluster, wire)

    # Kafka keeps a request in a hash map, so the request does not determine which of several errors it reports.
    possible = [update_features(cluster, UpdateFeaturesRequest(order)) for order in permutations(asked)]
    assert int(code) in {answer.top_level.code.value for answer in possible}
    if code == "0":
        levels = dict(each.split("=") for each in filter(None, written.split(",")))
        after = {each.feature: str(max(each.level, 0)) for each in asked if each.feature != "kraft.version"}
        assert after == levels
        assert all(str(possible[0].cluster.level_of(name)) == level for name, level in levels.items())
    else:
        assert message in {(answer.top_level.message or "").partition("had an error: ")[2] for answer in possible}


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cluster=clusters(), supported=supports())
def test_it_registers_and_refuses_whom_kafka_does(kafka, cluster, supported):
    code, message = ask(kafka, "register", cluster, as_text([FeatureNode(9, supported)]))

    orders = [dict(order) for order in permutations(cluster.finalized.items())]
    found = [
        register_broker(start_broker(evolve(cluster, finalized=order), 9, supported).cluster, 9) for order in orders
    ]
    texts = {event.text for outcome in found for event in outcome.events}
    if code == "0":
        assert {(EventType.REGISTERED,)} == {outcome.event_types for outcome in found}
    else:
        assert Code.UNSUPPORTED_VERSION.value == int(code)
        assert message in texts
