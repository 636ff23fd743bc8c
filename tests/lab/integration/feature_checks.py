"""What tests of features on real clusters share: bring a cluster to a level, send, compare with Kafka's tool."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from streams_assignor.cli.features.command import features
from streams_assignor.upgrade.cluster.client.connection import Connection, Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.features import levels_of_releases
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.rpc import FeatureUpdate, Listener, UpgradeType
from tests.lab.integration.clusters import Cluster, JavaTools, ToolOutput
from tests.lab.integration.kafka_jars import Unavailable, class_path, java
from tests.upgrade.cluster.features.observed import Observed

SECONDS = 120.0
UPDATE_FEATURES = 57  # its API key
EPOCH = re.compile(r"Epoch: \d+")
REQUEST = re.compile(r"Request Request\(.*\)")


def need_brokers(*releases: str) -> None:
    """Skip if brokers of these releases cannot be had."""
    try:
        java()
        for release in releases:
            class_path(f"org.apache.kafka:kafka_2.13:{release}")
    except Unavailable as missing:
        pytest.skip(f"no real brokers: {missing}")


def java_tools() -> Iterator[JavaTools]:
    """For a fixture: Kafka's own tools, or a skip."""
    with ExitStack() as stack:
        try:
            tools = stack.enter_context(JavaTools())
        except Unavailable as missing:
            pytest.skip(f"no tools of Kafka: {missing}")
        yield tools


def client(cluster: Cluster, listener: Listener = Listener.CONTROLLER) -> FeatureClient:
    return FeatureClient(cluster.brokers if listener is Listener.BROKER else cluster.controllers, listener, {}, SECONDS)


def at(cluster: Cluster, metadata: int) -> Cluster:
    """The cluster as a new one of this level would be, whatever has been done to it; but for kraft.version."""
    wanted = {METADATA_VERSION: metadata} | dict(levels_of_releases.NEWEST_CATALOG.default_levels(metadata))
    del wanted["kraft.version"]
    now = client(cluster).describe().finalized
    for kind, differs in ((UpgradeType.SAFE_DOWNGRADE, -1), (UpgradeType.UPGRADE, 1)):
        changes = {name: level for name, level in wanted.items() if (level - now.get(name, 0)) * differs > 0}
        if changes:
            client(cluster).update({name: FeatureUpdate(level, kind) for name, level in changes.items()})
    return cluster


def ask(server: str, row: Observed) -> ApiError | None:
    """Send the request of a row as it is, even if a client would know better; returns the error for all of it."""
    deadline = Deadline(SECONDS)
    updates = {each.feature: SimpleNamespace(level=each.level, type=each.upgrade_type) for each in row.asked}
    with Connection(server, {}, deadline) as connection:
        # What the server knows is what both know: so the request goes out in the row's version.
        connection._connection.broker_version_data.api_versions[UPDATE_FEATURES] = (0, row.version)
        try:
            results = connection.update_features(updates, deadline, dry_run=row.dry_run)
        except ApiError as error:
            return error
    assert not any(results.values())
    return None


def check(cluster: Cluster, row: Observed, server: str) -> None:
    before = client(cluster).describe()
    error = ask(server, row)
    after = client(cluster).describe()

    assert (row.code, row.message) == ((error.code, error.message) if error else (0, None))
    if row.message or row.dry_run or not row.asked:
        assert before == after
    else:
        assert [max(each.level, 0) for each in row.asked] == [
            after.finalized.get(each.feature, 0) for each in row.asked
        ]
        assert after.epoch >= before.epoch


def compare(cluster: Cluster, tools: JavaTools, call: tuple[str, ...]) -> None:
    """Both start from the same levels, say the same and leave the same behind."""
    words = addressed(cluster, call)
    settled(at(cluster, 25))
    theirs = tools.features(*words)
    left = client(cluster).describe().finalized
    settled(at(cluster, 25))

    assert normalized(theirs, call) == normalized(ours(*words, *(["--yes"] if "--unsafe" in words else [])), call)
    assert left == client(cluster).describe().finalized


def addressed(cluster: Cluster, call: tuple[str, ...]) -> list[str]:
    return [{"BROKER": cluster.brokers, "CONTROLLER": cluster.controllers}.get(word, word) for word in call]


def ours(*words: str, stdin: str | None = None) -> ToolOutput:
    result = CliRunner().invoke(features, words, input=stdin, prog_name="streams-assignor features")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return ToolOutput(result.exit_code, result.stdout, result.stderr)


def normalized(output: ToolOutput, call: tuple[str, ...]) -> ToolOutput:
    """Every byte but a broker's epoch, which grows by itself, and the request that an authorizer's refusal repeats."""
    out = REQUEST.sub("Request ...", output.out)
    return output._replace(out=EPOCH.sub("Epoch: N", out) if "BROKER" in call else out)


def settled(cluster: Cluster) -> Cluster:
    """Wait until the broker has received what the controller has finalized."""
    finalized = client(cluster).describe().finalized
    deadline = Deadline(SECONDS)
    while finalized != client(cluster, Listener.BROKER).describe().finalized:
        assert deadline.remaining, "the broker has not received it"
        time.sleep(0.02)
    return cluster


def compare_reading(cluster: Cluster, tools: JavaTools, *call: str) -> None:
    """Compare what changes nothing, because it only reads or because it fails."""
    words = addressed(cluster, call)

    assert normalized(tools.features(*words), call) == normalized(ours(*words), call)
