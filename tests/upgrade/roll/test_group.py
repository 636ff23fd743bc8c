"""The gates of a group, one by one."""

import pytest
from attrs import evolve

from tests.upgrade.roll.fake_group import Operator, member, plan
from upgrade.roll import engine
from upgrade.roll.deviations import DeviationKind, SafeOption
from upgrade.roll.engine import BeginStep, KeepWaiting, RunCommand
from upgrade.roll.expectation import Expectation, ExpectedOutcome
from upgrade.roll.gates import GatePhase, GateStatus
from upgrade.roll.group import GROUP_GATES, GROUP_RULES, judge_member
from upgrade.roll.group_observation import PartitionOffsets
from upgrade.roll.journal import StepPassed
from upgrade.roll.plan import InstanceConfig


def in_step(**further):
    """An operator whose first command has run."""
    operator = Operator(**further)
    operator.until(RunCommand)
    operator.act(operator.decide())
    return operator


def gate(operator, name):
    """What a gate says that is not passed."""
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


def test_a_large_lag_is_waited_for():
    operator = in_step()
    operator.offsets = {"in-0": PartitionOffsets(committed=5, end=20_000), "in-1": PartitionOffsets(end=3)}

    assert ("lag of up to 19,995 records: in-0", DeviationKind.LAG) == (
        gate(operator, "lag").text,
        gate(operator, "lag").kind,
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


@pytest.mark.parametrize("name", ["lag", "probing"])
def test_a_step_does_not_begin_while_tasks_restore_or_warm_up(name):
    """Found by ``sweep --matrix roll``: after a step has passed, or roll was away, a group can have changed."""
    operator = Operator()
    if name == "lag":
        operator.offsets = {"in-0": PartitionOffsets(committed=5, end=20_000)}
    else:
        operator.members["b"] = evolve(operator.members["b"], is_scheduled=True)
    closed = gate(operator, name)

    assert [] == operator.commands
    operator.seconds += 1000
    assert closed.kind == operator.found().kind


def test_offsets_that_are_not_known_are_waited_for():
    operator = in_step()
    operator.offsets = None

    assert "offsets are not known" == gate(operator, "lag").text


def test_commits_have_to_advance_where_there_is_something_to_commit():
    operator = in_step()
    begun = {"in-0": PartitionOffsets(committed=5, end=9), "in-1": PartitionOffsets(committed=2, end=2)}
    operator.offsets = begun

    assert "nothing is committed of in-0" == gate(operator, "commits").text
    operator.offsets = {**begun, "in-0": PartitionOffsets(committed=6, end=20)}
    operator.until(BeginStep)
    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "1 partitions with records advance" == passed.gates["commits"]


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
        "seconds": 0.0,
        "as_forecast": True,
    } == passed.observed


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
            member("a", InstanceConfig("2.0.1", "1.1"), unpinned=member("a", InstanceConfig("1.1.1")).unpinned),
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
    both = (*member("a", InstanceConfig("3.9.2")).unpinned, *member("a", InstanceConfig("4.3.1")).unpinned)
    made = member("a", InstanceConfig("4.3.1"), 5, unpinned=both)
    operator = Operator(origin="3.9.2", target="4.3.1")
    operator.broken = {"a": made}
    operator.until(RunCommand)
    operator.act(operator.decide())
    operator.until(RunCommand)

    passed = next(record for record in operator.records if isinstance(record, StepPassed))
    assert "as 4.3.1; its metadata does not tell 4.3.1 from 3.9.2" == passed.gates["config"]


def test_each_gate_says_what_it_compares_and_why():
    assert len({each.name for each in GROUP_GATES}) == len(GROUP_GATES)
    assert all(each.compares and each.meaning and each.phases for each in GROUP_GATES)


def test_the_order_of_the_plan_is_that_of_the_file():
    assert ("a", "b", "c") == plan().names
