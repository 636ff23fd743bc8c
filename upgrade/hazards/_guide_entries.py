"""Every entry of Kafka's upgrade guides that concerns Streams or rolling upgrades, and what this package has for it.

The entries are rows of ``guide_entries.toml``, release by release, in the order of the guides.
Sources: ``docs/streams/upgrade-guide`` and ``docs/upgrade`` (``docs/getting-started/upgrade``) of Kafka's releases.
"""

from __future__ import annotations

import enum
import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.hazards._known_bugs import KNOWN_BUGS
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.upgrade_from import line_number

_TABLE: Final = "guide_entries.toml"


class Guide(enum.Enum):
    """A page of Kafka's documentation. The values are the tables of ``guide_entries.toml``."""

    STREAMS = "streams"
    """The upgrade guide of Kafka Streams."""
    UPGRADE = "upgrade"
    """The guide of brokers and clients: entries about Streams applications and about bounces."""


class Rule(enum.Enum):
    """Rules that entries name besides the rows of hazards, with their place."""

    COOPERATIVE = "streams_assignor.upgrade.plans.Obstacle.PROTOCOL"
    VERSION_PROBING = "streams_assignor.upgrade.plans.Obstacle.VERSION"
    OVERSHOT_VERSIONS = "streams_assignor.upgrade.plans.Obstacle.OVERSHOT"
    FOREIGN_KEY_JOINS = "streams_assignor.upgrade.plans.Obstacle.FOREIGN_KEY_JOINS"
    REPARTITIONED_TABLES = "streams_assignor.upgrade.plans.Obstacle.REPARTITIONING"
    UPGRADE_FROM = "streams_assignor.upgrade.release_behaviour.UPGRADE_FROM"
    KAFKA_14646_MESSAGES = "streams_assignor.upgrade._messages.MessageCode.KAFKA_14646_VALUE"
    RELEASE_BUGS = "streams_assignor.upgrade._warnings._RELEASE_BUGS"
    RELEASE_NOTES = "streams_assignor.upgrade.releases.Release.note"
    KEPT_PROCESS_IDS = "streams_assignor.upgrade.release_behaviour.ReleaseBehaviour.keeps_process_id"
    STREAMS_PROTOCOL = "streams_assignor.upgrade.streams_protocol"
    BROKER_NOTES = "streams_assignor.upgrade.cluster.brokers._upgrade_notes.UPGRADE_NOTES"
    BROKER_STEPS = "streams_assignor.upgrade.cluster.brokers.planner"

    @property
    def label(self) -> str:
        """The name in ``guide_entries.toml``."""
        return self.name.lower().replace("_", "-")


@frozen
class GuideEntry:
    """One entry: it has hazards or rules, or a reason why it needs none."""

    release: str
    """The release line to which the entry belongs, or a patch release of it."""
    guide: Guide
    summary: str
    rows: tuple[str, ...]
    """The names of hazards, and the labels of rules."""
    reason: str
    """Why no row is needed; empty if there are rows."""


@frozen
class PassedEntries:
    """The entries that an upgrade passes, and the number of known bugs of the plan."""

    entries: tuple[GuideEntry, ...]
    known_bugs: int
    partly_read: tuple[tuple[str, Guide], ...] = ()
    """The guides of which only the beginning was read, with their release lines."""


PARTLY_READ: Final = (("4.4", Guide.UPGRADE),)
"""Guides whose whole text could not be had."""


@cache
def guide_entries() -> tuple[GuideEntry, ...]:
    """Return every entry: guide by guide, the oldest release first."""
    text = files("streams_assignor.upgrade.hazards").joinpath(_TABLE).read_text(encoding="utf-8")
    return tuple(
        GuideEntry(release, Guide(guide), summary, *((), answer) if isinstance(answer, str) else (tuple(answer), ""))
        for guide, releases in tomllib.loads(text).items()
        for release, entries in releases.items()
        for summary, answer in entries
    )


def entries_between(origin: Release, target: Release) -> PassedEntries:
    """Return the entries of the releases after the older of the two up to the newer one.

    Releases of our own have no guide. Every known bug is compared with both releases.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> found = entries_between(release_named("4.2.0"), release_named("4.3.1"))
    >>> sorted({each.release for each in found.entries})
    ['4.3']
    """
    older, newer = sorted((origin, target), key=lambda release: release.number)
    if not (older.kafka_name and newer.kafka_name):
        return PassedEntries((), 0)

    def is_passed(release: str) -> bool:
        return older.number < line_number(release) <= newer.number

    return PassedEntries(
        tuple(entry for entry in guide_entries() if is_passed(entry.release)),
        len(KNOWN_BUGS),
        tuple(guide for guide in PARTLY_READ if is_passed(guide[0])),
    )
