"""The summaries of groups: in columns, joined by name, those that need attention first."""

import json
import tracemalloc

import pyarrow as pa
import pytest

from streams_assignor.groups.history.group_history import GroupSummary
from streams_assignor.spark_sim.audit import group_summaries
from streams_assignor.spark_sim.audit.group_summaries import GroupSummaries, SummaryBuilder, group_table
from streams_assignor.spark_sim.audit.job import Audit


def summary(name, **others):
    return {
        "group": name,
        "type": "classic",
        "generations": 2,
        "members": 0,
        "last_state": "Dead",
        "last_time": 1_700_000_000_000,
        "causes": {"group-started": 1, "all-members-left": 1},
        "findings": [],
    } | others


def problem(text, severity="problem"):
    return {"code": "flapping", "severity": severity, "text": text, "members": [], "from_time": 1, "until_time": None}


def rows(builder, name, *causes, findings=()):
    for cause in causes:
        builder.add_row("generations", {"group": name, "cause": cause})
    for each in findings:
        builder.add_row("findings", {"group": name, **each})


def built(builder):
    return list(GroupSummaries([builder.table()]))


def test_a_summary_has_the_rows_of_its_group():
    builder, found = SummaryBuilder(), problem("a")
    rows(builder, "a", "unknown", "member-joined", "unknown", findings=[found])
    rows(builder, "b", "unknown")
    builder.complete(GroupSummary("a", "classic", 3, "Stable", 7))

    assert built(builder) == [
        summary(
            "a",
            generations=3,
            members=3,
            last_state="Stable",
            last_time=7,
            causes={"unknown": 2, "member-joined": 1},
            findings=[found],
        )
    ]


@pytest.mark.parametrize("at_a_time", [1, 2, 4096])
def test_the_lives_of_a_group_are_one_summary(monkeypatch, at_a_time):
    monkeypatch.setattr(group_summaries, "_ROWS", at_a_time)
    builder = SummaryBuilder()
    for life, state in (("first", "Dead"), ("second", "Stable")):
        rows(builder, "a", "group-started", "unknown", findings=[problem(life)])
        builder.complete(GroupSummary("a", "classic", 1, state, 7))
        builder.complete(GroupSummary(life, "share", 0, "Dead", 1))
    builder.complete(GroupSummary("a", "classic", 0, "Dead", 9, is_trace=True))
    found = {each["group"]: each for each in built(builder)}

    assert {*found} == {"a", "first", "second"}
    assert [each["text"] for each in found["a"]["findings"]] == ["first", "second"]
    assert found["a"]["causes"] == {"group-started": 2, "unknown": 2}
    assert (found["a"]["last_state"], found["a"]["members"], found["a"]["last_time"]) == ("Stable", 1, 9)
    assert found["a"]["generations"] == 4


def test_a_group_of_which_only_tombstones_are_left_is_there():
    builder = SummaryBuilder()
    builder.complete(GroupSummary("a", "classic", 0, "Dead", 9, is_trace=True))

    assert [each["last_time"] for each in built(builder)] == [9]


def test_they_are_a_sequence_of_dicts_in_the_order_of_attention():
    groups = [summary("b"), summary("a"), summary("n", findings=[problem("n", "notice")]), summary("ä", generations=5)]
    found = GroupSummaries([group_table(groups[:2]), group_table(groups[2:])])

    assert [each["group"] for each in found] == ["n", "ä", "a", "b"]
    assert found[0] == groups[2]
    assert found[-1] == groups[0]
    assert found[1:3] == [groups[3], groups[1]]
    assert found.names.to_pylist() == ["n", "ä", "a", "b"]
    assert [each["group"] for each in found.needing_attention] == ["n"]
    assert (len(found), found.total("generations"), found.total("notices")) == (4, 11, 1)


def test_no_group_is_an_empty_sequence():
    found = GroupSummaries([])

    assert (list(found), len(found), found.total("problems"), list(found.needing_attention)) == ([], 0, 0, [])


@pytest.mark.parametrize(
    "groups", [[], [summary('a\u202e"\n')], [summary("a", findings=[problem("x\ny")]), summary("b")]]
)
def test_audit_json_is_one_document(groups):
    audit = Audit("segments", {"records": 1}, {}, GroupSummaries([group_table(groups)]), ("damaged",), None, None)
    texts = []
    audit.write_json(texts.append)
    found = json.loads("".join(texts))

    assert found["groups"] == groups
    assert "".join(texts) == json.dumps(found, indent=1)


@pytest.mark.slow
def test_a_deleted_group_takes_little_memory():
    """It took 500 bytes, and 1.7 KB in the main process."""

    def kept(number):
        builder = SummaryBuilder()
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        try:
            for place in range(number):
                name = f"spark-kafka-source-{place:032}"
                rows(builder, name, "group-started", "all-members-left")
                builder.complete(GroupSummary(name, "classic", 0, "Dead", place))
            found = GroupSummaries([builder.table()])
            del builder
            return tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before, len(found)
        finally:
            tracemalloc.stop()

    few, many = kept(4_096), kept(5 * 4_096)

    assert (many[0] - few[0]) / (many[1] - few[1]) < 160
