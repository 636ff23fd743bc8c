"""KIP-584's four phases from the static inter.broker.protocol.version to a feature that is raised without a restart.

Kafka never implemented them: its first and only such feature became metadata.version (KIP-778).
"""

from __future__ import annotations

from enum import Enum, IntEnum

from attrs import evolve, frozen

from streams_assignor.upgrade.cluster.brokers.protocol_versions import ProtocolVersion
from streams_assignor.upgrade.errors import UpgradeError


class MigrationPhase(IntEnum):
    """The phases, in order."""

    SYSTEM_READY = 1
    BOTH_ACTIVE = 2
    FEATURE_PREFERRED = 3
    STATIC_FROZEN = 4


def features_active(static: ProtocolVersion, migration: ProtocolVersion) -> bool:
    """Return whether a broker may advertise, check or finalize features (phase 1).

    "We should only operate the versioning system after the second IBP roll": until then its own static value is below
    ``migration``, KIP-584's ``migration_ibp_version``.
    """
    return static >= migration


@frozen
class EffectiveVersion:
    """The version that enables new behaviour of a broker: either the feature's level or the static version."""

    level: int | None
    """The finalized level; None if ``static`` decides."""
    static: ProtocolVersion | None
    """The configured version; None if ``level`` decides."""


def effective_version(
    phase: MigrationPhase, static: ProtocolVersion, migration: ProtocolVersion, finalized: int | None
) -> EffectiveVersion:
    """Return the feature's level if it is finalized and the static value has reached ``migration`` (phase 3).

    "Otherwise if the ibp-feature flag is not finalized yet, we continue to use the latest IBP value based on static
    configuration." ``finalized`` is the level of ibp-feature; None: not finalized. Before phase 3 the static version
    decides.
    """
    if phase >= MigrationPhase.FEATURE_PREFERRED and finalized is not None and features_active(static, migration):
        return EffectiveVersion(finalized, None)
    return EffectiveVersion(None, static)


def required_rolls(phase: MigrationPhase, finalized: int | None) -> int:
    """Return the number of rolls of an upgrade of the brokers.

    "By the end of this phase [2], we still have not eliminated the requirement for double roll"; from phase 3 on one
    is enough, once ibp-feature is finalized.
    """
    return 1 if phase >= MigrationPhase.FEATURE_PREFERRED and finalized is not None else 2


def max_static_version(phase: MigrationPhase, newest: ProtocolVersion, frozen_at: ProtocolVersion) -> ProtocolVersion:
    """Return the highest static version; in phase 4 "we no longer advance the IBP values"."""
    return min(newest, frozen_at) if phase is MigrationPhase.STATIC_FROZEN else newest


class FeatureChange(Enum):
    """How a release changes a feature."""

    COMPATIBLE = "older brokers and clients are not affected"
    BREAKING = "older brokers and clients cannot understand it"
    DEPRECATION = "the oldest version is no longer offered"


@frozen
class SupportedRange:
    """The versions of a feature that a release supports."""

    lowest: int
    highest: int


def range_after(before: SupportedRange, change: FeatureChange) -> SupportedRange:
    """Return the range after a change. Only breaking changes raise the highest version, only deprecation the lowest.

    Raises ``UpgradeError`` if the only version is deprecated. Source: guidelines of KIP-584.
    """
    if change is FeatureChange.BREAKING:
        return evolve(before, highest=before.highest + 1)
    if change is FeatureChange.DEPRECATION:
        if before.lowest == before.highest:
            raise UpgradeError(f"version {before.highest} is the only one supported, so it cannot be deprecated")
        return evolve(before, lowest=before.lowest + 1)
    return before
