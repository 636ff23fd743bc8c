"""Time and memory for the bytes of one hostile member: ``python -m tests.lab.fuzz.limits [BYTES]`` prints a table.

The rows are `shapes`, of BYTES (100,000) and twice that, for each reader: a leader of 50 other members, a follower
with an end point, the inspection of a group, and its JSON form. Memory is the peak beyond the input (``tracemalloc``)
that the reader needs more than for an ordinary member, per byte of the input. A JSON form is text that a caller asks
for: its memory is per byte of the text if that is larger. Time is CPU time of this process, the smallest of several
runs in turn, without the garbage collector: how often it runs depends on all objects of the process. The exit status
is 1 if a row exceeds a limit.
"""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final
from uuid import UUID

from attrs import evolve, frozen

from streams_assignor import FatalError, StreamsAssignor, Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition
from streams_assignor.codec.columns import task_of
from streams_assignor.groups import DescribedGroup, DescribedGroupMember, inspect_group
from streams_assignor.protocol.member import Member
from streams_assignor.upgrade.cluster.features.carried_levels import CarriedLevels
from tests.lab.fuzz import shapes

MEMORY_LIMIT: Final = 80.0
"""Bytes per byte: a set of one partition takes 216 bytes, for 12 on the wire."""
TIME_LIMIT: Final = 3.0
"""time(2n) / time(n). Quadratic time makes 4, linear time 2; objects that outgrow the caches of a processor make up to
2.7 of it: the row ``tasks`` of a follower takes 64 ns a byte at 25 kB, 93 at 200 kB and 140 at 800 kB."""
ALLOWANCE: Final = 64 * 1024
"""Bytes that do not count: caches, messages, code that is compiled on first use."""
RUNS: Final = 9

TOPOLOGY: Final = Topology.of(Subtopology(sources=["orders"], changelogs=["counts"]))
SIZES: Final = {"orders": 100, "counts": 100}
CLUSTER: Final = ClusterSnapshot(
    partitions=SIZES, end_offsets={TopicPartition("counts", number): 7 for number in range(100)}
)
TASK_IDS: Final = task_of.__self__  # type: ignore[attr-defined]
"""The cache of task ids, at most 65,536: it must not be full, or a call pays for clearing it."""
WATCHES: Final = ("group.version",)

Reader = Callable[[bytes], Any]


@frozen
class Cost:
    """What one reader needs for one shape."""

    reader: str
    shape: str
    memory: float
    seconds: float
    growth: float

    @property
    def within(self) -> bool:
        return self.memory <= MEMORY_LIMIT and self.growth <= TIME_LIMIT

    def __str__(self) -> str:
        mark = "" if self.within else "  <- above the limit"
        name = f"{self.reader}: {self.shape}"
        return f"{name:75} {self.memory:7.1f} {1000 * self.seconds:8.1f} {self.growth:7.2f}{mark}"


def a_leader(members: int = 50) -> Reader:
    """Return a leader's step with the bytes of one more member."""
    group = {str(each): StreamsAssignor(TOPOLOGY, process_id=UUID(int=each + 10**6)) for each in range(members)}
    joined = {name: member.subscription() for name, member in group.items()}
    leads = StreamsAssignor(TOPOLOGY, extension=CarriedLevels(WATCHES), process_id=UUID(int=5))
    return lambda encoded: leads.assign(CLUSTER, {**joined, "hostile": encoded})


def a_follower() -> Reader:
    """Return a follower's decoding of its assignment; its state does not change."""
    member: Member = StreamsAssignor(TOPOLOGY, {"application.server": "h:1"}).member

    def read(encoded: bytes) -> object:
        after, received = member.on_assignment(encoded)
        levels = CarriedLevels(WATCHES)
        levels.on_assignment(received.trailing)
        return after, received, levels

    return read


def an_inspection(field: str) -> Reader:
    """Return the inspection of a group with one member, as the broker describes it."""
    described = DescribedGroupMember(member_id="hostile", client_id="hostile", host="/h")
    group = DescribedGroup(name="g", state="Stable", protocol_type="consumer", protocol="stream")
    return lambda encoded: inspect_group(evolve(group, members=(evolve(described, **{field: encoded}),)))


def as_json(field: str) -> Reader:
    """Return the inspection of such a group and its JSON form."""
    read = an_inspection(field)
    return lambda encoded: read(encoded).as_json()


def usual(reader: str) -> bytes:
    """Bytes of an ordinary member or leader, for the baseline."""
    one = StreamsAssignor(TOPOLOGY, process_id=UUID(int=9))
    joined = one.subscription()
    return joined if "subscription" in reader else one.assign(CLUSTER, {"a": joined})["a"]


READERS: Final[dict[str, tuple[Reader, dict[str, shapes.Shape]]]] = {
    "leader, subscription": (a_leader(), shapes.SUBSCRIPTIONS),
    "follower, assignment": (a_follower(), shapes.ASSIGNMENTS),
    "inspection, subscription": (an_inspection("subscription"), shapes.SUBSCRIPTIONS),
    "inspection, assignment": (an_inspection("assignment"), shapes.ASSIGNMENTS),
    "JSON, subscription": (as_json("subscription"), shapes.SUBSCRIPTIONS),
    "JSON, assignment": (as_json("assignment"), shapes.ASSIGNMENTS),
}


def peak(call: Callable[[], object]) -> int:
    """Return the peak of memory that a call allocates, its result included, once the codec's caches have its ids."""
    TASK_IDS.clear()
    with suppress(FatalError):
        call()
    gc.collect()
    tracemalloc.start()
    try:
        with suppress(FatalError):
            call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds(*calls: Callable[[], object]) -> list[float]:
    """Return the smallest CPU time of each call. They take turns: what slows the machine down slows all of them."""
    times: list[list[float]] = [[] for _ in calls]
    gc.disable()
    for _ in range(RUNS):
        for call, its in zip(calls, times, strict=True):
            began = time.process_time()
            with suppress(FatalError):
                call()
            its.append(time.process_time() - began)
            gc.collect()
    gc.enable()
    return [*map(min, times)]


def size_of(reader: str, read: Reader, encoded: bytes) -> int:
    """Return the bytes that the memory of a reader is compared with."""
    return max(len(encoded), len(json.dumps(read(encoded))) if reader.startswith("JSON") else 0)


@cache
def ordinary_peak(reader: str) -> int:
    """Return the peak of a reader for an ordinary member."""
    return peak(partial(READERS[reader][0], usual(reader)))


def memory(reader: str, encoded: bytes) -> float:
    """Return the bytes that a reader needs more than for an ordinary member, per byte."""
    read, _ = READERS[reader]
    more = peak(partial(read, encoded)) - ordinary_peak(reader) - ALLOWANCE
    return max(0, more) / size_of(reader, read, encoded)


def costs(size: int) -> Iterator[Cost]:
    """Measure all readers with all shapes."""
    for name, (read, made) in READERS.items():
        for shape, make in made.items():
            encoded, twice = make(size), make(2 * size)
            least, *longer = seconds(*(partial(read, each) for each in (usual(name), encoded, twice)))
            once, doubled = (max(1e-4, each - least) for each in longer)
            # Below a millisecond only the clock is measured.
            yield Cost(name, shape, memory(name, encoded), once, doubled / once if doubled > 2e-3 else 1.0)


def main(size: int = 100_000) -> int:
    """Print the table; return the number of rows above a limit."""
    print(f"{'':75} {'memory':>7} {'ms':>8} {'growth':>7}")
    return sum(print(cost) or not cost.within for cost in costs(size))


if __name__ == "__main__":
    sys.exit(min(1, main(*map(int, sys.argv[1:]))))
