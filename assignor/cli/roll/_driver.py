"""The driver of a roll: it looks, asks ``decide`` what comes next, does it, and writes down what happened."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Protocol

from attrs import evolve, field, frozen

from assignor.cli.roll._commands import CommandResult, CommandTemplate, run_command
from assignor.cli.roll._journal_file import JournalFile
from upgrade.roll.deviations import SafeOption
from upgrade.roll.engine import (
    AskOperator,
    BeginStep,
    KeepWaiting,
    RollFinished,
    RunCommand,
    WriteRecord,
    began,
    decide,
    intended,
    watching,
)
from upgrade.roll.expectation import Expectation
from upgrade.roll.gates import RollObservation, RollRules, RollWatch
from upgrade.roll.journal import (
    BY_OPERATOR,
    CommandEnded,
    JournalLine,
    QuestionAnswered,
    RollRecord,
    StepPassed,
)
from upgrade.roll.plan import BY_HAND
from upgrade.roll.state import RollState

_NAP_SECONDS: Final = 0.1


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
    """Ctrl-C and SIGTERM: the first lets the current step end, the second ends at once."""

    def __init__(self, note: Callable[[str], object]) -> None:
        self.is_asked = False
        self._note = note

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_asked:
            raise KeyboardInterrupt
        self.is_asked = True
        self._note("interrupted: the current step is finished first; once more ends at once, with an unknown outcome")

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals in a block."""
        before = {number: signal.signal(number, self._asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let Ctrl-C end a block at once: a question, during which nothing is under way."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@frozen(kw_only=True)
class RollSettings:
    """What a driver needs beside the journal."""

    rules: RollRules[Any]
    look: Callable[[], RollObservation]
    expect: Callable[[BeginStep], Expectation]
    """Return what is expected of a step, for the last look."""
    compare: Callable[[RollState], Mapping[str, Any]] = lambda _state: {}
    """Return what came of a step that has passed, beside its forecast."""
    commands: Mapping[str, CommandTemplate] = field(hash=False)
    """By verb."""
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
        while True:
            seen = self._with.look() if seen is None else seen
            watch = watching(self._state, watch, seen, self._with.rules)
            match decide(self._state, watch, seen, self._with.rules):
                case WriteRecord(record):
                    self._write(self._compared(record))  # it follows from this look, and takes no time
                    continue
                case BeginStep() as step:
                    if self._with.interrupts.is_asked:
                        return self._state
                    self._write(began(step, seen, self._with.expect(step)))
                case RunCommand() as command:
                    self._run(command, seen)
                case AskOperator() as question:
                    if self._with.interrupts.is_asked or not self._answered(question):
                        return self._state
                case KeepWaiting() as waiting:
                    self._with.view.waiting(waiting, self._state)
                    if self._with.interrupts.is_asked and self._state.step is None:
                        return self._state
                    self._pause()
                case RollFinished():
                    return self._state
            seen = None

    def _compared(self, record: RollRecord) -> RollRecord:
        """Return a record; that of a step that has passed with what is computed again."""
        if not isinstance(record, StepPassed):
            return record
        return evolve(record, observed={**record.observed, **self._with.compare(self._state)})

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
        config = command.round.config
        values = {
            "group": self._state.plan.name,
            "instance": command.instance,
            "release": config.release.partition("~")[0],
            "upgrade_from": config.upgrade_from or "",
            "round": str(self._state.at + 1),
        }
        return run_command(self._with.commands[command.verb], values, self._with.command_timeout_s)

    def _pause(self) -> None:
        """Wait until the next look, or until somebody interrupts."""
        left, was_asked = self._with.interval_s, self._with.interrupts.is_asked
        while left > 0 and self._with.interrupts.is_asked == was_asked:
            self._with.sleep(min(left, _NAP_SECONDS))
            left -= _NAP_SECONDS
