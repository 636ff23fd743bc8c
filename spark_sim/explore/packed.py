"""States and moves of a group as integers.

A state is what each process is (``Part``) and a few numbers for the whole group. Processes with equal parts are alike,
so a state is a multiset of parts: of the number of each part the powers are added up, and the sums of the first N
powers of N numbers tell which numbers they were. A move changes a part or two, so it adds a constant to the sums; that
is why a state is one integer, and making a move one addition.

    key = sum of weight[part] over the processes + the group's own numbers
          weight[part] = tally | part << ... | part**2 << ... | part**3 << ... (side by side)

The tallies (``situation``) are added up with them, so a key's lowest bits say at once how the state looks.

Moves are those of ``spark_sim.world``; the rules of versions come from ``tables``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

from spark_sim.explore.course import Cell
from spark_sim.explore.leading import Leading
from spark_sim.explore.moves import Move, Row, by_operator, by_protocol
from spark_sim.explore.parts import (
    COMPLETING,
    JOINED,
    OUTSIDE,
    PREPARING,
    WAITED_FOR,
    Part,
    calmed,
    elected,
)
from spark_sim.explore.situation import (
    CRASHES,
    GROUP,
    GROUP_BITS,
    LATES,
    LOOK,
    NUDGES,
    PHASE,
    GroupView,
    OperatorView,
    Situation,
    View,
    few,
    seen,
    tally,
)
from spark_sim.explore.tables import Numbers, Tables
from spark_sim.properties import HIGHEST_VERSION, Violation
from subscription_codec import EARLIEST_PROBEABLE_VERSION

_PREPARES: Final = attrgetter("prepares")


class Packed:
    """The states and moves of a cell; everything is numbered as it turns up."""

    def __init__(self, cell: Cell) -> None:
        self.cell: Final = cell
        self.instances: Final = cell.instances
        self.courses: Final = [tuple(map(self.instances.index, course)) for course in cell.courses]
        self.tables: Final = Tables(self.instances)
        self.parts: Final = Numbers[Part]()
        self.keeps = _worth_watching(self.tables, range(len(self.instances)))
        self._powers = _shifts(cell.members)
        self.weights: Final[list[int]] = []
        self.calm: Final[list[int]] = []
        self.calming: Final[list[int]] = []
        self.hears: Final[list[int]] = []
        self.leaders: Final[list[int]] = []
        self._leading: Final = Leading(self)
        self._electable: Final[dict[int, list[tuple[int, int]]]] = {}
        self._seen: Final[dict[int, Situation]] = {}
        self._rows: Final[dict[tuple[GroupView | OperatorView, int], Row]] = {}

    # -- numbers ---------------------------------------------------------------------------------------------------

    def number(self, part: Part) -> int:
        """Return the number of a part."""
        number = self.parts.of(part)
        if number == len(self.weights):
            if number >= MOST_PARTS:
                raise OverflowError(f"more than {MOST_PARTS} different parts")
            self.weights.append(tally(part) + sum(number**power << shift for power, shift in self._powers))
            self.hears.append(sum(1 << heard for heard in set(self._heard(part))))
            self.leaders.append(self._leader(part))
            self.calm.append(-1)
            self.calming.append(0)
            calm = self.calm[number] = self.number(calmed(part, self.cell.answers_last))
            self.calming[number] = self.weights[calm] - self.weights[number]
        return number

    def key(self, parts: Sequence[int], group: int) -> int:
        """Return the state as one integer."""
        return sum(self.weights[part] for part in parts) + group

    def situation(self, parts: Sequence[int], group: int) -> Situation:
        """Look at a whole state."""
        return self.seen(self.key(parts, group) & LOOK)

    def seen(self, look: int) -> Situation:
        """Return what a state says that looks like this."""
        look = (few(look >> GROUP_BITS) << GROUP_BITS) + (look & GROUP)
        if look not in self._seen:
            self._seen[look] = seen(self.cell, look)
        return self._seen[look]

    # -- the beginning and the end ---------------------------------------------------------------------------------

    def beginnings(self) -> list[tuple[list[int], int]]:
        """Return the group at rest as what it was, once for each leader."""
        return [self._begun(leader) for leader in range(self.cell.members)]

    def _begun(self, leader: int) -> tuple[list[int], int]:
        faults = self.cell.faults
        group = PREPARING * PHASE + faults.crashes * CRASHES + faults.lates * LATES + faults.nudges * NUDGES
        parts = [
            self.number(Part(course, 0, OUTSIDE, self.tables.started(self.courses[course][0])))
            for course in self._course_numbers()
        ]
        order = [leader, *(each for each in range(len(parts)) if each != leader)]
        # Alone it would lead a generation of its own before the others are there; they join together.
        for member in order:
            part = self.parts.values[parts[member]]
            parts[member] = self.number(part._replace(status=WAITED_FOR, leads=member == leader))
        while not self.situation(parts, group).rests:
            parts, group = self._next_calmly(parts, group)
        return parts, group

    def _next_calmly(self, parts: list[int], group: int) -> tuple[list[int], int]:
        view = self.situation(parts, group).view
        if view.group.phase == COMPLETING:
            led = self.led(parts)
            assert isinstance(led, Mapping), f"a group of {self.instances[0]} alone: {led}"
            return [led[part] for part in parts], group + PHASE
        for member, number in enumerate(parts):
            moves = [move for move in self.row(view, number).moves if move.verb in {"take", "join"}]
            if moves:
                return self.played(parts, group, member, moves[0])[:2]
        raise AssertionError("a group that does not rest can move")

    def _course_numbers(self) -> list[int]:
        return [self.courses.index(course) for course in self.courses]

    def judged(self, parts: Sequence[int]) -> Violation | None:
        """Say what does not hold in a group at rest in which everybody runs."""
        found = [self.parts.values[number] for number in parts]
        common = min(self.tables.sendable(self._instance(part)) for part in found)
        for part in found:
            used = self.tables.used(part.version)
            if part.word != common or (common >= EARLIEST_PROBEABLE_VERSION and used != common):
                text = f"sends version {used} and got {part.word}, but all can speak {common}"
                return Violation(HIGHEST_VERSION, "", text)
        return None

    def _instance(self, part: Part) -> int:
        return self.courses[part.course][part.place]

    # -- moves -----------------------------------------------------------------------------------------------------

    def played(self, parts: Sequence[int], group: int, member: int, move: Move) -> tuple[list[int], int, int | None]:
        """Make a move of a member, whose part has to be the move's; return also who is elected by it, if anybody.

        Of those who may be elected it is the first.
        """
        after = [self.calm[part] for part in parts] if move.prepares else list(parts)
        after[member] = move.after
        elected = None
        if move.elects:
            elected = after.index(move.elects[0])
            after[elected] = move.elects[1]
        return after, group + move.add, elected

    def row(self, view: View, number: int) -> Row:
        """Return the moves of a part, except to lead."""
        own, done = self.half_row(view.group, number), self.half_row(view.operator, number)
        return Row(sorted([*own.moves, *done.moves], key=_PREPARES), own.elections, own.deaths)

    def half_row(self, view: GroupView | OperatorView, number: int) -> Row:
        """Return what a part does by itself, or what is done to it; asked for once."""
        found = self._rows.get((view, number))
        if found is None:
            asked = by_protocol(self, view, number) if isinstance(view, GroupView) else by_operator(self, view, number)
            found = self._rows[view, number] = asked
        return found

    def electable(self, number: int) -> list[tuple[int, int]]:
        """Return what a part may become if one of its ids is elected, each with what that adds to a key."""
        found = self._electable.get(number)
        if found is None:
            chosen = [self.number(part) for part in elected(self.parts.values[number])]
            found = self._electable[number] = [(self.weights[each] - self.weights[number], each) for each in chosen]
        return found

    def change(self, move: Move) -> int:
        """Return what a move adds to a key, in which all ids are already waited for if it ``prepares``."""
        before = self.calm[move.part] if move.prepares else move.part
        return self.weights[move.after] - self.weights[before] + move.add

    # -- leading ---------------------------------------------------------------------------------------------------

    def led(self, parts: Iterable[int]) -> Mapping[int, int] | Violation | None:
        """Return what each part becomes as its leader assigns, what the leader dies of, or None if it does not run."""
        heard, leader = 0, -1
        for number in parts:
            heard |= self.hears[number]
            leader = max(leader, self.leaders[number])
        return self.answers(leader, heard) if leader >= 0 else None

    def answers(self, leader: int, heard: int) -> Mapping[int, int] | Violation:
        """Return what each part becomes as an instance leads that hears this (one bit each), or what it dies of."""
        return self._leading[leader, heard]

    def _leader(self, part: Part) -> int:
        return self._instance(part) if part.leads and part.runs else -1

    def _heard(self, part: Part) -> Iterator[int]:
        if part.status == JOINED:
            heard = self.tables.subscription(part.version)
            assert isinstance(heard, int)
            yield heard
        yield from (ghost.heard for ghost in part.ghosts if ghost.heard >= 0)

    def suspicious(self, parts: Sequence[int]) -> bool:
        """Whether the leader gives away what others keep, as it knows nothing of members that keep tasks (KIP-429)."""
        if not self.keeps:
            return False
        found = [self.parts.values[number] for number in parts]
        leader = next(part for part in found if part.leads and part.runs)
        if self.tables.withholds(self._instance(leader)):
            return False
        return any(part.holds for part in found) and sum(part.known for part in found) > 1


MOST_PARTS: Final = (1 << 14) - 1


def _shifts(members: int) -> list[tuple[int, int]]:
    """Where the sum of each power stands among the bits of a key."""
    found, shift = [], LOOK.bit_length()
    for power in range(1, members + 1):
        found.append((power, shift))
        shift += (members * (MOST_PARTS + 1) ** power).bit_length()
    return found


def _worth_watching(tables: Tables, instances: Sequence[int]) -> bool:
    """Whether some keep their tasks while others lead who know nothing of that."""
    return any(map(tables.cooperative, instances)) and not all(map(tables.withholds, instances))
