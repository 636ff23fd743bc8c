"""A live group and its brokers before a change of the protocol: one line for each thing that was looked at.

It is pure: a command reads the cluster and passes what it found.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from streams_assignor.upgrade.application.live_group import LiveGroup
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata
from streams_assignor.upgrade.group_configurations import AVAILABLE
from streams_assignor.upgrade.hazards import GroupFacts
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.streams_protocol._facts import (
    STATIC_MEMBERSHIP,
    STREAMS_VERSION,
    STREAMS_VERSION_LEVEL,
    Protocol,
)
from streams_assignor.upgrade.streams_protocol._settings import main_consumer_setting
from streams_assignor.upgrade.streams_protocol.requirements import Facts
from streams_assignor.upgrade.upgrade_from import line_number

_EMPTY: Final = "Empty"
_STABLE: Final = "Stable"
STREAMS_PROTOCOL_NAME: Final = "stream"
"""The protocol name of classic members of Kafka Streams; a broker shows it of a stable group."""

_LINES: Final = {level.number: line_number(level.line) for level in NEWEST_CATALOG.levels[METADATA_VERSION]}
"""The release line of each level of ``metadata.version``, the unreleased one included."""


class Level(enum.Enum):
    """The level of a line for the change."""

    OK = "ok"
    WARNING = "warning"
    BLOCKED = "blocked"


@frozen
class Check:
    """A line."""

    name: str
    """The subject; it stays the same when the wording changes."""
    level: Level
    text: str

    def as_json(self) -> dict[str, str]:
        """Return plain values."""
        return {"name": self.name, "level": self.level.value, "text": self.text}

    def __str__(self) -> str:
        return f"{self.level.value}: {self.text}"


Brokers = Mapping[int, FeatureMetadata]
"""The features of each broker, by its id."""


def refine(facts: Facts, name: str, brokers: Brokers, group: LiveGroup | None) -> Facts:
    """Return the facts with what the cluster shows of the group ``name``; a release that was given stays."""
    lines = [line_of(broker) for broker in brokers.values()]
    levels = [_finalized(broker) for broker in brokers.values()]
    known_levels = [level for level in levels if level is not None]
    oldest = facts.broker or (min(lines) if lines else None)
    members = group is not None and not group.error and bool(group.members)
    observed = GroupFacts(
        name,
        has_static_members=bool(group.static) if group and members else None,
        has_standbys=bool(group and members and group.standby_tasks)
        or None,  # not yet assigned, or one process has no room
        brokers=(oldest, max([oldest, *lines])) if oldest else None,
    )
    level = min(known_levels) if known_levels else None
    return evolve(facts, streams_version=level).with_group(observed)


def preflight(
    name: str, brokers: Brokers, group: LiveGroup | None, target: Release, protocol: Protocol, facts: Facts
) -> tuple[Check, ...]:
    """Judge brokers and group before a change to ``protocol`` with members of ``target``.

    The group is None if it does not exist; ``facts`` are the refined ones.
    """
    return (*_check_brokers(brokers, protocol, facts), *_check_group(name, group, target, protocol, facts))


def _check_brokers(brokers: Brokers, protocol: Protocol, facts: Facts) -> Iterator[Check]:
    blocks = Level.BLOCKED if protocol is Protocol.STREAMS else Level.WARNING
    for number, features in sorted(brokers.items()):
        line = line_of(features)
        shown = broker_text(number, features)
        if line < AVAILABLE:
            yield Check("broker-release", blocks, f"{shown}, which has no streams groups for production")
        else:
            yield Check("broker-release", Level.OK, shown)
    if protocol is Protocol.CLASSIC:
        return
    if facts.broker == AVAILABLE:
        text = "a broker is of 4.2: 4.2.0 has KAFKA-20254 and the same features as 4.2.1, so look at its release"
        yield Check("kafka-20254", Level.WARNING, f"{text} and give it with --broker-release")
    level = facts.streams_version
    if level is None:
        yield Check(STREAMS_VERSION, Level.WARNING, "no broker knows the finalized features now: try again")
    else:
        enough = level >= STREAMS_VERSION_LEVEL
        remedy = "" if enough else f": kafka-features upgrade --feature {STREAMS_VERSION}={STREAMS_VERSION_LEVEL}"
        yield Check(STREAMS_VERSION, Level.OK if enough else Level.BLOCKED, f"{STREAMS_VERSION} is {level}{remedy}")


def _check_group(
    name: str, group: LiveGroup | None, target: Release, protocol: Protocol, facts: Facts
) -> Iterator[Check]:
    if group is None or group.error:
        yield unseen_group(name, group.error if group else "")
        return
    yield _check_type(name, group, protocol)
    yield _check_state(group)
    if protocol is Protocol.CLASSIC:
        return
    if group.static:
        allowed = min(target.number, facts.broker or ()) >= STATIC_MEMBERSHIP
        why = "clients and brokers of 4.4 have them" if allowed else "they need clients and brokers of 4.4 or later"
        level = Level.OK if allowed else Level.BLOCKED
        yield Check("static-members", level, f"static members: {', '.join(group.static)}; {why}")
    elif group.members:
        yield Check("static-members", Level.OK, "no member is static")
    if group.warm_ups:
        text = f"{group.warm_ups} warm-up tasks now; a streams group has none, and a task moves at once"
        yield Check("warm-ups", Level.WARNING, text)
    if group.standby_tasks:
        yield _check_standbys(group.standby_tasks, facts)


def unseen_group(name: str, error: str) -> Check:
    """Return the line about a group that is not described; without an error it does not exist."""
    text = f"there is no group {name}, so it has no committed offsets: members begin where auto.offset.reset says"
    return Check("group", Level.WARNING, f"{name} cannot be described: {error}" if error else text)


def _check_type(name: str, group: LiveGroup, protocol: Protocol) -> Check:
    if group.type == protocol.value:
        return Check("group-type", Level.OK, f"{name} is a {group.type} group already")
    if group.type != protocol.other.value:
        return Check("group-type", Level.BLOCKED, f"{name} is a {group.type} group, expected {protocol.other.value}")
    if group.type == Protocol.CLASSIC.value and group.protocol not in ("", STREAMS_PROTOCOL_NAME):
        text = f"the members of {name} have the assignor {group.protocol}: they do not run Kafka Streams"
        return Check("group-type", Level.BLOCKED, text)
    return Check("group-type", Level.OK, f"{name} is a {group.type} group")


def _check_state(group: LiveGroup) -> Check:
    if group.state == _EMPTY:
        return Check("group-state", Level.OK, "the group is empty: it can change now")
    text = f"{group.state}, members: {len(group.members)}; all of them have to stop"
    return Check("group-state", Level.OK if group.state == _STABLE else Level.WARNING, text)


def _check_standbys(standbys: int, facts: Facts) -> Check:
    name = "num.standby.replicas"
    carried = any(main_consumer_setting(variant, name) for variant in facts.settings or ())
    if carried:
        return Check("standbys", Level.OK, f"{standbys} standby tasks now; the printed line keeps {name}")
    text = f"{standbys} standby tasks now, and they vanish unless streams.num.standby.replicas is set"
    return Check("standbys", Level.WARNING, f"{text}: give the settings of the members with --config")


def broker_text(number: int, features: FeatureMetadata) -> str:
    """Write what a broker shows of its release."""
    if METADATA_VERSION not in features.supported:
        return f"broker {number}: no {METADATA_VERSION}, as before 3.3, with ZooKeeper, or of another make"
    return f"broker {number}: features of {'.'.join(map(str, line_of(features)))}"


def line_of(features: FeatureMetadata) -> tuple[int, ...]:
    """Return the release line of a broker; of a level that is not known here, the oldest line or the newest."""
    level = features.supported.get(METADATA_VERSION, (0, 0))[1]
    return _LINES[min(max(level, min(_LINES)), max(_LINES))]


def _finalized(features: FeatureMetadata) -> int | None:
    return None if features.epoch is None else features.finalized.get(STREAMS_VERSION, 0)
