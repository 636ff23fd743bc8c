"""Blocks about rolls: gates and deviations, as the code has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from blocks.markdown import NOT_THERE, table
from streams_assignor.upgrade.roll.deviations import DEVIATIONS
from streams_assignor.upgrade.roll.gates import GatePhase
from streams_assignor.upgrade.roll.group import GROUP_GATES


def roll_gates() -> str:
    rows = [
        (
            f"`{gate.name}`",
            gate.compares,
            gate.meaning,
            ", ".join(phase.value for phase in GatePhase if phase in gate.phases),
            f"`{gate.option}`" if gate.option else NOT_THERE,
        )
        for gate in GROUP_GATES
    ]
    return table(("gate", "compares", "because", "when", "option"), rows)


def roll_deviations() -> str:
    rows = [
        (f"`{kind.value}`", meaning.likely, ", ".join(option.value for option in meaning.options))
        for kind, meaning in DEVIATIONS.items()
    ]
    return table(("deviation", "likely meaning", "safe options"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"roll-gates": roll_gates, "roll-deviations": roll_deviations}
