"""An instance that dies soon after it has joined is counted until its session times out: signs of its life."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.engine import AskOperator, KeepWaiting, RollFinished
from streams_assignor.upgrade.roll.group_observation import PartitionOffsets
from streams_assignor.upgrade.roll.journal import (
    BackPlanned,
    DeviationFound,
    QuestionAnswered,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import InstanceConfig, RollLimits
from tests.upgrade.roll.fake_group import Operator, member

NEW = InstanceConfig("4.3.1")
LIMITS = RollLimits(timeout_s=600, max_unowned_s=900, session_timeout_s=45, soak_s=20)


class Clock(Operator):
    """A roll by one bounce, and a group that changes while seconds pass."""

    def __init__(self, **further):
        limits = further.pop("limits", LIMITS)
        super().__init__(origin="3.9.2", target="4.3.1", limits=limits, **further)
        self.at = {}  # what happens, by the second
        self.commits = ()  # the instances that commit each second
        self.committed = 0

    def go(self, most=3000):
        return super().go(most)

    def act(self, decision):
        if not isinstance(decision, KeepWaiting):
            return super().act(decision)
        self.seconds += 1
        self.committed += 1
        for happens in self.at.pop(self.seconds, ()):
            happens()
        self.offsets = {
            f"in-{name}": PartitionOffsets(
                committed=5 + self.committed, end=5 + self.committed, owner=self.members[name].member_id
            )
            for name in self.commits
            if name in self.members
        }
        return decision if self.seconds > 2000 else None

    def look(self):
        """Tasks of an instance that is gone are those of the first one that is there."""
        seen = super().look()
        if not seen.members:
            return seen
        first, *others = seen.members
        gone = {f"0_{number}" for number, name in enumerate(self.state.plan.names) if name not in self.members}
        return evolve(seen, members=(evolve(first, active=first.active | gone), *others))

    def dies(self, name):
        self.members.pop(name, None)

    def joins(self, name):
        self.starts += 1
        self.members[name] = member(name, self.state.configs[name], self.starts)

    def passed_at(self, number=1):
        """The second at which a step has passed."""
        while not any(isinstance(each, StepPassed) and each.step == number for each in self.records):
            assert self.act(self.decide()) is None
        return self.seconds


@pytest.mark.parametrize(
    ("commits", "ready", "soak", "second"),
    [
        ((), None, 20.0, 65),  # counted one session after it has lived for the soak time
        ("abc", None, 20.0, 21),  # as soon as a commit shows it; the look before it is what is certain
        ("bc", None, 20.0, 65),  # others commit
        ((), {"a": ""}, 20.0, 20),
        ((), None, 0.0, 0),
    ],
)
def test_a_step_passes_when_its_instance_has_lived_for_the_soak_time_for_sure(commits, ready, soak, second):
    roll = Clock(limits=evolve(LIMITS, soak_s=soak))
    roll.commits, roll.ready = commits, ready

    assert second == roll.passed_at()


@pytest.mark.parametrize("second", [1, *(pytest.param(second, marks=pytest.mark.slow) for second in (19, 40)), 64])
def test_an_instance_that_dies_after_it_has_joined_is_missed_before_the_next_one_is_touched(second):
    """It was counted until its session was over: the next one was stopped 0.2 s after it had died."""
    roll = Clock()
    roll.at = {second: [lambda: roll.dies("a")]}
    found = roll.found()

    assert (DeviationKind.FAILED_AFTER_JOIN, ("a",)) == (found.kind, found.instances)
    assert found.observed.startswith("a has 0 of 1 member: it had joined")
    assert ["restart a 4.3.1"] == roll.commands
    assert "had joined and run, and has failed since" in found.likely
    assert SafeOption.AGAIN in found.options


def test_an_instance_that_crashes_and_is_started_again_within_its_soak_time_is_a_crash_loop():
    roll = Clock()
    roll.commits = "abc"
    roll.at = {second: [lambda: roll.joins("a")] for second in (15, 30, 45)}
    found = roll.found()

    assert (DeviationKind.CRASH_LOOP, ("a",)) == (found.kind, found.instances)
    assert ["restart a 4.3.1"] == roll.commands


@pytest.mark.parametrize("is_found_first", [False, True])
def test_an_instance_that_was_replaced_while_nobody_looked_is_a_deviation_until_somebody_answers(is_found_first):
    """Called again after kill -9, or again without an answer, roll went on with a release that had failed."""
    roll = Clock()
    roll.commits = "abc"
    while not any(isinstance(record, StepPassed) for record in roll.records):
        assert isinstance(roll.act(roll.decide()), KeepWaiting | None)
        roll.seconds += 1
    if is_found_first:
        roll.joins("a")
        roll.found()
        roll.crash()
    else:
        roll.crash()
        roll.joins("a")

    assert (DeviationKind.MEMBER_REPLACED, ("a",)) == ((found := roll.found()).kind, found.instances)
    roll.answer(roll.decide(), SafeOption.CONTINUE)
    roll.crash()
    assert RollFinished("finished") == roll.go()


@pytest.mark.unmeasured
def test_an_instance_that_was_said_to_be_gone_and_started_again_is_no_deviation():
    roll = Clock()
    roll.commits = "abc"
    roll.at = {25: [lambda: roll.members.pop("a")]}
    assert DeviationKind.MEMBER_GONE == roll.found().kind
    roll.joins("a")
    roll.crash()

    assert RollFinished("finished") == roll.go()


def test_an_instance_of_an_earlier_step_that_was_replaced_is_a_deviation():
    roll = Clock()
    roll.commits = "abc"
    roll.at = {30: [lambda: roll.joins("a")]}
    found = roll.found()

    assert (DeviationKind.MEMBER_REPLACED, ("a",)) == (found.kind, found.instances)
    assert "a: other member ids than when the step of the instance had passed" == found.observed
    assert ["restart a 4.3.1", "restart b 4.3.1"] == roll.commands
    roll.answer(roll.decide(), SafeOption.CONTINUE)
    assert RollFinished("finished") == roll.go()


def test_an_instance_that_was_replaced_again_in_the_same_step_is_another_deviation():
    """The first answer, to go on, was taken for that to all that followed."""
    roll = Clock()
    roll.commits = "abc"
    roll.at = {second: [lambda: roll.joins("a")] for second in (30, 35)}
    for seconds in (30, 35):
        assert (DeviationKind.MEMBER_REPLACED, seconds) == (roll.found().kind, roll.seconds)
        roll.answer(roll.decide(), SafeOption.CONTINUE)

    assert RollFinished("finished") == roll.go()


def test_joins_are_counted_over_all_steps():
    """An instance that is still to be restarted, and crashes in each step."""
    roll = Clock(names="abcd")
    roll.commits = "abcd"
    roll.at = {second: [lambda: roll.joins("d")] for second in (10, 30, 50)}
    found = roll.found()

    assert (DeviationKind.CRASH_LOOP, ("d",), 3) == (found.kind, found.instances, len(roll.commands))
    assert found.observed == "d has joined 3 times with 1 member"


@pytest.mark.parametrize("name", "ad")
def test_joins_are_counted_in_a_roll_that_was_killed_in_between(name):
    """They were counted anew."""
    roll = Clock(names="abcd")
    roll.commits = "abcd"
    roll.at = {second: [lambda: roll.joins(name)] for second in (10, 11)} | {12: [roll.crash, lambda: roll.joins(name)]}

    assert (DeviationKind.CRASH_LOOP, (name,)) == ((found := roll.found()).kind, found.instances)


@pytest.mark.unmeasured
def test_what_joined_before_an_answer_is_not_counted():
    roll = Clock(names="abcd")
    roll.commits = "abcd"
    roll.at = {second: [lambda: roll.joins("d")] for second in (10, 11, 30)}
    roll.passed_at()
    roll.write(QuestionAnswered(about="something", option=SafeOption.CONTINUE))

    assert RollFinished("finished") == roll.go()


@pytest.mark.unmeasured
@pytest.mark.parametrize("witness", [None, "hidden", "away", "moved"])
@pytest.mark.parametrize(("second", "number"), [(30, 2), (55, 3)])
def test_a_step_in_which_all_members_were_replaced_says_so_if_a_broker_was_away(witness, second, number):
    """Two instances that failed were taken for a broker that was away for longer than their sessions."""

    def away():
        roll.group = "" if witness == "hidden" else roll.group
        roll.was_away = witness == "away"

    def back():
        roll.group, roll.was_away = "Stable", False
        roll.coordinator = "b2:9092" if witness == "moved" else roll.coordinator
        for name in "abc":
            roll.joins(name)

    roll = Clock()
    roll.commits = "abc"
    roll.at = {second: [away], second + 1: [back]}
    if witness is None:
        assert (DeviationKind.MEMBER_REPLACED, (*"ab"[: number - 1],)) == (
            (found := roll.found()).kind,
            found.instances,
        )
        return

    assert RollFinished("finished") == roll.go()
    (said,) = (each for each in roll.records if isinstance(each, StepPassed) and each.observed["replaced"])
    assert number == said.step
    assert said.gates["replaced"].endswith("with other member ids than before")


def test_at_the_end_all_instances_are_looked_at_for_a_session():
    roll = Clock()
    roll.commits = "abc"
    last = roll.passed_at(3)

    waiting = roll.decide()
    assert isinstance(waiting, KeepWaiting)
    (alive,) = (result for result in waiting.results if result.gate == "alive")
    assert "whether every instance lives on for 45 s: 45 s left" == alive.text
    assert RollFinished("finished") == roll.go()
    assert last + 45 == roll.seconds
    (verified,) = (each for each in roll.records if isinstance(each, RoundVerified))
    assert "every instance lived on for 45 s" == verified.gates["alive"]


@pytest.mark.unmeasured
def test_an_instance_that_fails_at_the_end_is_not_verified():
    roll = Clock()
    roll.commits = "abc"
    roll.at = {roll.passed_at(3) + 40: [lambda: roll.dies("c")]}

    assert (DeviationKind.MEMBER_GONE, ("c",)) == (roll.found().kind, roll.state.deviation.instances)


def test_a_group_that_rebalances_shows_no_life_until_a_session_later():
    def changes(state):
        roll.group = state

    roll = Clock()
    roll.at = {20: [lambda: changes("PreparingRebalance")], 30: [lambda: changes("Stable")]}

    assert 30 + 46 == roll.passed_at()


@pytest.mark.parametrize(
    ("at_first", "then"),
    [(("b2:9092", False), ("b2:9092", False)), (("b1:9092", True), ("b1:9092", False))],
    ids=["another", "the same, which was away"],
)
def test_a_coordinator_that_has_begun_anew_counts_the_sessions_from_the_beginning(at_first, then):
    """Members of before were "live" 4 s after their restart: their session of 3 s had begun anew."""

    def becomes(coordinator):
        roll.coordinator, roll.was_away = coordinator

    roll = Clock()
    roll.at = {30: [lambda: becomes(at_first)], 31: [lambda: becomes(then)]}

    assert 30 + 46 == roll.passed_at()


def test_a_member_of_before_does_not_live_because_another_coordinator_counts_it():
    def moves():
        roll.coordinator = "b2:9092"

    roll = Clock(limits=evolve(LIMITS, soak_s=0.0))
    roll.run = lambda *_command: None  # the member of before is counted meanwhile
    roll.at = {30: [moves], 50: [lambda: roll.joins("a")]}

    assert 50 == roll.passed_at()


def test_waiting_for_life_does_not_run_into_the_time_limit():
    roll = Clock(limits=evolve(LIMITS, timeout_s=10))

    assert 65 == roll.passed_at()


def test_an_instance_that_is_not_ready_is_a_deviation_after_the_time():
    roll = Clock()
    roll.ready = {"a": "status 1: warming up"}
    found = roll.found()

    assert (DeviationKind.NOT_READY, ("a",)) == (found.kind, found.instances)
    assert "a is not ready: status 1: warming up" == found.observed
    assert SafeOption.AGAIN in found.options


# -- the way back ------------------------------------------------------------------------------------------------------


def back(**further):
    """A roll of which two steps have passed, and that turns back."""
    roll = Clock(**further)
    roll.commits = "abc"
    roll.passed_at(2)
    roll.write(QuestionAnswered(about="back", option=SafeOption.BACK))
    return roll


@pytest.mark.unmeasured
def test_on_the_way_back_all_others_have_to_be_there():
    """It said "0 other instances are there", and stopped one while another one was down."""
    roll = back()
    roll.at = {roll.seconds + 5: [lambda: roll.dies("b")]}
    found = roll.found()

    assert (DeviationKind.MEMBER_GONE, ("b",)) == (found.kind, found.instances)
    assert SafeOption.CONTINUE == found.options[0]  # its turn comes next
    roll.answer(roll.decide(), SafeOption.CONTINUE)
    assert RollFinished("rolled back") == roll.go()
    assert ["restart a 3.9.2", "restart b 3.9.2"] == roll.commands[2:]


@pytest.mark.unmeasured
def test_on_the_way_back_an_instance_that_is_gone_comes_first():
    roll = back()
    roll.dies("b")

    assert RollFinished("rolled back") == roll.go()
    assert ["restart b 3.9.2", "restart a 3.9.2"] == roll.commands[2:]


@pytest.mark.unmeasured
def test_on_the_way_back_two_that_are_gone_do_not_wait_for_each_other():
    roll = back()
    roll.dies("a")
    roll.dies("b")

    assert RollFinished("rolled back") == roll.go()
    began = [each for each in roll.records if isinstance(each, StepBegan)][2:]
    assert [("a", ("b",)), ("b", ())] == [(*each.instances, each.absent) for each in began]


@pytest.mark.unmeasured
@pytest.mark.parametrize(("step", "name", "is_asked"), [(3, "b", False), (3, "c", False), (4, "a", True)])
def test_on_the_way_back_an_instance_was_replaced_if_it_was_brought_back(step, name, is_asked):
    """Of one that no step had touched it said that this roll had restarted it, and that the new release fails."""
    roll = back()
    while not roll.state.step or roll.state.step.number < step:
        assert roll.act(roll.decide()) is None
    roll.at = {roll.seconds + 5: [lambda: roll.joins(name)]}

    if is_asked:
        assert (DeviationKind.MEMBER_REPLACED, (name,)) == ((found := roll.found()).kind, found.instances)
    else:
        assert RollFinished("rolled back") == roll.go()


@pytest.mark.unmeasured
def test_on_the_way_back_one_that_was_brought_back_has_to_stay():
    roll = back()
    while not any(isinstance(each, BackPlanned) for each in roll.records) or not roll.state.done.issuperset("ac"):
        assert roll.act(roll.decide()) is None
    roll.dies("a")
    question = roll.go()

    assert isinstance(question, AskOperator)
    (found,) = (each for each in roll.records if isinstance(each, DeviationFound))
    assert (DeviationKind.MEMBER_GONE, ("a",)) == (found.kind, found.instances)
    assert SafeOption.CONTINUE not in found.options
