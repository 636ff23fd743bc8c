"""What is shown of runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import asdict
from rich.table import Table

from tests.lab.chaos.outcome import Outcome


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
            settings.worker + (f" + Java {settings.java}" if settings.java else ""),
            settings.broker,
            f"{len(outcome.results)}/{len(settings.steps)}",
            f"{outcome.seconds:.0f}",
            *(str(number) for number in (balance.produced, balance.processed, balance.lost, balance.duplicates)),
            str(sum(balance.fenced.values())),
            str(sum(result.generations for result in outcome.results)),
            f"{sum(balance.without_owner.values()):.1f}",
            f"{sum(balance.owned_twice.values()):.1f}",
            "; ".join(outcome.problems)[:40] or "well",
        )
    return shown


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {**asdict(outcome), "problems": outcome.problems}
