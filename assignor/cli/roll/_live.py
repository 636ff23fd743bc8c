"""A roll on a terminal: the lines of the journal, and below them where it stands, redrawn with each look."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rich.console import Console, RenderableType
from rich.console import Group as Stack
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streams_assignor.cli.roll.output import RollLines, expectation_text, steps_left
from streams_assignor.formats.text import count, format_seconds, printable
from streams_assignor.upgrade.roll.engine import KeepWaiting
from streams_assignor.upgrade.roll.gates import GateResult, GateStatus
from streams_assignor.upgrade.roll.journal import CommandIntended, JournalLine, StepBegan, StepPassed
from streams_assignor.upgrade.roll.plan import ALL_INSTANCES
from streams_assignor.upgrade.roll.state import RollState

_MARKS: Final[Mapping[GateStatus, tuple[str, str]]] = {
    GateStatus.PASSED: ("+", "green"),
    GateStatus.WAITING: ("·", "yellow"),
    GateStatus.FAILED: ("!", "red"),
}
_MOST_INSTANCES: Final = 20
"""In the table; those of the step come first."""


class RollLive:
    """A roll on a terminal. Whatever is asked is below its lines: nothing is redrawn until it goes on."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._lines = RollLines(lambda text: console.print(text, soft_wrap=True, markup=False, highlight=False))
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._clock = clock
        self._doing = ""
        self._step_began = clock()
        self._step_seconds: list[float] = []

    def record(self, line: JournalLine, state: RollState) -> None:
        """Print a record, and draw where the roll stands."""
        self._lines.record(line, state)
        match line.record:
            case StepBegan():
                self._doing, self._step_began = "", self._clock()
            case CommandIntended(instance=instance, verb=verb):
                self._doing = f"{verb} {instance}"
            case StepPassed():
                self._step_seconds.append(self._clock() - self._step_began)
                self._doing = ""
            case _:
                self._doing = ""
        if state.outcome:
            self._live.stop()
        else:
            self._draw(state, ())

    def waiting(self, decision: KeepWaiting, state: RollState) -> None:
        """Draw what the gates say."""
        self._draw(state, decision.results, decision.left_s)

    def note(self, text: str) -> None:
        """Print a line; what may be asked after it stays on the screen."""
        self._live.stop()
        self._lines.note(text)

    def _draw(self, state: RollState, results: tuple[GateResult, ...], left_s: float = 0.0) -> None:
        if not self._live.is_started:
            self._live.start()
        self._live.update(Stack(*self._picture(state, results, left_s)), refresh=True)

    def _picture(self, state: RollState, results: tuple[GateResult, ...], left_s: float) -> Iterator[RenderableType]:
        plan = state.plan
        number = f"round {state.at + 1} of {len(state.rounds)}: {state.round.text}" if state.round else ""
        yield Text(printable(f"{plan.name}: {plan.origin} to {plan.target}  {number}"), style="bold")
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 1))
        for row in list(_instance_rows(state, self._doing))[:_MOST_INSTANCES]:
            table.add_row(*row)
        yield table
        if (left_out := len(plan.instances) - _MOST_INSTANCES) > 0:
            yield Text(f" and {count(left_out, 'instance')} more", style="dim")
        for result in results:
            mark, style = _MARKS[result.status]
            yield Text(printable(f" {mark} {result.gate}: {result.text}"), style=style)
        if state.step and state.step.expectation.outcomes:
            yield Text(printable(f" {expectation_text(state.step.expectation)}"))
        yield Text(f" {self._times(state, left_s)}", style="dim")

    def _times(self, state: RollState, left_s: float) -> str:
        parts = []
        if state.step:
            parts.append(f"step {state.step.number}: {format_seconds(self._clock() - self._step_began)}")
        if left_s:
            parts.append(f"a deviation in {format_seconds(left_s)}")
        steps = steps_left(state)
        if self._step_seconds:
            mean = sum(self._step_seconds) / len(self._step_seconds)
            parts.append(f"about {format_seconds(steps * mean)} for {count(steps, 'step')}")
        else:
            parts.append(f"{count(steps, 'step')} left")
        return "; ".join(parts)


def _instance_rows(state: RollState, doing: str) -> Iterator[tuple[Text, Text, Text]]:
    """Yield name, configuration and place of each instance: those of the step first, then what is left."""
    touched = state.step.instances if state.step else ()
    names = [*touched, *(name for name in state.remaining if name not in touched)]
    names += [name for name in state.plan.names if name not in names]
    for name in names:
        runs = "" if name == ALL_INSTANCES else "stopped" if name in state.stopped else str(state.configs[name])
        place, style = ("done", "green") if name in state.done else ("", "")
        if name in touched:
            place, style = doing or "in this step", "yellow"
        yield Text(printable(name)), Text(printable(runs), style="dim"), Text(printable(place), style=style)
