"""How much memory a call allocates, whatever other threads of the process do meanwhile."""

import tracemalloc
from collections.abc import Callable

_MEASUREMENTS = 5


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the least peak of several calls: what the call itself allocates is in each of them."""
    return min(_peak(call) for _ in range(_MEASUREMENTS))


def _peak(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
