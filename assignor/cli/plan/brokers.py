"""``plan --brokers``: the steps of a cluster, and what its releases make of the settings of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.cli.plan.application_settings import (
    SECURED,
    ConfigurationResult,
    asked_for,
    read_broker_settings,
    source_of,
)
from streams_assignor.cli.plan.text import broker_headline, broker_plan_lines
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.upgrade.application.broker_configuration import LEVEL, STRIMZI, first_line
from streams_assignor.upgrade.broker_settings import judge_broker_settings, keys_of_plugins, level_shown, mode_shown
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    BrokerRelease,
    MetadataMode,
    broker_release,
    version_named,
)
from streams_assignor.upgrade.cluster.brokers.steps import BrokerAdvice
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.verdict import Verdict

_RAISED_BY_STRIMZI: Final = (
    "set spec.kafka.metadataVersion to the level of now before spec.kafka.version: without it Strimzi raises "
    "metadata.version as soon as the nodes are rolled, and the way back closes (Strimzi, proc-upgrade-kafka-kraft)"
)


class _BrokerConfiguration(ConfigurationResult):
    """The settings of the nodes of a cluster."""

    def protocols(self) -> frozenset[str]:
        """Return which of TLS and SASL the listeners ask for; both if a protocol may not be known."""
        if self.settings.elsewhere:
            return SECURED
        texts = (value for variant in self.settings.variants for key, value in variant.values.items() if key in _ASKING)
        words = (word.strip().upper() for text in texts for part in text.split(",") for word in part.split(":"))
        return frozenset[str]().union(*(asked_for(word) for word in words))


_ASKING: Final = frozenset({"listeners", "listener.security.protocol.map", "security.inter.broker.protocol"})


@frozen
class BrokerPlan:
    """The advice for a cluster, and its settings if files have them."""

    advice: BrokerAdvice
    configuration: ConfigurationResult | None
    untold_level: str = ""
    """The key whose value in the files decides the steps, and which they do not tell; empty if none does."""

    @property
    def told(self) -> Verdict:
        """Unsafe if there is no way or a setting stops a node; unknown if settings that were not read may."""
        if not self.advice.is_possible or (self.configuration and self.configuration.report.stopping):
            return Verdict.UNSAFE
        return Verdict.UNKNOWN if self.reasons else Verdict.SAFE

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the settings make it unsafe or unknown."""
        if self.configuration is None:
            return ()
        if self.configuration.report.stopping:
            return ("nodes do not start with the settings of --config, see below",)
        file = self.configuration.file
        origin, key = self.advice.origin, self.untold_level
        untold = [f"{file} tells no {key} that nodes of {origin} have, give --level"] if key else []
        elsewhere = (f"{name or file} {words}" for name, words in self.configuration.settings.elsewhere)
        foreign = (f"{key} names a class of another make" for key in keys_of_plugins(self.configuration.settings))
        return (*untold, *elsewhere, *foreign)

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write the plan."""
        lines = self.configuration.lines(view) if self.configuration else ()
        return broker_plan_lines(self.advice, view, lines, self.headline)

    @property
    def headline(self) -> str:
        """The first line of the plan in every form."""
        return broker_headline(self.advice, self.told, self.reasons)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain = self.advice.as_json() | {"headline": self.headline}
        if self.configuration:
            plain["verdict"], plain["reasons"] = self.told.value, list(self.reasons)
            plain["configuration"] = {
                "file": self.configuration.file,
                "left_out": self.configuration.settings.left_out,
                "settings": [finding.as_json() for finding in self.configuration.report.findings],
            }
        return plain


def plan_brokers(
    ends: tuple[str, str],
    files: Sequence[Path],
    *,
    assume: str | None,
    zookeeper: bool,
    kraft: bool,
    level: str | None,
    level_unchanged: bool,
) -> BrokerPlan:
    """Plan the steps of a cluster from one release to another, with the settings of its nodes.

    The files say the mode, and with ZooKeeper the protocol, if no option does.

    Raises:
        UpgradeError: A file cannot be read, or there is nothing to plan.
    """
    origin, target = (broker_release(end, assume) for end in ends)
    settings = read_broker_settings(*files) if files else None
    mode = MetadataMode.ZOOKEEPER if zookeeper else MetadataMode.KRAFT if kraft else None
    shown = mode_shown(settings) if settings else None
    if mode is None and shown in origin.modes:
        mode = shown
    protocol = version_named(level) if level else None
    untold_level = ""
    if settings and protocol is None:
        protocol, untold_level = level_shown(settings, mode or origin.modes[0], origin.newest)
    to_kraft = zookeeper and kraft
    advice = advise_brokers(origin, target, mode, protocol, level_unchanged=level_unchanged, to_kraft=to_kraft)
    if settings is None:
        return BrokerPlan(advice, None)
    if min(origin.number, target.number)[:2] < first_line():
        oldest = ".".join(map(str, first_line()))
        raise UpgradeError(f"--config of brokers needs releases from {oldest} on, got {origin} and {target}")
    migrates = advice.mode is MetadataMode.ZOOKEEPER and (to_kraft or advice.mode not in target.modes)
    releases = _rolled(advice, origin, target)
    report = judge_broker_settings(settings, origin, releases, advice.mode, migrates=migrates)
    source = source_of(files)
    warnings = advice.warnings
    if STRIMZI in settings.shows and not any(LEVEL in variant.values for variant in settings.variants):
        warnings = (_RAISED_BY_STRIMZI, *warnings)
    return BrokerPlan(
        evolve(advice, warnings=warnings, settings_file=source if settings.variants else ""),
        _BrokerConfiguration(source, settings, report),
        untold_level,
    )


def _rolled(advice: BrokerAdvice, origin: BrokerRelease, target: BrokerRelease) -> list[BrokerRelease]:
    """Return the releases to which the nodes are bounced, the last one at last."""
    ends = {release.name: release for release in (origin, target)}
    names = dict.fromkeys(step.release for step in advice.steps if step.rolls) | {target.name: None}
    return [ends[name] if name in ends else broker_release(name) for name in names if name != origin.name] or [target]
