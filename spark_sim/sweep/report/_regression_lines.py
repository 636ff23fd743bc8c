"""Shows the searches for Kafka's known bugs in a terminal: a line for each search, and the judgement."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from streams_assignor.spark_sim.regressions.regression_search import RegressionResult
from streams_assignor.spark_sim.rolls import ROLL
from streams_assignor.spark_sim.sweep.report.console import print_dim
from streams_assignor.spark_sim.sweep.report.judgement import Judgement, replay_line


def judge(results: Sequence[RegressionResult]) -> Judgement:
    """Judge the searches: each bug is found exactly where Kafka has it."""
    unexpected = [result.title for result in results if not result.as_expected]
    is_roll = bool(results) and all(result.cell.bug.startswith(ROLL) for result in results)
    good = "no roll does what it must not" if is_roll else "every bug found where it was, and nowhere else"
    verdict = f"not as expected: {', '.join(unexpected)}" if unexpected else good
    return Judgement(not unexpected, f"{len(results)} searches; {verdict}")


def print_results(console: Console, results: Sequence[RegressionResult], _max_examples: int) -> None:
    """Print what each search found, with its example."""
    for result in results:
        style = "green" if result.as_expected else "bold red"
        message = result.message or "nothing, in every schedule"
        console.print(Text.assemble((f"{result.title}: ", "bold"), (message, style)), soft_wrap=True)
        if result.example:
            is_roll = result.cell.bug.startswith(ROLL)
            print_dim(console, [result.example if is_roll else replay_line(result.example)])
