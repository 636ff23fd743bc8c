"""`assign`: the vectors through the command line, explanations, and one clear line for each mistake."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli

ROWS = [json.loads(line) for line in (Path(__file__).parents[2] / "vectors/assignor.jsonl").open()]
ONE, TWO = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def run(*arguments, stdin=""):
    return CliRunner().invoke(cli, ["assign", *arguments], input=stdin)


def lines(objects):
    return "".join(json.dumps(each) + "\n" for each in objects)


def results(result):
    return [json.loads(line) for line in result.output.splitlines()]


def group(assignor="high-availability", **more):
    """A client that runs both tasks, and a new one."""
    return {
        "assignor": assignor,
        "tasks": [[0, 0], [0, 1], [1, 0]],
        "stateful": [[0, 0], [0, 1]],
        "clients": [
            {"id": ONE, "prevActive": [[0, 0], [0, 1]], "lags": [[0, 0, -2], [0, 1, -2]]},
            {"id": TWO, "lags": [[0, 0, 50_000], [0, 1, 50_000]]},
        ],
        **more,
    }


def test_high_availability_gives_for_every_row_what_the_real_one_gave():
    cases = [
        (row["input"] | {"assignor": row["assignor"], "release": release}, output)
        for row in ROWS
        if row["assignor"] == "high-availability"
        for output in row["outputs"]
        for release in output["releases"]
    ]

    given = results(run("--jsonl", stdin=lines(case for case, _ in cases)))

    assert [{"followup": o["followup"], "clients": o["clients"]} for _, o in cases] == given


def test_sticky_and_fallback_prior_assign_every_row():
    rows = [row["input"] | {"assignor": name} for row in ROWS for name in ("sticky", "fallback-prior")]

    given = results(run("--jsonl", stdin=lines(rows)))

    for row, result in zip(rows, given, strict=True):
        assert sorted(row["tasks"]) == sorted(task for c in result["clients"].values() for task in c["active"])
        assert (row["assignor"] == "fallback-prior") == result["followup"]


@pytest.mark.parametrize(("release", "standbys"), [("2.3.1", 3), ("2.8.2", 2), (None, 2)])
def test_sticky_gave_standbys_to_all_tasks_before_2_6(release, standbys):
    [result] = results(run(stdin=lines([group("sticky", release=release, standbys=1)])))

    assert standbys == sum(len(client["standby"]) for client in result["clients"].values())


def test_without_a_release_the_newest_assigns_with_kafkas_defaults():
    [result] = results(run(stdin=lines([group()])))

    assert {
        "followup": True,
        "clients": {
            ONE: {"active": [[0, 0], [0, 1]], "standby": []},
            TWO: {"active": [[1, 0]], "standby": [[0, 1]]},
        },
    } == result


def test_explains_each_task_in_a_table():
    result = run("--explain", stdin=lines([group(), group("fallback-prior", standbys=1)]))

    assert 0 == result.exit_code
    assert f"0_1   standby  {TWO}  is to be active here" in result.output
    assert "(50000 behind)" in result.output
    assert f"1_0   active   {TWO}  has no state" in result.output
    assert f"0_0   active   {ONE}  was active here" in result.output
    assert 2 == result.output.count("follow-up rebalance: wanted")


def test_explains_in_json_too():
    standby = group("sticky", standbys=1)
    standby["clients"][1]["prevStandby"] = [[0, 0]]
    explained = results(run("--explain", "--jsonl", stdin=lines([group(), standby])))
    whys = {(*each["task"], each["role"]): each["why"] for each in explained[1]["reasons"]}

    assert {(0, 0, "active"), (0, 1, "active"), (1, 0, "active"), (0, 0, "standby"), (0, 1, "standby")} == whys.keys()
    assert [4, 5] == [len(each["reasons"]) for each in explained]


def in_racks(assignor="high-availability", **more):
    """Two clients that have caught up, each far from what it runs."""
    both = group(assignor, tasks=[[0, 0], [0, 1]], strategy="min_traffic", racks=[[0, 0, [["b"]]], [0, 1, [["a"]]]])
    for client, rack in zip(both["clients"], "ab", strict=True):
        client |= {"rack": rack, "lags": [[0, 0, 0], [0, 1, 0]]}
    both["clients"][0]["prevActive"], both["clients"][1]["prevActive"] = [[0, 0]], [[0, 1]]
    return both | more


def actives(result):
    return [client["active"] for client in result["clients"].values()]


def test_looks_at_racks():
    configured = in_racks("sticky", trafficCost=3, nonOverlapCost=2)
    near, far, stateless, configured = results(
        run(stdin=lines([in_racks(), in_racks("sticky"), in_racks("sticky", stateful=[]), configured]))
    )

    assert [[[0, 1]], [[0, 0]]] == actives(near) == actives(stateless) == actives(configured)
    assert [[[0, 0]], [[0, 1]]] == actives(far)
    assert "racksIgnored" not in near


def test_a_rack_may_be_that_of_each_member():
    group_ = in_racks()
    group_["clients"][0]["rack"] = ["a", "a"]

    assert [[[0, 1]], [[0, 0]]] == actives(results(run(stdin=lines([group_])))[0])
    group_["clients"][0]["rack"] = ["a", "c"]
    [ignored] = results(run(stdin=lines([group_])))
    assert [[[0, 0]], [[0, 1]]] == actives(ignored)
    assert f"process {ONE} has members in different racks: a, c" == ignored["racksIgnored"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"racks": []}, "task 0_0 has no partition that is known"),
        ({"racks": [[0, 0, [[None]]]]}, "task 0_0 has a replica of its partition number 0 on a broker without a rack"),
        ({"standbys": 1}, "task 0_0 has no changelog partition that is known"),
        ({"release": "3.5"}, "min_traffic came with 3.6"),
        ({"release": "3.6", "strategy": "balance_subtopology"}, "balance_subtopology came with 3.7"),
        ({"assignor": "fallback-prior"}, "the fallback-prior assignor does not look at racks"),
    ],
)
def test_says_why_racks_do_not_count(changes, why):
    group_ = in_racks() | changes
    [ignored] = results(run(stdin=lines([group_])))

    assert why == ignored["racksIgnored"]
    assert f"racks do not count: {why}\n" in run("--explain", stdin=lines([group_])).output


def test_explains_what_racks_did():
    result = run("--explain", stdin=lines([in_racks(release="3.6")]))

    assert f"0_0   active  {TWO}  came from {ONE}, so that less is read across racks" in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "expected a JSON object"),
        ("[" * 10_000, "expected a JSON object"),
        (
            group("best"),
            "expected 'assignor' to be sticky, high-availability, fallback-prior, broker-sticky, got 'best'",
        ),
        (group([]), "expected 'assignor'"),
        (group(release=2), "expected 'release' to be text"),
        (group(release="2.5.1"), "no high-availability assignor"),
        (group("sticky", release="new"), "unknown release 'new'"),
        (group(standbys=-1), "num.standby.replicas"),
        (group(warmups="1"), "max.warmup.replicas"),
        (group(tags="zone"), "expected 'tags' to be of type list"),
        (group(clients=None), "expected 'clients' to be of type list"),
        (group(clients=[1]), "expected a client to be an object"),
        (group(clients=[{}]), "expected 'id' to be of type str"),
        (group(clients=[{"id": "1"}]), "to be a UUID"),
        (group(clients=[{"id": ONE, "capacity": 0}]), "number of members"),
        (group(clients=[{"id": ONE}, {"id": ONE}]), "same id"),
        (group(clients=[{"id": ONE, "lags": [[0, 0]]}]), "expected 'lags' to hold lists of 3 numbers, got [0, 0]"),
        (group(clients=[{"id": ONE, "lags": [[0, 0, None]]}]), "3 numbers"),
        (group(tasks=None), "expected 'tasks' to be of type list"),
        (group(tasks=[0]), "expected 'tasks' to hold lists of 2 numbers, got 0"),
        (group(strategy="max_traffic"), "Invalid value max_traffic for configuration rack.aware.assignment.strategy"),
        (group(trafficCost="1"), "rack.aware.assignment.traffic_cost"),
        (group(nonOverlapCost=1 << 31), "rack.aware.assignment.non_overlap_cost"),
        (group(racks={}), "expected 'racks' to be of type list"),
        (group(racks=[[0, 0]]), "expected 'racks' to hold lists [subtopology, partition, [[rack, ...] for each"),
        (group(racks=[0]), "got 0"),
        (group(changelogRacks=[[0, 0, ["a"]]]), "expected 'changelogRacks' to hold lists"),
        (group(racks=[[0, 0, [[1]]]]), "expected 'racks' to be the name of a rack or null, got 1"),
        (
            group(clients=[{"id": ONE, "rack": 7}]),
            "expected 'rack' of a client to be the name of a rack or null, got 7",
        ),
        (group(clients=[{"id": ONE}]), "IllegalStateException: a process has no lag of task 0_0"),
    ],
)
def test_a_line_that_is_no_group_is_refused_in_its_place(line, message):
    text = line if isinstance(line, str) else json.dumps(line)

    result = run(stdin=f"{text}\n\n{json.dumps(group())}\n")

    first, second = results(result)
    assert 1 == result.exit_code
    assert message in first["message"]
    assert second["followup"]
    assert 0 == run("--jsonl", stdin=text).exit_code
    assert "error" in json.loads(run("--explain", stdin=text).output)


@pytest.mark.parametrize("tags", [[["zone"]], [{}], [1], [None]])
def test_tags_that_are_no_text_are_refused(tags):
    """A list among them ended the stream with a TypeError."""
    refused, fine = results(run("--jsonl", stdin=lines([group(tags=tags), group()])))

    assert refused["message"].startswith("expected 'tags' to hold text, got ")
    assert "clients" in fine


def of_brokers(**more):
    """As `group`, for the coordinator of a streams group: `TWO` has one of the tasks on its disk."""
    clients = [{"id": ONE, "prevActive": [[0, 0], [0, 1]]}, {"id": TWO, "offsets": [[0, 1, 50_000]]}]
    return group("broker-sticky", **{"clients": clients, "standbys": 1, **more})


def test_the_assignor_of_the_brokers_assigns_a_streams_group():
    (found,) = results(run("--jsonl", stdin=lines([of_brokers()])))

    assert {"active": [[0, 0], [0, 1]], "standby": []} == found["clients"][ONE]
    assert {"active": [[1, 0]], "standby": [[0, 0], [0, 1]]} == found["clients"][TWO]


def test_offsets_of_tasks_count_for_brokers_of_4_4():
    """KAFKA-20719: a task that nobody ran returns to the member that has a part of its state."""
    clients = [{"id": ONE}, {"id": TWO, "offsets": [[0, 0, 50_000]]}]
    old, new = results(
        run("--jsonl", stdin=lines([of_brokers(clients=clients, release=name) for name in ("4.3.1", "4.4.0")]))
    )

    assert [0, 0] in new["clients"][TWO]["active"]
    assert [0, 0] in old["clients"][ONE]["active"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"clients": [{"id": ONE, "capacity": 2}]}, "expected clients with one member each for broker-sticky"),
        ({"tasks": [[0, 1]]}, "expected all tasks of subtopology 0, got 0_1 without those before it"),
        ({"release": "4.1.0"}, "4.1.0"),
        ({"clients": []}, "No process available"),
    ],
)
def test_a_group_that_brokers_cannot_have_is_refused(more, message):
    assert message in run(stdin=lines([of_brokers(**more)])).output


def test_the_assignor_of_the_brokers_gives_no_reasons():
    assert "broker-sticky gives no reasons" in run("--explain", stdin=lines([of_brokers()])).output
