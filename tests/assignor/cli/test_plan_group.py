"""``plan --group``: FROM and the parameters of the plan are those of a live group."""

import json

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from streams_assignor.codec import TaskId
from streams_assignor.groups import (
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedGroup,
    DescribedGroupMember,
    DescribedSubtopology,
    DescribedTopology,
    NoSuchGroup,
)
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener
from streams_assignor.upgrade.topology_description import DescribedNode
from tests.assignor.groups.described_groups import group, member

LIVE = ("--group", "app", "--bootstrap-servers", "h:1")
BROKERS = {1: FeatureMetadata(Listener.BROKER, 3, {"metadata.version": (1, 25)}, {"metadata.version": 25})}
OLD = group(
    member("a", 9, 9, envelope=1, active="0_0", standby="0_1", instance="one"),
    member("b", 9, 9, envelope=1, active="0_1"),
)


@pytest.fixture(name="shown", autouse=True)
def fixture_shown(monkeypatch):
    """The answers of the cluster: a test changes them."""
    shown = {"group": OLD, "brokers": BROKERS}

    class Lookup:
        def __init__(self, *given):
            shown["given"] = given

        def group(self, _name):
            if isinstance(shown["group"], Exception):
                raise shown["group"]
            return shown["group"]

    def describe_nodes(_client):
        if isinstance(shown["brokers"], Exception):
            raise shown["brokers"]
        return shown["brokers"]

    monkeypatch.setattr(group_lookup, "GroupLookup", Lookup)
    monkeypatch.setattr(FeatureClient, "describe_nodes", describe_nodes)
    return shown


def run(*arguments, status=None):
    done = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": None}).invoke(plan, [*map(str, arguments)])
    assert status is None or status == done.exit_code, done.output
    return done.output


def test_from_is_the_release_of_the_members():
    text = run("3.9", *LIVE)
    found = json.loads(run("3.9", *LIVE, "--json"))

    assert "note: group app: its members show that they run 2.8.0 to 2.8.2" in text
    assert "- broker 1: features of 4.0, finalized: metadata.version 25" in text
    assert "- static: one" in text
    assert ("3.9.2", ["one"], 2, 1) == (
        found["to"],
        found["live_group"]["static"],
        found["live_group"]["tasks"],
        found["live_group"]["standbys"],
    )
    assert found["from"] in found["live_group"]["releases"]


def test_from_is_compared_with_the_members():
    assert "2.8.2 to 3.9.2: safe-if" in run("2.8", "3.9", *LIVE, status=0)
    blocked = run("3.0", "3.9", *LIVE, status=1)
    assert (
        "unsafe: 3.0 is not the release of " in blocked.splitlines()[0]
        or "3.0 is not the release of one" in (blocked.splitlines()[0])
    )
    assert "3.0 is not" not in run("3.0", "3.9", "--offline", *LIVE, status=0).splitlines()[0]


def test_members_of_several_releases_block_the_plan(shown):
    shown["group"] = group(member("a", 7, 7, envelope=1), member("b", 9, 9, envelope=1))

    assert "unsafe: members of group app run several releases, see below" in run("3.9", *LIVE, status=1).splitlines()[0]


def streams_member(name, instance=None):
    return DescribedGroupMember(
        member_id=name,
        client_id=name,
        group_instance_id=instance,
        broker_assignment=BrokerAssignment(current=Assigned(active=(TaskId(0, 0),))),
    )


def streams_group(*members):
    topology = DescribedTopology(subtopologies=(DescribedSubtopology(name="0", source_topics=("orders",)),))
    return DescribedGroup(
        name="app", state="Stable", type="streams", members=members, broker=BrokerGroup(topology=topology)
    )


MIXED = {
    "streams": streams_group(streams_member("old"), streams_member("new", "one")),
    "classic": group(member("old", 1, 1, envelope=0, active="0_0"), member("new", 9, 9, envelope=1, active="0_1")),
    "unread": group(evolve(member("old"), subscription=b"\0\1"), member("new", 3, 3, envelope=0, active="0_1")),
}


@pytest.mark.parametrize(
    ("mixed", "releases", "status", "first"),
    [
        ("streams", ["4.4"], 0, "4.1.0 to 4.4.0: safe for the protocol: one rolling bounce"),
        ("streams", ["4.4", "4.4"], 3, "nothing to do if these members run 4.4.0, which nothing shows: old"),
        ("streams", ["4.2.2", "4.4.0"], 0, "4.2.2 to 4.4.0: safe for the protocol: one rolling bounce"),
        ("streams", ["4.3.1", "4.2.2"], 1, "unsafe: 4.3.1 is not the release of one"),
        ("classic", ["2.8.2", "2.8.2"], 1, "unsafe: members of group app run several releases"),
        ("unread", ["2.0.1", "2.0.1"], 3, "nothing to do if these members run 2.0.1, which nothing shows: app-new"),
    ],
)
def test_nothing_to_do_needs_the_release_of_each_member(shown, mixed, releases, status, first):
    shown["group"] = MIXED[mixed]
    newest = FeatureMetadata(Listener.BROKER, 3, {"metadata.version": (7, 99)}, {"metadata.version": 30})
    shown["brokers"] = {1: newest}  # static members need brokers of 4.4
    text = run(*releases, *LIVE, status=status)

    assert first in text.splitlines()[0]
    assert "old" in text
    assert json.loads(run(*releases, *LIVE, "--json"))["live_group"]["members"]


def test_nothing_is_to_be_done_if_each_member_shows_the_release(shown):
    shown["group"] = streams_group(streams_member("a", "one"), streams_member("b", "two"))

    assert "4.4.0 to 4.4.0: safe: already there, nothing to do" in run("4.4", *LIVE, status=0)
    assert "4.4.0 to 4.4.0: safe: already there, nothing to do" in run("4.4", "4.4", *LIVE, status=0)


def test_a_member_whose_release_cannot_be_told_is_named(shown):
    damaged = evolve(OLD.members[1], subscription=b"\0\1")
    shown["group"] = evolve(OLD, members=(OLD.members[0], damaged))

    assert "- release cannot be told: app-b" in run("3.9", *LIVE, status=0)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (NoSuchGroup("no group 'app'"), "Error: no group 'app'"),
        (Unreachable("h:1: no answer"), "Error: h:1: no answer"),
        (group(state="Empty", protocol=""), "cannot tell the release of group app, Empty: it has no members"),
        (
            group(DescribedGroupMember(member_id="m"), state="PreparingRebalance", protocol=""),
            "while the group is PreparingRebalance, its broker shows no metadata",
        ),
        (evolve(OLD, protocol="range"), "it does not run Kafka Streams"),
        (
            DescribedGroup(
                name="app",
                state="Stable",
                type="classic",
                protocol_type="x",
                members=(DescribedGroupMember(member_id="m"),),
            ),
            "a group of type x does not run Kafka Streams",
        ),
    ],
)
def test_a_group_without_a_release_is_an_error(shown, found, text):
    shown["group"] = found

    assert text in run("3.9", *LIVE, status=1)


@pytest.mark.slow
@pytest.mark.unmeasured
def test_the_group_has_the_parameters_that_no_option_and_no_setting_gives(tmp_path):
    settings = tmp_path / "a.properties"
    settings.write_text("num.standby.replicas=0\nbootstrap.servers=h:9\n")
    size = json.loads(run("3.9", *LIVE, "--tasks", "1", "--json"))["group"]
    text = run("2.8", "3.9", "--group", "app", "--config", settings, "--members", "1")

    assert (2, 1) == (size["members"], size["tasks"])
    assert f"num.standby.replicas of {settings} counts, and not what group app has now" in text
    assert "--members counts, and not what group app has" in text


def test_servers_are_those_of_the_settings(shown, tmp_path):
    settings = tmp_path / "a.properties"
    settings.write_text("bootstrap.servers=h:9\n")
    run("2.8", "3.9", "--group", "app", "--config", settings, status=3)

    assert "h:9" == shown["given"][0]


def test_brokers_that_do_not_answer_are_not_known(shown):
    shown["brokers"] = Unreachable("h:1: no answer")
    assert "- brokers: h:1: no answer" in run("3.9", *LIVE, status=0)


def test_a_streams_group_shows_its_topology(shown):
    shown["group"] = streams_group(streams_member("m"))
    text = run("4.3", *LIVE, status=0)

    assert "its members show that they run 4.1.0 or later" in text
    assert "- subtopology 0 reads orders" in text


NODES = (
    DescribedNode("Source", "source", 0, topics=("orders",)),
    DescribedNode("Sink", "sink", 0, topics=("app-by-id-repartition",), predecessors=("source",)),
)


def described_streams_group(nodes, member_epoch=2):
    """A group of KIP-1071, whose broker has the description of a topology that repartitions a table."""
    assigned = BrokerAssignment(current=Assigned(active=(TaskId(0, 0),)), topology_epoch=member_epoch)
    broker = BrokerGroup(topology=DescribedTopology(epoch=2), topology_description=nodes)
    members = (DescribedGroupMember(member_id="m", broker_assignment=assigned),)
    return DescribedGroup(name="app", state="Stable", type="streams", members=members, broker=broker)


def test_the_topology_that_a_broker_has_decides_conditions(shown):
    """It is what ``--topology FILE`` reads."""
    shown["group"] = described_streams_group(NODES)
    found = json.loads(run("4.2", "4.3", *LIVE, "--json"))

    assert 2 == found["live_group"]["topology_nodes"]
    assert "- topology: 2 nodes, described by the broker" in run("4.2", "4.3", *LIVE)
    assert {
        "foreign-key-joins": "no",
        "repartitioned-tables": "yes",
        "stateless-subtopologies": "no",
        "second-source-topic": "no",
    }.items() <= {name: each["concerns"] for name, each in found["features"].items()}.items()
    because = [text for each in found["hazards"] for text in each["because"]]
    assert any(text.startswith("the topology of group app has ") for text in because)
    assert "--group shows whether there are foreign-key-joins" in run(
        "4.2", "4.3", *LIVE, "--without", "foreign-key-joins", status=2
    )


def test_a_file_counts_more_than_the_topology_that_a_broker_has(shown, tmp_path):
    shown["group"] = described_streams_group(NODES)
    (tmp_path / "topology.txt").write_text(
        "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [a])\n      --> none\n"
    )
    found = json.loads(run("4.2", "4.3", *LIVE, "--topology", tmp_path / "topology.txt", "--json"))

    assert "no" == found["features"]["repartitioned-tables"]["concerns"]


@pytest.mark.parametrize(
    "group", [described_streams_group(NODES, member_epoch=1), described_streams_group(None)], ids=["other", "none"]
)
def test_a_topology_that_not_all_members_have_decides_nothing(shown, group):
    shown["group"] = group
    found = json.loads(run("4.2", "4.3", *LIVE, "--json"))

    assert found["live_group"]["topology_nodes"] is None
    assert {"unknown"} == {each["concerns"] for each in found["features"].values()}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("4.3",), "expected FROM and TO, or TO with --group and without --to-protocol, got 4.3"),
        ((), "got none"),
        (("4.3", *LIVE, "--to-protocol", "streams"), "expected FROM and TO"),
        (("--brokers", "4.2", "4.3", *LIVE), "--group and --bootstrap-servers are for a Streams group"),
        (("--brokers", "4.2", "4.3", *LIVE[2:]), "--brokers looks at no cluster"),
        (
            ("--brokers", "4.0", "4.3", "--zookeeper", "--kraft"),
            "4.0 has no ZooKeeper mode: its brokers run in KRaft mode",
        ),
        (("--brokers", "3.6", "3.8", "--zookeeper", "--kraft"), "plan --brokers 3.6 3.9.2 --zookeeper --kraft"),
        (("4.3", "--group", "app"), "expected --bootstrap-servers"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(arguments, text):
    assert text in run(*arguments, status=2)


def test_the_runbook_has_the_group():
    text = run("3.9", *LIVE, "-o", "markdown")

    assert "## The live group\n\n- group app: classic, Stable; 2 members" in text
