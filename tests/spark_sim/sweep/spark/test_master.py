"""A Spark master that is not there."""

import socket
import time

import pytest

from streams_assignor.spark_sim.sweep.spark import master
from streams_assignor.spark_sim.sweep.spark.java import SparkNotStarted
from streams_assignor.spark_sim.sweep.spark.master import wait_for_master


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch):
    """A clock that goes on in sleeps alone."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


@pytest.mark.parametrize("address", ["local[2]", "k8s://https://h:6443", "yarn"])
def test_other_masters_are_not_waited_for(address):
    wait_for_master(address, print)


def test_one_of_several_masters_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as server:
        wait_for_master(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}", print)


@pytest.mark.usefixtures("clock")
def test_no_master_is_an_error_after_twenty_seconds_of_which_is_told():
    """It was one after 60 s without a word."""
    lines = []
    with pytest.raises(SparkNotStarted, match=r"at spark://127\.0\.0\.1:1, got none in 20 s: 127.0.0.1:1: .*refused"):
        wait_for_master("spark://127.0.0.1:1", lines.append)

    assert ["waiting for a Spark master, 20 s more", "15 s more", "10 s more", "5 s more"] == [
        line.partition(":")[0].replace("waiting for a Spark master, ", "" if number else "waiting for a Spark master, ")
        for number, line in enumerate(lines)
    ]


def test_a_master_that_comes_is_found(clock, monkeypatch):
    refusals = iter(["refused", "refused", ""])
    monkeypatch.setattr(master, "_refusal", lambda *_: next(refusals))
    wait_for_master("spark://h:7077", lambda _line: None)

    assert 2.0 == clock[0]


@pytest.mark.parametrize("port", ["x", ""])
def test_an_address_that_is_none_is_an_error(clock, port):
    with pytest.raises(SparkNotStarted, match="invalid literal for int"):
        wait_for_master(f"spark://h:{port}", lambda _line: None)

    assert clock[0] >= master.WAIT_SECONDS
