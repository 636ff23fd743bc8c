"""The settings of brokers beside the releases of a plan: what the nodes of each release make of their files.

``SETTING_RULES`` has what no definition of a key shows. Everything else is from the jars (``broker_configuration``). A
file does not show that a key is not set: dynamic settings (``kafka-configs``) and the command line win over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application.broker_configuration import (
    LEVEL,
    LOGGING,
    OPERATOR,
    broker_keys,
    keys_of_any_broker,
    plain_key,
)
from streams_assignor.upgrade.application.configuration import ReleaseConfigKey
from streams_assignor.upgrade.application.environment import EnvironmentNeed, needs_of
from streams_assignor.upgrade.application.setting_files import Settings, Variant, is_placeholder
from streams_assignor.upgrade.application.settings import (
    Effect,
    SettingFinding,
    SettingsReport,
    is_secret,
    shortened,
    shown_key,
)
from streams_assignor.upgrade.application.values import is_judged, refusal
from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, ROLES, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    BrokerRelease,
    MetadataMode,
    ProtocolVersion,
    version_named,
)
from streams_assignor.upgrade.errors import ConfigException, UpgradeError
from streams_assignor.upgrade.redaction import hide_credentials
from streams_assignor.upgrade.releases import RELEASES

_ZOOKEEPER: Final = "zookeeper."
_WITHOUT_DEFINITION: Final = re.compile(
    r"super\.users|allow\.everyone\.if\.no\.acl\.found|metrics\.context\..*|(rsm|rlmm)\.config\..*"
    r"|config\.providers(\..*)?|kafka\.(csv|graphite|ganglia)\..*"
)
"""Keys that plugins and Kafka's own authorizers read, and no definition has."""
_SUCCESSORS: Final[Mapping[str, str]] = {
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
    "auto.include.jmx.reporter": "metric.reporters",
    "delegation.token.master.key": "delegation.token.secret.key",
    "host.name": "listeners",
    "log.message.timestamp.difference.max.ms": "log.message.timestamp.before.max.ms",
    "port": "listeners",
}
"""The successors of keys that are gone: upgrade notes of 3.0 and 4.0, KIP-629, KIP-937."""
_OF_CLASSES: Final = re.compile(r".*\.class(?:\.name|es)?|metric\.reporters|security\.providers")
_KAFKAS: Final = re.compile(r"(?:org\.apache\.kafka|kafka|sun|com\.sun|javax?)\.")
_SYNONYMS: Final[Mapping[str, str]] = {"node.id": "broker.id"}
"""Java: ``KafkaConfig.populateSynonyms``."""


@frozen
class SettingRule:
    """A fact about a setting from a release on, which no definition shows."""

    key: str
    since: tuple[int, ...]
    status: Effect
    text: str
    source: str
    value: re.Pattern[str] = field(default=re.compile("(?s).*"), eq=False)
    """The contents of the value."""
    unless: str = ""
    """A key beside it that makes it moot."""
    is_lasting: bool = False
    """Whether it is also said of an upgrade that begins at such a release."""
    in_migration: str = ""
    """The text instead if the plan migrates the node from ZooKeeper."""

    def applies(self, key: str, values: Mapping[str, str], older: BrokerRelease, to: BrokerRelease) -> bool:
        """Whether an upgrade meets it in the settings of a node."""
        passed = self.since <= to.number and (self.is_lasting or older.number < self.since)
        is_it = plain_key(key) == self.key and bool(self.value.search(values[key]))
        return passed and is_it and self.unless not in values


_MIGRATED: Final = "the migration of the plan replaces it"
SETTING_RULES: Final = (
    SettingRule(
        "authorizer.class.name",
        (3, 0),
        Effect.REFUSED,
        "3.0 has no class kafka.security.auth.SimpleAclAuthorizer: kafka.security.authorizer.AclAuthorizer is its "
        "successor, with the same ACLs",
        "upgrade notes of 3.0, KIP-504",
        re.compile(r"\bkafka\.security\.auth\.SimpleAclAuthorizer\b"),
    ),
    SettingRule(
        "authorizer.class.name",
        (4, 0),
        Effect.REFUSED,
        "4.0 has no class kafka.security.authorizer.AclAuthorizer, which keeps ACLs in ZooKeeper: "
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer is that of KRaft",
        "upgrade notes of 4.0",
        re.compile(r"\bkafka\.security\.authorizer\.AclAuthorizer\b"),
        in_migration=_MIGRATED,
    ),
    SettingRule(
        "metric.reporters",
        (4, 0),
        Effect.MEANING,
        "without org.apache.kafka.common.metrics.JmxReporter in the list, 4.0 reports nothing by JMX: until then it "
        "was always added (auto.include.jmx.reporter)",
        "KIP-830, upgrade notes of 4.0",
        re.compile(r"(?s)^(?!.*JmxReporter).+"),
    ),
    SettingRule(
        "zookeeper.metadata.migration.enable",
        (4, 0),
        Effect.MEANING,
        "finish the migration on 3.9 first: 4.0 ignores the key, and its controllers continue no migration",
        "upgrade notes of 4.0",
        re.compile(r"(?i)^\s*true\s*$"),
        in_migration=_MIGRATED,
    ),
    SettingRule(
        "controller.quorum.voters",
        (3, 9),
        Effect.MEANING,
        "with these static voters kraft.version stays 0, whatever --release-version says; keep them: "
        "controller.quorum.bootstrap.servers finds no voters before kraft.version is 1",
        "KIP-853; seen on 4.0.1",
        is_lasting=True,
    ),
    SettingRule(
        "controller.quorum.bootstrap.servers",
        (3, 9),
        Effect.UNDECIDED,
        "it is enough for a dynamic quorum (kraft.version 1); a static one needs controller.quorum.voters as before, "
        "also where a chart no longer writes it: kafka-metadata-quorum describe --status has the voters",
        "KIP-853; bitnami/charts issue 32637",
        is_lasting=True,
        unless="controller.quorum.voters",
    ),
    SettingRule(
        LOGGING,
        (4, 0),
        Effect.MEANING,
        "4.0 logs with Log4j 2: translate a log4j.properties to log4j2.yaml, or load it in the way of Log4j 1 "
        "(-Dlog4j1.compatibility=true, log4j.configuration)",
        "KIP-653, upgrade notes of 4.0",
        re.compile(r"log4j\.configuration="),
    ),
)


def judge_broker_settings(
    settings: Settings, origin: BrokerRelease, releases: Sequence[BrokerRelease], mode: MetadataMode, *, migrates: bool
) -> SettingsReport:
    """Say what the releases of a plan make of each setting, and which defaults change between its ends.

    Args:
        settings: Those of the nodes, by place.
        origin: The release that they leave.
        releases: Those to which a plan bounces them, the last one at last.
        mode: The mode in which they run now.
        migrates: The plan leads from ZooKeeper to KRaft, and so replaces settings of ZooKeeper.
    """
    *between, target = releases
    found: dict[tuple[str, Effect, str], SettingFinding] = {}
    for variant in settings.variants:
        is_made = OPERATOR in settings.shows or bool(settings.elsewhere)
        judged = [*_judged(variant, origin, target, mode, migrates=migrates, is_made=is_made)]
        refused = {finding.key for finding in judged if finding.status is Effect.REFUSED}
        for release in between:
            judged += (
                finding
                for finding in _judged(variant, origin, release, mode, migrates=migrates, is_made=True)
                if finding.status in {Effect.REFUSED, Effect.NEEDS} and finding.key not in refused
            )
        for finding in judged:
            found.setdefault(
                (finding.key, finding.status, finding.text), evolve(finding, conditions=variant.conditions)
            )
    order = {status: place for place, status in enumerate(Effect)}
    return SettingsReport(
        tuple(sorted(found.values(), key=lambda each: (order[each.status], each.key, each.conditions)))
    )


def level_shown(settings: Settings, mode: MetadataMode, newest: ProtocolVersion) -> tuple[ProtocolVersion | None, str]:
    """Return the protocol version, or in KRaft mode the metadata.version, that all nodes have.

    None if they show none; then with its key if that is set, to a placeholder, to several values, or to one that is
    newer than ``newest``, which the nodes of now do not know.

    >>> for text in ("2.7", "${IBP}", "3.0"):
    ...     settings = Settings.of({"inter.broker.protocol.version": text})
    ...     print(level_shown(settings, MetadataMode.ZOOKEEPER, version_named("2.8"))[1] or "told")
    told
    inter.broker.protocol.version
    inter.broker.protocol.version
    """
    key = IBP if mode is MetadataMode.ZOOKEEPER else LEVEL
    values = {variant.values.get(key, "").strip() for variant in settings.variants}
    values -= {""} if key == LEVEL or len(values) == 1 else set()  # a cluster has one level, a node its own protocol
    if not values:
        return None, ""
    try:
        version = version_named(values.pop()) if len(values) == 1 else None
    except UpgradeError:
        version = None
    return (version, "") if version and version <= newest else (None, key)


def keys_of_plugins(settings: Settings) -> tuple[str, ...]:
    """Return the keys that name a class which is not Kafka's: its own release decides whether a node starts.

    >>> keys_of_plugins(Settings.of({"authorizer.class.name": "io.a.Authorizer", "metric.reporters": "kafka.a.B"}))
    ('authorizer.class.name',)
    """
    found = (key for variant in settings.variants for key, value in variant.values.items() if _is_plugin(key, value))
    return tuple(dict.fromkeys(found))


def _is_plugin(key: str, value: str) -> bool:
    names = (name.strip() for name in value.split(",")) if _OF_CLASSES.fullmatch(plain_key(key)) else ()
    return not is_placeholder(value) and any(name and not _KAFKAS.match(name) for name in names)


def mode_shown(settings: Settings) -> MetadataMode | None:
    """Return the mode in which nodes run; None if they do not show it.

    >>> mode_shown(Settings.of({"zookeeper.connect": "zk:2181"})), mode_shown(Settings.of({}))
    (<MetadataMode.ZOOKEEPER: 'zookeeper'>, None)
    """
    keys = {key for variant in settings.variants for key in variant.values}
    if keys & {ROLES, LEVEL}:
        return MetadataMode.KRAFT
    return MetadataMode.ZOOKEEPER if "zookeeper.connect" in keys else None


def _judged(
    variant: Variant, origin: BrokerRelease, to: BrokerRelease, mode: MetadataMode, *, migrates: bool, is_made: bool
) -> Iterator[SettingFinding]:
    old, new = (broker_keys(release.number[:2]) for release in (origin, to))
    for place, (key, value) in enumerate(variant.values.items(), 1):
        finding = _setting(key, value, variant, (origin, old), (to, new), migrates=migrates)
        if finding.status is Effect.UNKNOWN:
            finding = evolve(finding, key=shown_key(key, place, is_name=key in variant.names))
        yield evolve(finding, line=variant.lines.get(key) or None, file=variant.files.get(key, ""))
    is_set = {plain_key(key) for key in variant.values}
    for key, definition in new.items():
        if key in is_set or definition.internal or _SYNONYMS.get(key) in is_set:
            continue
        before = old.get(key)
        if definition.required:
            if not migrates and not (before and before.required):
                text = f"not set here, and {to} has no default"
                status = Effect.UNDECIDED if is_made else Effect.REQUIRED
                yield SettingFinding(key, "", status, f"{text}; what makes the file may set it" if is_made else text)
        elif before and _has_another_default(before, definition):
            if mode is MetadataMode.KRAFT and key.startswith(_ZOOKEEPER):
                continue
            text = f"not set here; the default is {definition.default_text} instead of {before.default_text}"
            yield SettingFinding(key, "", Effect.DEFAULT, text)


def _has_another_default(old: ReleaseConfigKey, new: ReleaseConfigKey) -> bool:
    """Whether the defaults differ, and not in their order alone."""
    return not new.varies and sorted(old.default_text.split(",")) != sorted(new.default_text.split(","))


def _setting(
    key: str,
    value: str,
    variant: Variant,
    origin: tuple[BrokerRelease, Mapping[str, ReleaseConfigKey]],
    target: tuple[BrokerRelease, Mapping[str, ReleaseConfigKey]],
    *,
    migrates: bool,
) -> SettingFinding:
    (older, old), (to, new), plain = origin, target, plain_key(key)

    def finding(status: Effect, text: str) -> SettingFinding:
        return SettingFinding(key, "", status, text)

    for rule in SETTING_RULES:
        if rule.applies(key, variant.values, older, to):
            if migrates and rule.in_migration:
                return finding(Effect.REMOVED, rule.in_migration)
            return finding(rule.status, f"{rule.text} ({rule.source})")
    if _WITHOUT_DEFINITION.fullmatch(plain) or plain in {LOGGING, LEVEL}:
        return finding(Effect.FINE, "no definition of a broker has it: a plugin, a script or an operator reads it")
    if plain not in keys_of_any_broker():
        return finding(Effect.UNKNOWN, "no broker of Kafka has it: a plugin or a script may read it")
    if plain not in new:
        if plain not in old:
            return finding(Effect.NO_EFFECT, f"{older} ignores it, too")
        successor = _SUCCESSORS.get(plain, "")
        words = f"; {successor} is its successor" if successor in new else ""
        return finding(Effect.REMOVED, f"brokers of {to} do not have it and ignore it{words}")
    if is_placeholder(value):
        return finding(Effect.UNDECIDED, "the value is a placeholder")
    if plain in {IBP, LMF}:
        return finding(*_version(plain, variant.values, to))
    if refused := refusal(plain, new[plain], value):
        also = f"; {older} refuses it, too" if plain in old and refusal(plain, old[plain], value) else ""
        words = "its value is refused" if is_secret(plain, new[plain]) else shortened(hide_credentials(refused))
        return finding(Effect.REFUSED, words + also)
    if need := _need(plain, value, older, to):
        return finding(Effect.NEEDS, need)
    if _is_plugin(key, value):
        return finding(Effect.UNDECIDED, f"a class of another make: take the release of it that is made for {to}")
    if not is_judged(new[plain], value) and new[plain].type != "CLASS":
        return finding(Effect.UNDECIDED, "Kafka checks the value with code of its own")
    return finding(Effect.FINE, f"{to} accepts it")


def _version(key: str, values: Mapping[str, str], to: BrokerRelease) -> tuple[Effect, str]:
    """Return what a release makes of the protocol or the message format beside each other."""
    given = {name: values[name].strip() for name in (IBP, LMF, ROLES) if not is_placeholder(values.get(name, "${"))}
    try:
        config = BrokerConfig.of(to, given)
    except ConfigException as error:
        return Effect.REFUSED, shortened(str(error))
    if key in config.ignored_keys:
        return Effect.NO_EFFECT, f"{to} ignores it beside the other settings"
    return Effect.FINE, f"{to} accepts it"


def _need(plain: str, value: str, older: BrokerRelease, to: BrokerRelease) -> str:
    """Say what Java has to be started with because of a key; nothing if the release needs no more than before."""
    before, after = ({need.option: need for need in _needs(plain, value, release)} for release in (older, to))
    return "; ".join(
        f"add {need.option} to KAFKA_OPTS: {need.reason}" for option, need in after.items() if option not in before
    )


def _needs(plain: str, value: str, release: BrokerRelease) -> tuple[EnvironmentNeed, ...]:
    named = RELEASES.get(release.name)
    of_line = [each for each in RELEASES.values() if each.is_released and each.number[:2] == release.number[:2]]
    known = named or (of_line[-1] if of_line else None)
    return needs_of(known, {plain: value}) if known and plain != "security.protocol" else ()
