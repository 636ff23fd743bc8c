"""Real groups and ours say the same: every capture agrees, and a capture that is not what it was does not."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams_assignor.codec import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from streams_assignor.codec.consumer_protocol import (
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.groups.capture import Capture, InvalidCapture
from streams_assignor.spark_sim.conformance.verdict import (
    NO_RECORD_SINCE,
    NOT_SEEN,
    PROCESS_TERMINATED,
    check_conformance,
)
from tests.draws import examples
from tests.each import each_third
from tests.spark_sim.conformance.recorded import recorded

HERE = Path(__file__).parent
FILES = sorted((*(HERE.parent.parent / "captures").glob("*.json"), *(HERE / "captures").glob("*.json")))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

# Failures by the protocol: member and generation; in the capture the process had ended.
FAILURES = {
    "0.10.0.1-to-0.10.1.1-kafka-6054": [("peer-2", 5), ("peer-1", 6)],
    "1.1.1-to-2.0.1-without-upgrade-from-leader-last": [("peer-0", 4)],
    "2.0.1-to-2.2.0-leader-last-kafka-8649-two-subtopologies": [("peer-0", 4), ("peer-2", 4)],
    "2.1.1-to-2.0.1-downgrade-kafka-8649": [("peer-0", 5), ("peer-1", 7)],
    "2.5.1-to-2.8.2-and-back-static-members": [("static-1-1", 7), ("static-0-1", 8)],
}


@each_file
def test_a_real_group_and_ours_agree_in_both_ways(path):
    verdict = check_conformance(Capture.parse(path.read_text()))

    assert verdict.first_difference is None
    assert verdict.agrees
    if "static" not in path.stem:  # the broker answers for static members while they are away
        assert verdict.subscriptions == verdict.answers == len(seats(json.loads(path.read_text())))
    assert len(verdict.step_by_step.generations) == len(verdict.end_to_end.generations)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [("steps",), ("snapshots",), ("steps", "snapshots")], ids=" and ".join)
@each_file
def test_a_real_group_agrees_without_steps_or_snapshots(path, missing):
    """Without both, ten had differed: upgrade.from, standbys and older releases of the same versions were unknown."""
    capture = {key: value for key, value in json.loads(path.read_text()).items() if key not in missing}
    verdict = check_conformance(Capture.parse(json.dumps(capture)))

    assert verdict.first_difference is None
    assert verdict.complete
    assert bool(verdict.inferred) == (len(missing) == 2)


INFERRED = {
    "0.10.0.1-to-1.1.1-two-bounces": ("0.10.0.1", "1.1.1,upgrade.from=0.10.0", "1.1.1"),
    "1.1.1-to-2.0.1-two-bounces": ("1.1.1", "2.0.1,upgrade.from=1.1", "2.0.1"),
    "2.3.1-to-2.4.1-two-bounces": ("2.3.1", "2.4.1,upgrade.from=2.3"),
}


@pytest.mark.parametrize(("name", "steps"), INFERRED.items(), ids=INFERRED)
def test_steps_are_inferred_from_what_follows(name, steps):
    capture = json.loads((HERE.parent.parent / f"captures/{name}.json").read_text())

    assert steps == check_conformance(Capture.parse(json.dumps({"generations": capture["generations"]}))).inferred


@pytest.mark.parametrize("path", FILES[:4], ids=lambda path: path.stem)
def test_without_steps_a_changed_answer_is_no_difference_but_not_agreement_either(path):
    capture = {"generations": json.loads(path.read_text())["generations"]}
    group, one = next((group, seat) for group, seat in seats(capture) if len(group["members"]) > 1)
    answered_otherwise(one)
    verdict = check_conformance(Capture.parse(json.dumps(capture)))

    assert not verdict.complete
    assert "incomplete" == verdict.as_json()["verdict"]
    assert verdict.first_difference.generation >= group["generation"]


@each_file
def test_our_members_fail_where_real_ones_failed_by_the_protocol(path):
    failures = check_conformance(Capture.parse(path.read_text())).failures

    assert FAILURES.get(path.stem, []) == [
        (each.failure.incarnation.name, each.failure.generation) for each in failures
    ]
    assert {each.observed for each in failures} <= {PROCESS_TERMINATED, NO_RECORD_SINCE}


def test_a_member_beyond_its_supported_version_fails_as_the_real_one_did():
    """KAFKA-8649: 2.0.1 beside a leader of 2.1.1; the log of the real one has the same message."""
    path = HERE / "captures/2.1.1-to-2.0.1-downgrade-kafka-8649.json"
    failures = check_conformance(Capture.parse(path.read_text())).failures

    assert {"IllegalArgumentException: version must be between 1 and 3; was: 4"} == {
        each.failure.reason for each in failures
    }


def test_members_whose_tasks_come_with_partitions_of_another_subtopology_fail_of_b6():
    """It had been "a reason that is not in these rules", of 2.2.0: the release that another instance was bounced to."""
    path = HERE / "captures/2.0.1-to-2.2.0-leader-last-kafka-8649-two-subtopologies.json"
    verdict = check_conformance(Capture.parse(path.read_text()))

    assert [("B6", "2.0.1", PROCESS_TERMINATED)] * 2 == [
        (each.failure.bug, each.failure.incarnation.started_as.text, each.observed) for each in verdict.failures
    ]
    assert all(
        each.failure.reason.startswith("NullPointerException: task 0_")
        and "Counts-repartition-" in each.failure.reason
        and each.failure.reason.endswith(", which its subtopology does not read")
        for each in verdict.failures
    )
    assert () == verdict.unexplained_failures
    assert ["B6", "B6"] == [each["bug"] for each in verdict.as_json()["failures"]]


def test_an_end_that_no_rule_explains_names_what_the_instance_itself_ran():
    capture = json.loads((HERE.parent.parent / "captures/2.0.1-to-2.3.1.json").read_text())
    first = next(shot for shot in capture["snapshots"] if shot["step"] == "2.3.1")
    other = (first["instance"] + 1) % 3
    first["dead"] = [other]

    assert ((other, "2.0.1"),) == check_conformance(Capture.parse(json.dumps(capture))).unexplained_failures


def test_a_static_member_that_comes_back_alone_is_given_what_it_had():
    """With one member in the group it had been taken for a rebalance that this member led. The real one was given
    version 9 only by the broker, and failed on it."""
    path = HERE / "captures/2.5.1-to-2.8.2-and-back-static-members.json"
    verdict = check_conformance(Capture.parse(path.read_text()))

    assert (8, "static-0-1 came back as a static member: no rebalance was needed") == (
        verdict.step_by_step.generations[-1].number,
        verdict.step_by_step.generations[-1].notes[-1],
    )


def test_a_group_that_goes_round_for_its_lags_is_compared_without_its_tasks():
    """A capture has no lengths of changelogs, so our leader computed no lags and scheduled nothing."""
    text = (HERE.parent / "regressions/captures/2.5.1-under-3.2.3-without-end.json").read_text()
    verdict = check_conformance(Capture.parse(text))

    assert verdict.first_difference is None
    assert verdict.quiescent


# -- changed captures ------------------------------------------------------------------------------------------------


def seats(capture):
    """All that took part in a rebalance: a generation is written again when a static member comes back."""
    rebalanced = {group["generation"]: group for group in reversed(capture["generations"])}.values()
    return [(group, seat) for group in rebalanced for seat in group["members"] if seat["assignment"]]


def answered_otherwise(seat):
    """The leader answers with another supported version; before version 3, with another version."""
    envelope = decode_consumer_assignment(bytes.fromhex(seat["assignment"]))
    userdata = decode_assignment(envelope.user_data)
    userdata = (
        userdata._replace(supported_version=userdata.supported_version + 1)
        if userdata.version >= 3
        else userdata._replace(version=3 - userdata.version)
    )
    seat["assignment"] = encode_consumer_assignment(envelope._replace(user_data=encode_assignment(userdata))).hex()


def sent_otherwise(seat):
    """The member sends another supported version; before version 3, another version."""
    envelope = decode_consumer_subscription(bytes.fromhex(seat["subscription"]))
    userdata = decode_subscription(envelope.user_data)
    userdata = (
        userdata._replace(supported_version=userdata.supported_version + 1)
        if userdata.version >= 3
        else userdata._replace(version=3 - userdata.version)
    )
    seat["subscription"] = encode_consumer_subscription(
        envelope._replace(user_data=encode_subscription(userdata))
    ).hex()


def refused(seat):
    """The leader answers with an error code, and without tasks."""
    envelope = decode_consumer_assignment(bytes.fromhex(seat["assignment"]))
    userdata = decode_assignment(envelope.user_data)
    userdata = userdata._replace(version=max(userdata.version, 4), supported_version=11, error_code=3, active_tasks=())
    envelope = envelope._replace(assigned_partitions=(), user_data=encode_assignment(userdata))
    seat["assignment"] = encode_consumer_assignment(envelope).hex()


@pytest.mark.parametrize("change", [answered_otherwise, sent_otherwise, refused])
@pytest.mark.parametrize("path", each_third(FILES), ids=lambda path: path.stem)
def test_one_changed_message_is_found_in_its_generation(path, change):
    capture = json.loads(path.read_text())
    group, seat = random.Random(path.stem).choice(seats(capture))
    change(seat)
    verdict = check_conformance(Capture.parse(json.dumps(capture)))

    assert not verdict.step_by_step.agrees
    # A member that is answered otherwise also goes on otherwise, but never before.
    assert group["generation"] == min(each.generation for each in verdict.step_by_step.differences)


WRONG = [
    ("2.0.1-to-2.3.1", "2.3.1", "2.3.0", "receives supported version"),  # KAFKA-8649
    ("2.3.1-to-2.0.1-downgrade-store-files-unreadable", "2.3.1", "2.3.0", "receives supported version"),
    ("0.10.0.1-to-1.1.1-two-bounces", "1.1.1", "1.1.0", "sends version"),  # it has no upgrade.from
    ("2.4.1-to-2.8.2-leader-last", "2.8.2", "2.7.2", "sends version"),
    ("2.3.1-to-3.9.2-two-bounces", "3.9.2", "3.3.2", "sends consumer protocol"),
    ("1.1.1-to-2.0.1-two-bounces", "2.0.1,upgrade.from=1.1", "2.0.1", "sends version"),
]


@pytest.mark.parametrize(("name", "was", "userdata", "what"), WRONG, ids=lambda value: str(value).replace("/", "-"))
def test_a_capture_with_a_wrong_release_differs(name, was, userdata, what):
    text = (HERE.parent.parent / f"captures/{name}.json").read_text().replace(f'"{was}', f'"{userdata}')
    verdict = check_conformance(Capture.parse(text))

    assert what == verdict.first_difference.what
    assert userdata.partition(",")[0] in verdict.first_difference.why


def test_tasks_given_twice_are_found():
    path = HERE.parent.parent / "captures/2.0.1-to-2.3.1.json"
    capture = json.loads(path.read_text())
    one, other, *_ = capture["generations"][2]["members"]
    one["assignment"] = other["assignment"]
    found = [each.what for each in check_conformance(Capture.parse(json.dumps(capture))).step_by_step.differences]

    assert "tasks assigned twice" in found
    assert "tasks assigned" in found


# -- simulated groups ------------------------------------------------------------------------------------------------

RELEASES = ["1.0.0", "1.1.1", "2.0.1", "2.1.1", "2.3.1", "2.4.1", "2.6.3", "2.8.2", "3.9.2", "4.3.1"]


@st.composite
def scenarios(draw):
    origin, target = draw(st.permutations(RELEASES))[:2]
    names = "ABC"[: draw(st.integers(1, 3))]
    steps = [f"elect {draw(st.sampled_from(['oldest', 'newest']))}"]
    for name in draw(st.permutations(names)):
        if draw(st.booleans()):
            steps.append(f"crash {draw(st.sampled_from(['mid ', 'late ', '']))}{draw(st.sampled_from(names))}")
        steps.append(f"bounce {draw(st.sampled_from(['', 'fast ', 'leave ']))}{name}>{target}")
    return " | ".join([" ".join(f"{name}@{origin}" for name in names), *steps])


# In a capture, a member that crashed before the protocol failed it looks like one that the protocol failed.
@example("A@1.0.0 B@1.0.0 | elect oldest | crash mid B | bounce A>2.0.1 | bounce B>2.0.1")
@settings(max_examples=examples(40), deadline=None)
@given(scenarios())
def test_a_capture_of_a_simulated_group_agrees_without_a_word_about_what_was_started_when(line):
    simulation, text = recorded(line)
    if not simulation.records:
        return
    verdict = check_conformance(Capture.parse(text))

    assert verdict.first_difference is None
    failed = {event.member for event in simulation.events if event.kind in {"failed", "crashed"}}
    assert {each.failure.incarnation.name for each in verdict.failures} <= failed
    assert {each.observed for each in verdict.failures} <= {NOT_SEEN}


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("A@2.1.1 B@2.1.1 | bounce B>2.0.1 | bounce A>2.0.1", "B"),  # KAFKA-8649
        ("A@1.1.1 B@1.1.1 | bounce B>2.0.1 | bounce A>2.0.1", "A"),
        ("A@0.10.0.1 B@0.10.0.1 | bounce B>0.10.1.1 | bounce A>0.10.1.1", "A"),  # KAFKA-6054
    ],
)
def test_failures_of_a_simulated_group_show_in_its_capture(line, failed):
    _, text = recorded(line)

    assert [failed] == [each.failure.incarnation.name for each in check_conformance(Capture.parse(text)).failures]


@pytest.mark.parametrize("generations", ["", '{"generation": 1, "members": []}'])
@pytest.mark.parametrize("snapshots", ["", '{"step": "2.0.1", "instance": 0, "members": []}'])
def test_a_capture_without_members_is_rejected(generations, snapshots):
    """A snapshot without any generation had been an IndexError."""
    text = f'{{"generations": [{generations}], "snapshots": [{snapshots}]}}'

    with pytest.raises(InvalidCapture, match="nothing in it can be compared: no generation has members"):
        check_conformance(Capture.parse(text))


@pytest.mark.parametrize(
    ("name", "cut", "why"),
    [
        ("captures/2.0.1-to-2.3.1", 4, "what came before generation 5 is missing: peer-1-.* already has tasks"),
        (
            "spark_sim/conformance/captures/broker-4.3.1-2.4.1-to-2.8.2-static-members",
            3,
            "generation 3 is missing: peer-",
        ),
    ],
)
def test_a_capture_without_its_beginning_is_rejected(name, cut, why):
    """It had been a difference: members ran tasks that no leader had assigned to them."""
    capture = json.loads((HERE.parent.parent / f"{name}.json").read_text())
    del capture["generations"][:cut]

    with pytest.raises(InvalidCapture, match=why):
        check_conformance(Capture.parse(json.dumps(capture)))


def test_a_group_may_begin_with_a_later_generation():
    """The leader of the first one may have failed, or left before it answered."""
    capture = json.loads((HERE.parent.parent / "captures/2.0.1-to-2.3.1.json").read_text())
    for group in capture["generations"]:
        group["generation"] += 3

    assert check_conformance(Capture.parse(json.dumps(capture))).agrees
