"""Real groups of real Kafka Streams instances: every blob, every leader's decision, every member's next version."""

import json
from pathlib import Path

import pytest

from streams_assignor.codec import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    from_fields,
    to_fields,
)
from streams_assignor.codec.consumer_protocol import (
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.probing import (
    AssignmentContent,
    MemberVersion,
    MemberVersions,
    ProbingError,
    ReceivedVersions,
    decide,
)
from streams_assignor.probing.rules import BY_NAME
from streams_assignor.upgrade import UnknownRelease, release_named
from tests.subscription_codec import naive

CAPTURES = {
    path.stem: json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "captures").glob("*.json"))
}
each_capture = pytest.mark.parametrize("capture", CAPTURES.values(), ids=CAPTURES)


def steps(capture):
    return [step.split(",")[0] for step in capture["steps"]]


def all_known(capture):
    """Whether the table of releases has all releases of the capture."""
    try:
        return all(release_named(step) for step in steps(capture))
    except UnknownRelease:
        return False


DECIDED = {name: capture for name, capture in CAPTURES.items() if all_known(capture)}
each_decided_capture = pytest.mark.parametrize("capture", DECIDED.values(), ids=DECIDED)


def all_encoded(capture):
    for group in capture["generations"]:
        for member in group["members"]:
            yield member["subscription"], member["assignment"]
    for snapshot in capture["snapshots"]:
        for member in snapshot["members"]:
            if "metadata" in member:  # some captures have only the ids: the generations have all that was sent
                yield member["metadata"], member["assignment"]


@each_capture
def test_all_userdata_is_read_and_written_back_byte_for_byte(capture):
    for subscription, assignment in all_encoded(capture):
        envelope = decode_consumer_subscription(bytes.fromhex(subscription))
        assert subscription == encode_consumer_subscription(envelope).hex()
        assert envelope.user_data == encode_subscription(decode_subscription(envelope.user_data))
        if assignment:
            answer = decode_consumer_assignment(bytes.fromhex(assignment))
            assert assignment == encode_consumer_assignment(answer).hex()
            assert answer.user_data == encode_assignment(decode_assignment(answer.user_data))


def userdata(capture):
    """Every subscription and assignment as the codec sees it: (kind, decoder, bytes)."""
    for subscription, assignment in all_encoded(capture):
        envelope = decode_consumer_subscription(bytes.fromhex(subscription))
        yield "subscription", decode_subscription, envelope.user_data
        if assignment:
            yield "assignment", decode_assignment, decode_consumer_assignment(bytes.fromhex(assignment)).user_data


@pytest.mark.unmeasured
@each_capture
def test_the_naive_decoder_and_json_agree_about_all_userdata(capture):
    decoded = 0
    for kind, decode, encoded in userdata(capture):
        fields = to_fields(decode(encoded, strict=not before_2_0(capture)))

        assert getattr(naive, kind)(encoded) == fields
        assert decode(encoded) == from_fields(kind, fields)
        decoded += 1
    assert decoded > 20


def before_2_0(capture):
    """They write the tail of version 2 after version 1."""
    return any(int(step.partition(".")[0]) < 2 for step in steps(capture))


@each_capture
def test_every_member_uses_a_version_that_its_release_supports(capture):
    known = {release_named(step).supported_version for step in steps(capture)}
    for kind, decode, encoded in userdata(capture):
        record = decode(encoded)

        assert record.version <= max(known)
        if kind == "subscription":
            assert record.supported_version in (known if record.version >= 3 else {-1})


@each_capture
def test_a_task_is_active_on_one_member_at_most(capture):
    """For any decision of the leader, its answers are consistent."""
    for _, members in generations(capture):
        active = [task for _, assignment, _ in members.values() if assignment for task in set(assignment.active_tasks)]

        assert sorted(set(active)) == sorted(active)


def generations(capture):
    """Each stored generation as (leader, {member id: (subscription, assignment, number of partitions)})."""
    for group in capture["generations"]:
        members = {}
        for member in group["members"]:
            subscription = decode_subscription(
                decode_consumer_subscription(bytes.fromhex(member["subscription"])).user_data
            )
            envelope = decode_consumer_assignment(bytes.fromhex(member["assignment"])) if member["assignment"] else None
            members[member["member_id"]] = (
                subscription,
                decode_assignment(envelope.user_data) if envelope else None,
                len(envelope.assigned_partitions) if envelope else 0,
            )
        if members:
            yield group["leader"], members


def releases(capture, subscription):
    """The releases of the capture that can have sent this subscription."""
    found = set(map(release_named, steps(capture)))
    if subscription.version >= 3:
        return {release for release in found if release.supported_version == subscription.supported_version}
    return {release for release in found if release.supported_version >= subscription.version}


@each_decided_capture
def test_our_leader_decides_as_the_real_leader(capture):
    compared = 0
    for leader, members in generations(capture):
        versions = {
            name: MemberVersions(each.version, each.supported_version) for name, (each, _, _) in members.items()
        }
        newest = max(each.used_version for each in versions.values())
        for release in releases(capture, members[leader][0]):
            if newest > release.supported_version and not release.is_probeable:
                continue  # the leader lived, so it was not of this release
            decision = decide(BY_NAME[release.rule_set].leader, release.supported_version, versions)
            for name, (_, real, partitions) in members.items():
                if real is not None:
                    answer = decision.answers[name]
                    assert (real.version, real.supported_version) == (
                        answer.version,
                        answer.supported_version if answer.version >= 3 else -1,
                    )
                    assert answer.content is not AssignmentContent.EMPTY or (partitions, real.active_tasks) == (0, ())
                    compared += 1
    assert compared > 5


@each_decided_capture
def test_our_member_sends_the_next_version_of_the_real_member(capture):
    compared = 0
    last: dict[object, tuple[Subscription, object]] = {}
    for _, members in generations(capture):
        for member_id, (subscription, assignment, _) in members.items():
            # A process of 2.8 or later keeps its id when it is restarted; a member that rejoins (2.6) keeps its own.
            identity = subscription.process_id, member_id if subscription.supported_version >= 7 else ""
            before = last.get(identity)
            if before and before[1] is not None:
                sent, answer = before
                for release in releases(capture, sent):
                    pinned = sent.version if sent.version < min(release.supported_version, 3) else None
                    member = MemberVersion.initial(BY_NAME[release.rule_set].member, release.supported_version, pinned)
                    if member.used_version > sent.version:  # it had come down before
                        member, _ = member.on_assignment(ReceivedVersions(sent.version, sent.version))
                    received = ReceivedVersions(answer.version, answer.supported_version)
                    assert subscription.version == member.on_assignment(received)[0].used_version
                    compared += 1
            last[identity] = (subscription, assignment)
    assert compared > 5


def test_a_leader_that_failed_in_the_capture_fails_here():
    """1.1.1 to 2.0.1 without upgrade.from: the old leader cannot read version 3, so the generation has no answer."""
    rules = BY_NAME[release_named("1.1.1").rule_set].leader

    with pytest.raises(ProbingError, match="unable to decode subscription data: version=3"):
        decide(rules, 2, {"old": MemberVersions(2), "new": MemberVersions(3, 3)})
    capture = CAPTURES["1.1.1-to-2.0.1-without-upgrade-from-leader-last"]
    assert any(snapshot["dead"] for snapshot in capture["snapshots"])
