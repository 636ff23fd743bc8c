"""Which release speaks how, what ``upgrade.from`` does, which steps an upgrade needs."""

from upgrade.config import StreamsConfig
from upgrade.errors import ConfigException, UnknownRelease, UpgradeError
from upgrade.matrix import Plan, Upgrade
from upgrade.plan import Advice, advise
from upgrade.releases import OURS, SIMULATED, Release, number_of, release_named

__all__ = [
    "OURS",
    "SIMULATED",
    "Advice",
    "ConfigException",
    "Plan",
    "Release",
    "StreamsConfig",
    "UnknownRelease",
    "Upgrade",
    "UpgradeError",
    "advise",
    "number_of",
    "release_named",
]
