"""The way back from commands that are half done: found by ``sweep --matrix roll``."""

import pytest

from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.journal import BackPlanned, CommandIntended, QuestionAnswered, RollResumed
from streams_assignor.upgrade.roll.plan import InstanceConfig
from tests.upgrade.roll.fake_group import Operator, member

BACK = QuestionAnswered(about="back", option=SafeOption.BACK)


def rolled_back(operator):
    """Go back, and return the commands that this took."""
    operator.write(BACK)
    before = len(operator.commands)
    assert engine.RollFinished("rolled back") == operator.go()
    return operator.commands[before:]


def test_an_instance_that_is_to_be_restarted_again_is_rolled_back():
    """Its command was forgotten, and with it that anything had been done."""
    operator = Operator(origin="2.4.1", target="2.8.2")
    operator.broken = {"a": None}
    while not isinstance(question := operator.go(), engine.AskOperator):
        operator.seconds += 1000
    operator.answer(question, SafeOption.AGAIN)
    operator.broken = {}

    assert ["restart a 2.4.1"] == rolled_back(operator)
    assert any(isinstance(record, BackPlanned) for record in operator.records)


@pytest.mark.parametrize(("verbs", "further"), [(("restart",), {}), (("stop", "start"), {"offline": True})])
def test_a_way_back_knows_that_it_needs_empty_state_directories(verbs, further):
    operator = Operator(origin="3.9.2", target="4.3.1", verbs=verbs, **further)
    operator.answers["no-way-back"] = SafeOption.CONTINUE
    needed = set()
    while not isinstance(operator.decide(), engine.RollFinished):
        needed.add(operator.state.needs_empty_state)
        operator.act(operator.decide())
    operator.write(BACK)

    assert {False} == needed
    needed = set()
    while not isinstance(decision := operator.decide(), engine.RollFinished):
        if isinstance(decision, engine.RunCommand):
            needed.add((decision.verb, operator.state.needs_empty_state))
        operator.act(decision)
    assert (verbs[-1], True) in needed
    assert (verbs[-1], False) not in needed


def test_an_instance_that_was_stopped_to_be_restarted_is_rolled_back():
    """Only its start changed what it was thought to be."""
    operator = Operator(origin="2.4.1", target="2.8.2", verbs=("stop", "start"))
    while not isinstance(decision := operator.decide(), engine.RunCommand):
        operator.act(decision)
    operator.write(CommandIntended(step=decision.step, instance="a", verb="stop"))
    operator.members.pop("a")
    operator.write(RollResumed())

    assert ["stop a 2.4.1", "start a 2.4.1"] == rolled_back(operator)


@pytest.mark.parametrize(("verbs", "offline"), [(("restart",), False), (("stop", "start"), True)])
def test_a_group_that_has_moved_on_since_is_not_taken_back_unasked(verbs, offline):
    """The journal of last month, and --back: 3.3.2 was started in a group of 4.3.1, of which no plan leads there."""
    operator = Operator(origin="2.4.1", target="3.3.2", verbs=verbs, offline=offline)
    operator.answers |= {"no-way-back": SafeOption.CONTINUE}
    assert engine.RollFinished("finished") == operator.go()
    operator.members = {name: member(name, InstanceConfig("4.3.1"), 99) for name in "abc"}
    operator.write(BACK)
    done = [*operator.commands]
    found = operator.found()

    assert (DeviationKind.OTHER_RELEASE, ("a", "b", "c"), done) == (found.kind, found.instances, operator.commands)
    assert (SafeOption.CONTINUE, SafeOption.WAIT, SafeOption.STOP) == found.options
    operator.answers["deviation"] = SafeOption.CONTINUE
    assert engine.RollFinished("rolled back") == operator.go()


def test_the_way_back_begins_with_what_is_wrong_and_asks_about_what_is_no_part_of_the_plan():
    """a was started as another release by its command, c by somebody else."""
    operator = Operator(origin="2.4.1", target="2.8.2", batch=1)
    wrong = InstanceConfig("4.3.1")
    operator.broken = {"a": member("a", wrong, 9)}
    assert DeviationKind.OTHER_RELEASE is operator.found().kind
    operator.broken = {}
    operator.members["c"] = member("c", wrong, 9)
    operator.write(BACK)

    assert ("c",) == operator.found().instances
    assert ["restart a 2.4.1"] == operator.commands[-1:]


def test_an_instance_that_comes_back_as_another_release_is_not_passed_over():
    operator = Operator(origin="2.4.1", target="2.8.2")
    operator.until(engine.RunCommand)
    operator.act(operator.decide())
    operator.broken = {"a": member("a", InstanceConfig("4.3.1"), 9)}
    operator.write(BACK)
    found = operator.found()

    assert (DeviationKind.OTHER_RELEASE, ("a",)) == (found.kind, found.instances)
    assert SafeOption.CONTINUE not in found.options
