"""The hazards of upgrades beyond the metadata of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from blocks.markdown import table
from upgrade.hazards import HAZARDS


def hazards() -> str:
    """List every row of the table."""
    head = ("about", "from", "to", "applies to", "symptom", "remedy", "source", "evidence")
    return table(
        head,
        (
            (
                *(row.about.value, row.origins, row.targets, row.applies_to, row.words, row.remedy, row.source),
                row.evidence,
            )
            for row in HAZARDS
        ),
    )


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"hazards": hazards}
