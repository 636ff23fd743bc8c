"""What is checked of a roll would be noticed: repeated restarts, a wrong journal, a deviation without a fault."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.roll.deviations import DEVIATIONS, DeviationKind, SafeOption
from streams_assignor.upgrade.roll.engine import FINISHED
from streams_assignor.upgrade.roll.journal import (
    CommandEnded,
    CommandIntended,
    DeviationFound,
    PlanRecorded,
    QuestionAnswered,
    RollEnded,
    RollResumed,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from tests.lab.chaos.fault_schedule import Fault
from tests.lab.chaos.roll_outcome import ANSWERS, is_explained, journal_problems
from tests.upgrade.roll.fake_group import plan

PLAN = plan(names="ab")
ROUNDS = len(PLAN.rounds)
GONE = DeviationFound(
    step=1,
    kind=DeviationKind.MEMBER_GONE,
    expected="b stays",
    observed="b has 0 of 1 member",
    likely="it failed",
    options=(SafeOption.WAIT,),
    instances=("b",),
)
AGAIN = QuestionAnswered(about="deviation", option=SafeOption.AGAIN, step=1, instances=("a",))


def intended(step, name):
    return CommandIntended(step=step, instance=name, verb="restart")


def ended(step, name, **how):
    return CommandEnded(step=step, instance=name, verb="restart", **how)


def restarted(step, name):
    return [StepBegan(step=step, instances=(name,)), intended(step, name), ended(step, name), StepPassed(step=step)]


def journal(*, of_a=None, rounds=ROUNDS):
    records = [PlanRecorded(plan=PLAN)]
    for number in range(1, rounds + 1):
        records += (of_a if of_a and number == 1 else None) or restarted(2 * number - 1, "a")
        records += [*restarted(2 * number, "b"), RoundVerified(round=number)]
    return [*records, RollEnded(outcome=FINISHED)]


CALLS = ["a", "b"] * ROUNDS


def test_a_whole_journal_has_no_problems():
    assert [] == journal_problems(journal(), CALLS, deviations=0)


def test_a_restart_that_was_repeated_unasked_is_a_problem():
    first, *rest = restarted(1, "a")
    records = journal(of_a=[first, intended(1, "a"), RollResumed(), *rest])

    assert ["a was restarted 2 times in round 1"] == journal_problems(records, ["a", *CALLS], deviations=0)


@pytest.mark.parametrize("instances", [("a",), ()])
def test_a_restart_that_was_asked_for_is_none(instances):
    first, *rest = restarted(1, "a")
    asked = evolve(AGAIN, instances=instances)
    records = journal(of_a=[first, intended(1, "a"), ended(1, "a", status=1), RollResumed(), asked, *rest])

    assert [] == journal_problems(records, ["a", *CALLS], deviations=0)


def test_calls_and_journal_have_to_agree():
    assert ["b was restarted without an intent"] == journal_problems(journal(), [*CALLS, "b"], deviations=0)
    assert ["the journal has a restart of b that was not called"] == journal_problems(
        journal(), CALLS[:-1], deviations=0
    )


def test_a_restart_of_which_only_the_outcome_was_found_needs_no_call_that_is_known():
    first, begun, _, passed = restarted(1, "a")
    records = journal(of_a=[first, begun, RollResumed(), ended(1, "a", how="found"), passed])

    assert [] == journal_problems(records, CALLS, deviations=0)


@pytest.mark.parametrize(("torn", "problems"), [(True, []), (False, ["a was restarted without an intent"])])
def test_a_restart_whose_intent_was_torn_has_none_in_the_journal(torn, problems):
    first, _, done, passed = restarted(1, "a")
    records = journal(of_a=[first, RollResumed(torn=torn), evolve(done, how="found"), passed])

    assert problems == journal_problems(records, CALLS, deviations=0)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (DeviationKind.FOREIGN_MEMBER, Fault("stranger", "b", 5.0)),
        (DeviationKind.SECOND_PROCESS, Fault("second-process", "b", 5.0)),
        (DeviationKind.OLD_RELEASE, Fault("second-process", "b", 5.0)),
        (DeviationKind.COMMAND_FAILED, Fault("endless", "b")),
    ],
)
def test_what_a_stranger_a_copy_and_a_command_without_end_cause(kind, fault):
    instances = () if kind is DeviationKind.FOREIGN_MEMBER else ("b",)

    assert is_explained(evolve(GONE, kind=kind, instances=instances), [fault])
    assert not is_explained(evolve(GONE, kind=kind, instances=instances), [Fault("kill", "b", 1.0)])


def test_an_instance_that_joins_again_and_again_is_explained_by_what_makes_members_join():
    loop = evolve(GONE, kind=DeviationKind.CRASH_LOOP)

    assert is_explained(loop, [Fault("node", "2", 1.4)])
    assert is_explained(loop, [Fault("second-process", "b", 5.0)])
    assert not is_explained(loop, [Fault("second-process", "a", 5.0), Fault("stranger", "b", 5.0)])


def test_every_answer_is_offered():
    assert [] == [kind for kind, option in ANSWERS.items() if option not in DEVIATIONS[kind].options]


def test_a_stop_that_the_journal_does_not_have_is_a_problem():
    assert ["0 deviations, 1 stops"] == journal_problems(journal(), CALLS, deviations=1)


def test_a_roll_that_has_not_finished_is_a_problem():
    (wrong, *more) = journal_problems(journal()[:-3], CALLS, deviations=0)

    assert wrong.startswith("the journal ends with ")
    assert [f"{len(CALLS) - 1} of {len(CALLS)} steps passed"] == more


@pytest.mark.parametrize(
    ("faults", "explained"),
    [
        ([], False),
        ([Fault("kill", "b", 1.0)], True),
        ([Fault("kill", "a", 1.0)], False),
        ([Fault("dying-leader", "", 1.5)], True),
        ([Fault("roll-kill")], False),
        ([Fault("lost", "b")], False),
        ([Fault("roll-kill"), Fault("freeze", "b", 5.0)], True),
        ([Fault("torn-journal")], False),
        ([Fault("second-process", "b", 5.0)], False),
    ],
)
def test_a_deviation_is_explained_by_a_fault_of_such_an_instance(faults, explained):
    assert explained == is_explained(GONE, faults)


def test_a_broker_that_fails_explains_what_a_group_without_one_shows():
    hidden = evolve(GONE, kind=DeviationKind.NOT_VISIBLE, instances=())

    assert is_explained(hidden, [Fault("node-kill", "2", 1.0)])
    assert not is_explained(GONE, [Fault("node-kill", "2", 1.0)])
