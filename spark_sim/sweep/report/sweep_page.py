"""The page of a finished sweep: each kind of sweep has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streams_assignor.spark_sim.sweep.report._broker_tables import judge as judge_brokers
from streams_assignor.spark_sim.sweep.report._regression_lines import judge as judge_searches
from streams_assignor.spark_sim.sweep.report.cells_page import broker_page, history_page
from streams_assignor.spark_sim.sweep.report.html import render_html
from streams_assignor.spark_sim.sweep.suites import FinishedSweep
from streams_assignor.spark_sim.sweep.tables.rows import BROKER_SUITE, REGRESSION_SUITE, UPGRADE_SUITE

_PAGES: Final[Mapping[str, Callable[[FinishedSweep], str]]] = {
    UPGRADE_SUITE: lambda sweep: render_html(sweep.results, sweep.traces),
    BROKER_SUITE: lambda sweep: broker_page(sweep.results, judge_brokers(sweep.results)),
    REGRESSION_SUITE: lambda sweep: history_page(sweep.results, judge_searches(sweep.results)),
}


def page_of(sweep: FinishedSweep) -> str:
    """Return the page for the browser."""
    return _PAGES[sweep.kind](sweep)
