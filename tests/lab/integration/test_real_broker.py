"""Our members on a real broker, alone and beside real Kafka Streams instances."""

import json
import subprocess
import sys
from contextlib import nullcontext
from itertools import groupby

import pytest

from streams_assignor.demo.load_generator import LoadGeneratorError, create_topic, delete_topic
from streams_assignor.demo.member_process import EventLine
from streams_assignor.upgrade import release_named
from tests.lab.integration.applications import PARTITIONS, TASKS, Application, partitions, processed, settle
from tests.lab.integration.subprocesses import JavaMember, JavaStreams, PythonMember, wait_until
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.slow]

RECORDS = 20


def test_a_topic_that_exists_cannot_be_created(broker: str) -> None:
    create_topic(broker, "exists", 1)

    with pytest.raises(LoadGeneratorError, match=r"topic exists cannot be created: .*already exists"):
        create_topic(broker, "exists", 1)
    delete_topic(broker, "exists")


@pytest.mark.parametrize("rules", ["today", "kip-268"])
def test_a_bounce_finishes_both_upgrades(broker: str, rules: str) -> None:
    command = [
        sys.executable,
        "-c",
        "from streams_assignor.cli.main import main; main()",
        "bounce",
        "--bootstrap-servers",
        broker,
    ]
    done = subprocess.run([*command, "--json", "--rules", rules], capture_output=True, text=True, timeout=500)

    assert (0, "") == (done.returncode, done.stderr)
    summary = json.loads(done.stdout)
    assert "finished" == summary["outcome"]
    assert 0 == summary["lost"] < summary["produced"] == summary["processed"]
    assert [2, 2, 3, 4] == [step["step"]["version"] for step in summary["steps"]]
    for step in summary["steps"]:
        assert {step["step"]["version"]} == {member["used"] for member in step["members"]}
        assert sorted(TASKS) == sorted(task for member in step["members"] for task in member["active"])
    empty = [line for line in summary["timeline"] if "with an empty assignment: version 3" in line["what"]]
    assert (rules == "kip-268") == bool(empty)


@pytest.mark.java
@pytest.mark.parametrize(
    ("release", "upgrade_from", "version"),
    with_matrix([("2.0.1", None, 3), ("1.1.1", "1.1", 2)], [("2.0.1", None, 3)], "an older release"),
)
def test_it_follows_a_java_leader(
    application: Application, java_streams: JavaStreams, release: str, upgrade_from: str | None, version: int
) -> None:
    java = java_streams(release)
    settle(java)
    with application.python(release="streams-assignor-3", upgrade_from=upgrade_from) as python:
        settle(java, python)

        assert {(version, 3)} == set(versions(python))
        assert {(False, version)} == {(event["leader"], event["version"]) for event in only("assigned", member=python)}
        check_that_both_work(application, java, python)
        assert 0 == python.stop()


@pytest.mark.java
def test_a_java_leader_probes_it_down(application: Application, java_streams: JavaStreams) -> None:
    """KIP-268: a member one version ahead gets nothing but the leader's version, and comes back with that."""
    java = java_streams("2.0.1")
    settle(java)
    with application.python(release="simulated-4") as python:
        settle(java, python)

        # The broker wants to see a new member twice, the second time with the id it was given; that is no news.
        lines = only("subscribed", "assigned", "rejoin", member=python)
        negotiation = [event for event, _ in groupby({**line, "time": 0} for line in lines)]
        first, nothing, rejoin, second, tasks = negotiation[:5]
        assert [(4, 4), (3, 4)] == [(each["used"], each["supported"]) for each in (first, second)]
        assert "rejoin" == rejoin["event"]
        assert (False, 3, 3, (), True) == facts(nothing)
        assert (False, 3, 3, tuple(sorted(python.tasks)), False) == facts(tasks)
        check_that_both_work(application, java, python)
        assert 0 == python.stop()


@pytest.mark.java
def test_a_java_leader_of_2_0_probes_it_down_from_11(application: Application, java_streams: JavaStreams) -> None:
    """Beside members before 2.4 it has to be eager, which ``upgrade.from`` says."""
    java = java_streams("2.0.1")
    settle(java)
    with application.python(upgrade_from="2.0") as python:
        settle(java, python)

        assert [(11, 11), (3, 11)] == list(dict.fromkeys(versions(python)))
        check_that_both_work(application, java, python)
        assert 0 == python.stop()


@pytest.mark.java
@pytest.mark.parametrize(
    "release",
    [
        *with_matrix(["2.4.1", "4.3.1"], ["4.3.1"], "an older release"),
        *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("2.8.2", "3.9.2")),
    ],
)
@pytest.mark.parametrize("first", ["java", "python"])
def test_cooperative_members_lead_and_follow_each_other(
    application: Application, java_streams: JavaStreams, release: str, first: str
) -> None:
    """The first one leads. Both keep what they have while the other one joins."""
    latest = release_named(release).supported_version
    with application.python(standbys=1) if first == "python" else nullcontext() as early:
        if early is not None:
            settle(early)
        java = java_streams(release)
        settle(*filter(None, (early, java)))
        with application.python(standbys=1) if early is None else nullcontext(early) as python:
            settle(java, python)

            assert {first == "python"} == {event["leader"] for event in only("assigned", member=python)}
            assert latest == only("assigned", member=python)[-1]["version"]
            assert 11 == versions(python)[0][0]
            check_that_both_work(application, java, python)
            assert 0 == python.stop()


@pytest.mark.java
def test_it_leads_a_java_member(application: Application, java_streams: JavaStreams) -> None:
    with application.python(release="streams-assignor-3") as python:
        settle(python)
        java = java_streams("2.0.1")
        settle(python, java)

        assert {(True, 3)} == {(event["leader"], event["version"]) for event in only("assigned", member=python)}
        check_that_both_work(application, java, python)
        assert 0 == python.stop()


@pytest.mark.java
def test_a_java_leader_of_1_1_fails_on_a_member_without_upgrade_from(
    application: Application, java_streams: JavaStreams
) -> None:
    """Which is why there is an upgrade.from: before KIP-268 no member could read a version newer than its own."""
    java = java_streams("1.1.1")
    settle(java)
    with application.python() as python:
        wait_until(lambda: java.ended, python)
        settle(python)

        assert any("unable to decode subscription data: version=11" in line for line in java.lines)
        assert only("assigned", member=python)[-1]["leader"]
        assert 0 == python.stop()


def check_that_both_work(application: Application, java: JavaMember, python: PythonMember) -> None:
    """Records reach the owner of their task, and no other member."""
    javas, pythons = partitions(java.tasks), partitions(python.tasks)
    application.send(RECORDS)
    assert dict.fromkeys(javas, RECORDS) == application.counts(javas, RECORDS)
    wait_until(lambda: RECORDS * len(pythons) <= processed(python).total(), python)
    assert dict.fromkeys(pythons, RECORDS) == processed(python)
    assert PARTITIONS == len(javas) + len(pythons)


def only(*names: str, member: PythonMember) -> list[EventLine]:
    return [event for event in member.events if event["event"] in names]


def versions(member: PythonMember) -> list[tuple[int, int]]:
    """Used and supported version of each subscription."""
    return [(event["used"], event["supported"]) for event in only("subscribed", member=member)]


def facts(event: EventLine) -> tuple[bool, int, int, tuple[str, ...], bool]:
    return event["leader"], event["version"], event["supported"], tuple(event["active"]), event["rejoin"]
