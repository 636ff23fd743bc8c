"""`roll --brokers`: what it derives from a live cluster, and the levels it raises."""

import shlex
import sys

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.roll._brokers import (
    describe_cluster,
    finalize_command,
    ids_of,
    instances_of,
    look_at_cluster,
    node_ids,
    notes_of,
    plan_cluster,
)
from streams_assignor.cli.roll.command import roll
from streams_assignor.cli.roll.commands import CommandTemplate
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.cluster.client.connection import QuorumState, ReplicaState
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable
from streams_assignor.upgrade.cluster.client.feature_client import ClusterHealth, FeatureClient
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener
from streams_assignor.upgrade.roll.cluster import NodeSeen
from streams_assignor.upgrade.roll.plan import BROKERS

OLD, NEW = 21, 30
"""The newest metadata.version of 3.9 and of 4.3."""


def features(supported, level=OLD, epoch=5):
    finalized = {"metadata.version": level} if level else {}
    return FeatureMetadata(Listener.BROKER, epoch, {"metadata.version": (1, supported)}, finalized)


def health(*supported, level=OLD, voters=(1, 2, 3), under_replicated=(), brokers=None):
    nodes = range(1, len(supported) + 1)
    return ClusterHealth(
        QuorumState(1, 7, dict.fromkeys(voters, 7), {}),
        ReplicaState(brokers or {node: f"127.0.0.1:{node}" for node in nodes}, under_replicated),
        {node: features(each, level, epoch=node) for node, each in zip(nodes, supported, strict=True)},
    )


def test_the_plan_begins_at_the_release_that_the_brokers_show_and_at_the_finalized_level():
    found = plan_cluster(health(OLD, OLD, OLD), "4.3.1", None, None)

    assert ("3.9", "4.3.1", {"1": 1, "2": 2, "3": 3}) == (found.advice.origin, found.advice.target, found.node_ids)
    assert [0, 1, 0] == [step.rolls for step in found.advice.steps]
    assert "3.9-IV0" in found.advice.steps[1].why
    assert found.advice.steps[1:] == plan_cluster(health(OLD, OLD, OLD), "4.3.1", None, None, None, True).advice.steps


def test_the_oldest_broker_counts_when_an_earlier_roll_has_not_ended():
    assert "3.9" == plan_cluster(health(NEW, OLD, NEW), "4.3.1", None, None).advice.origin


def test_only_the_levels_are_left_when_every_broker_runs_the_release():
    (step,) = plan_cluster(health(NEW, NEW), "4.3.1", "4.3.1", None).advice.steps

    assert "finalize metadata.version" in step.do


def test_nothing_is_left_when_the_levels_are_raised_too():
    assert plan_cluster(health(NEW, NEW, level=NEW), "4.3.1", "4.3.1", None).advice is None


def test_a_patch_release_is_not_guessed():
    why = r"the brokers run 4\.3, and no request shows which patch release: expected --from .* such as --from 4\.3\.0; "
    with pytest.raises(UpgradeError, match=why):
        plan_cluster(health(NEW, NEW), "4.3.1", None, None)


@pytest.mark.parametrize(("supported", "origin"), [((OLD, 26, OLD), None), ((26, NEW), "3.9.2"), ((OLD, OLD), "4.2.1")])
def test_brokers_of_another_release_than_the_plan_are_refused(supported, origin):
    with pytest.raises(UpgradeError, match=r"expected brokers of \S+ or 4\.3\.1, got broker \d, which supports"):
        plan_cluster(health(*supported), "4.3.1", origin, None)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (health(OLD, level=0), "expected a finalized metadata.version"),
        (health(OLD, brokers={1: "a:1", 2: "a:2"}), "broker 2 does not answer"),
    ],
)
def test_without_levels_or_answers_there_is_no_plan(given, why):
    with pytest.raises(UpgradeError, match=why):
        plan_cluster(given, "4.3.1", None, None)


@pytest.mark.parametrize("lines", ["broker-1\nbroker-2\n\n# controller\nc 3\n", "broker-1\nb 2\ncontroller-3\n"])
def test_instances_are_named_by_a_file(tmp_path, lines):
    file = tmp_path / "nodes.txt"
    file.write_text(lines)

    assert [1, 2, 3] == list(node_ids(health(OLD, OLD), file).values())


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("a\n2\n3\n", "expected a name that ends with the node id, or NAME ID, got 'a'"),
        ("1\n2\ncluster 3\n", "expected the name of one node, got 'cluster', which is all of them"),
        ("1\n2\n", "expected each node of the cluster once, 1, 2, 3, got 1, 2"),
        ("1\n2\na-1\n3\n", "expected each node of the cluster once, 1, 2, 3, got 1, 1, 2, 3"),
    ],
)
def test_a_file_has_each_node_once(tmp_path, lines, why):
    file = tmp_path / "nodes.txt"
    file.write_text(lines)

    with pytest.raises(UpgradeError, match=why):
        node_ids(health(OLD, OLD), file)


def test_what_is_left_out_and_what_cannot_be_avoided_is_noted():
    described = health(OLD, voters=(1, 2))
    alone = evolve(described, quorum=evolve(described.quorum, observers={1: 7, 9: 7}))

    left_out, no_majority = notes_of(alone)
    assert "node 9 reads the metadata, and is neither" in left_out
    assert "2 controllers, fewer than 3: while one of them restarts, no majority is left" in no_majority
    assert [] == list(notes_of(health(OLD)))


def test_the_plan_keeps_the_node_ids():
    assert {"a": 4, "b": 2} == ids_of(instances_of({"a": 4, "b": 2}))


@pytest.mark.parametrize(
    ("release", "arguments"), [("4.3.1", ["--release-version", "4.3"]), ("3.9.2", ["--metadata", "3.9"])]
)
def test_the_levels_are_raised_by_this_programs_own_command(tmp_path, release, arguments):
    command = finalize_command("h:1", tmp_path, release)

    assert [
        *(sys.executable, "-m", "streams_assignor", "features", "--bootstrap-server", "h:1"),
        *("--command-config", str(tmp_path), "upgrade", *arguments),
    ] == list(command.words)
    assert "--command-config" not in finalize_command("h:1", None, release).words


@pytest.mark.parametrize(
    ("code", "name", "why"),
    [
        (35, "UNSUPPORTED_VERSION", "h:1: expected a cluster in KRaft mode, got a broker without a metadata quorum"),
        (31, "CLUSTER_AUTHORIZATION_FAILED", "roll --brokers needs DESCRIBE on the cluster"),
        (41, "NOT_CONTROLLER", "as it is"),
    ],
)
def test_a_cluster_that_cannot_be_described_is_refused_with_the_reason(code, name, why):
    with pytest.raises(UpgradeError, match=why):
        describe_cluster(Client(ApiError(code, name, "as it is")))


def test_topics_that_the_user_may_not_describe_are_refused():
    """Nobody would see that their replicas are not in sync."""
    with pytest.raises(UpgradeError, match=r"needs DESCRIBE on all topics.* may not describe a and b"):
        describe_cluster(Client(health(OLD), "ab", "ab"))


def test_a_topic_that_is_deleted_meanwhile_is_not_missed():
    described = health(OLD)

    assert described == describe_cluster(Client(described, "ab", "c"))


class Client:
    """Answers with what it was given."""

    bootstrap = "h:1"

    def __init__(self, answer, *stored):
        self.answer = answer
        self.stored = list(stored)

    def describe_stored_topics(self):
        return frozenset(self.stored.pop(0))

    def describe_health(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_look_has_brokers_controllers_levels_and_replicas():
    described = health(OLD, NEW, under_replicated=("t-0",))
    seen = look_at_cluster(Client(described), {"a": 1}, lambda: 9.0)

    assert (9.0, {"a": 1}, 1, {"metadata.version": OLD}, ("t-0",)) == (
        *(seen.seconds, seen.node_ids, seen.controller),
        *(seen.levels, seen.under_replicated),
    )
    broker = NodeSeen(node_id=2, is_broker=True, metadata_levels=(1, NEW), is_voter=True, is_caught_up=True)
    assert broker == seen.nodes[2]
    assert NodeSeen(node_id=3, is_voter=True, is_caught_up=True) == seen.nodes[3]


def test_a_cluster_that_does_not_answer_is_a_look_too():
    seen = look_at_cluster(Client(Unreachable("timed out")), {"a": 1}, lambda: 9.0)

    assert ("timed out", {}) == (seen.problem, seen.nodes)


def test_a_stale_broker_does_not_decide_about_levels():
    described = health(NEW, NEW)
    newer = {**described.features, 1: features(NEW, NEW, epoch=9)}
    seen = look_at_cluster(Client(ClusterHealth(described.quorum, described.replicas, newer)), {})

    assert {"metadata.version": NEW} == seen.levels


@pytest.fixture(name="_no_topics")
def fixture_no_topics(monkeypatch):
    monkeypatch.setattr(FeatureClient, "describe_stored_topics", lambda _client: frozenset())


def run(*arguments):
    return CliRunner().invoke(roll, [*arguments, "--bootstrap-servers", "127.0.0.1:1"], catch_exceptions=False)


@pytest.mark.usefixtures("_no_topics")
def test_a_dry_run_shows_the_plan_and_the_order(monkeypatch):
    monkeypatch.setattr(FeatureClient, "describe_health", lambda _client: health(OLD, OLD, OLD))
    refused = run("--brokers", "--to", "4.3.1", "--dry-run")
    done = run("--brokers", "--to", "4.3.1", "--dry-run", "--level-unchanged")

    assert 1 == refused.exit_code
    assert "do it first, then call roll again: wait until every controller and broker has taken a snapshot" in (
        refused.output
    )
    assert 0 == done.exit_code, done.output
    assert "bounce every controller and broker to 4.3.1, one by one" in done.output
    size = "3 instances, 2 rounds, 3 restarts, at least 2 min (--soak 45 s for each step)"
    assert done.output.startswith(f"{BROKERS}: 3.9 to 4.3.1: {size}\n")
    assert "round 2: when the cluster has proved itself, finalize metadata.version" in done.output


@pytest.mark.usefixtures("_no_topics")
def test_a_cluster_that_is_there_already_needs_nothing(monkeypatch):
    monkeypatch.setattr(FeatureClient, "describe_health", lambda _client: health(NEW, level=NEW))
    done = run("--brokers", "--to", "4.3.1", "--from", "4.3.1", "--dry-run", "--json")

    assert "the cluster runs 4.3.1 already" in done.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--by-hand",), "expected GROUP, or --brokers"),
        (("billing", "--brokers", "--by-hand"), "expected GROUP, or --brokers"),
        (("--brokers", "--by-hand", "--batch", "2"), "--batch is for a group"),
        (("--brokers", "--by-hand", "--offline"), "--offline is for a group"),
    ],
)
def test_wrong_usage_says_what_is_expected(arguments, why):
    done = run("--to", "4.3.1", *arguments)

    assert (2, True) == (done.exit_code, why in done.output), done.output


# -- the whole command on a cluster of files ---------------------------------------------------------------------------


@pytest.fixture(name="files")
def fixture_files(tmp_path, monkeypatch):
    """Three brokers of 3.9, each of 4.3 as soon as its file is there; the file `cluster` raises the levels."""

    def describe(_client):
        supported = [NEW if (tmp_path / str(node)).exists() else OLD for node in (1, 2, 3)]
        return health(*supported, level=NEW if (tmp_path / "cluster").exists() else OLD)

    monkeypatch.setattr(FeatureClient, "describe_health", describe)
    monkeypatch.setattr(FeatureClient, "describe_stored_topics", lambda _client: frozenset())
    monkeypatch.setattr(GroupLookup, "cluster_id", lambda _lookup: (tmp_path / "id").read_text())
    (tmp_path / "id").write_text("cluster-1")
    monkeypatch.setattr(
        "streams_assignor.cli.roll.command.finalize_command",
        lambda *_: CommandTemplate(("touch", f"{tmp_path}/cluster")),
    )
    return tmp_path


RESTARTED = 'case $ROLL_RELEASE in 4*) touch "$0/$ROLL_INSTANCE" ;; *) rm "$0/$ROLL_INSTANCE" ;; esac'


def of_files(folder, *more, soak="0", made=RESTARTED):
    template = shlex.join(["sh", "-c", made, str(folder)])
    return run(
        *(
            "--brokers",
            "--to",
            "4.3.1",
            "--level-unchanged",
            "--restart",
            template,
            "--no-lock",
            "--interval",
            "0.1s",
            "--yes",
            *("--soak", soak),
        ),
        *("--journal", str(folder / "j"), "--report", str(folder / "r.md"), *more),
    )


def test_it_restarts_the_nodes_and_raises_the_levels_when_somebody_has_agreed(files):
    stopped = of_files(files)
    assert 3 == stopped.exit_code, stopped.output
    assert {"1", "2", "3"} <= {path.name for path in files.iterdir()}
    assert not (files / "cluster").exists()
    assert "there is no way back instance by instance afterwards: metadata.version cannot be lowered" in stopped.output

    done = of_files(files, "--accept-no-way-back")
    assert 0 == done.exit_code, done.output
    assert "step 4: once cluster: status 0" in done.output
    assert "round 2: verified: metadata.version 4.3-IV0" in done.output
    report = (files / "r.md").read_text()
    assert "# brokers: 3.9 to 4.3.1: finished" in report
    assert "controller 1 active" in report


def test_a_roll_is_not_continued_by_a_user_who_may_not_describe_all_topics(files, monkeypatch):
    """It was refused only when the plan was made: then replicas that are not in sync were not seen."""
    assert 3 == of_files(files).exit_code
    monkeypatch.setattr(FeatureClient, "describe_stored_topics", lambda _client: frozenset({"secret"}))
    refused = of_files(files, "--accept-no-way-back")

    assert (1, False) == (refused.exit_code, (files / "cluster").exists())
    assert "this user may not describe secret" in refused.output


@pytest.mark.parametrize(
    ("does", "answer"), [(RESTARTED, "continue"), ("true", "again")], ids=["with effect", "without"]
)
def test_a_restart_that_never_returns_is_ended_after_the_time_and_no_other_node_is_touched(files, does, answer):
    """Whether it has restarted the node or not: what the cluster shows decides after the answer."""
    stopped = of_files(files, "--timeout", "1s", made=f"{does}; exec sleep 1000")

    assert 3 == stopped.exit_code, stopped.output
    assert "observed: restart of 2 ended with status 124: ended after 1 s" in stopped.output
    assert not {"1", "3"} & {path.name for path in files.iterdir()}

    on = of_files(files, "--answer", answer)
    assert "round 1: verified: every instance runs 4.3.1" in on.output, on.output


def test_a_restart_that_returns_when_the_node_is_back_takes_any_time_and_nobody_saw_it_go(files):
    """No request tells 4.3.1 from 4.3.0, and no look came between: the gate says so, and waits for the soak time."""
    for node in "123":
        (files / node).touch()
    stopped = of_files(files, "--from", "4.3.0", soak="0.2s", made="sleep 0.1")

    assert "step 3: passed" in stopped.output, stopped.output
    assert "no look has shown that 1 went" in (files / "j").read_text()


def test_a_journal_of_another_cluster_is_refused_also_if_it_is_finished(files):
    """Nodes have the same ids, and the default name of the file is the same: it was "finished"."""
    assert 0 == of_files(files, "--accept-no-way-back").exit_code
    (files / "id").write_text("cluster-2")
    done = of_files(files)

    assert 1 == done.exit_code
    assert "is the journal of brokers in cluster cluster-1, not in cluster-2: --journal names another" in done.output


def test_levels_that_the_active_controller_refuses_after_its_election_are_raised_when_it_knows_the_others(
    files, monkeypatch
):
    """It was a deviation: "not all of the voters support it"."""
    monkeypatch.setattr("streams_assignor.cli.roll._driver._AGAIN_SECONDS", 0.01)
    code = f"cd {files}; echo x >> tries; test $(wc -l < tries) -gt 2 && touch cluster || {{ echo $0; exit 1; }}"
    command = CommandTemplate(("sh", "-c", code, "not all of the voters support it"), again_if="support")
    monkeypatch.setattr("streams_assignor.cli.roll.command.finalize_command", lambda *_: command)
    done = of_files(files, "--accept-no-way-back")

    assert 0 == done.exit_code, done.output
    assert 1 == done.output.count("step 4: not accepted yet, tried again: not all of the voters support it")
    assert 3 == len((files / "tries").read_text().split())


@pytest.mark.parametrize(("said", "tries"), [("not all of the voters support it", 12), ("not authorized", 1)])
def test_levels_that_are_refused_for_good_are_a_deviation(files, monkeypatch, said, tries):
    monkeypatch.setattr("streams_assignor.cli.roll._driver._AGAIN_SECONDS", 0.01)
    command = CommandTemplate(("sh", "-c", f"echo x >> {files}/tries; echo $0; exit 1", said), again_if="support")
    monkeypatch.setattr("streams_assignor.cli.roll.command.finalize_command", lambda *_: command)
    stopped = of_files(files, "--accept-no-way-back")

    assert 3 == stopped.exit_code, stopped.output
    assert f"observed: once of cluster ended with status 1: {said}" in stopped.output
    assert tries == len((files / "tries").read_text().split())


def test_it_leads_back_until_the_levels_are_raised(files):
    of_files(files)
    back = of_files(files, "--back")

    assert 0 == back.exit_code, back.output
    assert "rolled back" in back.output
    assert not {"1", "2", "3"} & {path.name for path in files.iterdir()}


def test_there_is_no_way_back_afterwards(files):
    of_files(files, "--accept-no-way-back")
    back = of_files(files, "--back")

    assert 1 == back.exit_code, back.output
    assert "no way back" in back.output


def test_a_group_that_is_called_brokers_does_not_continue_their_roll(files):
    of_files(files)
    words = ("brokers", "--to", "4.3.1", "--restart", "x", "--no-lock", "--journal", str(files / "j"))
    done = run(*words)

    assert 1 == done.exit_code
    assert "is the journal of --brokers to 4.3.1, not of brokers to 4.3.1" in done.output
