"""All the ways an upgrade can go: complete, without doubles, the same however they are cut."""

from itertools import permutations

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.scenario import Scenario, Step
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.search.schedules import crash_variants, spread_schedules, upgrade_schedules
from streams_assignor.spark_sim.sweep.runs import Run, run_scenarios, run_with_shared_prefixes, summarize
from streams_assignor.upgrade import Plan, release_named
from streams_assignor.upgrade.plans import Upgrade, kip_268_upgrades


def upgrade(origin, target, plan=Plan.ONE_BOUNCE, value=None):
    return Upgrade(release_named(origin), release_named(target), plan, value)


ONE = upgrade("2.0", "simulated-4")
TWO = upgrade("1.1", "2.0", Plan.TWO_BOUNCES, "1.1")
OFFLINE = upgrade("1.1", "2.0", Plan.OFFLINE)
UNSAFE = upgrade("1.1", "2.0")


@pytest.mark.parametrize(("which", "count"), [(ONE, 3 * 2 * 2), (TWO, 3 * 2 * 2 * 6), (OFFLINE, 3 * 2)])
def test_schedules_are_all_leaders_elections_restarts_and_second_orders(which, count):
    found = [str(schedule) for schedule in upgrade_schedules(which, "ABC")]

    assert count == len(found) == len(set(found))


def test_crashes_come_at_every_place_and_only_to_members_that_run():
    (schedule, *_) = upgrade_schedules(OFFLINE, "AB")
    found = [str(crashed).partition(" | ")[2] for crashed in crash_variants(schedule)]

    assert [
        "elect oldest | stop A B | start A>2.0.1 B>2.0.1",
        "elect oldest | crash A | start A | stop A B | start A>2.0.1 B>2.0.1",
        "elect oldest | crash A | stop A B | start A>2.0.1 B>2.0.1",
        "elect oldest | crash B | start B | stop A B | start A>2.0.1 B>2.0.1",
        "elect oldest | crash B | stop A B | start A>2.0.1 B>2.0.1",
        "elect oldest | stop A B | start A>2.0.1 B>2.0.1 | crash A | start A",
        "elect oldest | stop A B | start A>2.0.1 B>2.0.1 | crash B | start B",
    ] == found


def test_shared_beginnings_change_nothing():
    scenarios = list(crash_variants(next(upgrade_schedules(ONE, "ABC"))))
    alone = {str(scenario): Simulation(scenario).run() for scenario in scenarios}

    for simulation in run_with_shared_prefixes(scenarios):
        other = alone.pop(str(simulation.scenario))
        assert (other.events, other.violations) == (simulation.events, simulation.violations)
        assert (other.version_probes, other.max_rebalances) == (simulation.version_probes, simulation.max_rebalances)
    assert {} == alone


@pytest.mark.parametrize("which", [ONE, TWO, OFFLINE], ids=["one", "two", "offline"])
@pytest.mark.parametrize("count", [0, 1, 4, 100, 1_000_000])
def test_those_that_are_spread_are_evenly_taken_from_all(which, count):
    every = all_of(which)
    taken = min(count, len(every))

    assert [every[number * len(every) // taken] for number in range(taken)] == list(
        spread_schedules(which, "ABC", count)
    )


def renamed(scenario, names):
    """The same scenario with other names for the members."""
    other = dict(zip("ABC", names, strict=True))
    members = tuple((other[name], instance) for name, instance in scenario.members)
    steps = tuple(Step(s.verb, tuple((other[n], i) for n, i in s.members), s.mode) for s in scenario.steps)
    return Scenario(members, steps)


@pytest.mark.parametrize("which", [ONE, UNSAFE], ids=["safe", "unsafe"])
def test_renaming_the_members_changes_no_verdict(which):
    """Why the first round needs only one order."""
    for schedule in upgrade_schedules(which, "ABC"):
        expected = len(Simulation(schedule).run().violations)
        for names in permutations("ABC"):
            assert expected == len(Simulation(renamed(schedule, names)).run().violations)


def all_of(which, names="ABC"):
    return [each for schedule in upgrade_schedules(which, names) for each in crash_variants(schedule)]


def test_a_safe_upgrade_is_safe_in_every_run_and_probes():
    every = all_of(ONE)
    result = summarize(ONE, list(run_scenarios(every, ONE, "")))

    assert ("safe", 0, len(every), None) == (result.verdict, result.violations, result.runs, result.example)
    assert result.expects_probe
    assert result.probes


@pytest.mark.slow
def test_the_text_of_the_kip_is_safe_in_every_run_and_probes():
    """Under another reading of "final rebalance" the leader rejoined for ever while one old member was left."""
    which = upgrade("kip-268", "kip-268-next")
    result = summarize(which, list(run_scenarios(all_of(which), which, "")))

    assert (0, None) == (result.violations, result.example)
    assert result.probes


def test_an_unsafe_upgrade_has_an_example_that_fails_again():
    result = summarize(UNSAFE, list(run_scenarios(all_of(UNSAFE), UNSAFE, "")))

    assert "unsafe" == result.verdict
    assert Simulation(Scenario.parse(result.example)).run().violations
    assert result.property
    assert result.message
    assert not result.expects_probe


def test_results_merge_in_any_order():
    one = UpgradeResult(UNSAFE, runs=1, violations=1, max_rebalances=2, property="p", message="m")
    parts = [evolve(one, example=example) for example in ("bb", "aa", "c")]
    parts.append(UpgradeResult(UNSAFE, runs=5, max_rebalances=9, probes=1))
    merged = {order[0].merge(order[1]).merge(order[2]).merge(order[3]) for order in permutations(parts)}

    assert {evolve(one, runs=8, violations=3, max_rebalances=9, probes=1, example="c")} == merged


def test_a_cell_is_named_by_its_lines():
    names = {(r["from"], r["to"]) for r in (UpgradeResult(each).as_record() for each in kip_268_upgrades())}

    assert 28 == len(names)
    assert {("0.10.0", "0.10.1"), ("2.0", "simulated-4")} <= names
    assert "never released" in UpgradeResult(kip_268_upgrades()[0]).as_record()["note"]


def test_rows_name_their_unit():
    rows = list(run_scenarios(upgrade_schedules(ONE, "AB"), ONE, "007"))

    assert {"007"} == {row.unit_key for row in rows}
    assert all(isinstance(row, Run) for row in rows)


def test_an_upgrade_is_unsafe_by_exploration_alone_too():
    explored = UpgradeResult(UNSAFE, property="x", states=5, transitions=7, schedules=3)
    both = explored.merge(UpgradeResult(UNSAFE, runs=2)).merge(UpgradeResult(UNSAFE, schedules=None))

    assert ("unsafe", 2, 5, 7, None) == (both.verdict, both.runs, both.states, both.transitions, both.schedules)


@pytest.mark.parametrize(("value", "probes"), [("2.1", True), ("1.1", False)])
def test_a_member_that_starts_with_an_old_version_is_not_expected_to_be_probed(value, probes):
    """A sweep of the way round leaders that probe badly was rejected, as no member was probed in it."""
    assert probes == UpgradeResult(upgrade("2.1", "3.9", Plan.TWO_BOUNCES, value)).expects_probe
