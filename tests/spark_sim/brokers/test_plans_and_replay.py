"""The plans for brokers, replayed for all pairs of lines: steps are safe, and the way back is what the plan says."""

from itertools import combinations

import pytest

from streams_assignor.spark_sim.brokers.actions import run_scenario
from streams_assignor.spark_sim.brokers.cluster_state import EventKind
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.scenario import level_text
from streams_assignor.upgrade.cluster.brokers.kraft import finalized_levels
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release
from streams_assignor.upgrade.cluster.brokers.steps import DowngradeVerdict
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS

NODES = "12"
LINES = [broker_release(line) for line in CATALOGS]
PAIRS = list(combinations(LINES, 2))
each_pair = pytest.mark.parametrize(("older", "newer"), PAIRS, ids=lambda release: release.name)


def words(levels):
    return " ".join(map(level_text, levels.items()))


def head(release):
    nodes = " ".join(f"{node}@{release}" for node in NODES)
    return f"{nodes} level {words(finalized_levels(release, release.newest))}"


def bounce(release):
    return "bounce " + " ".join(f"{node}>{release}" for node in NODES)


def downgrade(levels):
    return f"downgrade {words(levels)}"


def steps_of(advice, verb):
    """The steps of a plan as those of a scenario; ``verb`` changes levels."""
    for step in advice.steps:
        if step.rolls:
            yield bounce(step.release)
        elif step.levels:
            yield f"{verb} {words(step.levels)}"
        else:
            yield "snapshot"


def played(release, steps):
    return run_scenario(parse_scenario(" | ".join([head(release), *steps])))


def refusals(state):
    return [event.text for event in state.events if event.kind == EventKind.REFUSED]


@each_pair
def test_an_upgrade_is_safe_and_finalizes_what_it_says(older, newer):
    advice = advise_brokers(older, newer, MetadataMode.KRAFT)
    state = played(older, steps_of(advice, "finalize"))

    assert ((), []) == (state.violations, refusals(state))
    assert dict(advice.steps[-1].levels) == {
        name: dict(state.cluster.finalized)[name] for name in advice.steps[-1].levels
    }


@each_pair
def test_before_levels_are_raised_a_roll_leads_back(older, newer):
    roll, _ = advise_brokers(older, newer, MetadataMode.KRAFT, level_unchanged=True).steps
    state = played(older, [bounce(newer), bounce(older)])

    assert DowngradeVerdict.OPEN is roll.way_back.verdict
    assert ((), []) == (state.violations, refusals(state))


@each_pair
def test_after_levels_are_raised_the_way_back_is_what_the_plan_says(older, newer):
    advice = advise_brokers(older, newer, MetadataMode.KRAFT)
    up, path = list(steps_of(advice, "finalize")), advice.steps[-1].way_back
    hasty = played(older, [*up, bounce(older)])
    lowers = path.levels or {METADATA_VERSION: older.newest.level}
    state = played(older, [*up, downgrade(lowers), "snapshot", bounce(older)])

    assert hasty.violations
    assert bool(path.levels) == (not state.violations) == (not refusals(state))
    if features := path.levels.keys() - {METADATA_VERSION}:
        alone = played(older, [*up, downgrade({METADATA_VERSION: older.newest.level}), "snapshot", bounce(older)])
        assert (DowngradeVerdict.LOSSY, True) == (path.verdict, bool(alone.violations))
        assert all(feature in path.how for feature in features)
    else:
        assert (DowngradeVerdict.SAFE if path.levels else DowngradeVerdict.LOSSY) is path.verdict


@each_pair
def test_a_downgrade_is_safe_or_refused_by_both(older, newer):
    advice = advise_brokers(newer, older, MetadataMode.KRAFT)
    back = advise_brokers(older, newer, MetadataMode.KRAFT).steps[-1].way_back

    assert advice.is_possible == bool(back.levels)
    if advice.is_possible:
        assert back.levels == advice.steps[0].levels
        state = played(newer, steps_of(advice, "downgrade"))
        assert ((), []) == (state.violations, refusals(state))


LOWERED = [
    (older, newer)
    for older, newer in PAIRS
    if advise_brokers(newer, older, MetadataMode.KRAFT).is_possible and older.newest < newer.newest
]


@pytest.mark.parametrize(("older", "newer"), LOWERED, ids=lambda release: release.name)
def test_a_level_that_was_raised_and_lowered_again_needs_a_snapshot_before_the_older_release(older, newer):
    """4.1.2 ended on the log of 4.2.1 that had been at 4.2-IV1; the plan had said "1 roll, way back open"."""
    lower, *_ = advise_brokers(newer, older, MetadataMode.KRAFT).steps
    advice = advise_brokers(newer, older, MetadataMode.KRAFT, older.newest)
    hasty = advise_brokers(newer, older, MetadataMode.KRAFT, older.newest, level_unchanged=True)
    history = downgrade(lower.levels)
    state = played(newer, [history, *steps_of(advice, "downgrade")])

    assert played(newer, [history, *steps_of(hasty, "downgrade")]).violations
    assert ((), []) == (state.violations, refusals(state))


BEFORE_4 = [release for release in LINES if (3, 3) <= release.number < (4,)]


@pytest.mark.parametrize("newer", [release for release in LINES if release.number >= (4,)], ids=str)
@pytest.mark.parametrize("older", BEFORE_4, ids=str)
def test_a_level_that_was_once_below_3_3_iv3_needs_a_snapshot_before_4_0(older, newer):
    history = ["1@3.3 2@3.3 level 3.3-IV0", bounce(older)]
    history.append(f"finalize {words(finalized_levels(older, older.newest))}")
    advice = advise_brokers(older, newer, MetadataMode.KRAFT)
    hasty = advise_brokers(older, newer, MetadataMode.KRAFT, level_unchanged=True)
    state, failed = (
        run_scenario(parse_scenario(" | ".join([*history, *steps_of(plan, "finalize")]))) for plan in (advice, hasty)
    )

    assert failed.violations
    assert ((), []) == (state.violations, refusals(state))
