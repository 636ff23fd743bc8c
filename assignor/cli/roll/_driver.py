"""The driver of a roll: it looks, asks ``decide`` what comes next, does it, and writes down what happened."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Protocol

from attrs import evolve, field, frozen

from streams_assignor.cli.roll._journal_file import JournalFile
from streams_assignor.cli.roll.commands import CommandResult, CommandTemplate, run_command
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.engine import (
    AskOperator,
    BeginStep,
    KeepWaiting,
    ReplanInstances,
    RollFinished,
    RunCommand,
    WriteRecord,
    began,
    decide,
    intended,
    watching,
)
from streams_assignor.upgrade.roll.expectation import Expectation
from streams_assignor.upgrade.roll.gates import RollObservation, RollRules, RollWatch
from streams_assignor.upgrade.roll.journal import (
    BY_OPERATOR,
    CommandEnded,
    InstancesPlanned,
    JournalLine,
    QuestionAnswered,
    RollRecord,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import BY_HAND, RollRound
from streams_assignor.upgrade.roll.state import RollState

_NAP_SECONDS: Final = 0.1
_AGAIN_SECONDS: Final = 5.0
_PROBE_SECONDS: Final = 10.0
"""A probe that takes longer says nothing."""
_MOST_TRIES: Final = 12
"""Of a command that comes too early: for a minute."""


class RollView(Protocol):
    """Shows a roll; lines, JSON lines or a live view."""

    def record(self, line: JournalLine, state: RollState) -> None:
        """Something was written into the journal."""
        ...

    def waiting(self, decision: KeepWaiting, state: RollState) -> None:
        """A look has shown that it is not there yet."""
        ...

    def note(self, text: str) -> None:
        """Something that is not in the journal."""
        ...


@frozen
class Decided:
    """The answer to a question, and who gave it."""

    option: SafeOption
    by: str


class Interrupts:
    """Ctrl-C, SIGTERM and a terminal that is closed: the first lets the current step end, a second one ends at once.

    SIGHUP is never a second one: a shell may send it beside the kernel.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._has_signal = False
        self._is_told = False
        self._ends_at_once = False

    def ask(self) -> None:
        """Let the current step end, and no other one begin."""
        self.is_asked = True

    def tell(self, note: Callable[[str], object]) -> None:
        """Say once that a step is finished first: a handler must not, which may have interrupted other output."""
        if self.is_asked and not self._is_told:
            self._is_told = True
            note("interrupted: the current step is finished first; once more ends at once, with an unknown outcome")

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        is_second = self._has_signal and number != signal.SIGHUP
        self.is_asked = self._has_signal = True
        if is_second or self._ends_at_once:
            raise KeyboardInterrupt

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals in a block; SIGHUP not if it was to be ignored, as by nohup."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._asked) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let a signal end a block with ``KeyboardInterrupt``: a question, during which nothing is under way.

        One that came just before, while the question was written, ends it too.
        """
        self._ends_at_once = True
        try:
            if self.is_asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._ends_at_once = False


class LastingView:
    """A view whose output may be closed: a roll does not end in the middle of a step because nobody looks any more.

    Args:
        view: The display of the roll.
        closed: Called once, when its output is closed.
    """

    def __init__(self, view: RollView, closed: Callable[[], object]) -> None:
        self._view = view
        self._closed = closed
        self._is_closed = False

    def record(self, line: JournalLine, state: RollState) -> None:
        """Show that something was written into the journal."""
        self._show(self._view.record, line, state)

    def waiting(self, decision: KeepWaiting, state: RollState) -> None:
        """Show that it is not there yet."""
        self._show(self._view.waiting, decision, state)

    def note(self, text: str) -> None:
        """Show a line."""
        self._show(self._view.note, text)

    def _show(self, show: Callable[..., object], *what: object) -> None:
        if self._is_closed:
            return
        try:
            show(*what)
        except OSError:
            self._is_closed = True
            self._closed()


@frozen(kw_only=True)
class RollSettings:
    """The parts that a driver needs beside the journal."""

    rules: RollRules[Any]
    look: Callable[[], RollObservation]
    expect: Callable[[BeginStep, RollState], Expectation]
    """Return what is expected of a step, for the last look."""
    compare: Callable[[RollState, Mapping[str, Any]], Mapping[str, Any]] = lambda _state, _observed: {}
    """Return what came of a step that has passed, beside its forecast; with what the rules have observed."""
    commands: Mapping[str, CommandTemplate] = field(hash=False)
    """By verb."""
    replan: Callable[[RollState], InstancesPlanned | None] = lambda _state: None
    """Return the plan of the instances of now; None: the group is not stable."""
    probe: CommandTemplate | None = None
    """Says by its status whether an instance is ready."""
    ask: Callable[[AskOperator, RollState], Decided | None]
    """Return the answer; None: nobody can answer now."""
    check_lock: Callable[[], None]
    view: RollView
    interrupts: Interrupts
    interval_s: float = 1.0
    command_timeout_s: float = 900.0
    sleep: Callable[[float], object] = time.sleep


def drive(journal: JournalFile, state: RollState, settings: RollSettings) -> RollState:
    """Go on until it is finished, somebody stops it or has to decide; return where it stands."""
    return _Drive(journal, state, settings).run()


class _Drive:
    def __init__(self, journal: JournalFile, state: RollState, settings: RollSettings) -> None:
        self._journal = journal
        self._state = state
        self._with = settings

    def run(self) -> RollState:
        watch, seen = RollWatch(), None
        is_by_hand = self._state.plan.verbs == (BY_HAND,)
        while True:
            if not is_by_hand:
                self._with.interrupts.tell(self._with.view.note)
            seen = self._look() if seen is None else seen
            watch = watching(self._state, watch, seen, self._with.rules)
            match decide(self._state, watch, seen, self._with.rules):
                case WriteRecord(record):
                    self._write(self._compared(record))  # it follows from this look, and takes no time
                    continue
                case ReplanInstances():
                    if self._with.interrupts.is_asked:
                        return self._state
                    if planned := self._with.replan(self._state):
                        self._write(planned)
                    else:
                        self._pause()
                case BeginStep() as step:
                    if self._with.interrupts.is_asked:
                        return self._state
                    self._write(began(step, seen, self._with.expect(step, self._state)))
                case RunCommand() as command:
                    self._run(command, seen)
                case AskOperator() as question:
                    if self._with.interrupts.is_asked or not self._answered(question):
                        return self._state
                case KeepWaiting() as waiting:
                    self._with.view.waiting(waiting, self._state)
                    # A step by hand may take any time, and nothing of it is under way here.
                    if self._with.interrupts.is_asked and (is_by_hand or self._state.step is None):
                        return self._state
                    self._pause()
                case RollFinished():
                    return self._state
            seen = None

    def _look(self) -> RollObservation:
        """Look, and ask the probe about the instances of a step whose commands have ended."""
        seen = self._with.look()
        if self._with.probe is None or self._state.step is None or not self._state.commands_ended:
            return seen
        return evolve(seen, ready={name: self._unready(name) for name in self._state.step.instances})  # type: ignore[misc]

    def _unready(self, instance: str) -> str:
        """Return why an instance is not ready; empty if it is."""
        assert self._with.probe
        assert self._state.round
        values = self._values(instance, self._state.round)
        result = run_command(self._with.probe, values, _PROBE_SECONDS, self._wait_for_command, leaves_others=False)
        said = " ".join(result.output.split()) or "without output"
        return f"status {result.status}: {said}" if result.status else ""

    def _compared(self, record: RollRecord) -> RollRecord:
        """Return a record; that of a step that has passed with what is computed again."""
        if not isinstance(record, StepPassed):
            return record
        return evolve(record, observed={**record.observed, **self._with.compare(self._state, record.observed)})

    def _write(self, record: RollRecord) -> None:
        line = self._journal.append(record)
        self._state = self._state.after(record)
        self._with.view.record(line, self._state)

    def _answered(self, question: AskOperator) -> bool:
        decided = self._with.ask(question, self._state)
        if decided is None:
            return False
        answer = QuestionAnswered(
            about=question.about,
            option=decided.option,
            step=question.step,
            kind=question.kind,
            instances=question.instances,
            by=decided.by,
        )
        self._write(answer)
        return True

    def _run(self, command: RunCommand, seen: RollObservation) -> None:
        """Run a command whose intent is on disk."""
        self._with.check_lock()
        where: dict[str, Any] = {"step": command.step, "instance": command.instance, "verb": command.verb}
        self._write(intended(command, seen))
        if command.verb == BY_HAND:
            self._write(CommandEnded(**where, how=BY_OPERATOR))
            return
        result = self._result(command)
        self._write(CommandEnded(**where, status=result.status, output=result.output, seconds=result.seconds))

    def _result(self, command: RunCommand) -> CommandResult:
        values = self._values(command.instance, command.round)
        template, tries = self._with.commands[command.verb], 0
        while True:
            result = run_command(template, values, self._with.command_timeout_s, self._wait_for_command)
            tries += 1
            is_early = bool(result.status and template.again_if) and template.again_if in result.output
            if not is_early or tries == _MOST_TRIES or self._with.interrupts.is_asked:
                return result
            if tries == 1:
                self._with.view.note(f"step {command.step}: not accepted yet, tried again: {result.output}")
            self._with.sleep(_AGAIN_SECONDS)

    def _values(self, instance: str, roll_round: RollRound) -> Mapping[str, str]:
        """Return what takes the place of the placeholders of a command."""
        return {
            "group": self._state.plan.name,
            "instance": instance,
            "release": roll_round.config.release.partition("~")[0],
            "upgrade_from": roll_round.config.upgrade_from or "",
            "round": str(self._state.at + 1),
            "empty_state": "true" if self._state.needs_empty_state else "",
        }

    def _wait_for_command(self, seconds: float) -> None:
        self._with.interrupts.tell(self._with.view.note)
        self._with.sleep(seconds)

    def _pause(self) -> None:
        """Wait until the next look, or until somebody interrupts."""
        left, was_asked = self._with.interval_s, self._with.interrupts.is_asked
        while left > 0 and self._with.interrupts.is_asked == was_asked:
            self._with.sleep(min(left, _NAP_SECONDS))
            left -= _NAP_SECONDS
