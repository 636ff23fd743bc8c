"""A roll on a terminal: lines, and below them instances, gates, forecast and time."""

import re
from io import StringIO

import pytest
from attrs import evolve
from rich.console import Console

from streams_assignor.cli.roll._live import RollLive, steps_left
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.gates import GatePhase, GateResult, GateStatus
from streams_assignor.upgrade.roll.journal import (
    CommandEnded,
    CommandIntended,
    JournalLine,
    QuestionAnswered,
    RollEnded,
    StepBegan,
    StepPassed,
)
from tests.upgrade.roll.fake_group import Operator, plan


class Screen:
    """A terminal with a roll, and a clock that is set."""

    def __init__(self, operator, width=100):
        self.file = StringIO()
        self.seconds = 0.0
        console = Console(file=self.file, force_terminal=True, width=width, color_system=None)
        self.view = RollLive(console, lambda: self.seconds)
        self.operator = operator
        self._shown = 0

    def step(self, until):
        """Go on until a record of this kind is written, and show all of them."""
        for _ in range(200):
            self.operator.act(self.operator.decide())
            new = self.operator.records[self._shown :]
            self._shown += len(new)
            for record in new:
                if isinstance(record, CommandEnded):
                    record = evolve(record, seconds=1.0)
                self.view.record(JournalLine("now", record), self.operator.state)
            if any(isinstance(record, until) for record in new):
                return
        raise AssertionError(self.operator.records[-3:])

    def wait(self, *results, left_s=0.0):
        self.view.waiting(engine.KeepWaiting(GatePhase.AFTER, results, left_s), self.operator.state)

    @property
    def last(self):
        """The last picture, with one blank between columns."""
        return re.sub(" +", " ", self.file.getvalue().rpartition("\x1b[2K")[2])


@pytest.fixture(name="screen")
def fixture_screen():
    operator = Operator()
    operator.expectation = Expectation(outcomes=(ExpectedOutcome(versions=(4,), rebalances=2),))
    screen = Screen(operator)
    yield screen
    screen.view.note("end")


def test_it_shows_what_each_instance_runs_and_what_is_done_to_one(screen):
    screen.step(until=StepBegan)
    picture = screen.last

    assert "app: 2.3.1 to 3.9.2 round 1 of 2: bounce every member to 3.9.2" in picture
    assert " a 2.3.1 in this step" in picture
    assert " b 2.3.1" in picture
    assert "forecast: 2 rebalances, no move, version 4" in picture
    assert "6 steps left" in picture


def test_it_shows_gates_and_the_time_until_a_deviation(screen):
    screen.step(until=StepBegan)
    screen.operator.write(CommandIntended(step=1, instance="a", verb="restart"))
    screen.view.record(JournalLine("now", screen.operator.records[-1]), screen.operator.state)
    assert " a 3.9.2 with upgrade.from=2.3 restart a" in screen.last

    screen.seconds = 30.0
    screen.wait(
        GateResult(gate="visible", status=GateStatus.PASSED, text="Stable"),
        GateResult(gate="returned", status=GateStatus.WAITING, text="a has 0 of 1 member"),
        left_s=300.0,
    )
    picture = screen.last

    assert "+ visible: Stable" in picture
    assert "· returned: a has 0 of 1 member" in picture
    assert "step 1: 30 s; a deviation in 5 min; 6 steps left" in picture


def test_the_time_of_a_step_begins_with_it(screen):
    screen.step(until=StepPassed)
    screen.seconds = 70.0
    screen.step(until=StepBegan)

    assert "step 2: 0 s; " in screen.last


@pytest.mark.parametrize("width", [80, 40, 20])
def test_each_line_of_a_picture_is_within_the_terminal(width):
    """A line that the terminal would wrap by itself is not counted, and would stay when the next one is drawn."""
    screen = Screen(Operator(), width)
    screen.step(until=CommandIntended)
    screen.wait(GateResult(gate="returned", status=GateStatus.WAITING, text="a has not joined again: " + "x" * 90))
    lines = screen.file.getvalue().rpartition("\x1b[2K")[2].splitlines()
    screen.view.note("end")

    assert len(lines) > 8
    assert max(map(len, lines)) <= width, lines


def test_it_says_how_long_the_other_steps_will_take(screen):
    screen.step(until=CommandIntended)
    screen.seconds = 40.0
    screen.step(until=StepPassed)

    assert "about 3 min for 5 steps" in screen.file.getvalue()


def test_a_question_stays_on_the_screen(screen):
    screen.step(until=StepBegan)
    screen.view.note("options: wait, stop")

    assert (
        screen.file.getvalue().rstrip().endswith("options: wait, stop\x1b[?25h") or "options: wait, stop" in screen.last
    )


def test_nothing_is_drawn_after_the_end(screen):
    screen.step(until=StepBegan)
    screen.operator.write(QuestionAnswered(about="deviation", option=SafeOption.STOP))
    screen.operator.write(RollEnded(outcome="finished"))
    screen.view.record(JournalLine("now", screen.operator.records[-1]), screen.operator.state)

    assert "app: finished" in screen.file.getvalue()
    assert not screen.view._live.is_started


@pytest.mark.parametrize(
    ("further", "steps"),
    [
        ({}, 6),
        ({"batch": 2}, 4),
        ({"canary": "b"}, 6),
        ({"canary": "b", "batch": 2}, 4),
        ({"offline": True, "verbs": ("stop", "start")}, 2),
    ],
)
def test_it_counts_the_steps_that_are_left(further, steps):
    assert steps == steps_left(Operator(plan(**further)).state)


def test_of_many_instances_some_are_shown():
    screen = Screen(Operator(plan(names="abcdefghijklmnopqrstuvwxyz")))
    screen.step(until=StepBegan)

    assert "and 6 instances more" in screen.last
    screen.view.note("end")
