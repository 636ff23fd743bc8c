"""The steps of a cluster in KRaft mode: one roll of the release, then metadata.version is raised without a restart.

A downgrade starts with metadata.version. Only levels that did not change the records can be lowered. Sources:
KIP-778, Kafka's upgrade notes from 3.3 on, ``MetadataVersion`` and ``FeatureControlManager`` of 3.3, 3.9 and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    VERSIONS,
    BrokerRelease,
    ProtocolVersion,
    version_named,
)
from streams_assignor.upgrade.cluster.brokers.steps import (
    BrokerStep,
    DowngradePath,
    DowngradeVerdict,
    NoUpgradePath,
    release_roll,
)
from streams_assignor.upgrade.cluster.features.catalog import KRAFT_VERSION, METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import catalog_of

_OLDEST_FINALIZED: Final = version_named("3.3-IV0")
"""The controller refuses lower levels: nothing older is stored in the log. Java: ``MINIMUM_BOOTSTRAP_VERSION``."""
_SINCE_4: Final = (4,)
_USERS: Final = {
    "group.version": "consumer groups of KIP-848",
    "share.version": "share groups",
    "streams.version": "streams groups (group.protocol=streams)",
    "transaction.version": "transactions of KIP-890",
    "eligible.leader.replicas.version": "eligible leader replicas",
    KRAFT_VERSION: "changes of the controllers (KIP-853)",
}
"""The users of each feature."""
_NODES: Final = "controller and broker"


def upgrade_steps(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the steps to a newer release, from a cluster that has finalized ``level``."""
    if origin.number != target.number:
        yield release_roll(
            origin,
            target,
            nodes=_NODES,
            why=f"metadata.version stays {level} meanwhile, and so does everything that nodes send and store",
            if_skipped="the controller refuses a level that any registered node does not support",
            source=f"upgrade notes of {target.line}, KIP-778",
        )
    if level < target.newest:
        yield _finalize_step(origin, target, level)


def downgrade_steps(
    origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion, *, level_unchanged: bool
) -> Iterator[BrokerStep]:
    """Yield the steps to an older release: first a safe downgrade of metadata.version, if one is needed.

    metadata.version can be lowered alone: so unless it never was another one, each feature may be at the level that it
    has with the newest one.
    """
    others = _unsupported_features(origin, level if level_unchanged else origin.newest, target)
    if level > target.newest:
        yield _lower_level_step(origin, target, level, others)
        yield _snapshot_after_downgrade_step(origin, target, level)
    elif target.newest < origin.newest and not level_unchanged:
        if others:
            yield _lower_features_step(origin, target, others)
        yield snapshot_since_change_step(origin, f"nodes of {target} support no level above {target.newest}")
    yield release_roll(
        origin,
        target,
        nodes=_NODES,
        why=f"metadata.version is {min(level, target.newest)}, which {target} supports",
        if_skipped="the cluster stays as it is",
        source="KIP-778",
    )


def snapshot_step(release: BrokerRelease, target: BrokerRelease) -> BrokerStep:
    """Return the step between a level that ``target`` no longer supports and ``target``.

    Kafka's notes require the level alone. But 4.3.1 fails on an older level anywhere in the log that it reads, even on
    one that has been raised since, and it reads everything after the last snapshot.
    """
    return _snapshot_wait_step(
        release,
        why=f"nodes of {target} support no level below {target.oldest}, and read the log from its last snapshot on",
        if_skipped=f'a node of {target} reads the old level in the log and fails with "Unsupported metadata version"',
        source="seen with 3.9.2 and 4.3.1",
    )


def snapshot_since_change_step(release: BrokerRelease, supported: str) -> BrokerStep:
    """Return the step before a release that does not support each level that the log may have.

    The present level is no proof: the log keeps the levels before it until a snapshot is newer.
    """
    return _snapshot_wait_step(
        release,
        since="the last change of metadata.version; not needed if it never was another one (--level-unchanged)",
        why=f"{supported}, and read the log from its last snapshot on, with levels that were changed since",
        if_skipped='a node that reads such a level in the log fails with "Tried to apply FeatureLevelRecord" or '
        '"Unsupported metadata version"',
        source="seen with 3.9.2 and 4.3.1, 4.2.1 and 4.1.2",
    )


def _snapshot_after_downgrade_step(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    """Return the step between lowering a level and the older release. Kafka's notes do not mention it."""
    return _snapshot_wait_step(
        origin,
        why=f"{target} reads the log from its last snapshot on, which has {level} until then",
        if_skipped=f'a node of {target} reads {level} in the log and fails with "Tried to apply FeatureLevelRecord"',
        source="seen with 4.3.1 and 4.1.1",
    )


def _snapshot_wait_step(
    release: BrokerRelease, *, why: str, if_skipped: str, source: str, since: str = "then"
) -> BrokerStep:
    return BrokerStep(
        do="wait until every controller and broker has taken a snapshot of the metadata (a newer .checkpoint in "
        "__cluster_metadata-0; it takes up to metadata.log.max.snapshot.interval.ms, an hour if unset) since "
        f"{since}",
        why=why,
        if_skipped=if_skipped,
        release=release.name,
        rolls=0,
        way_back=DowngradePath(DowngradeVerdict.OPEN, "nothing has changed"),
        source=source,
    )


def _finalize_step(origin: BrokerRelease, release: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    levels = finalized_levels(release, release.newest)
    flag = "--release-version" if release.number >= _SINCE_4 else "--metadata"
    others = ", ".join(f"{feature} {number}" for feature, number in levels.items() if feature != METADATA_VERSION)
    return BrokerStep(
        do="when the cluster has proved itself, finalize metadata.version: "
        f"kafka-features upgrade {flag} {release.line}" + (f" (it also sets {others})" if others else ""),
        why="its new features are enabled in all nodes at once, without a restart; a node that was removed and is "
        "still registered at an older release holds it up (kafka-cluster unregister --id)",
        if_skipped=f"the cluster stays at {level}, without the features of newer levels",
        release=release.name,
        levels=levels,
        rolls=0,
        way_back=_downgrade_path(origin, release, level),
        source=f"upgrade notes of {release.line}, KIP-778",
    )


def finalized_levels(release: BrokerRelease, level: ProtocolVersion) -> dict[str, int]:
    """Return what the command of a release finalizes at ``level``: from 4.0 on the other features as well.

    >>> from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
    >>> sorted(finalized_levels(broker_release("4.0"), version_named("4.0")))
    ['group.version', 'kraft.version', 'metadata.version', 'transaction.version']
    """
    number = _level_number(level)
    others = catalog_of(release.line).default_levels(number) if release.number >= _SINCE_4 else {}
    return {
        METADATA_VERSION: number,
        **{feature: level_number for feature, level_number in others.items() if level_number},
    }


def _downgrade_path(origin: BrokerRelease, release: BrokerRelease, level: ProtocolVersion) -> DowngradePath:
    if against := _downgrade_objection(release, release.newest, level):
        return DowngradePath(DowngradeVerdict.LOSSY, against)
    features = _unsupported_features(release, release.newest, origin, level)
    lowered = {METADATA_VERSION: _level_number(level), **features}
    bounce = "" if origin == release else ", wait for a snapshot, and bounce the older release"
    if not features:
        steps = f"lower metadata.version to {level}, which loses nothing{bounce}"
        return DowngradePath(DowngradeVerdict.SAFE, steps, lowered)
    steps = f"{_losses(features)}; lower {_joined(features)} and metadata.version to {level}{bounce}"
    return DowngradePath(DowngradeVerdict.LOSSY, steps, lowered)


def _unsupported_features(
    release: BrokerRelease, newer: ProtocolVersion, target: BrokerRelease, level: ProtocolVersion | None = None
) -> dict[str, int]:
    """Return what to lower besides metadata.version before a cluster at ``newer`` can return to ``target``.

    A feature that ``target`` supports keeps its level. If the release stays, all go back to what new clusters have at
    ``level``.
    """
    catalog = catalog_of(target.line)
    limits = {name: catalog.supported_range(name)[1] for name in catalog.features}
    if level and release == target:
        limits = finalized_levels(release, level)
    return {
        feature: limits.get(feature, 0)
        for feature, number in finalized_levels(release, newer).items()
        if feature != METADATA_VERSION and number > limits.get(feature, 0)
    }


def _feature_flags(levels: Mapping[str, int]) -> str:
    return " ".join(f"--feature {feature}={number}" for feature, number in levels.items())


def _joined(levels: Mapping[str, int]) -> str:
    return ", ".join(f"{feature} to {number}" for feature, number in levels.items())


def _losses(features: Mapping[str, int]) -> str:
    users = " and ".join(_USERS.get(feature, f"users of {feature}") for feature in features)
    return f"{users} stop working, and must be gone first"


def _lower_features_step(origin: BrokerRelease, target: BrokerRelease, features: Mapping[str, int]) -> BrokerStep:
    do = f"what is finalized of {_joined(features)} (kafka-features describe)"
    why = f"{target} supports no higher level, and metadata.version may have been lowered alone; {_losses(features)}"
    return _lower_step(origin, target, features, do, _feature_flags(features), why, "KIP-584, KIP-778")


def _lower_level_step(
    origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion, features: Mapping[str, int]
) -> BrokerStep:
    if against := _downgrade_objection(origin, level, target.newest):
        raise NoUpgradePath(f"{target} does not support {level}, and {against}")
    levels = {METADATA_VERSION: _level_number(target.newest), **features}
    flag = _feature_flags(levels) if origin.number >= _SINCE_4 else f"--metadata {target.line}"
    why = f"{target} supports no newer level, and no level of metadata.version in between changed the records"
    why += f"; {_losses(features)}" if features else ", so nothing is lost"
    if KRAFT_VERSION not in catalog_of(target.line).features and KRAFT_VERSION in catalog_of(origin.line).features:
        why += f"; {target} has no {KRAFT_VERSION}, so a cluster with {KRAFT_VERSION} 1 cannot go back"
    do, source = f"metadata.version from {level} to {target.newest}", "KIP-778, MetadataVersion.checkIfMetadataChanged"
    return _lower_step(origin, target, levels, do, flag, why, source)


def _lower_step(
    origin: BrokerRelease, target: BrokerRelease, levels: Mapping[str, int], do: str, flag: str, why: str, source: str
) -> BrokerStep:
    return BrokerStep(
        do=f"lower {do}: kafka-features downgrade {flag}",
        why=why,
        if_skipped=f"the controller does not register a broker of {target} (UNSUPPORTED_VERSION)",
        release=origin.name,
        levels=levels,
        rolls=0,
        way_back=DowngradePath(DowngradeVerdict.OPEN, "raise it again"),
        source=source,
    )


def _downgrade_objection(release: BrokerRelease, source: ProtocolVersion, target: ProtocolVersion) -> str:
    """Return why metadata.version cannot be lowered to ``target``; empty if it can, without loss."""
    if target < _OLDEST_FINALIZED:
        return f"metadata.version cannot be lowered to {target}: Kafka keeps nothing below {_OLDEST_FINALIZED}"
    levels = catalog_of(release.line)
    if levels.is_safe_downgrade(_level_number(source), _level_number(target)):
        return ""
    between = [version for version in VERSIONS if target < version <= source]
    changed = ", ".join(
        version.name
        for version in between
        if levels.level(METADATA_VERSION, _level_number(version)).did_metadata_change
    )
    return (
        f"metadata.version cannot be lowered from {source} to {target}: {changed} changed the records, and Kafka "
        "refuses to lose any, with --unsafe too"
    )


def _level_number(version: ProtocolVersion) -> int:
    assert version.level is not None, f"{version} has no level; this should never happen"
    return version.level
