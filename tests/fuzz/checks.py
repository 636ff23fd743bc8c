"""What must hold for any bytes: ``check`` is the whole of it, for the fuzzer and for the replay of what it found.

An input is a header byte and a blob. The header byte is the mode: its two low bits choose the decoder, the rest lowers
the version that the reader supports (0: none below the newest).
"""

import sys
import tracemalloc
import zlib
from operator import eq
from unittest.mock import patch

from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    LATEST_SUPPORTED_VERSION,
    Assignment,
    DecodeError,
    EncodeError,
    FutureSubscription,
    _tasks,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
    from_fields,
    layout,
    to_fields,
    with_dictionary,
)
from subscription_codec import consumer_protocol as envelope
from subscription_codec._compiled import GIVES_UP
from subscription_codec._driver import read_carefully, write_carefully
from subscription_codec._explain import explain_envelope
from subscription_codec.assignment import FIRST_WITH_DICTIONARY
from subscription_codec.columns import task_of
from subscription_codec.errors import TrailingBytes
from tests.subscription_codec import naive

KINDS = ("subscription", "assignment", "member_subscription", "member_assignment")
DECODE = {
    "subscription": decode_subscription,
    "assignment": decode_assignment,
    "member_subscription": envelope.decode_member_subscription,
    "member_assignment": envelope.decode_member_assignment,
}
ENCODE = {
    "subscription": encode_subscription,
    "assignment": encode_assignment,
    "member_subscription": envelope.encode_member_subscription,
    "member_assignment": envelope.encode_member_assignment,
}
LAYOUTS = {
    "subscription": layout.SUBSCRIPTION,
    "assignment": layout.ASSIGNMENT,
    "member_subscription": envelope.SUBSCRIPTION,
    "member_assignment": envelope.ASSIGNMENT,
}

# The dearest bytes there are: see README, "Memory". Python 3.11 has the largest objects of those we support.
BYTES_PER_BYTE = 80
BYTES_AT_ALL = 32_768


class Broken(AssertionError):
    """A property does not hold."""


def ensure(holds, what):
    """Like ``assert``, which is not there under ``python -O`` and which pytest would not rewrite here."""
    if not holds:
        raise Broken(what)


def kind_and_supported(mode):
    """Say what a header byte means."""
    return KINDS[mode & 3], LATEST_SUPPORTED_VERSION - (mode >> 2) % LATEST_SUPPORTED_VERSION


def check(mode, blob, *, thorough=None, memory=None):
    """Hold everything against one blob; ``Broken`` if something does not hold.

    The dear properties are for a part of the inputs, unless the caller wants them. Which part, the input decides and
    no counter, so that a failure is one again when its input comes alone.
    """
    dice = zlib.crc32(blob)
    few = _tasks._FEW
    # Long columns take another way than short ones, and inputs of a fuzzer are short. So "long" is less for some.
    _tasks._FEW = min(few, 3) if dice & 1024 else few
    try:
        hold(mode, blob, dice, thorough, memory)
    finally:
        _tasks._FEW = few


def hold(mode, blob, dice, thorough, memory):
    """Hold everything against one blob."""
    kind, supported = kind_and_supported(mode)
    options = {} if kind.startswith("member_") else {"supported": supported}
    record = decoded(kind, blob, options)
    if record is not None:
        if not isinstance(record, FutureSubscription):
            halves_agree(kind, blob, record)
        round_trip(kind, blob, record, options)
        if thorough or (thorough is None and dice % 8 == 1):
            fields_say_the_same(kind, blob, record, options)
    if thorough or (thorough is None and dice % 8 == 0):
        refused_for_a_reason(kind, blob, supported, record)
        strict_refuses_trailing_bytes(kind, blob, options, record)
        explained(kind, blob, supported)
    if memory or (memory is None and dice % 4096 == 2):
        memory_is_bounded(kind, blob, options)


def decoded(kind, blob, options):
    """Property 1: a record, or a ``DecodeError`` that says where (``None`` here)."""
    try:
        record = DECODE[kind](blob, **options)
    except DecodeError as error:
        ensure(0 <= error.offset <= len(blob), f"offset {error.offset} of {len(blob)} bytes")
        ensure(error.field, "an error without a field")
        ensure(str(error).startswith(f"{error.field} at offset {error.offset}: "), "an error that does not say where")
        return None
    ensure(record is not None, "no record")
    return record


def strict_refuses_trailing_bytes(kind, blob, options, record):
    """Property 1 for a strict reader: it refuses the same, and bytes behind the last field."""
    if kind.startswith("member_"):
        return
    try:
        strictly = DECODE[kind](blob, strict=True, **options)
    except TrailingBytes as error:
        ensure(record is not None and record.trailing, "no bytes behind the last field")
        ensure(error.offset == len(blob) - len(record.trailing), f"trailing bytes at {error.offset}")
    except DecodeError:
        ensure(record is None, "strict refuses more than trailing bytes")
    else:
        ensure(strictly == record and not getattr(record, "trailing", b""), "strict is not strict")


def layout_of(kind, blob, supported):
    """The layout that a decoder has to use, and the version; (None, version) if there is none."""
    if kind.startswith("member_"):
        version = int.from_bytes(blob[:2], "big", signed=True)
        return LAYOUTS[kind].get(min(version, envelope.HIGHEST_VERSION)) if len(blob) >= 2 else None, version
    version = int.from_bytes(blob[:4], "big", signed=True)
    return LAYOUTS[kind].get(version) if len(blob) >= 4 and version <= supported else None, version


def halves_agree(kind, blob, record):
    """Property 2: what the quick half reads the careful half reads too.

    Where the quick half gives up, the record is the careful one's and this is vacuous. Where a decoder refuses, it was
    the careful half that refused, so the quick one had given up; ``refused_for_a_reason`` makes sure of that.
    """
    careful = read_carefully(blob, layout_of(kind, blob, record.version)[0])
    if record != careful:  # no ``ensure``: what is said of records takes longer to make than to compare them
        raise Broken(f"decoded {record!r}, careful reads {careful!r}")
    ensure(topics_of(record) == topics_of(careful), "the halves read two dictionaries")


def refused_for_a_reason(kind, blob, supported, record):
    """Property 2 for what is refused: both halves refuse it, and a version without a layout makes no record."""
    found, version = layout_of(kind, blob, supported)
    if found is None:
        future = kind == "subscription" and version > supported >= EARLIEST_PROBEABLE_VERSION
        ensure(record is None or (future and isinstance(record, FutureSubscription)), "a record without a layout")
        return
    ensure(not isinstance(record, FutureSubscription), "a known version taken for one from the future")
    for read in (lambda: found.read(blob, version), lambda: read_carefully(blob, found)):
        try:
            made = read()
        except GIVES_UP:  # a DecodeError is one of them
            continue
        # The only thing that a decoder refuses after it was read.
        too_low = kind == "subscription" and version >= EARLIEST_PROBEABLE_VERSION > made.latest_supported
        ensure(record == made or (record is None and too_low), "one half reads something else")


def topics_of(record):
    """The dictionary of an assignment, which does not count when assignments are compared."""
    return tuple(record.topics) if isinstance(record, Assignment) else ()


def round_trip(kind, blob, record, options):
    """Property 3: the bytes of a record are read as the same record, and are the same bytes ever after."""
    try:
        once = ENCODE[kind](record)
    except EncodeError as error:
        ensure(too_long_for_java(kind, blob), f"read but not written: {error}")
        return
    if once != blob:  # if they are equal, all this has been asked already
        ensure(rewritten(kind, blob, once, record), f"rewritten as {once.hex()}")
        again = DECODE[kind](once, **options)
        if again != record:
            raise Broken(f"{record!r} came back as {again!r}")
        ensure(ENCODE[kind](again) == once, "two generations of bytes")
    if not isinstance(record, FutureSubscription):
        found = layout_of(kind, once, record.version)[0]
        if isinstance(record, Assignment):  # the careful half wants a dictionary, as the quick one does
            record = with_dictionary(record) if record.version >= FIRST_WITH_DICTIONARY else record
        ensure(write_carefully(record, found) == once, "the halves write two things")


def fields_say_the_same(kind, blob, record, options):
    """Property 5: the JSON form holds everything, and a decoder that shares no line with ours reads the same."""
    if kind.startswith("member_") or isinstance(record, FutureSubscription):
        return
    fields = to_fields(record)
    ensure(fields == naively(kind, blob)[0], "the naive decoder reads something else")
    try:
        wire = ENCODE[kind](from_fields(kind, fields))
    except EncodeError as error:
        ensure(null_topic(record) or too_long_for_java(kind, blob), f"described but not written: {error}")
        return
    ensure(not null_topic(record), "a topic without a name was written")
    if not ambiguous(record):  # JSON has names only, and any index of the name is right
        ensure(wire == ENCODE[kind](record), "the JSON form says something else")
    ensure(DECODE[kind](wire, **options) == record, "the JSON form reads as something else")


def explained(kind, blob, supported):
    """Property 4: the parts are the whole blob, in order."""
    at = 0
    show = explain_envelope if kind.startswith("member_") else explain
    for part in show(kind.removeprefix("member_"), blob, supported=supported):
        if part.offset != at or part.raw != blob[at : at + len(part.raw)]:
            raise Broken(f"at {at} is {part}")
        ensure(part.field, "a part without a name")
        at += len(part.raw)
    ensure(at == len(blob), f"{at} bytes explained of {len(blob)}")


def memory_is_bounded(kind, blob, options):
    """Property 6: however the counts lie, memory stays a small multiple of the input."""
    forget()
    tracemalloc.start()
    try:
        try:
            record = DECODE[kind](blob, **options)
        except DecodeError as error:
            record = error
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del record
    limit = BYTES_AT_ALL + BYTES_PER_BYTE * len(blob)
    ensure(peak <= limit, f"{peak} bytes of memory for a blob of {len(blob)}")


def forget():
    """Empty what the codec remembers between messages, or one blob pays when the dictionary of all the others grows."""
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
    """Whether a name stands twice in the dictionary, so that the name alone does not say which index was meant."""
    names = [topic for _, topic in topics_of(record)]
    return len(set(names)) < len(names)


def too_long_for_java(kind, blob):
    """Whether a text that was read cannot be written: U+0000 takes one byte in sloppy bytes, but two in Java's own."""
    return kind == "assignment" and any(len(as_java(raw)) > 0xFFFF for raw, _ in naively(kind, blob)[1])


def rewritten(kind, blob, once, record):
    """Whether a record may be written as other bytes than it was read from, because Kafka would do the same."""
    if kind.startswith("member_"):
        return nulls_apart(kind, blob, record) == once
    if isinstance(record, FutureSubscription):
        return False
    if kind == "subscription" and 7 <= record.version <= 9:
        return regrouped(blob)
    return any(read != written for read, written in naively(kind, blob)[1])


def nulls_apart(kind, blob, record):
    """Write -1 where an envelope has another negative length, which Kafka reads as null too."""
    blob = bytearray(blob)
    if record.user_data is None:
        before = record._replace(version=0, trailing=b"")  # version 0 ends with the length of the userdata
        end = len(ENCODE[kind](before))
        blob[end - 4 : end] = b"\xff" * 4
    if kind == "member_subscription" and record.version >= 3 and record.rack_id is None:
        end = len(blob) - len(record.trailing)
        blob[end - 2 : end] = b"\xff" * 2
    return blob


def regrouped(blob):
    """Whether an offset sum stands below a subtopology that was there just before, or a subtopology has none."""
    end = 24 + int.from_bytes(blob[24:28], "big") + 4
    groups = naive.array(blob[end:], lambda data: naive.pair(data, naive.number, sums))[0]
    numbers = [number for number, _ in groups]
    return not all(each for _, each in groups) or any(map(eq, numbers, numbers[1:]))


def sums(data):
    """Read the offset sums of one subtopology."""
    return naive.array(data, naive.partition_and_sum)


def naively(kind, blob):
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
        return getattr(naive, kind)(blob), seen


def as_java(raw):
    """What Java writes for a text that it has read from these bytes."""
    text, _ = naive_text(len(raw).to_bytes(2, "big") + raw)
    units = text.encode("utf-16-be", "surrogatepass")
    each = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return b"".join(chr(unit).encode("utf-8", "surrogatepass") if unit else b"\xc0\x80" for unit in each)


naive_text = naive.short_text  # as it is before ``naively`` listens in
