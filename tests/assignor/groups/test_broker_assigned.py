"""Groups whose broker assigns (KIP-848, KIP-1071): which member waits for which, reasons, and the JSON form."""

import json

import pytest
from attrs import evolve

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups import (
    Assigned,
    BrokerGroup,
    DescribedSubtopology,
    FindingSeverity,
    InternalTopic,
    change_text,
    find_changes,
    finding_text,
    group_progress,
    inspect_group,
    is_stable,
    progress_text,
)
from streams_assignor.groups.broker_assigned.reconciliation import blocking_members
from streams_assignor.groups.broker_assigned.topics import expected_tasks, task_count, unequal_source_topics
from streams_assignor.groups.checks import TRANSIENT
from streams_assignor.groups.described_group import with_topic_names
from tests.assignor.groups.described_groups import (
    COUNTS,
    SUBTOPOLOGIES,
    TOPIC,
    assigned,
    broker_assigned,
    group,
    of_range,
    streams_group,
)

ALL = assigned("0_0 0_1 1_0 1_1")
JOINED = (TOPIC, "payments")


def seen(*members, **facts):
    return inspect_group(streams_group(*members, **facts))


def problems(found):
    return [finding_text(each) for each in found.problems]


def awaited(found, name):
    return [(each.role, str(each.thing), each.holders) for each in found.reconciliations[name].awaited]


def stateful(name, *topics):
    return DescribedSubtopology(name=name, source_topics=topics, changelogs=(InternalTopic(name="changelog"),))


# -- current and target assignment -----------------------------------------------------------------------------------


def test_a_stable_group_has_no_findings():
    found = seen(broker_assigned("a", ALL))

    assert () == found.findings
    assert is_stable(found)
    assert found.reconciliations["a"].is_complete
    assert "1 member (streams)" == progress_text(group_progress(found), 0)


def test_a_member_waits_for_the_one_that_shows_its_task():
    found = seen(
        broker_assigned("a", ALL, target=assigned("0_0 0_1")),
        broker_assigned("b", target=assigned("1_0 1_1"), epoch=2),
        state="Reconciling",
        epoch=2,
        assignment_epoch=2,
    )

    assert [("active", "1_0", ("a",)), ("active", "1_1", ("a",))] == awaited(found, "b")
    assert (("active", "1_0"), ("active", "1_1")) == tuple(
        (role, str(task)) for role, task in found.reconciliations["a"].to_revoke
    )
    assert ("a",) == blocking_members(found.reconciliations)
    assert [
        "app-a (10.0.0.1, a) has not confirmed its target assignment; app-b (10.0.0.1, b) waits for 1_0 and 1_1"
    ] == problems(found)
    assert {"unreconciled"} <= TRANSIENT
    assert not is_stable(found)
    assert (
        "rebalancing (Reconciling); 2 members (streams); waiting for app-a (10.0.0.1, a); 1 problem"
        == progress_text(group_progress(found), 0)
    )


@pytest.mark.parametrize(
    ("assignor", "expected"), [("", ["standby 0_0", "standby 0_1", "active 1_0"]), ("sticky", ["active 1_0"])]
)
def test_a_replica_that_changes_its_role_is_not_revoked_by_brokers_that_name_the_assignor(assignor, expected):
    """These are brokers of 4.4 or later (KAFKA-20665); an active task is revoked before its member has a standby."""
    current = Assigned(standby=(TaskId(0, 0), TaskId(0, 1)), active=(TaskId(1, 0),))
    target = Assigned(active=(TaskId(0, 0),), warm_up=(TaskId(0, 1),), standby=(TaskId(1, 0),))
    found = seen(broker_assigned("a", current, target=target), epoch=2, assignment_epoch=2, protocol=assignor)

    assert set(expected) == {f"{role} {task}" for role, task in found.reconciliations["a"].to_revoke}


def test_what_a_member_still_has_to_revoke_is_not_shown_and_others_wait_for_its_epoch():
    """The broker shows only what it is to keep, so its current assignment is its target."""
    found = seen(
        broker_assigned("a", assigned("0_0")),
        broker_assigned("b", assigned("0_1 1_0"), epoch=2),
        broker_assigned("c", target=assigned("1_1"), epoch=2),
        state="Reconciling",
        epoch=2,
        assignment_epoch=2,
    )

    assert [("active", "1_1", ("a",))] == awaited(found, "c")
    assert not found.reconciliations["a"].is_complete
    assert found.reconciliations["b"].is_complete
    assert [False, True, False] == [each["has_target"] for each in found.as_json()["members"]]


def test_a_confirmed_member_may_have_to_release_a_copy_in_its_own_process():
    """A process has one copy of a task: the standby of one member has to go before the other one gets it active."""
    process = {"process_id": "p", "epoch": 1}
    found = seen(
        broker_assigned("a", assigned(standby="1_0"), target=assigned(), **process),
        broker_assigned("b", assigned("0_0"), target=assigned("0_0 1_0"), **process),
        broker_assigned("c", assigned(standby="1_0"), process_id="other"),
        state="Reconciling",
    )

    assert [("active", "1_0", ("a",))] == awaited(found, "b")
    assert ["app-a (10.0.0.1, a) has to revoke 1_0; app-b (10.0.0.1, b) waits"] == problems(found)


def test_a_standby_does_not_wait_for_the_active_task_of_another_process():
    found = seen(
        broker_assigned("a", ALL, process_id="p"),
        broker_assigned("b", target=assigned(standby="1_0"), process_id="q"),
        state="Reconciling",
    )

    assert [("standby", "1_0", ())] == awaited(found, "b")
    assert ("b",) == blocking_members(found.reconciliations)
    assert [] == problems(found)


def test_an_unconfirmed_member_that_is_to_have_a_task_holds_it_for_no_other():
    found = seen(
        broker_assigned("a", assigned("0_0"), target=assigned("0_0 1_0")),
        broker_assigned("b", target=assigned("1_0"), epoch=2),
        state="Reconciling",
        epoch=2,
        assignment_epoch=2,
    )

    assert [("active", "1_0", ())] == awaited(found, "b")
    assert ["app-a (10.0.0.1, a) has not confirmed its target assignment"] == problems(found)


def test_of_many_members_that_may_hold_a_task_none_is_named():
    more = [broker_assigned(f"m{number}", assigned(f"0_{number}")) for number in range(30)]
    many = more[:11]
    facts = {"state": "Reconciling", "epoch": 2, "assignment_epoch": 2}
    new = broker_assigned("new", target=assigned("1_0"), epoch=2)

    assert [("active", "1_0", ())] == awaited(seen(new, *more, **facts), "new")
    assert [("active", "1_0", ())] == awaited(seen(new, *many, **facts), "new")
    assert [("active", "1_0", tuple(sorted(each.member_id for each in many[1:])))] == awaited(
        seen(new, *many[1:], **facts), "new"
    )


def test_members_of_kip_848_wait_for_partitions():
    one, two = (TopicPartition(TOPIC, number) for number in (0, 1))
    found = inspect_group(
        group(
            broker_assigned("a", assigned(partitions=[one, two]), target=assigned(partitions=[one]), topics=(TOPIC,)),
            broker_assigned("b", target=assigned(partitions=[two]), topics=(TOPIC,)),
            type="consumer",
            protocol="uniform",
            state="Reconciling",
            broker=BrokerGroup(epoch=1, assignment_epoch=1),
        )
    )

    assert [("partition", "orders-1", ("a",))] == awaited(found, "b")
    assert ["app-a (10.0.0.1, a) has to revoke orders-1; app-b (10.0.0.1, b) waits"] == problems(found)


def test_ids_of_topics_are_replaced_where_a_broker_assigns():
    shared = group(broker_assigned("a", assigned(partitions=[TopicPartition("id", 0)]), target=None), type="share")
    classic = group(of_range("b", [0]))

    (member,) = with_topic_names(shared, {"id": TOPIC}).members
    assert (TopicPartition(TOPIC, 0),) == member.broker_assignment.current.partitions
    assert classic == with_topic_names(classic, {"id": TOPIC})


def test_a_share_group_has_no_target():
    found = inspect_group(group(broker_assigned("a", target=None), type="share", protocol=""))

    assert found.reconciliations["a"].is_complete
    assert found.as_json()["members"][0]["target"] is None


def test_a_new_epoch_is_a_change():
    looks = [seen(broker_assigned("a", ALL, epoch=epoch), epoch=epoch, assignment_epoch=epoch) for epoch in (1, 2)]

    assert ["epoch 1 → 2"] == [change_text(each) for each in find_changes(*looks)]
    assert [] == find_changes(looks[0], looks[0])


AWAY = broker_assigned("b", assigned("1_0 1_1"), epoch=-2, instance="two")


def test_a_static_member_that_is_away_is_told_from_one_that_does_not_confirm():
    found = seen(
        broker_assigned("a", assigned("0_0 0_1"), target=assigned("0_0 0_1 1_0"), epoch=2),
        AWAY,
        state="Reconciling",
        epoch=2,
        assignment_epoch=2,
    )

    assert [
        "two (10.0.0.1) is a static member that has left for a while: nobody works on 1_0 and 1_1 until it returns or "
        "its session ends"
    ] == problems(found)
    assert {"static-member-away"} <= TRANSIENT
    assert [("active", "1_0", ("two",))] == awaited(found, "a")
    assert ("two",) == blocking_members(found.reconciliations)
    assert -2 == found.as_json()["members"][1]["epoch"]


def test_a_static_member_that_is_away_without_tasks_keeps_nobody_waiting():
    found = seen(broker_assigned("b", epoch=-2, instance="two"), state="Reconciling")

    assert ["two (10.0.0.1) is a static member that has left for a while"] == problems(found)


@pytest.mark.parametrize(
    ("configured", "texts"),
    [
        (
            "zone, cluster",
            [
                "app-a (10.0.0.1, a) sends no client tag cluster",
                "app-b (10.0.0.1, b) sends no client tag zone and cluster",
            ],
        ),
        (
            "zone",
            ["app-b (10.0.0.1, b) sends no client tag zone of streams.rack.aware.assignment.tags: set client.tag.zone"],
        ),
        ("", []),
    ],
)
def test_members_without_the_tags_of_the_group_are_named(configured, texts):
    """The status MISSING_CLIENT_TAGS of a heartbeat of 4.4."""
    found = seen(
        broker_assigned("a", ALL, client_tags={"zone": "z", "more": "m"}),
        broker_assigned("b"),
        configs={"streams.rack.aware.assignment.tags": configured},
    )

    assert {"missing-client-tags"} == {each.code for each in found.problems} or not texts
    assert texts == [text[: len(begin)] for text, begin in zip(problems(found), texts, strict=True)]


def test_a_number_of_standbys_that_is_none_says_nothing():
    found = seen(broker_assigned("a", ALL), configs={"streams.num.standby.replicas": "many"})

    assert "too-few-standbys" not in {each.code for each in found.findings}


def test_members_that_send_offsets_of_tasks_are_of_4_4():
    found = seen(broker_assigned("a", ALL), broker_assigned("b", end_offset_sums={TaskId(1, 0): 1}))

    assert ["4.1.0 or later", "4.4.0 or later"] == [each["releases"] for each in found.as_json()["members"]]


# -- reasons ---------------------------------------------------------------------------------------------------------

NOT_READY = {"state": "NotReady"}
JOIN = {"subtopologies": (stateful("0", *JOINED),)}


@pytest.mark.parametrize(
    ("code", "kind", "raw", "text"),
    [
        (
            "missing-source-topics",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a"), missing_topics={TOPIC, "app-by-id"}, **NOT_READY),
            "source topic orders is missing: create it",
        ),
        (
            "missing-source-topics",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a"), missing_topics={*JOINED}, **JOIN, **NOT_READY),
            "source topics orders and payments are missing: create them",
        ),
        (
            "missing-internal-topics",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a"), missing_topics={"app-by-id", "app-store-changelog"}, **NOT_READY),
            "internal topics app-by-id and app-store-changelog are missing: the broker creates them",
        ),
        (
            "incorrectly-partitioned-topics",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a"), partition_counts=COUNTS | {"app-store-changelog": 3}, **NOT_READY),
            "wrong number of partitions: app-store-changelog has 3 and needs 2",
        ),
        (
            "incorrectly-partitioned-topics",
            FindingSeverity.PROBLEM,
            streams_group(
                broker_assigned("a"),
                subtopologies=(
                    DescribedSubtopology(name="0", repartition_sources=(InternalTopic(name="r", partitions=5),)),
                ),
                partition_counts={"r": 4},
                **NOT_READY,
            ),
            "wrong number of partitions: r has 4 and needs 5",
        ),
        (
            "incorrectly-partitioned-topics",
            FindingSeverity.PROBLEM,
            streams_group(
                broker_assigned("a"), partition_counts={TOPIC: 2, "payments": 3, "changelog": 3}, **JOIN, **NOT_READY
            ),
            "source topics of one subtopology differ in their number of partitions: orders (2) and payments (3); joins",
        ),
        (
            "stale-topology",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a", ALL, topology_epoch=1), broker_assigned("b"), topology_epoch=1),
            "app-b (10.0.0.1, b) has topology epoch 0, the group 1: restart with the new topology",
        ),
        (
            "assignment-delayed",
            FindingSeverity.NOTICE,
            streams_group(broker_assigned("a"), epoch=3, state="Assigning"),
            "the broker has not computed the assignment of epoch 3 yet (the last one is of epoch 1)",
        ),
        (
            "too-few-standbys",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a", ALL), configs={"streams.num.standby.replicas": "1"}),
            "2 tasks with state (1_0 and 1_1) have fewer standbys than the 1 of streams.num.standby.replicas, at least "
            "0; there is only 1 process",
        ),
        (
            "too-few-standbys",
            FindingSeverity.PROBLEM,
            streams_group(
                broker_assigned("a", assigned("0_0 0_1 1_0 1_1"), process_id="p"),
                broker_assigned("b", assigned(standby="1_0"), process_id="q"),
                configs={"streams.num.standby.replicas": "1"},
            ),
            "1 task with state (1_1) has fewer standbys than the 1 of streams.num.standby.replicas, at least 0",
        ),
        (
            "without-end-point",
            FindingSeverity.NOTICE,
            streams_group(broker_assigned("a", ALL, end_point="h:1"), broker_assigned("b")),
            "app-b (10.0.0.1, b) has no application.server, others do",
        ),
        (
            "classic-members",
            FindingSeverity.NOTICE,
            group(broker_assigned("a", is_classic=True), type="consumer", broker=BrokerGroup()),
            "app-a (10.0.0.1, a) uses the classic protocol still: the group is being migrated",
        ),
        (
            "without-owner",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a", assigned("0_0 0_1 1_0"))),
            "task 1_1 is not active on any member",
        ),
        (
            "not-ready",
            FindingSeverity.PROBLEM,
            streams_group(broker_assigned("a"), **NOT_READY),
            "assigns no task (NotReady)",
        ),
    ],
)
def test_a_check_finds(code, kind, raw, text):
    (found,) = [finding for finding in inspect_group(raw).findings if finding.code == code]

    assert kind is found.severity
    assert text in finding_text(found)


def test_two_processes_are_enough_for_one_standby():
    found = seen(
        broker_assigned("a", assigned("0_0 1_0", standby="1_1"), process_id="p"),
        broker_assigned("b", assigned("0_1 1_1", standby="1_0"), process_id="q"),
        configs={"streams.num.standby.replicas": "1", "streams.session.timeout.ms": "45000"},
    )

    assert () == found.findings


@pytest.mark.parametrize("facts", [{"state": "Assigning"}, {"state": "Reconciling"}])
def test_standbys_are_counted_in_a_stable_group_only(facts):
    found = seen(broker_assigned("a"), configs={"streams.num.standby.replicas": "1"}, **facts)

    assert "too-few-standbys" not in {each.code for each in found.findings}


def test_source_topics_may_differ_in_a_group_that_is_ready():
    counts = {TOPIC: 1, "payments": 2, "changelog": 2}

    assert [] == unequal_source_topics(streams_group(partition_counts=counts, **JOIN))
    assert [] == unequal_source_topics(streams_group(partition_counts={TOPIC: 1, "payments": 1}, **JOIN, **NOT_READY))


def test_a_source_topic_that_serves_as_changelog_has_its_own_number():
    """As with ``topology.optimization``."""
    optimized = DescribedSubtopology(name="0", source_topics=JOINED, changelogs=(InternalTopic(name=TOPIC),))

    assert (
        ()
        == seen(
            broker_assigned("a", assigned("0_0 0_1")),
            subtopologies=(optimized,),
            partition_counts={TOPIC: 1, "payments": 2},
        ).findings
    )


def test_the_number_of_tasks_is_unknown_if_that_of_a_topic_is():
    assert 3 == task_count(stateful("0", *JOINED), {TOPIC: 2, "payments": 3})
    assert task_count(stateful("0", *JOINED), {TOPIC: 2}) is None
    assert task_count(DescribedSubtopology(name="0"), {}) is None
    assert set() == expected_tasks(group())
    assert {"1_0", "1_1"} == set(map(str, expected_tasks(streams_group(), stateful=True)))


def test_no_topic_is_missing_in_a_group_without_topology():
    assert () == inspect_group(group(broker_assigned("a"), type="consumer", broker=BrokerGroup())).findings


# -- JSON ------------------------------------------------------------------------------------------------------------


def test_the_json_of_a_streams_group():
    found = seen(
        broker_assigned(
            "a",
            assigned("0_0", warm_up="1_0"),
            target=assigned("0_0 0_1"),
            end_point="h:1",
            offset_sums={next(iter(expected_tasks(streams_group(), stateful=True))): 7},
            instance="static",
        ),
        configs={"streams.num.standby.replicas": "0"},
        authorized_operations=1 << 3 | 1 << 8,
        coordinator="broker:9092",
    ).as_json()

    assert found == json.loads(json.dumps(found))
    assert {
        "coordinator": "broker:9092",
        "epoch": 1,
        "assignment_epoch": 1,
        "configs": {"streams.num.standby.replicas": "0"},
        "authorized_operations": ["READ", "DESCRIBE"],
        "partition_counts": dict(sorted(COUNTS.items())),
    } == {key: found[key] for key in (*("coordinator", "epoch", "assignment_epoch"), *KEYS)}
    assert {"epoch": 0, "subtopologies": {"0": ZERO, "1": ONE}} == found["topology"]
    (member,) = found["members"]
    assert {
        "releases": "4.4.0 or later",
        "warm_up": ["1_0"],
        "topology_epoch": 0,
        "is_classic": False,
        "target": {"partitions": [], "active": ["0_0", "0_1"], "standby": [], "warm_up": []},
        "to_revoke": [{"role": "warm-up", "name": "1_0"}],
        "awaited": [{"role": "active", "name": "0_1", "holders": []}],
        "end_offset_sums": None,
        "has_target": False,
    }.items() <= member.items()
    assert [7] == [*member["offset_sums"].values()]


KEYS = ("configs", "authorized_operations", "partition_counts")
ZERO = {
    "source_topics": ["orders"],
    "repartition_sink_topics": ["app-by-id"],
    "repartition_source_topics": {},
    "changelogs": {},
}
ONE = {
    "source_topics": [],
    "repartition_sink_topics": [],
    "repartition_source_topics": {
        "app-by-id": {"partitions": 0, "replication_factor": 0, "configs": {"cleanup.policy": "delete"}}
    },
    "changelogs": {"app-store-changelog": {"partitions": 0, "replication_factor": 0, "configs": {}}},
}


def test_what_is_unknown_is_null():
    raw = streams_group(broker_assigned("a", ALL), configs=None)
    found = inspect_group(evolve(raw, broker=evolve(raw.broker, topology=None))).as_json()

    assert [None] * 4 == [found[key] for key in ("topology", "configs", "authorized_operations", "coordinator")]
    assert Assigned() == Assigned(active=(), standby=())
    assert SUBTOPOLOGIES == raw.broker.topology.subtopologies
