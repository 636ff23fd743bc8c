"""The feature client and tool on one real node: table B2 row by row, and our lines beside those of Kafka's own tool."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from streams_assignor.upgrade.cluster.client.errors import NoSuchNode
from streams_assignor.upgrade.cluster.features import levels_of_releases
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.rpc import Listener, NewestFeatures
from streams_assignor.upgrade.releases import NEWEST as NEWEST_RELEASE
from tests.lab.integration.clusters import NEWEST, Cluster, JavaTools
from tests.lab.integration.feature_calls import CALLS, LAST_CALLS, NEWEST_CALLS
from tests.lab.integration.feature_checks import at, check, client, compare, java_tools, need_brokers, ours
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS
from tests.upgrade.cluster.features import observed
from tests.upgrade.cluster.features.observed import OBSERVED, Observed

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

SINGLE = [row for row in OBSERVED if row.setting == observed.SINGLE and row.metadata == 25]


@pytest.fixture(name="tools", scope="module")
def fixture_tools() -> Iterator[JavaTools]:
    yield from java_tools()


@pytest.fixture(name="single", scope="module")
def fixture_single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node of both roles at metadata.version 25."""
    need_brokers(NEWEST)
    with Cluster(tmp_path_factory.mktemp("single")) as cluster:
        cluster.start(1)
        yield cluster


@pytest.mark.parametrize("listener", Listener)
@pytest.mark.parametrize("row", SINGLE, ids=lambda row: row.name)
def test_u4_observed_one_node(single: Cluster, row: Observed, listener: Listener) -> None:
    at(single, row.metadata)

    check(single, row, single.brokers if listener is Listener.BROKER else single.controllers)


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_the_output_equals_kafkas(single: Cluster, tools: JavaTools, call: tuple[str, ...]) -> None:
    compare(single, tools, call)


def test_t1_m9_describe_as_json(single: Cluster) -> None:
    output = ours("describe", "--bootstrap-controller", at(single, 25).controllers, "--json", "--node-id", "1")
    found = json.loads(output.out)

    assert ("controller", 1) == (found["listener"], found["node"])
    assert sorted(levels_of_releases.NEWEST_CATALOG.features) == [each["feature"] for each in found["features"]]
    assert {
        "feature": METADATA_VERSION,
        "supportedMin": {"level": 7, "name": "3.3-IV3"},
        "supportedMax": {"level": 30, "name": "4.3-IV0"},
        "finalized": {"level": 25, "name": "4.0-IV3"},
    } in found["features"]


def test_t2_upgrade_all(single: Cluster) -> None:
    at(single, 25)
    words = ("--bootstrap-controller", single.controllers, "upgrade", "--all", "--as-release", NEWEST)
    before = client(single).describe()
    tried = ours(*words, "--dry-run")

    assert (0, "") == (tried.status, tried.err)
    assert before == client(single).describe()
    assert (
        "[Upgrade] Feature: metadata.version  ExistingFinalizedMaxVersion: 25  NewFinalizedMaxVersion: 30  Result: OK"
        in tried.out.splitlines()
    )
    assert (
        "    [Add] Feature: share.version  ExistingFinalizedMaxVersion: -  NewFinalizedMaxVersion: 1  Result: OK"
        in tried.out.splitlines()
    )


def test_t3_downgrade_all(single: Cluster) -> None:
    """To what 3.9.2 knows: Kafka 4.x refuses it as a whole, since level 23 of metadata.version changed records."""
    at(single, 25)
    output = ours("--bootstrap-server", single.brokers, "downgrade", "--all", "--as-release", "3.9.2", "--dry-run")

    assert 1 == output.status
    assert "3 out of 3 operation(s) failed." == output.err.strip()
    kinds = [line.split(" Result: ")[0] for line in output.out.splitlines()]
    assert [
        "   [Delete] Feature: group.version  ExistingFinalizedMaxVersion: 1  NewFinalizedMaxVersion: - ",
        "[Downgrade] Feature: metadata.version  ExistingFinalizedMaxVersion: 25  NewFinalizedMaxVersion: 21 ",
        "   [Delete] Feature: transaction.version  ExistingFinalizedMaxVersion: 2  NewFinalizedMaxVersion: - ",
    ] == kinds
    assert all("INVALID_UPDATE_VERSION. " in line for line in output.out.splitlines())


def test_m10_a_level_may_be_a_name_or_a_number(single: Cluster) -> None:
    words = ("--bootstrap-controller", at(single, 25).controllers, "upgrade", "--dry-run")
    output = [
        ours(*words, "--feature", "metadata.version=4.1-IV1"),
        ours(*words, "--feature", "metadata.version=4.1"),
        ours(*words, "--feature", "metadata.version=27"),
        ours(*words, "--metadata", "27"),
    ]

    assert {(0, "metadata.version can be upgraded to 27.")} == {
        (each.status, each.out.splitlines()[-1]) for each in output
    }


def test_m11_an_unsafe_downgrade_is_not_sent_unasked(single: Cluster) -> None:
    before = client(at(single, 25)).describe()
    output = ours(
        "--bootstrap-controller", single.controllers, "downgrade", "--feature", "metadata.version=24", "--unsafe"
    )

    assert (1, "") == (output.status, output.out)
    assert "add --yes" in output.err
    assert before == client(single).describe()


def test_m8_the_script_itself(single: Cluster) -> None:
    command = [sys.executable, "-c", "from streams_assignor.cli.main import main; main()", "features"]
    words = ["--bootstrap-server", single.brokers, "upgrade", "--feature", "metadata.version=99"]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL
    )

    assert 1 == done.returncode
    assert done.stdout.startswith("Could not upgrade metadata.version to 99. The update failed for all features")
    assert "1 out of 1 operation(s) failed.\n" == done.stderr


def test_a_missing_node_does_not_delay(single: Cluster) -> None:
    """Kafka's own tool hangs."""
    output = ours("--bootstrap-server", single.brokers, "describe", "--node-id", "9")

    assert (1, "", "there is no broker 9 now; there are 1\n") == output
    with pytest.raises(NoSuchNode, match="controller 9"):
        client(single).describe(9)


def test_a3_the_epochs_of_real_listeners_never_go_back(single: Cluster) -> None:
    """A broker's grows by itself, a controller's only with a change; the newest of each is kept apart."""
    newest = NewestFeatures()
    received = []
    for level in (25, 26, 27, 26, 25):
        at(single, level)
        for listener in Listener:
            received += [newest.observe(client(single, listener).describe())]

    for listener in Listener:
        epochs = [answer.epoch for answer in received if answer.listener is listener]
        assert sorted(epochs) == epochs
    assert 25 == newest.newest(Listener.CONTROLLER).finalized[METADATA_VERSION]


@pytest.mark.parametrize("call", LAST_CALLS, ids=" ".join)
def test_the_output_equals_kafkas_with_kraft_version_1(
    single: Cluster, tools: JavaTools, call: tuple[str, ...]
) -> None:
    compare(single, tools, call)


@pytest.fixture(name="newest", scope="module")
def fixture_newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node of the newest release of the tables, with the tools of which all is compared."""
    need_brokers(NEWEST_RELEASE.name)
    with Cluster(tmp_path_factory.mktemp("newest")) as cluster:
        cluster.start(1, NEWEST_RELEASE.name, metadata="4.0-IV3")
        yield cluster


@pytest.mark.parametrize("call", NEWEST_CALLS, ids=" ".join)
def test_the_output_equals_kafkas_on_the_newest_broker(
    newest: Cluster, tools: JavaTools, call: tuple[str, ...]
) -> None:
    compare(newest, tools, call)
