"""Kafka's own classes as an oracle during the tests. The vectors check the oracle itself."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams_assignor.codec import (
    Subscription,
    TaskId,
    TaskOffsetSum,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.quirks import imitate_release
from tests.draws import examples
from tests.java_oracle import RELEASES, Oracle, as_java_keeps_it
from tests.lab.integration.kafka_jars import Unavailable
from tests.matrix import with_matrix
from tests.peers_required import not_applicable
from tests.subscription_codec import java_view
from tests.subscription_codec.strategies import assignments, subscriptions, utf8
from tests.subscription_codec.test_vectors import LATEST

pytestmark = [pytest.mark.java, pytest.mark.slow]
ROWS = [json.loads(line) for line in (Path(__file__).parent / "vectors/codec.jsonl").open()]
OUT_OF_MEMORY = "java.lang.OutOfMemoryError"  # depends on the heap and on the collector


@pytest.fixture(name="oracle", scope="module", params=with_matrix(RELEASES, ["2.0.1", "4.3.1"], "a release in between"))
def fixture_oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    with ExitStack() as stack:
        try:
            oracle = stack.enter_context(Oracle(request.param))
        except Unavailable as missing:
            pytest.skip(f"no codec of Kafka Streams {request.param}: {missing}")
        yield oracle


def rows_of(oracle, wanted):
    rows = [row for row in ROWS if row["jar"] == oracle.release and "hex" in row and wanted(row)]
    assert rows, "the vectors have nothing of this release"
    return rows


def answers(oracle, rows):
    questions = [{"op": "decode", "kind": row["kind"], "hex": row["hex"]} for row in rows]
    return zip(rows, oracle.ask(questions), strict=True)


def as_java_shows_it(fields):
    """The values of the accessors of Kafka's objects, in wire order."""
    shown = {name: value for name, value in fields.items() if name not in ("topics", "trailing")}
    if "userEndPoint" in shown:
        shown["userEndPoint"] = shown["userEndPoint"] or None
    if "taskOffsetSums" in shown:
        shown["taskOffsetSums"] = [[task, offset_sum] for *task, offset_sum in shown["taskOffsetSums"]]
    return shown


def test_the_oracle_reads_what_its_jar_wrote(oracle):
    for row, answer in answers(oracle, rows_of(oracle, lambda row: "fields" in row)):
        expected = as_java_keeps_it(row.get("decoded") or as_java_shows_it(row["fields"]))

        actual = as_java_keeps_it(answer["fields"])

        assert expected == {name: actual[name] for name in expected}, row


def test_the_oracle_reads_malformed_bytes_as_its_jar_did(oracle):
    for row, answer in answers(oracle, rows_of(oracle, lambda row: "malformed" in row and "decoded" in row)):
        expected = as_java_keeps_it(row["decoded"])

        actual = as_java_keeps_it(answer["fields"])

        assert expected == {name: actual[name] for name in expected}, row


def test_the_oracle_refuses_what_its_jar_refused(oracle):
    for row, answer in answers(oracle, rows_of(oracle, lambda row: "error" in row)):
        assert row["error"] == answer["error"] or OUT_OF_MEMORY in (row["error"], answer["error"]), row


def test_the_oracle_refuses_cut_bytes_as_its_jar_did(oracle):
    for row in rows_of(oracle, lambda row: "results" in row):
        encoded = bytes.fromhex(row["hex"])
        for first, last, expected in row["results"]:
            cut = (encoded[:length] for length in range(first, last + 1))

            assert {expected} == {answer.get("error") for answer in oracle.decode(row["kind"], cut)}, row


def test_the_oracle_writes_again_what_it_reads_again(oracle):
    """Bytes of sets and maps may change their order, once; their content may not."""
    for kind in ("subscription", "assignment"):
        rows = rows_of(oracle, lambda row, kind=kind: "fields" in row and row["kind"] == kind)
        all_encoded = [bytes.fromhex(row["hex"]) for row in rows]

        written = [bytes.fromhex(answer["hex"]) for answer in oracle.reencode(kind, all_encoded)]

        assert [as_java_keeps_it(answer["fields"]) for answer in oracle.decode(kind, all_encoded)] == [
            as_java_keeps_it(answer["fields"]) for answer in oracle.decode(kind, written)
        ]


def test_the_oracle_survives_any_request(oracle):
    lines = [{}, {"op": "decode", "kind": "subscription", "hex": "x"}, {"op": "?", "kind": "assignment", "hex": ""}]
    rows = rows_of(oracle, lambda row: "fields" in row)[:1]

    assert all("error" in answer for answer in oracle.ask(lines))
    assert all("fields" in answer for _, answer in answers(oracle, rows))


# A question costs a fraction of a millisecond, and the oracle is the same for all examples.
asks_often = settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
DECODE = {"subscription": decode_subscription, "assignment": decode_assignment}


def drawn(data, oracle):
    """A record of a version that the release knows: its kind, the record and our bytes of it."""
    versions = st.integers(1, LATEST[oracle.release])
    if data.draw(st.booleans()):
        record = data.draw(assignments(versions))
        return "assignment", record, encode_assignment(record)
    record = data.draw(subscriptions(versions, texts=utf8))  # Java does not keep other bytes
    tags = dict(record.client_tags)  # nor takes a key twice
    record = record._replace(client_tags=tuple(tags.items()))
    return "subscription", record, encode_subscription(record)


def what_java_says(answer):
    assert "error" not in answer, answer
    return as_java_keeps_it(answer["fields"])


def what_we_say(record, theirs):
    """The same fields; before version 8 the unique field is 0, and some releases cannot show all."""
    ours = java_view.as_java_shows_it(record) | {"uniqueField": getattr(record, "unique_field", 0)}
    return as_java_keeps_it({name: ours[name] for name in theirs})


@asks_often
@given(data=st.data())
def test_kafka_decodes_our_bytes_to_the_same_record(oracle, data):
    kind, record, encoded = drawn(data, oracle)

    theirs = what_java_says(oracle.decode(kind, [encoded])[0])

    assert theirs == what_we_say(record, theirs)


def test_a_task_named_with_and_without_an_empty_topology_is_one_task(oracle):
    """Once drawn in CI: Java keeps the last of both sums; the test helper treated them as two tasks."""
    if LATEST[oracle.release] < 10:
        not_applicable("named topologies came with version 10")
    sums = (TaskOffsetSum(TaskId(0, 0), -3), TaskOffsetSum(TaskId(0, 0, ""), -2))
    record = Subscription(version=10, supported_version=10, task_offset_sums=sums)

    theirs = what_java_says(oracle.decode("subscription", [encode_subscription(record)])[0])

    assert theirs == what_we_say(record, theirs)


@asks_often
@given(data=st.data())
def test_we_decode_the_bytes_that_kafka_encodes(oracle, data):
    kind, record, encoded = drawn(data, oracle)

    again = DECODE[kind](bytes.fromhex(oracle.reencode(kind, [encoded])[0]["hex"]))

    expected = java_view.as_java_shows_it(imitate_release(oracle.release, record))
    assert as_java_keeps_it(expected) == as_java_keeps_it(java_view.as_java_shows_it(again))


def test_a_supported_version_below_the_used_one_is_read_until_2_4(oracle):
    """2.1 to 2.3 can write version 4 with 3. We read what a release has written, although the newest do not."""
    encoded = encode_subscription(decode_subscription(bytes.fromhex("0000000400000003") + bytes(28)))

    answer = oracle.decode("subscription", [encoded])[0]

    assert (oracle.release != "2.0.1") == ("error" in answer)


def test_every_release_accepts_a_negative_length_of_a_named_topology(oracle):
    """Null for any number, in every release, not only in the jars of the vectors."""
    if LATEST[oracle.release] < 10:
        not_applicable("named topologies came with version 10")
    row = "00000001" + "00000002" + "fffffffffffffffe" + "ff00"
    subscription = bytes.fromhex("0000000a0000000a") + bytes(20) + bytes.fromhex("00000001" + row) + bytes(5)

    answer = oracle.decode("subscription", [subscription])[0]

    assert [[[1, 2], -2]] == answer["fields"]["taskOffsetSums"]
