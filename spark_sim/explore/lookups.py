"""What the compiled loop looks up: every answer comes from ``packed`` and is written down here, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from spark_sim.explore import kernel
from spark_sim.explore.kernel import UNKNOWN, Looked
from spark_sim.explore.lines import label_of
from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import GROUP_BITS, View, few, tally
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
        self._views: Final[Numbers[View]] = Numbers()
        self._sights, self._rows, self._known = 0, 0, 0
        self._answers: Final[list[Any]] = [None]
        self._arrays: Final[dict[str, Any]] = {
            "slots": np.zeros(1 << 11, np.int64),
            "sights": np.zeros(1 << 9, np.int32),
            "rows": np.full((64, 256), UNKNOWN, np.int32),
            "first": np.zeros(1 << 12, np.int32),
            "moves": np.zeros((1 << 13, 4), np.int32),
            "parts": np.full((kernel.MOST_PARTS + 1, 6), UNKNOWN, np.int64),
            "elected": np.zeros(1 << 9, np.int32),
            "led_slots": np.zeros(1 << 7, np.int64),
            "led": np.full((64, 256), UNKNOWN, np.int32),
        }
        self.looked = Looked(**self._arrays)
        self._fill: Final[dict[int, Callable[[int, int], None]]] = {
            kernel.ELECTABLE: self._electable,
            kernel.LEADING: self._leading,
            kernel.LED: self._led,
        }
        self._new_parts()

    def fill(self, what: int, one: int, other: int, parts: Sequence[int]) -> None:
        """Write down what is missing for a state of these parts."""
        if what == kernel.SITUATION:
            self._rows_of(self._situation(one, other), parts)
        elif what == kernel.ROW:
            self._rows_of(one, parts)
        else:
            self._fill[what](one, other)
        self._new_parts()

    def _room(self, name: str, *shape: int) -> Any:
        """Return an array after it has got room for as many entries at least."""
        old = self._arrays[name]
        if all(there >= needed for there, needed in zip(old.shape, shape, strict=False)):
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
            tallies = tally(packed.parts.values[number]) >> GROUP_BITS
            heard = packed.hears[number]
            self._arrays["parts"][number, :4] = tallies, packed.calm[number], packed.leaders[number], heard
        self._known = known
        self._room("rows", 1, known)
        self._room("led", 1, known)

    def _situation(self, tallies: int, group: int) -> int:
        situation = self.packed.seen((tallies << GROUP_BITS) + group)
        view = self._views.of(situation.view)
        self._sights += 1
        self._slot("slots", few(tallies), group, self._sights)
        flags = kernel.COMPLETES * situation.completing + kernel.ENDS * situation.ends
        self._room("sights", self._sights + 1)[self._sights] = kernel.VIEW * view + flags
        return view

    def _rows_of(self, view: int, parts: Sequence[int]) -> None:
        seen = self._views.values[view]
        rows = self._room("rows", view + 1, self._known)
        for part in dict.fromkeys(parts):
            if rows[view, part] == UNKNOWN:
                self._row(seen, part)
                rows[view, part] = self._rows
                self._rows += 1

    def _row(self, view: View, part: int) -> None:
        row = self.packed.row(view, part)
        ordinary = [(kernel.PREPARED if move.prepares else kernel.PLAIN, move) for move in row.moves]
        elections = [(kernel.PREPARED_ELECTION if move.prepares else kernel.ELECTION, move) for move in row.elections]
        added = [(move.after, move.add, kind, label_of(move)) for kind, move in (*ordinary, *elections)]
        added += [(move.after, 0, kernel.DEADLY, 0) for move, _ in row.deaths]
        begin, end = len(self.moves), len(self.moves) + len(added)
        self.moves.extend([*row.moves, *row.elections, *(move for move, _ in row.deaths)])
        self.deaths.update((end - len(row.deaths) + at, each) for at, (_, each) in enumerate(row.deaths))
        if added:
            self._room("moves", end)[begin:end] = added
        self._room("first", self._rows + 2)[self._rows + 1] = end

    def _electable(self, part: int, _: int) -> None:
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
