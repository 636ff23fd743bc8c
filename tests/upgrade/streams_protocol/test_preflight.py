"""A live group and its brokers, judged from what a cluster showed."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.application.live_group import LiveGroup, LiveMember
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener
from streams_assignor.upgrade.hazards import Application, Setting, SettingFacts
from streams_assignor.upgrade.releases import resolve_release
from streams_assignor.upgrade.streams_protocol import Facts, Protocol
from streams_assignor.upgrade.streams_protocol.preflight import Level, preflight, refine
from streams_assignor.upgrade.streams_protocol.requirements import judge

NOTHING = Facts()
STATIC = (LiveMember("a", (), instance_id="one"),)
MEMBERS = (LiveMember("a", ()), LiveMember("b", ()))
STABLE = LiveGroup(name="billing", type="classic", state="Stable", protocol="stream", members=MEMBERS)


def of(release):
    return resolve_release(release, assume="4.3").release


def broker(metadata=30, streams=1, epoch=7):
    finalized = {"streams.version": streams} if streams else {}
    return FeatureMetadata(Listener.BROKER, epoch, {"metadata.version": (7, metadata)}, finalized)


def looked(group=STABLE, brokers=None, protocol=Protocol.STREAMS, facts=NOTHING, target="4.3"):
    found = {1: broker()} if brokers is None else brokers
    refined = refine(facts, "billing", found, group)
    return {each.name: each for each in preflight("billing", found, group, of(target), protocol, refined)}


def settings(**given):
    values = {key: Setting(value, "m line 1") for key, value in given.items()}
    return Facts(applications=(Application(settings=SettingFacts("m", values)),))


def level(name, **how):
    return looked(**how)[name].level


def test_a_group_that_can_change():
    found = looked()

    assert {Level.OK} == {each.level for each in found.values()}
    assert "ok: broker 1: features of 4.3" == str(found["broker-release"])
    assert "Stable, members: 2; all of them have to stop" == found["group-state"].text


@pytest.mark.parametrize(
    ("metadata", "line", "expected"),
    [
        (21, "3.9", Level.BLOCKED),
        (27, "4.1", Level.BLOCKED),
        (29, "4.2", Level.OK),
        (33, "4.4", Level.OK),
        (0, "3.3", Level.BLOCKED),
    ],
)
def test_the_line_of_a_broker_is_that_of_its_features(metadata, line, expected):
    found = looked(brokers={1: broker(metadata)})["broker-release"]

    assert (expected, True) == (found.level, f"features of {line}" in found.text)


def test_brokers_of_4_2_have_to_name_their_patch():
    """4.2.0 and 4.2.1 have the same features."""
    found = {1: broker(29), 2: broker(30)}

    assert Level.WARNING is level("kafka-20254", brokers=found)
    given = Facts().with_brokers((4, 2, 1))
    assert "kafka-20254" not in looked(brokers=found, facts=given)
    assert ((4, 2), (4, 3)) == refine(Facts(), "billing", found, None).group.brokers
    assert ((4, 2, 1), (4, 3)) == refine(given, "billing", found, None).group.brokers


@pytest.mark.parametrize(
    ("streams", "epoch", "expected"), [(1, 7, Level.OK), (0, 7, Level.BLOCKED), (1, None, Level.WARNING)]
)
def test_the_finalized_level(streams, epoch, expected):
    found = looked(brokers={1: broker(streams=streams, epoch=epoch)})["streams.version"]

    assert expected is found.level
    assert (expected is Level.BLOCKED) == ("kafka-features upgrade --feature streams.version=1" in found.text)


def test_without_brokers_nothing_is_known_of_them():
    assert (None, None) == ((found := refine(Facts(), "billing", {}, None)).broker, found.streams_version)


@pytest.mark.parametrize(
    ("group", "expected", "text"),
    [
        (evolve(STABLE, type="streams"), Level.OK, "is a streams group already"),
        (evolve(STABLE, type="consumer"), Level.BLOCKED, "is a consumer group, expected classic"),
        (evolve(STABLE, protocol="range"), Level.BLOCKED, "they do not run Kafka Streams"),
        (evolve(STABLE, protocol="", state="Empty", members=()), Level.OK, "is a classic group"),
    ],
)
def test_the_type_of_the_group(group, expected, text):
    found = looked(group)["group-type"]

    assert (expected, True) == (found.level, text in found.text)


@pytest.mark.parametrize(
    ("state", "expected"), [("Empty", Level.OK), ("Stable", Level.OK), ("PreparingRebalance", Level.WARNING)]
)
def test_the_state_of_the_group(state, expected):
    assert expected is level("group-state", group=evolve(STABLE, state=state))


def test_a_group_that_is_not_there_or_not_described():
    assert "auto.offset.reset" in looked(None)["group"].text
    assert "not authorized" in looked(evolve(STABLE, error="not authorized"))["group"].text


def test_standbys_that_are_not_seen_are_not_denied():
    """A group in a rebalance shows no assignment, and one process has no room for any."""
    groups = (STABLE, evolve(STABLE, state="PreparingRebalance"), evolve(STABLE, standby_tasks=2))

    assert [None, None, True] == [refine(Facts(), "billing", {}, each).group.has_standbys for each in groups]


def test_static_members_block():
    group = evolve(STABLE, members=tuple(LiveMember(name, (), instance_id=name) for name in ("one", "two")))

    assert Level.BLOCKED is level("static-members", group=group)
    empty = evolve(STABLE, members=(), state="Empty")
    assert [True, False, None] == [
        refine(Facts(), "billing", {}, observed).group.has_static_members for observed in (group, STABLE, empty)
    ]
    assert "static-members" not in looked(empty)


@pytest.mark.parametrize(
    ("target", "metadata", "expected"),
    [("4.4", 33, Level.OK), ("4.3", 33, Level.BLOCKED), ("4.4", 30, Level.BLOCKED)],
)
def test_static_members_are_judged_as_the_plan_judges_them(target, metadata, expected):
    group, brokers = (
        evolve(STABLE, members=STATIC),
        {1: broker(metadata), 2: broker(33)},
    )
    found = looked(group, brokers, target=target)["static-members"]
    (row,) = (
        each
        for each in judge(of(target), Protocol.STREAMS, refine(Facts(), "billing", brokers, group))
        if each.requirement.name == "static-members"
    )

    assert (expected, expected.value) == (found.level, {"met": "ok"}.get(row.status.value, row.status.value))
    assert "or clients and brokers are of 4.4" in row.requirement.condition


def test_warm_ups_and_standbys_are_named():
    group = evolve(STABLE, standby_tasks=6, warm_ups=2)

    assert Level.WARNING is level("warm-ups", group=group)
    assert Level.WARNING is level("standbys", group=group)
    assert Level.WARNING is level("standbys", group=group, facts=settings())
    assert Level.OK is level("standbys", group=group, facts=settings(**{"num.standby.replicas": "1"}))


def test_the_way_back_asks_less():
    group = LiveGroup(name="billing", type="streams", state="Stable", members=STATIC, standby_tasks=3)
    found = looked(group, {1: broker(27, 0)}, Protocol.CLASSIC)

    assert {"broker-release": Level.WARNING, "group-type": Level.OK, "group-state": Level.OK} == {
        name: each.level for name, each in found.items()
    }
    assert {"name": "group-type", "level": "ok", "text": "billing is a streams group"} == found["group-type"].as_json()
