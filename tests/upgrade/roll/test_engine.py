"""The next decision, for a group that does what it is told, and for one that does not."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.engine import (
    AskOperator,
    BeginStep,
    KeepWaiting,
    ReplanInstances,
    RollFinished,
    RunCommand,
    WriteRecord,
    next_instances,
)
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.gates import GateStatus, RollWatch
from streams_assignor.upgrade.roll.journal import (
    CommandEnded,
    CommandIntended,
    DeviationFound,
    InstancesPlanned,
    QuestionAnswered,
    RollResumed,
    StepBegan,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import InstanceConfig, RollInstance
from streams_assignor.upgrade.roll.state import begin, replay
from tests.upgrade.roll.fake_group import Operator, member, plan

OLD, NEW = InstanceConfig("2.3.1"), InstanceConfig("3.9.2", "2.3")
AFTER_A_SESSION = 50
WANTS_BACK = QuestionAnswered(about="back", option=SafeOption.BACK, by="--back")


def test_nothing_is_done_before_the_plan_is_confirmed():
    operator = Operator()
    operator.answers = {}

    assert ("plan", (SafeOption.CONTINUE, SafeOption.STOP)) == (operator.go().about, operator.go().options)
    assert [] == operator.commands


def test_two_bounces_are_two_rounds_with_a_verification_each():
    operator = Operator()

    assert RollFinished("finished") == operator.go()
    assert [f"restart {name} {NEW}" for name in "abc"] == operator.commands[:3]
    assert [f"restart {name} 3.9.2" for name in "abc"] == operator.commands[3:]
    verified = [record.gates["config"] for record in operator.records if hasattr(record, "round")]
    assert verified[0].startswith(f"as {NEW}; its metadata does not show upgrade.from")
    assert "as 3.9.2" == verified[1]  # members that rejoin with their partitions show that upgrade.from is gone


def test_a_batch_is_one_step():
    operator = Operator(batch=2, canary="c")
    operator.go()

    steps = [record.instances for record in operator.records if isinstance(record, StepBegan)]
    assert [("c",), ("a", "b")] * 2 == steps


@pytest.mark.parametrize("verbs", [("restart",), ("stop", "start"), ("by-hand",)])
@pytest.mark.parametrize("crashes", [False, True])
def test_the_rest_of_a_batch_waits_for_an_instance_beside_it_that_has_gone(verbs, crashes):
    """It was restarted as well, also by a call on the next day."""
    operator = Operator(batch=2, verbs=verbs)
    for _ in verbs:
        operator.until(RunCommand)
        operator.act(operator.decide())
    lost = operator.members.pop("c")
    if crashes:
        operator.crash()

    waiting = operator.go()
    assert [DeviationKind.MEMBER_GONE] == [each.kind for each in waiting.results]
    assert len(verbs) == len(operator.commands)
    operator.members["c"] = lost
    assert isinstance(operator.decide(), RunCommand)


def test_the_rest_of_a_batch_waits_until_the_group_is_described():
    operator = Operator(batch=2)
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.group = ""

    assert [DeviationKind.NOT_VISIBLE] == [each.kind for each in operator.go().results]
    assert 1 == len(operator.commands)


@pytest.mark.parametrize("gone", [["a"], ["c"]])
def test_what_is_gone_itself_or_stopped_is_started_whoever_else_has_gone(gone):
    operator = Operator(verbs=("stop", "start"))
    operator.until(RunCommand)
    operator.act(operator.decide())
    for name in gone:
        operator.members.pop(name, None)

    assert ("a", "start") == ((command := operator.decide()).instance, command.verb)


def test_stop_and_start_are_two_commands_of_one_step():
    operator = Operator(verbs=("stop", "start"))
    operator.go()

    assert [f"stop a {NEW}", f"start a {NEW}", f"stop b {NEW}"] == operator.commands[:3]


def test_an_offline_plan_starts_nobody_before_all_are_stopped():
    operator = Operator(offline=True, verbs=("stop", "start"))

    assert RollFinished("finished") == operator.go()
    assert ["stop a", "stop b", "stop c", "start a"] == [text.rpartition(" ")[0] for text in operator.commands[:4]]


def test_a_leader_that_has_to_be_last_is_last():
    roll_plan = plan(origin="2.3.1", target="2.8.2")
    state = begin(roll_plan)
    (first, *_) = roll_plan.rounds

    assert first.leader_last
    assert ("b",) == next_instances(state, first, "a")
    assert ("a",) == next_instances(state, first, None)
    named = begin(plan(origin="2.3.1", target="2.8.2", leader="a"))
    assert [("b",), ("a",)] == [next_instances(named, first, seen) for seen in (None, "b")]
    assert ("a",) == next_instances(state.__class__(**{**_fields(state), "done": frozenset("bc")}), first, "a")


def _fields(state):
    return {name: getattr(state, name) for name in state.__slots__ if not name.startswith("__")}


# -- a way back ------------------------------------------------------------------------------------------------------


def test_back_after_one_of_three_touches_only_that_one():
    operator = Operator()
    operator.until(BeginStep)
    operator.act(operator.decide())
    while operator.state.step:
        operator.act(operator.decide())
    operator.write(WANTS_BACK)

    assert RollFinished("rolled back") == operator.go()
    assert [f"restart a {NEW}", "restart a 2.3.1"] == operator.commands


def test_back_in_the_middle_of_a_command_touches_its_instance():
    operator = Operator()
    operator.until(RunCommand)
    operator.write(CommandIntended(step=1, instance="a", verb="restart"))
    operator.crash()
    operator.write(WANTS_BACK)

    assert RollFinished("rolled back") == operator.go()
    assert ["restart a 2.3.1"] == operator.commands


def test_back_before_anything_was_done_is_the_end():
    operator = Operator()
    operator.until(BeginStep)
    operator.write(WANTS_BACK)

    assert RollFinished("rolled back") == operator.go()
    assert [] == operator.commands


def test_back_after_the_end_undoes_all_rounds():
    operator = Operator()
    operator.go()
    operator.write(WANTS_BACK)

    assert RollFinished("rolled back") == operator.go()
    assert [f"restart {name} {NEW}" for name in "abc"] == operator.commands[6:9]
    assert [f"restart {name} 2.3.1" for name in "abc"] == operator.commands[9:]


def test_the_way_back_has_no_way_back():
    operator = Operator()
    operator.go()
    operator.write(WANTS_BACK)
    operator.until(RunCommand)
    operator.write(WANTS_BACK)

    assert RollFinished("rolled back") == operator.go()
    assert 12 == len(operator.commands)


def test_back_while_all_are_stopped_starts_the_old_release():
    operator = Operator(offline=True, verbs=("stop", "start"))
    while len(operator.commands) < 2:
        operator.act(operator.decide())
    operator.write(WANTS_BACK)
    operator.watch = operator.watch.__class__()

    assert RollFinished("rolled back") == operator.go()
    assert ["start a 2.3.1", "start b 2.3.1"] == operator.commands[2:]


def test_back_from_a_step_that_failed_begins_with_its_instance():
    operator = Operator()
    operator.broken = {"c": None}
    operator.patience = 100
    operator.found()
    operator.broken = {}
    operator.answer(operator.decide(), SafeOption.BACK)

    assert RollFinished("rolled back") == operator.go()
    assert ["restart c 2.3.1", "restart a 2.3.1", "restart b 2.3.1"] == operator.commands[3:]


def test_before_a_round_without_a_way_back_it_asks_once():
    operator = Operator(origin="1.1.1", target="2.0.1")
    question = operator.go()

    assert "no-way-back" == question.about
    assert "no bounce leads back: stop every member of 2.0.1" in question.text
    assert (SafeOption.CONTINUE, SafeOption.BACK, SafeOption.STOP) == question.options
    operator.answer(question, SafeOption.CONTINUE)
    assert RollFinished("finished") == operator.go()


def test_before_a_group_stops_it_asks_about_the_start_that_has_no_way_back():
    """Nobody processes records while it waits for an answer between the stop and the start."""
    operator = Operator(origin="1.1.1", target="4.3.1", offline=True, verbs=("stop", "start"))
    question = operator.go()

    assert ("no-way-back", []) == (question.about, operator.commands)
    assert question.text.startswith("start every member as 4.3.1: there is no way back instance by instance")
    assert (SafeOption.CONTINUE, SafeOption.STOP) == question.options
    operator.answer(question, SafeOption.CONTINUE)
    assert RollFinished("finished") == operator.go()
    assert 6 == len(operator.commands)


def test_after_a_round_without_a_way_back_the_group_stops():
    operator = Operator(origin="1.1.1", target="2.0.1", verbs=("stop", "start"))
    operator.answers["no-way-back"] = SafeOption.CONTINUE
    operator.go()
    before = len(operator.commands)
    operator.write(WANTS_BACK)

    assert RollFinished("rolled back") == operator.go()
    assert ["stop a 2.0.1", "stop b 2.0.1", "stop c 2.0.1", "start a 1.1.1"] == operator.commands[before : before + 4]


# -- questions -------------------------------------------------------------------------------------------------------


def test_an_answer_can_stop_until_the_same_command_is_called_again():
    operator = Operator()
    question = operator.until(AskOperator)
    operator.answer(question, SafeOption.STOP)

    assert RollFinished("") == operator.go()
    operator.crash()
    assert RollFinished("finished") == operator.go()


UNSAFE = Expectation(outcomes=(ExpectedOutcome(versions=(11,), violations=("two owners",)),))
UNSAFE_AT_FIRST = Expectation(
    outcomes=(*UNSAFE.outcomes, ExpectedOutcome(versions=(6,)), ExpectedOutcome(versions=(3,)))
)


def test_an_unsafe_forecast_is_asked_about_before_the_first_command():
    operator = Operator()
    operator.expectation = UNSAFE_AT_FIRST
    question = operator.go()

    assert ("unsafe-forecast", "the forecast is unsafe: two owners") == (question.about, question.text)
    assert [] == operator.commands
    operator.answer(question, SafeOption.CONTINUE)
    operator.until(RunCommand)


def test_after_an_unsafe_forecast_that_somebody_goes_on_with_versions_are_those_that_all_read():
    """Found by ``sweep --matrix roll``: what came about was better than foreseen, and a way back could not go on."""
    operator = Operator()
    operator.expectation = Expectation(outcomes=(ExpectedOutcome(versions=(11,), violations=("a member fails",)),))
    operator.answers["unsafe-forecast"] = SafeOption.CONTINUE
    operator.until(RunCommand)
    operator.act(operator.decide())
    written = operator.decide()

    assert isinstance(written, WriteRecord)
    assert "members send version 4, which all members read" == written.record.gates["versions"]


def test_a_step_that_was_not_touched_begins_anew_after_a_crash():
    """Its forecast may be old."""
    operator = Operator()
    operator.expectation = UNSAFE
    operator.go()
    operator.crash()
    operator.expectation = Expectation()

    assert RollFinished("finished") == operator.go()
    assert 6 == max(record.step for record in operator.records if isinstance(record, StepPassed))


def torn(operator):
    operator.watch = RollWatch()
    operator.write(RollResumed(torn=True))


def test_a_record_that_was_torn_in_a_step_may_have_been_the_intent_of_a_command_that_has_run():
    operator = Operator()
    operator.until(RunCommand)
    torn(operator)
    operator.seconds += AFTER_A_SESSION
    operator.decide()
    operator.seconds += AFTER_A_SESSION
    question = operator.go()

    assert ("unknown-outcome", ("a",), []) == (question.about, question.instances, operator.commands)
    operator.answer(question, SafeOption.AGAIN)
    operator.go()
    assert 6 == len(operator.commands)


def test_what_is_torn_after_a_deviation_was_its_answer():
    operator = Operator(verbs=("stop", "start"))
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.write(
        DeviationFound(step=1, kind=DeviationKind.LAG, expected="", observed="", likely="", options=(SafeOption.WAIT,))
    )
    torn(operator)

    assert isinstance(operator.decide(), RunCommand)


def test_a_command_that_fails_is_a_deviation_with_its_output():
    operator = Operator()
    operator.until(RunCommand)
    operator.write(CommandIntended(step=1, instance="a", verb="restart"))
    operator.write(CommandEnded(step=1, instance="a", verb="restart", status=7, output="no such pod"))
    found = operator.found()

    assert (DeviationKind.COMMAND_FAILED, ("a",)) == (found.kind, found.instances)
    assert "restart of a ended with status 7: no such pod" == found.observed
    assert SafeOption.BACK in found.options
    operator.answer(operator.decide(), SafeOption.AGAIN)
    assert RollFinished("finished") == operator.go()
    assert f"restart a {NEW}" == operator.commands[0]


def test_a_command_that_fails_without_output_may_have_done_its_work():
    operator = Operator()
    operator.until(RunCommand)
    operator.write(CommandIntended(step=1, instance="a", verb="restart"))
    operator.run("a", "restart", NEW)
    operator.write(CommandEnded(step=1, instance="a", verb="restart", status=1))

    assert "restart of a ended with status 1: without output" == operator.found().observed
    operator.answer(operator.decide(), SafeOption.CONTINUE)
    assert RollFinished("finished") == operator.go()
    assert f"restart b {NEW}" == operator.commands[0]


def test_a_command_that_fails_is_accepted_of_its_instance_alone():
    """The second failure of a batch was passed over."""
    operator = Operator(batch=2)
    operator.until(RunCommand)
    for name in "ab":
        operator.write(CommandIntended(step=1, instance=name, verb="restart"))
        operator.run(name, "restart", NEW)
        operator.write(CommandEnded(step=1, instance=name, verb="restart", status=1))
        assert (name,) == operator.found().instances
        operator.answer(operator.decide(), SafeOption.CONTINUE)

    assert RollFinished("finished") == operator.go()


def test_a_step_that_has_passed_says_which_members_are_new_and_not_all_of_them():
    """The journal grew by the square of the instances: 500 of four threads could not be continued after two rounds."""
    operator = Operator()
    operator.go()
    said = [each.members for each in operator.records if isinstance(each, StepPassed)]

    assert ["abc", "b", "c", "a", "b", "c"] == ["".join(members) for members in said]


@pytest.mark.parametrize("release", ["2.8.2", "2.3.1"])
def test_an_instance_that_somebody_has_started_meanwhile_is_not_started_a_second_time_unasked(release):
    """Who was called while the group was stopped, and roll had ended, started the rest by hand."""
    operator = Operator(origin="2.3.1", target="2.8.2", offline=True, verbs=("stop", "start"))
    operator.answers["no-way-back"] = SafeOption.CONTINUE
    while "start a 2.8.2" not in operator.commands:
        assert operator.act(operator.decide()) is None
    operator.members["b"] = member("b", InstanceConfig(release), 99)
    operator.crash()
    again = [] if release == "2.8.2" else ["start b 2.8.2"]
    if again:
        operator.go()
        operator.seconds += AFTER_A_SESSION
        assert (DeviationKind.OLD_RELEASE, ("b",)) == ((found := operator.found()).kind, found.instances)
        operator.answer(operator.decide(), SafeOption.AGAIN)

    assert RollFinished("finished") == operator.go()
    assert ["start a 2.8.2", "start c 2.8.2", *again] == operator.commands[3:]


def test_an_instance_without_members_is_forgotten_with_the_step():
    passed = [StepPassed(step=number, members={"a": ids}) for number, ids in ((1, ("a-1",)), (2, ()))]
    begun = [StepBegan(step=number, instances=("b",)) for number in (1, 2)]
    operator = Operator()
    operator.until(BeginStep)
    for began, end, members in zip(begun, passed, ({"a": ("a-1",)}, {}), strict=True):
        operator.records += began, end
        assert members == operator.state.members


# -- crashes ---------------------------------------------------------------------------------------------------------


@pytest.mark.unmeasured
def test_a_crash_after_each_record_changes_nothing():
    whole = Operator()
    whole.go()
    for number in range(1, len(whole.records)):
        operator = Operator()
        while len(operator.records) < number:
            operator.act(operator.decide())
        operator.crash()
        pending = operator.state.step and None in operator.state.step.ended.values()
        if pending:
            assert not pending or operator.commands, number
        assert RollFinished("finished") == operator.go(), number
        assert whole.commands == operator.commands, number


@pytest.mark.parametrize(
    ("further", "number", "wrong"),
    [
        ({"verbs": ("stop", "start"), "offline": True}, 0, "abc"),
        ({"verbs": ("stop", "start"), "offline": True}, 1, "b"),
        ({"verbs": ("stop", "start"), "offline": True}, 2, "c"),
        ({"batch": 3}, 0, "abc"),
        ({"batch": 3}, 2, "c"),
    ],
    ids=str,
)
def test_a_roll_that_is_continued_after_somebody_else_has_done_it_touches_nobody_unasked(further, number, wrong):
    """It stopped every instance of a group that another machine had upgraded meanwhile, or the rest of a batch."""
    operator = Operator(origin="2.3.1", target="2.8.2", **further)
    operator.answers["no-way-back"] = SafeOption.CONTINUE
    while len(operator.commands) < number or not isinstance(operator.decide(), RunCommand):
        assert operator.act(operator.decide()) is None
    done = [*operator.commands]
    operator.members = {name: member(name, InstanceConfig("2.8.2"), 99) for name in "abc"}
    operator.crash()
    found = operator.found()

    assert (DeviationKind.OTHER_RELEASE, (*wrong,), done) == (found.kind, found.instances, operator.commands)
    assert SafeOption.AGAIN not in found.options  # they had no command


def unknown(happens):
    operator = Operator()
    operator.until(RunCommand)
    operator.write(CommandIntended(step=1, instance="a", verb="restart"))
    if happens:
        operator.run("a", "restart", NEW)
    operator.crash()
    return operator


def test_a_restart_that_the_group_shows_is_not_repeated():
    operator = unknown(happens=True)

    assert RollFinished("finished") == operator.go()
    assert f"restart b {NEW}" == operator.commands[0]
    assert "found" == next(record.how for record in operator.records if isinstance(record, CommandEnded))


def test_a_restart_that_the_group_does_not_show_is_looked_for_and_then_asked_about():
    operator = unknown(happens=False)
    waiting = operator.go()

    assert isinstance(waiting, KeepWaiting)
    assert "restart a was under way when roll ended" in waiting.results[0].text
    operator.seconds += 46
    question = operator.go()
    assert ("unknown-outcome", ("a",)) == (question.about, question.instances)
    assert [] == operator.commands
    operator.answer(question, SafeOption.AGAIN)
    assert RollFinished("finished") == operator.go()
    assert f"restart a {NEW}" == operator.commands[0]


def test_an_operator_who_knows_that_it_has_run_goes_on_with_the_gates():
    operator = unknown(happens=False)
    operator.seconds += 46
    operator.patience = 1
    operator.go()
    operator.seconds += 46
    operator.answer(operator.go(), SafeOption.CONTINUE)
    operator.run("a", "restart", NEW)

    assert RollFinished("finished") == operator.go()


def test_a_stop_whose_end_nobody_saw_has_happened_if_nobody_is_there():
    operator = Operator(verbs=("stop", "start"))
    operator.until(RunCommand)
    operator.write(CommandIntended(step=1, instance="a", verb="stop"))
    operator.crash()

    assert isinstance(operator.go(), KeepWaiting)
    operator.run("a", "stop", NEW)
    assert RollFinished("finished") == operator.go()
    assert f"start a {NEW}" == operator.commands[0]


def test_a_step_by_hand_that_was_under_way_is_only_waited_for():
    operator = Operator(verbs=("by-hand",))
    operator.until(RunCommand)
    operator.write(CommandIntended(step=1, instance="a", verb="by-hand"))
    operator.crash()

    waiting = operator.go()
    assert isinstance(waiting, KeepWaiting)
    operator.seconds += 10_000
    waiting = operator.go()
    assert (True, 0.0) == (isinstance(waiting, KeepWaiting), waiting.left_s)
    operator.run("a", "by-hand", NEW)
    assert RollFinished("finished") == operator.go()


# -- deviations ------------------------------------------------------------------------------------------------------


def broken(made, seconds=0, **further):
    """A roll whose first restart makes something else of instance a."""
    operator = Operator(**further)
    operator.broken = {"a": made}
    operator.patience = seconds // 10
    return operator


def test_an_instance_that_does_not_return_is_a_deviation_after_the_time():
    operator = broken(None, 700)
    found = operator.found()

    assert (DeviationKind.UNOWNED, ("a",)) == (found.kind, found.instances)
    assert "0_0 without owner for 310 s; a has 0 of 1 member" == found.observed
    operator.answer(operator.decide(), SafeOption.CONTINUE)
    operator.patience = 100
    found = operator.found()
    assert (DeviationKind.NOT_RETURNED, ("a",)) == (found.kind, found.instances)
    assert "a joins with 1 member" == found.expected
    operator.broken = {}
    operator.answer(operator.decide(), SafeOption.AGAIN)
    assert RollFinished("finished") == operator.go()
    assert 7 == len(operator.commands)


def test_waiting_longer_is_an_answer():
    operator = broken(None, 400)
    operator.found()
    operator.answer(operator.decide(), SafeOption.WAIT)
    waiting = operator.go()
    assert isinstance(waiting, KeepWaiting)
    assert GateStatus.FAILED not in {result.status for result in waiting.results}
    operator.run("b", "restart", NEW)
    operator.broken = {}
    operator.run("a", "restart", NEW)

    operator.members["b"] = member("b", OLD)
    assert RollFinished("finished") == operator.go()


def test_an_old_member_that_is_still_counted_beside_the_new_one_is_named():
    """It was "a has 1 of 1 member", as if all were well."""
    operator = Operator(limits=plan().limits.__class__(timeout_s=100, max_unowned_s=900))
    operator.until(RunCommand)
    operator.more = (member("a", OLD, active=frozenset()),)
    operator.patience = 25

    found = operator.found()
    assert (DeviationKind.STILL_RUNNING, ("a",)) == (found.kind, found.instances)
    assert "a has joined; 1 member of before still counted" in found.observed


def test_a_member_that_is_the_old_one_is_still_running():
    operator = broken(member("a", OLD), 250, limits=plan().limits.__class__(timeout_s=100, max_unowned_s=900))

    found = operator.found()
    assert (DeviationKind.STILL_RUNNING, ("a",)) == (found.kind, found.instances)
    assert SafeOption.AGAIN in found.options


@pytest.mark.parametrize(
    ("made", "kind", "text"),
    [
        (member("a", OLD, 2), DeviationKind.OLD_RELEASE, "a: it runs 2.3.1"),
        (member("a", InstanceConfig("2.8.2"), 2), DeviationKind.OTHER_RELEASE, "a: it runs 2.8.2"),
        (member("a", OLD, 2, unpinned=(), pinned=()), DeviationKind.OTHER_RELEASE, "a: it runs no known release"),
        (member("a", NEW, 2, problem="no userdata"), DeviationKind.OTHER_RELEASE, "a: no userdata"),
        (
            member("a", InstanceConfig("3.9.2"), 2),
            DeviationKind.MISSING_UPGRADE_FROM,
            "a: it rebalances cooperatively instead of eagerly",
        ),
        (
            member("a", InstanceConfig("3.9.2", "1.1"), 2),
            DeviationKind.WRONG_VALUE,
            "a: it sends version 2, as with upgrade.from",
        ),
    ],
)
def test_an_instance_that_returns_as_something_else_is_said(made, kind, text):
    found = broken(made, AFTER_A_SESSION).found()

    assert (kind, text, ("a",)) == (found.kind, found.observed, found.instances)
    assert f"a runs {NEW}" == found.expected
    assert {SafeOption.AGAIN, SafeOption.BACK} <= {*found.options}


def test_an_old_process_that_has_joined_anew_before_its_restart_is_none_that_has_returned():
    """It was silent, so that it has another member id than when the step began, and is counted after it was stopped."""
    operator = Operator()
    decision = operator.until(RunCommand)
    operator.members["a"] = member("a", OLD, 7)
    operator.broken = {"a": operator.members["a"]}
    operator.act(decision)

    (late,) = (result for result in operator.act(operator.decide()).results if result.gate == "returned")
    assert "a has not joined again: its members are those of before" == late.text
    operator.members["a"] = member("a", NEW, 8)
    operator.broken = {}
    assert RollFinished("finished") == operator.go()


def test_a_member_that_is_as_it_was_is_waited_for_until_the_session_of_a_stopped_one_is_over():
    """The old process can have joined anew while its command was running."""
    operator = broken(member("a", OLD, 2))
    waiting = operator.go()
    operator.members["a"] = member("a", NEW, 3)
    operator.broken = {}

    (config,) = (result for result in waiting.results if result.gate == "config")
    assert (GateStatus.WAITING, "a: it runs 2.3.1") == (config.status, config.text)
    assert RollFinished("finished") == operator.go()


PINNED = {"origin": "1.1.1", "target": "2.4.1"}


@pytest.mark.parametrize(
    ("config", "kind", "text"),
    [
        (InstanceConfig("2.4.1"), DeviationKind.MISSING_UPGRADE_FROM, "a: it sends version 2 instead of 1"),
        (InstanceConfig("2.4.1", "0.10.0"), DeviationKind.WRONG_VALUE, "a: it sends version 1 instead of 2"),
    ],
)
def test_a_pinned_version_shows_upgrade_from(config, kind, text):
    made = member("a", config, 2)
    operator = broken(made, **PINNED)
    found = operator.found()

    assert kind == found.kind
    assert text.partition(" ")[0] == found.observed.partition(" ")[0]


def test_a_value_that_is_still_there_after_the_second_bounce_is_said():
    operator = Operator(**PINNED)
    operator.answers["no-way-back"] = SafeOption.CONTINUE
    while operator.state.at == 0:
        operator.act(operator.decide())
    operator.broken = {"b": member("b", InstanceConfig("2.4.1", "1.1"), 9)}
    operator.patience = AFTER_A_SESSION // 10
    found = operator.found()

    assert (DeviationKind.VALUE_REMAINS, "b: it sends version 2, as with upgrade.from") == (found.kind, found.observed)


def test_an_instance_that_joins_again_and_again_is_a_crash_loop():
    operator = Operator()
    operator.until(RunCommand)
    operator.act(operator.decide())
    for number in range(5, 8):
        operator.members["a"] = member("a", NEW, number, rejoins=True)
        operator.decide()
    found = operator.found()

    assert (DeviationKind.CRASH_LOOP, ("a",)) == (found.kind, found.instances)
    assert found.observed.startswith("a has joined 3 times with 1 member")


def test_another_instance_that_fails_is_a_deviation_after_the_time():
    operator = Operator(limits=plan().limits.__class__(timeout_s=100, max_unowned_s=900))
    operator.until(RunCommand)
    operator.act(operator.decide())
    gone = operator.members.pop("b")
    operator.patience = 20
    found = operator.found()

    assert (DeviationKind.MEMBER_GONE, ("b",)) == (found.kind, found.instances)
    assert SafeOption.CONTINUE not in found.options
    operator.members["b"] = gone
    operator.answer(operator.decide(), SafeOption.WAIT)
    assert RollFinished("finished") == operator.go()


def test_a_group_with_a_missing_instance_is_not_touched():
    operator = Operator()
    del operator.members["c"]

    assert isinstance(operator.go(), KeepWaiting)
    operator.patience = 100
    found = operator.found()
    assert DeviationKind.MEMBER_GONE == found.kind
    assert not {SafeOption.AGAIN, SafeOption.BACK} & {*found.options}
    assert [] == operator.commands


def test_another_instance_that_somebody_else_changes_is_said():
    operator = Operator()
    operator.members["c"] = member("c", InstanceConfig("2.8.2"))

    assert (DeviationKind.OTHER_RELEASE, "c runs 2.8.2") == (operator.found().kind, operator.state.deviation.observed)


def stranger(name="x", config=OLD):
    return member(name, config, 99, instance="", label="x", active=frozenset())


def replanned(operator, names, **configs):
    """The answer that the instances of now are the plan, and that plan."""
    found = operator.found()
    assert SafeOption.REPLAN in found.options
    operator.answer(operator.decide(), SafeOption.REPLAN)
    assert ReplanInstances() == operator.decide()
    operator.write(InstancesPlanned(instances=tuple(map(RollInstance, names)), configs=configs))


def test_a_member_that_no_plan_has_is_said_and_taken_into_the_plan():
    """After "continue" it said that every instance runs the release, with a member that ran the old one."""
    operator = Operator()
    operator.more = (stranger(),)
    found = operator.found()

    assert (DeviationKind.FOREIGN_MEMBER, "x is no instance of the plan") == (found.kind, found.observed)
    assert (SafeOption.WAIT, SafeOption.REPLAN, SafeOption.STOP) == found.options
    replanned(operator, "abcx", x=OLD)
    operator.more = ()
    operator.members["x"] = member("x", OLD)
    assert RollFinished("finished") == operator.go()
    assert [f"restart {name} {NEW}" for name in "abcx"] == operator.commands[:4]


def test_an_instance_that_joins_in_the_middle_of_a_step_is_restarted_in_its_turn():
    operator = Operator(canary="c", leader="b")
    operator.until(RunCommand)
    operator.more = (stranger(),)
    operator.act(operator.decide())
    replanned(operator, "abcx", x=OLD)
    operator.more = ()
    operator.members["x"] = member("x", OLD)

    assert RollFinished("finished") == operator.go()
    assert [f"restart {name} {NEW}" for name in "cabx"] == operator.commands[:4]


def test_a_stranger_beside_an_instance_that_does_not_return_concerns_no_instance():
    """The deviation took the instances of the gates that stand beside it."""
    operator = Operator()
    operator.broken = {"a": None}
    operator.until(RunCommand)
    operator.more = (stranger(),)
    found = operator.found()

    assert (DeviationKind.FOREIGN_MEMBER, ()) == (found.kind, found.instances)
    assert "a has 0 of 1 member" in found.observed


def test_an_instance_that_was_stopped_for_good_is_forgotten():
    """ "continue" was ignored without a word, and nothing led on."""
    operator = Operator(limits=plan().limits.__class__(timeout_s=100, max_unowned_s=900), canary="c", leader="c")
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.act(operator.decide())
    del operator.members["b"]
    operator.patience = 20
    replanned(operator, "ac")

    assert RollFinished("finished") == operator.go()
    assert [f"restart {name} {config}" for config in (NEW, "3.9.2") for name in "ca"] == operator.commands


@pytest.mark.parametrize("names", ["bc", "b"])
def test_the_instance_of_a_step_can_be_forgotten_by_a_file(names):
    operator = Operator(batch=2)
    operator.broken = {"a": None}
    operator.patience = 20
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.answer(AskOperator("deviation", "", ()), SafeOption.REPLAN)
    operator.write(InstancesPlanned(instances=tuple(map(RollInstance, names))))

    assert {*names} == {*operator.state.configs}
    assert (("b",) if operator.state.step else None) == (operator.state.step and operator.state.step.instances)


def test_nothing_but_a_group_has_instances_that_come_and_go():
    operator = Operator(kind="brokers")
    operator.more = (stranger(),)

    assert (SafeOption.WAIT, SafeOption.STOP) == operator.found().options


def test_a_task_of_a_stranger_has_an_owner():
    operator = Operator()
    operator.more = (stranger(),)
    operator.more = (evolve(operator.more[0], active=frozenset({"0_9"})),)

    assert "x" == operator.look().owners()["0_9"]


def test_two_owners_are_said_at_once():
    operator = Operator()
    operator.members["c"] = member("c", OLD, active=frozenset({"0_0"}))
    found = operator.found()

    assert (DeviationKind.TWO_OWNERS, "two owners: 0_0 of a and c") == (found.kind, found.observed)


def test_a_group_that_nobody_describes_is_waited_for():
    operator = Operator()
    operator.group = ""
    operator.members = {}

    waiting = operator.go()
    assert isinstance(waiting, KeepWaiting)
    assert "visible" == waiting.results[0].gate
    operator.seconds = 1000
    assert DeviationKind.NOT_VISIBLE == operator.found().kind


def test_a_group_that_rebalances_is_waited_for():
    operator = Operator()
    operator.group = "PreparingRebalance"
    waiting = operator.go()

    assert "PreparingRebalance" in {result.text for result in waiting.results}
    operator.group = "Stable"
    operator.members["b"] = member("b", OLD, rejoins=True)
    operator.seconds = 601
    found = operator.found()
    assert (DeviationKind.NOT_STABLE, "b about to rejoin") == (found.kind, found.observed)


def test_a_question_about_a_deviation_is_asked_until_it_is_answered():
    operator = Operator()
    operator.members["c"] = member("c", OLD, active=frozenset({"0_0"}))
    operator.found()

    assert "deviation" == operator.go().about
    operator.members["c"] = member("c", OLD)
    assert "deviation" == operator.go().about
    operator.crash()
    assert RollFinished("finished") == operator.go()


def test_the_state_is_the_same_however_it_is_replayed():
    operator = Operator()
    operator.go()

    state = begin(operator.records[0].plan)
    for record in operator.records[1:]:
        state = state.after(record)
    assert replay(operator.records) == state


def test_an_instance_with_two_threads_is_back_with_two_members():
    roll_plan = plan(instances=(RollInstance("a", 2), RollInstance("b")), origin="3.9.2", target="4.3.1")
    operator = Operator(roll_plan)
    config = InstanceConfig("3.9.2")
    operator.members["a-2"] = member("a", config, 12, active=frozenset())
    operator.members["b"] = member("b", config)
    operator.until(RunCommand)
    operator.act(operator.decide())
    del operator.members["a-2"]

    waiting = operator.go()
    assert "a has 1 of 2 members" in {result.text for result in waiting.results}
    operator.members["a-2"] = member("a", InstanceConfig("4.3.1"), 13, active=frozenset())
    operator.until(BeginStep)


def test_an_unexpected_answer_changes_nothing():
    operator = Operator()
    before = operator.state
    operator.write(QuestionAnswered(about="something", option=SafeOption.CONTINUE))

    assert before.confirmed == operator.state.confirmed
    assert before.waits + 1 == operator.state.waits


def test_decisions_about_a_deviation_are_records():
    operator = Operator()
    operator.members["c"] = member("c", OLD, active=frozenset({"0_0"}))
    decision = operator.until(WriteRecord)
    operator.act(decision)
    decision = operator.decide()

    assert isinstance(decision, WriteRecord | AskOperator)
    while not isinstance(decision, AskOperator):
        operator.act(decision)
        decision = operator.decide()
    assert isinstance(operator.records[-1], DeviationFound)


def test_what_a_round_finds_can_be_restarted_again():
    """Also on the way back, where there is no way back and no step."""
    operator = Operator()
    while operator.state.remaining:
        operator.act(operator.decide())
    operator.members["b"] = member("b", InstanceConfig("3.9.2"), 77)
    found = operator.found()

    assert (DeviationKind.MISSING_UPGRADE_FROM, ("b",)) == (found.kind, found.instances)
    assert SafeOption.AGAIN in found.options
    operator.answer(operator.decide(), SafeOption.AGAIN)
    assert RollFinished("finished") == operator.go()
    assert f"restart b {NEW}" == operator.commands[3]


def test_an_instance_that_a_step_has_not_reached_cannot_be_restarted_again():
    operator = Operator()
    operator.members["c"] = member("c", InstanceConfig("2.8.2"))

    assert SafeOption.AGAIN not in operator.found().options


@pytest.mark.parametrize("name", "ac")
def test_an_instance_beside_those_of_a_step_cannot_be_restarted_again(name):
    """The answer was taken, and nothing was restarted."""
    operator = Operator()
    while operator.state.steps < 2 or operator.state.step.is_untouched:
        operator.act(operator.decide())
    operator.members[name] = member(name, InstanceConfig("2.8.2"), 77)
    found = operator.found()

    assert (("b",), (name,)) == (operator.state.step.instances, found.instances)
    assert SafeOption.AGAIN not in found.options
