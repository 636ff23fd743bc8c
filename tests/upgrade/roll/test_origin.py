"""The release before, where a group shows a range of releases: none of them is started before an operator names one."""

import pytest
from attrs import evolve

from streams_assignor.upgrade import advise, release_named
from streams_assignor.upgrade.release_detection import CandidateReleases
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.engine import AskOperator, RollFinished, ended, unlike_its_end, watching
from streams_assignor.upgrade.roll.gates import RollWatch
from streams_assignor.upgrade.roll.group import GROUP_RULES
from streams_assignor.upgrade.roll.journal import OriginNamed, QuestionAnswered
from streams_assignor.upgrade.roll.plan import InstanceConfig, RollLimits, with_origin
from streams_assignor.upgrade.roll.state import ABOUT_DONE
from tests.upgrade.roll.fake_group import Operator, member, plan

BACK = QuestionAnswered(about="back", option=SafeOption.BACK)
RANGE = {"origin": "2.3.0", "target": "4.3.1", "origins": ("2.3.0", "2.3.1")}


def named(state, origin="2.3.1"):
    return OriginNamed(plan=with_origin(state.plan, advise(release_named(origin), release_named("4.3.1"))))


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_the_way_back_asks_what_ran_before_and_goes_there(steps):
    operator = Operator(**RANGE)
    shown = tuple(map(release_named, RANGE["origins"]))
    operator.members = {
        name: evolve(each, candidates=CandidateReleases(shown)) for name, each in operator.members.items()
    }
    while operator.state.steps < steps or operator.state.step:
        operator.act(operator.decide())
    before = len(operator.commands)
    operator.write(BACK)
    question = operator.go()

    assert ("origin", (SafeOption.STOP,)) == (question.about, question.options)
    assert "what ran before is not known, 2.3.0 to 2.3.1 show the same: --from RELEASE says it" == question.text
    operator.answer(question, SafeOption.STOP)
    operator.crash()
    assert "origin" == operator.go().about
    assert before == len(operator.commands)
    operator.write(named(operator.state))
    assert RollFinished("rolled back") == operator.go()
    assert {"2.3.1"} == {config.release for config in operator.state.configs.values()}
    assert not [text for text in operator.commands if "2.3.0" in text]


def test_back_before_anything_was_done_needs_no_release():
    operator = Operator(**RANGE)
    operator.write(BACK)

    assert RollFinished("rolled back") == operator.go()


def test_what_the_way_back_needs_is_that_of_the_release_that_was_named():
    """It asked for empty state directories, as the least of the range needs them."""
    worst = plan(origin="2.8.0", target="4.3.1", origins=("2.8.0", "4.2.1"))
    right = with_origin(worst, advise(release_named("4.2.1"), release_named("4.3.1")))

    assert "2.8.0 cannot open the stores of 3.0" in worst.rounds[0].back
    assert "4.2.1" == right.origin == right.rounds[0].hop_origin == right.rounds[0].before.release
    assert () == right.origins
    assert all("4.2.1 cannot open the stores of 4.3:" in each.back for each in right.rounds)
    assert len(worst.rounds) == len(right.rounds)


@pytest.mark.parametrize(
    ("bounced", "how"),
    [
        ((), "--from RELEASE says what they run"),
        (("a",), "not all run 2.3.1 any more; --journal FILE continues a roll, continue restarts them"),
    ],
)
def test_a_group_that_may_run_the_release_is_not_restarted_unasked(bounced, how):
    operator = Operator(may_be_done=True, bounced=bounced, begun=len(bounced))
    question = operator.go()

    assert (ABOUT_DONE, (SafeOption.CONTINUE, SafeOption.STOP)) == (question.about, question.options)
    assert f"all members may run 3.9.2 already, which shows the same: {how}" == question.text
    operator.answer(question, SafeOption.CONTINUE)
    assert RollFinished("finished") == operator.go()


# -- a journal that has ended ------------------------------------------------------------------------------------------


def finished(**further):
    operator = Operator(origin="2.8.2", target="3.9.2", **further)
    assert RollFinished("finished") == operator.go()
    return operator


def differs(operator, watch=None, soak_s=0):
    limits = RollLimits(session_timeout_s=45, soak_s=soak_s)
    left = ended(evolve(operator.state, plan=evolve(operator.state.plan, limits=limits)))
    seen = operator.look()
    watch = watching(left, watch or RollWatch(), seen, GROUP_RULES)
    return watch, tuple(result.text for result in unlike_its_end(left, watch, seen, GROUP_RULES))


def test_a_group_that_is_as_a_roll_has_left_it_does_not_differ():
    operator = finished()

    assert () == differs(operator)[1]
    operator.write(BACK)
    operator.go()
    assert () == differs(operator)[1]
    operator.members["a"] = member("a", InstanceConfig("3.9.2"), 99)
    assert ("a: it runs 3.9.2", "a runs 3.9.2") == differs(operator)[1]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda operator: operator.members.clear(), "a has 0 of 1 member; b has 0 of 1 member; c has 0 of 1 member"),
        (lambda operator: operator.members.pop("b"), "b has 0 of 1 member"),
        (lambda operator: operator.run("b", "restart", InstanceConfig("2.8.2")), "b: it runs 2.8.2"),
        (lambda operator: setattr(operator, "group", "PreparingRebalance"), "PreparingRebalance"),
    ],
)
def test_a_finished_roll_says_how_the_group_differs_now(change, text):
    """A finished journal was "finished" for ever, also of an empty group."""
    operator = finished()
    change(operator)

    assert text in differs(operator)[1]


def test_a_group_that_a_roll_has_left_has_to_live_for_a_session():
    """An instance that had just died was still counted, and the roll was called finished."""
    operator = finished()
    watch, first = differs(operator, soak_s=45)
    watch, _ = differs(operator, watch, soak_s=45)
    operator.seconds += 46

    assert ("whether every instance lives on for 45 s: 45 s left",) == first
    assert () == differs(operator, watch, soak_s=45)[1]


def test_a_roll_that_has_not_begun_has_left_nothing():
    operator = Operator()
    operator.write(BACK)
    operator.go()

    assert ended(operator.state) is None
    assert isinstance(Operator().until(AskOperator), AskOperator)
