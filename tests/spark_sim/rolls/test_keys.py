"""States of a roll that go on differently have different keys: each field counts, unless it says why it does not."""

import pytest
from attrs import evolve, fields

from streams_assignor.cli.roll.instances import InstanceNames
from streams_assignor.cli.roll.look import look_at
from streams_assignor.groups import DescribedGroupMember
from streams_assignor.groups.offsets import GroupOffsets
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.rolls import roll_searches
from streams_assignor.spark_sim.rolls.keys import LEFT_OUT, model_key
from streams_assignor.spark_sim.rolls.state import InputFlow, RollBudget, RollModelState, SimulatedInput
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.gates import AwaitedEvent, RollWatch
from streams_assignor.upgrade.roll.group_life import GroupLife, MemberLife
from streams_assignor.upgrade.roll.group_memory import GroupMemory
from streams_assignor.upgrade.roll.group_observation import CountedMembers, PartitionOffsets, StateBehind
from streams_assignor.upgrade.roll.journal import CommandEnded, DeviationFound
from streams_assignor.upgrade.roll.plan import InstanceConfig
from streams_assignor.upgrade.roll.state import RollState, StepInProgress
from streams_assignor.upgrade.roll.unowned_times import UnownedTimes
from tests.assignor.groups.described_groups import group as described_group

SEARCH = next(search for search in roll_searches() if search.name == "roll: one bounce, 2 members, leader seen")
ENDED = CommandEnded(step=1, instance="A", verb="restart", status=0)
FOUND = DeviationFound(
    step=1, kind=DeviationKind.LAG, expected="", observed="", likely="", options=(SafeOption.STOP,), instances=("A",)
)
OTHER = InstanceConfig("2.0.1")


def sample():
    """A state in the middle of the first step, with something in each place."""
    first, *_ = SEARCH.model.initial_states()
    (one, two) = first.group.coordinator.members
    step = StepInProgress(
        number=1,
        instances=("A",),
        before={"A": (one,)},
        owners={"0_0": "A"},
        expectation=Expectation(),
        ended={("A", "restart"): ENDED},
        touched=frozenset({"A"}),
    )
    times = UnownedTimes(
        last=90.0, touched={"A": (one,)}, ended_at={"A": 95.0}, since={"0_0": 50.0}, held={"0_0": one}, owners={}
    )
    memory = GroupMemory(
        times=times, offsets={"data-0": PartitionOffsets(committed=0, end=5)}, state_lags={"0_0": StateBehind("", 7)}
    )
    life = GroupLife(
        answers=0,
        counted=CountedMembers(since=80.0),
        lives={one: MemberLife(80.0, 90.0)},
        known={"B": frozenset({two})},
        joined={},
    )
    watch = RollWatch(AwaitedEvent(False, 0, 1, False, 0), 85.0, memory, life)
    roll = evolve(first.roll, step=step, steps=1, deviation=FOUND)
    return evolve(first, roll=roll, watch=watch, seconds=100.0, input=SimulatedInput(), died=frozenset())


def at(*path):
    """The changes that replace an object within a state: by the names of the fields that lead to it."""

    def change(state, **values):
        def within(owner, names):
            if not names:
                return evolve(owner, **values)
            return evolve(owner, **{names[0]: within(getattr(owner, names[0]), names[1:])})

        return within(state, path)

    return change


def change_end(state, **values):
    return at("roll", "step")(state, ended={("A", "restart"): evolve(ENDED, **values)})


PLACES = {
    RollModelState: at(),
    SimulatedInput: at("input"),
    RollBudget: at("budget"),
    RollState: at("roll"),
    StepInProgress: at("roll", "step"),
    CommandEnded: change_end,
    DeviationFound: at("roll", "deviation"),
    RollWatch: at("watch"),
    GroupMemory: at("watch", "memory"),
    UnownedTimes: at("watch", "memory", "times"),
    GroupLife: at("watch", "lasting"),
}
ONE, TWO = sample().group.coordinator.members
VALUES = {
    RollModelState: {
        "group": sample().group.without("A"),
        "roll": evolve(sample().roll, at=1),
        "input": SimulatedInput(InputFlow.STUCK),
        "watch": RollWatch(),
        "budget": RollBudget(faults=7),
        "ran": frozenset({(1, "A", "restart")}),
        "died": frozenset({"A"}),
        "replaced": frozenset({("A", frozenset({ONE}))}),
        "excused": True,
        "consented": True,
        "is_disturbed": True,
        "faults_at_turn": 1,
        "wrong": Violation("p", "A", "t"),
        "final": engine.RollFinished(""),
        "stuck": True,
    },
    SimulatedInput: {"flow": InputFlow.STUCK, "committed": 1},
    RollBudget: dict.fromkeys(("faults", "answers", "backs", "troubles"), 7),
    RollState: {
        "plan": evolve(SEARCH.plan, begun=1),
        "rounds": (),
        "at": 1,
        "configs": {"A": OTHER},
        "stopped": frozenset({"A"}),
        "owners_before_stop": {"0_0": "B"},
        "done": frozenset({"A"}),
        "step": None,
        "agreed": frozenset({"plan"}),
        "consents": frozenset({0}),
        "deviation": None,
        "accepted": frozenset({(1, DeviationKind.LAG, "lag", "")}),
        "patient": frozenset({(1, DeviationKind.LAG)}),
        "members": {"A": (ONE,)},
        "joined": {"A": (ONE,)},
        "restarted": frozenset({"B"}),
        "suspects": frozenset({"A"}),
        "wants": SafeOption.BACK,
        "is_going_back": True,
        "is_paused": True,
        "outcome": "finished",
    },
    StepInProgress: {
        "instances": ("B",),
        "before": {"A": (TWO,)},
        "owners": {"0_0": "B"},
        "expectation": Expectation(outcomes=(ExpectedOutcome(),)),
        "ended": {("A", "restart"): None},
        "absent": frozenset({"B"}),
        "unchecked": True,
        "touched": frozenset(),
        "seconds_before": 1.0,
    },
    CommandEnded: {"status": 1, "how": "found"},
    DeviationFound: {"kind": DeviationKind.UNOWNED, "options": (), "instances": (), "gate": "owners"},
    RollWatch: {"awaited": AwaitedEvent(False, 0, 1, False, -1), "began": 84.0, "memory": None, "lasting": None},
    GroupMemory: {"times": UnownedTimes(last=0.0), "offsets": None, "state_lags": {}},
    UnownedTimes: {
        "last": 89.0,
        "touched": {"A": (TWO,)},
        "ended_at": {"A": 94.0},
        "owners": {"0_0": "B"},
        "eager": frozenset({"0_0"}),
        "since": {"0_0": 49.0},
        "held": {"0_0": TWO},
    },
    GroupLife: {
        "in_step": True,
        "counted": CountedMembers(),
        "lives": {ONE: MemberLife(79.0, 90.0)},
        "known": {"B": frozenset()},
        "joined": {"A": frozenset({ONE})},
        "was_away": True,
    },
}
"""Of each field another value."""


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, values in VALUES.items() for name in values])
def test_a_field_with_another_value_makes_another_key(kind, name):
    before = sample()
    assert model_key(before) == model_key(sample())

    assert model_key(before) != model_key(PLACES[kind](before, **{name: VALUES[kind][name]}))


@pytest.mark.parametrize("kind", PLACES)
def test_each_field_is_in_the_key_or_says_why_it_is_not(kind):
    """26 states were taken for others: the key did not have the owners of the tasks before a step."""
    names = {attribute.name for attribute in fields(kind)}

    assert names == {*VALUES[kind], *LEFT_OUT.get(kind, {})}
    assert all(LEFT_OUT.get(kind, {"": "-"}).values())


class OneGroup:
    """A simulated group as a broker describes it."""

    def __init__(self, group):
        self._group = group.coordinator

    def group(self, _name):
        members = (
            DescribedGroupMember(
                member_id=member_id,
                client_id=member_id.rpartition("-")[0],
                subscription=subscription,
                assignment=self._group.assignments[member_id],
            )
            for member_id, subscription in self._group.subscriptions.items()
        )
        return described_group(*members)

    def offsets(self, requests, _report):
        return {request.group: GroupOffsets() for request in requests}


def test_a_search_sees_the_members_that_a_live_roll_sees():
    """Both are built by one function; only labels differ."""
    first, *_ = SEARCH.model.initial_states()
    live = look_at(OneGroup(first.group), "app", InstanceNames({"A": "A", "B": "B"})).seen
    searched = first.group.look(0, sees_leader=True)

    unnamed = [{evolve(member, label="") for member in look.members} for look in (live, searched)]
    assert unnamed[0] == unnamed[1]
    assert {"A", "B"} == {member.instance for member in live.members if member.active}
