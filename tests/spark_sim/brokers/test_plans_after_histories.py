"""Random histories of levels, restarts and snapshots: the plan, ``roll --brokers``, ``replay`` and the model agree."""

from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from streams_assignor.spark_sim.brokers.actions import run_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.upgrade.cluster.brokers.kraft import finalized_levels
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import VERSIONS, MetadataMode, broker_release
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.roll.cluster import cluster_rounds
from tests.draws import examples
from tests.spark_sim.brokers.test_plans_and_replay import bounce, head, refusals, steps_of, words

LINES = [broker_release(line) for line in ("3.3", "3.9", "4.0", "4.1", "4.2", "4.3")]
BY_LEVEL = {version.level: version for version in VERSIONS if version.level is not None}
MOVES = st.one_of(
    st.just("snapshot"),
    st.builds(bounce, st.sampled_from(LINES)),
    st.sampled_from(LINES).map(lambda line: f"finalize {words(finalized_levels(line, line.newest))}"),
    st.sampled_from(LINES).map(lambda line: f"downgrade {METADATA_VERSION}={line.newest.level}"),
)


def is_sound(state):
    return not state.violations and not refusals(state)


def run(scenario, steps):
    return run_scenario(parse_scenario(" | ".join([scenario, *steps])))


def is_accepted_by_roll(advice):
    try:
        return bool(cluster_rounds(advice))
    except UpgradeError:
        return False


@given(origin=st.sampled_from(LINES), moves=st.lists(MOVES, max_size=5), target=st.sampled_from(LINES))
@settings(max_examples=examples(150), deadline=None)
def test_a_plan_after_any_history_is_safe_and_the_hasty_one_fails_only_where_the_plan_waits(origin, moves, target):
    history, release = [], origin
    for move in moves:  # what the cluster refuses, and what ends a node, did not happen
        state = run(head(origin), [*history, move])
        if is_sound(state):
            history.append(move)
            release = broker_release(move.rpartition(">")[2]) if ">" in move else release
    state = run(head(origin), history)
    level = BY_LEVEL[state.cluster.level_of(METADATA_VERSION)]
    assume((release, level) != (target, target.newest))
    note(" | ".join([head(origin), *history]))
    advice, hasty = (
        advise_brokers(release, target, MetadataMode.KRAFT, level, level_unchanged=unchanged)
        for unchanged in (False, True)
    )
    note("\n".join(step.do for step in advice.steps))
    verb = "finalize" if target.number >= release.number else "downgrade"

    assert advice.is_possible == hasty.is_possible
    if not advice.is_possible:
        return
    after, after_hasty = (run(head(origin), [*history, *steps_of(plan, verb)]) for plan in (advice, hasty))
    by_hand = [step for step in advice.steps if not step.rolls and (verb == "downgrade" or not step.levels)]
    assert is_sound(after)
    assert is_sound(after_hasty) or by_hand
    assert is_accepted_by_roll(advice) == (not by_hand)
