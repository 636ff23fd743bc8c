"""What comes of a leader's answers, for each part that it hears or does not hear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spark_sim.explore.parts import ANSWERED, CONTENT, JOINED, waited_for
from spark_sim.properties import Violation

if TYPE_CHECKING:
    from spark_sim.explore.packed import Packed


class _Led(dict[int, int]):
    """What parts become as a leader assigns with certain answers."""

    def __init__(self, packed: Packed, answers: Mapping[tuple[int, bool], int]) -> None:
        super().__init__()
        self._packed, self._answers = packed, answers

    def __missing__(self, number: int) -> int:
        packed = self._packed
        part = packed.parts.values[number]
        after = part._replace(ghosts=waited_for(part.ghosts))
        if part.status == JOINED:
            heard = packed.tables.subscription(part.version)
            assert isinstance(heard, int)
            said = self._answers.get((heard, part.leads))
            after = after._replace(status=CONTENT) if said is None else after._replace(status=ANSWERED, word=said)
        return self.setdefault(number, packed.number(after))


class Leading(dict[tuple[int, int], "_Led | Violation"]):
    """By the leader's instance and what it hears (one bit each)."""

    def __init__(self, packed: Packed) -> None:
        super().__init__()
        self._packed = packed

    def __missing__(self, key: tuple[int, int]) -> _Led | Violation:
        leader, bits = key
        heard = frozenset(number for number in range(bits.bit_length()) if bits >> number & 1)
        answers = self._packed.tables.answers(leader, heard)
        led = answers if isinstance(answers, Violation) else _Led(self._packed, answers)
        return self.setdefault(key, led)
