"""Segments are read whatever their format, and damage costs only the batch that has it."""

import zlib
from io import BytesIO
from random import Random

import pytest

from streams_assignor.groups.history import _compression, frames
from streams_assignor.groups.history.log_segment import MAX_TIMESTAMP, NO_TIMESTAMP, SegmentReader
from tests.assignor.groups.history.segments import (
    APPEND_TIME,
    COMMIT,
    CONTROL,
    GZIP,
    HEADER_BYTES,
    LZ4,
    NONE,
    NOW,
    SNAPPY,
    ZSTD,
    Pair,
    batch,
    compress,
    marker,
    message_set,
    sealed,
)

PAIRS = [Pair(b"a", b"1" * 50, NOW), Pair(None, b"2", NOW + 1), Pair(b"c", None, NOW + 70_000)]
READ = [(4, NOW, b"a", b"1" * 50), (5, NOW + 1, None, b"2"), (6, NOW + 70_000, b"c", None)]


def read(data):
    reader = SegmentReader()
    return [tuple(each[:4]) for each in reader.records(BytesIO(data))], reader


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_every_compression_of_a_batch_is_read(codec):
    found, reader = read(memoryview(batch(PAIRS, 4, codec)))

    assert found == READ
    assert (reader.counts["batches"], reader.problems) == (1, [])


def test_snappy_without_frames_is_read():
    assert read(batch(PAIRS, 4, SNAPPY, xerial=False))[0] == READ


@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("magic", [0, 1])
def test_older_formats_are_read_with_absolute_offsets(magic, codec):
    times = [time if magic else NO_TIMESTAMP for _, time, _, _ in READ]
    expected = [(offset, time, key, value) for (offset, _, key, value), time in zip(READ, times, strict=True)]

    assert read(message_set(PAIRS, magic, codec, 4))[0] == expected


def test_log_append_time_replaces_the_times_of_the_records():
    assert [each[1] for each in read(batch(PAIRS, attributes=APPEND_TIME, max_time=NOW + 9))[0]] == [NOW + 9] * 3


def test_log_append_time_of_a_compressed_message_is_that_of_all_in_it():
    built = bytearray(message_set(PAIRS, 1, GZIP))
    built[17] |= APPEND_TIME
    built[12:16] = zlib.crc32(built[16:]).to_bytes(4, "big")

    assert len({each[1] for each in read(bytes(built))[0]}) == 1


def test_control_batches_and_producers_are_marked():
    data = batch(PAIRS[:1], producer=7) + marker(COMMIT, 7, 1) + batch(PAIRS[:1], 2)
    found = list(SegmentReader().records(BytesIO(data)))

    assert [(each.producer_id, each.is_control) for each in found] == [(7, False), (7, True), (-1, False)]


def test_a_truncated_tail_ends_the_segment():
    whole = batch(PAIRS, 4)
    found, reader = read(whole + batch(PAIRS, 7)[:-1])

    assert found == READ
    assert reader.counts["truncated_bytes"] == len(whole) - 1
    assert "not a whole batch" in reader.problems[0]
    assert reader.counts["bytes"] == len(whole)


@pytest.mark.parametrize("zeros", [1, 17, 4096])
def test_zeros_behind_the_last_batch_are_no_problem(zeros):
    found, reader = read(batch(PAIRS, 4) + bytes(zeros))

    assert (found, reader.problems, reader.counts["truncated_bytes"]) == (READ, [], 0)


def test_an_empty_segment_has_no_records():
    assert read(b"")[0] == []


def damaged(change):
    built = bytearray(batch(PAIRS, 1, change.pop("codec", NONE)))
    for at, value in change.items():
        built[at] = value
    return bytes(built)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({16: 3}, "record format 3; known are 0 to 2"),
        ({22: 5}, "compression 5 is not known; known are 1, 2, 3, 4"),
        ({"codec": GZIP, 70: 255, 71: 255}, "gzip"),
        ({"codec": ZSTD, 61: 0}, "zstd"),
        ({"codec": LZ4, 61: 0}, "lz4"),
        ({57: 127}, "records, but"),
        ({57: 255}, "records, but"),
        ({HEADER_BYTES: 2}, "a record of 1 bytes"),
        ({HEADER_BYTES: 1}, "a record of -1 bytes"),
        ({HEADER_BYTES: 255, HEADER_BYTES + 1: 127}, "a record of"),
    ],
)
def test_a_damaged_batch_is_counted_and_the_next_one_is_read(change, why):
    found, reader = read(damaged(dict(change)) + batch(PAIRS, 4))

    assert found[-3:] == READ
    assert (reader.counts["damaged_batches"], reader.counts["missing_bytes"]) == (1, 0)
    assert why in reader.problems[-1]


def test_records_before_the_damage_are_kept():
    built = bytearray(batch([Pair(b"a", b"1"), Pair(b"b", b"2")]))
    built[-7] = 0xFE  # the size of the key

    assert [each[2] for each in read(bytes(built))[0]] == [b"a"]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"\xff" * 7, "ends inside a number"),
        (b"\xff" * 11, "more than 10 bytes"),
        (b"\x0e\x00\x00\x00\x7eaaaa", "63 bytes at 5"),
        (b"\x1e\x00\x00\x00\x01\x04aa\x00", "a record of 15 bytes"),
        (b"\x08\x00\x00\x00\x01\x04aa\x00", "a record of 4 bytes"),
    ],
)
def test_bytes_that_are_no_record_are_refused(payload, why):
    """The last one has a value behind the end that its record gives."""
    built = bytearray(batch([Pair(None, b"")]))
    built[HEADER_BYTES:] = payload
    _, reader = read(sealed(built))

    assert why in reader.problems[0]


def test_a_batch_shorter_than_its_header_is_damaged():
    built = batch([])[:40]
    _, reader = read(built[:8] + (28).to_bytes(4, "big") + built[12:])

    assert "the header of a batch has 61" in reader.problems[-1]


@pytest.mark.parametrize("time", [-5, MAX_TIMESTAMP + 1, (1 << 63) - 1])
def test_a_number_that_is_no_time_is_no_timestamp(time):
    assert read(batch(PAIRS, attributes=APPEND_TIME, max_time=time))[0][0][1] == NO_TIMESTAMP


@pytest.mark.parametrize("base", [-1, (1 << 63) - 1])
def test_an_offset_beyond_64_bits_is_damage(base):
    found, reader = read(batch(PAIRS, base))

    assert len(found) < len(PAIRS)
    assert "a record with the offset" in reader.problems[0]


def resealed(message):
    return message[:12] + zlib.crc32(message[16:]).to_bytes(4, "big") + message[16:]


def cut(magic, size):
    """A message of a format, cut to so many bytes, with a right checksum and length."""
    message = message_set(PAIRS[:1], magic)
    return resealed(message[:8] + (size - 12).to_bytes(4, "big") + message[12:size])


def legacy(change):
    """A message of format 0 (key ``a`` at 18) with other bytes and a right checksum."""
    message = bytearray(message_set(PAIRS[:1], 0))
    for at, value in change.items():
        message[at] = value
    return resealed(bytes(message))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (message_set(PAIRS[:1], 0)[:-1] + b"x", "checksum"),
        (legacy({20: 1}), "bytes at"),
        (cut(0, 20), "the message ends at 20"),
        (cut(1, 28), "ends at"),
        (legacy({17: GZIP}), "gzip"),
        (legacy({26: 49}), "1 bytes behind the value"),
    ],
)
def test_a_damaged_message_is_skipped(message, why):
    found, reader = read(message + message_set(PAIRS, 1, base=4))

    assert found == READ
    assert why in reader.problems[0]


def test_a_compressed_message_with_a_damaged_length_in_it_is_skipped():
    inner = bytearray(message_set(PAIRS[:1], 0))
    inner[11] = 200
    found, reader = read(wrapped(bytes(inner)) + batch(PAIRS, 4))

    assert found == READ
    assert "a message of 212 bytes" in reader.problems[0]


@pytest.mark.parametrize("size", range(1, 6))
def test_a_compressed_message_with_a_short_one_in_it_is_skipped(size):
    """Its header was read beyond its end: an IndexError."""
    found, reader = read(wrapped(bytes(8) + size.to_bytes(4, "big") + bytes(size)) + batch(PAIRS, 4))

    assert found == READ
    assert f"a message of {12 + size} bytes; its header has 18" in reader.problems[0]


def test_a_compressed_message_may_be_empty():
    assert read(wrapped(b""))[0] == []


def wrapped(inner, magic=0):
    """A message of format 0 or 1 whose value is compressed with gzip."""
    message = bytearray(message_set([Pair(None, compress(GZIP, inner), NOW)], magic))
    message[17] = GZIP
    return resealed(bytes(message))


def test_a_hundred_problems_are_kept_and_all_are_counted():
    _, reader = read(damaged({16: 9}) * 150)

    assert (len(reader.problems), reader.counts["damaged_batches"]) == (100, 150)


@pytest.mark.parametrize(
    ("codec", "payload", "why"),
    [
        (GZIP, zlib.compress(b"x" * 99)[:-5], "the bytes end before the stream does"),
        (SNAPPY, b"", "snappy: index out of range"),
        (SNAPPY, b"\xff" * 5, "bytes uncompressed"),
        (SNAPPY, b"\xff\xff\x7f", "a chunk of 3 bytes cannot have 2097151"),
        (SNAPPY, b"\x05abc", "snappy"),
        (SNAPPY, b"\x82SNAPPY\x00" + bytes(8) + bytes(4), "a chunk of 0 bytes, but 0 are left"),
        (SNAPPY, b"\x82SNAPPY\x00" + bytes(8) + b"\0\0\0\x09a", "a chunk of 9 bytes, but 1 are left"),
        (ZSTD, b"no frame", "zstd"),
    ],
)
def test_damaged_compression_is_named(codec, payload, why):
    with pytest.raises(_compression.BadCompression, match=why):
        _compression.decompress(codec, payload)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_bomb_is_not_unpacked(codec):
    with pytest.raises(_compression.BadCompression, match="more than 1000 bytes uncompressed; --max-batch-bytes"):
        _compression.decompress(codec, compress(codec, bytes(5000)), 1000)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_batch_of_exactly_the_limit_is_unpacked(codec):
    assert bytes(1000) == _compression.decompress(codec, compress(codec, bytes(1000)), 1000)


def test_the_reader_skips_and_counts_batches_above_its_limit():
    reader = SegmentReader(max_batch_bytes=10)

    assert [] == list(reader.records(BytesIO(batch(PAIRS, 0, GZIP) + message_set(PAIRS, 1, GZIP, 3))))
    assert 2 == reader.counts["damaged_batches"]
    assert all("more than 10 bytes uncompressed" in each for each in reader.problems)


@pytest.mark.parametrize("size", range(1, 14))
@pytest.mark.parametrize("magic", [0, 1])
def test_a_compressed_message_with_a_short_message_inside_is_counted(magic, size):
    """One of 1 to 4 bytes ended in an IndexError."""
    inner = bytes(8) + size.to_bytes(4, "big") + bytes(size)
    reader = SegmentReader()

    assert [] == list(reader.records(BytesIO(wrapped(inner, magic))))
    assert 1 == reader.counts["damaged_batches"]


def test_any_damage_is_counted_and_raises_nothing():
    """300 segments with random damage: flipped bytes, cut ends, bytes in between."""
    random = Random(19)
    whole = b"".join(
        [
            batch(PAIRS, 0, random.randrange(5)),
            message_set(PAIRS, 1, GZIP, 3),
            message_set(PAIRS, 0, base=6),
            *(batch(PAIRS, 9 + 3 * each, each, attributes=CONTROL * (each == 3)) for each in range(5)),
        ]
    )
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(random.choice((1, 1, 3, 30))):
            data[random.randrange(len(data))] = random.randrange(256)
        if random.random() < 0.3:
            at = random.randrange(len(data))
            data[at : at + random.randrange(9)] = random.randbytes(random.randrange(9))
        reader = SegmentReader()
        found = list(reader.records(BytesIO(data)))
        assert all(0 <= each.offset < 1 << 63 and -1 <= each.timestamp <= MAX_TIMESTAMP for each in found)
        assert len(reader.problems) <= 100


def test_a_batch_with_another_checksum_is_counted_and_its_records_are_kept():
    changed = bytearray(batch(PAIRS, 1))
    changed[-60] ^= 1  # in the value of the first record
    found, reader = read(bytes(changed) + batch(PAIRS, 4))

    assert [each[0] for each in found] == [1, 2, 3, 4, 5, 6]
    assert found[3:] == READ
    assert reader.counts["checksum_mismatches"] == 1
    assert reader.problems == ["segment: the checksum of the batch at byte 0 (offset 1) does not match"]


def test_several_batches_with_other_checksums_keep_their_records():
    """Their lengths lead to a batch with a right checksum, or to the end."""
    changed = bytearray(batch(PAIRS, 1))
    changed[30] ^= 1  # in the time of the batch
    found, reader = read(bytes(changed) * 3)

    assert len(found) == 9
    assert (reader.counts["checksum_mismatches"], reader.counts["missing_bytes"]) == (3, 0)


BATCHES = [batch(PAIRS[:1], at) for at in range(9)]


def offsets_around(gap, before=4):
    """Offsets of what is read around some bytes between batches, and the reader."""
    found, reader = read(b"".join(BATCHES[:before]) + gap + b"".join(BATCHES[before:]))
    return [each[0] for each in found], reader


@pytest.mark.parametrize("before", [0, 1, 8])
@pytest.mark.parametrize("gap", [bytes(4096), bytes(1), b"\xff" * 100, b"\x01" * 5000, b"\x02" * 77, BATCHES[0][:-2]])
def test_bytes_between_batches_are_counted_and_all_batches_are_read(gap, before):
    """A block of zeros in a segment ended it without a word."""
    found, reader = offsets_around(gap, before)
    at = sum(map(len, BATCHES[:before]))

    assert found == list(range(9))
    assert reader.counts["missing_bytes"] == len(gap)
    assert reader.problems == [f"segment: {len(gap)} bytes at {at} are no batch; the next one is at {at + len(gap)}"]


def test_zeros_over_a_part_of_a_batch_lose_that_batch_only():
    """At each place of a segment; a batch that is whole otherwise may have had zeros there."""
    whole = b"".join(BATCHES)
    for at in range(0, len(whole) - 24, 7):
        found, reader = read(whole[:at] + bytes(24) + whole[at + 24 :])
        lost = set(range(9)) - {each[0] for each in found}

        assert len(lost) <= 2, at
        assert not lost or reader.problems, at


@pytest.mark.parametrize("change", [1, 0x40, 0x80])
@pytest.mark.parametrize("at", range(8, 12))
def test_a_batch_with_a_damaged_length_loses_no_other_batch(at, change):
    changed = bytearray(BATCHES[0])
    changed[at] ^= change
    found, reader = read(bytes(changed) + b"".join(BATCHES[1:]))

    assert [each[0] for each in found] == list(range(1, 9))
    assert reader.counts["missing_bytes"] == len(changed)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_behind_a_gap_are_found(magic):
    found, reader = read(b"\x07" * 50 + message_set(PAIRS, magic, base=4))

    assert [each[0] for each in found] == [4, 5, 6]
    assert reader.counts["missing_bytes"] == 50


def test_a_gap_may_be_longer_than_a_block(monkeypatch):
    monkeypatch.setattr(frames, "_BLOCK_BYTES", 100)
    gap = Random(7).randbytes(5_000)
    found, reader = offsets_around(gap + bytes(1_000))

    assert found == list(range(9))
    assert reader.counts["missing_bytes"] == 6_000


def test_batches_are_read_whole_whatever_the_size_of_a_block(monkeypatch):
    whole = b"".join(BATCHES) + batch(PAIRS, 9) + bytes(500)
    for size in (1, 61, 64, 130):
        monkeypatch.setattr(frames, "_BLOCK_BYTES", size)
        found, reader = read(whole)

        assert ([each[0] for each in found], reader.problems) == ([*range(12)], [])


def test_a_search_ends_in_a_file_that_looks_like_batches_everywhere():
    """Each of them would need the checksum of all that follows."""
    head = bytearray(batch([])[:61])
    head[8:12] = (100_000).to_bytes(4, "big")
    found, reader = read(bytes(head) * 8_000)

    assert found == []
    assert reader.counts["missing_bytes"] == len(head) * 8_000
    assert "in more places than are tried one seems to begin" in reader.problems[0]


def test_the_end_of_a_segment_with_a_later_one_is_missing():
    reader = SegmentReader()
    list(reader.records(BytesIO(BATCHES[0][:-1]), is_last=False))

    assert (reader.counts["missing_bytes"], reader.counts["truncated_bytes"]) == (len(BATCHES[0]) - 1, 0)


def test_a_copied_batch_is_out_of_order():
    """No checksum includes the offset: a damaged one shows like this, too."""
    reader = SegmentReader()
    for copy in (BATCHES[:3], BATCHES[2:4]):
        list(reader.records(BytesIO(b"".join(copy))))

    assert reader.counts["out_of_order"] == 1
    assert reader.problems == ["segment: the batch at byte 0 (offset 2) is behind offset 2: a copy, or damaged"]


class Shrinking(BytesIO):
    """A file that loses its second half after its size was asked for."""

    def seek(self, at, whence=0):
        found = super().seek(at, whence)
        if whence == 2:
            self.truncate(len(BATCHES[0]) * 2)
        return found


def test_a_segment_that_shrinks_while_it_is_read_is_a_problem():
    """A mapped file ended in SIGBUS."""
    reader = SegmentReader()
    found = list(reader.records(Shrinking(b"".join(BATCHES))))

    assert [each.offset for each in found] == [0, 1]
    assert reader.counts["missing_bytes"] == 7 * len(BATCHES[0])
    assert reader.problems[-1].endswith("were removed while it was read")


def test_bytes_behind_the_records_of_a_batch_are_damage():
    """A smaller number of records left the others out without a word."""
    built = bytearray(batch(PAIRS))
    built[57:61] = (1).to_bytes(4, "big")
    found, reader = read(sealed(built))

    assert [each[0] for each in found] == [0]
    assert "bytes behind its 1 records" in reader.problems[0]
