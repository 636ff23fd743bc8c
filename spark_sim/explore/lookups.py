"""What the compiled loop looks up: every answer comes from ``packed`` and is written down here, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from spark_sim.explore import kernel
from spark_sim.explore.kernel import UNKNOWN, Looked
from spark_sim.explore.lines import label_of
from spark_sim.explore.moves import Move, Row
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import GROUP_BITS, LOOK, GroupView, OperatorView, few
from spark_sim.explore.tables import Numbers
from spark_sim.properties import Violation


class TooManyPartsError(ValueError):
    """There are more different parts than a compiled state has bits for."""


class Lookups:
    """Arrays that are filled on demand: ``looked`` shows them to the kernel.

    By the kernel's numbers: ``moves``, the ``deaths`` that some of them are, and who is ``elected``.
    """

    def __init__(self, packed: Packed) -> None:
        self.packed: Final = packed
        self.moves: Final[list[Move]] = []
        self.deaths: Final[dict[int, Violation]] = {}
        self.elected: Final[list[tuple[int, int]]] = []
        self._own: Final[Numbers[GroupView]] = Numbers()
        self._done: Final[Numbers[OperatorView]] = Numbers()
        self._sights, self._rows, self._known = 0, 1, 0
        self._answers: Final[list[Any]] = [None]
        self._arrays: Final[dict[str, Any]] = {
            "slots": np.zeros(1 << 11, np.int64),
            "sights": np.zeros((1 << 9, 3), np.int32),
            "own": np.full((64, 256), UNKNOWN, np.int32),
            "done": np.full((64, 256), UNKNOWN, np.int32),
            "bounds": np.zeros((1 << 12, 2), np.int32),
            "moves": np.zeros((1 << 13, 4), np.int32),
            "parts": np.full((kernel.MOST_PARTS + 1, 6), UNKNOWN, np.int64),
            "elected": np.zeros(1 << 9, np.int32),
            "led_slots": np.zeros(1 << 7, np.int64),
            "led": np.full((64, 256), UNKNOWN, np.int32),
        }
        self.looked = Looked(**self._arrays)
        self._new_parts()

    def fill(self, what: int, one: int, other: int, parts: Sequence[int]) -> None:
        """Write down what is missing for a state of these parts."""
        if what == kernel.SITUATION:
            self._situation(one, other)
        elif what == kernel.ROWS:
            self._rows_of(one, parts)
        elif what == kernel.ELECTABLE:
            self._electable(one)
        elif what == kernel.LEADING:
            self._leading(one, other)
        else:
            self._led(one, other)
        self._new_parts()

    def _room(self, name: str, *shape: int) -> Any:
        """Return an array after it has got room for as many entries at least."""
        old = self._arrays[name]
        if old.shape[0] >= shape[0] and old.shape[1:2] >= shape[1:]:
            return old
        wider = [max(there, 2 * needed) for there, needed in zip(old.shape, (*shape, 0), strict=False)]
        new = np.full(wider, UNKNOWN, old.dtype)
        new[tuple(map(slice, old.shape))] = old
        self._put(name, new)
        return new

    def _put(self, name: str, new: Any) -> None:
        self._arrays[name] = new
        self.looked = Looked(**self._arrays)

    def _slot(self, name: str, low: int, high: int, number: int) -> None:
        """Let two words be found under a number."""
        if 4 * number > self._arrays[name].size:
            new = np.zeros(2 * self._arrays[name].size, np.int64)
            kernel.copied(self._arrays[name], new)
            self._put(name, new)
        kernel.number_of(low, high, self._arrays[name], number)

    def _new_parts(self) -> None:
        packed, known = self.packed, len(self.packed.weights)
        if known == self._known:
            return
        if known > kernel.MOST_PARTS:
            raise TooManyPartsError(f"expected at most {kernel.MOST_PARTS} different parts, not {known}")
        for number in range(self._known, known):
            tallies = (packed.weights[number] & LOOK) >> GROUP_BITS
            heard = packed.hears[number]
            self._arrays["parts"][number, :4] = tallies, packed.calm[number], packed.leaders[number], heard
        self._known = known
        self._room("own", 1, known)
        self._room("done", 1, known)
        self._room("led", 1, known)

    def _situation(self, tallies: int, group: int) -> None:
        situation = self.packed.seen((tallies << GROUP_BITS) + group)
        own, done = self._own.of(situation.view.group), self._done.of(situation.view.operator)
        self._sights += 1
        self._slot("slots", few(tallies), group, self._sights)
        flags = kernel.COMPLETES * situation.completing + kernel.ENDS * situation.ends
        self._room("sights", self._sights + 1)[self._sights] = own, done, flags
        self._room("own", own + 1, self._known)
        self._room("done", done + 1, self._known)

    def _rows_of(self, sight: int, parts: Sequence[int]) -> None:
        own, done, _ = self._arrays["sights"][sight].tolist()
        halves = (
            (self._arrays["own"], own, self._own.values[own]),
            (self._arrays["done"], done, self._done.values[done]),
        )
        for part in dict.fromkeys(parts):
            for rows, number, view in halves:
                if rows[number, part] == UNKNOWN:
                    rows[number, part] = self._row(self.packed.half_row(view, part))

    def _row(self, row: Row) -> int:
        """Write a row down and return its number."""
        if not any(row):
            return kernel.EMPTY
        added = [(move.after, move.add, kernel.PREPARED * move.prepares, label_of(move)) for move in row.moves]
        plain = [kind for *_, kind, _ in added].count(kernel.PLAIN)
        for move in row.elections:
            kind = kernel.ELECTION + kernel.PREPARED * move.prepares
            added.append((move.after, move.add, kind, label_of(move)))
        for move, violation in row.deaths:
            self.deaths[len(self.moves) + len(added)] = violation
            added.append((move.after, 0, kernel.DEADLY, 0))
        begin, end = len(self.moves), len(self.moves) + len(added)
        self.moves.extend([*row.moves, *row.elections, *(move for move, _ in row.deaths)])
        self._room("moves", end)[begin:end] = added
        number = self._rows
        self._room("bounds", number + 2)[number : number + 2] = (begin, begin + plain), (end, end)
        self._rows += 1
        return number

    def _electable(self, part: int) -> None:
        begin = len(self.elected)
        self.elected.extend((part, chosen) for _, chosen in self.packed.electable(part))
        end = len(self.elected)
        self._room("elected", end)[begin:end] = [chosen for _, chosen in self.elected[begin:]]
        self._arrays["parts"][part, kernel.ELECT_FROM :] = begin, end

    def _leading(self, heard: int, leader: int) -> None:
        answers = self.packed.answers(leader, heard)
        number = len(self._answers)
        self._answers.append(answers)
        self._slot("led_slots", heard, leader, number)
        led = self._room("led", number + 1, self._known)
        if isinstance(answers, Violation):
            led[number] = kernel.DEADLY_TO_LEAD

    def _led(self, answers: int, part: int) -> None:
        led = self._answers[answers]
        if isinstance(led, Violation):  # The array has got wider since.
            self._arrays["led"][answers] = kernel.DEADLY_TO_LEAD
            return
        after = led[part]
        self._new_parts()
        self._arrays["led"][answers, part] = after
