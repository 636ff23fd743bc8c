"""What processes use is sampled, and a life that gains too much is named."""

import os
import threading
import time
from pathlib import Path

import pytest

from tests.lab.chaos import resources
from tests.lab.chaos.resources import ResourceSampler, Sample, read_samples, trends, usage

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


def life(*, growth=0.0, threads=0, descriptors=0, minutes=20, begin=0):
    """A life that gains so many MB in ten minutes, and threads and descriptors in its last minutes."""
    return [
        Sample(
            begin + at,
            "A",
            "per-record",
            1,
            50 + growth * at / 600,
            9 + threads * (at > 900),
            20 + descriptors * (at > 900),
        )
        for at in range(0, minutes * 60, 5)
    ]


def test_a_flat_life_has_no_problem():
    (trend,) = trends(life(growth=0.9, threads=1, descriptors=2))

    assert ("A", "per-record", 0.9, []) == (trend.member, trend.worker, trend.growth_mb, trend.problems)


@pytest.mark.parametrize(
    ("gain", "problem"),
    [
        ({"growth": 1.2}, "A (per-record) gains 1.2 MB in ten minutes"),
        ({"threads": 2}, "A (per-record) gains 2.0 threads"),
        ({"descriptors": 3}, "A (per-record) gains 3.0 descriptors"),
    ],
)
def test_a_life_that_gains_too_much_is_named(gain, problem):
    assert [[problem]] == [trend.problems for trend in trends(life(**gain))]


def test_warm_up_and_short_lives_are_not_judged():
    warming = [sample for sample in life(growth=300) if sample.seconds < 300]
    flat = [sample for sample in life() if sample.seconds >= 300]

    assert [0] == [trend.growth_mb for trend in trends([*warming, *flat])]
    assert not trends(life(growth=300, minutes=14))


@needs_proc
def test_the_use_of_this_process_is_seen():
    before = usage(os.getpid())
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    with Path(__file__).open():
        memory, threads, descriptors = usage(os.getpid())
    stop.set()
    thread.join()

    assert (before[1] + 1, before[2] + 1) == (threads, descriptors)
    assert 1 < memory < 10_000


@needs_proc
def test_samples_are_written_and_read(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "EVERY_SECONDS", 0.02)
    gone = 2**22 + 1  # above the largest process id
    path = tmp_path / "resources.csv"
    processes = [("A", "confluent", 2, os.getpid()), ("B", "confluent", 1, gone)]
    with ResourceSampler(path, lambda: processes):
        deadline = time.monotonic() + 20
        while not (path.exists() and len(path.read_text().splitlines()) > 2) and time.monotonic() < deadline:
            time.sleep(0.02)

    samples = read_samples(path)
    assert {("A", "confluent", 2)} == {(sample.member, sample.worker, sample.life) for sample in samples}
    assert samples[-1].seconds >= samples[0].seconds
