"""A step as looks have shown it, beside its expectation."""

import pytest

from streams_assignor.upgrade.roll.expectation import CountedRebalances, ExpectedOutcome

EXPECTED = ExpectedOutcome(versions=(11,), rebalances=4, moves=8)


@pytest.mark.parametrize(
    ("rebalances", "moves", "are_counted", "are_seen", "fits"),
    [
        (4, 8, True, True, True),
        (4, 7, True, True, False),
        (4, 7, True, False, True),
        (3, 8, True, False, False),
        (1, 0, False, False, True),
        (5, 0, False, False, False),
        (4, 9, True, False, False),
    ],
)
def test_what_was_not_seen_may_have_been(rebalances, moves, are_counted, are_seen, fits):
    counted = CountedRebalances(rebalances=rebalances, moves=moves, are_counted=are_counted, are_seen=are_seen)

    assert fits is counted.fits(EXPECTED)
