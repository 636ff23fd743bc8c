"""How long tasks have no owner: by the journal and the looks of a roll."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.engine import AskOperator, RunCommand
from streams_assignor.upgrade.roll.gates import RollWatch
from streams_assignor.upgrade.roll.group import GROUP_GATES, observed
from streams_assignor.upgrade.roll.journal import (
    CommandEnded,
    CommandIntended,
    JournalError,
    JournalLine,
    QuestionAnswered,
    RollResumed,
    StepBegan,
    StepPassed,
    seconds_in_step,
)
from streams_assignor.upgrade.roll.plan import InstanceConfig
from tests.upgrade.roll.fake_group import Operator, member

OLD, NEW = InstanceConfig("2.3.1"), InstanceConfig("3.9.2", "2.3")


def begun(status=None):
    """A roll of which the command of the first step has run for 30 seconds; with a status, it has failed."""
    operator = Operator()
    while not isinstance(decision := operator.decide(), RunCommand):
        assert operator.act(decision) is None
    where = {"step": 1, "instance": "a", "verb": "restart"}
    operator.write(CommandIntended(**where, before=("a-1",)))
    operator.seconds += 30
    if status is not None:
        operator.write(CommandEnded(**where, status=status, seconds=30.0))
    return operator


def taken_over(operator):
    """The other members have the task of a, whose session has timed out."""
    del operator.members["a"]
    operator.members["b"] = evolve(operator.members["b"], active=frozenset({"0_0", "0_1"}))


def times(operator):
    operator.decide()
    found = observed(operator.state, operator.watch, operator.look())
    return found["unowned_seconds_at_least"], found["unowned_seconds"]


def test_a_time_goes_on_through_the_answer_about_a_command_that_failed():
    """The command was ended after 30 seconds; 7.2 s were real, and "0 to 0.5 s" was said."""
    operator = begun(status=124)
    taken_over(operator)
    question = operator.go()
    assert isinstance(question, AskOperator)
    operator.answer(question, SafeOption.CONTINUE)
    operator.seconds += 10

    assert (0, 30) == times(operator)


def test_a_time_goes_on_through_an_answer_while_a_task_has_no_owner():
    operator = begun(status=0)
    assert (0, 0) == times(operator)  # the member of before is counted: it may live
    operator.write(QuestionAnswered(about="deviation", option=SafeOption.WAIT, step=1))
    operator.seconds += 8
    taken_over(operator)
    assert (0, 38) == times(operator)


@pytest.mark.parametrize(("seconds", "most"), [(252.0, 252), (0.0, 0)])
def test_a_time_goes_on_when_roll_is_called_again(seconds, most):
    """Nobody looked since the intent of the command, which has its time in the journal."""
    operator = begun()
    taken_over(operator)
    operator.write(RollResumed(seconds=seconds))
    operator.watch = RollWatch()

    assert (0, most) == times(operator)


def test_a_time_is_not_known_after_a_clock_that_has_jumped():
    operator = begun()
    operator.write(RollResumed(seconds=None))
    operator.watch = RollWatch()
    times(operator)
    (gate,) = (each for each in GROUP_GATES if each.name == "unowned")
    text = gate.check(operator.state, operator.watch, operator.look()).text
    taken_over(operator)
    times(operator)
    found = observed(operator.state, operator.watch, operator.look())

    assert "0_0 without owner for up to 0 s, and before roll was called again, for how long is not known" in text
    assert (None, 0.0) == (found["unowned_seconds"], found["unowned_seconds_at_least"])


@pytest.mark.parametrize(("option", "seconds"), [(SafeOption.WAIT, 30.0), (SafeOption.AGAIN, 90.0)])
def test_the_time_until_a_step_passes_begins_at_its_first_attempt(option, seconds):
    """After an answer it was said to have passed after the seconds since then."""
    operator = begun(status=0)
    times(operator)
    operator.seconds += 30
    operator.write(QuestionAnswered(about="deviation", option=option, step=1, instances=("a",)))
    if option is SafeOption.AGAIN:
        times(operator)
        operator.write(CommandIntended(step=1, instance="a", verb="restart"))
        operator.seconds += 60
        operator.write(CommandEnded(step=1, instance="a", verb="restart", status=0, seconds=60.0))
    taken_over(operator)
    times(operator)

    assert seconds == observed(operator.state, operator.watch, operator.look())["seconds"]


def test_a_task_that_still_has_no_owner_has_had_none_since_the_intent():
    operator = begun(status=0)
    operator.write(RollResumed(seconds=60.0))
    operator.watch = RollWatch()

    times(operator)
    assert {"0_0": operator.seconds - 60} == operator.watch.memory.times.since


def test_a_command_that_is_run_again_begins_a_time_of_its_own():
    operator = begun(status=0)
    times(operator)
    operator.members["a"] = member("a", NEW, number=2)
    assert (0, 30) == times(operator)
    operator.write(QuestionAnswered(about="deviation", option=SafeOption.AGAIN, step=1, instances=("a",)))
    times(operator)
    operator.write(CommandIntended(step=1, instance="a", verb="restart", before=("a-2",)))
    operator.seconds += 50
    operator.write(CommandEnded(step=1, instance="a", verb="restart", status=0, seconds=50.0))
    taken_over(operator)

    assert (0, 50) == times(operator)


def test_a_member_of_before_that_is_counted_long_after_its_session_was_never_stopped():
    """A command that does nothing: "without owner for 20 s" of a task whose owner went on."""
    operator = begun(status=0)
    for _ in range(7):
        times(operator)
        assert {"0_0": 0.0} == operator.watch.memory.times.since
        operator.seconds += 10
    times(operator)

    assert {} == operator.watch.memory.times.since
    taken_over(operator)
    operator.seconds += 5
    assert (0, 0) == times(operator)


def test_a_time_is_that_of_the_clock_of_the_host():
    records = [
        ("11:00:00", RollResumed()),
        ("12:00:00", StepBegan(step=1, instances=("a",))),
        ("12:00:10", CommandIntended(step=1, instance="a", verb="stop")),
        ("12:00:20", CommandIntended(step=1, instance="a", verb="start")),
        ("12:00:25", CommandEnded(step=1, instance="a", verb="start")),
        ("12:00:30", StepPassed(step=1)),
        ("12:00:40", StepBegan(step=2, instances=("b",))),
    ]
    lines = [JournalLine(f"2026-11-29T{at}+00:00", record) for at, record in records]
    now = "2026-11-29T12:01:00+00:00"

    assert [0, 0, 0, 50, 50, 50, 0, 0] == [seconds_in_step(lines[:number], now) for number in range(8)]
    for jumped in ("2026-11-29T11:00:00+00:00", "2026-11-29T12:00:15+00:00", "2083-01-01T00:00:00+00:00"):
        assert seconds_in_step(lines[:4], jumped) is None, "without owner for 1.79e9 s"
    with pytest.raises(JournalError, match="expected the time of the intent of a command, got 'noon'"):
        seconds_in_step([JournalLine("noon", records[2][1])], now)
