"""Who searches and counts: plain Python, or the same compiled (extra ``fast``: numba); what they find is equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from attrs import frozen

from spark_sim.explore import counting
from spark_sim.explore import search as searching
from spark_sim.explore.counting import Counted
from spark_sim.explore.packed import Packed
from spark_sim.explore.search import Graph

COST_WORTH_COMPILING: Final = 3_000_000
"""In moves: what plain Python needs some seconds for. To load what is compiled takes about half of one."""


@frozen
class Engine:
    """``search(packed, most)`` finds all states, and ``count`` what there is to say about them all."""

    search: Callable[[Packed, int], Graph]
    count: Callable[[Graph], Counted]


PLAIN: Final = Engine(searching.search, counting.count)


@cache
def compiled() -> Engine | None:
    """Return the compiled engine; None without numba, or where numba has no place to keep what it compiles."""
    try:
        from spark_sim.explore import fast, fast_counting
    except (ImportError, RuntimeError):
        return None
    return Engine(fast.search, fast_counting.count)


def worth(cost: float) -> Engine:
    """Return the engine that is sooner done with a cell of about so many moves."""
    return (compiled() if cost > COST_WORTH_COMPILING else None) or PLAIN
