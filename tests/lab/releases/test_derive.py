"""Rows that facts imply, beside the table; the jars themselves with ``-m java``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.upgrade.config_types import EndPointFormat
from streams_assignor.upgrade.release_behaviour import BOTH, COOPERATIVE, EAGER, behaviour_of
from streams_assignor.upgrade.releases import NEWEST
from tests.lab.integration.group_log import Generation, StoredMember
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.releases import codec
from tests.lab.releases.__main__ import main
from tests.lab.releases.bounces import neighbour_bounces, replay
from tests.lab.releases.codec import CodecAnswers, check_codec
from tests.lab.releases.derive import Derivation, as_text, derive
from tests.lab.releases.facts import columns_of, derived_row, differences, parse_facts, row_source

FACTS = """\
latest 11
envelope 3
assignor HighAvailabilityTaskAssignor
constant RACK_AWARE_ASSIGNMENT_TAGS_CONFIG rack.aware.assignment.tags
constant RACK_AWARE_ASSIGNMENT_STRATEGY_CONFIG rack.aware.assignment.strategy
constant RACK_AWARE_ASSIGNMENT_STRATEGY_NONE none
constant RACK_AWARE_ASSIGNMENT_STRATEGY_MIN_TRAFFIC min_traffic
constant RACK_AWARE_ASSIGNMENT_STRATEGY_BALANCE_SUBTOPOLOGY balance_subtopology
overrides [group.protocol,max.poll.records]
end.point accepted host:80
end.point refused user@host:80
end.point accepted :80
"""
NAMED_HOST = (("accepted :80", "refused :80"),)
VALUES = behaviour_of((4, 2, 2)).upgrade_from


def columns(*changes, values=VALUES):
    text = FACTS + "".join(f"upgrade.from {value}\n" for value in values)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return columns_of(parse_facts(text))


def test_the_facts_of_4_2_2_are_its_row():
    assert [] == differences("4.2.2", columns())
    assert behaviour_of((4, 2, 1)).task_columns == derived_row("4.2.2", columns()).task_columns


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (("latest 11", "latest 12"), "supported_version"),
        (("envelope 3", "envelope 4"), "consumer_protocol_version"),
        (("HighAvailability", "Sticky"), "task_assignor"),
        (("_TAGS_CONFIG", "_OTHER"), "client_tags"),
        (("STRATEGY_MIN_TRAFFIC min_traffic", "OTHER x"), "rack_strategies"),
        (("overrides [", "protocol COOPERATIVE\nprotocol EAGER\noverrides ["), "rebalance_protocols"),
        (("upgrade.from 4.1\n", ""), "upgrade_from"),
    ],
)
def test_each_fact_that_differs_is_a_difference_of_its_column(change, column):
    assert [column] == [each.column for each in differences("4.2.2", columns(change))]


def test_the_protocols_are_those_that_some_value_makes_a_member_offer():
    offers = {"": COOPERATIVE, "protocol EAGER\n": EAGER, "protocol COOPERATIVE\nprotocol EAGER\n": BOTH}

    for lines, expected in offers.items():
        assert expected == columns(("overrides [", f"{lines}overrides ["))["rebalance_protocols"]


def test_the_entry_for_a_new_line_has_only_what_is_new():
    row = derived_row("4.4.0", columns(("latest 11", "latest 12"), values=(*VALUES, "4.2", "4.3")))

    assert "((4, 4, 0), {'supported_version': 12, 'accepts': ('4.3',)})," == row_source("4.4.0", row)


def test_the_format_of_end_points_is_that_of_the_addresses_that_are_accepted():
    row = derived_row("4.4.0", columns(*NAMED_HOST, values=(*VALUES, "4.2", "4.3")))

    source = "((4, 4, 0), {'end_point_format': EndPointFormat.SCHEME_AND_NAMED_HOST, 'accepts': ('4.3',)}),"
    assert source == row_source("4.4.0", row)
    assert EndPointFormat.ANY_PREFIX == columns(("refused user", "accepted user"))["end_point_format"]


def test_addresses_that_no_format_accepts_are_a_difference():
    (found,) = differences("4.2.2", columns(("refused user", "accepted user"), *NAMED_HOST))

    assert "end_point_format: the jars have None" in str(found)


def test_the_format_of_end_points_before_2_6_is_not_derived():
    older = columns(
        *((f"end.point {each}\n", "") for each in ("accepted host:80", "refused user@host:80", "accepted :80"))
    )

    assert "end_point_format" not in older


def test_the_bounces_go_from_and_to_both_neighbours():
    pairs = [("4.2.1", "4.2.2"), ("4.2.2", "4.2.1"), ("4.3.0", "4.2.2"), ("4.2.2", "4.3.0")]

    assert pairs == neighbour_bounces("4.2.2")


def test_a_bounce_to_a_release_that_the_table_lacks_is_stored_and_replayed_as_the_one_before():
    path = Path(__file__).parents[2] / "captures/4.3.1-to-4.4.0.json"
    capture = json.loads(path.read_text().replace('"4.4.0"', f'"{NEWEST.line}.99"'))
    log = [
        Generation(
            "consumer",
            each["generation"],
            each["protocol"],
            each["leader"],
            0,
            tuple(
                StoredMember(
                    member["member_id"],
                    member["group_instance_id"],
                    member["client_id"],
                    client_host="",
                    rebalance_timeout_ms=0,
                    session_timeout_ms=0,
                    subscription=bytes.fromhex(member["subscription"]),
                    assignment=bytes.fromhex(member["assignment"]),
                )
                for member in each["members"]
            ),
        )
        for each in capture["generations"]
    ]
    found = replay(("4.3.1", f"{NEWEST.line}.99"), log, capture["snapshots"])

    assert found.agrees
    assert ["4.3.1", f"{NEWEST.line}.99"] == json.loads(found.capture)["steps"]
    assert f"{NEWEST.line}.99" in {each["step"] for each in json.loads(found.capture)["snapshots"]}


def test_a_release_that_the_table_lacks_does_not_agree():
    values = (*VALUES, "4.2")
    row = columns(values=values)
    found = Derivation("4.3.9", row, derived_row("4.3.9", row), (), CodecAnswers("4.3.1"), keeps_topology=False)

    assert not found.agrees
    assert "has None for 4.3.9, GroupMetadataManager False" in as_text(found)
    assert "4.3.9 is missing; extend its line in _KAFKA_RELEASES" in as_text(found)
    assert "4.3.9 is missing in RULES of spark_sim/streams_groups/rules.py" in as_text(found)


class OracleOfVectors:
    """A jar that answers like the vectors, except for what ``spoil`` changes."""

    def __init__(self, spoil):
        self._spoil = spoil

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def decode(self, kind, all_encoded):
        shown = (codec.as_java_shows_it(codec._DECODE[kind](encoded)) for encoded in all_encoded)
        return [{"fields": self._spoil("fields", fields)} for fields in shown]

    def reencode(self, _kind, all_encoded):
        return [{"hex": self._spoil("hex", encoded).hex()} for encoded in all_encoded]

    def ask(self, questions):
        return [self._spoil("malformed", {"error": "java.lang.Other"}) for _ in questions]


def checked(monkeypatch, spoil=lambda _, value: value):
    monkeypatch.setattr(codec, "Oracle", lambda _: OracleOfVectors(spoil))
    return check_codec("4.2.2", 11)


@pytest.mark.unmeasured
def test_a_codec_like_ours_has_no_differences(monkeypatch):
    found = checked(monkeypatch)

    assert ("3.9.2", ()) == (found.vectors_of, found.unlike_ours)
    assert found.decoded > 200


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "spoil",
    [
        lambda what, value: value | {"version": 99} if what == "fields" else value,
        lambda what, value: value[:7] + b"\x63" + value[8:] if what == "hex" and value[3] > 2 else value,
    ],
    ids=["reads", "writes"],
)
def test_a_codec_that_reads_or_writes_otherwise_is_found(monkeypatch, spoil):
    assert checked(monkeypatch, spoil).unlike_ours


@pytest.mark.unmeasured
def test_malformed_bytes_with_another_outcome_are_counted(monkeypatch):
    newly = checked(monkeypatch).newly

    assert "assignment: java.lang.IllegalArgumentException, now java.lang.Other" in newly


@pytest.mark.parametrize("name", ["4.2", "next", "0.10.0.0"])
def test_a_name_that_is_no_release_with_one_before_it_is_refused(name):
    result = CliRunner().invoke(main, ["derive", name])

    assert 2 == result.exit_code
    assert "expected a release" in result.output


@pytest.mark.java
@pytest.mark.slow
def test_the_table_agrees_with_the_jars_of_4_2_2():
    try:
        found = derive("4.2.2")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams 4.2.2: {missing}")

    assert [] == found.differences
    assert () == found.codec.unlike_ours
    # Impossible counts are rejected before anything is allocated; the broker's assignor has KAFKA-20899 fixed.
    changed = ("SubscriptionInfoData", "SubscriptionInfoData$TaskOffsetSum", "AssignmentInfo", "StickyTaskAssignor")
    assert set(changed) == {change.name.rpartition(".")[2] for change in found.changes}
    assert all(outcome.endswith("TaskAssignmentException") for outcome in found.codec.newly)
