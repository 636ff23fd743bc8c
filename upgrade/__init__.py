"""Releases and upgrades of Kafka Streams: how each release behaves, and which steps of an upgrade are safe."""

from upgrade.errors import ConfigException, UnknownRelease, UpgradeError
from upgrade.planner import Advice, advise
from upgrade.plans import Plan, Upgrade
from upgrade.releases import OURS, SIMULATED, Release, number_of, release_named
from upgrade.streams_config import StreamsConfig, StreamsSettings, as_streams_config

__all__ = [
    "OURS",
    "SIMULATED",
    "Advice",
    "ConfigException",
    "Plan",
    "Release",
    "StreamsConfig",
    "StreamsSettings",
    "UnknownRelease",
    "Upgrade",
    "UpgradeError",
    "advise",
    "as_streams_config",
    "number_of",
    "release_named",
]
