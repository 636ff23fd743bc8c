"""Subsets for Hypothesis, drawn at once."""

from hypothesis import strategies as st


def subsets(items):
    """Any frozenset of these items, on average half of them.

    One number is drawn, with a bit for each item: ``st.frozensets`` draws twice for each, which takes longer than what
    is tested.
    """
    return st.integers(0, 2 ** len(items) - 1).map(
        lambda bits: frozenset(item for place, item in enumerate(items) if bits >> place & 1)
    )
