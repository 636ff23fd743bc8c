"""The steps of a cluster in KRaft mode: one roll of the release, then metadata.version is raised without a restart.

The way down begins with metadata.version, and only levels that did not change the records can be left. Sources:
KIP-778, Kafka's upgrade notes from 3.3 on, ``MetadataVersion`` and ``FeatureControlManager`` of 3.3, 3.9 and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from upgrade.brokers.advice import BrokerStep, NoWay, Verdict, WayBack
from upgrade.brokers.versions import VERSIONS, BrokerRelease, ProtocolVersion, version_named
from upgrade.features.levels import CATALOGS, METADATA, NEWEST, Catalog

_OLDEST_FINALISED: Final = version_named("3.3-IV0")
"""The controller refuses to go below it, as nothing older is stored in the log. Java: ``MINIMUM_BOOTSTRAP_VERSION``."""
_SINCE_4: Final = (4,)


def up(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the steps to a newer release, from a cluster that has finalised ``level``."""
    if origin.number != target.number:
        yield BrokerStep(
            do=f"bounce every controller and broker to {target}, one by one",
            why=f"metadata.version stays {level} meanwhile, and with it all that nodes send and store",
            if_skipped="the controller refuses a level that any registered node does not support",
            release=target.name,
            way_back=WayBack(Verdict.OPEN, f"bounce them to {origin} again"),
            source=f"upgrade notes of {target.line}, KIP-778",
        )
    if level < target.newest:
        yield _finalise(target, level)


def down(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the steps to an older release: first a safe downgrade of metadata.version, if one is needed."""
    if level > target.newest:
        yield _lower(origin, target, level)
        yield _forget(origin, target, level)
    yield BrokerStep(
        do=f"bounce every controller and broker to {target}, one by one",
        why=f"metadata.version is {min(level, target.newest)}, and {target} knows that",
        if_skipped="the cluster stays as it is",
        release=target.name,
        way_back=WayBack(Verdict.OPEN, f"bounce them to {origin} again"),
        source="KIP-778",
    )


def snapshot(release: BrokerRelease, target: BrokerRelease) -> BrokerStep:
    """Return the step between a level that ``target`` has forgotten and ``target``.

    Not in Kafka's notes, which ask for the level alone. But 4.3.1 dies of an older level anywhere in the log that it
    reads, also of one that has been raised since, and it reads what comes after the last snapshot.
    """
    return _wait_for_snapshot(
        release,
        why=f"nodes of {target} know no level below {target.oldest}, and read the log from its last snapshot on",
        if_skipped=f'a node of {target} meets the old level in the log and dies of "Unsupported metadata version"',
        source="seen with 3.9.2 and 4.3.1",
    )


def _forget(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    """Return the step between lowering a level and the older release, which Kafka's notes do not have either."""
    return _wait_for_snapshot(
        origin,
        why=f"{target} reads the log from its last snapshot on, and {level} stands in it until then",
        if_skipped=f'a node of {target} meets {level} in the log and dies of "Tried to apply FeatureLevelRecord"',
        source="seen with 4.3.1 and 4.1.1",
    )


def _wait_for_snapshot(release: BrokerRelease, *, why: str, if_skipped: str, source: str) -> BrokerStep:
    return BrokerStep(
        do="wait until every controller and broker has taken a snapshot of the metadata since then (a newer "
        ".checkpoint in __cluster_metadata-0; it takes up to metadata.log.max.snapshot.interval.ms, an hour if unset)",
        why=why,
        if_skipped=if_skipped,
        release=release.name,
        rolls=0,
        way_back=WayBack(Verdict.OPEN, "nothing has changed"),
        source=source,
    )


def _finalise(release: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    flag = "--release-version" if release.number >= _SINCE_4 else "--metadata"
    return BrokerStep(
        do="when the cluster has proved itself, finalise metadata.version: "
        f"kafka-features upgrade {flag} {release.line}",
        why="what is new in it is switched on in all nodes at once, without a restart",
        if_skipped=f"the cluster stays at {level}, and what needs more is not there",
        release=release.name,
        rolls=0,
        way_back=_way_back(release, level),
        source=f"upgrade notes of {release.line}, KIP-778",
    )


def _way_back(release: BrokerRelease, level: ProtocolVersion) -> WayBack:
    if against := _against(release, release.newest, level):
        return WayBack(Verdict.LOSSY, against)
    return WayBack(
        Verdict.SAFE,
        f"lower metadata.version to {level}, which loses nothing, wait for a snapshot, and bounce the older release",
    )


def _lower(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    if against := _against(origin, level, target.newest):
        raise NoWay(f"{target} does not know {level}, and {against}")
    flag = f"--feature {METADATA}={target.newest.level}" if origin.number >= _SINCE_4 else f"--metadata {target.line}"
    others = _newer_features(origin, level, target.newest)
    also = (
        f"; and {', '.join(others)}, if {target} does not support their levels (describe shows them)" if others else ""
    )
    return BrokerStep(
        do=f"lower metadata.version from {level} to {target.newest}: kafka-features downgrade {flag}{also}",
        why=f"{target} knows nothing newer, and no level in between changed the records, so nothing is lost",
        if_skipped=f"the controller does not register a broker of {target} (UNSUPPORTED_VERSION)",
        release=origin.name,
        rolls=0,
        way_back=WayBack(Verdict.OPEN, "raise it again"),
        source="KIP-778, MetadataVersion.checkIfMetadataChanged",
    )


def _against(release: BrokerRelease, source: ProtocolVersion, target: ProtocolVersion) -> str:
    """Say why metadata.version cannot go from one level down to the other; nothing if it can, and safely."""
    if target < _OLDEST_FINALISED:
        return f"metadata.version cannot be lowered to {target}: Kafka keeps nothing below {_OLDEST_FINALISED}"
    levels = _catalog(release)
    if levels.safe_downgrade(_number(source), _number(target)):
        return ""
    between = [each for each in VERSIONS if target < each <= source]
    changed = ", ".join(each.name for each in between if levels.level(METADATA, _number(each)).changed)
    return (
        f"metadata.version cannot be lowered from {source} to {target}: {changed} changed the records, and Kafka "
        "refuses to lose any, with --unsafe too"
    )


def _newer_features(release: BrokerRelease, source: ProtocolVersion, target: ProtocolVersion) -> list[str]:
    """Return the other features that are higher in a new cluster at ``source`` than in one at ``target``.

    Which levels the older release supports is not in the tables, so these are the ones to look at.
    """
    higher, lower = (_catalog(release).defaults_for(_number(version)) for version in (source, target))
    return [feature for feature in higher if lower[feature] < higher[feature]]


def _catalog(release: BrokerRelease) -> Catalog:
    return NEWEST if release.number >= _SINCE_4 else CATALOGS["3.9.2"]


def _number(version: ProtocolVersion) -> int:
    assert version.level is not None, f"{version} has no level; this should never happen"
    return version.level
