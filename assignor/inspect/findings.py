"""What is remarkable about a group: a table of what is looked for, and the looks themselves by their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assignor.inspect import about_answers, about_group, about_versions
from assignor.inspect.scene import Finding, Kind, Look, Scene

LOOKS: Final[Mapping[str, tuple[Kind, Look]]] = {
    "not-classic": (Kind.NOTICE, about_group.not_classic),
    "not-streams": (Kind.NOTICE, about_group.not_streams),
    "unsettled": (Kind.NOTICE, about_group.unsettled),
    "unreadable": (Kind.PROBLEM, about_group.unreadable),
    "cannot-read": (Kind.PROBLEM, about_versions.cannot_read),
    "cannot-probe": (Kind.PROBLEM, about_versions.cannot_probe),
    "may-not-probe": (Kind.NOTICE, about_versions.may_not_probe),
    "upgrade-from": (Kind.NOTICE, about_versions.upgrade_from),
    "maybe-upgrade-from": (Kind.NOTICE, about_versions.maybe_upgrade_from),
    "could-speak-more": (Kind.PROBLEM, about_versions.could_speak_more),
    "mixed-protocols": (Kind.PROBLEM, about_versions.mixed_protocols),
    "same-process": (Kind.PROBLEM, about_group.same_process),
    "error-code": (Kind.PROBLEM, about_answers.errors),
    "no-assignment": (Kind.PROBLEM, about_answers.no_assignment),
    "owned-twice": (Kind.PROBLEM, about_answers.owned_twice),
    "owned-by-nobody": (Kind.PROBLEM, about_answers.owned_by_nobody),
    "moving": (Kind.NOTICE, about_answers.moving),
    "large": (Kind.NOTICE, about_group.large),
    "too-large": (Kind.PROBLEM, about_group.too_large),
}
"""What is looked for, by code."""


def find(scene: Scene) -> tuple[Finding, ...]:
    """Look for everything; problems come first."""
    found = [
        Finding(kind, code, said.text, tuple(said.members))
        for code, (kind, look) in LOOKS.items()
        for said in look(scene)
    ]
    return tuple(sorted(found, key=lambda finding: finding.kind is not Kind.PROBLEM))
