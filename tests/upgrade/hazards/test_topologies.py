"""Two descriptions of a topology: which task ids and changelogs change."""

import pytest

from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.hazards import compare_topologies, parse_subtopologies

REPARTITIONED = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [data])
      --> KSTREAM-KEY-SELECT-0000000001
    Processor: KSTREAM-KEY-SELECT-0000000001 (stores: [])
      --> KSTREAM-SINK-0000000003
      <-- KSTREAM-SOURCE-0000000000
    Sink: KSTREAM-SINK-0000000003 (topic: KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition)
      <-- KSTREAM-KEY-SELECT-0000000001

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000004 (topics: [KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition])
      --> KSTREAM-AGGREGATE-0000000005
    Processor: KSTREAM-AGGREGATE-0000000005 (stores: [KSTREAM-AGGREGATE-STATE-STORE-0000000002])
      --> none
      <-- KSTREAM-SOURCE-0000000004

"""
"""As ``Topology#describe()`` of 2.8.2 and 4.3.1 prints ``selectKey().groupByKey().count()``."""

ONE = """\
Topologies:
   Sub-topology: {orders}
    Source: orders-source (topics: [orders])
      --> orders-count
    Processor: orders-count (stores: [orders-store])
      --> none
   Sub-topology: {clicks}
    Source: clicks-source (topics: [clicks, views])
      --> clicks-count
    Processor: clicks-count (stores: [clicks-store])
      --> none
   Sub-topology: 2 for global store (will not generate tasks)
    Source: global-source (topics: [global])
      --> global
    Processor: global (stores: [global-store])
      --> none
"""


def change(before, after):
    return compare_topologies(parse_subtopologies(before), parse_subtopologies(after))


def test_the_same_topology_is_compatible():
    found = change(REPARTITIONED, REPARTITIONED)

    assert found.is_compatible
    assert ["topologies: the same tasks, changelogs and internal topics"] == list(found.lines())
    assert "" == found.as_json()["way"]


def test_global_stores_have_no_tasks():
    assert [0, 1] == [each.number for each in parse_subtopologies(ONE.format(orders=0, clicks=1))]


def test_subtopologies_that_change_places_renumber_their_tasks():
    found = change(ONE.format(orders=0, clicks=1), ONE.format(orders=1, clicks=0))

    assert {0: 1, 1: 0} == found.renumbered
    assert ("clicks-store", "orders-store") == found.misplaced
    assert not found.orphaned


def test_a_generated_name_with_another_count_orphans_its_changelog():
    found = change(REPARTITIONED, REPARTITIONED.replace("0000000002", "0000000007"))

    assert not found.renumbered
    assert not found.removed
    assert ["APPLICATION-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog"] == found.as_json()["orphaned_changelogs"]
    assert ("KSTREAM-AGGREGATE-STATE-STORE-0000000007",) == found.empty
    assert ("KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition",) == found.topics
    assert any("its name is generated, so name the store" in line for line in found.lines())


def test_a_subtopology_that_is_new_or_gone_is_named():
    alone = ONE.format(orders=0, clicks=1).partition("   Sub-topology: 1")[0]
    both = ONE.format(orders=0, clicks=1)

    assert (1,) == change(alone, both).added
    assert (1,) == change(both, alone).removed
    assert ("clicks-store",) == change(both, alone).orphaned


def test_every_change_is_a_line():
    alone = ONE.format(orders=0, clicks=1).partition("   Sub-topology: 1")[0]
    moved = ONE.format(orders=1, clicks=0)

    assert any("tasks 0_* become 1_*" in line for line in change(alone, moved).lines())
    assert "topologies: tasks 0_* are new" in change(alone, moved).lines()
    assert "topologies: tasks 0_* have no counterpart" in change(moved, alone).lines()
    assert any("store orders-store is restored" in line for line in change(alone, moved).lines())


def test_a_text_of_another_kind_is_refused():
    with pytest.raises(UpgradeError, match=r"old.txt: expected the text of Topology#describe\(\), .* another text"):
        parse_subtopologies("{}", "old.txt")


def test_a_change_is_written_one_fact_a_line():
    before, after = (
        ONE.format(orders=0, clicks=1),
        ONE.format(orders=1, clicks=0).replace("clicks-store", "other-store"),
    )

    lines = list(change(before, after).lines())

    assert any("tasks 0_* become 1_*" in line for line in lines)
    assert any("clicks-store-changelog is orphaned" in line for line in lines)
    assert any("store other-store starts empty" in line for line in lines)
    assert lines[-1].startswith("topologies: do not roll: ")


def test_tasks_and_repartition_topics_that_are_gone_or_new_have_a_line():
    gone = list(change(REPARTITIONED, ONE.format(orders=0, clicks=1)).lines())

    assert any("have no counterpart" in line for line in gone)
    assert any("are new" in line for line in gone)
    assert any("is read no more" in line for line in gone)
    assert any("its name is generated" in line for line in gone)


def chain(number, offset=0):
    """So many sub-topologies, each with a topic of its own and a store of a generated name."""
    return "".join(
        f"  Sub-topology: {each}\n    Source: KSTREAM-SOURCE-{each:010} (topics: [orders-{each}])\n"
        f"    Processor: P{each} (stores: [KSTREAM-AGGREGATE-STATE-STORE-{each + offset:010}])\n"
        for each in range(number)
    )


@pytest.mark.unmeasured
def test_thousands_of_subtopologies_are_compared():
    """2,000 took a minute: each was compared with each, and each pair with all that were paired."""
    found = compare_topologies(parse_subtopologies(chain(1_000)), parse_subtopologies(chain(1_000, 1_000)))

    assert ({}, (), ()) == (dict(found.renumbered), found.removed, found.added)
    assert 1_000 == len(found.orphaned)


def test_more_subtopologies_than_any_topology_has_are_refused():
    with pytest.raises(UpgradeError, match=r"old\.txt: expected at most 2,500 sub-topologies, got 2,501"):
        parse_subtopologies(chain(2_501), "old.txt")


def test_a_candidate_that_is_taken_leaves_the_next_one():
    """Both old ones are most like the new 0; the one with more in common gets it, the other one its next choice."""
    old = "Sub-topology: 0\n Source: a (topics: [x])\nSub-topology: 1\n Source: b (topics: [y, z])\n"
    new = "Sub-topology: 0\n Source: a (topics: [x, y, z])\nSub-topology: 1\n Source: b (topics: [x])\n"
    found = compare_topologies(parse_subtopologies(old), parse_subtopologies(new))

    assert {0: 1, 1: 0} == dict(found.renumbered)


@pytest.mark.parametrize("number", ["9" * 5_000, "2147483648"])
def test_a_number_that_no_subtopology_has_is_refused(number):
    """5,000 digits ended in a ValueError of Python."""
    with pytest.raises(UpgradeError, match="expected a number from 0 to 2147483647, got '"):
        parse_subtopologies(f"Sub-topology: {number}\n Source: a (topics: [x])\n")


def test_topics_that_only_one_of_them_subscribes_to_forbid_a_rolling_bounce():
    """Nothing else changes: the same tasks, stores and changelogs. It was called the same."""
    old, new = (
        ONE.format(orders=0, clicks=1).replace("clicks, views", topics) for topics in ("clicks", "clicks, views")
    )
    wider, narrower = change(old, new), change(new, old)

    assert (("views",), ()) == (wider.subscribed_after, wider.subscribed_before)
    assert (("views",), ()) == (narrower.subscribed_before, narrower.subscribed_after)
    assert not wider.is_compatible
    assert not wider.renumbered
    assert ["views"] == wider.as_json()["subscribed_after"] == narrower.as_json()["subscribed_before"]
    assert any("only new members subscribe to views" in line for line in wider.lines())
    assert any("only old members subscribe to views" in line for line in narrower.lines())
    assert "do not roll" in list(wider.lines())[-1]
