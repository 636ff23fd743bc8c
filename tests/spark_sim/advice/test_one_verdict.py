"""`plan`, `guide.json`, `matrix.json` and the report advise the same, for all pairs of releases and all plans.

`docs/reference/upgrade-matrix.json` keeps the verdict of every plan that a sweep over all releases explored.
"""

import json
import re
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.spark_sim.advice.upgrade_guide import derive_guide, entry_json, path_text
from streams_assignor.spark_sim.search.cell_result import (
    CONCRETE_REPLAY_DISAGREES,
    DETERMINISTIC,
    INCOMPLETE,
    SIMULATION_FAILS,
    UpgradeResult,
)
from streams_assignor.spark_sim.sweep.report._guide_tables import sign
from streams_assignor.spark_sim.sweep.report.html import page_data
from streams_assignor.spark_sim.sweep.report.terminal import judge
from streams_assignor.upgrade import Plan, Upgrade, advise
from streams_assignor.upgrade.plans import all_plans, all_upgrades
from streams_assignor.upgrade.releases import RELEASES
from streams_assignor.upgrade.verdict import TopologyFacts, TopologyFeature, Verdict, guidance, topology_conditions

KEPT = Path(__file__).parents[3] / "docs" / "reference" / "upgrade-matrix.json"


@cache
def kept():
    return json.loads(KEPT.read_text(encoding="utf-8"))


@cache
def swept():
    """Results of all plans between all releases, as the sweep judged them."""
    found, names = [], kept()["releases"]
    plans = [cell.split(", ") for cell in kept()["plans"]]
    for origin, row in zip(names, kept()["cells"], strict=True):
        for target, place in zip(names, row.split(), strict=True):
            if origin != target:
                found += [(*_result(origin, target, words.split()),) for words in plans[int(place)]]
    return found


def _result(origin, target, words):
    plan, *value, verdict = words
    upgrade = Upgrade(RELEASES[origin], RELEASES[target], Plan(plan), value[0] if value else None, (origin, target))
    violated = (
        {"property": "always: no member fails", "violations": 1, "runs": 1} if verdict == "unsafe" else {"runs": 1}
    )
    return UpgradeResult(upgrade, **violated), verdict


@pytest.fixture(scope="module")
def guide():
    return derive_guide([result for result, _ in swept()])


def test_every_plan_of_every_pair_is_there():
    assert len(all_upgrades()) == len(swept())
    known = {result.upgrade for result, _ in swept()}
    for origin, target in (("2.8.2", "3.9.2"), ("4.3.1", "1.1.1")):
        assert known >= set(all_plans(RELEASES[origin], RELEASES[target]))


def test_the_matrix_has_the_verdict_that_conditions_give_it():
    assert [] == [result.title for result, verdict in swept() if result.verdict != verdict]
    assert {"safe", "safe-if", "unsafe"} == {verdict for _, verdict in swept()}


@pytest.mark.slow
def test_plan_and_guide_give_the_same_verdict_way_and_conditions_for_every_pair(guide):
    for (origin, target), entry in guide.items():
        plan, plain = advise(origin, target).as_json(), entry_json(entry)

        assert (plan["verdict"], plan["conditions"]) == (plain["verdict"], plain["conditions"])
        assert (plan["plan"] == "offline") == (plain["bounces"] is None)
        assert plan.get("via", ()) == tuple(plain["via"])
        assert plan["upgrade_from"] == next(iter(plain["upgrade_from"]), None)
        assert ("if_met" in plan) == (plain["if_met"] is not None)
        assert path_text(advise(origin, target).guidance.hops) == plain["way"]


@pytest.mark.slow
def test_a_safe_plan_is_made_of_hops_that_the_sweep_found_safe(guide):
    by_upgrade = {result.upgrade: verdict for result, verdict in swept()}
    for entry in guide.values():
        advised = entry.advised
        verdicts = {by_upgrade[hop] for hop in advised.hops}

        assert "unsafe" not in verdicts
        assert not ({by_upgrade[hop] for hop in advised.if_met} - {"safe", "safe-if"})
        if advised.verdict is Verdict.SAFE:
            assert {"safe"} == verdicts


def test_the_signs_of_the_documentation_are_those_of_the_guide(guide):
    names = kept()["releases"]
    rows = [" ".join(sign(guide, RELEASES[each], RELEASES[other]) for other in names) for each in names]

    assert kept()["signs"] == rows


def test_the_page_has_the_verdicts_of_the_guide():
    pairs = (("2.8.2", "3.9.2"), ("2.0.1", "2.3.0"), ("3.9.2", "1.1.1"), ("3.3.2", "3.9.2"))
    results = [each for each, _ in swept() if (each.upgrade.origin.name, each.upgrade.target.name) in pairs]
    data, found = page_data(results), derive_guide(results)
    cells = {(data["down"][down][1], data["across"][across][1]): ways for down, across, ways, _ in data["cells"]}

    for (origin, target), entry in found.items():
        way = data["ways"][cells[origin.name, target.name]]
        assert (entry.verdict, list(entry.conditions), entry.sign) == (
            way["verdict"],
            list(way["conditions"]),
            way["sign"],
        )


def test_a_topology_that_is_known_leaves_no_condition():
    features = list(TopologyFeature)
    topologies = [frozenset(some) for size in range(3) for some in combinations(features, size)]
    for origin in ("2.3.1", "2.8.2", "3.3.2", "3.4.1", "3.9.2", "4.3.1"):
        for target in set(kept()["releases"]) - {origin}:
            for present in topologies:
                facts = TopologyFacts(frozenset(features) - present, present)
                found = guidance(RELEASES[origin], RELEASES[target], facts)

                assert found.verdict in {Verdict.SAFE, Verdict.UNSAFE}
                needed = {feature for hop in found.hops for feature in topology_conditions(hop)}
                assert (found.verdict is Verdict.UNSAFE) == bool(needed & present)


def test_conditions_and_warnings_of_kafka_14646_are_about_the_same_plans():
    for origin, target in ((RELEASES[a], RELEASES[b]) for a in kept()["releases"] for b in ("3.3.2", "3.4.1", "3.9.2")):
        if origin != target and (found := advise(origin, target)).plan is not Plan.OFFLINE:
            warned = any(each.code.name.startswith("KAFKA_14646") for each in found.warnings)

            assert warned == (TopologyFeature.FOREIGN_KEY_JOINS in found.guidance.hops_features)


# -- unknown and error -------------------------------------------------------------------------------------------------

BOUNCE = Upgrade(RELEASES["2.0.1"], RELEASES["2.3.1"], Plan.ONE_BOUNCE)


@pytest.mark.parametrize(
    ("violated", "verdict"),
    [
        (INCOMPLETE, "unknown"),
        (SIMULATION_FAILS, "error"),
        (CONCRETE_REPLAY_DISAGREES, "error"),
        (DETERMINISTIC, "error"),
        ("always: no member fails", "unsafe"),
    ],
)
def test_what_says_nothing_of_the_upgrade_is_not_called_unsafe(violated, verdict):
    """Too many states and a failing simulation were `unsafe`, as if a schedule had shown it."""
    result = UpgradeResult(BOUNCE, property=violated, message="m")
    ((_, entry),) = derive_guide([result]).items()

    assert verdict == result.verdict == result.as_record()["verdict"] == entry.verdict
    assert verdict == json.loads(json.dumps(result.as_record()))["verdict"]
    judgement = judge([result])
    assert (False, f"in Kafka's guide, and yet {verdict}: 2.0 to 2.3 (one bounce)") == (judgement.good, judgement.text)


def test_a_violation_outweighs_too_many_states():
    cut_short = UpgradeResult(BOUNCE, property=INCOMPLETE, message="m")
    violated = evolve(cut_short, property="always: no member fails", example="A@2.0.1", violations=1, runs=1)

    assert ["unsafe"] * 2 == [cut_short.merge(violated).verdict, violated.merge(cut_short).verdict]


def test_conditions_are_in_the_matrix():
    record = UpgradeResult(Upgrade(RELEASES["2.8.2"], RELEASES["3.9.2"], Plan.ONE_BOUNCE)).as_record()

    assert ("safe-if", ["no foreign-key-joins", "no repartitioned-tables"]) == (record["verdict"], record["conditions"])
    assert [] == [name for name in record["conditions"] if not re.fullmatch(r"no [a-z-]+", name)]
