"""Which release a live group runs, and what contradicts a plan for it."""

import pytest

from streams_assignor.upgrade.application.live_group import LiveBroker, LiveGroup, LiveMember
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import GroupFacts
from streams_assignor.upgrade.releases import OURS, RELEASES, resolve_release


def member(label, *names, instance=None):
    return LiveMember(label, tuple(RELEASES[name] for name in names), " or ".join(names) or "a reason", instance)


def group(*members, **further):
    return LiveGroup(name="billing", type="classic", state="Stable", members=members, **further)


def origin(found, target="4.3"):
    resolved = found.origin(resolve_release(target))
    return [each.name for each in resolved.candidates], resolved.reading


@pytest.mark.parametrize(
    ("members", "target", "candidates", "read"),
    [
        (
            {"a": ["2.8.1", "2.8.2"], "b": ["2.8.2", "3.0.0"], "c": []},
            "4.3",
            ["2.8.1", "2.8.2", "3.0.0"],
            [],
        ),
        (
            {"a": ["4.2.2", "4.3.1", "4.4.0"], "b": ["4.4.0"]},
            "4.4",
            ["4.2.2", "4.3.1", "4.4.0"],
            ["not shown to run 4.4.0: a", "a may run 4.4.0 already"],
        ),
        (
            {"a": ["4.2.2", "4.3.1", "4.4.0"], "b": ["4.4.0"]},
            "4.3",
            ["4.2.2", "4.4.0"],
            ["a may run 4.3.1 already, which shows the same"],
        ),
        ({"a": ["2.8.2"], "b": ["2.8.2"]}, "2.8.2", ["2.8.2"], []),
        ({"a": ["2.8.2"], "b": ["3.9.2"]}, "3.9", ["2.8.2", "3.9.2"], ["not shown to run 3.9.2: a"]),
    ],
)
def test_from_is_what_each_member_can_run(members, target, candidates, read):
    found = group(*(member(label, *names) for label, names in members.items()))
    releases, (first, *others) = origin(found, target)

    assert candidates == releases
    assert first.startswith("group billing: its members show that they run ")
    assert all(any(text in line for line in others) for text in read)
    assert bool(read) == bool(others)


def test_members_that_show_nothing_are_not_taken_for_those_that_run_the_target():
    with pytest.raises(
        UpgradeError, match="cannot tell the release of b in group billing, Stable: a reason; give FROM"
    ):
        group(member("a", "4.4.0"), member("b")).origin(resolve_release("4.4"))


def test_a_group_is_mixed_only_if_no_release_explains_all_members():
    assert not group(member("a", "2.8.1", "2.8.2"), member("b", "2.8.2", "3.0.0"), member("c")).is_mixed


def test_a_release_of_kafka_counts_more_than_one_of_ours():
    ours = LiveMember("a", (RELEASES["3.9.2"], OURS), "both")

    assert ["3.9.2"] == origin(group(ours))[0]
    assert [OURS.name] == origin(group(LiveMember("a", (OURS,), "ours")))[0]


@pytest.mark.parametrize(
    ("target", "candidates", "may_be_there"),
    [
        ("4.3.1", ["4.2.0"], True),
        ("4.3.0", ["4.2.0"], False),
        ("4.2.0", ["4.2.0"], False),
        ("3.9", ["4.2.0", "4.3.1"], False),
    ],
)
def test_the_group_is_taken_to_be_older_if_it_can_be(target, candidates, may_be_there):
    found, reading = origin(group(member("a", "4.2.0", "4.3.1")), target)

    assert candidates == found
    assert may_be_there == any("may run 4.3.1 already" in each for each in reading)


def test_members_of_several_releases_are_no_group_to_plan_for():
    found = group(member("a", "2.8.2"), member("b", "3.9.2"))

    assert found.is_mixed
    assert ["2.8.2", "3.9.2"] == origin(found)[0]
    why = "members of group billing run several releases, see below: finish that upgrade first, or name the release"
    assert found.blocked(resolve_release("2.8.2")).startswith(why)


@pytest.mark.parametrize(
    ("given", "along", "is_between"),
    [
        ("2.8.2", ("3.9.2",), True),
        ("2.8.2", ("4.3.1",), False),
        ("3.9.2", ("2.8.2",), True),
        ("2.3.1", ("2.8.2", "3.9.2"), True),
        ("2.3.1", ("3.9.2",), False),
    ],
)
def test_a_group_is_between_the_releases_of_a_way_that_all_its_members_can_run(given, along, is_between):
    found = group(member("a", "2.8.2"), member("b", "3.9.2"), member("c"))

    releases = [resolve_release(name).release for name in along]
    assert is_between == found.is_between(resolve_release(given), releases)


def test_a_group_has_not_left_the_release_that_it_shows():
    found = group(member("a", "2.8.2"), member("b", "3.9.2"))

    assert not found.is_between(found.origin(resolve_release("4.3")), [resolve_release("4.3").release])
    assert not group(member("a", "2.8.2")).is_between(resolve_release("2.8.2"), [resolve_release("4.3").release])


def test_from_is_compared_with_the_members():
    found = group(member("a", "2.8.2"), member("b"))

    assert "" == found.blocked(resolve_release("2.8.2")) == found.blocked(resolve_release("2.8.x"))
    assert "3.0 is not the release of a in group billing, see below" == found.blocked(resolve_release("3.0"))


@pytest.mark.parametrize(("members", "why"), [((), "it has no members"), ((member("a"), member("b")), "a reason")])
def test_a_release_that_no_member_shows_cannot_be_told(members, why):
    with pytest.raises(
        UpgradeError, match=f"cannot tell the release of group billing, Stable: {why}; give FROM and TO"
    ):
        group(*members).origin(resolve_release("4.3"))


SHOWN = group(
    member("a", "2.8.2", instance="one"),
    member("b"),
    tasks=2,
    standbys=1,
    partitions={f"topic-{number}": number for number in range(7)},
    missing_topics=("gone",),
    brokers=(
        LiveBroker(1, (4, 3), {"metadata.version": 25}),
        LiveBroker(2, (4, 3), {"metadata.version": 25}),
        LiveBroker(3, None, None),
        LiveBroker(4, (4, 2), {}),
    ),
    unknown_brokers="no answer",
    subtopologies={"0": ("topic-1",)},
)


def test_all_that_is_seen_is_shown():
    assert [
        "group billing: classic, Stable; 2 members, 2 tasks, 1 standbys of a task at most",
        "- release 2.8.2: a",
        "- release cannot be told: b: a reason",
        "- static: one",
        "- broker 1, 2: features of 4.3, finalized: metadata.version 25",
        "- broker 3: features of a release before 3.3, or with ZooKeeper, finalized levels not known now",
        "- broker 4: features of 4.2, finalized: none",
        "- brokers: no answer",
        "- partitions: topic-0 0, topic-1 1, topic-2 2, topic-3 3, topic-4 4 and 2 more",
        "- topics that do not exist: gone",
        "- subtopology 0 reads topic-1",
    ] == list(SHOWN.lines())
    assert "topic-6 6" in "\n".join(SHOWN.lines(verbose=True))
    assert [
        "group billing: classic, Stable; 1 member, no task is shown",
        "- release 2.8.2: a",
    ] == list(group(member("a", "2.8.2")).lines())


def test_conditions_of_hazards_are_compared_with_it():
    lines = (LiveBroker(1, (4, 2), None), LiveBroker(2, (4, 3), None))
    both = group(member("a"), tasks=1, processes=2, brokers=lines)
    alone = group(member("a"), tasks=1, processes=1)

    assert GroupFacts("billing", True, True, is_streams_group=False, lacks_topics=True) == SHOWN.facts
    assert GroupFacts("billing", False, False, ((4, 2), (4, 3)), False) == both.facts
    assert alone.facts.has_standbys is None  # a process has no standby of its own tasks
    assert GroupFacts("billing") == group().facts


def test_the_same_as_json():
    found = SHOWN.as_json()

    assert ["2.8.2"] == found["releases"]
    assert {"label": "b", "releases": None, "problem": "a reason", "group_instance_id": None} == found["members"][1]
    assert [{"metadata.version": 25}, None] == [each["finalized"] for each in found["brokers"][1:3]]
    assert ["4.3", None] == [each["release"] for each in found["brokers"][1:3]]
    assert {"0": ["topic-1"]} == found["subtopologies"]
    assert group().as_json()["subtopologies"] is None
