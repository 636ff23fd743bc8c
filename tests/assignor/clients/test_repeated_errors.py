"""Errors of an outage: once, then with growing intervals."""

import logging

import pytest

from streams_assignor.clients import _repeated_errors
from streams_assignor.clients._repeated_errors import RepeatedErrors


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(_repeated_errors.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture(name="log")
def fixture_log(caplog: pytest.LogCaptureFixture) -> logging.Logger:
    log = logging.getLogger("tests.repeated_errors")
    log.filters[:] = [RepeatedErrors()]
    caplog.set_level(logging.INFO, logger=log.name)
    return log


def test_a_line_is_written_once_then_with_growing_intervals(
    log: logging.Logger, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """A commit in the loop wrote 606 lines in 30 seconds."""
    written = []
    for second in range(200):
        clock[0] = float(second)
        log.warning("commit %d has failed", second)
        if len(caplog.messages) > len(written):
            written.append(second)

    assert [0, 10, 30, 70, 150] == written
    assert "commit 70 has failed (39 more of these were left out)" == caplog.messages[3]


def test_another_line_and_a_later_outage_are_written_at_once(
    log: logging.Logger, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    log.error("broker 1 is down")
    log.error("broker 2 is down")
    log.error("the password is wrong")
    log.info("broker 3 is down")
    clock[0] = 11.0
    log.error("broker 4 is down")

    assert ["broker 1 is down", "the password is wrong", "broker 3 is down", "broker 4 is down"] == caplog.messages


def test_it_remembers_a_bounded_number_of_lines(
    log: logging.Logger, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for letter in range(2 * _repeated_errors._MOST_KINDS):
        log.error("failed: %s", chr(0x4E00 + letter))

    assert clock == [0.0]
    assert 2 * _repeated_errors._MOST_KINDS == len(caplog.messages)
    (repeated,) = (each for each in log.filters if isinstance(each, RepeatedErrors))
    assert _repeated_errors._MOST_KINDS >= len(repeated._kinds)
