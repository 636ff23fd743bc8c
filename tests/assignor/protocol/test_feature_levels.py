"""The group carries levels of features (KIP-584, "Use case: group_coordinator feature flag"): rows G1, G2, G4 to G9."""

from uuid import UUID
from zlib import crc32

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor import StreamsAssignor, Subtopology, Topology, UsageError
from streams_assignor.codec import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from streams_assignor.codec.consumer_protocol import (
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.extension import check_extension
from streams_assignor.upgrade import ConfigException, StreamsConfig, release_named
from streams_assignor.upgrade.cluster.features.carried_levels import (
    MAGIC,
    MAX_FEATURES,
    MAX_LEVEL,
    VERSION,
    CarriedLevels,
    decode_levels,
    encode_levels,
)
from streams_assignor.upgrade.cluster.features.cluster import FeatureNode
from streams_assignor.upgrade.cluster.features.feature_cache import FinalizedFeatureCaches
from streams_assignor.upgrade.cluster.features.update_features import update_features
from tests.group import Group
from tests.memory import peak_bytes
from tests.upgrade.cluster.features.clusters import COORDINATOR, kip_584, refused, request

COUNTS = Topology.of(Subtopology(sources=["orders"], changelogs=["counts"]))
SIZES = {"orders": 4, "counts": 4}
OTHER = "transaction_coordinator"


class Watching(Group):
    """A group whose members watch a feature; what its leader sees of the cluster is an argument of each rebalance."""

    def __init__(self, *names):
        super().__init__(COUNTS, SIZES)
        self.carried, self.seen = {}, {}
        for name in names:
            self.add(name)

    def add(self, name, release="streams-assignor", watches=(COORDINATOR,), **config):
        """Also restarts a member: it comes back without its memory."""
        self.carried.pop(name, None)
        if watches:
            self.carried[name] = CarriedLevels(watches)
        self.members[name] = StreamsAssignor(
            self.topology,
            StreamsConfig(**config),
            process_id=UUID(int=ord(name)),
            release=release_named(release),
            extension=self.carried.get(name),
        )
        return self.members[name]

    def evolve(self, name, release):
        """Replace a member by one of another release, with the memory of its levels."""
        self.members[name] = StreamsAssignor(
            COUNTS,
            process_id=self.members[name].member.process_id,
            release=release_named(release),
            extension=self.carried[name],
        )

    def sees(self, **levels):
        self.seen = levels
        return self

    def answers(self, leader=None):
        leader = leader or next(iter(self.members))
        if leader in self.carried:
            self.carried[leader].observed = self.seen
        return super().answers(leader)

    @property
    def levels(self):
        return {
            name: self.carried[name].levels.get(COORDINATOR, 0) if name in self.carried else 0 for name in self.members
        }


def hear(copies, cluster, *which):
    for broker in which:
        copies, _ = copies.catch_up(cluster, broker)
    return copies


def test_g1_old_brokers_have_1_and_new_ones_1_and_2():
    old, new = (kip_584(*[{COORDINATOR: found}] * 2, finalized={COORDINATOR: 1}) for found in [(1, 1), (1, 2)])

    assert not refused(old, request(COORDINATOR, 2)).ok
    assert {COORDINATOR: 2} == update_features(new, request(COORDINATOR, 2)).cluster.finalized


def test_g2_the_timeline():
    """T0 to T5: brokers 1 to 3; the leader asks one of them, and 3 is always the last to know."""
    cluster = kip_584(*[{COORDINATOR: (1, 1)}] * 3, finalized={COORDINATOR: 1})
    copies = hear(FinalizedFeatureCaches(), cluster, 1, 2, 3)
    group = Watching("a", "b", "c")
    leader = group.carried["a"]

    def asks(broker):
        return copies.api_versions_response(cluster.brokers[broker]).finalized

    group.sees(**asks(2)).rebalance()  # T0
    assert {"a": 1, "b": 1, "c": 1} == group.levels

    rolled = {number: FeatureNode(number, {COORDINATOR: (1, 2)}) for number in cluster.brokers}
    cluster = evolve(cluster, brokers=rolled)  # T1
    assert (1, 2) == copies.api_versions_response(cluster.brokers[1]).supported[COORDINATOR]
    assert not leader.needs_rejoin_for(asks(1))  # T2: without effect

    cluster = update_features(cluster, request(COORDINATOR, 2)).cluster  # T3
    copies = hear(copies, cluster, 1)
    assert leader.needs_rejoin_for(asks(1))  # T3-4
    group.sees(**asks(1)).rebalance()
    assert {"a": 2, "b": 2, "c": 2} == group.levels  # T5

    assert not leader.needs_rejoin_for(asks(1))
    assert not leader.needs_rejoin_for(asks(3))  # still says 1
    group.sees(**asks(3)).rebalance()
    assert {"a": 2, "b": 2, "c": 2} == group.levels


def test_g4_a_raise_is_sent_to_all_members_in_one_rebalance():
    group = Watching("a", "b", "c")
    group.sees(group_coordinator=1).rebalance()

    assert group.carried["b"].needs_rejoin_for({COORDINATOR: 2})
    received = group.sees(group_coordinator=2).rebalance(leader="b")
    assert [{COORDINATOR: 2}] * 3 == [each.levels for each in group.carried.values()]
    assert not group.carried["b"].needs_rejoin_for({COORDINATOR: 2})
    assert {None} == {each.rejoin for each in received.values()}


def test_g5_o5_members_keep_the_level_in_their_next_subscription():
    group = Watching("a", "b")
    assert {b""} == {tail_of_subscription(member.subscription()) for member in group.members.values()}

    group.sees(group_coordinator=2).rebalance()

    tails = {tail_of_subscription(member.subscription()) for member in group.members.values()}
    assert {encode_levels({COORDINATOR: 2})} == tails


def test_g6_a_leader_believes_members_that_are_ahead_and_needs_not_ask():
    """It begins to lead without having seen anything; a stale broker's 1 is no news either."""
    group = Watching("a", "b", "c")
    group.sees(group_coordinator=2).rebalance()
    group.add("c")
    assert {"a": 2, "b": 2, "c": 0} == group.levels

    group.sees().rebalance(leader="c")
    assert {"a": 2, "b": 2, "c": 2} == group.levels
    group.add("c")
    group.sees(group_coordinator=1).rebalance(leader="c")
    assert {"a": 2, "b": 2, "c": 2} == group.levels


def test_g7_a_leader_that_watches_nothing_takes_nothing_away():
    group = Watching("a", "b")
    group.sees(group_coordinator=2).rebalance()
    group.add("c", watches=())
    received = group.sees(group_coordinator=3).rebalance(leader="c")

    assert {"a": 2, "b": 2, "c": 0} == group.levels
    assert {b""} == {each.trailing for each in received.values()}


def test_g7_a_member_keeps_its_level_through_version_probing():
    """An old leader cannot read what a newer member carries, until that has come down to its version."""
    group = Watching("a")
    group.add("b", "streams-assignor-3")
    group.sees(group_coordinator=2).settle()
    group.add("b", "streams-assignor-3")
    group.evolve("a", "simulated-4")
    group.sees(group_coordinator=1).rebalance(leader="b")
    assert {"a": 2, "b": 1} == group.levels

    group.settle(leader="b")
    assert {"a": 2, "b": 2} == group.levels


def test_g8_a_lowered_level_changes_nothing_until_all_clients_are_started_anew():
    group = Watching("a", "b")
    group.sees(group_coordinator=2).rebalance()
    group.sees(group_coordinator=1).rebalance()
    group.add("a")
    group.rebalance()
    assert {"a": 2, "b": 2} == group.levels  # the operator was too early

    anew = Watching("a", "b")
    anew.sees(group_coordinator=1).rebalance()
    assert {"a": 1, "b": 1} == anew.levels


def test_a_member_carries_and_a_leader_passes_on_only_what_it_watches():
    """A leader passed on all levels that any member wrote: 0.9 MB in, 45 MB out for 51 members."""
    group = Watching("a")
    group.add("b", watches=(COORDINATOR, OTHER))
    group.sees(group_coordinator=1, transaction_coordinator=1).rebalance(leader="b")
    assert {COORDINATOR: 1} == group.carried["a"].levels

    group.add("c", watches=(OTHER,))
    group.sees(group_coordinator=2, transaction_coordinator=2).rebalance(leader="a")
    assert {} == group.carried["c"].levels
    assert {COORDINATOR: 2, OTHER: 1} == group.carried["b"].levels


def test_a_leader_passes_on_no_level_above_the_answer_of_the_cluster():
    group = Watching("a", "b")
    group.sees(group_coordinator=32767).rebalance(leader="b")
    group.add("a")
    group.carried["a"].answered = True
    group.sees(group_coordinator=2).rebalance(leader="a")

    assert {"a": 2, "b": 32767} == group.levels  # levels never fall
    assert {COORDINATOR: 32767} == group.carried["a"].withheld


def test_more_levels_than_a_member_can_watch_are_none():
    """Any member can write them, with a right sum; time and memory do not depend on their number."""
    full = {f"{number:03}" * 85: 1 for number in range(MAX_FEATURES)}
    assert full == decode_levels(encode_levels(full))
    assert {} == decode_levels(encode_levels({f"{number:03}": 1 for number in range(MAX_FEATURES + 1)}))

    huge = encode_levels({str(number): 1 for number in range(100_000)})
    assert {} == decode_levels(huge)
    assert peak_bytes(lambda: decode_levels(huge)) < 20_000


# -- bytes ---------------------------------------------------------------------------------------------------------

names = st.text(min_size=1, max_size=20).filter(lambda name: name.isprintable())
known_levels = st.dictionaries(names, st.integers(1, MAX_LEVEL), max_size=4)
some_levels = st.dictionaries(names, st.integers(1, MAX_LEVEL), min_size=1, max_size=4)


def tail_of_subscription(encoded):
    return decode_subscription(decode_consumer_subscription(encoded).user_data).trailing


def without_tail_of_subscription(encoded):
    envelope = decode_consumer_subscription(encoded)
    bare = decode_subscription(envelope.user_data)._replace(trailing=b"")
    return encode_consumer_subscription(envelope._replace(user_data=encode_subscription(bare)))


def without_tail_of_assignment(encoded):
    envelope = decode_consumer_assignment(encoded)
    bare = decode_assignment(envelope.user_data)._replace(trailing=b"")
    return encode_consumer_assignment(envelope._replace(user_data=encode_assignment(bare)))


def with_sum(entries):
    whole = MAGIC + VERSION + len(entries).to_bytes(4, "big") + entries
    return whole + crc32(whole).to_bytes(4, "big")


def test_g9_the_bytes_of_an_envelope_of_our_own():
    expected = bytes.fromhex("ff53414c 01 00000010") + b"\x0dgroup.version\x00\x02" + bytes.fromhex("9ae6c9dd")

    assert expected == encode_levels({"group.version": 2})


@given(known_levels, st.binary(max_size=20))
def test_g9_it_reads_what_it_has_written_whatever_stands_behind(levels, behind):
    assert levels == decode_levels(encode_levels(levels) + behind)
    assert encode_levels(levels) == encode_levels(dict(reversed(levels.items())))


@given(some_levels, st.data())
def test_g9_damaged_bytes_say_nothing(levels, data):
    whole = encode_levels(levels)
    place, mask = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))

    assert {} == decode_levels(whole[:place])
    assert {} == decode_levels(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])


@given(st.binary(max_size=60), st.booleans())
def test_g9_any_bytes_can_be_read(data, summed):
    tail = with_sum(data) if summed else MAGIC + data
    found = decode_levels(tail)

    assert {} == found or tail == encode_levels(found)
    assert {} == decode_levels(data) or data.startswith(MAGIC)


@pytest.mark.parametrize(
    "entries",
    [
        b"",
        b"\x01a\x00\x00",  # a level that is none
        b"\x01a\x80\x00",  # int16 ends before
        b"\x00\x00\x01",  # no name
        b"\x01\xff\x00\x01",  # not UTF-8
        b"\x01b\x00\x01\x01a\x00\x01",  # not in order
        b"\x01a\x00\x01\x01a\x00\x02",  # twice
        b"\x01a\x00",  # cut
        b"\x05a\x00\x01",
    ],
)
def test_g9_a_right_sum_does_not_make_sense_of_nonsense(entries):
    assert {} == decode_levels(with_sum(entries))


def test_g9_bytes_of_old_releases_behind_version_1_are_not_ours():
    """0.10.1 to 1.1 write the tail of version 2 there: an old member carries no levels, but receives them."""
    group = Watching("a")
    group.add("a", upgrade_from="0.10.0")
    group.add("b", "1.1.1", watches=(), upgrade_from="0.10.0", application_server="b:1")
    assert b"\x00\x00\x00\x03b:1" == tail_of_subscription(group.members["b"].subscription())
    received = group.sees(group_coordinator=2).rebalance()

    assert {1} == {each.version for each in received.values()}
    assert {"a": 2, "b": 0} == group.levels
    assert all(each.active for each in received.values())


RELEASES = ["streams-assignor-3", "simulated-4", "streams-assignor"]


def twins(releases, upgrade_from):
    """A group that watches nothing, and the same that does."""
    plain, watching = Watching(), Watching()
    for name, release in releases.items():
        plain.add(name, release, watches=(), upgrade_from=upgrade_from)
        watching.add(name, release, upgrade_from=upgrade_from)
    return plain, watching


def answers_of(group, leader, joined):
    if leader in group.carried:
        group.carried[leader].observed = group.seen
    return group.members[leader].assign(group.cluster, joined)


@given(
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(RELEASES), min_size=1),
    st.sampled_from([None, "1.1", "0.10.0"]),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2])), min_size=1, max_size=4),
)
def test_g9_without_it_not_one_byte_changes(releases, upgrade_from, rebalances):
    """The tail apart, a group that watches has the same bytes; and one that knows no level has no tail."""
    plain, watching = twins(releases, upgrade_from)
    all_unknown = True
    for leads, level in rebalances:
        leader = sorted(releases)[leads % len(releases)]
        watching.sees(group_coordinator=level)
        usual = {name: member.subscription() for name, member in plain.members.items()}
        carrying = {name: member.subscription() for name, member in watching.members.items()}
        assert usual == {name: without_tail_of_subscription(encoded) for name, encoded in carrying.items()}
        assert all_unknown == (usual == carrying)

        answers = answers_of(plain, leader, usual)
        assert answers == answers_of(plain, leader, carrying)  # a leader that watches nothing ignores all of it
        reported = answers_of(watching, leader, carrying)
        assert answers == {name: without_tail_of_assignment(encoded) for name, encoded in reported.items()}
        all_unknown = all_unknown and not level
        assert all_unknown == (answers == reported)
        for name in releases:
            plain.members[name].on_assignment(answers[name])
            watching.members[name].on_assignment(reported[name])


# -- any history ---------------------------------------------------------------------------------------------------

member_names = st.sampled_from("abcde")
histories = st.lists(
    st.one_of(
        st.tuples(st.just("start"), member_names, st.sampled_from(RELEASES)),  # anew, if it is there
        st.tuples(st.just("stop"), member_names),
        st.tuples(st.just("raise")),
        # The leader, how old the answer is that it got, whether there was one.
        st.tuples(st.just("rebalance"), st.integers(0, 4), st.integers(0, 3), st.booleans()),
    ),
    max_size=30,
)


@given(histories)
def test_g7_no_history_lowers_a_level_and_every_member_gets_the_highest(history):
    group, finalized, known = Watching("a", "b"), 1, {}
    for event, *how in history:
        match event:
            case "start":
                known.pop(how[0], None)
                group.add(*how)
            case "stop" if how[0] in group.members and len(group.members) > 1:
                known.pop(how[0], None)
                del group.members[how[0]]
            case "raise":
                finalized += 1
            case "rebalance":
                leads, age, answered = how
                seen = max(0, finalized - age) if answered else 0
                leader = sorted(group.members)[leads % len(group.members)]
                before = group.levels
                group.sees(group_coordinator=seen).settle(leader)
                # A member whose version was unknown at first has sent all its levels at the end.
                assert {max(seen, *before.values())} == set(group.levels.values())
        assert all(known[name] <= group.levels[name] <= finalized for name in known)
        known = group.levels


# -- what cannot be ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("watches", "message"),
    [
        ("group.version", "got the text 'group.version'"),
        ([""], "got ''"),
        ([1], "got 1"),
        (["ä" * 128], "each of 1 to 255 bytes"),
        ([], "got none"),
        (map(str, range(MAX_FEATURES + 1)), "at most 64 features to watch, got 65"),
    ],
)
def test_it_refuses_names_that_no_feature_can_have(watches, message):
    with pytest.raises(ConfigException, match=message):
        CarriedLevels(watches)


def test_an_extension_of_another_kind_is_refused():
    with pytest.raises(UsageError, match=r"expected an extension, such as CarriedLevels\(\[...\]\), got a list"):
        StreamsAssignor(COUNTS, extension=["group.version"])
    with pytest.raises(UsageError, match=r"such as FeatureLevels\(\[...\]\), got a CarriedLevels"):
        check_extension(CarriedLevels(["group.version"]), for_client=True)
    with pytest.raises(UsageError, match="got the class CarriedLevels"):
        StreamsAssignor(COUNTS, extension=CarriedLevels)


def test_no_release_of_kafka_has_an_extension():
    with pytest.raises(
        ConfigException, match=r"expected no extension, as Kafka Streams 3.9.2 has none, got CarriedLev"
    ):
        StreamsAssignor(COUNTS, release=release_named("3.9.2"), extension=CarriedLevels(["group.version"]))


@pytest.mark.parametrize("level", [-1, 2**15])
def test_it_refuses_levels_that_kafka_cannot_have(level):
    with pytest.raises(ValueError, match=f"from 0 to 32767 of the feature a, got {level}"):
        CarriedLevels(["a"]).observe({"a": level})


def test_a_feature_at_level_0_is_not_finalized():
    carried = CarriedLevels(["a"])
    carried.observe({"a": 0})

    assert ({}, True) == (carried.observed, carried.answered)
