"""Every decision of a roll is explored against a simulated group, and a roll that decides wrongly is found."""

import pickle

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.sweep import sweep
from streams_assignor.spark_sim.rolls import ROLL, roll_searches
from streams_assignor.spark_sim.rolls import model as rolls
from streams_assignor.spark_sim.rolls.properties import WORKS
from streams_assignor.spark_sim.rolls.searches import ROLLS, RollSearch
from streams_assignor.spark_sim.rolls.state import RollBudget
from streams_assignor.spark_sim.search.bfs import bfs
from streams_assignor.spark_sim.sweep.report.cells_page import history_page
from streams_assignor.spark_sim.sweep.report.renderers import judge_searches
from streams_assignor.spark_sim.sweep.search_units import RollUnit, roll_units
from streams_assignor.spark_sim.sweep.suites import roll_suite
from streams_assignor.upgrade.roll import engine

SEARCHES = {search.name: search for search in roll_searches()}
SMALL = RollBudget(faults=1, answers=1, backs=1)


def search_of(title, members=2, *, sees_leader=True, **budget):
    seen = "seen" if sees_leader else "not seen"
    found = SEARCHES[f"{ROLL} {title}, {members} members, leader {seen}"]
    return evolve(found, budget=RollBudget(**budget) if budget else SMALL)


def properties(search):
    return {finding.violation.property for finding in search.explore().findings}


def test_without_faults_there_is_one_schedule_for_each_rule_of_election():
    found = search_of("two bounces", faults=0, answers=0, backs=0).explore()

    assert ({"finished": 2}, 2, ()) == (dict(found.ends), found.schedules, found.findings)


@pytest.mark.parametrize(
    ("budget", "ends"),
    [
        ({"faults": 1, "answers": 1, "backs": 0}, {"finished", "rolled back", "stopped"}),
        ({"faults": 0, "answers": 1, "backs": 1}, {"finished", "rolled back"}),
    ],
    ids=["a fault", "a way back"],
)
def test_a_roll_does_nothing_that_it_must_not(budget, ends):
    found = search_of("one bounce", **budget).explore()

    assert () == found.findings
    assert ends == {*found.ends}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_no_roll_does_what_it_must_not(name):
    assert () == SEARCHES[name].explore().findings


@pytest.mark.slow
@pytest.mark.parametrize("further", [{"batch": 3}, {"canary": "C"}], ids=str)
@pytest.mark.parametrize("title", ROLLS)
def test_batches_and_a_canary_do_nothing_that_they_must_not(title, further):
    search = RollSearch(title, 3, sees_leader=True)
    model = rolls.RollModel(evolve(search.plan, **further), RollBudget(faults=0, answers=0), sees_leader=True)

    assert [] == bfs(model).violations


# -- a roll that decides wrongly is found -----------------------------------------------------------------------------


def decides(monkeypatch, change):
    right = engine.decide
    monkeypatch.setattr(rolls.engine, "decide", lambda *given: change(right(*given), *given))


def test_an_error_of_decide_is_found(monkeypatch):
    def change(decision, *_):
        if isinstance(decision, engine.BeginStep):
            raise LookupError("no instance")
        return decision

    decides(monkeypatch, change)
    (finding,) = search_of("one bounce", faults=0, answers=0, backs=0).explore().findings

    assert (WORKS, "LookupError: no instance") == (finding.violation.property, finding.violation.text)
    assert "roll decides" == finding.actions[-1]


def test_an_instance_that_is_to_be_restarted_again_is_rolled_back_too():
    """Its command was forgotten, and with it that anything had been done: the roll said that it was rolled back."""
    model = rolls.RollModel(search_of("one bounce").plan, SMALL, sees_leader=True)
    state, *_ = model.initial_states()
    for text in (
        "roll asks about plan: continue",
        "roll begins A",
        "restart A as 2.8.2: it does not return",
        "the group comes to rest",
        "540 s pass",
        "roll notes DeviationFound",
        "roll asks about deviation: again",
        "the operator wants back",
        "roll notes BackPlanned",
    ):
        (state,) = (each.state for each in model.transitions(state) if str(each.action) == text)

    assert state.roll.is_going_back
    assert "A" in state.roll.remaining


BACK_AFTER_A_CRASH = """roll asks about plan: continue
roll begins B, C
restart B as 3.0.2 with upgrade.from=2.3
restart C as 3.0.2 with upgrade.from=2.3
the group comes to rest
540 s pass
roll notes StepPassed
roll begins A
restart A as 3.0.2 with upgrade.from=2.3
the operator wants back
B crashes
roll notes BackPlanned
roll asks about needs: continue
roll begins A
roll asks about unsafe-forecast: continue
restart A as 2.3.1
the group comes to rest
540 s pass
roll notes DeviationFound
roll asks about deviation: continue
600 s pass
roll notes StepPassed
roll begins B
roll asks about unsafe-forecast: continue
restart B as 2.3.1
the group comes to rest
540 s pass
roll notes DeviationFound
roll asks about deviation: continue
600 s pass
roll notes StepPassed
roll begins C
restart C as 2.3.1
the group comes to rest
540 s pass
roll notes StepPassed
600 s pass
roll notes RoundVerified
roll notes RollEnded
roll ends: rolled back"""


BACK_FROM_AN_UNKNOWN_OUTCOME = """roll asks about plan: continue
roll begins A
restart A as 2.8.2
the group comes to rest
540 s pass
roll notes StepPassed
roll begins B
restart B as 2.8.2: it is not restarted, as roll ends
45 s pass
roll asks about unknown-outcome: back
A crashes
roll notes BackPlanned
roll begins B
restart B as 2.4.1
the group comes to rest
540 s pass
roll notes DeviationFound
roll asks about deviation: continue
600 s pass
roll notes StepPassed
roll begins A
restart A as 2.4.1
the group comes to rest
540 s pass
roll notes StepPassed
600 s pass
roll notes RoundVerified
roll notes RollEnded
roll ends: rolled back"""


@pytest.mark.parametrize(
    ("name", "schedule", "release"),
    [
        # Each leader fails: it needs four answers, two of each unsafe step.
        ("leader last, chained tasks, 3 members, leader seen, batches of two", BACK_AFTER_A_CRASH, "2.3.1"),
        # Who has crashed meanwhile, and whose turn comes next, is waited for in vain.
        ("one bounce, 3 members, leader seen, two faults", BACK_FROM_AN_UNKNOWN_OUTCOME, "2.4.1"),
    ],
    ids=["each leader fails", "one crashes as it turns"],
)
def test_a_way_back_that_nobody_has_overruled_ends_with_answers_that_are_not_bounded(name, schedule, release):
    """With a bound the search said that it never ends, whatever is answered."""
    model = SEARCHES[f"{ROLL} {name}"].model
    state, *_ = model.initial_states()
    for text in schedule.splitlines():
        (state,) = (each.state for each in model.transitions(state) if str(each.action) == text)

    assert "rolled back" == state.final.outcome
    assert model.budget.answers == state.budget.answers
    assert {release} == {str(state.group.runs(name)) for name in "ABC"}


# -- the sweep --------------------------------------------------------------------------------------------------------


def test_units_have_names_of_their_own_and_travel():
    units = roll_units()
    suite = roll_suite()

    assert len(units) == len({unit.key for unit in units}) == len(set(suite.cells))
    assert [repr(unit) for unit in units] == [repr(pickle.loads(pickle.dumps(unit))) for unit in units]


def test_a_result_says_that_nothing_was_found():
    result = RollUnit(search_of("one bounce", faults=0, answers=0, backs=0)).result()

    assert (True, False, 2) == (result.as_expected, result.found, result.schedules)
    assert "no roll does what it must not" in judge_searches([result]).text
    assert "Upgrades by roll" in history_page([result], judge_searches([result]))


def test_a_counterexample_is_a_trace_of_what_happens(monkeypatch):
    def change(decision, *_):
        return engine.KeepWaiting(None, (), 0.0) if isinstance(decision, engine.BeginStep) else decision

    decides(monkeypatch, change)
    unit = RollUnit(search_of("one bounce", faults=0, answers=0, backs=0))
    result = unit.result()

    assert not judge_searches([result]).good
    assert ["roll asks about plan: continue", "roll waits"] == [step.step for step in unit.trace(result.example).steps]


def test_the_matrix_takes_no_other_option(tmp_path):
    done = CliRunner().invoke(sweep, ["--matrix", "roll", "--members", "2", "--out", str(tmp_path / "out")])

    assert (2, True) == (done.exit_code, "--matrix roll defines what to search for" in done.output)
