"""How each kind of sweep is shown in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from rich.console import Console, RenderableType

from streams_assignor.spark_sim.sweep.report import _broker_tables, _regression_lines, _terminal
from streams_assignor.spark_sim.sweep.report.console import print_judgement
from streams_assignor.spark_sim.sweep.report.judgement import Judgement
from streams_assignor.spark_sim.sweep.sweep import Progress
from streams_assignor.spark_sim.sweep.tables.rows import BROKER_SUITE, REGRESSION_SUITE, UPGRADE_SUITE

MAX_EXAMPLES: Final = 3


def _draw_nothing(_progress: Progress, *, ascii_only: bool) -> RenderableType | None:
    del ascii_only
    return None


@frozen
class Renderer:
    """How one kind of sweep is shown in a terminal."""

    judge: Callable[[Sequence[Any]], Judgement]
    print_results: Callable[[Console, Sequence[Any], int], None]
    draw_progress: Callable[..., RenderableType | None] = _draw_nothing
    """Draws the results so far above the progress bar."""

    def show(self, console: Console, results: Sequence[Any]) -> Judgement:
        """Print the results and the judgement."""
        self.print_results(console, results, MAX_EXAMPLES)
        judgement = self.judge(results)
        print_judgement(console, judgement)
        return judgement


RENDERERS: Final[Mapping[str, Renderer]] = {
    UPGRADE_SUITE: Renderer(_terminal.judge, _terminal.print_results, _terminal.draw_progress),
    BROKER_SUITE: Renderer(_broker_tables.judge, _broker_tables.print_results),
    REGRESSION_SUITE: Renderer(_regression_lines.judge, _regression_lines.print_results),
}
"""The renderers by the kind of the suite."""
