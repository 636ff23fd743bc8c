"""The rolls of a cluster with ZooKeeper: the release, then the protocol, then the message format if there is a new one.

A cluster that crosses both 2.4 and 3.6 stops in between, because no ZooKeeper serves brokers of both sides (KIP-902).
Source: Kafka's upgrade notes, unchanged since 0.10 ("Upgrading to ... from ...").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    BrokerRelease,
    ProtocolVersion,
    broker_release,
    version_named,
)
from streams_assignor.upgrade.cluster.brokers.steps import (
    BrokerStep,
    DowngradePath,
    DowngradeVerdict,
    NoUpgradePath,
    release_roll,
)
from streams_assignor.upgrade.errors import ConfigException

_CONSUMERS_READ_FORMAT_SINCE: Final = {1: "0.10.0", 2: "0.11.0"}
"""The first release whose consumers read a message format without conversion (upgrade notes)."""
_OFFSET_SCHEMA_CHANGE: Final = version_named("2.1-IV0")
_ZOOKEEPER_3_5_SINCE: Final = (2, 4)
_ZOOKEEPER_3_8_SINCE: Final = (3, 6)
_STOP: Final = broker_release("2.8.2")
"""A release whose ZooKeeper client (3.5.9) is served by ZooKeeper 3.4 and by 3.8; any from 2.4 to 2.8 would do."""


def upgrade_steps(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the steps to a newer release that still has ZooKeeper, from brokers that speak ``level``."""
    if needs_stop(origin, target):
        yield _binary_step(origin, _STOP, level, _pinned_settings(_STOP, level))
        yield _ensemble_step(origin, level)
        origin = _STOP
    pinned = _pinned_settings(target, level)
    if origin.number != target.number:
        yield _binary_step(origin, target, level, pinned) if level < target.newest else _patch_step(origin, target)
    if level < target.newest:
        new_format = target.newest.message_format > level.message_format
        format_later = LMF in pinned and new_format and target.number < (3,)
        kept = {LMF: pinned[LMF]} if format_later else {}
        yield _protocol_step(target, level, kept, remove=LMF in pinned and not kept)
        if format_later:
            yield _message_format_step(target, level)


def needs_stop(older: BrokerRelease, newer: BrokerRelease) -> bool:
    """Whether no ZooKeeper serves brokers of both releases.

    >>> [needs_stop(broker_release(older), broker_release("3.9")) for older in ("2.3", "2.4")]
    [True, False]
    """
    return older.number < _ZOOKEEPER_3_5_SINCE and newer.number >= _ZOOKEEPER_3_8_SINCE


def _ensemble_step(older: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    return BrokerStep(
        do="bounce every ZooKeeper server to a release from 3.5 on, one by one (3.8.3 or later for Kafka 3.8 and 3.9)",
        why="brokers from 3.6 on have the ZooKeeper client 3.8, which needs a server from 3.5 on; a server of 3.8 "
        f"does not serve brokers before 2.4, such as {older}",
        if_skipped="ZooKeeper 3.4 does not support brokers of 3.6 or later: they seem to work until topics change",
        release=_STOP.name,
        settings=_pinned_settings(_STOP, level),
        rolls=0,
        way_back=DowngradePath(
            DowngradeVerdict.OPEN, f"bounce every broker to {older} again, while no ZooKeeper server is of 3.8 or later"
        ),
        source="KIP-902, KAFKA-17434",
    )


def downgrade_steps(
    origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion, *, level_unchanged: bool
) -> Iterator[BrokerStep]:
    """Yield the step to an older release; ``NoUpgradePath`` if the protocol has been raised beyond it."""
    if level > target.newest:
        raise NoUpgradePath(
            f"the brokers use {level}, which {target} does not support; Kafka's notes rule out a downgrade once {IBP} "
            "has been raised (KIP-778: before 3.0 not supported, though for many versions it can often be done)"
        )
    if needs_stop(target, origin):
        raise NoUpgradePath(
            f"no ZooKeeper serves brokers of both {origin} and {target} (KIP-902): first go back to {_STOP} and to "
            "ZooKeeper 3.5 to 3.7, then plan from there"
        )
    if target.newest < origin.newest and not level_unchanged:
        yield _never_higher_step(origin, target)
    settings = _pinned_settings(target, level)
    yield release_roll(
        origin,
        target,
        set_first=_set_clause(settings),
        settings=settings,
        why=f"the brokers use {level}, which {target} supports",
        if_skipped="the cluster stays as it is",
        source=f"upgrade notes of {origin.line}: until the protocol is raised a downgrade is possible",
    )


def _never_higher_step(origin: BrokerRelease, target: BrokerRelease) -> BrokerStep:
    """Return the step before an older release, whose readers may meet what newer protocols have written."""
    return BrokerStep(
        do=f"make sure that {IBP} never was above {target.line} in this cluster, not for an hour (the history of the "
        "brokers' settings shows it, and --level-unchanged says so); else stop here: there is no way back",
        why="what brokers have written with a newer protocol stays in __consumer_offsets, __transaction_state and the "
        "partitions, whatever the protocol is now",
        if_skipped=f"brokers of {target} cannot load what a newer protocol has written",
        release=origin.name,
        rolls=0,
        way_back=DowngradePath(DowngradeVerdict.OPEN, "nothing has changed"),
        source="upgrade notes of Kafka: no downgrade once the protocol has been raised",
    )


def _pinned_settings(target: BrokerRelease, level: ProtocolVersion) -> dict[str, str]:
    """Return the settings with which brokers of ``target`` start and speak at most ``level``."""
    settings = {IBP: level.config_value} if level < target.newest else {}
    try:
        BrokerConfig.of(target, settings)
    except ConfigException:
        settings[LMF] = level.config_value
    return settings


def _set_clause(settings: Mapping[str, str], more: str = "") -> str:
    given = " and ".join(f"{key}={value}" for key, value in settings.items())
    return f"set {given} on every broker{more}, and " if given else ""


def _patch_step(origin: BrokerRelease, target: BrokerRelease) -> BrokerStep:
    return release_roll(
        origin,
        target,
        why=f"all releases of {target.line} use the same protocol",
        if_skipped="the cluster stays as it is",
        source="MetadataVersion (ApiVersion): one newest version for all releases of a line",
    )


def _binary_step(
    origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion, pinned: Mapping[str, str]
) -> BrokerStep:
    skipped = (
        f"if not set, the protocol is the release's newest, {target.newest}: the first broker of {target} uses it with "
        f"brokers of {origin}, which do not support it"
    )
    if LMF in pinned:
        skipped += f"; with {IBP} alone {target} does not start, because {LMF} would be its newest too"
    keep = "" if LMF in pinned else f" (and keep {LMF}, if it is set)"
    return release_roll(
        origin,
        target,
        set_first=_set_clause(pinned, keep),
        settings=pinned,
        why=f"the brokers still use {level}, which all of them support, and the stored data stays readable",
        if_skipped=skipped,
        source=f"upgrade notes of {target.line}, KIP-584 (motivation)",
    )


def _protocol_step(target: BrokerRelease, level: ProtocolVersion, kept: Mapping[str, str], remove: bool) -> BrokerStep:
    settings = {IBP: target.line, **kept}
    at_once = remove and target.number >= (3,)
    closed = f"no downgrade to an older release once brokers use {target.line}"
    if level < _OFFSET_SCHEMA_CHANGE <= target.newest:
        closed += "; brokers before 2.1 could not read the stored offsets"
    return BrokerStep(
        do=f"when the cluster has proved itself, set {IBP}={target.line}{f' (and remove {LMF})' if remove else ''} on "
        "every broker, and bounce them, one by one",
        why="every broker supports it now, and its new features are enabled"
        + ("; from 3.0 on records are then written in the newest format at once" if at_once else ""),
        if_skipped=f"the cluster still uses {level}, without the features of newer protocols",
        release=target.name,
        settings=settings,
        way_back=DowngradePath(DowngradeVerdict.CLOSED, closed),
        source=f"upgrade notes of {target.line}, KIP-778 (background)" + (", KIP-724" if at_once else ""),
    )


def _message_format_step(target: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    reading = _CONSUMERS_READ_FORMAT_SINCE[target.newest.message_format]
    return BrokerStep(
        do=f"once all or most consumers are of {reading} or later, set {LMF}={target.line} on every broker, and bounce "
        "them, one by one",
        why="records are written in the new format, which those consumers read without a conversion",
        if_skipped=f"records keep the format of {level}: no new features, and no cost for old consumers",
        release=target.name,
        settings={IBP: target.line, LMF: target.line},
        way_back=DowngradePath(
            DowngradeVerdict.CLOSED, "the value promises that nothing newer is on disk, so it cannot be lowered"
        ),
        source=f"upgrade notes of {target.line}; description of {LMF}",
    )
