"""Members are identified across member ids: a rejoin is not a restart."""

from uuid import UUID

import pytest

from streams_assignor.codec import Subscription, encode_subscription
from streams_assignor.codec.consumer_protocol import ConsumerSubscription, encode_consumer_subscription
from streams_assignor.groups.capture import InvalidCapture
from streams_assignor.spark_sim.conformance._identity import StartedAs, identify_members
from streams_assignor.upgrade.releases import NEWEST
from tests.spark_sim.conformance.recorded import parsed, record, seat

HERE = UUID(int=1)


def message(version, supported=None, unique=0, process=HERE, envelope=1, end_point=""):
    """A subscription with these versions."""
    userdata = encode_subscription(
        Subscription(
            version=version,
            supported_version=-1 if version < 3 else supported or version,
            process_id=process,
            unique_field=unique,
            user_end_point=end_point,
        )
    )
    return encode_consumer_subscription(ConsumerSubscription(("data",), userdata, version=envelope))


def lives(*messages):
    """Which life each of these (member id, subscription) is, when they come one after the other; numbered."""
    records = [record(n, m, seat(m, "peer-0-x", encoded)) for n, (m, encoded) in enumerate(messages, 1)]
    return [next(iter(seats.values())).number for seats in identify_members(parsed(*records))]


NEXT = [
    ("the same member id", 1, ("m", message(9, unique=2)), ("m", message(9, unique=3))),
    ("leaves and joins, up to 2.5", 1, ("m", message(5)), ("n", message(4, 5))),
    ("a lowered version cannot be a fresh start's", 1, ("m", message(11, unique=2)), ("n", message(4, 11))),
    ("another process", 2, ("m", message(5)), ("n", message(5, process=UUID(int=2)))),
    (
        "2.8 and later: the process id stays, the count begins again",
        2,
        ("m", message(9, unique=7)),
        ("n", message(9, unique=2)),
    ),
    ("the count goes on: its session was lost", 1, ("m", message(9, unique=7)), ("n", message(9, unique=9))),
    ("the count begins again, with more than two tries", 2, ("m", message(9, unique=7)), ("n", message(9, unique=3))),
    ("the count wraps", 1, ("m", message(9, unique=-1)), ("n", message(9, unique=5))),
    ("back to the latest under a new id: started again", 2, ("m", message(5, 9)), ("n", message(9, unique=4))),
    ("another supported version", 2, ("m", message(9, unique=7)), ("n", message(11, unique=8))),
    ("upgrade.from was taken away", 2, ("m", message(2)), ("n", message(11, unique=8))),
]


@pytest.mark.parametrize(("_why", "number", "first", "then"), NEXT, ids=[row[0] for row in NEXT])
def test_a_member_with_another_id_is(_why, number, first, then):
    assert [1, number] == lives(first, then)


def test_what_cannot_be_read_is_the_same_under_the_same_member_id_only():
    assert [1, 1, 2] == lives(("m", b"?"), ("m", b"!"), ("n", b"?"))


def test_a_static_member_is_known_by_its_instance_id():
    one = record(1, "m", seat("m", "old", message(9, unique=2), instance_id="static"))
    two = record(2, "n", seat("n", "new", message(9, unique=9), instance_id="static"))

    ((_, first), (_, second)) = (next(iter(seats.items())) for seats in identify_members(parsed(one, two)))

    assert first is second


def test_threads_and_machines_have_names_of_their_own():
    threads = [f"app-StreamThread-{number}-consumer" for number in (1, 2)]
    one = record(1, "a", *(seat(name[-12:], name, message(9)) for name in threads))
    everywhere = record(
        1, "a", *(seat(name, "same", message(9, process=UUID(int=n << 96))) for n, name in enumerate("ab", 1))
    )

    assert ["app", "app-2"] == [life.name for life in identify_members(parsed(one))[0].values()]
    assert ["same (00000001)", "same (00000002)"] == [
        life.name for life in identify_members(parsed(everywhere))[0].values()
    ]


def test_without_a_client_id_the_member_id_identifies_the_client():
    member = "app-1-00000000-0000-0000-0000-000000000001"

    assert "app-1" == identify_members(parsed(record(1, member, seat(member, "", message(9)))))[0][member].name


# -- releases --------------------------------------------------------------------------------------------------------


def steps(*messages, **more):
    """The start of each life: its release and configuration."""
    records = [record(n, m, seat(m, "peer-0-x", encoded)) for n, (m, encoded) in enumerate(messages, 1)]
    found = [next(iter(seats.values())).started_as for seats in identify_members(parsed(*records, **more))]
    return [each and each.text for each in found]


OLD, NEW = ("m", message(4, envelope=0)), ("n", message(11, unique=1, envelope=3, process=UUID(int=2)))


def test_the_steps_are_taken_in_order_as_far_as_they_fit():
    assert ["2.3.1", "3.9.2"] == steps(OLD, NEW, steps=["2.3.1", "3.9.2"])
    assert ["2.3.1", "3.9.2"] == steps(OLD, NEW, steps=["2.0.1", "2.3.1", "2.8.2", "3.9.2"])
    assert ["3.9.2"] == steps(NEW, steps=["2.3.1", "3.9.2", "3.9.2,upgrade.from=2.3"])


def test_a_group_that_goes_back_may_name_each_release_once():
    back = ("o", message(4, envelope=0, process=UUID(int=3)))

    assert ["2.3.1", "3.9.2", "2.3.1"] == steps(OLD, NEW, back, steps=["2.3.1", "3.9.2"])


def test_what_fits_nothing_is_what_was_started_next_so_that_the_difference_is_seen():
    assert ["2.3.1", "2.8.2", "2.8.2"] == steps(OLD, NEW, ("o", message(10)), steps=["2.3.1", "2.8.2"])


def test_without_steps_the_newest_release_that_fits_stands_in():
    assert ["2.3.1", NEWEST.name] == steps(OLD, NEW)
    assert ["0.10.0.1", "1.1.1"] == steps(
        ("m", message(1, envelope=0)), ("n", message(2, envelope=0, process=UUID(int=2)))
    )
    assert [None, None] == steps(("m", b"?"), ("n", message(9, 9, envelope=0)))


def test_snapshots_give_the_step_of_an_incarnation():
    shots = [
        {"step": text, "instance": 0, "members": [{"member_id": member}], "dead": []}
        for text, member in (("2.3.1", "m"), ("2.8.2", "n"))
    ]

    assert ["2.3.1", "2.8.2"] == steps(OLD, NEW, snapshots=shots)
    assert ["2.3.1", "2.8.2"] == steps(OLD, NEW, steps=["2.3.1", "3.9.2"], snapshots=shots)


def test_a_snapshot_that_came_too_early_is_not_that_of_the_next_instance():
    shots = [
        {"step": "2.3.1", "instance": 0, "members": [], "settled": False},
        {"step": "3.9.2", "instance": 1, "members": [{"member_id": "m"}]},
    ]

    assert ["2.3.1"] == steps(OLD, snapshots=shots)


def shot(step, instance, *members):
    """A snapshot after one start."""
    return {"step": step, "instance": instance, "members": [{"member_id": member} for member in members]}


def test_a_snapshot_that_shows_the_group_before_the_start_does_not_shift_the_releases():
    """Recorded beside other work: it was taken while the new process was still starting, and the old member, which
    does not say good-bye, was still there. What came then was held against the release after."""
    shots = [shot("2.3.1", 0, "m"), shot("3.9.2", 0, "m"), shot("2.8.2", 0, "o")]
    back = ("o", message(9, unique=1, process=UUID(int=3)))

    assert ["2.3.1", "3.9.2", "2.8.2"] == steps(OLD, NEW, back, snapshots=shots)


def test_a_start_without_a_snapshot_was_that_of_the_next_step_that_fits():
    """It was killed while the group still probed: there was no snapshot, and it counted against the release
    before."""
    once = [shot("2.3.1", 0, "m"), shot("3.9.2", 1)]

    assert ["2.3.1", "3.9.2"] == steps(OLD, NEW, snapshots=once)
    assert ["2.3.1", "3.9.2"] == steps(OLD, NEW, steps=["3.9.2", "2.3.1"], snapshots=once[:1])
    assert ["2.3.1", "2.3.1"] == steps(OLD, NEW, steps=["2.3.1", "2.8.2"], snapshots=once[:1])


def test_a_member_with_upgrade_from_cannot_have_begun_with_a_version_that_is_probed():
    pinned = "2.3.1,upgrade.from=1.1"

    assert ["2.3.1"] == steps(OLD, steps=[pinned, "2.3.1"])
    assert [pinned] == steps(("m", message(2, envelope=0)), steps=["2.3.1", pinned])


def test_members_that_are_started_at_once_are_all_what_was_started_then():
    """Two restarted at once: the second had been held against the release before, as the first one's snapshot shows
    it too."""
    ids, more = [UUID(int=number) for number in (1, 2, 3)], message(11, unique=7, envelope=3, process=UUID(int=3))
    old = [seat(name, f"peer-{n}-x", message(4, envelope=0, process=ids[n])) for n, name in enumerate("ab")]
    new = [seat(name, f"peer-{n}-x", message(11, envelope=3, process=ids[n])) for n, name in enumerate("cd")]
    again = [new[0], seat("e", "peer-1-x", more)]
    starts = [shot("2.3.1", 0, "a", "b"), shot("2.3.1", 1, "a", "b"), shot("3.9.2", 0, "c", "d")]
    starts.append(shot("3.9.2", 1, "c", "d"))
    _, both, _ = identify_members(
        parsed(record(1, "a", *old), record(2, "c", *new), record(3, "c", *again), snapshots=starts)
    )

    assert ["3.9.2", "3.9.2"] == [life.started_as.text for life in both.values()]


def test_a_static_member_was_started_as_its_own_instance():
    """It is known by its group.instance.id, but its instance by its client id: without that, what another instance was
    started as at that time was taken."""
    seats = [
        seat(f"static-{n}-m", f"peer-{n}-x", message(9, unique=2, process=UUID(int=n + 1)), instance_id=f"static-{n}")
        for n in range(2)
    ]
    starts = [shot("2.8.2", 0), shot("3.0.2", 0), shot("2.8.2", 1, "static-0-m", "static-1-m"), shot("3.9.2", 0)]
    (first,) = identify_members(parsed(record(1, "static-0-m", *seats), snapshots=starts))

    assert ["3.0.2", "2.8.2"] == [life.started_as.text for life in first.values()]


def test_a_step_is_read_with_what_matters_for_rebalancing():
    step = StartedAs.parse("2.8.2,num.standby.replicas=1,session.timeout.ms=10000,client.tag.zone=a")

    assert ("2.8.2", 1, {"zone": "a"}) == (
        step.release.name,
        step.config.num_standby_replicas,
        step.config.client_tags,
    )


def test_a_step_may_have_a_template_for_the_instance_id_as_the_records_have_the_real_one():
    assert "2.8.2" == StartedAs.parse("2.8.2,group.instance.id=static-{i}").release.name


@pytest.mark.parametrize("key", ["internal.task.assignor.class", "task.assignor.class"])
def test_a_step_shows_a_custom_task_assignor(key):
    assert StartedAs.parse(f"3.9.2,{key}=org.example.Mine").custom_task_assignor
    assert not StartedAs.parse("3.9.2,num.standby.replicas=1").custom_task_assignor


@pytest.mark.parametrize(
    ("text", "why"), [("9.9.9", "unknown release '9.9.9'"), ("2.8.2,num.standby.replicas=x", "num.standby.replicas")]
)
def test_a_step_that_cannot_be_is_named(text, why):
    with pytest.raises(InvalidCapture, match=rf"step '{text}': .*{why}"):
        StartedAs.parse(text)


def test_the_configuration_includes_what_the_member_reports():
    (seats,) = identify_members(parsed(record(1, "m", seat("m", "c", message(9, end_point="host:9092")))))
    (other,) = identify_members(parsed(record(1, "m", seat("m", "c", message(9, end_point="nonsense")))))

    assert "host:9092" == seats["m"].started_as.config.application_server
    assert "" == other["m"].started_as.config.application_server
