"""Unusual captures: what is compared, and what only has a note."""

import json
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import (
    Assignment,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
    group_by_topic,
)
from streams_assignor.groups.capture import Capture, InvalidCapture
from streams_assignor.spark_sim.conformance._compare import comparable_facts
from streams_assignor.spark_sim.conformance._identity import StartedAs
from streams_assignor.spark_sim.conformance.messages import decode_assignment_message, decode_subscription_message
from streams_assignor.spark_sim.conformance.verdict import (
    LEFT_GROUP,
    NO_RECORD_SINCE,
    NOT_SEEN,
    PROCESS_TERMINATED,
    RESTARTED,
    check_conformance,
)
from streams_assignor.upgrade import release_named
from tests.draws import examples
from tests.spark_sim.conformance.recorded import parsed, record, seat

CAPTURES = Path(__file__).parent.parent.parent / "captures"
OTHERS = Path(__file__).parent / "captures"
TOPOLOGY = Topology.of(Subtopology(sources=["data"], changelogs=["state"]))
CLUSTER = ClusterSnapshot(
    partitions={"data": 4, "state": 4}, end_offsets={TopicPartition("state", n): 0 for n in range(4)}
)

STATELESS = Topology.of(Subtopology(sources=["data"]))


def grown_to(count):
    """The cluster after its topics have got more partitions."""
    return ClusterSnapshot(
        partitions={"data": count, "state": count}, end_offsets={TopicPartition("state", n): 0 for n in range(count)}
    )


MISSING = ClusterSnapshot(partitions={}, end_offsets={})


def output(version, process, sums=0):
    """A subscription of a process; ``sums``: so far has its state of 0_0 come."""
    offsets = (TaskOffsetSum(TaskId(0, 0), sums),) if sums else ()
    userdata = encode_subscription(
        Subscription(version=version, supported_version=version, process_id=UUID(int=process), task_offset_sums=offsets)
    )
    return encode_consumer_subscription(ConsumerSubscription(("data",), userdata))


class Writer:
    """Writes a capture: members join, the first one leads, all but deaf ones receive its answer."""

    def __init__(self, topology=TOPOLOGY, **releases):
        self.members = {
            name: StreamsAssignor(topology, process_id=UUID(int=number), release=release_named(release))
            for number, (name, release) in enumerate(releases.items(), 1)
        }
        self.records = []

    def write(self, *names, cluster=CLUSTER, deaf=(), failing=(), unread=None, **foreign):
        """Add a generation; ``foreign`` are more subscriptions. The leader reads all but ``unread``."""
        subscriptions = {name: self.members[name].subscription() for name in names} | foreign
        answers = self.members[names[0]].assign(cluster, {k: v for k, v in subscriptions.items() if k != unread})
        seats = [seat(name, name, encoded, answers.get(name, b"")) for name, encoded in subscriptions.items()]
        self.records.append(record(len(self.records) + 1, names[0], *seats))
        for name in names:
            if name not in {*deaf, *failing}:
                self.members[name].on_assignment(answers[name])
        return self

    def verdict(self, **more):
        return check_conformance(parsed(*self.records, **more))


def notes(verdict):
    return [note for each_generation in verdict.step_by_step.generations for note in each_generation.notes]


def differences(verdict):
    return [(each.generation, each.member, each.what) for each in verdict.step_by_step.differences]


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "failures"), [("2.3.1", 2), ("2.8.2", 2), ("2.0.1", 0)])
def test_that_a_topic_is_missing_is_seen_from_the_error_code(release, failures):
    """1, INCOMPLETE_SOURCE_TOPIC_METADATA; 2.0 just leaves the tasks out."""
    written = Writer(a=release, b=release).write("a", "b").write("a", "b", cluster=MISSING, failing="ab")
    verdict = written.verdict(steps=[release])

    assert (failures == 2) == verdict.agrees
    assert failures == len(verdict.failures)
    assert {NOT_SEEN} >= {each.observed for each in verdict.failures}


@pytest.mark.parametrize("release", ["2.3.1", "2.8.2"])
def test_a_topic_that_gets_more_partitions_is_seen_from_the_answers(release):
    written = Writer(STATELESS, a=release, b=release).write("a", "b", cluster=grown_to(4)).write("a", "b")
    grown = written.write("a", "b", cluster=grown_to(6)).write("a", "b", cluster=grown_to(7)).verdict(steps=[release])

    assert grown.agrees
    assert [4, 4, 6, 7] == [
        len({task for part in each_generation.members for task in part.our_assignment.active_tasks})
        for each_generation in grown.step_by_step.generations
    ]


def test_a_topic_never_gets_fewer_partitions():
    written = Writer(STATELESS, a="2.3.1", b="2.3.1").write("a", "b", cluster=grown_to(6)).write("a", "b")

    assert [(2, "", "tasks assigned")] == differences(written.verdict(steps=["2.3.1"]))


def test_a_stateful_task_exists_before_it_is_first_assigned():
    """Its changelog has as many partitions from the beginning: Kafka Streams refuses to go on with another number."""
    written = (
        Writer(a="2.3.1", b="2.3.1").write("a").write("a", "b").write("a", "b").write("a", "b", cluster=grown_to(6))
    )

    assert [(at, "", "tasks assigned") for at in (1, 2, 3)] == differences(written.verdict(steps=["2.3.1"]))


def test_a_request_to_shut_down_travels_both_ways():
    written = Writer(a="3.9.2", b="3.9.2").write("a", "b").write("a", "b")
    written.members["b"].request_shutdown()
    verdict = written.write("a", "b", failing="ab").verdict(steps=["3.9.2"])

    assert verdict.agrees
    assert 2 == len(verdict.failures)


def test_a_member_that_missed_an_assignment_goes_on_without_it():
    """It had begun to rejoin by then; the broker keeps the answer all the same."""
    written = Writer(a="2.8.2", b="2.8.2").write("a").write("a", "b", deaf="a").write("a", "b").write("a", "b")
    verdict = written.verdict(steps=["2.8.2"])

    assert verdict.agrees
    assert ["a had not received the assignment of generation 2"] == notes(verdict)


@pytest.mark.parametrize("joined", [1, 2])
def test_a_joined_generation_does_not_prove_that_its_assignment_was_received(joined):
    """From 3.4 on consumers say which generation they were in last. Ours was held against its answer, which never came:
    SyncGroup had failed, as the group began another rebalance."""
    written = Writer(a="3.9.2", b="3.9.2").write("a").write("a", "b", deaf="a").write("a", "b")
    late = written.records[-1]["members"][0]
    output = decode_consumer_subscription(bytes.fromhex(late["subscription"]))
    late["subscription"] = encode_consumer_subscription(output._replace(generation_id=joined)).hex()
    verdict = written.verdict(steps=["3.9.2"])

    assert verdict.agrees
    assert ["a had not received the assignment of generation 2"] == notes(verdict)


MISSED = OTHERS / "2.4.1-to-2.7.2-answer-missed.json"


def test_that_an_answer_was_missed_also_shows_in_the_version():
    """It had no tasks in it, so what the member ran and owned showed nothing: ours went down to version 5."""
    verdict = changed(MISSED, lambda _: None)

    assert verdict.agrees
    assert ["peer-0 had not received the assignment of generation 7"] == notes(verdict)


def test_a_member_with_the_tasks_of_an_assignment_has_received_its_version():
    def goes_on_with_8(capture):
        """In generation 9 it owns what it was given in 8, and sends what it sent in 8."""
        before, after = (
            next(each for each in capture["generations"][at]["members"] if each["client_id"].startswith("peer-0-"))
            for at in (7, 8)
        )
        old, new = (decode_consumer_subscription(bytes.fromhex(each["subscription"])) for each in (before, after))
        after["subscription"] = encode_consumer_subscription(new._replace(user_data=old.user_data)).hex()

    assert (9, "peer-0", "sends version") in differences(changed(MISSED, goes_on_with_8))


def test_what_a_member_never_had_is_found():
    written = Writer(a="2.8.2", b="2.8.2").write("a", "b").write("a", "b")
    stranger = StreamsAssignor(TOPOLOGY, process_id=UUID(int=2), release=release_named("2.8.2"))
    stranger.on_assignment(written.members["a"].assign(CLUSTER, {"b": stranger.subscription()})["b"])
    stranger._member = stranger.member.after_join().after_join()
    written.members["b"] = stranger
    found = differences(written.write("a", "b").verdict(steps=["2.8.2"]))

    assert [(3, "b", "ran tasks"), (3, "b", "owns partitions")] == found[:2]


# -- members that are not compared -----------------------------------------------------------------------------------

FOREIGN = encode_consumer_subscription(ConsumerSubscription(("data",), b"not Streams"))
EMPTY_SUBSCRIPTION = encode_consumer_subscription(ConsumerSubscription(("data",)))
FUTURE = encode_consumer_subscription(ConsumerSubscription(("data",), bytes.fromhex("0000000c0000000ccafe"), version=3))


@pytest.mark.parametrize("encoded", [FOREIGN, EMPTY_SUBSCRIPTION, b"", b"\0"])
def test_a_leader_of_kafka_fails_on_an_unreadable_subscription(encoded):
    verdict = Writer(a="3.9.2").write("a").write("a", x=encoded, unread="x").verdict(steps=["3.9.2"])

    assert [(2, "a", "as leader")] == differences(verdict)
    assert "fails: " in verdict.first_difference.ours
    assert any(note.startswith("x is not compared: ") for note in notes(verdict))


def test_a_member_from_the_future_is_not_compared_and_the_rest_is():
    verdict = Writer(a="3.9.2").write("a").write("a", x=FUTURE).verdict()

    assert ["x is not compared: no known release sends such a subscription"] == notes(verdict)
    assert verdict.agrees
    assert (2, 3) == (verdict.subscriptions, verdict.answers)  # what our leader answers it is compared


def test_nothing_is_compared_without_a_known_member():
    with pytest.raises(
        InvalidCapture, match="nothing in it can be compared: x is not compared: no known release sends"
    ):
        check_conformance(parsed(record(1, "x", seat("x", "x", FUTURE, b""))))
    with pytest.raises(InvalidCapture, match="nothing in it can be compared: x is not compared: "):
        check_conformance(parsed(record(1, "x", seat("x", "x", FOREIGN, b""))))


def test_a_generation_without_assignments_or_a_leader_has_a_note():
    written = Writer(a="3.9.2", b="3.9.2").write("a").write("a").write("a", "b").write("a", "b")
    for each in written.records[1]["members"]:
        each["assignment"] = ""
    written.records[2]["leader"] = None
    verdict = written.verdict(steps=["3.9.2"])

    assert ["assignments are not compared: the leader is not known"] == notes(verdict)
    assert verdict.answers < verdict.subscriptions


def test_a_member_whose_release_refuses_its_configuration_cannot_be_there():
    written = Writer(a="3.5.1").write("a")
    verdict = written.verdict(steps=["3.5.1,upgrade.from=3.4"])

    assert "does not start" in verdict.first_difference.ours
    assert [(1, "a", "sends")] == differences(verdict)


# -- how it ends -----------------------------------------------------------------------------------------------------


def changed(path, change):
    capture = json.loads(path.read_text())
    change(capture)
    return check_conformance(Capture.parse(json.dumps(capture)))


def test_a_snapshot_that_is_stable_too_early_is_a_difference():
    def cut(capture):
        last = capture["generations"][-2]
        del capture["generations"][-1]
        capture["snapshots"][-1]["members"] = [{"member_id": each["member_id"]} for each in last["members"]]

    verdict = changed(CAPTURES / "2.0.1-to-2.3.1.json", cut)

    # With version 3 answered and 4 promised, every member whose version changes has yet to rejoin.
    assert [(8, f"peer-{number}", "in the end") for number in range(3)] == differences(verdict)
    assert verdict.end_to_end.agrees


def test_a_failure_that_the_capture_refutes_is_a_difference():
    def without_failures(capture):
        for snapshot in capture["snapshots"]:
            snapshot["dead"] = []

    verdict = changed(OTHERS / "2.1.1-to-2.0.1-downgrade-kafka-8649.json", without_failures)

    assert [(5, "peer-0", "fails"), (7, "peer-1", "fails")] == differences(verdict)
    assert () == verdict.failures


def test_a_process_may_go_on_without_a_failed_thread():
    """A topic was missing: up to 2.3 the only thread ends, and the process goes on."""
    written = Writer(**{"peer-0-x": "2.3.1"}).write("peer-0-x").write("peer-0-x", cluster=MISSING, failing=["peer-0-x"])
    written.records.append(record(3, None))
    alone = [{"step": "2.3.1", "instance": 0, "members": [], "dead": []}]
    verdict = written.verdict(snapshots=alone)

    assert verdict.agrees
    assert [LEFT_GROUP] == [ending.observed for ending in verdict.failures]


SIX_THOUSAND = OTHERS / "0.10.0.1-to-0.10.1.1-kafka-6054.json"


@pytest.mark.parametrize("dead", [[], [1, 2]])
def test_a_member_of_0_10_0_fails_only_on_the_next_record(dead):
    """Its consumer swallows what goes wrong: it sat in the group until the next step began, with records."""

    def later(capture):
        between = capture["snapshots"][4] | {"instance": 2, "members": [{"member_id": "?"}], "dead": dead}
        capture["snapshots"].insert(4, between)

    verdict = changed(SIX_THOUSAND, later)

    assert verdict.agrees
    assert [PROCESS_TERMINATED, PROCESS_TERMINATED if dead else NO_RECORD_SINCE] == [
        ending.observed for ending in verdict.failures
    ]


@pytest.mark.parametrize("others", [[], [1, 2]])
def test_a_member_that_is_restarted_by_the_next_snapshot_may_have_failed(others):
    """Started at once with others, whose snapshots came first, it stayed alive in the replay."""

    def only_the_last(capture):
        last = capture["snapshots"][5]
        capture["snapshots"][3:5] = [last | {"instance": instance} for instance in others]

    (ending,) = changed(CAPTURES / "1.1.1-to-2.0.1-without-upgrade-from-leader-last.json", only_the_last).failures

    assert ("peer-0", 4, RESTARTED) == (ending.failure.incarnation.name, ending.failure.generation, ending.observed)


def test_unexplained_failures_are_reported_and_are_no_differences():
    verdict = changed(CAPTURES / "2.3.1-to-3.9.2-two-bounces-corrupt-stores.json", lambda _: None)

    assert verdict.agrees
    assert ((1, "3.9.2,upgrade.from=2.3"), (2, "3.9.2,upgrade.from=2.3")) == verdict.unexplained_failures


SUBSCRIPTIONS = [decode_subscription_message(output(9, 1, sums=2)), decode_subscription_message(output(9, 2))]
THREADS = [decode_subscription_message(output(9, 1, sums=2)), decode_subscription_message(output(9, 1))]
EAGER = [decode_subscription_message(output(4, 1)), decode_subscription_message(output(4, 1))]
EVERYTHING_FOLLOWS = ("hosts", "some", "follows")


@pytest.mark.parametrize(
    ("step", "subscriptions", "furthest", "more"),
    [
        ("3.9.2", SUBSCRIPTIONS, 2, EVERYTHING_FOLLOWS),
        ("3.9.2,acceptable.recovery.lag=2", SUBSCRIPTIONS, 2, EVERYTHING_FOLLOWS),
        (
            "3.9.2,acceptable.recovery.lag=1",
            SUBSCRIPTIONS,
            2,
            ("hosts",),
        ),  # warm-ups: ours gave none where Kafka gave some
        ("3.9.2,task.assignor.class=org.example.Mine", SUBSCRIPTIONS, 2, ("hosts",)),
        ("3.9.2", THREADS, 2, ("hosts",)),
        ("2.3.1,acceptable.recovery.lag=0", EAGER, 2, ("hosts", "some", "everything")),
        ("2.5.1", EAGER, 2, ("hosts",)),  # hash maps decide which member gets the withheld tasks: Kafka gave ours none
    ],
)
def test_where_lags_or_another_assignor_decide_the_tasks_are_not_compared(step, subscriptions, furthest, more):
    assert more == comparable_facts(StartedAs.parse(step), subscriptions, furthest)


def test_with_fewer_tasks_than_members_the_idle_member_is_not_compared():
    """Three members and a topic of two partitions: ours gave nothing to another one."""
    future = decode_subscription_message(output(5, 2))

    assert ("hosts", "everything") == comparable_facts(
        StartedAs.parse("2.3.1"), EAGER, 0, fewer_tasks_than_members=True
    )
    assert "some" in comparable_facts(
        StartedAs.parse("2.3.1"), [*EAGER, future], 0, fewer_tasks_than_members=True
    )  # the leader decides which: it probes


def test_a_static_member_that_comes_back_in_time_needs_no_leader():
    verdict = changed(OTHERS / "broker-4.3.1-2.4.1-to-2.8.2-static-members.json", lambda _: None)

    assert 3 == len([note for note in notes(verdict) if "came back as a static member" in note])
    assert verdict.agrees


def test_a_leader_that_fails_ends_the_end_to_end_comparison():
    text = (CAPTURES / "0.10.0.1-to-1.1.1-two-bounces.json").read_text().replace('"1.1.1', '"1.1.0')
    run = check_conformance(Capture.parse(text)).end_to_end

    assert ("peer-2", "as leader", "assigns to every member") == (
        run.differences[-1].member,
        run.differences[-1].what,
        run.differences[-1].captured,
    )
    assert run.generations[-1].number == run.differences[-1].generation


# -- answers that are none -------------------------------------------------------------------------------------------

SHORT = encode_consumer_assignment(ConsumerAssignment((), encode_assignment(Assignment(active_tasks=(TaskId(0, 0),)))))


@pytest.mark.parametrize(
    ("encoded", "captured"),
    [
        (b"", "nothing"),
        (b"\0", "an unreadable assignment (version at offset 0: "),
        (SHORT, "an unreadable assignment (0 partitions, but 1 task ids)"),
    ],
)
def test_an_answer_that_ours_does_not_give_is_found(encoded, captured):
    written = Writer(a="2.8.2", b="2.8.2").write("a", "b").write("a", "b")
    written.records[1]["members"][1]["assignment"] = encoded.hex()
    found = [each for each in written.verdict(steps=["2.8.2"]).step_by_step.differences if each.member == "b"]

    assert (2, "receives", "an assignment in version 9/9") == (found[0].generation, found[0].what, found[0].ours)
    assert found[0].captured.startswith(captured)


def test_a_member_that_goes_on_after_our_failure_is_one_difference():
    """An answer above the version that it sent ends ours; in the file the member rejoined, twice."""
    written = Writer(a="2.8.2", b="2.8.2").write("a", "b").write("a", "b").write("a", "b").write("a", "b")
    encoded = decode_consumer_assignment(bytes.fromhex(written.records[1]["members"][1]["assignment"]))
    above = decode_assignment(encoded.user_data)._replace(version=10, supported_version=10)
    written.records[1]["members"][1]["assignment"] = encode_consumer_assignment(
        encoded._replace(user_data=encode_assignment(above))
    ).hex()
    found = differences(written.verdict(steps=["2.8.2"]))

    assert [(2, "b", "receives version"), (2, "b", "receives supported version"), (3, "b", "sends")] == found


def test_a_member_that_no_leader_has_made_leave_keeps_its_member_id():
    """2.5 leaves and joins to change its version, so it has another member id then."""
    written = Writer(a="2.4.1", b="2.5.1").write("a", "b").write("a", "b")
    found = differences(written.verdict(steps=["2.4.1", "2.5.1"]))

    assert [(2, "b", "owns partitions"), (2, "b", "rejoins")] == found


def test_a_member_that_survives_a_promise_it_cannot_keep_is_found():
    """KAFKA-8649: ours fails when it rejoins, with version 4 that it does not support."""
    written = Writer(a="2.1.1", b="2.0.1").write("a", "b", deaf="b").write("a", "b", deaf="b").write("a", "b", deaf="b")
    found = written.verdict(steps=["2.1.1", "2.0.1"]).step_by_step.differences

    assert [(2, "sends", "fails: IllegalArgumentException: version must be between 1 and 3; was: 4")] == [
        (each.generation, each.what, each.ours) for each in found if each.member == "b"
    ]


def test_a_message_can_be_shown():
    sent, got = decode_subscription_message(FUTURE), decode_assignment_message(SHORT)

    assert ("12/12", "0 partitions, but 1 task ids") == (str(sent), got.reason)


# -- whatever is in the file -----------------------------------------------------------------------------------------


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_a_broken_file_is_judged_or_refused(data):
    capture = json.loads((CAPTURES / data.draw(st.sampled_from(sorted(SMALL)))).read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        group = data.draw(st.sampled_from([each for each in capture["generations"] if each["members"]]))
        member = data.draw(st.sampled_from(group["members"]))
        key = data.draw(st.sampled_from(["subscription", "assignment"]))
        encoded = bytearray.fromhex(member[key])
        if encoded:
            encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
        member[key] = encoded.hex()
        group["leader"] = data.draw(st.sampled_from([group["leader"], None, "unknown"]))
    with suppress(InvalidCapture):  # anything else is ours
        json.dumps(check_conformance(Capture.parse(json.dumps(capture))).as_json())


SMALL = {"2.0.1-to-2.3.1.json", "4.3.1-to-2.4.1-downgrade.json", "1.1.1-to-2.0.1-without-upgrade-from-leader-last.json"}


@pytest.mark.parametrize(
    ("task", "partition", "why"),
    [
        (TaskId(0, 0), 2**31 - 1, "expected at most 100000 partitions, but topic 'data' has a 2147483647th"),
        (
            TaskId(0, 0),
            65_536,
            "topic 'data' has a 65536th partition, but only 1 of its partitions are ever assigned",
        ),
        (TaskId(2**31 - 1, 0), 0, "expected at most 1000 subtopologies, got number 2147483647"),
    ],
)
def test_more_than_anybody_has_is_refused_before_it_takes_for_ever(task, partition, why):
    userdata = encode_assignment(Assignment(active_tasks=(task,)))
    encoded = encode_consumer_assignment(
        ConsumerAssignment(group_by_topic([TopicPartition("data", partition)]), userdata)
    )

    with pytest.raises(InvalidCapture, match=why):
        check_conformance(parsed(record(1, "x", seat("x", "x", FUTURE, encoded))))
