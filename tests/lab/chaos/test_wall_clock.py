"""A wall clock jumps for its own process, in Python and in C, and its other clocks stay right."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.chaos.wall_clock import NoClocks, WallClock, wall_clock

PYTHON = """
import sys, threading, time
for _ in sys.stdin:
    before = time.monotonic()
    threading.Event().wait(0.01)
    print(time.time(), time.time_ns() / 1e9, time.localtime().tm_year, before, time.monotonic(), flush=True)
"""
LIBRDKAFKA = """
import json, sys
from confluent_kafka import Consumer
seen = []
settings = {"group.id": "none", "bootstrap.servers": "127.0.0.1:1", "log_level": 0, "statistics.interval.ms": 20}
consumer = Consumer(settings, stats_cb=seen.append)
for _ in sys.stdin:
    seen.clear()
    while len(seen) < 2:
        consumer.poll(0.02)
    print(json.loads(seen[-1])["time"], json.loads(seen[-1])["ts"] / 1e6, flush=True)
"""


@pytest.fixture(name="clock")
def fixture_clock(tmp_path: Path) -> WallClock:
    try:
        return wall_clock(tmp_path / "clock")
    except NoClocks as missing:
        pytest.skip(str(missing))


@contextmanager
def asking(program: str, clock: WallClock) -> Iterator[Callable[[], list[float]]]:
    """Run a program on a clock; each call asks for a line of numbers."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(clock.environment)
    ) as process:

        def reported() -> list[float]:
            process.stdin.write("\n")
            process.stdin.flush()
            return json.loads(f"[{process.stdout.readline().replace(' ', ',')}]")

        yield reported


@pytest.mark.parametrize("seconds", [3600.0, -3600.0, -86400.0 * 366, 0.5])
def test_the_wall_clock_jumps_and_no_other_clock_does(seconds, clock):
    with asking(PYTHON, clock) as reported:
        for off in (0.0, seconds, 0.0):
            clock.jump(off)
            earliest = time.time(), time.monotonic()
            wall, exact, year, before, after = reported()
            latest = time.time(), time.monotonic()

            assert earliest[0] + off - 1e-3 <= wall <= exact <= latest[0] + off + 1e-3
            assert time.localtime(wall).tm_year == year
            assert earliest[1] <= before < after <= latest[1]


def test_c_code_sees_it_too(clock):
    with asking(LIBRDKAFKA, clock) as reported:
        for off in (0, 3600, -86400):
            clock.jump(off)
            earliest = int(time.time()), time.monotonic()
            wall, monotonic = reported()

            assert earliest[0] + off <= wall <= time.time() + off
            assert earliest[1] <= monotonic <= time.monotonic()
