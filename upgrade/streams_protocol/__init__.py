"""From the classic protocol to the streams protocol (KIP-1071) and back: what blocks, what to set, the steps.

Facts are rows of tables; the planner and the judgement of a live group are pure.
"""

from upgrade.streams_protocol._commands import Target
from upgrade.streams_protocol._facts import (
    GROUP_CONFIGURATIONS,
    IGNORED_SETTINGS,
    STREAMS_VERSION,
    SURVIVALS,
    GroupConfiguration,
    Protocol,
    replaced_settings,
)
from upgrade.streams_protocol._planner import Migration, MigrationStep, plan_migration
from upgrade.streams_protocol._requirements import REQUIREMENTS, Facts, Reliance, RequirementStatus, reliances_named

__all__ = [
    "GROUP_CONFIGURATIONS",
    "IGNORED_SETTINGS",
    "REQUIREMENTS",
    "STREAMS_VERSION",
    "SURVIVALS",
    "Facts",
    "GroupConfiguration",
    "Migration",
    "MigrationStep",
    "Protocol",
    "Reliance",
    "RequirementStatus",
    "Target",
    "plan_migration",
    "reliances_named",
    "replaced_settings",
]
