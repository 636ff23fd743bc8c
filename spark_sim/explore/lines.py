"""The moves of each part, ready to be made: what they add to a key, and their labels.

Nothing here decides anything; ``packed`` does. What it says of a view is put together once, when a state looks so.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import Situation, View
from spark_sim.properties import Violation

CODE: Final = 1 << 3
"""An edge carries how many of the members can make the move (up to 7), and then these bits:"""
GENERATION, BY_OPERATOR, FAULT = CODE, CODE << 1, CODE << 2
OPERATOR: Final = frozenset({"stop", "start"})
FAULTS: Final = frozenset({"crash", "late", "nudge"})


def label_of(move: Move) -> int:
    """Tell moves that begin a generation, and those that are not the protocol's."""
    return GENERATION * move.begins + BY_OPERATOR * (move.verb in OPERATOR) + FAULT * (move.verb in FAULTS)


Ready = tuple[int, int, Move]
"""What a move adds to a key, the label of its edge without who can make it, and the move."""


class Line(NamedTuple):
    """The moves of a part in a view, ready to be made.

    ``prepared`` add to the key of the state in which all ids are already waited for. ``prepares``: that state is
    needed; ``rare``: there are elections or deaths.
    """

    plain: list[Ready]
    prepared: list[Ready]
    elections: list[Ready]
    deaths: list[tuple[Move, Violation]]
    prepares: bool
    rare: bool

    @classmethod
    def of(cls, packed: Packed, view: View, part: int) -> Line:
        """Ask for the row of a part."""
        row = packed.row(view, part)
        moves = [(packed.change(move), label_of(move), move) for move in row.moves]
        elections = [(packed.change(move), label_of(move), move) for move in row.elections]
        return cls(
            [each for each in moves if not each[-1].prepares],
            [each for each in moves if each[-1].prepares],
            elections,
            row.deaths,
            any(each[-1].prepares for each in (*moves, *elections)),
            bool(elections or row.deaths),
        )


class Lines(dict[int, Line]):
    """The lines of a view by their parts; one that is not there is asked for."""

    def __init__(self, packed: Packed, view: View) -> None:
        super().__init__()
        self._packed, self._view = packed, view

    def __missing__(self, part: int) -> Line:
        return self.setdefault(part, Line.of(self._packed, self._view, part))


class Sights:
    """All that is known of how states look."""

    def __init__(self, packed: Packed) -> None:
        self._packed: Final = packed
        self._views: Final[dict[View, Lines]] = {}
        self.known: Final[dict[int, tuple[Situation, Lines]]] = {}

    def look(self, look: int) -> tuple[Situation, Lines]:
        """Return what a look says, and the lines of its view."""
        situation = self._packed.seen(look)
        lines = self._views.setdefault(situation.view, Lines(self._packed, situation.view))
        self.known[look] = situation, lines
        return situation, lines
