"""One page for the change ticket: what was planned, done, predicted and seen, from the journal alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from streams_assignor.cli._exit_status import CommandFailed
from streams_assignor.cli.roll.output import (
    computed_again_lines,
    expectation_text,
    forecast_text,
    moved_texts,
    observed_text,
    pace_text,
    round_text,
    unowned_text,
    verified_text,
    versions_text,
)
from streams_assignor.formats.text import as_markdown, join_names
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.journal import (
    BackPlanned,
    CommandEnded,
    DeviationFound,
    JournalLine,
    PlanRecorded,
    QuestionAnswered,
    RollResumed,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import BROKERS, GROUP, RollPlan, RollRound
from streams_assignor.upgrade.roll.state import replay

_LIMITS: Final = {
    GROUP: "Metadata of members shows versions, not releases: a round is verified as far as versions show it, and by "
    "what was restarted with which configuration.",
    BROKERS: "Brokers show the levels that they support, not patch releases: a round is verified as far as levels show "
    "it, and by what was restarted.",
}
"""The facts that a report cannot know."""
_OWN: Final = re.compile(rb"# [^\n]*\n\n\| what \| value \|\n")
"""How each report begins."""
_READ_OF_REPORT: Final = 1 << 12


@contextmanager
def report_file(path: Path | None) -> Iterator[Callable[[Sequence[JournalLine]], None]]:
    """Open the file of a report before anything is done, and yield what writes it.

    Raises:
        CommandFailed: It cannot be written, or is something else than an earlier report.
    """
    if path is None:
        yield lambda _lines: None
        return
    is_new, descriptor = not path.exists(), _opened(path)
    try:
        yield partial(_write, path, descriptor)
    finally:
        os.close(descriptor)
        if is_new and path.is_file() and not path.stat().st_size:
            path.unlink()


def _opened(path: Path) -> int:
    try:
        # A pipe that nobody reads is refused now: at the end it would be full, and nothing would end.
        how = os.O_WRONLY | os.O_NONBLOCK if path.is_fifo() else os.O_RDWR | os.O_CREAT
        descriptor = os.open(path, how | os.O_CLOEXEC, 0o666)
        os.set_blocking(descriptor, True)
        first = os.read(descriptor, _READ_OF_REPORT) if path.is_file() else b""
    except OSError as error:
        raise CommandFailed(f"the report cannot be written: {error}") from error
    if first and not _OWN.match(first):
        os.close(descriptor)
        raise CommandFailed(f"expected no file or an earlier report for --report, got {path} with something else")
    return descriptor


def _write(path: Path, descriptor: int, lines: Sequence[JournalLine]) -> None:
    text = "".join(f"{line}\n" for line in report_lines(lines)).encode()
    try:
        if path.is_file():
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
        while text:
            text = text[os.write(descriptor, text) :]
    except OSError as error:
        raise CommandFailed(f"the report cannot be written to {path}: {error}; the journal has all of it") from error


def report_lines(lines: Sequence[JournalLine]) -> Iterator[str]:
    """Write the report of a journal as Markdown."""
    state = replay(line.record for line in lines)
    plan = state.plan
    outcome = state.outcome or ("stopped by an operator" if state.is_paused else "not finished")
    yield f"# {_cell(plan.name)}: {plan.origin} to {plan.target}: {outcome}"
    yield ""
    yield from _table(("what", "value"), _facts(plan, lines, outcome))
    yield ""
    yield "## Rounds"
    yield ""
    yield from _table(("round", "what", "way back", "verified"), _rounds(lines))
    yield ""
    yield "## Steps"
    yield ""
    yield from _table(("step", "began", "instances", "commands", "expected", "observed"), _steps(lines))
    yield ""
    yield "## Deviations and decisions"
    yield ""
    decisions = list(_decisions(lines))
    if decisions:
        yield from _table(("when", "step", "what", "decision or likely meaning"), decisions)
    else:
        yield "None."
    yield ""
    yield _LIMITS[plan.kind]


def _facts(plan: RollPlan, lines: Sequence[JournalLine], outcome: str) -> Iterator[tuple[str, str]]:
    yield plan.kind, plan.name
    yield "outcome", outcome
    yield "from, to", f"{plan.origin}, {plan.target}"
    yield "began, last record", f"{lines[0].at}, {lines[-1].at}"
    yield "instances", join_names(plan.names, limit=20)
    canary = f", {plan.canary} first and alone" if plan.canary else ""
    yield "restarted by", f"{' and '.join(plan.verbs)}, {pace_text(plan)}{canary}"
    limits = plan.limits
    yield (
        "limits",
        f"{limits.timeout_s:g} s a step, {limits.max_unowned_s:g} s without owner, a lag of {limits.max_lag:,}",
    )
    continued = [line.at for line in lines if isinstance(line.record, RollResumed)]
    yield "continued", ", ".join(continued) or "never"


def _rounds(lines: Iterable[JournalLine]) -> Iterator[tuple[str, ...]]:
    """Yield the rounds, those of the way back below those that were planned first."""
    rounds: tuple[RollRound, ...] = ()
    verified: dict[int, str] = {}
    prefix = ""
    for line in lines:
        record = line.record
        if isinstance(record, PlanRecorded):
            rounds = record.plan.rounds
        elif isinstance(record, RoundVerified):
            verified[record.round] = f"{line.at}: {verified_text(record.gates)}"
        elif isinstance(record, BackPlanned):
            yield from _round_rows(rounds, verified, prefix)
            rounds, verified, prefix = record.rounds, {}, "back "
    yield from _round_rows(rounds, verified, prefix)


def _round_rows(rounds: Iterable[RollRound], verified: dict[int, str], prefix: str) -> Iterator[tuple[str, ...]]:
    for number, roll_round in enumerate(rounds, 1):
        back = f"{roll_round.way_back}: {roll_round.back}" if roll_round.back else roll_round.needs or "-"
        yield f"{prefix}{number}", round_text(roll_round), back, verified.get(number, "no")


def _steps(lines: Iterable[JournalLine]) -> Iterator[tuple[str, ...]]:
    began: tuple[str, StepBegan] | None = None
    ended: list[CommandEnded] = []
    for line in lines:
        record = line.record
        if isinstance(record, StepBegan):
            if began:
                yield _step_row(*began, ended, "did not pass")
            began, ended = (line.at, record), []
        elif isinstance(record, CommandEnded):
            ended.append(record)
        elif isinstance(record, StepPassed) and began:
            yield _step_row(*began, ended, f"passed: {_observed(record)}")
            began = None
    if began:
        yield _step_row(*began, ended, "not passed yet")


def _step_row(at: str, record: StepBegan, ended: Iterable[CommandEnded], seen: str) -> tuple[str, ...]:
    commands = [f"{end.verb} {end.instance}: {end.how if end.status is None else end.status}" for end in ended]
    expected = expectation_text(record.expectation)
    return str(record.step), at, join_names(record.instances), "; ".join(commands), expected, seen


def _observed(record: StepPassed) -> str:
    seen = record.observed
    if "controller" in seen:
        return f"{observed_text(seen)}, {seen['seconds']:g} s"
    came = ", ".join(filter(None, [versions_text(seen), *moved_texts(seen), forecast_text(seen)]))
    times = f"{unowned_text(seen)} without owner, {seen.get('seconds', 0)} s"
    return "; ".join(
        filter(
            None,
            [
                f"{came}, {times}",
                record.gates.get("commits"),
                *computed_again_lines(seen),
            ],
        )
    )


def _decisions(lines: Iterable[JournalLine]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        record = line.record
        if isinstance(record, DeviationFound):
            what = f"{record.kind.value}: expected {record.expected}, observed {record.observed}"
            yield line.at, str(record.step), what, record.likely
        elif isinstance(record, QuestionAnswered) and (record.step or record.option is not SafeOption.CONTINUE):
            yield (
                line.at,
                str(record.step or ""),
                f"answer about {record.about}",
                f"{record.option.value} ({record.by})",
            )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    """Return a text that is one cell of a table, and neither markup nor what a terminal obeys."""
    return as_markdown(" ".join(text.split()))
