"""Bytes of real jars in both directions (``tests/vectors/codec.jsonl``)."""

import json
import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from streams_assignor.codec import (
    DecodeError,
    EncodeError,
    FutureSubscription,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
    from_fields,
    to_fields,
)
from streams_assignor.codec.json_fields import LAYOUTS
from tests.each import for_each
from tests.java_oracle import as_java_keeps_it
from tests.subscription_codec import naive
from tests.subscription_codec.java_view import as_java_shows_it

ROWS = [json.loads(line) for line in (Path(__file__).parent.parent / "vectors/codec.jsonl").open()]
DECODE = {"subscription": decode_subscription, "assignment": decode_assignment}
ENCODE = {"subscription": encode_subscription, "assignment": encode_assignment}
LATEST = {
    "0.10.0.1": 1,
    "0.10.1.1": 2,
    "0.10.2.2": 2,
    "1.1.1": 2,
    "2.0.1": 3,
    "2.1.1": 4,
    "2.3.1": 4,
    "2.4.1": 5,
    "2.5.1": 6,
    "2.6.3": 8,
    "2.8.2": 9,
    "3.0.2": 10,
    "3.2.3": 11,
    "3.9.2": 11,
    "4.3.1": 11,
}


def named(row):
    return f"{row['jar']}-{row['kind']}-v{row['version']:02}"


def cases(wanted):
    rows = sorted(filter(wanted, ROWS), key=named)
    return [list(group) for _, group in groupby(rows, named)]


def test_every_jar_has_written_every_version_that_it_knows():
    written = {(row["jar"], row["kind"], row["version"]) for row in ROWS if "fields" in row}

    assert written == {
        (jar, kind, version) for jar, latest in LATEST.items() for kind in DECODE for version in range(1, latest + 1)
    }


@for_each(cases(lambda row: "fields" in row))
def test_bytes_become_the_fields_of_the_jar_and_the_same_bytes_again(rows):
    for row in rows:
        encoded = bytes.fromhex(row["hex"])

        record = DECODE[row["kind"]](encoded, supported_version=LATEST[row["jar"]])

        assert row["fields"] == to_fields(record)
        assert list(row["fields"]) == list(to_fields(record))
        assert encoded == ENCODE[row["kind"]](record)
        assert encoded == ENCODE[row["kind"]](from_fields(row["kind"], row["fields"]))


@for_each(cases(lambda row: "fields" in row))
def test_the_naive_decoder_agrees(rows):
    for row in rows:
        encoded = bytes.fromhex(row["hex"])

        assert getattr(naive, row["kind"])(encoded) == to_fields(DECODE[row["kind"]](encoded))


@for_each(cases(lambda row: "fields" in row))
def test_the_explained_parts_are_the_whole_userdata(rows):
    for row in rows:
        parts = list(explain(row["kind"], bytes.fromhex(row["hex"])))

        assert row["hex"] == b"".join(part.raw for part in parts).hex()
        assert "version" == parts[0].field


class Disagreement(NamedTuple):
    """Bytes that no release writes, and that only our decoder and releases outside ``first`` to ``until`` refuse."""

    kind: str
    field: str
    problem: str
    first: str
    until: str
    why: str


# Where the releases disagree about bytes that no release writes, we do what the newest do.
STRICTER = (
    Disagreement(
        "subscription", ".*", "a count of -", "0.10", "2.5", "they loop zero times; the generated code of 2.5 refuses"
    ),
    Disagreement(
        "assignment",
        "topics|(standby_)?partitions_by_host",
        "a count of -",
        "0.10",
        "4.3.1",
        "a map is filled in a loop, zero times; a list is made of the count and refuses. 4.3.1 looks at all counts",
    ),
    Disagreement(
        "subscription", "version", "the lowest is 1", "2.0", "2.5", "they take it for one from the future; 2.5 refuses"
    ),
    Disagreement(
        "assignment", "version", "the lowest is 1", "0.10.1", "2.0", "they take 0 for 1; 0.10.0 and 2.0 refuse"
    ),
    Disagreement(
        "subscription", "supported_version", "supported version", "2.0", "2.5", "they do not look at it; 2.5 refuses"
    ),
)
LAXER = "2.5 and later neither read nor write a supported version below the used one; 2.1 to 2.3 can write 4 with 3"


def disagreement(row, outcome):
    """The reason why our decoder may refuse a row that its jar reads; None if it may not."""
    if not isinstance(outcome, DecodeError):
        return None
    return next((each for each in STRICTER if covers(each, row, outcome)), None)


def covers(each, row, outcome):
    return (
        each.kind == row["kind"]
        and re.fullmatch(each.field, outcome.field)
        and each.problem in outcome.problem
        and number(each.first) <= number(row["jar"]) < number(each.until)
    )


def number(release):
    return tuple(map(int, release.split(".")))


def decoded(row, encoded):
    try:
        return DECODE[row["kind"]](encoded, supported_version=LATEST[row["jar"]])
    except DecodeError as error:
        return error


def whole(row):
    """Whether the row has one malformed blob (a truncated one stands for all its lengths)."""
    return "malformed" in row and "results" not in row


@for_each(cases(whole))
def test_malformed_bytes_are_refused_where_kafka_refuses_them(rows):
    for row in rows:
        outcome = decoded(row, bytes.fromhex(row["hex"]))

        if "error" in row:
            assert isinstance(outcome, DecodeError), (row, outcome)
        elif isinstance(outcome, DecodeError):
            assert disagreement(row, outcome), (row, outcome)


def test_every_known_difference_occurs():
    seen = {disagreement(row, decoded(row, bytes.fromhex(row["hex"]))) for row in ROWS if whole(row)}

    assert {*STRICTER, None} == seen


@for_each(cases(lambda row: "decoded" in row))
def test_bytes_that_kafka_reads_give_the_same_values(rows):
    for row in rows:
        outcome = decoded(row, bytes.fromhex(row["hex"]))

        if not isinstance(outcome, DecodeError):
            assert_same_values(row, outcome)


def assert_same_values(row, outcome):
    theirs = as_java_keeps_it(row["decoded"])
    if isinstance(outcome, FutureSubscription):  # what Kafka shows of the other fields are its defaults
        theirs, ours = (theirs["version"], theirs["latestSupported"]), outcome[:2]
    else:
        ours = as_java_keeps_it(as_java_shows_it(outcome) | quirks_of(row["jar"], outcome))
        ours = {name: ours[name] for name in theirs}

    assert theirs == ours, row


def quirks_of(jar, record):
    """The fields that a decoder of that release fills although the version does not have them."""
    if jar == "0.10.1.1" and not isinstance(record, Subscription) and record.version == 1:
        return {"version": 2}  # it reads a version 1 assignment into an object of version 2
    return {}


@for_each(cases(lambda row: row.get("malformed") == "truncated"))
def test_every_truncation_is_refused_or_read_as_kafka_does(rows):
    for row in rows:
        encoded = bytes.fromhex(row["hex"])
        lengths = []
        for first, last, error in row["results"]:
            for length in range(first, last + 1):
                outcome = decoded(row, encoded[:length])
                assert (error is not None) == isinstance(outcome, DecodeError), (row["jar"], length, outcome)
                lengths.append(length)

        assert [*range(len(encoded))] == lengths


@for_each(cases(lambda row: "input" in row))
def test_records_that_kafka_cannot_write_are_not_written(rows):
    for row in rows:
        if why_we_write(row):
            assert DECODE[row["kind"]](written(row)).version == row["version"]
        else:
            with pytest.raises(EncodeError) as caught:
                written(row)
            assert named_topology(row) == ("named topology" in caught.value.problem), row


def written(row):
    """Encode the input of the row: from the values for all versions, those of its own version."""
    layout = LAYOUTS[row["kind"]].get(row["version"])
    known = ["version", *([field.name for field in layout.members] if layout else ())]
    given = {name: value for name, value in row["input"].items() if name in known}
    return ENCODE[row["kind"]](from_fields(row["kind"], given))


def named_topology(row):
    return 1 <= row["version"] <= 9 and "prevTasks" in row["input"]


def why_we_write(row):
    """The reason why our encoder may write a row that its jar does not; None if it may not."""
    if LATEST[row["jar"]] < row["version"] <= max(LATEST.values()):
        return "the jar is older than the version"
    return LAXER if 3 <= row["input"]["latestSupported"] < row["version"] <= max(LATEST.values()) else None
