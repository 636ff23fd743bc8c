"""Workers of Kafka Connect, as ``group NAME`` shows them; the bytes are those of Kafka's classes."""

import json
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console

from streams_assignor.cli.group._tables import render_group
from streams_assignor.groups import DescribedGroup, DescribedGroupMember, inspect_group
from streams_assignor.groups.connect import leader_of

ROWS = [*map(json.loads, (Path(__file__).parents[2] / "vectors/connect.jsonl").read_text().splitlines())]
BYTES = {(row["kind"], row["name"]): bytes.fromhex(row["hex"]) for row in ROWS if row["release"] == "4.3.1"}
SENT = BYTES["subscription", "sessioned, an allocation"]


def worker(member_id: str, assignment: str = "sessioned", **known: object) -> DescribedGroupMember:
    """Return a worker; an empty name of an assignment is none."""
    usual = {"client_id": "connect-1", "host": "/10.0.0.1", "subscription": SENT}
    got = BYTES["assignment", assignment] if assignment else b""
    return DescribedGroupMember(member_id=member_id, **{**usual, "assignment": got, **known})


def group(*members: DescribedGroupMember, **known: str) -> DescribedGroup:
    usual = {"name": "connect-cluster", "state": "Stable", "protocol_type": "connect", "protocol": "sessioned"}
    return DescribedGroup(**{**usual, **known}, members=members)


def screen(described: DescribedGroup) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(render_group(inspect_group(described), "1 worker"))
    return captured.get()


def test_a_worker_has_its_connectors_and_tasks():
    (found,) = inspect_group(group(worker("w-1-id"))).as_json()["members"]

    assert found["problem"] is None
    assert found["connect"] == {
        "url": "http://w-1:8083/",
        "config_offset": 42,
        "leader_url": "http://w-1:8083/",
        "error_code": 0,
        "connectors": ["sink"],
        "tasks": {"sink": [0, 1], "source": [7]},
        "revoked_connectors": ["old"],
        "revoked_tasks": {"old": [3]},
        "delay_ms": 300_000,
    }


@pytest.mark.parametrize("name", ["eager", "compatible", "sessioned"])
def test_each_protocol_of_connect_shows_the_same_tasks(name):
    (found,) = inspect_group(group(worker("w-1-id", name), protocol=name)).as_json()["members"]

    assert {"sink": [0, 1], "source": [7]} == found["connect"]["tasks"]


def test_the_leader_is_the_worker_that_the_assignments_name():
    found = inspect_group(group(worker("w-1-id"), worker("other", "sessioned, nothing")))

    assert "w-1-id" == found.as_json()["leader"]
    assert found.leader
    assert found.leader.described.member_id == "w-1-id"


@pytest.mark.parametrize("members", [[], [worker("x")], [worker("w-1-id", "")]], ids=["none", "another", "not named"])
def test_there_is_no_leader_if_none_is_named_or_it_is_not_shown(members):
    assert leader_of(inspect_group(group(*members)).members) is None


def test_the_group_is_named_as_one_of_connect_and_has_no_problem():
    (finding,) = inspect_group(group(worker("w-1-id"))).as_json()["findings"]

    assert ("notice", "not-streams") == (finding["kind"], finding["code"])
    assert finding["text"].startswith("workers of Kafka Connect: ")


def test_a_worker_without_an_assignment_has_the_offset_that_it_sent():
    (found,) = inspect_group(group(worker("a", ""), state="CompletingRebalance")).as_json()["members"]

    assert (42, [], {}) == tuple(found["connect"][name] for name in ("config_offset", "connectors", "tasks"))


def test_a_group_that_rebalances_has_workers_without_metadata():
    (found,) = inspect_group(group(worker("a", "", subscription=b""), state="PreparingRebalance")).members

    assert found.subscription.problem is found.assignment.problem is None


@pytest.mark.parametrize("part", ["subscription", "assignment"])
def test_bytes_that_cannot_be_read_are_a_finding_with_their_place(part):
    raw = evolve(worker("w-1-id"), **{part: b"\0\1\0"})
    found = inspect_group(group(raw))

    (problem,) = found.problems
    assert "unreadable" == problem.code
    assert f"{part}: " in found.as_json()["members"][0]["problem"]


def test_a_group_of_another_type_has_no_connect_key():
    found = inspect_group(group(DescribedGroupMember(member_id="a"), protocol_type="consumer", protocol="range"))

    assert found.as_json()["members"][0]["connect"] is None


def test_the_table_has_connectors_tasks_and_the_leader():
    text = screen(group(worker("w-1-id"), worker("w-2-id", "sessioned, nothing")))

    for expected in ("connectors and tasks", "connectors sink", "tasks sink 0–1, source 7", "revokes old, old 3",
                     "http://w-1:8083/", "configuration offset 42", "waits 5 min", "no tasks", "leader"):  # fmt: skip
        assert expected in text
    assert "partitions" not in text.partition("workers of Kafka Connect")[0]


def test_a_worker_whose_configuration_is_behind_says_so():
    text = screen(group(worker("w-1-id", "eager, configuration behind"), protocol="default"))

    assert "error its configuration is behind that of the leader" in text
