"""The checked and the unchecked subjects of a plan: the last line of every plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.upgrade.hazards._guide_entries import Guide, entries_between
from streams_assignor.upgrade.releases import Release

_APPLICATION: Final = "your code and configuration"
_OF_METADATA: Final = ("metadata versions", "rebalance protocols", "upgrade.from")
_CHECKED: Final = (*_OF_METADATA, "record formats")
_TOPOLOGY: Final = "whether the topology stays the same"
_NOT_CHECKED: Final = (
    _APPLICATION,
    _TOPOLOGY,
    "your brokers, Java, build, agents and metrics libraries",
    "how long stores take to restore",
)
_GUIDES: Final = {Guide.STREAMS: "Streams", Guide.UPGRADE: "clients and brokers"}


@frozen
class ReadGuides:
    """Which of Kafka's upgrade guides were read for a plan, and what they have."""

    after: str
    """The older release: what its guide says, both releases have."""
    up_to: str
    entries: int
    """Their entries about Streams applications and rolling upgrades: each has a row, a rule or a reason."""
    known_bugs: int
    """The fixed bugs of Kafka Streams with which both releases were compared."""
    partly_read: tuple[str, ...] = ()
    """The guides of which only the beginning was read."""

    @classmethod
    def between(cls, origin: Release, target: Release) -> ReadGuides | None:
        """Return the guides between two releases, in either direction; None if one of them is not of Kafka."""
        if not (origin.kafka_name and target.kafka_name):
            return None
        older, newer = sorted((origin, target), key=lambda release: release.number)
        passed = entries_between(older, newer)
        partly_read = tuple(f"{_GUIDES[guide]} of {line}" for line, guide in passed.partly_read)
        return cls(older.name, newer.name, len(passed.entries), passed.known_bugs, partly_read)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "after": self.after,
            "up_to": self.up_to,
            "entries": self.entries,
            "partly_read": list(self.partly_read),
            "known_bugs": self.known_bugs,
        }

    def __str__(self) -> str:
        guides = " and of ".join(_GUIDES.values())
        entries = "1 entry" if self.entries == 1 else f"{self.entries or 'no'} entries"
        limits = "".join(f", of that of {release} only the beginning" for release in self.partly_read)
        return (
            f"Kafka's upgrade guides of {guides} after {self.after} up to {self.up_to} ({entries}{limits}), "
            f"{self.known_bugs} known bugs"
        )


@frozen
class CheckedScope:
    """Two lists in words."""

    checked: tuple[str, ...]
    not_checked: tuple[str, ...]
    """The facts that no plan can know."""

    def in_streams_group(self) -> CheckedScope:
        """Return the scope of a plan for a group whose members exchange no metadata."""
        return evolve(self, checked=tuple(text for text in self.checked if text not in _OF_METADATA))

    def with_topologies(self) -> CheckedScope:
        """Return the scope of a plan for which two topologies were compared."""
        open_questions = tuple(text for text in self.not_checked if text != _TOPOLOGY)
        return evolve(self, checked=(*self.checked, "task ids and changelogs"), not_checked=open_questions)

    def with_application(self, *, configuration: bool, code: bool) -> CheckedScope:
        """Return the scope of a plan for which files of the application were read."""
        if not self.checked:  # a release of which something was assumed
            return self
        parts = {"your configuration": configuration, "the references of your code": code}
        left = {(True, False): "your code", (False, True): "your configuration", (True, True): "what your code does"}
        instead = left.get((configuration, code), _APPLICATION)
        return evolve(
            self,
            checked=(*self.checked, *(name for name, was_read in parts.items() if was_read)),
            not_checked=tuple(instead if text == _APPLICATION else text for text in self.not_checked),
        )

    def assuming(self, assumptions: Sequence[str]) -> CheckedScope:
        """Return the scope of a plan for releases of which something was assumed: nothing of them was checked."""
        if not assumptions:
            return self
        return CheckedScope((), (*assumptions, *self.checked, *self.not_checked))

    def as_json(self) -> dict[str, list[str]]:
        """Return plain values."""
        return {"checked": list(self.checked), "not_checked": list(self.not_checked)}

    @property
    def summary(self) -> str:
        """The same for a terminal, with the number of checked subjects."""
        return str(evolve(self, checked=(f"{len(self.checked)} subjects (-v)",))) if self.checked else str(self)

    def __str__(self) -> str:
        parts = {"checked": self.checked, "not checked": self.not_checked}
        text = "; ".join(f"{name}: {', '.join(words)}" for name, words in parts.items() if words)
        return f"{text} (no plan can know these)" if self.checked else text


def scope_of(guides: ReadGuides | None) -> CheckedScope:
    """Say what a plan was checked for: the rules of the protocol, and what the guides name."""
    return CheckedScope((*_CHECKED, *([str(guides)] if guides else [])), _NOT_CHECKED)
