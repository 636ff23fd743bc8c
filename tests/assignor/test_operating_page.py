"""The page about operating: its programs run, its tables are those of the code."""

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assignor.event_log import fields_of
from assignor.metrics import METRICS
from assignor.observing import Cause
from probing.follow_up import Reason
from tests.assignor.test_event_log import EVENTS

PAGE = (Path(__file__).parents[2] / "docs/guide/operating.md").read_text()
PROGRAM = re.compile(r"^```python\n(.+?)^```\n(?:```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)


@pytest.fixture(name="logger_as_before")
def fixture_logger_as_before() -> Iterator[None]:
    """Whatever an example does to the logger ``assignor`` is undone."""
    logger = logging.getLogger("assignor")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    logger.level, logger.propagate, logger.handlers = before


def run(page: str) -> Iterator[tuple[str, str]]:
    """Run all programs of a page in turn; what each one that shows something has printed and should have."""
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


def test_it_lists_all_metrics() -> None:
    rows = [
        [metric.name, metric.kind.value, metric.unit, ", ".join(metric.attributes), metric.meaning, metric.kafka]
        for metric in METRICS
    ]

    assert rows == [row for row in rows_of(PAGE) if row[0].startswith("kafka.streams.")]


def test_it_lists_all_reasons_and_the_fields_of_all_events() -> None:
    rows = rows_of(PAGE)

    assert [] == [each for each in (*Cause, *Reason) if [each.name.lower(), each.value] not in rows]
    for event, _ in EVENTS:
        name, *fields = fields_of(event)["event"], *(set(fields_of(event)) - {"event"})
        (row,) = [row for row in rows if row[0] == name]
        assert [] == [field for field in fields if field not in row[1]]


def rows_of(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
