"""The books would notice: injected losses, duplicates and gaps come out as what they are."""

from hypothesis import given
from hypothesis import strategies as st

from tests.lab.chaos.ledger import OwnershipTimeline, ProcessedRecords, RunResult

ENDS = {"t-0": 6, "t-1": 3}


def entered(*ranges):
    records = ProcessedRecords()
    for partition, first, last in ranges:
        records.record(partition, range(first, last + 1))
    return records


def balanced(records, *, exactly_once):
    return RunResult(
        produced=sum(ENDS.values()),
        processed=records.processed,
        lost=len(records.lost(ENDS)),
        duplicates=records.duplicates,
        invented=records.invented(ENDS),
        fenced={},
        without_owner={},
        owned_twice={},
        exactly_once=exactly_once,
    )


def test_a_complete_run_has_no_problems():
    records = entered(("t-1", 0, 2), ("t-0", 3, 5), ("t-0", 0, 2))

    assert [] == balanced(records, exactly_once=True).problems
    assert 9 == records.processed


def test_an_injected_loss_is_found():
    records = entered(("t-0", 0, 1), ("t-0", 3, 5), ("t-1", 0, 1))

    assert [("t-0", 2), ("t-1", 2)] == records.lost(ENDS)
    assert ["2 records lost"] == balanced(records, exactly_once=False).problems


def test_a_partition_without_events_is_lost():
    assert [("t-1", 0), ("t-1", 1), ("t-1", 2)] == entered(("t-0", 0, 5)).lost(ENDS)


def test_an_injected_duplicate_counts_where_it_must_not_be():
    records = entered(("t-0", 0, 5), ("t-1", 0, 2), ("t-0", 4, 5), ("t-0", 5, 5))

    assert 3 == records.duplicates
    assert [] == balanced(records, exactly_once=False).problems
    assert ["3 records doubled"] == balanced(records, exactly_once=True).problems


def test_a_duplicate_does_not_make_up_for_a_loss():
    assert ["1 record lost"] == balanced(
        entered(("t-0", 0, 4), ("t-0", 4, 4), ("t-1", 0, 2)), exactly_once=False
    ).problems


def test_a_record_that_never_was_is_a_problem():
    records = entered(("t-0", 0, 6), ("t-1", 0, 2), ("t-9", 0, 0))

    assert ["2 records invented"] == balanced(records, exactly_once=False).problems


@given(st.lists(st.tuples(st.sampled_from(sorted(ENDS)), st.integers(0, 8))))
def test_the_books_add_up(entries):
    records = ProcessedRecords()
    for partition, offset in entries:
        records.record(partition, [offset])

    assert len(set(entries)) == records.processed
    assert len(entries) == records.processed + records.duplicates
    known = {(partition, offset) for partition, end in ENDS.items() for offset in range(end)}
    assert sorted(known - set(entries)) == records.lost(ENDS)
    assert len(set(entries) - known) == records.invented(ENDS)


def test_time_without_owner_is_counted_by_partition():
    owners = OwnershipTimeline(("t-0", "t-1"))
    owners.claim(10.0, "A", [])
    owners.claim(12.0, "A", ["t-0"])
    owners.claim(15.0, "B", ["t-1"])
    owners.claim(16.0, "A", [])
    owners.advance_to(18.0)

    assert {"t-0": 2.0 + 2.0, "t-1": 5.0} == owners.unowned_seconds
    assert not owners.doubly_owned_seconds


def test_a_frozen_or_isolated_member_owns_nothing():
    owners = OwnershipTimeline(("t-0",))
    owners.claim(0.0, "A", ["t-0"])
    owners.set_available(1.0, "A", able=False)
    assert not owners.is_stable
    owners.claim(4.0, "B", ["t-0"])
    owners.set_available(6.0, "A", able=True)  # a zombie, until it hears of it
    assert {"t-0": ["A", "B"]} == owners.owners
    owners.claim(6.5, "A", [])

    assert ({"t-0": 3.0}, {"t-0": 0.5}) == (owners.unowned_seconds, owners.doubly_owned_seconds)
    assert owners.is_stable
