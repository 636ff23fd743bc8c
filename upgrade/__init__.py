"""Releases and upgrades of Kafka Streams: how each release behaves, and which steps of an upgrade are safe.

Plans and what is about the files of an application are loaded at their first use: members need none of them.
"""

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from streams_assignor.upgrade.errors import ConfigException, UnknownRelease, UpgradeError
from streams_assignor.upgrade.releases import OURS, SIMULATED, Release, as_release, number_of, release_named
from streams_assignor.upgrade.streams_config import StreamsConfig, StreamsSettings, as_streams_config

if TYPE_CHECKING:
    from streams_assignor.upgrade.application.code_report import judge_code
    from streams_assignor.upgrade.application.setting_files import parse_settings
    from streams_assignor.upgrade.application_plan import ApplicationPlan, PlannedApplication, plan_for
    from streams_assignor.upgrade.planner import Advice, advise
    from streams_assignor.upgrade.plans import Plan, Upgrade

__all__ = [
    "OURS",
    "SIMULATED",
    "Advice",
    "ApplicationPlan",
    "ConfigException",
    "Plan",
    "PlannedApplication",
    "Release",
    "StreamsConfig",
    "StreamsSettings",
    "UnknownRelease",
    "Upgrade",
    "UpgradeError",
    "advise",
    "as_release",
    "as_streams_config",
    "judge_code",
    "number_of",
    "parse_settings",
    "plan_for",
    "release_named",
]

_LATE: Final = MappingProxyType(
    {
        "Advice": "streams_assignor.upgrade.planner",
        "ApplicationPlan": "streams_assignor.upgrade.application_plan",
        "Plan": "streams_assignor.upgrade.plans",
        "PlannedApplication": "streams_assignor.upgrade.application_plan",
        "Upgrade": "streams_assignor.upgrade.plans",
        "advise": "streams_assignor.upgrade.planner",
        "judge_code": "streams_assignor.upgrade.application.code_report",
        "parse_settings": "streams_assignor.upgrade.application.setting_files",
        "plan_for": "streams_assignor.upgrade.application_plan",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATE[name]), name)
