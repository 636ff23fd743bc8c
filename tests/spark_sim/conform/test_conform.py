"""Real groups and ours say the same: every capture agrees, and a capture that is not what it was does not."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spark_sim.conform.capture import Capture, NotACapture
from spark_sim.conform.verdict import DEAD, NO_RECORD, NOT_SEEN, conform
from subscription_codec import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from subscription_codec.consumer_protocol import (
    decode_member_assignment,
    decode_member_subscription,
    encode_member_assignment,
    encode_member_subscription,
)
from tests.draws import examples
from tests.spark_sim.conform.recorded import recorded

HERE = Path(__file__).parent
FILES = sorted((*(HERE.parent.parent / "captures").glob("*.json"), *(HERE / "captures").glob("*.json")))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

# Who dies of the protocol: member, generation, and in the capture its process had ended.
DEATHS = {
    "0.10.0.1-to-0.10.1.1-kafka-6054": [("peer-2", 5), ("peer-1", 6)],
    "1.1.1-to-2.0.1-without-upgrade-from-leader-last": [("peer-0", 4)],
    "2.1.1-to-2.0.1-downgrade-kafka-8649": [("peer-0", 5), ("peer-1", 7)],
    "2.5.1-to-2.8.2-and-back-static-members": [("static-1-1", 7), ("static-0-1", 8)],
}


@each_file
def test_a_real_group_and_ours_agree_in_both_ways(path):
    verdict = conform(Capture.parse(path.read_text()))

    assert verdict.first is None
    assert verdict.agrees
    if "static" not in path.stem:  # for whom the broker speaks while they are away
        assert verdict.subscriptions == verdict.answers == len(seats(json.loads(path.read_text())))
    assert len(verdict.step_by_step.scenes) == len(verdict.end_to_end.scenes)


@each_file
def test_ours_die_where_real_ones_died_of_the_protocol(path):
    deaths = conform(Capture.parse(path.read_text())).deaths

    assert DEATHS.get(path.stem, []) == [(each.death.life.name, each.death.number) for each in deaths]
    assert {each.shown for each in deaths} <= {DEAD, NO_RECORD}


def test_a_member_pushed_beyond_what_it_has_dies_as_the_real_one_did():
    """KAFKA-8649: 2.0.1 beside a leader of 2.1.1; the real one's log said the very same."""
    path = HERE / "captures/2.1.1-to-2.0.1-downgrade-kafka-8649.json"
    deaths = conform(Capture.parse(path.read_text())).deaths

    assert {"IllegalArgumentException: version must be between 1 and 3; was: 4"} == {
        each.death.reason for each in deaths
    }


def test_a_static_member_that_comes_back_alone_is_given_what_it_had():
    """With one member in the group it had been taken for a rebalance that this member led. The real one was given
    version 9 by nobody but the broker, and died of it."""
    path = HERE / "captures/2.5.1-to-2.8.2-and-back-static-members.json"
    verdict = conform(Capture.parse(path.read_text()))

    assert (8, "static-0-1 came back as a static member: nobody had to be asked") == (
        verdict.step_by_step.scenes[-1].number,
        verdict.step_by_step.scenes[-1].notes[-1],
    )


def test_a_group_that_goes_round_for_its_lags_is_compared_without_its_tasks():
    """How long changelogs are is not in a capture, so ours, which thought that nobody lagged, had come to rest."""
    text = (HERE.parent / "known/captures/2.5.1-under-3.2.3-without-end.json").read_text()
    verdict = conform(Capture.parse(text))

    assert verdict.first is None
    assert verdict.settled


# -- and would we notice? --------------------------------------------------------------------------------------------


def seats(capture):
    """All that took part in a rebalance: a generation is written again when a static member comes back."""
    rebalanced = {group["generation"]: group for group in reversed(capture["generations"])}.values()
    return [(group, seat) for group in rebalanced for seat in group["members"] if seat["assignment"]]


def answered_otherwise(seat):
    """The leader answers with another supported version; before version 3, with another version."""
    envelope = decode_member_assignment(bytes.fromhex(seat["assignment"]))
    said = decode_assignment(envelope.user_data)
    said = (
        said._replace(latest_supported=said.latest_supported + 1)
        if said.version >= 3
        else said._replace(version=3 - said.version)
    )
    seat["assignment"] = encode_member_assignment(envelope._replace(user_data=encode_assignment(said))).hex()


def sent_otherwise(seat):
    """The member sends another supported version; before version 3, another version."""
    envelope = decode_member_subscription(bytes.fromhex(seat["subscription"]))
    said = decode_subscription(envelope.user_data)
    said = (
        said._replace(latest_supported=said.latest_supported + 1)
        if said.version >= 3
        else said._replace(version=3 - said.version)
    )
    seat["subscription"] = encode_member_subscription(envelope._replace(user_data=encode_subscription(said))).hex()


def refused(seat):
    """The leader answers with an error code, and without tasks."""
    envelope = decode_member_assignment(bytes.fromhex(seat["assignment"]))
    said = decode_assignment(envelope.user_data)
    said = said._replace(version=max(said.version, 4), latest_supported=11, error_code=3, active_tasks=())
    envelope = envelope._replace(assigned_partitions=(), user_data=encode_assignment(said))
    seat["assignment"] = encode_member_assignment(envelope).hex()


@pytest.mark.parametrize("change", [answered_otherwise, sent_otherwise, refused])
@each_file
def test_one_changed_message_is_found_in_its_generation(path, change):
    capture = json.loads(path.read_text())
    group, seat = random.Random(path.stem).choice(seats(capture))
    change(seat)
    verdict = conform(Capture.parse(json.dumps(capture)))

    assert not verdict.step_by_step.agrees
    # A member that is answered otherwise also goes on otherwise, but never before.
    assert group["generation"] == min(each.generation for each in verdict.step_by_step.differences)


WRONG = [
    ("2.0.1-to-2.3.1", "2.3.1", "2.3.0", "gets supported version"),  # KAFKA-8649
    ("2.3.1-to-2.0.1-downgrade-store-files-unreadable", "2.3.1", "2.3.0", "gets supported version"),
    ("0.10.0.1-to-1.1.1-two-bounces", "1.1.1", "1.1.0", "sends version"),  # it has no upgrade.from
    ("2.4.1-to-2.8.2-leader-last", "2.8.2", "2.7.2", "sends version"),
    ("2.3.1-to-3.9.2-two-bounces", "3.9.2", "3.3.2", "sends consumer protocol"),
    ("1.1.1-to-2.0.1-two-bounces", "2.0.1,upgrade.from=1.1", "2.0.1", "sends version"),
]


@pytest.mark.parametrize(("name", "was", "said", "what"), WRONG, ids=lambda value: str(value).replace("/", "-"))
def test_a_group_said_to_be_of_another_release_is_found_out(name, was, said, what):
    text = (HERE.parent.parent / f"captures/{name}.json").read_text().replace(f'"{was}', f'"{said}')
    verdict = conform(Capture.parse(text))

    assert what == verdict.first.what
    assert said.partition(",")[0] in verdict.first.why


def test_tasks_given_twice_are_found():
    path = HERE.parent.parent / "captures/2.0.1-to-2.3.1.json"
    capture = json.loads(path.read_text())
    one, other, *_ = capture["generations"][2]["members"]
    one["assignment"] = other["assignment"]
    found = [each.what for each in conform(Capture.parse(json.dumps(capture))).step_by_step.differences]

    assert "tasks given twice" in found
    assert "tasks given to somebody" in found


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


# In a capture, one that crashed before it would have died of the protocol looks like one that died of it.
@example("A@1.0.0 B@1.0.0 | elect oldest | crash mid B | bounce A>2.0.1 | bounce B>2.0.1")
@settings(max_examples=examples(40), deadline=None)
@given(scenarios())
def test_a_capture_of_a_simulated_group_agrees_without_a_word_about_what_was_started_when(line):
    world, text = recorded(line)
    if not world.records:
        return
    verdict = conform(Capture.parse(text))

    assert verdict.first is None
    died = {event.member for event in world.events if event.kind in {"died", "crashed"}}
    assert {each.death.life.name for each in verdict.deaths} <= died
    assert {each.shown for each in verdict.deaths} <= {NOT_SEEN}


@pytest.mark.parametrize(
    ("line", "died"),
    [
        ("A@2.1.1 B@2.1.1 | bounce B>2.0.1 | bounce A>2.0.1", "B"),  # KAFKA-8649
        ("A@1.1.1 B@1.1.1 | bounce B>2.0.1 | bounce A>2.0.1", "A"),
        ("A@0.10.0.1 B@0.10.0.1 | bounce B>0.10.1.1 | bounce A>0.10.1.1", "A"),  # KAFKA-6054
    ],
)
def test_deaths_of_a_simulated_group_are_seen_in_its_capture(line, died):
    _, text = recorded(line)

    assert [died] == [each.death.life.name for each in conform(Capture.parse(text)).deaths]


@pytest.mark.parametrize("generations", ["", '{"generation": 1, "members": []}'])
@pytest.mark.parametrize("snapshots", ["", '{"step": "2.0.1", "instance": 0, "members": []}'])
def test_a_capture_with_nobody_in_it_shows_nothing(generations, snapshots):
    """A snapshot without any generation had been an IndexError."""
    text = f'{{"generations": [{generations}], "snapshots": [{snapshots}]}}'

    with pytest.raises(NotACapture, match="nothing in it can be compared: no generation has members"):
        conform(Capture.parse(text))


@pytest.mark.parametrize(
    ("name", "cut", "why"),
    [
        ("captures/2.0.1-to-2.3.1", 4, "what came before generation 5 is missing: peer-1-.* already has tasks"),
        ("spark_sim/conform/captures/broker-4.3.1-2.4.1-to-2.8.2-static-members", 3, "generation 3 is missing: peer-"),
    ],
)
def test_a_capture_that_begins_in_the_midst_says_so(name, cut, why):
    """It had been a difference: members ran tasks that nobody had given them."""
    capture = json.loads((HERE.parent.parent / f"{name}.json").read_text())
    del capture["generations"][:cut]

    with pytest.raises(NotACapture, match=why):
        conform(Capture.parse(json.dumps(capture)))


def test_a_group_may_begin_with_a_later_generation():
    """The leader of the first one may have died, or left before it answered."""
    capture = json.loads((HERE.parent.parent / "captures/2.0.1-to-2.3.1.json").read_text())
    for group in capture["generations"]:
        group["generation"] += 3

    assert conform(Capture.parse(json.dumps(capture))).agrees
