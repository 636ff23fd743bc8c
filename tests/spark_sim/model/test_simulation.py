"""Whole scenarios: the KIP's upgrades, Kafka's own historic bugs, and faults on the way."""

from collections import Counter

import pytest

from streams_assignor.spark_sim.model import properties, violations
from streams_assignor.spark_sim.model.events import events_digest
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.settle import MAX_PROBING_REBALANCES, MAX_REBALANCES, is_warming_up
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.task_assignor import FALLBACK_PRIOR, KafkaStreamsAssignment, TaskAssignment


def run(line):
    return Simulation(Scenario.parse(line)).run()


def generations(simulation):
    """The messages of each running member, generation by generation."""
    found = {}
    for event in simulation.events:
        if event.kind in {"assigned", "dropped"}:
            found.setdefault(event.generation, {})[event.member] = event.values[:2]
    return list(found.values())


def test_one_bounce_from_2_0_to_a_simulated_4_probes_and_ends_on_4():
    simulation = run("A@2.0.1 B@2.0.1 C@2.0.1 | bounce C>simulated-4 B>simulated-4 A>simulated-4")

    assert [] == simulation.violations
    assert simulation.version_probes
    assert {4} == {process.received_version for process in simulation.running_members}


def test_by_the_text_of_the_kip_a_newer_member_joins_a_group_whose_first_bounce_is_not_over():
    """It raised IllegalStateException: version 4 met members that ``upgrade.from`` pins to version 2."""
    simulation = run("A@kip-268,upgrade.from=1.1 B@kip-268,upgrade.from=1.1 | bounce B>kip-268-next")
    probed, after = generations(simulation)[-2:]

    assert [] == simulation.violations
    assert {"A": (2, -1), "B": (3, 3)} == probed
    assert {"A": (2, -1), "B": (2, -1)} == after


def test_it_repeats_a_captured_bounce_from_2_0_1_to_2_3_1():
    """The bounce of ``captures/2.0.1-to-2.3.1.json`` as (version, supported) of every answer, from generation 4 on."""
    simulation = run("A@2.0.1 B@2.0.1 C@2.0.1 | bounce fast A>2.3.1 B>2.3.1 C>2.3.1")
    old, new, done = (3, 3), (3, 4), (4, 4)

    assert [[old] * 3] * 4 + [[new] * 3, [done] * 3] == [list(each.values()) for each in generations(simulation)[1:]]


@pytest.mark.parametrize("origin", ["0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"])
def test_two_bounces_with_upgrade_from_are_safe(origin):
    line = ".".join(origin.split(".")[:-1])
    first = " ".join(f"{name}>2.0.1,upgrade.from={line}" for name in "BCA")
    simulation = run(f"A@{origin} B@{origin} C@{origin} | bounce {first} | bounce A>2.0.1 C>2.0.1 B>2.0.1")

    assert [] == simulation.violations


def test_without_upgrade_from_the_old_leader_fails():
    simulation = run("A@1.1.1 B@1.1.1 C@1.1.1 | bounce C>2.0.1")

    assert (violations.READABLE_VERSION, "A") == (simulation.violations[0].property, simulation.violations[0].member)


@pytest.mark.parametrize(
    ("target", "safe"), [("0.10.2.1", False), ("1.1.0", False), ("0.10.2.2", True), ("1.1.1", True)]
)
def test_kafka_6054_two_bounces_from_0_10_0_need_a_fixed_release(target, safe):
    setting = ",upgrade.from=0.10.0" if safe else ""
    bounces = " ".join(f"{name}>{target}{setting}" for name in "ABC")
    simulation = run(f"A@0.10.0.1 B@0.10.0.1 C@0.10.0.1 | bounce {bounces} | bounce A>{target} B>{target} C>{target}")

    assert safe == (not simulation.violations)


@pytest.mark.parametrize(
    ("target", "safe"), [("2.1.1", False), ("2.2.1", False), ("2.3.0", False), ("2.2.2", True), ("2.3.1", True)]
)
def test_kafka_8649_members_of_2_0_fail_under_a_newer_leader_until_fixed(target, safe):
    # A is bounced first and leads later, while C is still old: B leads in between, and goes.
    simulation = run(f"A@2.0.1 B@2.0.1 C@2.0.1 | elect newest | bounce A>{target} B>{target} C>{target}")
    others = run(f"A@2.0.1 B@2.0.1 C@2.0.1 | elect newest | bounce fast A>{target} B>{target} C>{target}")

    assert safe == (not simulation.violations and not others.violations)


@pytest.mark.parametrize("order", ["BCA", "CBA"])
@pytest.mark.parametrize("mode", ["", "fast ", "leave "])
@pytest.mark.parametrize("elects", ["oldest", "newest"])
def test_kafka_8649_does_no_harm_if_the_leader_is_bounced_last(order, mode, elects):
    """Which is what ``plan`` advises beside a fixed release."""
    bounces = " | ".join(f"bounce {mode}{name}>2.1.1" for name in order)

    assert [] == run(f"A@2.0.1 B@2.0.1 C@2.0.1 | elect {elects} | {bounces}").violations


def test_members_that_are_never_bounced_again_keep_the_group_down():
    simulation = run("A@1.1.1 B@1.1.1 | bounce A>2.0.1,upgrade.from=1.1 B>2.0.1,upgrade.from=1.1 | bounce A>2.0.1")

    assert [] == simulation.violations
    assert {2} == {process.received_version for process in simulation.running_members}


@pytest.mark.parametrize(
    "fault", ["crash B | start B", "crash mid B", "crash mid A", "stop leave A | start A", "stop B | start B>2.0.1"]
)
def test_a_group_recovers_from_a_fault(fault):
    simulation = run(f"A@2.0.1 B@2.0.1 C@2.0.1 | {fault} | bounce C>2.0.1 | start B A")

    assert [] == simulation.violations


def test_a_crash_in_the_middle_of_a_rebalance_is_followed_by_another_one():
    simulation = run("A@2.0.1 B@2.0.1 C@2.0.1 | crash mid A | bounce C>2.0.1 | start A")
    crashed = next(event for event in simulation.events if event.kind == "crashed")

    assert [] == simulation.violations
    assert any(event.kind == "expired" and event.at > crashed.at for event in simulation.events)


def test_a_group_without_members_owns_no_task():
    simulation = run("A@2.0.1 | stop A")

    assert [violations.EVERY_TASK_OWNED] == [violation.property for violation in simulation.violations]


def test_equal_runs_have_equal_histories():
    line = "A@2.0.1 B@2.0.1 | bounce fast A>simulated-4 | crash B | start B"

    assert events_digest(run(line).events) == events_digest(run(line).events)
    assert events_digest(run(line).events) != events_digest(run(line.replace("fast ", "")).events)


def test_a_fork_is_independent():
    simulation = Simulation(Scenario.parse("A@2.0.1 B@2.0.1")).begin()
    before = events_digest(simulation.events)
    fork = simulation.fork()
    fork.play(Scenario.parse("A@2.0.1 B@2.0.1 | bounce A>simulated-4").steps[0])

    assert before == events_digest(simulation.events)
    assert 3 == simulation.members["A"].assignor.supported_version
    assert [] == simulation.finish().violations


def test_starting_a_running_process_restarts_it():
    assert [] == run("A@2.0.1 B@2.0.1 | start A>2.0.1").violations


def test_two_owners_are_reported():
    """The property can be violated: no simulated group does it, so it is done by hand."""
    simulation = Simulation(Scenario.parse("A@2.0.1 B@2.0.1")).begin()
    simulation.members["A"].owned_tasks = simulation.members["B"].owned_tasks

    assert {violations.SINGLE_OWNER} == {violation.property for violation in properties.check_always(simulation)}


def test_endless_rebalancing_is_reported(monkeypatch):
    monkeypatch.setattr("streams_assignor.spark_sim.model.settle.MAX_REBALANCES", 1)
    simulation = run("A@2.0.1 B@2.0.1 | bounce A>simulated-4")

    assert violations.REBALANCING_TERMINATES in {violation.property for violation in simulation.violations}


WARMING = "A@3.9.2 B@3.9.2 | with partitions={} lag ephemeral | stop leave B | start B"


def test_probing_rebalances_until_all_tasks_are_warm_are_not_endless():
    """Two tasks warm up at a time, so half of 48 need a dozen probing rebalances, each with one more to move tasks."""
    simulation = run(WARMING.format(48))

    assert simulation.max_rebalances > MAX_REBALANCES
    assert ([], False) == (simulation.violations, is_warming_up(simulation))


def test_a_group_that_is_still_warming_up_when_its_play_ends_violates_nothing():
    simulation = run(WARMING.format(100))

    assert ([], True) == (simulation.violations, is_warming_up(simulation))
    assert MAX_PROBING_REBALANCES == sum(event.kind == "probing_rebalance" for event in simulation.events)


def test_probing_rebalances_that_move_nothing_are_no_danger(monkeypatch):
    """The assignor of Kafka without end offsets always schedules one: here for ever, as the offsets never come."""
    monkeypatch.setattr(Workload, "task_assignor", lambda _workload, _release: FALLBACK_PRIOR)
    simulation = run("A@streams-assignor B@streams-assignor | with lag")

    assert ([], True, True) == (simulation.violations, simulation.probes_in_vain, is_warming_up(simulation))
    assert simulation.max_rebalances < MAX_REBALANCES


def test_probing_rebalances_that_move_tasks_to_and_fro_are_endless(monkeypatch):
    class Restless:
        """Gives all tasks to the process without tasks, and schedules a rebalance."""

        def assign(self, state, /):
            owner, other = sorted(state.clients, key=lambda each: not state.clients[each].previous_active_tasks)
            everything = KafkaStreamsAssignment(other, state.tasks, follow_up_rebalance_ms=60_000)
            return TaskAssignment.of([everything, KafkaStreamsAssignment(owner)])

    monkeypatch.setattr(Workload, "task_assignor", lambda _workload, _release: Restless())
    simulation = run("A@streams-assignor B@streams-assignor | with partitions=5 lag")

    assert {"probing rebalances move tasks, and leave the group as it was before an earlier one"} == {
        violation.text for violation in simulation.violations
    }


def test_every_event_can_be_read():
    simulation = run("A@1.1.1 B@1.1.1 C@1.1.1 | bounce leave C>2.0.1 | crash B")
    more = run("A@2.0.1 B@2.0.1 | bounce fast A>2.3.1")
    kinds = Counter(event.kind for event in (*simulation.events, *more.events))

    assert {
        "started",
        "joined",
        "leads",
        "assigned",
        "dropped",
        "rejoins",
        "left",
        "failed",
        "expired",
        "violation",
    } <= kinds.keys()
    assert all(str(event) for event in (*simulation.events, *more.events))
