"""A forecast continues a live group as the group itself goes on."""

import pytest
from attrs import evolve

from streams_assignor.cli.group.what_if import forecast_lines
from streams_assignor.codec import TaskId, decode_assignment, encode_assignment
from streams_assignor.codec.consumer_protocol import (
    TopicPartitions,
    decode_consumer_assignment,
    encode_consumer_assignment,
)
from streams_assignor.groups import inspect_group
from streams_assignor.spark_sim.forecast import ForecastError, forecast, observe, parse_operation, restart_order
from streams_assignor.spark_sim.forecast.assumptions import EITHER_PROTOCOL
from streams_assignor.spark_sim.forecast.operations import UPGRADE, Operation
from streams_assignor.spark_sim.forecast.possibilities import (
    new_process_ids,
    possible_groups,
    possible_protocols,
    with_standbys,
)
from streams_assignor.spark_sim.model.scenario import Instance, Scenario, make_step
from streams_assignor.spark_sim.model.settle import MAX_REBALANCES
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.task_assignor import HIGH_AVAILABILITY
from streams_assignor.upgrade import UpgradeError, release_named
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.spark_sim.forecast.live import described, members_of, seen

ALL = parse_operation("restart all")
GROUP = "A@{0} B@{0} C@{0} | with {1} | bounce fast A>{0}"
RELEASES = ["1.1.1", "2.3.1", "2.5.1", "2.8.2", "3.9.2", "4.4.0", "streams-assignor"]
WORKLOADS = [
    "partitions=8",
    "standbys=1",
    "threads=2 standbys=1 partitions=24",
    "static",
    "topology=two",
    "topology=stateless",
]


def each_workload_with(releases):
    """Each release beside each workload; the gate has each of both, but a third of the pairs."""
    return pytest.mark.parametrize(
        ("release", "workload"),
        [
            pytest.param(release, workload, marks=[pytest.mark.slow] * bool((place + at) % 3))
            for place, release in enumerate(releases)
            for at, workload in enumerate(WORKLOADS)
        ],
    )


def run(release, workload="partitions=6"):
    return Simulation(Scenario.parse(GROUP.format(release, workload))).run()


def look_ahead(group, step, config=None, **options):
    return forecast(observe(group, config or StreamsConfig()), parse_operation(step), now_ms=0, **options)


def owners(simulation):
    return {task: member.process for member in simulation.running_members for task in member.owned_tasks}


def place(process):
    return f"{process} ({process}.local)"


def went_on(alive, step):
    """The course of the group: which tasks move, and in how many rebalances."""
    after = alive.after(step)
    before, then = owners(alive), owners(after)
    moved = {(task, place(before[task]), place(then[task])) for task in before if then[task] != before[task]}
    return moved, after.coordinator.generation - alive.coordinator.generation


def outcomes(found):
    return [
        ({(row.task, row.origin, row.target) for row in outcome.moved}, outcome.rebalances)
        for outcome in found.outcomes
    ]


@each_workload_with(RELEASES)
def test_what_the_group_does_after_a_restart_is_among_the_outcomes(release, workload):
    alive = run(release, workload)
    mode = "leave" if release_named(release).leaves_on_close else "fast"
    step = make_step("bounce", "B", instance=Instance(release_named(release)), mode=mode)

    assert went_on(alive, step) in outcomes(look_ahead(seen(alive), "restart B"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "together"),
    [
        *((release, "hold | {0} | {1} | settle") for release in ("2.3.1", "2.8.2", "3.9.2", "4.3.1")),
        *((release, "{0} | {1}") for release in ("2.3.1", "3.9.2", "streams-assignor")),
        ("streams-assignor", "stop leave A B | hold | start A | start B | settle"),
    ],
)
def test_what_the_group_does_after_a_restart_of_two_is_among_the_outcomes(release, together):
    alive = run(release, "standbys=1 partitions=8")
    mode = "leave" if release_named(release).leaves_on_close else "fast"
    steps = together.format(*(f"bounce {mode} {name}>{release}" for name in "AB"))
    after = alive.after(*Scenario.parse(f"A@{release} B@{release} C@{release} | {steps}").steps)
    before, then = owners(alive), owners(after)
    moved = {(task, place(before[task]), place(then[task])) for task in before if then[task] != before[task]}
    found = look_ahead(seen(alive), "restart A,B")

    assert moved in [tasks for tasks, _ in outcomes(found)]
    assert "A (A.local), B (B.local)" == found.process


@pytest.mark.parametrize(("release", "are_drawn"), [("2.5.1", True), ("2.8.2", False)])
def test_a_process_draws_an_id_if_the_release_that_ran_has_written_none(release, are_drawn):
    """Assignors go by the order of the ids: several are played if it is not known."""
    alive = Simulation(Scenario.parse(f"A@{release} B@{release} C@{release} | with standbys=1")).run()

    known = {place(name): Instance(release_named(release)) for name in "ABC"}
    observed = with_standbys(observe(seen(alive), StreamsConfig()))
    group = next(possible_groups(observed, [place("B")], 0, known))

    operation = parse_operation("upgrade B 3.9.2 upgrade.from=2.4")
    ids = new_process_ids(group, operation, [place("B")], ephemeral=False)

    assert are_drawn is (len(ids) > 1)


def test_all_instances_can_be_restarted_at_a_time():
    found = look_ahead(seen(run("3.9.2")), "upgrade A,B,C 4.3.1")

    assert found.is_safe
    assert any("the session of any of them" in line for line in forecast_lines(found))


def test_instances_that_stop_at_a_time_leave_their_tasks_to_the_others():
    found = look_ahead(seen(run("3.9.2")), "stop A,B", session_timeout_s=6)

    assert {"C (C.local)"} == {row.target for outcome in found.outcomes for row in outcome.moved}
    assert {4} == {len(outcome.moved) for outcome in found.outcomes}


@pytest.mark.slow
def test_a_new_process_id_is_that_of_no_other_process():
    """Leaders would take the two processes for one, and its tasks would go to and fro between them."""
    alive = run("3.9.2", "partitions=8 lag standbys=1")
    ids = sorted(member.assignor.member.process_id.int for member in alive.members.values())
    assert [1, 2, 3] == ids  # there is no room between them

    found = look_ahead(seen(alive), "restart B", ephemeral=True)

    assert found.is_safe, [outcome.violations for outcome in found.outcomes]


def warmed_up(partitions):
    """A group of which a member has found nothing on its disk: one that loses its disk again has much to warm up."""
    line = f"A@3.9.2 B@3.9.2 | with partitions={partitions} lag ephemeral | stop leave B | start B"
    return seen(Simulation(Scenario.parse(line)).run())


@pytest.mark.slow
def test_many_tasks_that_warm_up_are_no_danger():
    found = look_ahead(warmed_up(48), "restart A", ephemeral=True)

    assert found.is_safe, [outcome.violations for outcome in found.outcomes]
    assert max(outcome.rebalances for outcome in found.outcomes) > MAX_REBALANCES
    assert all(outcome.at_rest for outcome in found.outcomes)


def test_an_outcome_says_that_tasks_still_warm_up(monkeypatch):
    group = warmed_up(12)
    monkeypatch.setattr("streams_assignor.spark_sim.model.settle.MAX_PROBING_REBALANCES", 1)

    found = look_ahead(group, "restart A", ephemeral=True)

    assert found.is_safe
    assert {False, True} == {outcome.as_json()["at_rest"] for outcome in found.outcomes}
    assert 1 == sum("still warm up" in line for line in forecast_lines(found))


@each_workload_with(["1.1.1", "2.5.1", "3.9.2"])
def test_what_the_group_does_without_an_instance_is_among_the_outcomes(release, workload):
    alive = run(release, workload)
    step = make_step("stop", "C", mode="leave" if release_named(release).leaves_on_close else "")

    assert went_on(alive, step) in outcomes(look_ahead(seen(alive), "stop C"))


@pytest.mark.parametrize(
    ("release", "protocols"),
    [
        ("2.5.1", {"eager": {1}}),  # up to version 6 members say which tasks they had
        ("2.8.2", {"eager": {1}, "cooperative": {2}}),
        *(
            pytest.param(release, {"eager": {1}, "cooperative": {2}}, marks=pytest.mark.slow)
            for release in ("3.9.2", "streams-assignor")
        ),
    ],
)
def test_a_group_that_was_eager_may_stay_so(release, protocols):
    """Its version shows no ``upgrade.from``, and it was taken as cooperative: one rebalance more than came."""
    alive = run(f"{release},upgrade.from=2.3")
    added, stopped = (look_ahead(seen(alive), step) for step in ("add", "stop C"))
    mode = "leave" if release_named(release).leaves_on_close else ""
    found: dict[str, set[int]] = {}
    for outcome in added.outcomes:
        for possibility in outcome.when:
            found.setdefault(possibility.rebalance_protocol, set()).add(outcome.rebalances)

    assert protocols == found
    assert went_on(alive, make_step("stop", "C", mode=mode)) in outcomes(stopped)


STARTED = "A@{0} B@{0} C@{0}"
UNKNOWN = ("cooperative", "eager")


@pytest.mark.parametrize(
    ("line", "protocols"),
    [
        (STARTED.format("2.3.1"), ("cooperative",)),  # that is: upgrade.from chooses nothing
        (STARTED.format("2.4.1"), UNKNOWN),
        (STARTED.format("3.9.2"), UNKNOWN),
        (STARTED.format("4.3.1"), UNKNOWN),  # sends what 3.4 sends
        (STARTED.format("4.3.1") + " | bounce fast A>4.3.1", ("cooperative",)),
        (STARTED.format("2.4.1,upgrade.from=2.3") + " | bounce fast A>2.4.1,upgrade.from=2.3", ("eager",)),
        (STARTED.format("2.4.1,upgrade.from=1.1"), ("cooperative",)),  # its version shows it
        # The owner of the only task has gone: the other one has joined twice, and never owned anything.
        ("A@4.3.1 B@4.3.1 | with partitions=1 | bounce fast A>4.3.1", UNKNOWN),
    ],
)
def test_the_protocol_is_known_only_if_a_member_shows_it(line, protocols):
    """A member of Kafka joins twice at first (KIP-394), and was taken for one that has given up its partitions."""
    group = seen(Simulation(Scenario.parse(line)).run())

    assert protocols == possible_protocols(observe(group, StreamsConfig()))


@pytest.mark.slow
def test_both_protocols_are_played_if_no_member_shows_one():
    group = seen(Simulation(Scenario.parse("A@4.3.1 B@4.3.1")).run())
    found = look_ahead(group, "add")

    ends = {protocol: {line for line in forecast_lines(found) if f", {protocol}" in line} for protocol in UNKNOWN}
    assert all(ends.values())
    assert EITHER_PROTOCOL in found.assumptions
    assert EITHER_PROTOCOL in restart_order(observe(group, StreamsConfig()), ALL, now_ms=0).assumptions


@pytest.mark.slow
@each_workload_with(["2.3.1", "4.4.0"])
def test_an_instance_that_is_added_gets_tasks(release, workload):
    found = look_ahead(seen(run(release, workload)), "add")

    assert found.is_safe
    assert all("(new)" in {row.target for row in outcome.moved} for outcome in found.outcomes)


def test_two_groups_of_one_shape_are_not_mixed_up():
    """The cache of assignors took one group of two subtopologies for another of one."""
    assert look_ahead(seen(run("2.3.1")), "add").tasks == 6
    assert look_ahead(seen(run("2.3.1", "topology=two")), "add").tasks == 12


def test_a_static_member_that_comes_back_causes_no_rebalance():
    (outcome,) = look_ahead(seen(run("3.9.2", "static threads=2")), "restart B").outcomes

    assert (0, (), {}) == (outcome.rebalances, outcome.moved, outcome.unowned_s)


def test_a_static_member_that_returns_after_its_session_reads_what_it_is_assigned():
    """Within its session it would get its last assignment again, in a version that the older release cannot read."""
    observed = observe(seen(run("2.8.2", "static")), StreamsConfig())
    back = Operation(UPGRADE, "B", Instance(release_named("2.4.1")))
    at_once, later = (
        forecast(observed, evolve(back, after_session=away), now_ms=0, session_timeout_s=45) for away in (False, True)
    )

    assert [False, True] == [at_once.is_safe, later.is_safe]
    assert {(5,)} == {outcome.versions for outcome in later.outcomes}
    assert {45.0} == {max(outcome.unowned_s.values()) for outcome in later.outcomes}


def test_tasks_wait_for_the_session_of_a_member_that_is_gone():
    group = seen(run("3.9.2", "standbys=1"))
    by_default, longer = (look_ahead(group, "stop B", session_timeout_s=seconds).outcomes for seconds in (None, 60.0))

    assert {45.0} == {seconds for outcome in by_default for seconds in outcome.unowned_s.values()}
    assert {60.0} == {seconds for outcome in longer for seconds in outcome.unowned_s.values()}
    assert {10.0} == {*look_ahead(seen(run("2.8.2")), "stop B").outcomes[0].unowned_s.values()}


def test_the_last_instance_leaves_an_empty_group():
    alive = Simulation(Scenario.parse("A@3.9.2 | with partitions=2")).run()
    (outcome,) = look_ahead(seen(alive), "stop A").outcomes

    assert {None} == {row.target for row in outcome.moved}


def test_an_upgrade_without_upgrade_from_fails_where_the_plan_says_so():
    group = seen(run("1.1.1"))

    assert not look_ahead(group, "upgrade B 2.0.1").is_safe
    assert look_ahead(group, "upgrade B 2.0.1 upgrade.from=1.1").is_safe


@pytest.mark.slow
def test_without_its_state_an_instance_restores():
    group = seen(run("3.9.2", "lag standbys=1"))
    kept = look_ahead(group, "restart B")
    lost = look_ahead(group, "restart B", ephemeral=True)

    assert {()} == {outcome.restored for outcome in kept.outcomes}
    rows = [row for outcome in lost.outcomes for row in outcome.restored]
    assert place("B") in {row.process for row in rows}


def test_the_next_leader_matters_if_the_leader_goes():
    found = look_ahead(seen(run("2.8.2")), "upgrade B 3.9.2")
    leaders = {(each.leader, each.next_leader) for outcome in found.outcomes for each in outcome.when}

    assert {(place("A"), None), (place("C"), None), (place("B"), place("B")), (place("B"), place("C"))} <= leaders
    assert found.as_json()["outcomes"][0]["when"][0]["releases"] == "2.8.0 to 2.8.2"


def test_a_configuration_that_the_group_does_not_show_is_asked_for():
    config = StreamsConfig(num_standby_replicas=2)

    with pytest.raises(ForecastError, match="no release and leader repeats its last assignment"):
        look_ahead(seen(run("3.9.2")), "restart B", config)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("restart X", "no process is 'X'"),
        ("restart A,", "no process is ''"),
        ("restart A,B,A", "'A,B,A' names A .A.local. twice"),
        ("restart", "expected one of restart WHICH"),
        ("drain B", "expected one of restart WHICH"),
        ("upgrade B 77.7", "unknown release"),
        ("upgrade B 2.0.1 upgrade.from=9", "upgrade.from"),
        ("upgrade B 2.0.1 from=9", "expected one of restart WHICH"),
    ],
)
def test_a_step_that_is_none_is_refused(step, why):
    with pytest.raises(UpgradeError, match=why):
        look_ahead(seen(run("3.9.2")), step)


def test_a_name_of_several_instances_is_refused():
    alive = run("3.9.2")
    members = [evolve(member, client_id=f"pod-{member.client_id}", host="/10.0.0.1") for member in members_of(alive)]

    with pytest.raises(ForecastError, match=r"several processes are .10\.0\.0\.1"):
        look_ahead(inspect_group(described("app", members)), "restart 10.0.0.1")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "PreparingRebalance", "protocol": ""}, "got PreparingRebalance: look again later"),
        ({"state": "Empty", "members": ()}, "got Empty classic stream"),
        ({"protocol": "range"}, "expected a stable classic group of Kafka Streams, got Stable classic range"),
        ({"members": ()}, "expected a stable"),
    ],
)
def test_a_group_that_cannot_be_continued_is_refused(changes, why):
    group = evolve(described("app", members_of(run("3.9.2"))), **changes)

    with pytest.raises(ForecastError, match=why):
        look_ahead(inspect_group(group), "restart B")


def test_a_member_that_cannot_be_read_is_named():
    first, *others = members_of(run("3.9.2"))
    damaged = evolve(first, subscription=first.subscription[:9])

    with pytest.raises(ForecastError, match="cannot be read"):
        look_ahead(inspect_group(described("app", [damaged, *others])), "restart B")


def assigned(member, partitions, tasks):
    """A member whose assignment has these partitions of "data" and these tasks."""
    envelope = decode_consumer_assignment(member.assignment)
    userdata = decode_assignment(envelope.user_data)._replace(active_tasks=tuple(tasks))
    groups = (TopicPartitions("data", tuple(partitions)),)
    changed = envelope._replace(assigned_partitions=groups, user_data=encode_assignment(userdata))
    return evolve(member, assignment=encode_consumer_assignment(changed))


@pytest.mark.parametrize(
    ("partitions", "tasks", "why"),
    [
        ([0, 1], [TaskId(0, 0)], "2 partitions and 1 tasks"),
        ([2_000_000_000], [TaskId(0, 2_000_000_000)], "expected a partition below 6"),
        ([0], [TaskId(2_000_000_000, 0)], "task 2000000000_0 reads data-0"),
    ],
)
def test_an_assignment_that_no_leader_makes_is_refused(partitions, tasks, why):
    """The simulation would have made a topic of two billion partitions of it."""
    first, *others = members_of(run("3.9.2"))

    with pytest.raises(ForecastError, match=why):
        look_ahead(inspect_group(described("app", [assigned(first, partitions, tasks), *others], data=6)), "restart B")


def test_the_size_of_an_unknown_topic_has_a_limit():
    first, *others = members_of(run("3.9.2"))
    damaged = assigned(first, [2_000_000_000], [TaskId(0, 2_000_000_000)])

    with pytest.raises(ForecastError, match="expected a partition below 100000"):
        look_ahead(inspect_group(described("app", [damaged, *others])), "restart B")


class ByLag(Workload):
    """Our own members, with an admin."""

    def task_assignor(self, _release):
        return HIGH_AVAILABILITY


def test_what_our_own_leaders_use_is_tried():
    """Members with an admin place tasks by lag, so no forecast repeated the last decision of a group of them."""
    scenario = Scenario.parse(
        "A@streams-assignor B@streams-assignor C@streams-assignor | stop leave B C | start B | start C"
    )
    alive = Simulation(evolve(scenario, workload=ByLag(partitions=12))).run()
    found = look_ahead(seen(alive), "restart B")

    tried = {each.task_assignor for outcome in found.outcomes for each in outcome.when}
    assert "high-availability" in tried
    assert "fallback-prior" not in tried  # it schedules a rebalance each time, and the group has none
    assert found.is_safe
    assert any("those on aiokafka" in text for text in found.assumptions)
    assert {None} == {
        each.task_assignor for outcome in look_ahead(seen(run("2.8.2")), "add").outcomes for each in outcome.when
    }


def test_a_session_timeout_that_nobody_named_is_said():
    group = seen(run("2.8.2"))

    assert "session.timeout.ms is 10 s, the default of the release" in look_ahead(group, "add").assumptions
    assert not [text for text in look_ahead(group, "add", session_timeout_s=9).assumptions if "session.timeout" in text]
