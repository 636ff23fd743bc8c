"""The moves of each part, ready to be made: what they add to a key, and their labels.

Nothing here decides anything; ``packed`` does. What it says of a view is put together once, when a state looks so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import Situation, View
from spark_sim.properties import Violation

CODE: Final = 1 << 3
"""An edge carries how many of the members can make the move (``COUNT``: up to 7), and then these bits:"""
COUNT: Final = CODE - 1
GENERATION, BY_OPERATOR, FAULT = CODE, CODE << 1, CODE << 2
OPERATOR: Final = frozenset({"stop", "start"})
FAULTS: Final = frozenset({"crash", "late", "nudge"})


def label_of(move: Move) -> int:
    """Tell moves that begin a generation, and those that are not the protocol's."""
    return GENERATION * move.begins + BY_OPERATOR * (move.verb in OPERATOR) + FAULT * (move.verb in FAULTS)


class Line(NamedTuple):
    """The moves of a part in a view: what each adds to a key, its label without who can make it, and the part then.

    ``plain`` ones, as most are, change nothing else. Of the ``others`` is also said whether they begin a rebalance,
    and so add to the key of the state in which all ids are already waited for, and whether a leader is elected.
    """

    plain: list[tuple[int, int, int]]
    others: list[tuple[int, int, int, bool, bool]]
    deaths: list[tuple[Move, Violation]]

    @classmethod
    def of(cls, packed: Packed, view: View, part: int) -> Line:
        """Ask for the row of a part."""
        row = packed.row(view, part)
        plain = [(packed.change(move), label_of(move), move.after) for move in row.moves if not move.prepares]
        others = [
            (packed.change(move), label_of(move), move.after, move.prepares, elects)
            for moves, elects in ((row.moves, False), (row.elections, True))
            for move in moves
            if elects or move.prepares
        ]
        return cls(plain, others, row.deaths)


Choice = tuple[int, int, tuple[int, ...]]
"""What it adds to a key that a member is elected, how many are like it, and the parts then, sorted."""


class Choices(dict[tuple[int, ...], list[Choice]]):
    """Who may be elected among some parts, which are sorted; asked for when it is not there."""

    def __init__(self, packed: Packed) -> None:
        super().__init__()
        self._packed = packed

    def __missing__(self, parts: tuple[int, ...]) -> list[Choice]:
        found = []
        for part in dict.fromkeys(parts):
            for gain, elected in self._packed.electable(part):
                chosen = list(parts)
                chosen[chosen.index(part)] = elected
                found.append((gain, parts.count(part), tuple(sorted(chosen))))
        return self.setdefault(parts, found)


class Sight(NamedTuple):
    """What a look says, and the lines of its view by their parts, as far as they were asked for.

    ``special``: the leader is to assign, or the operator may go home.
    """

    lines: dict[int, Line]
    special: bool
    situation: Situation


class Sights(dict[int, Sight]):
    """All that is known of how states look; a look that is not there is looked at."""

    def __init__(self, packed: Packed) -> None:
        super().__init__()
        self._packed: Final = packed
        self._lines: Final[dict[View, dict[int, Line]]] = {}

    def __missing__(self, look: int) -> Sight:
        situation = self._packed.seen(look)
        lines = self._lines.setdefault(situation.view, {})
        return self.setdefault(look, Sight(lines, situation.completing or situation.ends, situation))

    def ask(self, view: View, parts: Iterable[int]) -> None:
        """Put together the lines of these parts that are not there."""
        lines = self._lines[view]
        for part in parts:
            if part not in lines:
                lines[part] = Line.of(self._packed, view, part)
