"""What is shown of runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import asdict
from rich.table import Table

from tests.lab.chaos.outcome import ChaosSettings, Outcome


def table(outcomes: Iterable[Outcome]) -> Table:
    """One line for each run."""
    columns = ("seed", "worker", "brokers", "steps", "seconds", "produced", "processed", "LOST", "duplicates")
    shown = Table(
        *columns, "fenced commits", "generations", "partition-seconds without owner", "owned twice", "outcome"
    )
    for outcome in outcomes:
        balance, settings = outcome.balance, outcome.settings
        shown.add_row(
            str(settings.seed),
            _workers(settings),
            settings.broker,
            _steps(outcome),
            f"{outcome.seconds:.0f}",
            *(str(number) for number in (balance.produced, balance.processed, balance.lost, balance.duplicates)),
            str(sum(balance.fenced.values())),
            str(sum(result.generations for result in outcome.results)),
            f"{sum(balance.without_owner.values()):.1f}",
            f"{sum(balance.owned_twice.values()):.1f}",
            "; ".join(outcome.problems)[:40] or "well",
        )
    return shown


def _workers(settings: ChaosSettings) -> str:
    java = len(settings.java_members)
    ours = [settings.worker] if java < len(settings.members) or settings.exactly_once else []
    return " + ".join([*ours, *([f"{java} Java {settings.java}"] if java else [])])


def _steps(outcome: Outcome) -> str:
    """How many steps were done of how many; of a roll, restarts, and how often the command ran."""
    if rolled := outcome.rolled:
        return f"{rolled.restarts}/{rolled.planned} by {len(rolled.statuses)} runs"
    return f"{len(outcome.results)}/{len(outcome.settings.steps)}"


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {**asdict(outcome), "problems": outcome.problems}
