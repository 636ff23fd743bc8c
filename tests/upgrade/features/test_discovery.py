"""What becomes known when: the rows A1 to A4, and reconnecting after a change of metadata.version (V2)."""

from tests.upgrade.features.clusters import NEW, kafka, kip_584, kip_778, request
from upgrade.features.cluster import What
from upgrade.features.discovery import Copies, controller_answer, grow, tagged_fields
from upgrade.features.levels import METADATA
from upgrade.features.rpc import Listener, NewestFeatures
from upgrade.features.update import update

A3 = {"a": (1, 3)}


def heard(copies, cluster, *brokers):
    for broker in brokers:
        copies, _ = copies.hear(cluster, broker)
    return copies


def test_a1_three_tagged_fields_in_the_order_of_the_wire():
    cluster = kip_584({"b": (1, 2), **A3}, finalized={"a": 3}, minimum={"a": 2}, epoch=7)
    answer = heard(Copies(), cluster, 1).answer(cluster.brokers[1])

    assert {10000: [("a", 1, 3), ("b", 1, 2)], 10001: 7, 10002: [("a", 3, 2)]} == tagged_fields(answer, cluster)


def test_a1_with_the_tags_0_to_2_since_kip_778_and_in_kafka_4_with_the_level_as_minimum():
    kip, released = kip_778(NEW, finalized={METADATA: 25}, epoch=7), kafka()

    assert {0: [(METADATA, 7, 30)], 1: 7, 2: [(METADATA, 25, 25)]} == tagged_fields(controller_answer(kip), kip)
    assert (METADATA, 25, 25) in tagged_fields(controller_answer(released), released)[2]


def test_m6_the_minimum_is_sent_and_equals_the_level():
    fields = tagged_fields(controller_answer(kafka()), kafka())

    assert all(level == minimum for _, level, minimum in fields[2])


def test_a2_a_broker_answers_from_its_copy_so_an_older_epoch_may_follow_a_newer_one():
    before = kip_584(A3, A3, finalized={"a": 1}, epoch=1)
    after = update(before, request("a", 3, 0)).cluster
    copies = heard(heard(Copies(), before, 1, 2), after, 1)

    assert [(2, {"a": 3}), (1, {"a": 1})] == [
        (copies.answer(node).epoch, dict(copies.answer(node).finalized)) for node in after.brokers.values()
    ]
    assert 2 == heard(copies, after, 2).answer(after.brokers[2]).epoch


def test_a3_a_higher_epoch_wins_for_ever():
    before = kip_584(A3, A3, finalized={"a": 1}, epoch=1)
    after = update(before, request("a", 3, 0)).cluster
    copies = heard(heard(Copies(), before, 1, 2), after, 1)
    seen = NewestFeatures()

    for broker in (1, 2):
        seen.hear(copies.answer(after.brokers[broker]))

    assert {"a": 3} == dict(seen.newest(Listener.BROKER).finalized)


def test_a3_in_kraft_a_brokers_epoch_grows_without_a_change_and_a_controllers_does_not():
    cluster = kafka()
    later = grow(cluster, 2)
    copies = heard(Copies(), cluster, 1)

    assert 463 == copies.answer(cluster.brokers[1]).epoch
    assert 465 == heard(copies, later, 1).answer(later.brokers[1]).epoch
    assert 463 == controller_answer(later).epoch
    assert Listener.CONTROLLER is controller_answer(later).listener
    assert 466 == controller_answer(update(later, request(METADATA, 26)).cluster).epoch


def test_a4_a_broker_that_has_heard_nothing_has_no_epoch_and_no_finalised_features():
    cluster = kip_584(A3, finalized={"a": 1})
    answer = Copies().answer(cluster.brokers[1])

    assert (None, {}) == (answer.epoch, answer.finalized)
    assert {10000: [("a", 1, 3)]} == tagged_fields(answer, cluster)


def test_v2_with_a_new_metadata_version_a_broker_renegotiates_and_its_clients_reconnect():
    before = kafka()
    copies, first = Copies().hear(before, 1)
    connected = copies.answer(before.brokers[1])  # what a client has negotiated, for as long as it is connected
    after = update(before, request(METADATA, 26)).cluster

    copies, events = copies.hear(after, 1)

    assert () == first
    assert [What.RENEGOTIATED] == [event.what for event in events]
    assert (25, 26) == (connected.finalized[METADATA], copies.answer(after.brokers[1]).finalized[METADATA])
    assert () == copies.hear(update(after, request("group.version", 0, 2)).cluster, 1)[1]
