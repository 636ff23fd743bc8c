"""The gates of a group, one by one."""

import pytest
from attrs import evolve

from streams_assignor.upgrade import release_named
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.engine import BeginStep, KeepWaiting, RollFinished, RunCommand
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.gates import GatePhase, GateStatus, RollWatch
from streams_assignor.upgrade.roll.group import GROUP_GATES, GROUP_RULES, judge_member
from streams_assignor.upgrade.roll.group_observation import GroupEpochs, PartitionOffsets, StateBehind
from streams_assignor.upgrade.roll.journal import RollResumed, RoundVerified, StepPassed
from streams_assignor.upgrade.roll.plan import InstanceConfig, RollInstance
from streams_assignor.upgrade.roll.state import ABOUT_DEVIATION
from tests.upgrade.roll.fake_group import Operator, member, plan

RELEASES_2_8 = tuple(map(release_named, ("2.8.0", "2.8.1", "2.8.2")))


def in_step(**further):
    """An operator whose first command has run."""
    operator = Operator(**further)
    operator.until(RunCommand)
    operator.act(operator.decide())
    return operator


def gate(operator, name):
    """The text of a gate that is not passed."""
    waiting = operator.go()
    assert isinstance(waiting, KeepWaiting), waiting
    return next(result for result in waiting.results if result.gate == name)


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (PartitionOffsets(committed=3, end=10), 7),
        (PartitionOffsets(committed=12, end=10), 0),
        (PartitionOffsets(end=0), 0),
        (PartitionOffsets(end=4), None),
        (PartitionOffsets(committed=4), None),
    ],
)
def test_the_lag_of_a_partition_is_what_is_not_committed(offsets, expected):
    assert expected == offsets.lag


def read(committed, end=9_000_000, owner="a-2", task="0_0"):
    return {"in-0": PartitionOffsets(committed=committed, end=end, owner=owner, task=task)}


def passed_text(operator, name):
    """The text of a gate when the step has passed."""
    while not (passed := [record for record in operator.records if isinstance(record, StepPassed)]):
        assert operator.act(operator.decide()) is None
    return passed[0].gates[name]


def test_a_task_whose_owner_joined_far_behind_its_changelogs_is_waited_for_until_it_commits():
    operator = in_step()
    operator.offsets = read(5)
    operator.state_lags = {"0_0": StateBehind("a-2", 10_001), "0_1": StateBehind("b-1", 10_000)}
    found = gate(operator, "lag")

    text = "state of 0_0 up to 10,001 offsets behind when its owner joined, and nothing of it is committed since"
    assert (text, DeviationKind.LAG, "a lag of at most 10,000, or commits") == (found.text, found.kind, found.expected)
    operator.offsets = read(6)
    assert "state at most 10,000 offsets behind; input at most 8,999,994 records" == passed_text(operator, "lag")


def test_a_step_does_not_begin_while_a_task_restores_that_has_something_to_process():
    """Somebody else may have restarted its owner between the steps."""
    operator = Operator()
    operator.offsets, operator.state_lags = read(5, owner="a-1"), {"0_0": StateBehind("a-1", 10_001)}
    closed = gate(operator, "lag")

    assert (DeviationKind.LAG, []) == (closed.kind, operator.commands)
    operator.offsets = read(6, owner="a-1")
    operator.until(RunCommand)


def test_a_deviation_that_was_accepted_before_a_step_is_found_in_it():
    """It named no instance, and was passed over after the step, whatever its command had made of it."""
    operator = Operator()
    for owner in ("a-1", "a-2"):
        operator.offsets, operator.state_lags = read(5, owner=owner), {"0_0": StateBehind(owner, 10_001)}
        assert DeviationKind.LAG is gate(operator, "lag").kind
        operator.seconds += 601
        assert DeviationKind.LAG is operator.found().kind
        operator.answer(operator.decide(), SafeOption.CONTINUE)


def test_a_deviation_that_was_waited_for_before_a_step_is_found_at_once_in_it():
    """It was waited for again, until the limit of the step."""
    operator = Operator()
    owners = {name: seen.active for name, seen in operator.members.items()}
    operator.members["b"] = evolve(operator.members["b"], active=owners["a"])
    assert DeviationKind.TWO_OWNERS is operator.found().kind
    operator.answer(operator.decide(), SafeOption.WAIT)
    operator.members["b"] = evolve(operator.members["b"], active=owners["b"])
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.members["b"] = evolve(operator.members["b"], active=owners["a"])

    assert DeviationKind.TWO_OWNERS is operator.found().kind


def test_a_step_begins_if_all_is_processed_however_long_ago_its_owner_joined():
    """Its commits since it joined are behind what it reported then."""
    operator = Operator()
    operator.offsets, operator.state_lags = read(5, end=6, owner="a-1"), {"0_0": StateBehind("a-1", 9_000_000)}

    operator.until(RunCommand)


@pytest.mark.parametrize(
    ("behind", "text"),
    [
        ({}, "state at most 0 offsets behind; input at most 0 records"),
        ({"0_0": 0, "0_1": 12}, "state at most 12 offsets behind; input at most 0 records"),
        ({"0_0": None, "0_1": 12}, "state at most 12 offsets behind; state of 0_0 not shown; input at most 0 records"),
        ({"0_0": None}, "state of 0_0 not shown; input at most 0 records"),
    ],
)
def test_a_state_that_no_broker_shows_is_said_and_not_waited_for(behind, text):
    """Versions below 7 have no offsets, and metadata does not say which changelogs a task has."""
    operator = in_step()
    operator.state_lags = {task: StateBehind("a-2", offsets) for task, offsets in behind.items()}

    assert text == passed_text(operator, "lag")


def test_what_is_written_after_the_first_look_is_no_lag_of_when_the_owner_joined():
    operator = in_step()
    operator.offsets = read(5)
    operator.state_lags = {"0_0": StateBehind("a-2", None)}
    gate(operator, "commits")
    for offsets in (10_000, 20_000):
        operator.state_lags = {"0_0": StateBehind("a-2", offsets)}
        waiting = operator.go()
        assert ["commits"] == [result.gate for result in waiting.results if result.status is GateStatus.WAITING]


def test_nothing_is_said_of_commits_while_a_member_of_before_is_counted():
    """Who owns what is about to change, and each line would name all partitions."""
    operator = in_step()
    operator.offsets = read(5)
    before = operator.state.step.before["a"][0]
    operator.members["a"] = evolve(operator.members["a"], member_id=before)
    waiting = {each.gate: each for each in operator.go().results if each.status is GateStatus.WAITING}

    assert ("the group is not stable yet", None) == (waiting["commits"].text, waiting["commits"].kind)


@pytest.mark.parametrize(("committed", "is_passed"), [(None, False), (5, False), (3, True), (6, True)])
def test_less_is_committed_of_a_topic_that_was_truncated_or_made_anew(committed, is_passed):
    operator = in_step()
    operator.offsets = read(5)
    gate(operator, "commits")
    operator.offsets = read(committed)

    if is_passed:
        assert "1 partitions with records advance" == passed_text(operator, "commits")
    else:
        assert "nothing is committed of in-0" == gate(operator, "commits").text


def test_the_commits_of_a_former_owner_do_not_count():
    operator = in_step()
    operator.offsets = read(5, owner="b-1")
    gate(operator, "commits")
    operator.offsets = read(8)
    operator.state_lags = {"0_0": StateBehind("a-2", 10_001)}

    assert ["lag", "commits"] == [
        result.gate for result in operator.go().results if result.status is GateStatus.WAITING
    ]
    operator.offsets = read(9)
    assert "1 partitions with records advance" == passed_text(operator, "commits")


def test_a_new_owner_that_has_committed_all_is_told_from_nothing_to_commit():
    operator = in_step()
    operator.offsets = read(5, end=9)
    gate(operator, "commits")
    operator.offsets = read(9, end=9)

    assert "all is committed, of 1 partitions by their owners of now" == passed_text(operator, "commits")


def test_a_task_that_has_an_owner_again_is_no_reason_to_stop_and_its_time_is_said():
    """A command may have taken long, and nobody looks meanwhile: the time is the most that it can have been."""
    operator = in_step()
    operator.seconds += 301

    assert "longest time without owner: 301 s, above 300 s" == passed_text(operator, "unowned")


def test_tasks_of_eager_members_have_no_owner_while_the_group_rebalances():
    """Each of them has given up all when it joins; a cooperative one goes on."""
    operator = in_step()
    operator.members["b"] = evolve(operator.members["b"], protocol="cooperative")
    operator.decide()
    operator.group = "PreparingRebalance"
    waiting = operator.go()
    operator.seconds += 299

    assert "0_0, 0_2 without owner for 0 s" in [result.text for result in waiting.results]
    assert "0_0, 0_2 without owner for 299 s" in [result.text for result in operator.go().results]
    operator.seconds += 2
    assert (DeviationKind.UNOWNED, "0_0, 0_2 without owner for 301 s") == (
        operator.found().kind,
        operator.state.deviation.observed.partition(";")[0],
    )


@pytest.mark.parametrize(
    ("first", "now", "passes"),
    [
        ((5, 5), (5, 9), False),  # all was processed, and nothing is committed of what has come since
        ((5, 5), (6, 9), True),
        ((5, 9), (5, 9), False),
        ((5, 9), (5, None), False),
        ((5, 5), (5, None), True),
        ((5, 9), (9, 10), True),
    ],
)
def test_what_comes_after_the_commands_has_to_be_committed(first, now, passes):
    """Found by ``sweep --matrix roll``: a partition without records at first was not looked at again."""
    operator = in_step()
    operator.group = "PreparingRebalance"
    operator.offsets = {"in-0": PartitionOffsets(committed=first[0], end=first[1])}
    operator.go()
    operator.group, operator.offsets = "Stable", {"in-0": PartitionOffsets(committed=now[0], end=now[1])}
    operator.watch = engine.watching(operator.state, operator.watch, operator.look(), GROUP_RULES)
    found = GROUP_RULES.results(GatePhase.AFTER, operator.state, operator.watch, operator.look())

    assert passes == all(result.status is GateStatus.PASSED for result in found)


def test_a_step_does_not_begin_while_tasks_warm_up():
    """Found by ``sweep --matrix roll``: after a step has passed, or roll was away, a group can have changed."""
    operator = Operator()
    operator.members["b"] = evolve(operator.members["b"], is_scheduled=True)
    closed = gate(operator, "probing")

    assert [] == operator.commands
    operator.seconds += 1000
    assert closed.kind == operator.found().kind


def test_offsets_that_are_not_known_are_waited_for():
    operator = in_step()
    operator.offsets = None

    assert "offsets are not known" == gate(operator, "lag").text
    operator.offsets_problem = "in-0: not authorized"
    assert "offsets are not known: in-0: not authorized" == gate(operator, "lag").text


def test_commits_have_to_advance_where_there_is_something_to_commit():
    operator = in_step()
    begun = {"in-0": PartitionOffsets(committed=5, end=9), "in-1": PartitionOffsets(committed=2, end=2)}
    operator.offsets = begun

    assert "nothing is committed of in-0" == gate(operator, "commits").text
    operator.offsets = {**begun, "in-0": PartitionOffsets(committed=6, end=20)}
    operator.until(BeginStep)
    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "1 partitions with records advance" == passed.gates["commits"]


@pytest.mark.parametrize("now", [read(5, end=9), {"in-0": PartitionOffsets(committed=5, owner="a-2")}])
def test_records_that_come_later_and_an_end_that_is_not_known_now_are_something_to_commit(now):
    operator = in_step()
    first = read(5, end=5 if now["in-0"].end else 9)
    operator.offsets = first
    operator.members["b"] = evolve(operator.members["b"], is_scheduled=True)
    gate(operator, "probing")
    operator.offsets = now

    assert "nothing is committed of in-0" == gate(operator, "commits").text


def test_a_topic_that_ends_with_the_marker_of_a_transaction_has_nothing_to_commit():
    """An idle input that is written with exactly-once has a lag of one for ever."""
    operator = in_step()
    operator.offsets = {"in-0": PartitionOffsets(committed=5, end=6)}

    assert RunCommand is type(operator.until(RunCommand))


def test_what_is_processed_up_to_the_marker_is_processed():
    operator = in_step()
    operator.offsets = {"in-0": PartitionOffsets(committed=5, end=9)}
    gate(operator, "commits")
    operator.offsets = {"in-0": PartitionOffsets(committed=5, end=6)}

    operator.until(BeginStep)


def test_a_step_passes_if_all_is_committed_already():
    operator = in_step()
    operator.until(RunCommand)

    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "nothing to commit" == passed.gates["commits"]


def test_a_scheduled_probing_rebalance_is_waited_for():
    operator = in_step()
    operator.members["b"] = evolve(operator.members["b"], is_scheduled=True)

    assert "a probing rebalance of b is scheduled" == gate(operator, "probing").text


def in_streams_group(**changes):
    """A step in a streams group at epoch 7, whose member ``c`` has changes."""
    operator = in_step(origin="4.2.2", target="4.4.0")
    operator.epochs = GroupEpochs(group=7, assignment=7, topology=0)
    operator.members = {name: evolve(each, epoch=7, topology_epoch=0) for name, each in operator.members.items()}
    operator.members["c"] = evolve(operator.members["c"], **changes)
    return operator


@pytest.mark.parametrize(
    ("changes", "assignment", "text"),
    [
        ({"epoch": 6}, 7, "epoch 7: c at 6"),
        ({"rejoins": True}, 7, "epoch 7: c has tasks to come or to revoke"),
        ({}, 6, "epoch 7: the assignment at 6"),
    ],
)
def test_a_streams_group_is_waited_for_until_assignment_and_members_have_come_to_its_epoch(changes, assignment, text):
    operator = in_streams_group(**changes)
    operator.epochs = evolve(operator.epochs, assignment=assignment)
    found = gate(operator, "stable")

    assert (text, DeviationKind.NOT_STABLE) == (found.text, found.kind)
    assert "assignment and members at epoch 7" == found.expected


def test_a_step_of_a_streams_group_passes_by_epochs_and_says_nothing_of_versions():
    operator = in_streams_group()

    assert "Stable, all at epoch 7" == passed_text(operator, "stable")
    (passed,) = (record for record in operator.records if isinstance(record, StepPassed))
    assert (7, "all have the topology of epoch 0") == (passed.observed["epoch"], passed.gates["topology"])
    assert not {"versions", "probing"} & passed.gates.keys()


def test_a_member_with_another_topology_than_its_streams_group_is_a_stop():
    found = in_streams_group(topology_epoch=1).found()

    assert (DeviationKind.TOPOLOGY, ("c",)) == (found.kind, found.instances)
    assert ("c has topology epoch 1", "topology epoch 0, that of the group") == (found.observed, found.expected)


def test_a_streams_group_has_no_topology_to_compare_while_every_instance_is_stopped():
    operator = in_step(offline=True, origin="4.2.2", target="4.4.0", verbs=("stop", "start"))
    operator.epochs = GroupEpochs(group=7, assignment=7, topology=0)
    operator.members = {}

    assert not isinstance(operator.go(), KeepWaiting)


FORECAST = Expectation(outcomes=(ExpectedOutcome(versions=(6,)), ExpectedOutcome(versions=(3, 5), moved={"0_0": "b"})))


def test_versions_that_no_outcome_has_are_waited_for():
    operator = Operator()
    operator.expectation = FORECAST
    operator.until(RunCommand)
    operator.act(operator.decide())
    found = gate(operator, "versions")

    assert ("members send version 4", DeviationKind.VERSIONS) == (found.text, found.kind)
    assert "one of version 3, 5 or version 6, as forecast" == found.expected


def test_any_outcome_of_a_forecast_is_accepted_and_compared():
    operator = Operator()
    operator.expectation = Expectation(outcomes=(*FORECAST.outcomes, ExpectedOutcome(versions=(4,))))
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.until(RunCommand)

    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "members send version 4, as forecast" == passed.gates["versions"]
    assert {
        "versions": [4],
        "moved": {},
        "unowned_seconds": 0.0,
        "unowned_seconds_at_least": 0.0,
        "unowned_seconds_forecast": [0.0],
        "seconds": 0.0,
        "input_lag": 0,
        "input_lag_before": 0,
        "replaced": [],
        "as_forecast": True,
    } == passed.observed


@pytest.mark.parametrize("seconds", [0.0, 86_400.0])
def test_a_time_in_which_roll_did_not_look_is_said_and_ends_no_step(seconds):
    """A clock that had jumped, or a roll that was called again the next day, was a deviation at once."""
    operator = in_step()
    del operator.members["a"]
    operator.write(RollResumed(seconds=seconds))
    operator.watch = RollWatch()
    missing = gate(operator, "unowned").text
    operator.seconds += 301
    late = operator.go()

    unseen = f"up to {seconds:.0f} s, {seconds:.0f} s of it before roll was called again" if seconds else "0 s"
    assert f"0_0 without owner for {unseen}" == missing
    assert (DeviationKind.UNOWNED, ABOUT_DEVIATION) == (late.kind, late.about)


def test_a_version_above_what_all_read_is_named():
    operator = in_step()
    look = operator.look
    operator.look = lambda: evolve(
        look(),
        members=tuple(evolve(each, used_version=11) if each.instance == "a" else each for each in look().members),
    )
    found = gate(operator, "versions")

    assert ("members send version 11", "no version above 4, which all members read") == (found.text, found.expected)


def test_members_without_a_version_are_not_compared():
    operator = in_step()
    look = operator.look
    operator.look = lambda: evolve(look(), members=tuple(evolve(each, used_version=None) for each in look().members))
    operator.until(RunCommand)

    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "members send no version, which all members read" == passed.gates["versions"]


def test_a_group_that_rebalances_hides_what_other_gates_compare():
    operator = in_step()
    operator.group = "CompletingRebalance"
    waiting = operator.go()

    closed = {result.gate: result.text for result in waiting.results if result.status is GateStatus.WAITING}
    assert {"config", "stable", "versions", "lag", "unowned"} == {*closed}
    assert "CompletingRebalance" == closed["stable"]


def test_a_group_that_nobody_describes_has_not_lost_its_members():
    operator = in_step()
    look = operator.look
    operator.look = lambda: evolve(look(), state="", members=(), problem="connection refused", offsets=None)
    waiting = operator.go()

    told = [result.text for result in waiting.results if result.kind and result.status is GateStatus.WAITING]
    assert ["not described: connection refused"] == told


def test_nobody_goes_on_with_a_group_that_nobody_describes():
    """Found by ``sweep --matrix roll``: it waited for ever, or said that tasks had no owner, which it could not see."""
    operator = in_step()
    look = operator.look
    operator.look = lambda: evolve(look(), state="", members=(), problem="connection refused", offsets=None)
    operator.go()
    operator.seconds += 400
    assert isinstance(operator.go(), KeepWaiting)
    operator.seconds += 400
    found = operator.found()

    assert DeviationKind.NOT_VISIBLE == found.kind
    assert {SafeOption.WAIT, SafeOption.BACK, SafeOption.STOP} == {*found.options}


def test_instances_that_are_stopped_are_counted_until_their_sessions_time_out():
    operator = Operator(offline=True, verbs=("stop", "start"))
    operator.until(RunCommand)
    there = dict(operator.members)
    for _ in there:
        operator.act(operator.decide())
    operator.members = there
    found = gate(operator, "gone")

    assert ("a, b, c still counted", DeviationKind.STILL_RUNNING) == (found.text, found.kind)
    assert "Stable, and every instance is stopped" == gate(operator, "stable").text
    operator.members = {}
    operator.until(RunCommand)
    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "a, b, c stopped" == passed.gates["gone"]


def test_by_hand_a_stopped_group_may_take_any_time_to_be_started():
    operator = Operator(offline=True, verbs=("by-hand",))
    operator.run = lambda instance, _verb, _config: operator.members.pop(instance, None)
    operator.go()
    operator.seconds += 3_600

    assert "a has 0 of 1 member" == gate(operator, "returned").text


def test_after_a_stop_every_instance_has_to_be_gone():
    operator = Operator(offline=True, verbs=("stop", "start"))
    there = dict(operator.members)
    while not operator.state.done:
        assert operator.act(operator.decide()) is None
    operator.members = {"b": there["b"]}
    found = gate(operator, "gone")

    assert ("b still counted", DeviationKind.STILL_RUNNING) == (found.text, found.kind)
    operator.group = ""
    assert GateStatus.WAITING is gate(operator, "gone").status
    operator.group = "Stable"
    operator.members = {}
    assert RollFinished("finished") == operator.go()
    verified = next(record for record in operator.records if isinstance(record, RoundVerified))
    assert "every instance is stopped" == verified.gates["gone"]


def test_long_lists_are_cut():
    operator = in_step(names="abcdefgh")
    operator.members = {
        name: evolve(each, rejoins=True) if name != "a" else each for name, each in operator.members.items()
    }

    assert "b, c, d, e, f and 2 more about to rejoin" == gate(operator, "stable").text


@pytest.mark.parametrize(
    ("made", "wanted", "kind", "text"),
    [
        (
            member("a", InstanceConfig("2.4.1")),
            InstanceConfig("2.4.1", "1.1"),
            DeviationKind.MISSING_UPGRADE_FROM,
            "it sends version 5 instead of 2",
        ),
        (
            member("a", InstanceConfig("2.4.1", "0.10.0")),
            InstanceConfig("2.4.1", "1.1"),
            DeviationKind.WRONG_VALUE,
            "it sends version 1 instead of 2",
        ),
        (
            member("a", InstanceConfig("2.4.1", "1.1")),
            InstanceConfig("2.4.1"),
            DeviationKind.VALUE_REMAINS,
            "it sends version 2, as with upgrade.from",
        ),
        (
            member("a", InstanceConfig("2.0.1", "1.1"), unpinned=(release_named("1.1.1"),)),
            InstanceConfig("2.0.1"),
            DeviationKind.VALUE_REMAINS,
            "it sends version 2, as with upgrade.from",
        ),
        (
            member("a", InstanceConfig("2.4.1", "1.1")),
            InstanceConfig("2.0.1"),
            DeviationKind.OTHER_RELEASE,
            "it runs 2.4.1 with upgrade.from",
        ),
    ],
)
def test_a_member_is_judged_by_what_it_sends(made, wanted, kind, text):
    """2.0.1 with upgrade.from=1.1 sends what 1.1.1 sends: found by ``sweep --matrix roll``."""
    assert (kind, text) == judge_member(made, wanted, InstanceConfig("1.1.1"))


def test_a_member_that_can_be_either_release_is_as_wanted_and_it_is_said():
    both = (release_named("3.9.2"), release_named("4.3.1"))
    made = member("a", InstanceConfig("4.3.1"), 5, unpinned=both)
    operator = Operator(origin="3.9.2", target="4.3.1")
    operator.broken = {"a": made}
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.until(RunCommand)

    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "as 4.3.1; its metadata does not tell 4.3.1 from 3.9.2" == passed.gates["config"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "as 2.8.2"),
        ({"unpinned": RELEASES_2_8}, "as 2.8.2"),
        ({"unpinned": (release_named("2.7.2"), *RELEASES_2_8)}, "as 2.8.2; its metadata shows 2.7.2 to 2.8.2"),
    ],
)
def test_a_release_is_shown_if_no_other_line_sends_the_same(changes, text):
    """A round was "verified: every instance runs 3.9.2" of members that had shown 3.4.0 or newer."""
    made = member("a", InstanceConfig("2.8.2"), 5, protocol="cooperative", **changes)
    seen = evolve(Operator(origin="2.4.1", target="2.8.2").look(), members=(made,))

    assert text == judged_text(seen, plan(origin="2.4.1", target="2.8.2").rounds[0])


@pytest.mark.parametrize(
    ("origin", "target", "protocol", "is_hidden"),
    [
        ("2.3.1", "3.9.2", "unknown", True),
        ("2.3.1", "3.9.2", "cooperative", False),
        ("2.8.2", "3.9.2", "cooperative", True),
    ],
)
def test_a_member_that_rejoins_with_its_partitions_shows_that_a_value_up_to_2_3_is_gone(
    origin, target, protocol, is_hidden
):
    """Values from 2.4 on leave the protocol as it is."""
    second = plan(origin=origin, target=target).rounds[1]
    made = member("a", second.config, 5, protocol=protocol)
    seen = evolve(Operator(origin=origin, target=target).look(), members=(made,))

    text = judged_text(seen, second)
    assert is_hidden == text.endswith("its metadata does not show that upgrade.from is gone")


def judged_text(seen, roll_round):
    operator = Operator()
    operator.look = lambda: seen
    state = evolve(operator.state, rounds=(roll_round,), plan=plan(names="a"))
    (config,) = [each for each in GROUP_GATES if each.name == "config"]
    return config.check(state, operator.watch, seen).text


def test_each_gate_says_what_it_compares_and_why():
    assert len({each.name for each in GROUP_GATES}) == len(GROUP_GATES)
    assert all(each.compares and each.meaning and each.phases for each in GROUP_GATES)


def test_the_order_of_the_plan_is_that_of_the_file():
    assert ("a", "b", "c") == plan().names


def after_sessions(operator, number=1):
    """Look again and again, for so many sessions; return what comes then."""
    for _ in range(9 * number):
        left = operator.go()
        if not isinstance(left, KeepWaiting):
            return left
        operator.seconds += 6
    return operator.go()


def said(operator):
    """The text of a gate that the last look does not pass, or the deviation."""
    left = operator.go()
    if isinstance(left, KeepWaiting):
        return "; ".join(each.text for each in left.results if each.status is GateStatus.WAITING)
    return left.text


def with_old(operator):
    """The command has done nothing: the member of before goes on."""
    operator.broken["a"] = operator.members["a"]
    operator.until(RunCommand)
    operator.act(operator.decide())
    return operator


@pytest.mark.parametrize("verbs", [("restart",), ("stop", "start")])
def test_that_the_old_member_lives_is_certain_after_one_session_and_its_tasks_had_an_owner(verbs):
    """It waited for --timeout, and said that nobody owned them meanwhile."""
    operator = Operator(verbs=verbs)
    if "stop" in verbs:
        operator.run = lambda *_given: None
    with_old(operator)
    waiting = operator.go()
    assert "0_0 without owner for up to 0 s" in [each.text for each in waiting.results]
    operator.seconds += 10
    assert isinstance(operator.go(), KeepWaiting)
    after_sessions(operator)
    found = operator.state.deviation

    assert (DeviationKind.STILL_RUNNING, ("a",)) == (found.kind, found.instances)
    assert operator.seconds < 100
    assert "a has not joined again: its members are those of before, and live" == found.observed


def test_a_member_of_before_that_commits_lives():
    operator = with_old(Operator())
    operator.offsets = read(5, owner="a-1")
    operator.go()
    for committed in (6, 7):
        operator.offsets = read(committed, owner="a-1")
        operator.seconds += 1
        operator.go()

    assert DeviationKind.STILL_RUNNING is operator.state.deviation.kind


def test_by_hand_the_old_member_may_live_as_long_as_it_does():
    operator = with_old(Operator(verbs=("by-hand",)))

    assert isinstance(after_sessions(operator, 3), KeepWaiting)


def test_a_task_of_a_member_that_has_stopped_is_without_owner_since_its_command():
    """As long as it is counted it may live; when it is not any more, it has not."""
    operator = with_old(Operator())
    operator.go()
    operator.seconds += 30
    operator.go()
    assert 0 == operator.watch.memory.times.longest_s(operator.seconds)
    operator.members["a"] = member("a", operator.state.configs["a"], 9)

    assert "longest time without owner: 30 s" == passed_text(operator, "unowned")


def test_the_instance_that_was_restarted_instead_is_named():
    operator = Operator()
    operator.until(RunCommand)
    operator.broken["a"] = operator.members["a"]
    operator.act(operator.decide())
    operator.members["c"] = member("c", operator.state.configs["c"], 9)

    assert (
        "a has not joined again: its members are those of before; c, which no command was to touch, joined anew"
        in said(operator)
    )


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({}, {}, "a has 2 members instead of 1"),
        ({"process": "x"}, {"process": "y"}, "a has 2 members of 2 processes instead of 1"),
        ({"process": "x"}, {"process": "x"}, "a has 2 members instead of 1"),
    ],
)
@pytest.mark.parametrize("step", ["before", "in it", "elsewhere"])
def test_two_processes_of_one_name_are_a_deviation(first, second, text, step):
    operator = Operator()
    if step != "before":
        operator.until(RunCommand)
        operator.act(operator.decide())
    name = "b" if step == "elsewhere" else "a"
    operator.members[name] = evolve(operator.members[name], **first)
    operator.more = (evolve(operator.members[name], member_id="copy", active=frozenset(), **second),)
    waiting = operator.go()

    assert isinstance(waiting, KeepWaiting)
    assert text.replace("a has", f"{name} has") in said(operator)
    after_sessions(operator)
    assert (DeviationKind.SECOND_PROCESS, (name,)) == (
        operator.state.deviation.kind,
        operator.state.deviation.instances,
    )


def test_two_processes_with_half_of_the_threads_each_are_not_one_instance():
    operator = Operator(instances=(RollInstance("a", 2), RollInstance("b")))
    operator.members["a"] = evolve(operator.members["a"], process="x")
    operator.more = (evolve(operator.members["a"], member_id="copy", process="y", active=frozenset()),)

    assert "a has 2 members of 2 processes instead of 2" in said(operator)


def test_a_process_that_has_failed_and_was_started_again_is_two_until_its_session_ends():
    operator = Operator()
    operator.more = (evolve(operator.members["b"], member_id="dead", active=frozenset()),)
    for _ in range(3):
        assert "b has 2 members instead of 1" in said(operator)
        operator.seconds += 10
    operator.more = ()

    operator.until(RunCommand)


def test_that_a_group_was_not_stopped_is_certain_after_one_session():
    operator = Operator(offline=True, verbs=("stop", "start"))
    operator.run = lambda *_given: None
    operator.until(RunCommand)
    while not isinstance(operator.decide(), KeepWaiting):
        operator.act(operator.decide())
    after_sessions(operator)
    found = operator.state.deviation

    assert (DeviationKind.STILL_RUNNING, "a, b, c still counted, and live") == (
        found.kind,
        found.observed.partition(";")[0],
    )
    assert operator.seconds < 100
