"""Who interrupts a roll, and when nobody looks any more: no step is left in the middle."""

import json
import signal
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from streams_assignor.cli.roll import command
from streams_assignor.cli.roll._answers import RollAnswers
from streams_assignor.cli.roll._driver import Interrupts, LastingView
from streams_assignor.cli.roll.output import RollLines
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.engine import AskOperator
from streams_assignor.upgrade.roll.journal import CommandIntended
from streams_assignor.upgrade.roll.state import ABOUT_DEVIATION
from tests.assignor.cli.roll.simulated import SimulatedCluster

OPTIONS = SimpleNamespace(answer=None, as_json=False, yes=False, back=False, accept_no_way_back=False)
LATE = AskOperator(ABOUT_DEVIATION, "it is late", (SafeOption.WAIT, SafeOption.STOP))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_lets_the_step_end_and_says_so_once(number):
    interrupts, said = Interrupts(), []
    with interrupts.caught():
        signal.raise_signal(number)
        assert interrupts.is_asked
        interrupts.tell(said.append)
        interrupts.tell(said.append)
    assert ["interrupted: the current step is finished first"] == [line.partition(";")[0] for line in said]


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once(second):
    with Interrupts().caught():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(second)


def test_a_terminal_that_is_closed_is_no_second_signal():
    """The kernel and the shell send SIGHUP one after the other."""
    with Interrupts().caught():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)


def test_a_hang_up_that_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        interrupts = Interrupts()
        with interrupts.caught():
            signal.raise_signal(signal.SIGHUP)
        assert not interrupts.is_asked
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_any_signal_ends_a_question(number):
    interrupts = Interrupts()
    with interrupts.caught(), pytest.raises(KeyboardInterrupt), interrupts.at_once():
        signal.raise_signal(number)
    assert interrupts.is_asked


def test_a_signal_that_comes_before_a_question_waits_ends_it(monkeypatch):
    """Between its text and its prompt: it waited for an answer, and for a second signal."""
    monkeypatch.setattr(click, "prompt", lambda *_given, **_more: "wait")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    interrupts = Interrupts()
    view = RollLines(lambda text: signal.raise_signal(signal.SIGTERM) if text.startswith("options") else None)

    with interrupts.caught():
        assert RollAnswers(OPTIONS, view, interrupts).ask(LATE, SimpleNamespace(deviation=None)) is None


def test_output_that_is_closed_after_an_interrupt_is_no_second_one():
    interrupts = Interrupts()
    with interrupts.caught():
        interrupts.ask()
        signal.raise_signal(signal.SIGINT)


def test_a_view_whose_output_is_closed_shows_nothing_more_and_raises_nothing():
    tried, closed = [], []

    def write(text):
        tried.append(text)
        raise BrokenPipeError

    view = LastingView(RollLines(write), lambda: closed.append(True))
    view.note("a")
    view.note("b")

    assert (["a"], [True]) == (tried, closed)


@pytest.mark.parametrize("error", [click.Abort(), OSError(5, "Input/output error")])
def test_a_question_that_nobody_can_answer_any_more_has_no_answer(monkeypatch, error):
    def prompt(*_given, **_more):
        raise error

    monkeypatch.setattr(click, "prompt", prompt)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    answers = RollAnswers(OPTIONS, RollLines(lambda _text: None), Interrupts())

    assert answers.ask(LATE, SimpleNamespace(deviation=None)) is None


def test_a_roll_whose_reader_has_gone_finishes_its_step_and_ends_as_if_interrupted(tmp_path, monkeypatch):
    """`roll ... | tee log` ended in the middle of a step at Ctrl-C, because that ended tee, too."""
    cluster = SimulatedCluster(tmp_path)
    monkeypatch.setattr(group_lookup, "GroupLookup", cluster.lookup)
    monkeypatch.setattr(command, "discard_output", lambda: None)
    show = RollLines.record

    def record(view, line, state):
        if isinstance(line.record, CommandIntended):
            raise BrokenPipeError
        show(view, line, state)

    monkeypatch.setattr(RollLines, "record", record)
    done = cluster.roll("--yes")

    assert (130, ["A>4.3.1"]) == (done.exit_code, cluster.lines)
    kinds = [json.loads(line)["record"] for line in cluster.journal.read_text().splitlines()]
    assert ["plan", "answer", "step", "intent", "command", "passed"] == kinds


def test_a_roll_by_hand_does_not_wait_for_somebody_who_has_gone(tmp_path, monkeypatch):
    """It kept its lock for ever, without a terminal: a step by hand may take any time."""
    cluster = SimulatedCluster(tmp_path)
    monkeypatch.setattr(group_lookup, "GroupLookup", cluster.lookup)
    show = RollLines.waiting

    def waiting(view, decision, state):
        show(view, decision, state)
        signal.raise_signal(signal.SIGHUP)

    monkeypatch.setattr(RollLines, "waiting", waiting)
    words = cluster.words()
    at = words.index("--restart")
    words[at : at + 2] = ["--by-hand"]
    done = CliRunner().invoke(command.roll, [*words, "--yes", "--no-forecast"])

    assert 130 == done.exit_code, done.output
    assert "interrupted in step 1; the same command continues" == done.stdout.splitlines()[-1]
    assert "the current step is finished first" not in done.stdout
