"""The page about operating: its programs run, and its tables match the code."""

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_assignor.observability.event_fields import log_fields
from tests.assignor.observability.test_event_log import EVENTS

PAGE = (Path(__file__).parents[3] / "docs/how-to/operating.md").read_text()
PROGRAM = re.compile(r"^```python\n(.+?)^```\n(?:```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)


@pytest.fixture(name="logger_as_before")
def fixture_logger_as_before() -> Iterator[None]:
    """Restores the logger ``streams_assignor``."""
    logger = logging.getLogger("streams_assignor")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    logger.level, logger.propagate, logger.handlers = before


def run(page: str) -> Iterator[tuple[str, str]]:
    """Run all programs of a page in order; yield the expected and the printed output of each."""
    known: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:  # one for all: a handler keeps the one it has seen
        for program, shown in PROGRAM.findall(page):
            before = len(printed.getvalue())
            exec(program, known)
            yield shown, printed.getvalue()[before:]


@pytest.mark.usefixtures("logger_as_before")
def test_its_programs_print_what_it_shows() -> None:
    pytest.importorskip("prometheus_client")
    pytest.importorskip("opentelemetry.sdk")
    done = list(run(PAGE))

    assert 3 == sum(bool(shown) for shown, _ in done)
    for shown, printed in done:
        assert shown == printed


def test_it_lists_the_fields_of_all_events() -> None:
    rows = rows_of(PAGE)

    for event, _ in EVENTS:
        name, *fields = log_fields(event)["event"], *(set(log_fields(event)) - {"event"})
        (row,) = [row for row in rows if row[0] == name]
        assert [] == [field for field in fields if field not in row[1]]


def rows_of(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
