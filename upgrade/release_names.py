"""The spellings of a release that users have at hand, and the release of Kafka that each stands for.

A spelling is a version of Kafka (``v3.9``, ``3.9.0-SNAPSHOT``, ``2.0.x``) or of Confluent Platform (``cp-7.6``,
``7.6.1-ccs``). Whether the release exists is the question of ``upgrade.releases``.
Source of the table: "Supported Versions and Interoperability" in the documentation of Confluent Platform.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

CONFLUENT_PLATFORM: Final[Mapping[str, str]] = {
    "3.0": "0.10.0",
    "3.1": "0.10.1",
    "3.2": "0.10.2",
    "3.3": "0.11.0",
    "4.0": "1.0",
    "4.1": "1.1",
    **{f"5.{minor}": f"2.{minor}" for minor in range(6)},
    "6.0": "2.6",
    "6.1": "2.7",
    "6.2": "2.8",
    **{f"7.{minor}": f"3.{minor}" for minor in range(10)},
    **{f"8.{minor}": f"4.{minor}" for minor in range(4)},
}
"""The lines of Confluent Platform, and the line of Kafka in each."""

_SPELLING: Final = re.compile(
    r"""
    (?P<prefix> v | (?:cp|confluent) [- ]? )?
    (?P<number> [0-9]{1,9} (?:\.[0-9]{1,9})+ )  # int() refuses thousands of digits
    (?P<suffix> \.x | -SNAPSHOT | -rc-?[0-9]+ | -cc?[es] | -[0-9]+-cc?[es] )?
    """,
    re.VERBOSE | re.IGNORECASE,
)


@frozen
class ReleaseName:
    """A release of Kafka as numbers (``3.9.2``) or as a line (``3.9``), and what its spelling left out."""

    number: str
    note: str = ""
    """How the spelling was understood; empty if it is Kafka's own."""


def parse_release_name(text: str) -> ReleaseName | None:
    """Read a spelling; None if it is not a version number, or a line of Confluent Platform that the table lacks.

    >>> parse_release_name("v3.9").number, parse_release_name("3.9.0-SNAPSHOT").number
    ('3.9', '3.9.0')
    >>> parse_release_name("7.6.1-ccs")
    ReleaseName(number='3.6', note='Confluent Platform 7.6 contains Kafka 3.6')
    """
    found = _SPELLING.fullmatch(text.strip())
    if found is None:
        return None
    prefix, number, suffix = (found[name] or "" for name in ("prefix", "number", "suffix"))
    if prefix[:1].lower() == "c" or re.search("-cc?[es]$", suffix, re.IGNORECASE):
        return _of_confluent_platform(number)
    if suffix.upper().startswith(("-SNAPSHOT", "-RC")):
        return ReleaseName(number, f"{suffix[1:]} of {number} is treated as the release {number}")
    return ReleaseName(number)


def confluent_hint(number: str) -> str:
    """Return the spelling of the Confluent Platform line that has this number; empty if there is none.

    >>> confluent_hint("7.6.1")
    'cp-7.6 (Kafka 3.6)'
    """
    line = _line_of(number)
    return f"cp-{line} (Kafka {CONFLUENT_PLATFORM[line]})" if line in CONFLUENT_PLATFORM else ""


def _line_of(number: str) -> str:
    return ".".join(number.split(".")[:2])


def _of_confluent_platform(number: str) -> ReleaseName | None:
    """The patch level is Confluent's own, so a release stands for its line of Kafka."""
    kafka = CONFLUENT_PLATFORM.get(line := _line_of(number))
    return ReleaseName(kafka, f"Confluent Platform {line} contains Kafka {kafka}") if kafka else None
