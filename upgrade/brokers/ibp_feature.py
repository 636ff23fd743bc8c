"""KIP-584's four phases from the static inter.broker.protocol.version to a feature that is raised without a restart.

Kafka never made them: its first and only such feature became metadata.version (KIP-778).
"""

from __future__ import annotations

from enum import Enum, IntEnum

from attrs import evolve, frozen

from upgrade.brokers.versions import ProtocolVersion
from upgrade.errors import UpgradeError


class Phase(IntEnum):
    """The phases, in order."""

    SYSTEM_READY = 1
    BOTH_ACTIVE = 2
    FEATURE_PREFERRED = 3
    STATIC_FROZEN = 4


def features_active(static: ProtocolVersion, migration: ProtocolVersion) -> bool:
    """Phase 1: whether a broker may advertise, check or finalise features.

    "We should only operate the versioning system after the second IBP roll": until then its own static value is below
    ``migration``, KIP-584's ``migration_ibp_version``.
    """
    return static >= migration


@frozen
class Decision:
    """What the code of a broker asks before it does something new: the feature's level, or the static version."""

    level: int | None
    static: ProtocolVersion | None


def decide(phase: Phase, static: ProtocolVersion, migration: ProtocolVersion, finalised: int | None) -> Decision:
    """Phase 3: the feature's level decides if it is finalised and the static value has reached ``migration``.

    "Otherwise if the ibp-feature flag is not finalized yet, we continue to use the latest IBP value based on static
    configuration." ``finalised`` is the level of ibp-feature, None if it is not. Before phase 3 there is none.
    """
    if phase >= Phase.FEATURE_PREFERRED and finalised is not None and features_active(static, migration):
        return Decision(finalised, None)
    return Decision(None, static)


def rolls(phase: Phase, finalised: int | None) -> int:
    """How many rolls an upgrade of the brokers takes.

    "By the end of this phase [2], we still have not eliminated the requirement for double roll"; from phase 3 on one
    is enough, once ibp-feature is finalised.
    """
    return 1 if phase >= Phase.FEATURE_PREFERRED and finalised is not None else 2


def newest_static(phase: Phase, newest: ProtocolVersion, frozen_at: ProtocolVersion) -> ProtocolVersion:
    """Phase 4: "we no longer advance the IBP values"; whatever is ``newest``, the static ones end where they were."""
    return min(newest, frozen_at) if phase is Phase.STATIC_FROZEN else newest


class Change(Enum):
    """What happens to a feature in the code."""

    COMPATIBLE = "something that older brokers and clients do not mind"
    BREAKING = "something they cannot understand"
    DEPRECATION = "the oldest version is no longer offered"


@frozen
class Range:
    """The versions of a feature that a release supports."""

    lowest: int
    highest: int


def after(supported: Range, change: Change) -> Range:
    """KIP-584's guidelines: the highest version is raised for breaking changes only, the lowest for deprecation only.

    ``UpgradeError`` for deprecating the only version there is.
    """
    if change is Change.BREAKING:
        return evolve(supported, highest=supported.highest + 1)
    if change is Change.DEPRECATION:
        if supported.lowest == supported.highest:
            raise UpgradeError(f"version {supported.highest} is the only one supported, so it cannot be deprecated")
        return evolve(supported, lowest=supported.lowest + 1)
    return supported
