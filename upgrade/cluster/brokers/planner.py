"""The upgrade advice for operators of brokers: the rolls in their order, each with its way back.

A cluster with ZooKeeper is rolled twice: first the release, with the protocol pinned, then the protocol. A cluster in
KRaft mode is rolled once, and then its metadata.version is raised (KIP-778). Brokers of 4.0 and later have no
ZooKeeper, so such a cluster is upgraded to a bridge release (3.9), migrated to KRaft there, and upgraded again.

Every step names its source. ``tests/lab/integration/test_broker_upgrade.py`` runs the steps with real brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from streams_assignor.upgrade.cluster.brokers import _zookeeper, kraft
from streams_assignor.upgrade.cluster.brokers._known_bugs import bugs_met
from streams_assignor.upgrade.cluster.brokers._upgrade_notes import notes_read, upgrade_notes
from streams_assignor.upgrade.cluster.brokers._zookeeper_migration import migration_steps
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    OLDEST_KRAFT,
    BrokerRelease,
    MetadataMode,
    ProtocolVersion,
    broker_release,
)
from streams_assignor.upgrade.cluster.brokers.steps import (
    BrokerAdvice,
    BrokerStep,
    NoUpgradePath,
)
from streams_assignor.upgrade.errors import UpgradeError

BRIDGE_RELEASE: Final = broker_release("3.9.2")
"""The bridge release: the newest release with both modes. It supports every level of KRaft.

"Clusters in ZooKeeper mode have to be migrated to KRaft mode before they can be upgraded to 4.0.x", and "for clusters
in KRaft mode with versions older than 3.3.x, we recommend upgrading to 3.9.x before" (upgrade notes of 4.0).
"""
_STRAIGHT_TO_4: Final = (3, 3)


def advise_brokers(
    origin: BrokerRelease,
    target: BrokerRelease,
    mode: MetadataMode | None = None,
    level: ProtocolVersion | None = None,
    *,
    level_unchanged: bool = False,
    to_kraft: bool = False,
) -> BrokerAdvice:
    """Return the steps that take a cluster from one release to another, up or down.

    Args:
        origin: The release that every broker runs now.
        target: The release to reach.
        mode: The mode that the cluster runs in now; required if ``origin`` has both.
        level: Its inter.broker.protocol.version or metadata.version now; None: the newest of ``origin``.
        level_unchanged: The level never was another one, or (in KRaft mode) every node has taken a snapshot of the
            metadata since it was. A release runs on a log if it can read all of it: the present level alone does not
            show what was written.
        to_kraft: The cluster has ZooKeeper now, and is to be in KRaft mode afterwards, also if ``target`` has both.

    Returns:
        The advice; without steps if there is no way.

    Raises:
        UpgradeError: The mode is missing, or ``origin`` cannot have this mode or level, or nothing would change.

    >>> advice = advise_brokers(broker_release("2.0"), broker_release("2.8"))
    >>> [step.settings["inter.broker.protocol.version"] for step in advice.steps]
    ['2.0', '2.8']
    """
    mode = _resolve_mode(origin, mode)
    level = level or origin.newest
    to_kraft = to_kraft and mode in target.modes
    if to_kraft and target.line != BRIDGE_RELEASE.line:
        raise UpgradeError(
            f"the migration from ZooKeeper to KRaft is planned at {BRIDGE_RELEASE.line}, not at {target}: "
            f"plan --brokers {origin} {BRIDGE_RELEASE} --zookeeper --kraft"
        )
    _check_request(origin, target, mode, level, to_kraft=to_kraft)
    up = origin.number <= target.number
    try:
        steps = tuple(
            _migration(origin, target, level)
            if to_kraft
            else _upgrade_steps(origin, target, mode, level, level_unchanged)
            if up
            else _downgrade_steps(origin, target, mode, level, level_unchanged)
        )
    except NoUpgradePath as reason:
        why = (str(reason), *origin.reading, *target.reading)
        read = notes_read(origin, target, mode)
        return BrokerAdvice(origin.name, target.name, mode, (), why, _assumptions(origin, target), read)
    assumed = _assumptions(origin, target)
    concerned = {step.release for step in steps} if origin.assumed_like else {target.name} if assumed else set()
    steps = tuple(
        evolve(step, source=f"none ({' and '.join(assumed)})") if step.release in concerned else step for step in steps
    )
    ends = {release.name: release for release in (origin, target)}  # one that is assumed is not in the table
    rolled = dict.fromkeys(step.release for step in steps if step.rolls)
    rolls = [ends[name] if name in ends else broker_release(name) for name in rolled]
    notes = (
        *dict.fromkeys((*origin.reading, *target.reading)),
        *upgrade_notes(origin, target, mode),
        *bugs_met(origin, rolls, mode),
    )
    return BrokerAdvice(origin.name, target.name, mode, steps, notes, assumed, notes_read(origin, target, mode))


def _assumptions(*releases: BrokerRelease) -> tuple[str, ...]:
    return tuple(
        f"{release} is assumed to behave like {release.assumed_like}" for release in releases if release.assumed_like
    )


def _resolve_mode(origin: BrokerRelease, mode: MetadataMode | None) -> MetadataMode:
    if mode is None and len(origin.modes) > 1:
        raise UpgradeError(f"{origin} runs with ZooKeeper or in KRaft mode, and the way differs: say which")
    if mode and mode not in origin.modes:
        has = {MetadataMode.ZOOKEEPER: "no ZooKeeper mode", MetadataMode.KRAFT: "no KRaft mode that can be upgraded"}
        other = {MetadataMode.ZOOKEEPER: "in KRaft mode", MetadataMode.KRAFT: "with ZooKeeper"}
        raise UpgradeError(f"{origin} has {has[mode]}: its brokers run {other[mode]}")
    return mode or origin.modes[0]


def _check_request(
    origin: BrokerRelease, target: BrokerRelease, mode: MetadataMode, level: ProtocolVersion, *, to_kraft: bool
) -> None:
    oldest = origin.oldest if mode is MetadataMode.ZOOKEEPER else max(origin.oldest, OLDEST_KRAFT)
    if not oldest <= level <= origin.newest:
        raise UpgradeError(f"a cluster of {origin} can be at {oldest} to {origin.newest}, not at {level}")
    if target.number < origin.number and mode not in target.modes:
        raise UpgradeError(f"{target} has no KRaft mode to go back to")
    if origin.number == target.number and level == origin.newest and not to_kraft:
        raise UpgradeError(f"{origin} is already {target}: nothing to do")


def _upgrade_steps(
    origin: BrokerRelease, target: BrokerRelease, mode: MetadataMode, level: ProtocolVersion, level_unchanged: bool
) -> Iterator[BrokerStep]:
    if mode in target.modes:
        yield from (
            _kraft_upgrade_steps(origin, target, level, level_unchanged)
            if mode is MetadataMode.KRAFT
            else _zookeeper.upgrade_steps(origin, target, level)
        )
        return
    bridge = origin if origin.line == BRIDGE_RELEASE.line else BRIDGE_RELEASE
    yield from _migration(origin, bridge, level)
    yield from kraft.upgrade_steps(bridge, target, bridge.newest)


def _migration(origin: BrokerRelease, bridge: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the steps of brokers with ZooKeeper to a bridge release, and there to KRaft."""
    yield from _zookeeper.upgrade_steps(origin, bridge, level)
    yield from migration_steps(bridge)


def _kraft_upgrade_steps(
    origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion, level_unchanged: bool
) -> Iterator[BrokerStep]:
    if level < target.oldest:
        before = BRIDGE_RELEASE if origin.number < _STRAIGHT_TO_4 else origin
        yield from kraft.upgrade_steps(origin, before, level)
        yield kraft.snapshot_step(before, target)
        origin, level = before, before.newest
    elif origin.oldest < target.oldest and not level_unchanged:
        yield kraft.snapshot_since_change_step(origin, f"nodes of {target} support no level below {target.oldest}")
    yield from kraft.upgrade_steps(origin, target, level)


def _downgrade_steps(
    origin: BrokerRelease, target: BrokerRelease, mode: MetadataMode, level: ProtocolVersion, level_unchanged: bool
) -> Iterator[BrokerStep]:
    downgrade_steps = kraft.downgrade_steps if mode is MetadataMode.KRAFT else _zookeeper.downgrade_steps
    yield from downgrade_steps(origin, target, level, level_unchanged=level_unchanged)
