"""A roll that decides wrongly, in many ways: each mutation changes one thing, and a search has to find it."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from streams_assignor.spark_sim.rolls import ROLL, roll_searches
from streams_assignor.spark_sim.rolls import model as rolls
from streams_assignor.spark_sim.rolls import state as states
from streams_assignor.spark_sim.rolls.properties import ENDS, FORESEEN, ONCE, OUTCOME, READY, RETURNS, UNDISTURBED
from streams_assignor.spark_sim.rolls.state import RollBudget
from streams_assignor.upgrade.roll import engine, group
from streams_assignor.upgrade.roll.gates import GatePhase, RollRules
from streams_assignor.upgrade.roll.group import GROUP_RULES
from streams_assignor.upgrade.roll.journal import BackPlanned, RollEnded, RollResumed, RoundVerified, StepPassed
from streams_assignor.upgrade.roll.plan import RollPlan
from streams_assignor.upgrade.roll.state import (
    ABOUT_DEVIATION,
    ABOUT_FORECAST,
    ABOUT_NEEDS,
    ABOUT_WAY_BACK,
    RollState,
)

Patch = Callable[[pytest.MonkeyPatch], None]
Change = Callable[..., Any]


@frozen
class Mutation:
    """One thing that a roll does wrongly."""

    patch: Patch
    finds: str
    """The property that does not hold then."""
    search: str
    """The name of a search that finds it, without ``roll:``."""
    faults: int = 0
    answers: int = 0
    backs: int = 0
    troubles: int = 0


def without_gate(*names: str) -> Patch:
    """Gates are dropped."""
    rules = evolve(GROUP_RULES, gates=tuple(gate for gate in GROUP_RULES.gates if gate.name not in names))
    assert len(rules.gates) == len(GROUP_RULES.gates) - len(names)
    return lambda patch: patch.setattr(rolls, "GROUP_RULES", rules)


def without_phase(phase: GatePhase) -> Patch:
    """No gate is looked at in a phase."""
    right = RollRules.results

    def results(rules: Any, asked: GatePhase, *given: Any) -> Any:
        return () if asked is phase else right(rules, asked, *given)

    return lambda patch: patch.setattr(RollRules, "results", results)


def changed(change: Change) -> Patch:
    """A decision is another one, or None if it is that."""
    right = engine.decide

    def decide(state: RollState, *given: Any) -> Any:
        decision = right(state, *given)
        return change(decision, state) or decision

    return lambda patch: patch.setattr(engine, "decide", decide)


def replaced(owner: Any, name: str, value: Any) -> Patch:
    """A function or a property is another one."""
    return lambda patch: patch.setattr(owner, name, value)


def begins(state: RollState, number: int = 1) -> engine.BeginStep:
    """A step begins at once."""
    assert state.round
    return engine.BeginStep(state.steps + 1, state.round, state.remaining[:number])


def skips(about: str) -> Patch:
    """A question is not asked: the next step begins, or its command runs."""

    def change(decision: Any, state: RollState) -> Any:
        if not isinstance(decision, engine.AskOperator) or decision.about != about:
            return None
        if about != ABOUT_DEVIATION and state.step is None:
            return begins(state)
        if about == ABOUT_FORECAST and state.step and state.round:
            return engine.RunCommand(state.step.number, *state.step.instances, "restart", state.round)
        if state.step is None:
            return begins(state) if state.remaining else engine.WriteRecord(RoundVerified(round=state.at + 1))
        return engine.WriteRecord(StepPassed(step=state.step.number))

    return changed(change)


def _ends_before_the_last_instance(decision: Any, state: RollState) -> Any:
    if isinstance(decision, engine.BeginStep) and len(state.remaining) == 1:
        return engine.WriteRecord(RollEnded(outcome=engine.FINISHED))
    return None


def _ends_after_a_round(decision: Any, _state: RollState) -> Any:
    is_round = isinstance(decision, engine.WriteRecord) and isinstance(decision.record, RoundVerified)
    return engine.WriteRecord(RollEnded(outcome=engine.FINISHED)) if is_round else None


def _runs_what_was_before(decision: Any, _state: RollState) -> Any:
    if isinstance(decision, engine.RunCommand):
        return evolve(decision, round=evolve(decision.round, config=decision.round.before))
    return None


def _waits_for_ever(decision: Any, _state: RollState) -> Any:
    if isinstance(decision, engine.WriteRecord) and type(decision.record).__name__ == "DeviationFound":
        return engine.KeepWaiting(GatePhase.AFTER, (), 0.0)
    return None


def _is_back_at_once(decision: Any, _state: RollState) -> Any:
    is_planned = isinstance(decision, engine.WriteRecord) and isinstance(decision.record, BackPlanned)
    return engine.WriteRecord(RollEnded(outcome=engine.ROLLED_BACK)) if is_planned else None


def _without_absent(decision: Any, state: RollState) -> Any:
    if isinstance(decision, engine.BeginStep) and state.is_going_back:
        return evolve(decision, instances=state.remaining[:1], absent=())
    return None


def _repeats(decision: Any, state: RollState) -> Any:
    if isinstance(decision, engine.KeepWaiting) and state.step and state.round and None in state.step.ended.values():
        instance, verb = next(key for key, end in state.step.ended.items() if end is None)
        return engine.RunCommand(state.step.number, instance, verb, state.round)
    return None


def _of_the_leader(state: RollState, _round: Any, leader: str | None, *_: Any) -> tuple[str, ...]:
    return (leader,) if leader in state.remaining else state.remaining[:1]


def _both(*patches: Patch) -> Patch:
    def patch_all(patch: pytest.MonkeyPatch) -> None:
        for each in patches:
            each(patch)

    return patch_all


ONE = "one bounce, 2 members, leader seen"
WARM_UP = "one bounce, warm-up, 2 members, leader seen, looks in between"
INPUT = "one bounce, 2 members, leader seen, lag and commits"
LEADER_LAST = "leader last, chained tasks, 2 members, leader seen"
LEADER_FIRST = replaced(engine, "next_instances", _of_the_leader)

MUTATIONS = {
    "no gate before a step": Mutation(without_phase(GatePhase.BEFORE), READY, INPUT, troubles=1),
    "no gate before a command": Mutation(
        without_phase(GatePhase.COMMAND), FORESEEN, "one bounce, 2 members, leader seen, static members", backs=1
    ),
    "no gate after a step": Mutation(without_phase(GatePhase.AFTER), READY, ONE),
    "no gate after a round": Mutation(without_phase(GatePhase.ROUND), READY, ONE, faults=1),
    "without visible": Mutation(without_gate("visible"), ENDS, INPUT, troubles=1),
    "without returned": Mutation(without_gate("returned"), ENDS, ONE, faults=1),
    "without gone": Mutation(without_gate("gone"), RETURNS, "offline, 2 members, leader seen", faults=1),
    "without static": Mutation(
        without_gate("static"), FORESEEN, "two bounces, stop and start, 2 members, leader seen, static members", backs=1
    ),
    "without config": Mutation(without_gate("config"), READY, ONE, faults=1),
    "without others": Mutation(without_gate("others"), READY, ONE, faults=1),
    "without alive": Mutation(without_gate("alive"), READY, ONE, faults=1),
    "without replaced": Mutation(without_gate("replaced"), READY, ONE, faults=1),
    "on the way back it wants nobody": Mutation(
        replaced(group, "_given_up", lambda state: frozenset(state.remaining)), READY, ONE, faults=1, backs=1
    ),
    "on the way back those that are gone have no turn of their own": Mutation(
        changed(_without_absent), RETURNS, "one bounce, 3 members, leader seen", faults=1, backs=1
    ),
    "without stable, unowned, versions and alive": Mutation(
        without_gate("stable", "unowned", "versions", "alive"), READY, WARM_UP
    ),
    "without probing": Mutation(without_gate("probing"), READY, WARM_UP, faults=1, answers=1),
    "without lag": Mutation(without_gate("lag"), READY, INPUT, troubles=1),
    "without commits": Mutation(without_gate("commits"), READY, INPUT, troubles=1),
    "a way back that there is not is not asked about": Mutation(
        skips(ABOUT_WAY_BACK), READY, "leader last, 2 members, leader seen"
    ),
    "what a round needs is not asked about": Mutation(
        skips(ABOUT_NEEDS), READY, "bridge release, 2 members, leader seen", backs=1
    ),
    "a deviation is not asked about": Mutation(skips(ABOUT_DEVIATION), READY, ONE, faults=1),
    "an unsafe forecast is not asked about": Mutation(
        _both(LEADER_FIRST, skips(ABOUT_FORECAST)), FORESEEN, LEADER_LAST
    ),
    "the leader is first": Mutation(LEADER_FIRST, UNDISTURBED, LEADER_LAST),
    "all at a time": Mutation(replaced(engine, "next_instances", lambda state, *_: state.remaining), READY, ONE),
    "it starts before it stops": Mutation(
        replaced(RollPlan, "verbs_of", lambda plan, _round: plan.verbs[::-1]),
        UNDISTURBED,
        "two bounces, stop and start, 2 members, leader seen",
    ),
    "the last instance is left out": Mutation(changed(_ends_before_the_last_instance), OUTCOME, ONE),
    "the second bounce is left out": Mutation(
        changed(_ends_after_a_round), OUTCOME, "two bounces, version pinned, 2 members, leader seen"
    ),
    "it runs what was before": Mutation(changed(_runs_what_was_before), UNDISTURBED, ONE),
    "it waits for ever": Mutation(changed(_waits_for_ever), ENDS, ONE, faults=1),
    "it is back at once": Mutation(changed(_is_back_at_once), OUTCOME, ONE, backs=1),
    "a command is run twice": Mutation(changed(_repeats), ONCE, ONE, faults=1),
    "a torn record is taken for none": Mutation(
        replaced(states, "RollResumed", lambda **_torn: RollResumed()), ONCE, ONE, faults=1
    ),
}
"""What is done wrongly. Not found, as no search shows it: a missing gate ``crash-loop`` or ``owners``, and each of
``stable``, ``unowned`` and ``versions`` alone, since the others are closed then, too."""
SEARCHES = {search.name: search for search in roll_searches()}


IN_GATE = {
    "no gate after a step",
    "the leader is first",
    "the last instance is left out",
    "a command is run twice",
}
"""One for each kind of change: a gate, an order, an end, a command. The others are a minute of searches."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in IN_GATE else [pytest.mark.slow]) for name in MUTATIONS]
)
def test_a_roll_that_decides_wrongly_is_found(name, monkeypatch):
    mutation = MUTATIONS[name]
    budget = RollBudget(mutation.faults, mutation.answers, mutation.backs, mutation.troubles)
    search = evolve(SEARCHES[f"{ROLL} {mutation.search}"], budget=budget)
    mutation.patch(monkeypatch)

    assert mutation.finds in {finding.violation.property for finding in search.explore().findings}
