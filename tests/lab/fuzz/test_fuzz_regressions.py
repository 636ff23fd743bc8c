"""Replays the findings of the fuzzer and the smallest set of inputs with its coverage; needs no atheris."""

from pathlib import Path

import pytest

from streams_assignor.codec import DecodeError, EncodeError, Subscription, decode_subscription, explain, from_fields
from streams_assignor.codec.wire import tasks
from tests.lab.fuzz.checks import BYTES_AT_ALL, KINDS, Broken, as_java, check, memory_is_bounded

HERE = Path(__file__).parent
# Open findings: file name and problem. The test of a finding fails once the problem is fixed.
OPEN: dict[str, str] = {}


def inputs():
    for path in sorted((HERE / "regressions").iterdir()):
        why = OPEN.get(path.name)
        marks = [pytest.mark.xfail(strict=True, raises=(Broken, EncodeError), reason=why)] if why else []
        yield pytest.param(path, id=path.name, marks=marks)


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", list(inputs()))
def test_earlier_findings_hold(path):
    mode, *encoded = path.read_bytes()

    check(mode, bytes(encoded), thorough=True, memory=True)


def test_every_open_finding_has_its_file():
    assert OPEN.keys() <= {path.name for path in (HERE / "regressions").iterdir()}


@pytest.mark.parametrize("first", "0123456789abcdef")
def test_the_corpus_holds(first):
    """In sixteen parts, by name: one test per file would dominate the output."""
    for path in (HERE / "corpus").glob(f"{first}*"):
        mode, *encoded = path.read_bytes()
        try:
            check(mode, bytes(encoded), thorough=True)
        except Exception as error:
            raise AssertionError(f"{path.name}: {error}") from error


def int32(*numbers):
    return b"".join(number.to_bytes(4, "big", signed=True) for number in numbers)


def java(raw):
    return len(raw).to_bytes(2, "big") + raw


UUID = bytes(range(16))


@pytest.mark.parametrize("count", [0, 1, *range(tasks._MIN_COLUMN_ROWS - 1, tasks._MIN_COLUMN_ROWS + 4), 1000])
@pytest.mark.parametrize("name", [b"\xff\xff", b"\0\1a"], ids=["unnamed", "named"])
def test_columns_of_any_length_hold(count, name):
    """Longer than the inputs of the fuzzer. The name, if there is one, is that of the last task."""
    rows = [int32(row, row + 7, -1, row) + b"\xff\xff" for row in range(count)]
    if rows:
        rows[-1] = rows[-1][:-2] + name
    encoded = int32(11, 11) + UUID + int32(0, count) + b"".join(rows) + b"\5" + int32(0, 0)

    check(0, encoded, thorough=True)


@pytest.mark.unmeasured
def test_a_text_that_java_could_read_but_not_write_is_not_written():
    """33,000 times U+0000: one byte each in lenient encodings, two in Java's; the limit is 65,535 bytes."""
    encoded = int32(1, 0, 1, 0, 1, 1) + java(bytes(33_000)) + int32(4)

    assert 66_000 == len(as_java(bytes(33_000)))
    check(1, encoded, thorough=True)


N = 3000
# The most expensive bytes in memory. Without the last byte the fast path decodes almost all, then the reference path.
MOST_EXPENSIVE = {
    "tags": (0, int32(11, 11) + UUID + int32(0, 0, 0) + b"\5" + int32(N) + (int32(1) + b"\xff") * 2 * N),
    "named-sums": (
        0,
        int32(10, 11) + UUID + int32(0, N) + b"".join(int32(i, -i, 5, i) + b"\0\1\xff" for i in range(N)) + bytes(5),
    ),
    "groups": (0, int32(7, 11) + UUID + int32(0, N) + b"".join(int32(i, 1, -i, 9, i) for i in range(N))),
    "hosts": (
        1,
        int32(6, 11, 0, 0, 0, N) + b"".join(java(b"\xc4\x80") + int32(i + 999, 0) for i in range(N)) + int32(0, 0),
    ),
    "dictionary": (
        1,
        int32(5, 11, 0, 0, N) + b"".join(int32(i + 999) + java(b"\xc4\x80") for i in range(N)) + int32(0, 0),
    ),
    "standbys": (1, int32(1, 0, N) + b"".join(int32(i, i + 999, 0) for i in range(N))),
    "topics": (2, bytes(2) + int32(N) + java(b"\xff") * N + int32(-1)),
    "partitions": (3, bytes(2) + int32(N) + (java(b"\xff") + int32(0)) * N + int32(-1)),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("cut", [0, 1], ids=["whole", "cut"])
@pytest.mark.parametrize(("mode", "encoded"), MOST_EXPENSIVE.values(), ids=MOST_EXPENSIVE)
def test_the_most_expensive_bytes_stay_within_the_bound(mode, encoded, cut):
    memory_is_bounded(KINDS[mode], encoded[: len(encoded) - cut], {})


def raising(error):
    def decode(*_, **__):
        raise error

    return decode


def greedy(encoded, **_):
    return decode_subscription(encoded + bytes(2 * BYTES_AT_ALL))


FAULTS = {
    "another exception": ({"DECODE": {"subscription": raising(KeyError("x"))}}, KeyError),
    "an offset behind the end": ({"DECODE": {"subscription": raising(DecodeError("x", 99, "x"))}}, Broken),
    "an error without a field": ({"DECODE": {"subscription": raising(DecodeError("x", 0))}}, Broken),
    "a refusal without a reason": ({"DECODE": {"subscription": raising(DecodeError("x", 0, "x"))}}, Broken),
    "another record from the reference path": (
        {"streams_assignor.codec.wire.schema.Layout.decode_by_reference": lambda *_: Subscription()},
        Broken,
    ),
    "other bytes from the reference path": (
        {"streams_assignor.codec.wire.schema.Layout.encode_by_reference": lambda *_: b""},
        Broken,
    ),
    "other bytes than were read": (
        {"ENCODE": {"subscription": lambda _: b""}},
        Broken,
    ),
    "a part that is lost": ({"explain": lambda *_, **__: list(explain("subscription", USERDATA))[:-1]}, Broken),
    "a field that JSON lost": ({"from_fields": lambda *_: from_fields("subscription", FIELDS)}, Broken),
    "a field that is described wrongly": ({"to_fields": lambda _: FIELDS}, Broken),
    "memory for nothing": ({"DECODE": {"subscription": greedy}}, Broken),
}
USERDATA = int32(3, 11) + UUID + int32(1, 0, 7, 0, 0)
FIELDS = {"version": 3}


@pytest.mark.parametrize(("fault", "error"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_noticed(fault, error, monkeypatch):
    """A check that cannot fail checks nothing."""
    check(0, USERDATA, thorough=True, memory=True)
    for name, value in fault.items():
        monkeypatch.setattr(name if "." in name else f"tests.lab.fuzz.checks.{name}", value)

    with pytest.raises(error):
        check(0, USERDATA, thorough=True, memory=True)
