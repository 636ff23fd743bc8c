"""Properties of the codec for any bytes: ``check`` has all of them, for the fuzzer and for the replay of its findings.

An input is a header byte and a blob. The header byte is the mode: its two low bits choose the decoder, the rest lowers
the version that the reader supports (0: none below the newest).
"""

import sys
import tracemalloc
import zlib
from operator import eq
from unittest.mock import patch

from streams_assignor.codec import (
    EARLIEST_PROBEABLE_VERSION,
    LATEST_SUPPORTED_VERSION,
    Assignment,
    DecodeError,
    EncodeError,
    FutureSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
    explain_envelope,
    from_fields,
    layout,
    to_fields,
    with_topic_dictionary,
)
from streams_assignor.codec import consumer_protocol as envelope
from streams_assignor.codec.columns import task_of
from streams_assignor.codec.errors import TrailingBytes
from streams_assignor.codec.versions import FIRST_VERSION_WITH_TOPIC_DICTIONARY
from streams_assignor.codec.wire import tasks
from streams_assignor.codec.wire.codegen import FALLBACK_ERRORS
from tests.subscription_codec import naive

KINDS = ("subscription", "assignment", "member_subscription", "member_assignment")
DECODE = {
    "subscription": decode_subscription,
    "assignment": decode_assignment,
    "member_subscription": envelope.decode_consumer_subscription,
    "member_assignment": envelope.decode_consumer_assignment,
}
ENCODE = {
    "subscription": encode_subscription,
    "assignment": encode_assignment,
    "member_subscription": envelope.encode_consumer_subscription,
    "member_assignment": envelope.encode_consumer_assignment,
}
LAYOUTS = {
    "subscription": layout.SUBSCRIPTION_LAYOUTS,
    "assignment": layout.ASSIGNMENT_LAYOUTS,
    "member_subscription": envelope.SUBSCRIPTION_LAYOUTS,
    "member_assignment": envelope.ASSIGNMENT_LAYOUTS,
}

# The most expensive bytes: see README, "Memory". Python 3.11 has the largest objects of those we support.
BYTES_PER_BYTE = 80
BYTES_AT_ALL = 32_768


class Broken(AssertionError):
    """A property does not hold."""


def ensure(holds, what):
    """Like ``assert``, which ``python -O`` removes and which pytest does not rewrite here."""
    if not holds:
        raise Broken(what)


def kind_and_supported(mode):
    """Return the kind and the supported version of a header byte."""
    return KINDS[mode & 3], LATEST_SUPPORTED_VERSION - (mode >> 2) % LATEST_SUPPORTED_VERSION


def check(mode, encoded, *, thorough=None, memory=None):
    """Check all properties for one blob; ``Broken`` if one does not hold.

    The expensive properties are checked for a part of the inputs, unless the caller wants them. The input decides and
    no counter, so that a failure is one again when its input comes alone.
    """
    dice = zlib.crc32(encoded)
    few = tasks._MIN_COLUMN_ROWS
    # Long columns take another way than short ones, and inputs of a fuzzer are short. So "long" is less for some.
    tasks._MIN_COLUMN_ROWS = min(few, 3) if dice & 1024 else few
    try:
        hold(mode, encoded, dice, thorough, memory)
    finally:
        tasks._MIN_COLUMN_ROWS = few


def hold(mode, encoded, dice, thorough, memory):
    """Check all properties for one blob."""
    kind, supported = kind_and_supported(mode)
    options = {} if kind.startswith("member_") else {"supported_version": supported}
    record = decoded(kind, encoded, options)
    if record is not None:
        if not isinstance(record, FutureSubscription):
            paths_agree(kind, encoded, record)
        round_trip(kind, encoded, record, options)
        if thorough or (thorough is None and dice % 8 == 1):
            fields_say_the_same(kind, encoded, record, options)
    if thorough or (thorough is None and dice % 8 == 0):
        refused_for_a_reason(kind, encoded, supported, record)
        strict_refuses_trailing_bytes(kind, encoded, options, record)
        explained(kind, encoded, supported)
    if memory or (memory is None and dice % 4096 == 2):
        memory_is_bounded(kind, encoded, options)


def decoded(kind, encoded, options):
    """Property 1: a record, or a ``DecodeError`` with field and offset (``None`` here)."""
    try:
        record = DECODE[kind](encoded, **options)
    except DecodeError as error:
        ensure(0 <= error.offset <= len(encoded), f"offset {error.offset} of {len(encoded)} bytes")
        ensure(error.field, "an error without a field")
        ensure(str(error).startswith(f"{error.field} at offset {error.offset}: "), "an error without its place")
        return None
    ensure(record is not None, "no record")
    return record


def strict_refuses_trailing_bytes(kind, encoded, options, record):
    """Property 1 for a strict reader: it refuses the same, and bytes after the last field."""
    if kind.startswith("member_"):
        return
    try:
        strictly = DECODE[kind](encoded, strict=True, **options)
    except TrailingBytes as error:
        ensure(record is not None and record.trailing, "no bytes after the last field")
        ensure(error.offset == len(encoded) - len(record.trailing), f"trailing bytes at {error.offset}")
    except DecodeError:
        ensure(record is None, "strict refuses more than trailing bytes")
    else:
        ensure(strictly == record and not getattr(record, "trailing", b""), "strict is not strict")


def layout_of(kind, encoded, supported):
    """The layout for a decoder, and the version; (None, version) without a layout."""
    if kind.startswith("member_"):
        version = int.from_bytes(encoded[:2], "big", signed=True)
        return LAYOUTS[kind].get(min(version, envelope.HIGHEST_SUPPORTED_VERSION)) if len(
            encoded
        ) >= 2 else None, version
    version = int.from_bytes(encoded[:4], "big", signed=True)
    return LAYOUTS[kind].get(version) if len(encoded) >= 4 and version <= supported else None, version


def paths_agree(kind, encoded, record):
    """Property 2: the reference path decodes the same record as the fast path.

    Where the fast path gives up, the record comes from the reference path and this is vacuous. Where a decoder refuses,
    the reference path refused and the fast path had given up; ``refused_for_a_reason`` checks that.
    """
    by_reference = layout_of(kind, encoded, record.version)[0].decode_by_reference(encoded)
    if record != by_reference:  # no ``ensure``: the message takes longer to build than the comparison
        raise Broken(f"decoded {record!r}, the reference path {by_reference!r}")
    ensure(topics_of(record) == topics_of(by_reference), "the paths decode different dictionaries")


def refused_for_a_reason(kind, encoded, supported, record):
    """Property 2 for refused bytes: both paths refuse them, and a version without a layout makes no record."""
    found, version = layout_of(kind, encoded, supported)
    if found is None:
        future = kind == "subscription" and version > supported >= EARLIEST_PROBEABLE_VERSION
        ensure(record is None or (future and isinstance(record, FutureSubscription)), "a record without a layout")
        return
    ensure(not isinstance(record, FutureSubscription), "a known version taken for one from the future")
    for read in (lambda: found.fast_decode(encoded, 0), lambda: found.decode_by_reference(encoded)):
        try:
            made = read()
        except FALLBACK_ERRORS:  # a DecodeError is one of them
            continue
        # The only thing that a decoder refuses after it was read.
        too_low = kind == "subscription" and version >= EARLIEST_PROBEABLE_VERSION > made.supported_version
        ensure(record == made or (record is None and too_low), "one path decodes another record")


def topics_of(record):
    """The dictionary of an assignment, which equality ignores."""
    return tuple(record.topics) if isinstance(record, Assignment) else ()


def round_trip(kind, encoded, record, options):
    """Property 3: the bytes of a record are read as the same record, and then always encode to the same bytes."""
    try:
        once = ENCODE[kind](record)
    except EncodeError as error:
        ensure(too_long_for_java(kind, encoded), f"read but not written: {error}")
        return
    if once != encoded:  # if they are equal, all this has been asked already
        ensure(rewritten(kind, encoded, once, record), f"rewritten as {once.hex()}")
        again = DECODE[kind](once, **options)
        if again != record:
            raise Broken(f"{record!r} came back as {again!r}")
        ensure(ENCODE[kind](again) == once, "two generations of bytes")
    if not isinstance(record, FutureSubscription):
        found = layout_of(kind, once, record.version)[0]
        if isinstance(record, Assignment):  # both paths need a dictionary
            record = with_topic_dictionary(record) if record.version >= FIRST_VERSION_WITH_TOPIC_DICTIONARY else record
        ensure(found.encode_by_reference(record) == once, "the paths encode different bytes")


def fields_say_the_same(kind, encoded, record, options):
    """Property 5: the JSON form holds everything, and an independent decoder reads the same."""
    if kind.startswith("member_") or isinstance(record, FutureSubscription):
        return
    fields = to_fields(record)
    ensure(fields == naively(kind, encoded)[0], "the naive decoder reads something else")
    try:
        wire = ENCODE[kind](from_fields(kind, fields))
    except EncodeError as error:
        ensure(null_topic(record) or too_long_for_java(kind, encoded), f"described but not written: {error}")
        return
    ensure(not null_topic(record), "a topic without a name was written")
    if not ambiguous(record):  # JSON has names only, and any index of the name is right
        ensure(wire == ENCODE[kind](record), "the JSON form has another content")
    ensure(DECODE[kind](wire, **options) == record, "the JSON form reads as something else")


def explained(kind, encoded, supported):
    """Property 4: the parts are the whole blob, in order."""
    at = 0
    show = explain_envelope if kind.startswith("member_") else explain
    for part in show(kind.removeprefix("member_"), encoded, supported_version=supported):
        if part.offset != at or part.raw != encoded[at : at + len(part.raw)]:
            raise Broken(f"at {at} is {part}")
        ensure(part.field, "a part without a name")
        at += len(part.raw)
    ensure(at == len(encoded), f"{at} bytes explained of {len(encoded)}")


def memory_is_bounded(kind, encoded, options):
    """Property 6: for any counts, memory stays a small multiple of the input."""
    forget()
    tracemalloc.start()
    try:
        try:
            record = DECODE[kind](encoded, **options)
        except DecodeError as error:
            record = error
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del record
    limit = BYTES_AT_ALL + BYTES_PER_BYTE * len(encoded)
    ensure(peak <= limit, f"{peak} bytes of memory for a blob of {len(encoded)}")


def forget():
    """Empty the caches of the codec. Otherwise one blob is charged for the growth of a shared dictionary."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "subscription_codec":
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    task_of.__self__.clear()


def null_topic(record):
    """Whether a host serves a partition of a topic that the dictionary does not have."""
    if not isinstance(record, Assignment):
        return False
    hosts = (*record.partitions_by_host, *record.standby_partitions_by_host)
    return any(place.topic is None for each in hosts for place in each.partitions)


def ambiguous(record):
    """Whether the dictionary has a name twice, so that the name does not determine the index."""
    names = [topic for _, topic in topics_of(record)]
    return len(set(names)) < len(names)


def too_long_for_java(kind, encoded):
    """Whether a text that was read cannot be written: U+0000 takes one byte in lenient encodings, but two in Java's."""
    return kind == "assignment" and any(len(as_java(raw)) > 0xFFFF for raw, _ in naively(kind, encoded)[1])


def rewritten(kind, encoded, once, record):
    """Whether a record may encode to other bytes than it was read from, as in Kafka."""
    if kind.startswith("member_"):
        return nulls_apart(kind, encoded, record) == once
    if isinstance(record, FutureSubscription):
        return False
    if kind == "subscription" and 7 <= record.version <= 9:
        return regrouped(encoded)
    return any(read != written for read, written in naively(kind, encoded)[1])


def nulls_apart(kind, encoded, record):
    """Write -1 where an envelope has another negative length, which Kafka reads as null too."""
    encoded = bytearray(encoded)
    if record.user_data is None:
        before = record._replace(version=0, trailing=b"")  # version 0 ends with the length of the userdata
        end = len(ENCODE[kind](before))
        encoded[end - 4 : end] = b"\xff" * 4
    if kind == "member_subscription" and record.version >= 3 and record.rack_id is None:
        end = len(encoded) - len(record.trailing)
        encoded[end - 2 : end] = b"\xff" * 2
    return encoded


def regrouped(encoded):
    """Whether an offset sum stands below a subtopology that was there just before, or a subtopology has none."""
    end = 24 + int.from_bytes(encoded[24:28], "big") + 4
    groups = naive.array(encoded[end:], lambda data: naive.pair(data, naive.number, sums))[0]
    numbers = [number for number, _ in groups]
    return not all(each for _, each in groups) or any(map(eq, numbers, numbers[1:]))


def sums(data):
    """Read the offset sums of one subtopology."""
    return naive.array(data, naive.partition_and_sum)


def naively(kind, encoded):
    """Read with the naive decoder: the fields, and what may be written differently as (bytes read, bytes written).

    It reads what real releases write, so a negative length other than -1 is turned into what they write for null.
    """
    seen = []

    def short_text(data):
        raw = data[2 : 2 + int.from_bytes(data[:2], "big")]
        seen.append((raw, as_java(raw)))
        return plain["short_text"](data)

    def named_task(data):
        return plain["named_task"](null(data, 8, bytes(4)))

    def task_and_sum(data):
        return plain["task_and_sum"](null(data, 16, b"\xff\xff"))

    def null(data, at, written):
        read = data[at : at + len(written)]
        if read < b"\x80":
            return data
        seen.append((read, written))
        return data[:at] + written + data[at + len(written) :]

    ours = {"short_text": short_text, "named_task": named_task, "task_and_sum": task_and_sum}
    plain = {name: getattr(naive, name) for name in ours}
    with patch.multiple(naive, **ours):
        return getattr(naive, kind)(encoded), seen


def as_java(raw):
    """What Java writes for a text that it has read from these bytes."""
    text, _ = naive_text(len(raw).to_bytes(2, "big") + raw)
    units = text.encode("utf-16-be", "surrogatepass")
    each = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return b"".join(chr(unit).encode("utf-8", "surrogatepass") if unit else b"\xc0\x80" for unit in each)


naive_text = naive.short_text  # the original, before ``naively`` patches it
