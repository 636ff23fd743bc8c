"""``group list --to RELEASE``: the Streams groups of clusters beside a release, with a fake cluster."""

import json

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.group.command import group as command
from streams_assignor.groups import ClusterGroups, DescribedGroup
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.upgrade.cluster.client import feature_client
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener
from tests.assignor.cli.test_plan_group import streams_member
from tests.assignor.groups.described_groups import group, member, of_range, streams_group

BROKERS = {1: FeatureMetadata(Listener.BROKER, 3, {"metadata.version": (1, 25)}, {"metadata.version": 25})}
OLD = group(member("a", 9, 9, envelope=1, active="0_0"), name="orders")
NEW = group(member("a", active="0_0"), name="new")
MIXED = group(member("a", 1, 1, envelope=0, active="0_0"), member("b", 9, 9, envelope=1, active="0_1"), name="mixed")
HIDDEN = evolve(OLD, name="rebalancing", state="PreparingRebalance", protocol="")
PLAIN = group(of_range("c", [0]), name="plain", protocol="range")
EMPTY = group(name="empty", state="Empty", protocol="")
CONTEXTS = """
[prod]
"bootstrap.servers" = "p:1"
[test]
"bootstrap.servers" = "t:1"
"default.api.timeout.ms" = "3000"
"""


@pytest.fixture(name="clusters", autouse=True)
def fixture_clusters(monkeypatch):
    """The answers of each cluster, by its servers: groups or an error, and its brokers or an error."""
    clusters = {"h:1": ((OLD,), BROKERS)}

    class Lookup:
        def __init__(self, servers, _settings, seconds):
            self.servers, self.seconds = servers, seconds

        def groups(self):
            groups, _ = clusters[self.servers]
            if isinstance(groups, Exception):
                raise groups
            return ClusterGroups(groups=groups)

        def offsets(self, *_):
            return {}

    class Client:
        def __init__(self, servers, **_):
            self.servers = servers

        def describe_nodes(self):
            _, brokers = clusters[self.servers]
            if isinstance(brokers, Exception):
                raise brokers
            return brokers

    monkeypatch.setattr(group_lookup, "GroupLookup", Lookup)
    monkeypatch.setattr(feature_client, "FeatureClient", Client)
    return clusters


def run(*arguments, status=0, width="100"):
    done = CliRunner(env={"COLUMNS": width, "KAFKA_BOOTSTRAP_SERVERS": "h:1"}).invoke(command, ["list", *arguments])
    assert status == done.exit_code, done.output
    return done


def found(*arguments, status=0):
    return json.loads(run("--json", *arguments, status=status).stdout)["clusters"]


@pytest.mark.unmeasured
def test_each_group_has_the_first_line_of_its_plan_and_work_comes_first(clusters):
    clusters["h:1"] = ((EMPTY, NEW, OLD, MIXED, HIDDEN, PLAIN), BROKERS)
    (cluster,) = found("--to", "4.3")

    assert ["mixed", "rebalancing", "new", "orders"] == [each["group"] for each in cluster["groups"]]
    verdicts = {each["group"]: each["verdict"] for each in cluster["groups"]}
    assert {"mixed": "unsafe", "rebalancing": "unknown"}.items() <= verdicts.items()
    orders = next(each for each in cluster["groups"] if each["group"] == "orders")
    assert orders["headline"].startswith("2.8.0 to 4.3.1: safe-if")
    assert 2 == cluster["other_groups"]


def test_a_group_whose_metadata_is_hidden_is_a_row(clusters):
    clusters["h:1"] = ((HIDDEN,), BROKERS)
    (row,) = found("--to", "4.3")[0]["groups"]

    assert "its broker shows no metadata" in row["headline"]


def test_releases_of_members_that_are_not_described_are_unknown(clusters):
    """The line of such a group said "no release"."""
    clusters["h:1"] = ((DescribedGroup(name="x", state="Stable", error="no answer"),), BROKERS)

    assert "members ?; lag ?; problems 1; releases ?" in run("--to", "4.3", width="200").stdout


def test_a_group_that_is_there_comes_last(clusters):
    there, behind = streams_group(streams_member("a", "static"), name="there"), evolve(NEW, name="behind")
    clusters["h:1"] = ((there, behind), BROKERS)
    rows = found("--to", "4.4")[0]["groups"]

    assert [("behind", "safe-if"), ("there", "safe")] == [(row["group"], row["verdict"]) for row in rows]
    assert "4.4.0 to 4.4.0: safe: already there, nothing to do" == rows[-1]["headline"]


@pytest.mark.parametrize("form", ["table", "markdown", "html", "yaml"])
def test_every_form_has_the_groups_and_the_brokers(clusters, form):
    clusters["h:1"] = ((OLD, streams_group(name="by-broker")), BROKERS)
    shown = run("--to", "4.3", "-o", form, width="200").stdout

    assert all(text in shown for text in ("orders", "by-broker", "2.8.0 to 4.3.1"))
    assert "metadata.version" in shown


def test_a_table_fits_80_columns(clusters):
    clusters["h:1"] = ((OLD, MIXED), BROKERS)

    assert 80 >= max(map(len, run("--to", "4.3", width="80").stdout.splitlines()))


def test_contexts_are_several_clusters(clusters, tmp_path):
    clusters |= {"p:1": ((OLD,), BROKERS), "t:1": (Unreachable("no broker answers"), Unreachable("none"))}
    file = tmp_path / "clusters.toml"
    file.write_text(CONTEXTS)
    prod, test = found("--to", "4.3", "--contexts", str(file), status=1)

    assert ("prod", 1, []) == (prod["cluster"], len(prod["groups"]), prod["failures"])
    assert ("test", None, ["no broker answers"]) == (test["cluster"], test["other_groups"], test["failures"])
    text = run("--to", "4.3", "--contexts", str(file), status=1).stdout
    assert "\ntest: not seen: no broker answers\n" in text


def test_contexts_go_before_settings_of_the_environment(clusters, monkeypatch, tmp_path):
    clusters |= {"p:1": ((OLD,), BROKERS), "t:1": ((OLD,), BROKERS)}
    (file := tmp_path / "clusters.toml").write_text(CONTEXTS)
    (settings := tmp_path / "client.properties").touch()
    monkeypatch.setenv("KAFKA_COMMAND_CONFIG", str(settings))
    assert ["prod", "test"] == [row["cluster"] for row in found("--to", "4.3", "--contexts", str(file))]


def test_brokers_that_are_not_known_are_named(clusters):
    clusters["h:1"] = ((OLD,), Unreachable("no features"))
    shown = run("--to", "4.3", status=1).stdout

    assert "h:1: 1 Streams group, 0 groups empty or of others; not seen: no features" in shown
    assert "orders" in shown


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "expected a table for each cluster"),
        ("prod =", "expected TOML in"),
        ('prod = "p:1"', "[prod]: expected a table"),
        ("[prod]\nbootstrap.servers = 'p:1'", "a key with dots is written in quotes"),
        ("[prod]\n'security.protocol' = 'PLAINTEXT'", 'expected "bootstrap.servers"'),
        ("[prod]\n'bootstrap.servers' = 'p:1'\n'sasl.mechanismus' = 'PLAIN'", "[prod]: key 2 of the file"),
    ],
)
def test_a_wrong_file_of_contexts_is_named(tmp_path, text, named):
    file = tmp_path / "clusters.toml"
    file.write_text(text)

    assert named in run("--to", "4.3", "--contexts", str(file), status=2).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--contexts", "setup.cfg"),
        ("--to", "4.3", "--watch"),
        ("--to", "4.3", "--check"),
        ("--to", "4.3", "-o", "openmetrics"),
        ("-o", "html"),
        ("--to", "4.3", "--contexts", "setup.cfg", "--bootstrap-servers", "h:1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments):
    assert "expected" in run(*arguments, status=2).stderr
