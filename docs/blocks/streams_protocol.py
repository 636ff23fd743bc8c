"""The change between the classic and the streams protocol: requirements, configurations, settings, what survives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from blocks.markdown import NOT_THERE, number, table
from streams_assignor.upgrade.group_configurations import GROUP_CONFIGURATIONS, IGNORED_SETTINGS, OTHER_CONFIGURATIONS
from streams_assignor.upgrade.streams_protocol import REQUIREMENTS, SURVIVALS, TO_STREAMS


def requirements() -> str:
    """List what must hold before a group has the streams protocol."""
    head = ("requirement", "what must hold", "symptom", "remedy", "source", "evidence")
    rows = ((f"`{row.name}`", row.condition, row.symptom, row.remedy, row.source, row.evidence) for row in REQUIREMENTS)
    return table(head, rows)


def configurations() -> str:
    """List the configurations of a group, with the limits that brokers have by default."""
    head = ("group configuration", "since", "replaces", "default", "least", "greatest", "limits set by")
    return table(
        head,
        (
            (
                f"`{row.name}`",
                number(row.since),
                f"`{row.replaces}`" if row.replaces else "internal" if row.is_internal else NOT_THERE,
                row.default,
                row.minimum,
                NOT_THERE if row.maximum is None else row.maximum,
                ", ".join(f"`{name}`" for name in (row.minimum_name, row.maximum_name) if name) or NOT_THERE,
            )
            for row in GROUP_CONFIGURATIONS
        ),
    )


def other_configurations() -> str:
    """List the configurations of a group without a number."""
    return table(
        ("group configuration", "what it is"), ((f"`{name}`", text) for name, text in OTHER_CONFIGURATIONS.items())
    )


def hazards() -> str:
    """List what a change to the streams protocol meets beside the requirements."""
    head = ("hazard", "severity", "concerns", "symptom", "remedy", "source", "evidence")
    rows = (
        (f"`{row.name}`", row.severity.value, row.applies_to, row.symptom, row.remedy, row.source, row.evidence)
        for row in TO_STREAMS
    )
    return table(head, rows)


def ignored() -> str:
    """List the settings without effect."""
    rows = (
        (f"`{row.name}*`" if row.name.endswith(".") else f"`{row.name}`", row.consequence) for row in IGNORED_SETTINGS
    )
    return table(("setting of members", "with the streams protocol"), rows)


def survivals() -> str:
    """List what a group keeps."""
    rows = ((row.what, "yes" if row.survives else "no", row.how, row.evidence) for row in SURVIVALS)
    return table(("what", "survives", "how", "evidence"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "requirements of the streams protocol": requirements,
    "configurations of a streams group": configurations,
    "other configurations of a streams group": other_configurations,
    "hazards of the streams protocol": hazards,
    "settings that the streams protocol ignores": ignored,
    "what survives a change of the protocol": survivals,
}
