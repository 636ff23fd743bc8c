"""The advice for people who run brokers: which rolls, in which order, and how far one could still go back.

A cluster with ZooKeeper is rolled twice: first the release, with the protocol held back, then the protocol. One in
KRaft mode is rolled once, and then its metadata.version is raised (KIP-778). Brokers of 4.0 and later have no
ZooKeeper, so a cluster that has one goes over a bridge: to 3.9, there to KRaft, and on.

Every step names its source. What real brokers do about it is in ``tests/integration/test_broker_upgrade.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from upgrade.brokers import kraft, zookeeper
from upgrade.brokers.advice import BrokerAdvice, BrokerStep, NoWay
from upgrade.brokers.migration import migration_steps
from upgrade.brokers.notes import notes_between
from upgrade.brokers.versions import OLDEST_KRAFT, BrokerRelease, Mode, ProtocolVersion, broker_release
from upgrade.errors import UpgradeError

BRIDGE: Final = broker_release("3.9.2")
"""The newest release that has both modes, and that knows every level of KRaft.

"Clusters in ZooKeeper mode have to be migrated to KRaft mode before they can be upgraded to 4.0.x", and "for clusters
in KRaft mode with versions older than 3.3.x, we recommend upgrading to 3.9.x before" (upgrade notes of 4.0).
"""
_STRAIGHT_TO_4: Final = (3, 3)


def advise_brokers(
    origin: BrokerRelease, target: BrokerRelease, mode: Mode | None = None, level: ProtocolVersion | None = None
) -> BrokerAdvice:
    """Return the way of a cluster from one release to another, up or down.

    ``mode`` is the one it runs in now, needed where ``origin`` has both. ``level`` is its inter.broker.protocol.version
    or metadata.version now; not given, it is the newest of ``origin``. ``UpgradeError`` for what cannot be asked.

    >>> advice = advise_brokers(broker_release("2.0"), broker_release("2.8"))
    >>> [step.settings["inter.broker.protocol.version"] for step in advice.steps]
    ['2.0', '2.8']
    """
    mode = _mode(origin, mode)
    level = level or origin.newest
    _check(origin, target, mode, level)
    up = origin.number <= target.number
    try:
        steps = tuple(_up(origin, target, mode, level) if up else _down(origin, target, mode, level))
    except NoWay as reason:
        return BrokerAdvice(origin.name, target.name, mode, (), (str(reason),))
    return BrokerAdvice(origin.name, target.name, mode, steps, tuple(notes_between(origin, target, mode)))


def _mode(origin: BrokerRelease, mode: Mode | None) -> Mode:
    if mode is None and len(origin.modes) > 1:
        raise UpgradeError(f"{origin} runs with ZooKeeper or in KRaft mode, and the way differs: say which")
    if mode and mode not in origin.modes:
        has = {Mode.ZOOKEEPER: "no ZooKeeper mode", Mode.KRAFT: "no KRaft mode that can be upgraded"}
        raise UpgradeError(f"{origin} has {has[mode]}")
    return mode or origin.modes[0]


def _check(origin: BrokerRelease, target: BrokerRelease, mode: Mode, level: ProtocolVersion) -> None:
    oldest = origin.oldest if mode is Mode.ZOOKEEPER else max(origin.oldest, OLDEST_KRAFT)
    if not oldest <= level <= origin.newest:
        raise UpgradeError(f"a cluster of {origin} can be at {oldest} to {origin.newest}, not at {level}")
    if target.number < origin.number and mode not in target.modes:
        raise UpgradeError(f"{target} has no KRaft mode to go back to")
    if origin.number == target.number and level == origin.newest:
        raise UpgradeError(f"{origin} is already {target}: nothing to do")


def _up(origin: BrokerRelease, target: BrokerRelease, mode: Mode, level: ProtocolVersion) -> Iterator[BrokerStep]:
    if mode in target.modes:
        yield from _kraft_up(origin, target, level) if mode is Mode.KRAFT else zookeeper.up(origin, target, level)
        return
    bridge = origin if origin.line == BRIDGE.line else BRIDGE
    yield from zookeeper.up(origin, bridge, level)
    yield from migration_steps(bridge)
    yield from kraft.up(bridge, target, bridge.newest)


def _kraft_up(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    if level < target.oldest:
        before = BRIDGE if origin.number < _STRAIGHT_TO_4 else origin
        yield from kraft.up(origin, before, level)
        yield kraft.snapshot(before, target)
        origin, level = before, before.newest
    yield from kraft.up(origin, target, level)


def _down(origin: BrokerRelease, target: BrokerRelease, mode: Mode, level: ProtocolVersion) -> Iterator[BrokerStep]:
    return kraft.down(origin, target, level) if mode is Mode.KRAFT else zookeeper.down(origin, target, level)
