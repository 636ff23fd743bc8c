"""Groups of any size: each step of the argument in docs/explanation/exploring.md, and the verdicts."""

from collections import Counter
from random import Random

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import READABLE_VERSION, REBALANCING_TERMINATES
from streams_assignor.spark_sim.packed import FaultBudget, OperatorDeviation, UpgradeCell, explore
from streams_assignor.spark_sim.packed.any_size import AnySize, AnySizeResult, any_size_class, explore_any_size
from streams_assignor.spark_sim.packed.bfs import bfs
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.equivalence import all_instances_start
from streams_assignor.spark_sim.packed.model import PackedModel
from streams_assignor.spark_sim.packed.upgrade_result import group_size
from streams_assignor.spark_sim.packed.view import GROUP_FIELD_BITS, saturate, summarize
from streams_assignor.spark_sim.search.cell_result import ANY_SIZE, from_
from streams_assignor.spark_sim.search.sampling import member_names
from streams_assignor.spark_sim.search.schedules import spread_schedules
from streams_assignor.spark_sim.sweep.equivalence import representatives, upgrade_class
from streams_assignor.upgrade.plans import Plan, kip_268_upgrades
from tests.spark_sim.packed.cells import cell
from tests.spark_sim.packed.covered import Cover
from tests.spark_sim.packed.test_known_outcomes import SAFE, UNSAFE
from tests.spark_sim.regressions.test_regression_search import AFFECTED

CELLS = {
    "two bounces": (cell("1.1.1", "2.0.1", "1.1", faults=(1, 0), wait_for_quiescence=True), 2),
    "two bounces, four members": (cell("1.1.1", "2.0.1", "1.1", members=4, wait_for_quiescence=True), 2),
    "probing": (cell("2.4.1", "3.9.2", faults=(0, 1)), 1),
    "probing, members leave": (cell("2.0.1", "2.2.2", faults=(1, 1), wait_for_quiescence=True), 1),
    "probing, five members": (cell("2.0.1", "2.2.2", members=5, wait_for_quiescence=True), 1),
    "offline": (cell("0.10.0.1", "4.3.1", faults=(1, 1), offline=True), 2),
    "offline, the operator waits": (
        cell("4.4.0", "1.0.2", members=2, faults=(2, 1), offline=True, wait_for_quiescence=True),
        2,
    ),
    "offline, six members": (cell("0.10.0.1", "4.3.1", members=6, offline=True), 2),
    "rolled back": (
        cell("2.4.1", "2.5.1", members=2, deviation=OperatorDeviation.ROLLED_BACK, wait_for_quiescence=True),
        1,
    ),
    "batches": (
        cell("2.4.1", "3.9.2", faults=(1, 1), deviation=OperatorDeviation.BATCHES, wait_for_quiescence=True),
        1,
    ),
    "responses are missed": (cell("2.4.1", "3.9.2", members=2, faults=(1, 1), may_miss_responses=True), 1),
    "interrupted, spurious joins": (
        cell("2.4.1", "3.9.2", members=2, faults=(1, 1, 1), deviation=OperatorDeviation.INTERRUPTED),
        1,
    ),
}


GATE = {"responses are missed", "offline, the operator waits"}


@pytest.mark.parametrize(
    "name", [name if name in GATE else pytest.param(name, marks=pytest.mark.slow) for name in CELLS]
)
def test_every_state_of_a_small_group_has_its_image(name):
    """Whose views are all known: for all states at once this says the same of every transition between them."""
    small, k = CELLS[name]
    graph = bfs(Encoding(small))
    cover = Cover(small, k, graph.encoding)

    missing = [
        number
        for number in range(1, graph.state_count + 1)
        if not cover.covers(graph.process_states[number], graph.group_fields(number))
    ]

    assert (graph.violations, missing) == ([], [])


def test_the_image_of_a_state_that_is_not_reachable_is_missed():
    small, k = CELLS["probing"]
    graph = bfs(Encoding(small))
    cover = Cover(small, k, graph.encoding)
    states, fields = graph.process_states[1], graph.group_fields(1)

    assert cover.covers(states, fields)
    assert not cover.covers(states[:1], fields + 1)


# -- what the rules read of a group ------------------------------------------------------------------------------------

TALLIES = st.lists(st.integers(0, 63), min_size=10, max_size=10).filter(lambda counts: any(counts[6:9]))
SUMMARIZED = [small for small, _ in CELLS.values()]


def reads_no_more_than(summary_of, counts, asked):
    tallies = sum(count << 6 * place for place, count in enumerate(counts))
    return summary_of(asked, tallies << GROUP_FIELD_BITS) == summary_of(asked, saturate(tallies) << GROUP_FIELD_BITS)


@given(TALLIES, st.sampled_from(SUMMARIZED))
def test_no_rule_counts_further_than_saturate(counts, asked):
    assert reads_no_more_than(summarize, [*counts[:9], 0], asked)


@pytest.mark.parametrize("place", range(9))
def test_a_rule_that_counts_further_is_noticed(place):
    def mutant(asked, bits):
        return summarize(asked, bits), bits >> GROUP_FIELD_BITS + 6 * place & 63 > (2 if place < 2 else 1)

    counts = [0] * 6 + [1, 0, 0, 0]
    counts[place] = 3

    assert reads_no_more_than(summarize, counts, SUMMARIZED[0])
    assert not reads_no_more_than(mutant, counts, SUMMARIZED[0])


def has_no_order(model, states, random):
    """Whether a model's transitions do not depend on the order of the processes."""
    after = [
        sorted(
            (transition.label, str(model.canonical(transition.state)) if transition.state else "")
            for transition in model.transitions(state)
        )
        for state in (
            states,
            states._replace(process_states=tuple(random.sample(states.process_states, len(states.process_states)))),
        )
    ]
    return after[0] == after[1]


class FirstActs(PackedModel):
    """A mutant: only the first process in the order of the state acts."""

    def transitions(self, state):
        return [each for each in super().transitions(state) if each.action.before in {-1, state.process_states[0]}]


@pytest.mark.parametrize("name", CELLS)
def test_members_have_no_order(name):
    graph, random = bfs(Encoding(CELLS[name][0])), Random(name)
    states = [graph.state(number) for number in random.choices(range(1, graph.state_count + 1), k=100)]

    assert all(has_no_order(graph.model, state, random) for state in states)


def test_a_hidden_order_is_noticed():
    graph, random = bfs(Encoding(CELLS["two bounces"][0])), Random(1)
    mutant = FirstActs(graph.encoding)

    assert not all(has_no_order(mutant, graph.state(number), random) for number in range(1, graph.state_count + 1))


# -- verdicts ----------------------------------------------------------------------------------------------------------

QUICK = {"B3 fixed", "B14 fixed", "probing with faults", "offline"}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SAFE]
)
def test_safe_upgrades_are_safe_for_groups_of_any_size(name):
    assert any(explore_any_size(SAFE[name], k).safe for k in (1, 2))


WRONG = [name for name, (asked, _) in UNSAFE.items() if all_instances_start(asked)]


@pytest.mark.parametrize(
    ("name", "k"),
    [
        pytest.param(name, k, marks=[pytest.mark.slow] if k > 1 or name == "B12 eager and cooperative" else [])
        for name in WRONG
        for k in (1, 2)
    ],
)
def test_unsafe_upgrades_are_not(name, k):
    found = explore_any_size(UNSAFE[name][0], k)

    assert not found.safe
    assert found.violation is not None


def size_that_fails(asked):
    """The size of the verdict: members run the example, and those of a smaller group run 20 schedules without one."""
    explored = explore(asked)
    size = group_size(explored)
    if not explored.counterexamples:
        return size
    found = int(size.removeprefix("from "))
    at_n, below = explore(evolve(asked, members=found)), explore(evolve(asked, members=found - 1))
    names = member_names(found - 1)

    assert all(each.confirmed for each in at_n.counterexamples)
    assert below.safe
    assert all([] == Simulation(each).run().violations for each in spread_schedules(asked.upgrade, names, 20))
    return size


@pytest.mark.slow
def test_what_is_unsafe_fails_from_n_members_on_and_not_with_fewer():
    """Of the 28 plans of KIP-268 with one bounce, 17 are unsafe."""
    single = [each for each in kip_268_upgrades() if each.plan is Plan.ONE_BOUNCE]
    classes = representatives(single)
    sizes = {key: size_that_fails(UpgradeCell(each, 2)) for key, each in classes.items()}

    assert Counter({from_(2): 17, ANY_SIZE: 11}) == Counter(sizes[upgrade_class(each)] for each in single)
    assert size_that_fails(UNSAFE["B12 eager and cooperative"][0]) == from_(3)


@pytest.mark.slow
def test_any_number_of_members_may_forget_upgrade_from():
    with_value = cell("1.1.1", "2.0.1", "1.1", deviation=OperatorDeviation.MISTAKEN, mistaken_upgrade_from="1.0")

    assert explore_any_size(with_value, 2).safe
    assert not explore_any_size(evolve(with_value, mistaken_upgrade_from=None), 2).safe


def test_an_offline_way_back_is_safe_if_the_group_is_empty_before_it_starts():
    """Else a leader that cannot read the old version counts a member that has joined and stopped."""
    waits = cell("4.4.0", "1.0.2", offline=True, faults=(2, 1), wait_for_quiescence=True)
    broken = next(iter(explore(evolve(waits, members=2, wait_for_quiescence=False)).counterexamples))

    assert (READABLE_VERSION, True) == (broken.property, broken.confirmed)
    assert explore(waits).safe
    assert explore_any_size(waits, 2).safe


@pytest.mark.parametrize(
    ("asked", "k"),
    [
        (cell("2.4.1", "3.9.2"), 1),
        pytest.param(cell("1.1.1", "2.0.1", "1.1"), 2, marks=pytest.mark.slow),
        pytest.param(cell("2.0.1", "2.2.2"), 1, marks=pytest.mark.slow),
    ],
)
def test_batches_may_have_any_size(asked, k):
    batches = evolve(asked, deviation=OperatorDeviation.BATCHES)

    assert explore_any_size(batches, k).safe
    assert explore(evolve(batches, members=2)).states > explore(evolve(asked, members=2)).states


@pytest.mark.slow
def test_members_that_leave_and_come_back_in_turn_are_not_safe():
    """B3b: they do so for ever."""
    search = next(each for each in AFFECTED if each.bug.name == "B3b")
    found = explore_any_size(search.cell, 1)

    assert (found.complete, found.violation.property) == (True, REBALANCING_TERMINATES)


def test_what_is_not_known_is_not_safe():
    asked = cell("2.4.1", "3.9.2")

    assert not AnySizeResult(1).safe
    assert not explore_any_size(asked, 1, max_parts=10).complete


ONE_CLASS = cell("2.4.1", "2.5.1", members=2, faults=(0, 0))


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"members": 4}, True),
        ({"faults": FaultBudget(2, 1, 1)}, True),
        ({"upgrade": cell("2.4.0", "2.5.0").upgrade}, True),
        ({"upgrade": cell("2.4.1", "3.9.2").upgrade}, False),
        ({"upgrade": cell("2.0.1", "2.2.2").upgrade}, False),
        ({"wait_for_quiescence": True}, False),
        ({"deviation": OperatorDeviation.INTERRUPTED}, False),
        ({"may_miss_responses": True}, True),
    ],
)
def test_cells_of_one_class_have_one_result(changes, same):
    asked = evolve(ONE_CLASS, **changes)

    assert same == (any_size_class(asked) == any_size_class(ONE_CLASS))


@pytest.mark.parametrize("k", [1, 2])
def test_names_of_versions_do_not_matter(k):
    """Two pairs of releases, with versions 1 and 3, and 2 and 3: only the text of what is found differs."""
    cells = [cell(origin, "2.0.1", offline=True) for origin in ("0.10.0.1", "1.1.1")]
    found = [explore_any_size(each, k) for each in cells]

    assert 1 == len(set(map(any_size_class, cells)))
    assert 1 == len({(each.views, each.parts, each.violation and each.violation.property) for each in found})


def test_members_that_differ_at_first_are_refused():
    before, after = Instance.parse("2.4.1"), Instance.parse("2.5.1")

    with pytest.raises(ValueError, match="alike at first"):
        AnySize(cell("2.4.1", "3.9.2", members=2, custom_sequences=((before, after), (after, after))))
