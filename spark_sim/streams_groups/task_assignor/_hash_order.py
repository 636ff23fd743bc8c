"""Iteration orders of Java's maps with strings as keys: they decide between equally loaded processes and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streams_assignor.task_assignors.java_order import DEFAULT_BUCKETS, bucket_order, spread, string_hash, table_size

MapOrder = Callable[[Iterable[str], int], list[str]]
"""Sorts keys, given as they are put, some again, as a map of this initial capacity iterates over them."""


def hash_map_order(keys: Iterable[str], initial_capacity: int = DEFAULT_BUCKETS) -> list[str]:
    """Return strings, given in insertion order, in the iteration order of a ``java.util.HashMap``.

    A bucket that Java would turn into a tree (nine strings or more in it) is taken for a plain one.

    >>> hash_map_order(["member-2", "member-10", "member-1"])
    ['member-1', 'member-2', 'member-10']
    """
    hashes = _hashes(keys)
    return bucket_order(list(hashes), hashes, table_size(initial_capacity))


def compute_if_absent_order(keys: Iterable[str], initial_capacity: int = DEFAULT_BUCKETS) -> list[str]:
    """Return strings in the iteration order of a ``HashMap`` that ``computeIfAbsent`` alone has filled.

    Other than ``put``, it adds a key in front of its bucket, and it grows the table before it looks for the next key.
    """
    seen: set[str] = set()
    called = list(keys)
    buckets = table_size(initial_capacity)
    for key in called:
        if len(seen) > int(0.75 * buckets):
            buckets *= 2
        seen.add(key)
    hashes = _hashes(called)
    newest_first = list(reversed(hashes))
    return sorted(newest_first, key=lambda key: hashes[key] % buckets)


def _hashes(keys: Iterable[str]) -> dict[str, int]:
    return {key: spread(string_hash(key)) for key in keys}


def java_text_order(text: str) -> bytes:
    """Return a sort key with which strings compare as in Java, by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")
