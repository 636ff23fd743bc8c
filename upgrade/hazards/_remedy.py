"""Remedies as data: the change that the remedy of a hazard changes, and where in a plan."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.upgrade.hazards._application import Application
from streams_assignor.upgrade.hazards.conditions import EVERYWHERE

YOURS: Final = "corrected"
"""A value that only the operator knows."""


class RemedyKind(enum.Enum):
    """The kind of a change. The values are those of ``plan --json``."""

    EDIT = "edit"
    """The configuration of the new members, in the bounce that starts them."""
    EDIT_FIRST = "edit-first"
    """The same, in a bounce of its own while all members are still of the old release."""
    ROUND = "round"
    """The same, in a bounce of its own on one of some releases: that of the group, or one between."""
    RELEASE = "release"
    """Another release than TO."""
    CODE = "code"
    """The code of the application."""
    OUTSIDE = "outside"
    """Brokers, Java, machines, topics or state directories: what no file of the application has."""


@frozen
class Remedy:
    """One change."""

    kind: RemedyKind
    key: str = ""
    """The key of the configuration."""
    value: str | None = None
    """Its value; ``YOURS``: to be chosen; None: the key is removed."""
    instead_of: str = ""
    """The value with which it is needed; empty: any."""
    since: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    """With ``ROUND``: the releases on which it is done."""

    @property
    def is_edit(self) -> bool:
        """Whether it changes the configuration."""
        return bool(self.key)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; key and value only of a change of the configuration."""
        return {"kind": self.kind.value} | ({"key": self.key, "value": self.value} if self.is_edit else {})

    def __str__(self) -> str:
        """Name the change of the configuration.

        >>> print(edit("retries"), edit("state.dir", "/data"), edit("application.server", YOURS), sep=", ")
        without retries, state.dir=/data, application.server corrected
        """
        if self.value == YOURS:
            return f"{self.key} {YOURS}"
        return f"without {self.key}" if self.value is None else f"{self.key}={self.value}"


def edit(key: str, value: str | None = None, *, instead_of: str = "") -> Remedy:
    """Return the remedy that a key has a value, or is removed, in the bounce to the new release."""
    return Remedy(RemedyKind.EDIT, key, value, instead_of)


def edit_first(key: str, value: str | None = None) -> Remedy:
    """Return the same while all members are of the old release."""
    return Remedy(RemedyKind.EDIT_FIRST, key, value)


def edit_on(since: tuple[int, ...], before: tuple[int, ...], key: str, value: str, *, instead_of: str = "") -> Remedy:
    """Return the same in a bounce on one of some releases."""
    return Remedy(RemedyKind.ROUND, key, value, instead_of, since, before)


def resolve_remedy(remedy: Remedy, applications: Iterable[Application]) -> Iterator[Remedy]:
    """Yield a change of the configuration for each name that the key has in the files of an application."""
    if not remedy.is_edit:
        yield remedy
        return
    prefix = next((prefix for prefix in EVERYWHERE if prefix and remedy.key.startswith(prefix)), "")
    names = [each + remedy.key.removeprefix(prefix) for each in EVERYWHERE]
    given = [
        (name, setting.value.strip()) for each in applications for name in names for setting in each.settings_of([name])
    ]
    if not remedy.instead_of or any(value == remedy.instead_of for _, value in given):
        yield from (evolve(remedy, key=name) for name in dict.fromkeys(name for name, _ in given) or (remedy.key,))
