"""A state that lasts is a finding, and so is a pattern of rebalances; what a rebalance ends soon is none."""

import re
from pathlib import Path
from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor.codec import HostInfo, TaskId
from streams_assignor.groups.check import FindingSeverity, Match
from streams_assignor.groups.checks import FINDINGS, FindingKind
from streams_assignor.groups.history._findings import LASTING_MS, OF_HISTORY
from tests.assignor.groups.history.epochs import current, gone, streams_epoch, streams_member, target, targets, topology
from tests.assignor.groups.history.histories import (
    ALL,
    DAY,
    HOUR,
    MINUTE,
    NOW,
    Played,
    alone,
    commit,
    generation,
    member,
    pair,
)
from tests.assignor.groups.history.segments import record

PATTERNS = {
    *("rebalance-storm", "endless-probing", "endless-warm-up", "flapping", "offset-moved-back"),
    "slow-reconciliation",
}


def found(*members, code, lasted):
    """The finding of a state that lasted, and none if it lasted a millisecond less."""

    def codes(after):
        return Played(generation(1, *members), generation(2, at=after)).codes

    assert code in codes(lasted)
    assert lasted == 0 or code not in codes(lasted - 1)
    return True


def all_left(after):
    return (*gone("A", after), *gone("B", after), streams_epoch(9, after))


def found_of_epochs(*records, code, lasted, end=all_left):
    """Likewise in a group whose broker assigns, which has no members any more when the state ends."""

    def codes(after):
        return Played(*records, *end(after)).codes

    assert code in codes(lasted)
    assert code not in codes(lasted - 1)
    return True


def two(settings=None, *, b=None, a="0_0", had="0_1", **facts):
    """Members A and B with a task each; ``facts`` are those of B."""
    return (
        *(streams_member("A"), streams_member("B", **facts), streams_epoch(1, settings=settings)),
        *(*targets(1, A=a, B="0_1"), current("A", 1, a), current("B", 1 if b is None else b, had)),
    )


def test_an_assignment_that_the_broker_does_not_compute():
    assert found_of_epochs(topology(), streams_member("A"), streams_epoch(1), code="assignment-delayed", lasted=MINUTE)


def test_a_streams_group_without_its_topics():
    unready = streams_member("A"), streams_epoch(1, validated=-1), *targets(1, A=""), current("A", 1)

    assert found_of_epochs(topology(), *unready, code="not-ready", lasted=MINUTE)


def test_a_streams_group_that_was_not_ready_for_a_moment():
    """Epochs follow each other within a minute, so not each of them was checked, and this one seemed to last."""
    records = (
        *(streams_member("A"), streams_epoch(1, validated=-1), *targets(1, A=""), current("A", 1)),
        *(streams_epoch(2, 7000), *targets(2, 7000, A="0_0"), current("A", 2, "0_0", 7000)),
        *(streams_epoch(3, 40_000), *targets(3, 40_000, A="0_0"), current("A", 3, "0_0", 40_000)),
    )

    assert [] == Played(topology(), *records, *all_left(90_000)).codes


def test_a_member_that_does_not_come_to_its_target():
    records = two(b=0)

    assert found_of_epochs(topology(), *records, code="unreconciled", lasted=MINUTE)
    (row,) = [
        each for each in Played(*records, streams_epoch(2, HOUR)).rows["findings"] if each["code"] == "unreconciled"
    ]
    assert "c-B (h, B) has not confirmed its target assignment" == row["text"]


def test_a_member_with_an_old_topology():
    newer = topology(epoch=1)
    assert found_of_epochs(topology(), newer, *two(topologyEpoch=1), code="stale-topology", lasted=MINUTE)


def test_a_static_member_that_is_away():
    assert found_of_epochs(topology(), *two(b=-2, instanceId="pod"), code="static-member-away", lasted=MINUTE)


def test_tasks_without_the_standbys_of_the_group():
    assert found_of_epochs(topology(), *two({"num.standby.replicas": "1"}), code="too-few-standbys", lasted=5 * MINUTE)
    with_them = target("A", "0_0", standby="0_1"), target("B", "0_1", standby="0_0")
    records = (
        *(streams_member("A"), streams_member("B"), streams_epoch(1, settings={"num.standby.replicas": "1"})),
        *(*with_them, *targets(1), current("A", 1, "0_0", standby="0_1"), current("B", 1, "0_1", standby="0_0")),
    )
    assert [] == Played(topology(), *records, streams_epoch(2, DAY)).codes


def test_a_member_without_an_end_point_beside_one_that_has_it():
    assert found_of_epochs(
        topology(), *two(userEndpoint={"host": "h", "port": 7}), code="without-end-point", lasted=HOUR
    )


def test_members_without_the_tags_of_the_group():
    assert found_of_epochs(
        topology(), *two({"rack.aware.assignment.tags": "zone"}), code="missing-client-tags", lasted=HOUR
    )


def test_a_group_whose_members_are_still_classic():
    facts = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "h", "serverAssignor": "uniform"}
    more = {"subscribedTopicNames": ["orders"], "subscribedTopicRegex": None, "rebalanceTimeoutMs": 1}
    classic = {"classicMemberMetadata": {"sessionTimeoutMs": 1, "supportedProtocols": []}}

    key, group = {"groupId": "app", "memberId": "A"}, {"groupId": "app"}
    records = record(5, key, facts | more | classic), record(3, group, {"epoch": 1})

    def end(after):
        return record(5, key, None), record(3, group, {"epoch": 2}, NOW + after)

    assert found_of_epochs(*records, code="classic-members", lasted=DAY, end=end)


@pytest.mark.parametrize(("seconds", "expected"), [(59, []), (61, ["slow-reconciliation"])])
def test_an_epoch_to_which_a_member_comes_late(seconds, expected):
    at = 1000 * seconds
    played = Played(*two(b=0, had=""), current("B", 1, "0_1", at), streams_epoch(2, at))

    assert expected == played.codes
    assert ["all members had come to their target assignment after 61 s; the last one was B"][: len(expected)] == [
        row["text"] for row in played.rows["findings"]
    ]


def test_members_without_a_task():
    assert found(alone(), member("B"), code="idle-members", lasted=HOUR)


def test_a_member_with_many_more_tasks_than_the_others():
    many = " ".join(f"0_{number}" for number in range(9))
    others = [member(name, active=f"1_{number}") for number, name in enumerate("BCD")]

    assert found(member("A", active=many), *others, code="imbalance", lasted=HOUR)


def test_members_of_several_releases():
    assert found(
        member("A", used=9, supported=11, active="0_0"),
        member("B", used=9, supported=9, active="0_1"),
        code="mixed-releases",
        lasted=DAY,
    )


def test_a_forgotten_upgrade_from():
    assert found(*pair(used=2), code="upgrade-from", lasted=DAY)


def test_an_error_code():
    assert found(alone(error=2), code="error-code", lasted=MINUTE)


def test_a_member_whose_end_point_the_leader_has_not_found():
    lost = alone(end_point="http://h:1", hosts=[("http://h", 1)])
    assert found(lost, code="end-point-missing", lasted=MINUTE)


def test_a_member_with_partitions_of_another_topology():
    assert found(alone(topics=("clicks",)), code="not-subscribed", lasted=MINUTE)


def test_two_members_of_one_process_id():
    process = UUID(int=5)
    first, second = (evolve(each, host=host) for each, host in zip(pair(process=process), "ab", strict=True))

    assert found(first, second, code="same-process", lasted=MINUTE)


def test_bytes_that_cannot_be_read():
    assert found(evolve(alone(), subscription=b"\0\1\2"), code="unreadable", lasted=MINUTE)


def test_a_task_with_two_owners():
    assert found(member("A", active=ALL), member("B", active="0_1"), code="owned-twice", lasted=MINUTE)


def test_a_member_that_cannot_read_its_assignment():
    assert found(member("A", 3, 3, answered=4, active=ALL), code="cannot-read", lasted=MINUTE)


def test_a_member_that_cannot_probe():
    members = member("A", 2, envelope=0, active="0_0"), member("B", active="0_1")

    assert found(*members, code="cannot-probe", lasted=MINUTE)


def test_a_group_that_stays_below_its_version():
    assert found(member("A", 4, 11, active=ALL), code="could-speak-more", lasted=HOUR)


def test_eager_and_cooperative_members():
    eager, cooperative = member("A", 4, 4, envelope=0, active="0_0"), member("B", 4, 11, owned="0_1", active="0_1")

    assert found(eager, cooperative, code="mixed-protocols", lasted=MINUTE)


def test_a_member_without_an_assignment():
    assert found(alone(), evolve(member("B"), assignment=b""), code="no-assignment", lasted=5 * MINUTE)


def test_a_standby_task_that_is_not_active():
    assert found(member("A", active="0_0", standby="0_7"), code="without-owner", lasted=5 * MINUTE)


@pytest.mark.parametrize(("number", "expected"), [(28, "large"), (40, "too-large")])
def test_a_group_near_the_limit_of_the_broker(number, expected):
    long = [evolve(member(f"m{each}", active=f"0_{each}"), client_id="x" * 30_000) for each in range(number)]

    assert expected in Played(generation(1, *long), generation(2)).codes


def test_a_large_record_of_a_short_generation_just_after_a_check():
    long = [evolve(member(f"m{each}", active=f"0_{each}"), client_id="x" * 30_000) for each in range(28)]
    generations = generation(1, *pair()), generation(2, *long, at=1_000), generation(3, *pair(), at=2_000)

    assert "large" in Played(*generations, generation(4, *pair(), at=HOUR)).codes


def seconds(*states):
    """Generations of one member, each with what differs in its userdata, by the second in which it begins."""
    return [generation(1 + number, alone(**facts), at=1000 * at) for number, (at, facts) in enumerate(states)]


@pytest.mark.parametrize("states", [[(0, {}), (57, {})], [(0, {}), (5, {}), (20, {}), (59, {})]])
def test_a_state_of_seconds_is_no_finding_though_generations_follow_within_a_minute(states):
    broken = seconds((0, {"error": 2}), *((each + 5, facts) for each, facts in states), (130, {}))

    assert [] == Played(*broken).codes
    assert [] == Played(*broken[:2], commit(0, at=62_000)).codes


def test_a_state_of_a_minute_ends_with_the_first_generation_without_it():
    states = [(at, {"error": 2}) for at in range(0, 60, 20)]
    played = Played(*seconds(*states, (61, {}), (62, {}), (200, {})))

    assert [("error-code", NOW, NOW + 61_000)] == [
        (row["code"], row["from_time"], row["until_time"]) for row in played.rows["findings"]
    ]


def test_the_last_generation_decides_whether_a_state_lasts_until_the_last_record():
    idle = [generation(1 + each, alone(), member("B"), at=each * HOUR // 2) for each in range(4)]
    end = 3 * HOUR // 2 + 10_000
    played = Played(*idle, generation(5, alone(), at=end), commit(0, at=end + 1000))

    assert [NOW + end] == [row["until_time"] for row in played.rows["findings"]]


def test_a_state_that_lasts_until_the_last_record_has_no_end():
    played = Played(generation(1, alone(), member("B")), commit(0, at=2 * HOUR))
    (row,) = played.rows["findings"]

    assert (row["code"], row["from_time"], row["until_time"], row["members"]) == (
        "idle-members",
        NOW,
        None,
        ["42000000"],
    )


def test_a_state_goes_on_over_rebalances():
    members = alone(), member("B")
    played = Played(*(generation(1 + each, *members, at=each * HOUR // 2) for each in range(4)))

    assert [(row["from_time"], row["generation"]) for row in played.rows["findings"]] == [(NOW, 1)]


def test_without_timestamps_nothing_lasts_and_nothing_storms():
    """Records of format 0 have no timestamps."""
    records = [generation(1 + each, alone(), member("B"), at=-NOW - 1) for each in range(40)]

    assert Played(*records, commit(0, at=HOUR)).codes == []


def test_without_timestamps_no_member_flaps():
    assert "flapping" not in Played(*timeouts(3, -NOW - 1, 0)).codes


def rounds(number, step, *members):
    return [generation(1 + each, *members, at=each * step) for each in range(number)]


def test_twenty_rebalances_within_ten_minutes_are_one_storm():
    assert Played(*rounds(19, 1000, alone())).codes == []
    played = Played(*rounds(40, 1000, alone()))

    assert played.codes == ["rebalance-storm"]
    assert "most frequent cause is leader-rejoined (19)" in played.rows["findings"][0]["text"]


def test_rebalances_that_are_far_apart_are_no_storm():
    assert Played(*rounds(40, 5 * MINUTE, alone())).codes == []


def test_a_second_storm_is_a_second_finding():
    later = [generation(100 + each, alone(), at=HOUR + each * 1000) for each in range(20)]

    assert Played(*rounds(20, 1000, alone()), *later).codes == ["rebalance-storm"] * 2


def test_ten_rebalances_by_probing_members_are_endless():
    probing = member("A", used=11, answered=8, active=ALL)

    assert Played(*rounds(11, MINUTE, probing)).codes.count("endless-probing") == 1


def test_ten_rebalances_for_warm_ups_are_endless():
    records = [
        generation(1 + each, alone(next_ms=NOW + (each + 1) * 10 * MINUTE), at=each * 10 * MINUTE + 500)
        for each in range(12)
    ]

    assert Played(*records).codes == ["endless-warm-up"]


def test_ten_rebalances_by_the_leader_are_not_endless():
    assert Played(*rounds(12, 5 * MINUTE, alone())).codes == []


def timeouts(number, start, step):
    first, second = pair()
    for each in range(number):
        yield generation(2 * each + 1, first, second, at=start + each * step)
        yield generation(2 * each + 2, member("A", active=ALL), at=start + each * step + bool(step) * 20_000)


@pytest.mark.parametrize(("step", "codes"), [(HOUR, ["flapping"]), (DAY, [])])
def test_a_client_that_times_out_three_times_a_day_flaps(step, codes):
    assert [code for code in Played(*timeouts(3, 0, step)).codes if code == "flapping"] == codes


@pytest.mark.parametrize(("others", "codes"), [(49, ["flapping"]), (50, [])])
def test_the_timeouts_of_fifty_clients_are_remembered(others, codes):
    """A process that starts may have a new client id each time: a group would need memory for all of them."""
    first, _ = pair()
    names = ["B", "B", *(f"C{number}" for number in range(others)), "B"]
    records = [
        record
        for at, name in enumerate(names)
        for record in (
            generation(2 * at + 1, first, member(name, active="0_1", owned="0_1", had="0_1"), at=at * 10 * MINUTE),
            generation(2 * at + 2, member("A", active=ALL), at=at * 10 * MINUTE + 20_000),
        )
    ]

    assert [code for code in Played(*records).codes if code == "flapping"] == codes


def later_check(monkeypatch, matches):
    """Add a check as a later release would."""

    def check(view):
        if any(matches(each) for each in view.members):
            yield Match({})

    monkeypatch.setitem(FINDINGS, "later", FindingKind(FindingSeverity.PROBLEM, lambda: "a later check", check))
    monkeypatch.setitem(LASTING_MS, "later", 0)


@pytest.mark.parametrize(
    ("reads", "changed"),
    [
        (lambda each: each.subscription.rack == "r", {"rack": "r"}),
        (lambda each: each.subscription.user_end_point == "h:1", {"end_point": "h:1"}),
        (lambda each: each.subscription.client_tags == {"zone": "z"}, {"tags": [("zone", "z")]}),
        (lambda each: each.subscription.offset_sums.get(TaskId(0, 9)) == 7, {"sums": {"0_9": 7}}),
        (lambda each: each.described.host == "/h", {"host": "/h"}),
        (lambda each: each.described.group_instance_id == "i", {"instance": "i"}),
        (lambda each: TaskId(0, 5) in each.assignment.standbys, {"standby": "0_5"}),
        (lambda each: HostInfo("h", 1) in each.assignment.hosts, {"hosts": [("h", 1)]}),
    ],
)
def test_a_check_that_is_added_later_fires_in_an_audit_whatever_it_reads(monkeypatch, reads, changed):
    """An audit once inspected a group by a list of facts, and never ran a check that read anything else."""
    later_check(monkeypatch, reads)
    records = [generation(1, *pair()), generation(2, *pair(), at=HOUR)]
    last = generation(3, *pair(**changed), at=2 * HOUR)

    assert "later" not in Played(*records).codes
    assert "later" in Played(*records, last).codes


def test_a_healthy_hour_has_no_findings():
    records = [generation(1, alone()), generation(2, *pair(), at=10_000)]
    commits = [commit(each % 2, 100 + each, at=20_000 + each * 30_000) for each in range(120)]

    assert Played(*records, *commits).codes == []


def test_the_patterns_are_tested_here():
    source = Path(__file__).read_text(encoding="utf-8")
    history = Path(__file__).with_name("test_history.py").read_text(encoding="utf-8")

    assert all(code in source or code in history for code in PATTERNS)
    assert PATTERNS == set(OF_HISTORY) - set(LASTING_MS)
    assert {*re.findall('code="([a-z-]+)"', source), "large", "too-large"} == set(LASTING_MS)
