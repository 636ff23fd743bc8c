"""The conformance kit: built-in assignors pass, and for every property there is an assignor that does not."""

from itertools import cycle
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor import testing
from streams_assignor.codec import TaskId
from streams_assignor.task_assignor import (
    BUILT_IN,
    FALLBACK_PRIOR,
    HIGH_AVAILABILITY,
    STICKY,
    ApplicationState,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    TaskAssignment,
    TaskInfo,
    default_standby_assignment,
)
from streams_assignor.testing import ConformanceError, ConformanceReport, check_task_assignor, random_state, to_python

UNKNOWN_PROCESS = UUID(int=99)


class Assignor:
    """Sound: tasks in order to processes in order, standbys by load. Those below have one thing wrong with them."""

    def owners(self, state):
        return {
            task: client.process_id
            for task, client in zip(sorted(state.tasks), cycle(state.sorted_processes), strict=False)
        }

    def assign(self, state):
        shares = {process: set() for process in state.clients}
        for task, process in self.owners(state).items():
            shares[process].add(task)
        return self.finish(state, [KafkaStreamsAssignment(process, tasks) for process, tasks in shares.items()])

    def finish(self, state, shares):
        return default_standby_assignment(state, TaskAssignment.of(shares))


class DividesByTheNumberOfTasks(Assignor):
    def owners(self, state):
        assert 1 / len(state.tasks)
        return super().owners(state)


class ForgetsToReturn(Assignor):
    def finish(self, state, shares):
        super().finish(state, shares)


class LosesATask(Assignor):
    def owners(self, state):
        return dict(list(super().owners(state).items())[1:])


class GivesATaskTwice(Assignor):
    def finish(self, state, shares):
        first = sorted(state.tasks)[:1]
        return TaskAssignment.of(evolve(share, active=share.active | set(first)) for share in shares)


class HasStandbysBesideTheirActive(Assignor):
    def finish(self, state, shares):
        return TaskAssignment.of(evolve(share, standby=share.active & state.stateful) for share in shares)


class HasStandbysOfEverything(Assignor):
    def finish(self, state, shares):
        return TaskAssignment.of(evolve(share, standby=set(state.tasks) - share.active) for share in shares)


class RemembersWhoIsGone(Assignor):
    def finish(self, state, shares):
        return super().finish(state, [*shares, KafkaStreamsAssignment(UNKNOWN_PROCESS)])


class LeavesOutWhoHasNothing(Assignor):
    def finish(self, state, shares):
        answer = super().finish(state, shares).assignments.values()
        return TaskAssignment.of(share for share in answer if share.active or share.standby)


class KeepsStandbysOfTasksThatAreGone(Assignor):
    def finish(self, state, shares):
        had = {client.process_id: client.previous_active_tasks for client in state.clients.values()}
        gone = [evolve(share, standby=had[share.process_id] - set(state.tasks)) for share in shares]
        return super().finish(state, gone)


class HasNoStandbys(Assignor):
    def finish(self, _state, shares):
        return TaskAssignment.of(shares)


class HasStandbysEverywhere(Assignor):
    def finish(self, state, shares):
        return TaskAssignment.of(evolve(share, standby=state.stateful - share.active) for share in shares)


class EatsTheTasks(Assignor):
    def finish(self, state, shares):
        answer = super().finish(state, shares)
        if state.tasks:
            state.tasks.popitem()
        return answer


class GoesOnWhereItStopped(Assignor):
    calls = 0

    def owners(self, state):
        self.calls += 1
        names = [client.process_id for client in state.sorted_processes]
        return {task: names[(self.calls + at) % len(names)] for at, task in enumerate(sorted(state.tasks))}


class AsksForAFollowUpEverySecondTime(Assignor):
    calls = 0

    def finish(self, state, shares):
        self.calls += 1
        answer = super().finish(state, shares).assignments.values()
        return TaskAssignment.of(evolve(share, follow_up_rebalance_ms=self.calls % 2) for share in answer)


class TakesProcessesAsTheyCome(Assignor):
    def owners(self, state):
        return dict(zip(sorted(state.tasks), cycle(state.clients), strict=False))


class PassesTasksOn(Assignor):
    """From the process that had a task to the next process."""

    follow_up = None

    def owners(self, state):
        names = [client.process_id for client in state.sorted_processes]
        had = {task: at for at, name in enumerate(names) for task in state.clients[name].previous_active_tasks}
        return {task: names[(had.get(task, 0) + 1) % len(names)] for task in state.tasks}

    def finish(self, state, shares):
        return super().finish(state, [evolve(share, follow_up_rebalance_ms=self.follow_up) for share in shares])


class PassesTasksOnAndOn(PassesTasksOn):
    follow_up = 1000


class GivesAllToTheFirst(Assignor):
    def owners(self, state):
        return dict.fromkeys(state.tasks, state.sorted_processes[0].process_id)


BROKEN = {
    DividesByTheNumberOfTasks: testing.RETURNS_ASSIGNMENT,
    ForgetsToReturn: testing.RETURNS_ASSIGNMENT,
    LosesATask: testing.EACH_ACTIVE_ONCE,
    GivesATaskTwice: testing.EACH_ACTIVE_ONCE,
    HasStandbysBesideTheirActive: testing.NO_STANDBY_WITH_ACTIVE,
    HasStandbysOfEverything: testing.ONLY_STATEFUL_STANDBYS,
    RemembersWhoIsGone: testing.ONLY_GROUP_PROCESSES,
    LeavesOutWhoHasNothing: testing.PASSES_VALIDATION,
    KeepsStandbysOfTasksThatAreGone: testing.PASSES_VALIDATION,
    HasNoStandbys: testing.ENOUGH_STANDBYS,
    HasStandbysEverywhere: testing.NO_EXTRA_STANDBYS,
    EatsTheTasks: testing.STATE_UNCHANGED,
    GoesOnWhereItStopped: testing.DETERMINISTIC,
    AsksForAFollowUpEverySecondTime: testing.DETERMINISTIC,
    TakesProcessesAsTheyCome: testing.ORDER_INDEPENDENT,
    PassesTasksOnAndOn: testing.CONVERGES,
    PassesTasksOn: testing.STABLE,
    GivesAllToTheFirst: testing.BALANCED,
}


def run(code):
    made = {}
    exec(code, made)
    return made["state"]


def error_of(make, **wanted):
    with pytest.raises(ConformanceError) as raised:
        check_task_assignor(make, **wanted)
    return raised.value


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("make", "name"), BROKEN.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_whatever_is_wrong_is_found_and_named(make, name, seed):
    error = error_of(make, seed=seed, max_spread=10)

    assert name == error.property
    assert str(error).startswith(f"{name}: {error.message}\n\n# group ")
    assert f" of seed {seed}\n" in str(error)


def test_every_property_has_a_broken_assignor():
    properties = {value for name, value in vars(testing).items() if name.isupper() and isinstance(value, str)}

    assert properties == set(BROKEN.values())


@pytest.mark.unmeasured
@pytest.mark.parametrize("make", [make for make in BROKEN if make is not GivesAllToTheFirst])
def test_the_group_in_the_error_is_code_that_fails_again(make):
    error = error_of(make)
    made = run(to_python(error.state))

    assert to_python(error.state) in str(error)
    assert error.state == made
    if make not in {PassesTasksOn, PassesTasksOnAndOn, HasNoStandbys}:  # found at a later step of this group
        assert error.property == error_of(make, extra_states=[made], groups=0).property


def test_a_group_of_your_own_comes_first():
    client = KafkaStreamsState(process_id=UUID(int=1))
    state = ApplicationState(tasks={TaskId(0, 0): TaskInfo()}, clients={client.process_id: client})
    error = error_of(LosesATask, extra_states=[state])

    assert state is error.state
    assert "0_0 is active 0 times\n\n# a group of your own\n" in str(error)
    assert state == run(to_python(state))


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("built_in", "max_spread"), [(STICKY, 1), (HIGH_AVAILABILITY, 1), (FALLBACK_PRIOR, None)], ids=str
)
def test_built_in_assignors_pass(built_in, max_spread):
    report = check_task_assignor(lambda: built_in, groups=80, max_spread=max_spread)

    assert 80 == report.groups
    assert 800 < report.assignments


def test_all_built_in_assignors_are_checked():
    assert {STICKY, HIGH_AVAILABILITY, FALLBACK_PRIOR} == set(BUILT_IN.values())


def test_a_sound_assignor_of_ones_own_passes():
    state = random_state(Random(1), 3)

    assert 51 == check_task_assignor(Assignor, groups=50, extra_states=[state]).groups


@pytest.mark.unmeasured
def test_an_assignor_that_keeps_everything_is_reported_as_sticky_and_uneven():
    report = check_task_assignor(lambda: FALLBACK_PRIOR, groups=100)

    assert 1.0 == report.kept
    assert 5 < report.spread
    assert "100 groups, " in str(report)
    assert ": 100.0% of active tasks kept when a process left or joined" in str(report)


def test_the_report_counts_what_stayed_and_how_even_it_is():
    client = KafkaStreamsState(process_id=UUID(int=1))
    state = ApplicationState(tasks={TaskId(0, each): TaskInfo() for each in range(3)}, clients={UUID(int=1): client})
    report = check_task_assignor(lambda: STICKY, extra_states=[state], groups=0)

    # No process can leave; a joining one takes one of three. Four calls each: again, shuffled, and with its own answer.
    assert ConformanceReport(groups=1, assignments=8, kept=2 / 3, spread=1.0) == report


def test_an_assignor_need_not_be_sticky_nor_give_standbys():
    report = check_task_assignor(PassesTasksOn, groups=20, sticky=False)

    assert 20 == report.groups
    assert 20 == check_task_assignor(HasNoStandbys, groups=20, standbys=False).groups


def test_without_groups_there_is_nothing_to_report():
    assert "0 groups, 0 assignments: 100.0% of active tasks kept" in str(check_task_assignor(Assignor, groups=0))


def test_the_page_has_every_property():
    page = (Path(__file__).parents[2] / "docs/how-to/task-assignor.md").read_text()

    assert [] == [name for name in set(BROKEN.values()) if f"| {name} |" not in page]


@pytest.mark.slow
def test_the_same_seed_makes_the_same_groups_for_every_assignor():
    seen = []

    def listening_to(built_in):
        class Listens:
            def assign(self, state):
                seen[-1].append(state)
                return built_in.assign(state)

        return Listens

    for built_in in (STICKY, FALLBACK_PRIOR):
        seen.append([])
        check_task_assignor(listening_to(built_in), groups=30, seed=4)
    seen.append([])
    check_task_assignor(listening_to(STICKY), groups=30, seed=5)
    sticky, fallback_prior, other_seed = ([state.tasks for state in states] for states in seen)

    assert sticky == fallback_prior
    assert sticky != other_seed


def test_the_groups_have_what_is_promised():
    chance = Random(0)
    states = [random_state(chance, 2 + 10 * number // 200) for number in range(200)]

    def some(what):
        return any(map(what, states))

    def previous(state):
        return [task for client in state.clients.values() for task in client.previous_active_tasks]

    assert some(lambda state: not state.tasks)
    assert some(lambda state: 1 == len(state.clients))
    assert some(lambda state: 0 < len(state.tasks) < len(state.clients))
    assert some(lambda state: set(previous(state)) - set(state.tasks))
    assert some(lambda state: previous(state) and set(state.tasks) - set(previous(state)))
    assert some(lambda state: len(previous(state)) > len(set(previous(state))))
    assert some(lambda state: state.configs.rack_aware_assignment_tags)
    assert all(client.num_processing_threads for state in states for client in state.clients.values())
    assert all(set(client.lags) == state.stateful for state in states for client in state.clients.values())


def test_random_clients_have_the_tags_that_you_name():
    seen = []

    class Listens(Assignor):
        def owners(self, state):
            seen.extend(client.client_tags["disk"] for client in state.clients.values())
            return super().owners(state)

    check_task_assignor(Listens, groups=20, tags={"disk": ["10", "200"]})

    assert {"10", "200"} == set(seen)
