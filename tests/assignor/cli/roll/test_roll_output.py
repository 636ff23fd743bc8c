"""The words of a roll, on a terminal and in its report."""

import pytest
from attrs import evolve

from streams_assignor.cli.roll._report import report_lines
from streams_assignor.cli.roll.output import expectation_text, observed_text, plan_lines, record_lines, unowned_text
from streams_assignor.upgrade.roll.engine import RollFinished, RunCommand
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.journal import JournalLine, PlanRecorded
from streams_assignor.upgrade.roll.state import replay
from tests.upgrade.roll.fake_group import Operator, plan


def offline():
    """A roll that stops the group and starts it, to its end; each command takes ten seconds."""
    operator = Operator(offline=True, verbs=("stop", "start"))
    while not isinstance(decision := operator.decide(), RollFinished):
        assert operator.act(decision) is None
        operator.seconds += 10 * isinstance(decision, RunCommand)
    return operator


def written(operator):
    """All lines of a roll."""
    records = operator.records
    return [
        line
        for number, record in enumerate(records, 1)
        for line in record_lines(JournalLine("", record), replay(records[:number]))
    ]


def test_a_round_that_stops_the_group_says_so():
    operator = offline()
    lines = written(operator)

    assert "order: a, b and c, 1 member each; all at once" in plan_lines(operator.state.plan)
    assert "step 1, round 1 of 2: stop a, b and c" in lines
    assert "step 2, round 2 of 2: a, b and c to 3.9.2" in lines
    assert "round 1: verified: every instance is stopped" in lines
    assert any(line.startswith("step 1: passed after 0 s: no version, 3 tasks without owner, ") for line in lines)
    assert "round 1: stop every member of 2.3.1, and wait until the group is empty" in list(
        plan_lines(operator.state.plan)
    )


def test_the_report_says_what_a_round_that_stops_the_group_did():
    report = list(report_lines([JournalLine("12:00", record) for record in offline().records]))

    (round_row,) = (line for line in report if line.startswith("| 1 | stop every member of 2.3.1"))
    assert round_row.endswith("| 12:00: every instance is stopped |")
    (step_row,) = (line for line in report if "stop a: 0; stop b: 0; stop c: 0" in line)
    assert "passed: no version, 3 tasks without owner, 10 to 30 s without owner, 0.0 s |" in step_row


def test_the_tasks_of_a_stopped_group_have_no_owner_until_their_instances_are_started():
    text = next(line for line in written(offline()) if line.startswith("step 2: passed"))

    assert text.endswith(": version 11, every task where it was, longest time without owner 10 to 30 s")


@pytest.mark.parametrize(
    ("status", "lines"),
    [
        (0, ["  printed by restart a:", *(f"  | line {number}" for number in range(4, 9))]),
        (7, []),  # the lines of its end have all of it
    ],
)
def test_what_differs_stands_beside_the_last_lines_of_the_command(status, lines):
    operator = Operator()
    operator.broken["a"] = None
    operator.until(RunCommand)
    operator.act(operator.decide())
    printed = "\n".join(f"line {number}" for number in range(9))
    operator.records[-1] = evolve(operator.records[-1], output=printed, status=status)
    operator.patience = 100
    operator.found()
    shown = written(operator)
    place = next(number for number, line in enumerate(shown) if "DEVIATION" in line)

    assert lines == [line for line in shown[place:] if line.startswith(("  printed", "  | "))]
    assert not any("\n" in line for line in shown[place:])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred", r"\\x1b\[31mred"),
        ("a\x00b", r"a\\x00b"),
        ("\u202egpj", r"\\u202egpj"),
        ("a|b](x)", r"a\|b\](x)"),
        ("pod_1", "pod_1"),
    ],
)
def test_a_report_has_nothing_that_a_terminal_obeys_and_no_markup_of_a_name(name, shown):
    """Control characters of a client id were in the file."""
    report = list(report_lines([JournalLine("12:00", PlanRecorded(plan=plan(names=[name, "b"])))]))

    assert f"| instances | {shown} and b |" in report


def test_by_hand_the_time_without_owner_is_not_known():
    operator = Operator(verbs=("by-hand",))
    operator.go()
    passed = [line for line in written(operator) if ": passed after" in line]

    assert 6 == len(passed)
    assert all(line.partition(", longest ")[2].startswith("time without owner not known") for line in passed)


def test_by_hand_what_was_seen_without_owner_is_the_least():
    observed = {"unowned_seconds": None, "unowned_seconds_at_least": 3.5, "unowned_seconds_forecast": [6.0]}

    assert "at least 3.5 s (forecast 6 s)" == unowned_text(observed)


COUNTED = {"rebalances": 4, "moves": 8, "rebalances_counted": True, "moves_counted": True}


@pytest.mark.parametrize(
    ("observed", "text"),
    [
        ({}, "no version, every task where it was"),
        ({"moved": {"0_0": "b", "0_1": ""}}, "no version, 1 task with another owner, 1 task without owner"),
        (COUNTED, "no version, 4 rebalances, 8 moves, every task where it was"),
        (
            {**COUNTED, "moves_counted": False, "moved": {"0_0": "b"}, "moves": 0},
            "no version, 4 rebalances, at least 1 move, 1 task with another owner",
        ),
        (
            {**COUNTED, "rebalances_counted": False, "moves_counted": False, "as_forecast": True},
            "no version, at least 4 rebalances, at least 8 moves, every task where it was, as forecast, as far as "
            "looks show it",
        ),
        (
            {**COUNTED, "as_forecast": True, "after_session": True},
            "no version, 4 rebalances, 8 moves, every task where it was, as forecast of an instance that is back after "
            "its session",
        ),
        (
            {**COUNTED, "as_forecast": False},
            "no version, 4 rebalances, 8 moves, every task where it was, not as forecast",
        ),
    ],
)
def test_what_came_of_a_step_is_said_once(observed, text):
    """It was "no task moved, tasks as forecast" of a step with 4 rebalances and 8 moves."""
    assert text == observed_text(observed).replace(", longest time without owner 0 to 0 s", "")


IN_TIME = ExpectedOutcome(versions=(11,), rebalances=1)
LATE = ExpectedOutcome(versions=(11,), rebalances=4, moves=8, after_session=True)


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ((IN_TIME,), "forecast: 1 rebalance, no move, version 11"),
        (
            (IN_TIME, LATE),
            "forecast: 1 rebalance, no move, version 11; if it is back only after its session: 4 rebalances, 8 moves, "
            "every task back where it was, version 11",
        ),
        (
            (evolve(LATE, moved={"0_0": "b"}),),
            "forecast: if it is back only after its session: 4 rebalances, 8 moves, 1 task with another owner, "
            "version 11",
        ),
        (
            (IN_TIME, *(evolve(IN_TIME, rebalances=number) for number in (2, 3, 4, 5))),
            "forecast: 1 rebalance, no move, version 11 or 2 rebalances, no move, version 11 or 3 rebalances, no move, "
            "version 11 or 2 other outcomes",
        ),
    ],
)
def test_a_forecast_has_both_ways(outcomes, text):
    assert text == expectation_text(Expectation(outcomes=outcomes))


def test_by_hand_nobody_is_asked_to_stop_an_instance_as_a_release():
    operator = Operator(offline=True, verbs=("by-hand",))
    operator.decide()
    while not operator.commands:
        operator.act(operator.decide())

    assert "step 1: please stop a" in written(operator)
