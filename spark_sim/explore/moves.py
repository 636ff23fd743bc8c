"""What each process can do next: the moves of ``spark_sim.world``, with what they change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from probing import Rejoining
from spark_sim.explore.parts import (
    ANSWERED,
    COMPLETING,
    CONTENT,
    CRASHED,
    JOINED,
    OUTSIDE,
    PREPARING,
    RESTLESS,
    STOPPED,
    WAITED_FOR,
    Ghost,
    Part,
    waited_for,
)
from spark_sim.explore.situation import CRASHES, LATES, NUDGES, PHASE, TURNED, GroupView, OperatorView
from spark_sim.properties import Violation

if TYPE_CHECKING:
    from spark_sim.explore.packed import Packed


class Move(NamedTuple):
    """A process that is ``part`` becomes ``after``; the group's own numbers ``add``.

    ``prepares``: a rebalance begins, so the ids of all processes are waited for before that. ``elects``: a process that
    is then ``elects[0]`` leads from now on, which makes it ``elects[1]``. ``begins``: a generation begins with it.
    """

    verb: str
    part: int
    after: int
    add: int = 0
    prepares: bool = False
    begins: bool = False
    elects: tuple[int, int] | None = None


class Row(NamedTuple):
    """The moves of a part in a view: each as it is, those for which a leader has to be found, and the deadly ones.

    ``moves`` that begin a rebalance come last.
    """

    moves: list[Move]
    elections: list[Move]
    deaths: list[tuple[Move, Violation]]


def by_protocol(packed: Packed, view: GroupView, number: int) -> Row:
    """Return what a process does by itself, except to lead, and what the coordinator does with the ids of its past."""
    row = Row([], [], [])
    part = packed.parts.values[number]
    if part.runs:
        _protocol(packed, view, number, part, row)
    if part.ghosts:
        gone, *others = part.ghosts
        after = part._replace(ghosts=tuple(others))
        _removed(packed, view, Move("expire", number, packed.number(after)), row, gone.leads, gone.heard < 0)
    return row


def by_operator(packed: Packed, view: OperatorView, number: int) -> Row:
    """Return what is done to a process: it crashes, is stopped or is started."""
    part = packed.parts.values[number]
    return Row(list((_stops if part.runs else _starts)(packed, view, number, part)), [], [])


def _protocol(packed: Packed, view: GroupView, number: int, part: Part, row: Row) -> None:
    if part.status in {OUTSIDE, WAITED_FOR, RESTLESS}:
        _joins(packed, view, number, part, row, "join")
    if part.status == CONTENT and view.nudges:
        _joins(packed, view, number, part, row, "nudge", -NUDGES)
    if part.status == ANSWERED:
        _takes(packed, view, number, part, row)
    if view.lates and view.phase == PREPARING and part.status in {WAITED_FOR, ANSWERED}:
        after = packed.number(part._replace(status=OUTSIDE, word=-1, leads=False, holds=False))
        _removed(packed, view, Move("late", number, after, -LATES), row, part.leads, True)


def _joins(packed: Packed, view: GroupView, number: int, part: Part, row: Row, verb: str, add: int = 0) -> None:
    heard = packed.tables.subscription(part.version)
    if isinstance(heard, Violation):
        row.deaths.append((Move(verb, number, number), heard))
        return
    prepares = view.phase != PREPARING
    others = (view.known if prepares else view.missing) - part.known
    ghosts = waited_for(part.ghosts) if prepares else part.ghosts
    after = part._replace(status=JOINED, word=-1, leads=part.leads or view.known == 0, ghosts=ghosts)
    phase = PREPARING if others else COMPLETING
    add += (phase - view.phase) * PHASE
    row.moves.append(Move(verb, number, packed.number(after), add, prepares, phase == COMPLETING))


def _takes(packed: Packed, view: GroupView, number: int, part: Part, row: Row) -> None:
    reaction = packed.tables.reaction(part.version, part.word)
    if isinstance(reaction, Violation):
        row.deaths.append((Move("take", number, number), reaction))
        return
    after = part._replace(version=reaction.version, holds=packed.keeps and reaction.holds)
    if reaction.rejoining is Rejoining.LEAVE_AND_JOIN:
        after = after._replace(status=OUTSIDE, word=-1, leads=False)
        _removed(packed, view, Move("take", number, packed.number(after)), row, part.leads, True)
        return
    if view.phase == PREPARING:
        after = after._replace(status=WAITED_FOR, word=-1)
    elif reaction.rejoining:
        after = after._replace(status=RESTLESS, word=-1)
    else:
        after = after._replace(status=CONTENT, word=reaction.received)
    row.moves.append(Move("take", number, packed.number(after)))


def _removed(packed: Packed, view: GroupView, move: Move, row: Row, led: bool, was_missing: bool) -> None:
    """Finish a move that takes an id out of the group."""
    prepares = view.phase != PREPARING
    others = view.known - 1
    phase = PREPARING
    if not prepares and others and view.missing == was_missing:
        phase = COMPLETING
    after = packed.calm[move.after] if prepares else move.after
    add = move.add + (phase - view.phase) * PHASE
    move = move._replace(after=after, add=add, prepares=prepares, begins=phase == COMPLETING)
    (row.elections if led and others else row.moves).append(move)


def _stops(packed: Packed, view: OperatorView, number: int, part: Part) -> Iterator[Move]:
    ghosts = part.ghosts
    if part.known:
        heard = packed.tables.subscription(part.version) if part.status == JOINED else -1
        assert isinstance(heard, int)
        ghosts = (*ghosts, Ghost(heard, part.leads))
    gone = Part(part.course, part.place, CRASHED, ghosts=ghosts)
    if view.crashes:
        yield Move("crash", number, packed.number(gone), -CRASHES)
    if part.place == view.stop_at:
        yield Move("stop", number, packed.number(gone._replace(status=STOPPED, word=part.place + 1)))
    if part.place == view.back_at:
        stopped = packed.number(gone._replace(status=STOPPED, word=part.place - 1))
        yield Move("stop", number, stopped, view.may_turn * TURNED)


def _starts(packed: Packed, view: OperatorView, number: int, part: Part) -> Iterator[Move]:
    def start(place: int, add: int = 0) -> Move:
        version = packed.tables.started(packed.courses[part.course][place])
        fresh = Part(part.course, place, OUTSIDE, version, ghosts=part.ghosts)
        return Move("start", number, packed.number(fresh), add)

    if part.status == CRASHED:
        yield start(1 if view.cleared and part.place == 0 else part.place)
    elif view.cleared or not packed.cell.offline:
        yield start(part.word)
        if view.may_turn:
            yield start(part.place, TURNED)
