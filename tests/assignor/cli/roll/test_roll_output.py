"""The words of a roll, on a terminal and in its report."""

from assignor.cli.roll._output import plan_lines, record_lines
from assignor.cli.roll._report import report_lines
from tests.upgrade.roll.fake_group import Operator
from upgrade.roll.engine import RollFinished, RunCommand
from upgrade.roll.journal import JournalLine
from upgrade.roll.state import replay


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

    assert text.endswith(": version 11, no task moved, longest time without owner 10 to 30 s")


def test_by_hand_nobody_is_asked_to_stop_an_instance_as_a_release():
    operator = Operator(offline=True, verbs=("by-hand",))
    operator.decide()
    while not operator.commands:
        operator.act(operator.decide())

    assert "step 1: please stop a" in written(operator)
