"""What a state says at one look: numbers that are added up over its processes."""

from __future__ import annotations

from typing import Final, NamedTuple

from spark_sim.explore.course import Cell, Variant
from spark_sim.explore.parts import ANSWERED, COMPLETING, CONTENT, CRASHED, STOPPED, WAITED_FOR, Part

# The group's own numbers, and above them one count of six bits for each thing that is told of parts.
PHASE, TURNED, CRASHES, LATES, NUDGES = 1, 1 << 2, 1 << 3, 1 << 6, 1 << 9
GROUP_BITS: Final = 12
GROUP: Final = (1 << GROUP_BITS) - 1
_WIDTHS: Final = {PHASE: 2, TURNED: 1, CRASHES: 3, LATES: 3, NUDGES: 3}
_BITS: Final = 6
_COUNTS: Final = 10
_KNOWN, _MISSING, _BY_HAND, _DOWN, _UNREST, _AT_FIRST, *_AT = (
    1 << GROUP_BITS + _BITS * place for place in range(_COUNTS)
)
LOOK: Final = (1 << GROUP_BITS + _BITS * _COUNTS) - 1
"""What of a key says how its state looks (``seen``): the group's own numbers and the tallies."""
_ONES: Final = sum(1 << _BITS * place for place in range(_COUNTS))


def _count(numbers: int, one: int) -> int:
    return numbers // one & (1 << _WIDTHS.get(one, _BITS)) - 1


def few(tallies: int) -> int:
    """Count up to 2 only, in every tally: nothing more is looked at, and there are far fewer sights.

    ``tallies`` are those of a look, without the group's own numbers.
    """
    many = (tallies >> 1 | tallies >> 2 | tallies >> 3 | tallies >> 4 | tallies >> 5) & _ONES
    return many << 1 | tallies & _ONES & ~many


class View(NamedTuple):
    """What the moves of one process depend on besides itself.

    ``known`` and ``missing`` ids are counted up to 2. ``stop_at`` and ``back_at`` are the places at which a member may
    now be stopped, to go on or back (-1: nowhere); ``may_turn``: the operator may still turn round; ``cleared``: nobody
    runs any more as what it was at the beginning.
    """

    phase: int
    known: int
    missing: int
    crashes: bool
    lates: bool
    nudges: bool
    stop_at: int
    back_at: int
    may_turn: bool
    cleared: bool


class Situation(NamedTuple):
    """What a whole state says: what its processes can see, whether it rests, and whether the operator may go home.

    ``completing``: its leader is to assign.
    """

    view: View
    rests: bool
    ends: bool
    completing: bool


def tally(part: Part) -> int:
    """Return what a part adds to the look of a state."""
    waited = part.status in {WAITED_FOR, ANSWERED}
    ids = part.known + len(part.ghosts)
    return (
        ids * _KNOWN
        + (waited + sum(ghost.heard < 0 for ghost in part.ghosts)) * _MISSING
        + (part.status == STOPPED) * _BY_HAND
        + (not part.runs) * _DOWN
        + (bool(part.ghosts) or part.status not in {CRASHED, STOPPED, CONTENT}) * _UNREST
        + (part.runs and part.place == 0) * _AT_FIRST
        + _AT[part.place]
    )


def seen(cell: Cell, look: int) -> Situation:
    """Return what a state says whose tallies and group's numbers add up to this."""
    by_hand, turned = _count(look, _BY_HAND), bool(_count(look, TURNED))
    rests = not _count(look, _UNREST)
    places = [place for place, one in enumerate(_AT) if _count(look, one)]
    first, last = places[0], places[-1]
    goes_on = not turned and first < cell.rounds and (rests or not cell.patient)
    goes_back = cell.variant is Variant.ROLLED_BACK and last > 0 and (rests or not cell.patient)
    done = last == 0 if turned else first == cell.rounds
    view = View(
        phase=_count(look, PHASE),
        known=min(2, _count(look, _KNOWN)),
        missing=min(2, _count(look, _MISSING)),
        crashes=bool(_count(look, CRASHES)),
        lates=bool(_count(look, LATES)),
        nudges=bool(_count(look, NUDGES)),
        stop_at=first if goes_on and (last == 0 if cell.offline else not by_hand) else -1,
        back_at=last if goes_back and not by_hand else -1,
        may_turn=cell.variant is Variant.ROLLED_BACK and not turned,
        cleared=cell.offline and not _count(look, _AT_FIRST),
    )
    ends = rests and not _count(look, _DOWN) and (done or cell.variant is Variant.INTERRUPTED)
    return Situation(view, rests, ends, view.phase == COMPLETING)
