"""Values that are computed once: ``Memo`` by key, ``Interner`` as numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(dict[K, V]):
    """The values of a function of one argument; ``memo[key]`` computes a missing one.

    >>> squares = Memo(lambda number: number * number)
    >>> squares[3], squares
    (9, {3: 9})
    """

    def __init__(self, compute: Callable[[K], V]) -> None:
        super().__init__()
        self._compute: Final = compute

    def __missing__(self, key: K) -> V:
        return self.setdefault(key, self._compute(key))


class Interner(Generic[K]):
    """Numbers for values, in the order in which they turn up."""

    def __init__(self) -> None:
        self.values: Final[list[K]] = []
        self._numbers: Final[dict[K, int]] = {}

    def of(self, value: K) -> int:
        """Return the number of a value, a new one for a new value."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number
