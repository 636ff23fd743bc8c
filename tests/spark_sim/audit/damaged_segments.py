"""Audits segments of real brokers with damage of every kind, without repaired checksums; prints what it met.

    python -m tests.spark_sim.audit.damaged_segments --mutants 80000 --seed 1

Each is audited up to its tables. What must hold: it ends within seconds, there is no exception, and each byte is
counted once: in batches, in gaps or in the tail. ``segment_mutants`` has those whose checksums were repaired.
"""

import argparse
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from attrs import frozen

from streams_assignor.spark_sim.audit.partition_audit import AuditFilter, audit_partition
from streams_assignor.spark_sim.audit.sources._files import FilePartition

HERE = Path(__file__).parent
SECONDS = 60
"""Of CPU; an audit that takes longer counts as one that hangs."""
MOST_BYTES = 12_000
FILTERS = (AuditFilter(), AuditFilter(reads_commits=False), AuditFilter(finds_bounces=True))


def originals() -> list[bytes]:
    """The segments of real brokers in the tree: classic groups, converted ones, streams groups."""
    return [each.read_bytes() for each in sorted(HERE.glob("*segments/__consumer_offsets-*/*.log"))]


def batches(segment: bytes) -> list[bytes]:
    """The batches of an undamaged segment."""
    found, at = list[bytes](), 0
    while at < len(segment):
        end = at + 12 + int.from_bytes(segment[at + 8 : at + 12], "big")
        found.append(segment[at:end])
        at = end
    return found


def _bytes_changed(data: bytearray, random: Random) -> None:
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))


def _header_changed(data: bytearray, random: Random) -> None:
    """Change a length, a count, a codec or a format of some batch."""
    starts = [at for at in range(len(data) - 61) if data[at + 16] == 2 and not any(data[at : at + 6])]
    at = random.choice(starts or [0]) + random.choice((8, 9, 10, 11, 16, 22, 23, 25, 26, 57, 58, 59, 60))
    data[min(at, len(data) - 1)] = random.choice((0, 1, 2, 3, 4, 5, 7, 0x7F, 0x80, 0xFF))


def _cut(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data)) :]


def _zeros(data: bytearray, random: Random) -> None:
    at, size = random.randrange(len(data)), random.choice((1, 16, 512, 4096))
    data[at : at + size] = bytes(len(data[at : at + size]))


def _removed(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data))
    del data[at : at + random.choice((1, 7, 61, 512))]


def _copied(data: bytearray, random: Random) -> None:
    at, size, to = random.randrange(len(data)), random.choice((1, 61, 512, 4096)), random.randrange(len(data))
    data[to:to] = data[at : at + size]


def _inserted(data: bytearray, random: Random) -> None:
    data[(at := random.randrange(len(data))) : at] = random.randbytes(random.choice((1, 12, 61, 600)))


DAMAGES = (_bytes_changed, _header_changed, _cut, _zeros, _removed, _copied, _inserted)


def damaged_segments(random: Random) -> Iterator[bytes]:
    """Yield parts of real segments without end, with one to three kinds of damage each."""
    known = [batches(each) for each in originals()]
    while True:
        chosen = random.choice(known)
        first = random.randrange(len(chosen))
        data = bytearray()
        while first < len(chosen) and len(data) < random.randrange(1, MOST_BYTES):
            data += chosen[first]
            first += 1
        for damage in random.choices(DAMAGES, k=random.choice((1, 1, 2, 3))):
            if data:
                damage(data, random)
        yield bytes(data)


@frozen
class Outcomes:
    """The results of the audits."""

    kinds: Counter[str]
    """How many had damage that was counted under a name; one may have several."""
    slowest: float
    """Seconds of CPU."""


def audit_all(count: int, seed: int) -> Outcomes:
    """Audit so many; an exception names the bytes of the segment."""
    random, kinds, slowest = Random(seed), Counter[str](), 0.0
    signal.signal(signal.SIGVTALRM, _hangs)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "0.log"), Path(folder, "out")
        out.mkdir()
        file.write_bytes(originals()[0])
        audit_partition(FilePartition(0, (file,)), AuditFilter(), out)  # compiles the reader
        for _, data in zip(range(count), damaged_segments(random), strict=False):
            file.write_bytes(data)
            began = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                summary = audit_partition(FilePartition(0, (file,)), random.choice(FILTERS), out)
                counts = summary.counts
                seen = counts["bytes"] + counts["missing_bytes"] + counts["truncated_bytes"]
                assert seen <= len(data), counts
                assert not any(data[seen:]) or seen == len(data), counts  # a preallocated tail is not counted
            except BaseException as error:
                error.add_note(f"the segment: {data.hex()}")
                raise
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            slowest = max(slowest, time.process_time() - began)
            kinds.update(name for name in counts if name in _DAMAGE)
            kinds["nothing"] += not any(name in _DAMAGE for name in counts)
    return Outcomes(kinds, slowest)


_DAMAGE = frozenset({"checksum_mismatches", "damaged_batches", "missing_bytes", "truncated_bytes", "out_of_order"})


def _hangs(*_: object) -> None:
    raise TimeoutError(f"an audit of {MOST_BYTES} bytes takes more than {SECONDS} s of CPU")


def main() -> None:
    """Audit damaged segments; the first fault is a traceback with the bytes of the segment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=80_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = audit_all(given.mutants, given.seed)
    kinds = ", ".join(f"{name}: {number}" for name, number in sorted(found.kinds.items()))
    print(f"{given.mutants} damaged segments, the slowest {found.slowest:.1f} s; {kinds}")


if __name__ == "__main__":
    main()
