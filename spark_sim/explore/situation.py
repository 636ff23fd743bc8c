"""What a state says at one look: numbers that are added up over its processes."""

from __future__ import annotations

from typing import Final, NamedTuple

from attrs import frozen

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
_SHIFTS: Final = range(0, _BITS * _COUNTS, _BITS)
LOOK: Final = (1 << GROUP_BITS + _BITS * _COUNTS) - 1
"""What of a key says how its state looks (``seen``): the group's own numbers and the tallies."""
_ONES: Final = sum(1 << _BITS * place for place in range(_COUNTS))


def _left(group: int, one: int) -> int:
    return group // one & (1 << _WIDTHS[one]) - 1


def few(tallies: int) -> int:
    """Count up to 2 only, in every tally: nothing more is looked at, and there are far fewer sights.

    ``tallies`` are those of a look, without the group's own numbers.
    """
    many = (tallies >> 1 | tallies >> 2 | tallies >> 3 | tallies >> 4 | tallies >> 5) & _ONES
    return many << 1 | tallies & _ONES & ~many


# No named tuples: one half of a view with the other one's numbers is not equal to it.
@frozen(cache_hash=True)
class GroupView:
    """What the protocol lets a process do next depends on this, besides itself.

    ``known`` and ``missing`` ids are counted up to 2. ``lates`` and ``nudges``: there may be more of them.
    """

    phase: int
    known: int
    missing: int
    lates: bool
    nudges: bool


@frozen(cache_hash=True)
class OperatorView:
    """What may be done to a process from outside depends on this, besides itself.

    ``stop_at`` and ``back_at`` are the places at which a member may now be stopped, to go on or back (-1: nowhere);
    ``may_turn``: the operator may still turn round; ``cleared``: nobody runs any more as what it was at the beginning;
    ``crashes``: there may be more of them.
    """

    stop_at: int
    back_at: int
    may_turn: bool
    cleared: bool
    crashes: bool


class View(NamedTuple):
    """What the moves of one process depend on besides itself."""

    group: GroupView
    operator: OperatorView


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
    numbers, tallies = look & GROUP, look >> GROUP_BITS
    known, missing, by_hand, down, unrest, at_first, *at = (tallies >> shift & (1 << _BITS) - 1 for shift in _SHIFTS)
    turned, rests = bool(_left(numbers, TURNED)), not unrest
    places = [place for place, count in enumerate(at) if count]
    first, last = places[0], places[-1]
    goes_on = not turned and first < cell.rounds and (rests or not cell.patient)
    goes_back = cell.variant is Variant.ROLLED_BACK and last > 0 and (rests or not cell.patient)
    done = last == 0 if turned else first == cell.rounds
    group = GroupView(
        phase=_left(numbers, PHASE),
        known=min(2, known),
        missing=min(2, missing),
        lates=bool(_left(numbers, LATES)),
        nudges=bool(_left(numbers, NUDGES)),
    )
    operator = OperatorView(
        stop_at=first if goes_on and (last == 0 if cell.offline else not by_hand) else -1,
        back_at=last if goes_back and not by_hand else -1,
        may_turn=cell.variant is Variant.ROLLED_BACK and not turned,
        cleared=cell.offline and not at_first,
        crashes=bool(_left(numbers, CRASHES)),
    )
    ends = rests and not down and (done or cell.variant is Variant.INTERRUPTED)
    return Situation(View(group, operator), rests, ends, group.phase == COMPLETING)
