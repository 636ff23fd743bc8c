"""The feature client and tool on real clusters of several nodes and releases: the rest of table B2 and around it."""

import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.cli.features import _feature_command as feature_command
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.cluster.client.errors import FeatureUpdateFailed, NoSuchNode, OutcomeUnknown
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.rpc import FeatureUpdate, Listener
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster, JavaTools
from tests.lab.integration.feature_checks import (
    EPOCH,
    SECONDS,
    ask,
    at,
    check,
    client,
    compare_reading,
    java_tools,
    need_brokers,
    ours,
)
from tests.lab.integration.subprocesses import wait_until
from tests.upgrade.cluster.features import observed
from tests.upgrade.cluster.features.observed import OBSERVED, Observed

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.exhaustive]


@pytest.fixture(autouse=True, scope="module")
def fixture_brokers() -> None:
    need_brokers(NEWEST, OLDER)


@pytest.fixture(name="tools", scope="module")
def fixture_tools() -> Iterator[JavaTools]:
    yield from java_tools()


REGISTERED = "controller acknowledged ControllerRegistrationRequest"


def rows(setting: str, metadata: int) -> list[Observed]:
    return [row for row in OBSERVED if (row.setting, row.metadata) == (setting, metadata)]


@pytest.mark.parametrize("release", ["3.3-IV3", "3.9-IV0", "4.0-IV3", "4.3-IV0"])
def test_m13_a_new_cluster_begins_with_the_levels_of_its_release(tmp_path: Path, release: str) -> None:
    with Cluster(tmp_path, metadata=release) as cluster:
        cluster.start(1)
        # A controller at 3.3-IV3 does not answer: "Direct-to-controller communication is not supported".
        found = client(cluster, Listener.BROKER).describe().finalized
        expected = {name: level for name, level in feature_command.version_mapping(release).items() if level}
        expected.pop("kraft.version", None)  # not with a fixed list of voters

        assert expected == found


def test_u6_observed_an_old_broker(tmp_path: Path, tools: JavaTools) -> None:
    with Cluster(tmp_path, metadata="3.9-IV0") as cluster:
        cluster.start(1)
        cluster.start(2, OLDER)
        for row in rows(observed.OLD_BROKER, metadata=21):
            check(cluster, row, cluster.brokers)
        for node in ("1", "2"):
            compare_reading(cluster, tools, "--bootstrap-server", "BROKER", "describe", "--node-id", node)
        update = ("--bootstrap-server", "BROKER", "upgrade", "--feature", "metadata.version=22")
        compare_reading(cluster, tools, *update)
        described = client(cluster, Listener.BROKER).describe_nodes()
        assert {1: (7, 30), 2: (1, 21)} == {node: each.supported[METADATA_VERSION] for node, each in described.items()}

        cluster.stop(2)
        for row in rows(observed.OLD_BROKER_STOPPED, metadata=21):
            check(cluster, row, cluster.brokers)
        compare_reading(cluster, tools, *update)
        with pytest.raises(NoSuchNode, match="there is no broker 2 now; there are 1"):
            client(cluster, Listener.BROKER).describe(2)

        gone = tools.call("ClusterTool", "unregister", "--bootstrap-server", cluster.brokers, "--id", "2")
        assert 0 == gone.status, gone
        # The last row goes to a level from which there is no way back.
        for row in rows(observed.OLD_BROKER_UNREGISTERED, metadata=21) + rows(observed.SINGLE, metadata=21):
            check(at(cluster, 21), row, cluster.brokers)


def test_q1_observed_a_controller_that_never_came(tmp_path: Path, tools: JavaTools) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.launch(1)
        cluster.start(2)
        cluster.wait(1)
        for row in rows(observed.CONTROLLER_MISSING, metadata=25):
            check(cluster, row, cluster.brokers)
        bootstrap = ("--bootstrap-controller", f"{cluster.controller(1)},{cluster.controller(2)}")
        compare_reading(cluster, tools, *bootstrap, "upgrade", "--feature", "metadata.version=26")
        compare_reading(cluster, tools, *bootstrap, "describe")


def test_q1_observed_an_old_controller(tmp_path: Path, tools: JavaTools) -> None:
    with Cluster(tmp_path, metadata="3.9-IV0", controllers=3) as cluster:
        cluster.launch(1)
        cluster.start(2)
        cluster.wait(1)
        cluster.launch(3, OLDER, roles="controller")
        cluster.wait(3, REGISTERED)
        for row in rows(observed.CONTROLLER_OLD, metadata=21):
            check(cluster, row, cluster.brokers)
        for node in ("1", "2", "3"):
            compare_reading(cluster, tools, "--bootstrap-controller", "CONTROLLER", "describe", "--node-id", node)

        cluster.stop(3)
        cluster.launch(3, roles="controller")
        cluster.wait(3, REGISTERED)
        active = next(node for node in (1, 2, 3) if is_active(cluster, node))
        standby = next(node for node in (1, 2, 3) if node != active)
        for row in rows(observed.CONTROLLER_RENEWED, metadata=21):
            server = cluster.controller(standby) if row.to_standby else cluster.brokers
            found = evolve(row, message=row.message and row.message.replace("node 1", f"node {active}"))
            check(at(cluster, 21), found, server)


def is_active(cluster: Cluster, node: int) -> bool:
    """Whether a controller is the active one; a standby refuses even an empty request."""
    return ask(cluster.controller(node), Observed("nothing", ())) is None


def test_m8_an_election_is_waited_for(tmp_path: Path) -> None:
    """The active controller goes away; a request in the meantime is answered by the next one."""
    with Cluster(tmp_path, controllers=3) as cluster:
        for node in (1, 2, 3):
            cluster.launch(node)
        for node in (1, 2, 3):
            cluster.wait(node)
        active = next(node for node in (1, 2, 3) if is_active(cluster, node))
        left = ",".join(cluster.controller(node) for node in (1, 2, 3) if node != active)
        cluster.stop(active)
        asked = FeatureClient(left, Listener.CONTROLLER, {}, SECONDS)
        asked.update({METADATA_VERSION: FeatureUpdate(26)})

        assert 26 == asked.describe().finalized[METADATA_VERSION]


BROKERS = (4, 5, 6)


@pytest.fixture(name="separate", scope="module")
def fixture_separate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three controllers and three brokers, each in a process of its own."""
    with Cluster(tmp_path_factory.mktemp("separate"), "3.9-IV0", controllers=3, others=len(BROKERS)) as cluster:
        for node in (1, 2, 3):
            cluster.launch(node, roles="controller")
        for node in BROKERS:
            cluster.launch(node)
        for node in (1, 2, 3, *BROKERS):
            cluster.wait(node)
        yield cluster


FAULTS = {"frozen": signal.SIGSTOP, "killed": signal.SIGKILL, "stopped": signal.SIGTERM}
ELECTION_SECONDS = 60.0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("through", ["brokers", "controllers", "tool"])
def test_m8_an_election_during_an_update(separate: Cluster, tools: JavaTools, through: str, fault: str) -> None:
    """The active controller is about to get the request when it goes away: the next one answers it, or none did.

    A frozen controller keeps its connections: who asks it gets no answer.
    """
    cluster, brokers = separate, ",".join(map(separate.broker, BROKERS))
    target = patient(brokers, Listener.BROKER).describe().finalized[METADATA_VERSION] + 1
    active = next(node for node in (1, 2, 3) if is_active(cluster, node))
    began = time.monotonic()
    cluster.signal(active, FAULTS[fault])
    try:
        with suppress(OutcomeUnknown):
            if through == "tool":
                done = ours("--bootstrap-server", brokers, "upgrade", "--feature", f"{METADATA_VERSION}={target}")
                assert done.status == 0 or "may have been changed" in done.err, done
            else:
                listener = Listener(through.removesuffix("s"))
                server = brokers if listener is Listener.BROKER else cluster.controllers
                patient(server, listener).update({METADATA_VERSION: FeatureUpdate(target)})
        taken = time.monotonic() - began
    finally:
        if fault != "frozen":
            cluster.kill(active)
            cluster.launch(active, roles="controller")
            cluster.wait(active)
        else:
            cluster.signal(active, signal.SIGCONT)
    print(f"{through}, {fault}: {taken:.1f} s")

    assert taken < ELECTION_SECONDS + 5
    wait_until(lambda: everywhere(patient(brokers, Listener.BROKER), target))
    for call in (("--bootstrap-server", brokers), ("--bootstrap-controller", cluster.controllers)):
        outputs = [
            (output.status, EPOCH.sub("", output.out), output.err)
            for output in (tools.features(*call, "describe"), ours(*call, "describe"))
        ]
        assert outputs[0] == outputs[1]


def test_u6_a_rolling_upgrade_of_three_nodes(tmp_path: Path, tools: JavaTools) -> None:
    """While a node of the old release is there, client and tools are refused; then the level goes up."""
    upgrade = ("--bootstrap-server", "BROKER", "upgrade", "--feature", "metadata.version=25")
    with Cluster(tmp_path, metadata="3.9-IV0", controllers=3) as cluster:
        for node in (1, 2, 3):
            cluster.launch(node, OLDER)
        for node in (1, 2, 3):
            cluster.wait(node)
        for node in (1, 2, 3):
            compare_reading(cluster, tools, *upgrade)
            with pytest.raises(FeatureUpdateFailed, match=r"(ontroller|roker) \d only supports versions"):
                client(cluster, Listener.BROKER).update({METADATA_VERSION: FeatureUpdate(25)})
            cluster.stop(node)
            cluster.start(node)
        client(cluster, Listener.BROKER).update({METADATA_VERSION: FeatureUpdate(25)})
        wait_until(lambda: everywhere(client(cluster, Listener.BROKER), 25))
        compare_reading(cluster, tools, "--bootstrap-server", "BROKER", "describe")


def everywhere(asked: FeatureClient, level: int) -> bool:
    """Whether every broker has received a level: a random one answers what is asked next."""
    return {level} == {each.finalized[METADATA_VERSION] for each in asked.describe_nodes().values()}


def patient(server: str, listener: Listener) -> FeatureClient:
    return FeatureClient(server, listener, {}, ELECTION_SECONDS)


LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
GUARDED = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f'{LOGIN} username="root" password="secret" user_root="secret" user_alice="geheim";'
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
}


def test_u2_an_unauthorized_user_is_refused(tmp_path: Path, tools: JavaTools) -> None:
    """And a file of settings opens the door: the same file for Kafka's tool and for ours."""
    with Cluster(tmp_path / "cluster") as cluster:
        cluster.start(1, settings=GUARDED)
        for user, password in (("root", "secret"), ("alice", "geheim")):
            config = tmp_path / user
            config.write_text(
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
                f'sasl.jaas.config={LOGIN} \\\n  username="{user}" password="{password}";\n'
            )
            call = ("--bootstrap-server", "BROKER", "--command-config", str(config))
            compare_reading(cluster, tools, *call, "describe")
            compare_reading(cluster, tools, *call, "upgrade", "--feature", "metadata.version=26", "--dry-run")
            compare_reading(cluster, tools, *call, "upgrade", "--feature", "metadata.version=99")
        alice = CommandConfig.read(tmp_path / "alice")
        with pytest.raises(FeatureUpdateFailed) as refused:
            FeatureClient(cluster.brokers, Listener.BROKER, alice.settings, SECONDS).update(
                {METADATA_VERSION: FeatureUpdate(26)}
            )
        error = refused.value.results[METADATA_VERSION]
        assert (31, "CLUSTER_AUTHORIZATION_FAILED") == (error.code, error.name)

        (tmp_path / "alice").write_text((tmp_path / "alice").read_text().replace("geheim", "guessed"))
        output = ours("--bootstrap-server", cluster.brokers, "--command-config", str(tmp_path / "alice"), "describe")
        assert 1 == output.status
        assert "sasl" in output.err.lower()  # in words of ours or, if kafka-python has read it in time, of the broker
        assert "guessed" not in output.err


def test_b1_a_broker_that_lacks_a_level_is_not_registered(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        controller = cluster.start(1)
        client(cluster).update({METADATA_VERSION: FeatureUpdate(30)})
        broker = cluster.launch(2, OLDER, settings={"initial.broker.registration.timeout.ms": "5000"})
        cluster.wait(2, "Exiting Kafka due to fatal exception during startup")

        wait_until(lambda: any(observed.OLD_BROKER_AT_THE_DOOR in line for line in controller.lines), controller)
        refusal = "Unable to register broker 2 because the controller returned error UNSUPPORTED_VERSION"
        wait_until(lambda: any(refusal in line for line in broker.lines))


def test_b1_a_broker_that_cannot_read_the_log_sends_no_registration(tmp_path: Path) -> None:
    """At level 30 node 1 registers itself with a record that 3.9.2 cannot read: it ends before it asks anybody."""
    with Cluster(tmp_path, metadata="4.3-IV0") as cluster:
        controller = cluster.start(1)
        broker = cluster.launch(2, OLDER)
        cluster.wait(2, "Can't read version 4 of BrokerEndpoint")

        wait_until(lambda: any("Encountered fatal fault" in line for line in broker.lines))
        assert not any(observed.OLD_BROKER_AT_THE_DOOR in line for line in controller.lines)


def test_q3_a_standby_controller_that_lacks_a_level_ends(tmp_path: Path) -> None:
    """Two of its threads meet the level, and the first of them ends the process."""
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.launch(1)
        cluster.start(2)
        standby = cluster.launch(3, OLDER, roles="controller")
        loader = "No MetadataVersion with feature level 25"
        replay = "but this controller only supports versions 1-21"
        wait_until(lambda: any(loader in line or replay in line for line in standby.lines), standby)

        wait_until(lambda: any("Encountered fatal fault" in line for line in standby.lines))


@pytest.mark.parametrize("release", ["3.3.2", "3.7.2", "4.1.2"])
def test_m8_older_clusters_are_served_alike(tmp_path: Path, tools: JavaTools, release: str) -> None:
    """The first release with KRaft for production, the first whose controllers list themselves (KIP-919), and a 4.x."""
    with Cluster(tmp_path) as cluster:
        cluster.start(1, release)
        for bootstrap in (("--bootstrap-server", "BROKER"), ("--bootstrap-controller", "CONTROLLER")):
            compare_reading(cluster, tools, *bootstrap, "describe")
            compare_reading(cluster, tools, *bootstrap, "upgrade", "--feature", "metadata.version=99")
            compare_reading(cluster, tools, *bootstrap, "downgrade", "--feature", "metadata.version=4")
            compare_reading(cluster, tools, *bootstrap, "downgrade", "--feature", "metadata.version=4", "--dry-run")
            compare_reading(cluster, tools, *bootstrap, "disable", "--feature", "metadata.version", "--dry-run")
            compare_reading(cluster, tools, *bootstrap, "upgrade", "--release-version", "4.2")
