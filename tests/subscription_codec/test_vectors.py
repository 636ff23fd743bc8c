"""Bytes of real jars in both directions (``tests/vectors/codec.jsonl``)."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from subscription_codec import (
    DecodeError,
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
from tests.subscription_codec import naive

ROWS = [json.loads(line) for line in (Path(__file__).parent.parent / "vectors/codec.jsonl").open()]
DECODE = {"subscription": decode_subscription, "assignment": decode_assignment}
ENCODE = {"subscription": encode_subscription, "assignment": encode_assignment}
LATEST = {"0.10.0.1": 1, "0.10.1.1": 2, "0.10.2.2": 2, "1.1.1": 2, "2.0.1": 3}  # newer jars know version 4 too


def named(row):
    return f"{row['jar']}-{row['kind']}-v{row['version']}"


def cases(wanted):
    rows = sorted(filter(wanted, ROWS), key=named)
    return [pytest.param(list(group), id=name) for name, group in groupby(rows, named)]


@pytest.mark.parametrize("rows", cases(lambda row: "fields" in row))
def test_bytes_become_the_fields_of_the_jar_and_the_same_bytes_again(rows):
    for row in rows:
        blob = bytes.fromhex(row["hex"])

        record = DECODE[row["kind"]](blob, supported=4)

        assert row["fields"] == to_fields(record)
        assert blob == ENCODE[row["kind"]](record)
        assert blob == ENCODE[row["kind"]](from_fields(row["kind"], row["fields"]))


@pytest.mark.parametrize("rows", cases(lambda row: "fields" in row and row["version"] <= 3))
def test_the_naive_decoder_agrees(rows):
    for row in rows:
        blob = bytes.fromhex(row["hex"])

        assert getattr(naive, row["kind"])(blob) == to_fields(DECODE[row["kind"]](blob))


@pytest.mark.parametrize("rows", cases(lambda row: "fields" in row))
def test_the_explained_parts_are_the_whole_blob(rows):
    for row in rows:
        parts = list(explain(row["kind"], bytes.fromhex(row["hex"]), supported=4))

        assert row["hex"] == b"".join(part.raw for part in parts).hex()


# Where the releases disagree about bytes that no release writes, we do what the newest do.
STRICTER = {
    "negative count": "0.10 to 2.4 take it as zero; 2.5 and later refuse it",
    "below 1": "2.0 to 2.4 read a subscription version below 1 as one from the future, 0.10.1 to 1.1 an assignment "
    "version 0 as 1; later releases refuse both",
    "supported below used": "2.0 to 2.4 did not look; 2.5 and later refuse it",
}
LAXER = {
    "supported at least 3": "2.5 and later refuse a supported version below the used one; 2.1 to 2.4 can write it",
}


def reason(outcome):
    """Why our decoder may disagree with a jar; None if it may not."""
    if isinstance(outcome, Subscription) and 3 <= outcome.latest_supported < outcome.version:
        return "supported at least 3"
    if isinstance(outcome, DecodeError):
        words = {
            "a count of -": "negative count",
            "the lowest is": "below 1",
            "supported version": "supported below used",
        }
        return next((why for text, why in words.items() if text in str(outcome)), None)
    return None


def decoded(row, blob):
    try:
        return DECODE[row["kind"]](blob, supported=LATEST.get(row["jar"], 4))
    except DecodeError as error:
        return error


@pytest.mark.parametrize("rows", cases(lambda row: "malformed" in row and "results" not in row))
def test_malformed_bytes_are_refused_where_kafka_refuses_them(rows):
    for row in rows:
        outcome = decoded(row, bytes.fromhex(row["hex"]))

        if isinstance(outcome, DecodeError) != ("error" in row):
            assert reason(outcome) in STRICTER | LAXER, (row, outcome)


@pytest.mark.parametrize("rows", cases(lambda row: "decoded" in row and "malformed" in row))
def test_malformed_bytes_that_kafka_reads_give_the_same_values(rows):
    for row in rows:
        outcome = decoded(row, bytes.fromhex(row["hex"]))

        if isinstance(outcome, FutureSubscription):
            # what Kafka shows of the other fields are its defaults
            assert (outcome.version, outcome.latest_supported) == (
                row["decoded"]["version"],
                row["decoded"]["latestSupported"],
            )
        elif not isinstance(outcome, DecodeError):
            ours, theirs = comparable(to_fields(outcome)), comparable(row["decoded"])
            assert {name: theirs[name] for name in ours} == ours


def comparable(fields):
    """Without what Java's collections and objects do not keep: order, duplicates, the bytes of bad UTF-8."""
    fields = {name: value for name, value in fields.items() if name != "trailing"}
    if fields["version"] == 2 and fields.get("partitionsByHost") == []:
        fields["version"] = 1  # 0.10.1 takes a version 1 assignment for version 2
    if "userEndPoint" in fields:
        end_point = fields["userEndPoint"] or ""
        fields["userEndPoint"] = end_point.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if "partitionsByHost" in fields and fields["version"] == 1:
        del fields["partitionsByHost"]
    return {name: unordered(value) if name != "activeTasks" else value for name, value in fields.items()}


def unordered(value):
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], list):
        return sorted({json.dumps(unordered(item)) for item in value})
    return value


@pytest.mark.parametrize("rows", cases(lambda row: row.get("malformed") == "truncated"))
def test_every_truncation_is_refused_or_read_as_kafka_does(rows):
    for row in rows:
        blob = bytes.fromhex(row["hex"])
        for first, last, error in row["results"]:
            for length in range(first, last + 1):
                outcome = decoded(row, blob[:length])
                assert (error is not None) == isinstance(outcome, DecodeError), (row["jar"], length, outcome)
