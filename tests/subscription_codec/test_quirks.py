"""Deviations of single releases from their version, compared with the bytes of their jars."""

import pytest

from streams_assignor.codec import (
    Assignment,
    EncodeError,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    from_fields,
    to_fields,
)
from streams_assignor.codec.quirks import QUIRKS, imitate_release
from tests.subscription_codec import naive
from tests.subscription_codec.test_vectors import ENCODE, LATEST, ROWS

WITH_TAIL = ["0.10.1.1", "0.10.2.2", "1.1.1"]
OWN_SUPPORTED = ["2.0.1", "2.1.1"]


def written_by(jar, kind, versions):
    rows = [row for row in ROWS if (row["jar"], row["kind"]) == (jar, kind) and "fields" in row]
    return [row for row in rows if row["version"] in versions]


def without_trailing(fields):
    return {name: value for name, value in fields.items() if name != "trailing"}


@pytest.mark.parametrize("jar", WITH_TAIL)
def test_the_tail_of_version_2_follows_subscriptions_of_version_1(jar):
    for row in written_by(jar, "subscription", [1]):
        end_point, nothing = naive.long_text(bytes.fromhex(row["fields"]["trailing"]))
        plain = from_fields("subscription", without_trailing(row["fields"]))._replace(user_end_point=end_point)

        assert row["hex"] == encode_subscription(plain, as_release=jar).hex()
        assert row["hex"] != encode_subscription(plain).hex()
        assert nothing == b""


@pytest.mark.parametrize("jar", WITH_TAIL)
def test_the_tail_of_version_2_follows_assignments_of_version_1(jar):
    for row in written_by(jar, "assignment", [1]):
        tail = bytes.fromhex(row["fields"]["trailing"])
        hosts, nothing = naive.array(
            tail, lambda data: naive.pair(data, naive.place, lambda data: naive.array(data, naive.place))
        )
        by_host = tuple(
            HostPartitions(HostInfo(*host), tuple(TopicPartition(*each) for each in at)) for host, at in hosts
        )
        plain = from_fields("assignment", without_trailing(row["fields"]))._replace(partitions_by_host=by_host)

        assert row["hex"] == encode_assignment(plain, as_release=jar).hex()
        assert row["hex"] != encode_assignment(plain).hex()
        assert nothing == b""


@pytest.mark.parametrize("kind", ENCODE)
@pytest.mark.parametrize("jar", OWN_SUPPORTED)
def test_old_releases_always_write_their_own_supported_version(jar, kind):
    rows = written_by(jar, kind, range(3, 12))
    for row in rows:
        record = from_fields(kind, row["fields"])._replace(supported_version=77)

        assert row["hex"] == ENCODE[kind](record, as_release=jar).hex()
    assert {LATEST[jar]} == {row["fields"]["latestSupported"] for row in rows}


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", ENCODE)
@pytest.mark.parametrize("jar", [jar for jar in LATEST if jar not in WITH_TAIL])
def test_the_other_bytes_of_every_release_are_plain(jar, kind):
    for row in written_by(jar, kind, range(1, 12)):
        record = from_fields(kind, row["fields"])

        assert record == imitate_release(jar, record)
        assert row["hex"] == ENCODE[kind](record, as_release=jar).hex()


@pytest.mark.parametrize("jar", WITH_TAIL)
def test_their_version_2_is_plain(jar):
    for kind, encode in ENCODE.items():
        for row in written_by(jar, kind, [2]):
            assert row["hex"] == encode(from_fields(kind, row["fields"]), as_release=jar).hex()


@pytest.mark.parametrize(
    ("release", "supported"),
    [
        ("1.1.1", 9), ("2.0.0", 3), ("2.0.1", 3), ("2.1.0", 4), ("2.1.1", 4), ("2.2.0", 4), ("2.2.1", 4), ("2.2.2", 9),
        ("2.3.0", 4), ("2.3.1", 9), ("2.4.0", 9), ("3.9.2", 9), ("4.3.1", 9),
    ],
)  # fmt: skip
def test_each_release_writes_the_supported_version_that_the_reference_says(release, supported):
    encoded = encode_assignment(Assignment(3, 9), as_release=release)

    assert supported == decode_assignment(encoded).supported_version


def test_the_tail_precedes_the_existing_trailing_bytes():
    plain = Subscription(1, user_end_point="a:1", trailing=b"\xca\xfe")

    encoded = encode_subscription(plain, as_release="0.11.0.3")

    assert bytes.fromhex("00000003613a31cafe") == decode_subscription(encoded).trailing


def test_columns_have_a_tail_too():
    hosts = (HostPartitions(HostInfo("h", 1), (TopicPartition("t", 0),)),)
    decoded = decode_assignment(encode_assignment(Assignment(6, 6, (TaskId(0, 0),), partitions_by_host=hosts)))

    encoded = encode_assignment(decoded._replace(version=1), as_release="1.1.1")

    assert hosts == decode_assignment(bytes([0, 0, 0, 2]) + encoded[4:]).partitions_by_host
    assert {"version": 1, "activeTasks": [[0, 0]], "standbyTasks": []} == without_trailing(
        to_fields(decode_assignment(encoded))
    )


@pytest.mark.parametrize("release", ["", "trunk", "2.x", 2, None, ()])
@pytest.mark.parametrize("record", [Subscription(1), Assignment(1), Assignment(11, 11)])
def test_text_that_is_no_release_is_refused(record, release):
    with pytest.raises(EncodeError) as caught:
        imitate_release(release, record)

    assert "as_release" == caught.value.field


def test_a_subscription_from_the_future_has_no_release():
    future = FutureSubscription(12, 13, b"rest")

    assert encode_subscription(future) == encode_subscription(future, as_release="1.1.1")


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (Subscription(1, user_end_point=None), "user_end_point"),
        (
            Assignment(1, partitions_by_host=(HostPartitions(HostInfo("h", None), ()),)),
            "partitions_by_host[0].host.port",
        ),
    ],
)
def test_a_tail_that_cannot_be_written_is_refused_by_field(record, field):
    encode = encode_subscription if isinstance(record, Subscription) else encode_assignment

    with pytest.raises(EncodeError) as caught:
        encode(record, as_release="1.1.1")

    assert field == caught.value.field


def test_each_quirk_has_releases_and_a_description():
    assert all(quirk.since < quirk.until and quirk.description for quirk in QUIRKS)
