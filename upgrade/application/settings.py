"""The settings of an application, beside the configuration of the release that it leaves and that it goes to.

A value is shown only in Kafka's message about it, and never if its key may be that of a secret.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application.code import Code, classes_of_any_release
from streams_assignor.upgrade.application.configuration import (
    CONFIGS,
    Configuration,
    ReleaseConfigKey,
)
from streams_assignor.upgrade.application.environment import needs_of
from streams_assignor.upgrade.application.setting_files import Settings, Variant, default_of, is_placeholder
from streams_assignor.upgrade.application.setting_names import (
    OPEN_PREFIXES,
    PREFIXES,
    TOPIC,
    WITHOUT_DEFINITION,
    is_known,
    keys_elsewhere,
    known_elsewhere,
    scope,
)
from streams_assignor.upgrade.application.values import IN_FLIGHT, is_judged, refusal, refusal_beside
from streams_assignor.upgrade.config_types import parse_end_point
from streams_assignor.upgrade.errors import ConfigException
from streams_assignor.upgrade.hazards import CodeSettings
from streams_assignor.upgrade.redaction import hide_credentials
from streams_assignor.upgrade.releases import RELEASES, Release


class Effect(enum.Enum):
    """The verdicts of TO on a setting, the worst first."""

    REFUSED = "refused"
    """The client that has it does not start."""
    REQUIRED = "required"
    """It is not set, and nothing starts without it."""
    NEEDS = "needs a system property"
    """The client does not start unless Java is started with it."""
    REMOVED = "removed"
    """FROM has the key, and TO ignores it."""
    NO_EFFECT = "no effect"
    """Streams sets a value of its own, or a broker has ignored it before."""
    MEANING = "meaning changed"
    """It is set, and TO does something else with it."""
    DEFAULT = "default changed"
    """It is not set, and the default is another one."""
    DEPRECATED = "deprecated"
    UNDECIDED = "cannot be told"
    UNKNOWN = "unknown"
    """Neither release has the key: it is one of the application, or misspelt."""
    FINE = "fine"


STOPPING: Final = frozenset((Effect.REFUSED, Effect.REQUIRED))
"""With these, members of TO do not start."""
_ORDER: Final = {status: place for place, status in enumerate(Effect)}
_SECRET: Final = re.compile(
    r"pass(word|phrase)|secret|token|credential|jaas|private|\bkey\b(?!\.serde|\.(de)?serializer)"
)
_NAME: Final = re.compile(r"(?=.{1,100}$)[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")
_MAX_NAME: Final = 200
_MAX_SHOWN: Final = 300
"""Characters of Kafka's message: it has the value, however long that is."""
_KAFKA_CLASS: Final = re.compile(r"\borg\.apache\.kafka\.[\w.$]*[\w$]")
_CLASS_NAME: Final = re.compile(r"[a-zA-Z_$][\w$]*(\.[a-zA-Z_$][\w$]*)*")
_JAVA: Final = re.compile(r"(?:java|javax|jdk|sun|com/sun)/")
_LISTS_OF_CLASSES: Final = frozenset({"interceptor.classes", "metric.reporters", "security.providers"})
_CLASSES_AS_TEXT: Final = frozenset({"task.assignor.class", "windowed.inner.class.serde"})
_LOGIN_MODULE: Final = "sasl.jaas.config"
_UPGRADE_FROM: Final = "upgrade.from"
_NOT_ALONE: Final = frozenset({_UPGRADE_FROM, "default.dsl.store"})
"""Keys that are meant for TO, or that have no effect without a call: a ``StreamsBuilder`` with a ``TopologyConfig``."""
_END_POINT: Final = "application.server"
_RENAMED: Final[Mapping[str, str]] = {
    "auto.include.jmx.reporter": "metric.reporters",
    "cache.max.bytes.buffering": "statestore.cache.max.bytes",
    "default.deserialization.exception.handler": "deserialization.exception.handler",
    "default.dsl.store": "dsl.store.suppliers.class",
    "default.production.exception.handler": "production.exception.handler",
    "default.windowed.key.serde.inner": "windowed.inner.class.serde",
    "default.windowed.value.serde.inner": "windowed.inner.class.serde",
    "key.serde": "default.key.serde",
    "retries": "task.timeout.ms",
    "timestamp.extractor": "default.timestamp.extractor",
    "value.serde": "default.value.serde",
}
"""The successors of keys of Streams that are removed or deprecated: upgrade guides of Streams, 0.11.0 to 4.0."""
_SET_BY_STREAMS: Final[Mapping[str, frozenset[str]]] = {
    "consumer": frozenset({"group.id", "key.deserializer", "value.deserializer"}),
    "producer": frozenset({"key.serializer", "value.serializer"}),
}
"""Keys that no table has, as their value differs: the group, and objects that Streams passes to constructors."""
_IGNORED: Final[Mapping[str, str]] = {
    "NON_CONFIGURABLE_CONSUMER_DEFAULT_CONFIGS": "consumer",
    "NON_CONFIGURABLE_CONSUMER_EOS_CONFIGS": "consumer",
    "NON_CONFIGURABLE_PRODUCER_EOS_CONFIGS": "producer",
}
_EXACTLY_ONCE: Final = "EOS"
_PREFIXES_SINCE: Final[Mapping[str, tuple[int, ...]]] = {
    "admin.": (1, 1),
    **dict.fromkeys(("main.consumer.", "restore.consumer.", "global.consumer."), (2, 0)),
}
"""The first lines that read a prefix (KIP-220, KIP-276)."""
_NOTHING: Final = {"null", '""'}
"""The defaults of a list that is empty, before and since KIP-1161."""
_SAME_OBJECTS: Final = frozenset({"metric.reporters"})
"""Keys whose default changed, and whose objects did not: clients added the JMX reporter to any list before 4.0."""
_GUARANTEE: Final = "processing.guarantee"
_CONSUMER_DEFAULTS: Final = ("CONSUMER_DEFAULT_OVERRIDES", "CONSUMER_EOS_OVERRIDES")
"""Without and with exactly-once."""
_PASSED: Final[Mapping[str, str]] = {"consumer": "main.consumer", "producer": "producer", "admin": "admin"}
"""The names in ``Configuration.overrides`` of what Streams passes to each client."""


@frozen
class SettingFinding:
    """The verdict of TO on one key."""

    key: str
    """As it is given, with its prefix; of a key that is not set the plain name."""
    config: str
    """The configuration of Kafka that decides, or empty."""
    status: Effect
    text: str
    line: int | None = None
    """The line of the file; None if it is not set there."""
    file: str = ""
    """Its name, if there are several."""
    conditions: tuple[str, ...] = ()
    """When it is so: ``profile prod``; none: always."""

    @property
    def place(self) -> str:
        """Its file, its line and its conditions in words, or nothing."""
        line = "" if self.line is None else f"line {self.line}"
        return ", ".join(filter(None, (f"{self.file} {line}".strip(), *self.conditions)))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "key": self.key,
            "config": self.config or None,
            "status": self.status.value,
            "text": self.text,
            "line": self.line,
            "file": self.file or None,
            "conditions": list(self.conditions),
        }


@frozen
class SettingsReport:
    """The verdicts of TO on all settings, the worst first."""

    findings: tuple[SettingFinding, ...]

    @property
    def stopping(self) -> tuple[SettingFinding, ...]:
        """The findings with which members of TO do not start."""
        return tuple(finding for finding in self.findings if finding.status in STOPPING)


@frozen
class KnownClasses:
    """The classes in the files of an application, its libraries' too, without Kafka's."""

    names: frozenset[str] = field(repr=False)
    """In the form of the JVM, with slashes."""
    has_libraries: bool
    """Whether there are libraries in the files: else a class may be in one that was not seen."""


def judge_settings(
    settings: Settings,
    origin: Configuration,
    target: Configuration,
    code: Code,
    application: KnownClasses | None = None,
) -> SettingsReport:
    """Say of each setting what ``target`` makes of it, and of each key that is not set whether its default changed.

    Args:
        settings: The keys and values of the application, with the prefixes of Streams.
        origin: The configuration of the release that it leaves.
        target: The Kafka of the target release.
        code: The classes of that release.
        application: The classes of the application; None if its files are not known.
    """
    findings: dict[SettingFinding, SettingFinding] = {}
    is_kafkas = not settings.elsewhere or any(is_known(key) for variant in settings.variants for key in variant.values)
    for variant in settings.variants:
        for finding in _Judge(variant, origin, target, code, application).findings():
            if is_kafkas or finding.status not in _OF_KEYS_NOT_SET:
                findings.setdefault(finding, evolve(finding, conditions=variant.conditions))
    return SettingsReport(
        tuple(sorted(findings.values(), key=lambda finding: (_ORDER[finding.status], finding.key, finding.conditions)))
    )


_OF_KEYS_NOT_SET: Final = frozenset((Effect.REQUIRED, Effect.DEFAULT))
"""A file without a key of Kafka, or that is not read, does not show that a key is not set."""
_SAID_OF_CODE: Final = frozenset((Effect.REFUSED, Effect.NEEDS, Effect.REMOVED, Effect.NO_EFFECT, Effect.DEPRECATED))


def with_code(report: SettingsReport | None, judged: Iterable[SettingsReport], made: CodeSettings) -> SettingsReport:
    """Return the report of a file with what is said of settings that classes make, each with its place.

    Args:
        report: The value of the file; None if there is none.
        judged: The verdicts of ``judge_settings`` on each variant of ``variants_of``, in their order.
        made: The settings of the classes.
    """
    of_file = tuple(
        finding
        for finding in (report.findings if report else ())
        if finding.status is not Effect.DEFAULT or finding.key not in made.values
    )
    of_code = (
        evolve(finding, line=None, conditions=(place,))
        for (key, _, place), found in zip(_variants(made), judged, strict=True)
        for finding in found.findings
        if finding.key == key and finding.status in _SAID_OF_CODE
    )
    findings = dict.fromkeys((*of_file, *of_code))
    return SettingsReport(
        tuple(sorted(findings, key=lambda finding: (_ORDER[finding.status], finding.key, finding.conditions)))
    )


def variants_of(made: CodeSettings, settings: Settings | None) -> Iterator[Settings]:
    """Yield the settings of a file with those of classes: once for each value that a key may have there."""
    values = {**(settings.values if settings else {}), **values_in_code(made)}
    for key, value, _ in _variants(made):
        yield Settings.of({**values, key: value})


def values_in_code(made: CodeSettings) -> dict[str, str]:
    """Return the keys of which the classes have one value."""
    values = {key: {setting.value for setting in found if setting.reaches_kafka} for key, found in made.values.items()}
    return {key: min(found) for key, found in values.items() if len(found) == 1}


def _variants(made: CodeSettings) -> Iterator[tuple[str, str, str]]:
    """Yield key, value and place of each setting that is for Kafka Streams."""
    for key, found in made.values.items():
        yield from ((key, setting.value, setting.where) for setting in found if setting.reaches_kafka)


class _Judge:
    """Two configurations and the settings of an application."""

    def __init__(
        self,
        variant: Variant,
        origin: Configuration,
        target: Configuration,
        code: Code,
        application: KnownClasses | None,
    ) -> None:
        self._settings, self._lines, self._files, self._names = (
            variant.values,
            variant.lines,
            variant.files,
            variant.names,
        )
        self._places = {key: place for place, key in enumerate(variant.values, 1)}
        self._origin, self._target, self._code, self._application = origin, target, code, application
        self._elsewhere = keys_elsewhere(variant)

    def findings(self) -> Iterator[SettingFinding]:
        """Yield what becomes of each key that is set, and of those that are not."""
        for key, value in self._settings.items():
            yield evolve(self.setting(key, value), line=self._lines.get(key) or None, file=self._files.get(key, ""))
        yield from self.not_set()

    def setting(self, key: str, value: str) -> SettingFinding:
        """Return the worst of what the configurations make of a key that have it."""
        plain, configs = scope(key)
        if about := next((text for prefix, text in OPEN_PREFIXES.items() if plain.startswith(prefix)), None):
            names_class = plain.startswith("config.providers.") and plain.endswith(".class")
            lookup = (
                self._lookup(plain, (value.strip(),)) if names_class and _CLASS_NAME.fullmatch(value.strip()) else None
            )
            status = Effect.UNDECIDED if plain.startswith(TOPIC) else Effect.FINE
            return SettingFinding(key, "", *(lookup or (status, about)))
        if plain in WITHOUT_DEFINITION:
            undefined = SettingFinding(key, "streams", Effect.UNDECIDED, "the value is a placeholder")
            if is_placeholder(value):
                return undefined
            status, text = self._lookup(plain, (value.strip(),)) or (Effect.FINE, f"{self._target.release} reads it")
            return evolve(undefined, status=status, text=text)
        if not _reads_prefix(self._target, key.removesuffix(plain)) and is_known(key):
            ignored = f"{self._target.release} ignores keys that begin with {key.removesuffix(plain)}"
            return SettingFinding(key, configs[0], Effect.REMOVED, ignored)
        findings = [
            self._in_config(key, plain, config, value)
            for config in configs
            if plain in self._keys(self._origin, config) or plain in self._keys(self._target, config)
        ]
        if not findings:
            return SettingFinding(self._shown(key), "", Effect.UNKNOWN, known_elsewhere(plain, configs))
        # Streams itself may read a key that gives no client a value: group.protocol.
        effective = [finding for finding in findings if finding.status is not Effect.NO_EFFECT]
        worst = min(effective or findings, key=lambda finding: _ORDER[finding.status])
        keeping = " and ".join(finding.config for finding in effective if finding.status is not Effect.REMOVED)
        if _ORDER[worst.status] > _ORDER[Effect.MEANING] and self._begins_to_count(key, value):
            text = f"{self._origin.release} does not have it and ignores it; {self._target.release} obeys it"
            more = "" if worst.status is Effect.FINE else f"; {worst.text}"
            return evolve(worst, status=Effect.MEANING, text=text + more)
        if worst.status is Effect.REMOVED and keeping:
            return evolve(worst, text=f"{worst.text}; without a prefix it is still for {keeping}")
        return worst

    def _begins_to_count(self, key: str, value: str) -> bool:
        """Whether FROM has no such key, and the value is none that TO would have without it."""
        plain, configs = scope(key)
        new = [self._keys(self._target, config).get(plain) for config in configs]
        is_default = value.strip() in {"", *(known.default_text for known in new if known)}
        is_read = _reads_prefix(self._origin, key.removesuffix(plain))
        is_old = is_read and any(plain in self._keys(self._origin, config) for config in configs)
        return not (is_old or is_default or plain in _NOT_ALONE)

    def not_set(self) -> Iterator[SettingFinding]:
        """Yield the keys that are not set and have another default, or none any more."""
        for config in CONFIGS:
            for key, new in self._keys(self._target, config).items():
                if self._is_set(key, config) or new.internal or (config != "streams" and new.required):
                    continue  # Streams sets what its clients require
                old = self._keys(self._origin, config).get(key)
                if new.required:
                    if old is None or not old.required:
                        yield SettingFinding(key, config, Effect.REQUIRED, f"{self._target.release} has no default")
                elif old is not None and key not in self._ignored(config):
                    before, after = self._default(self._origin, config, key), self._default(self._target, config, key)
                    if before != after and key not in _SAME_OBJECTS and {before, after} != _NOTHING:
                        text = f"not set; the default is {after} instead of {before}"
                        yield SettingFinding(key, config, Effect.DEFAULT, text)

    def _shown(self, key: str) -> str:
        """Return an unknown key if it looks like one: a line that has gone wrong may begin with a password."""
        return shown_key(key, self._places[key], is_name=key in self._names)

    def _in_config(self, key: str, plain: str, config: str, value: str) -> SettingFinding:
        old, new = (self._keys(release, config).get(plain) for release in (self._origin, self._target))

        def finding(status: Effect, text: str) -> SettingFinding:
            return SettingFinding(key, config, status, text)

        successor = self._successor(plain) if config == "streams" else ""
        release = self._target.release
        if new is None:
            subject = f"Streams of {release}" if config == "streams" else f"the {config} of {release}"
            return finding(Effect.REMOVED, f"{subject} does not have it and ignores it{successor}")
        if plain in self._ignored(config, key.removesuffix(plain)):
            return finding(Effect.NO_EFFECT, "Streams sets it itself")
        if missing := self._missing_class(value):
            return finding(Effect.REFUSED, f"{release} has no class {missing}")
        if is_placeholder(value):
            default = default_of(value)
            of_default = None if default is None else self._in_config(key, plain, config, default)
            if of_default and of_default.status is Effect.REFUSED:
                return evolve(of_default, text=f"{of_default.text}; this is the default of a placeholder")
            return finding(Effect.UNDECIDED, "the value is a placeholder")
        if refused := self._refusal(plain, config, new, value, RELEASES[release]):
            also = f"; {self._origin.release} refuses it, too" if self._was_refused(plain, config, old, value) else ""
            words = "its value is refused" if is_secret(plain, new) else shortened(hide_credentials(refused))
            return finding(Effect.REFUSED, words + also)
        if need := self._need(plain, config):
            return finding(Effect.NEEDS, need)
        lookup = self._lookup(plain, _classes(plain, new, value))
        if lookup and lookup[0] is Effect.REFUSED:
            return finding(*lookup)
        if new.deprecated:
            return finding(Effect.DEPRECATED, f"deprecated in {release}{successor}")
        if lookup:
            return finding(*lookup)
        if not is_judged(new, value) and plain not in _JUDGED_HERE and new.type != "CLASS":
            return finding(Effect.UNDECIDED, "Kafka checks the value with code of its own")
        return finding(Effect.FINE, f"{release} accepts it")

    def _need(self, plain: str, config: str) -> str:
        """Say what Java has to be started with because of a key; nothing if the release needs no system property."""
        settings = self._of_client(config)
        before = {need.option for need in needs_of(RELEASES[self._origin.release], settings)}
        needs = [need for need in needs_of(RELEASES[self._target.release], settings) if plain in need.keys]
        return "; ".join(
            f"add {need.option} to the start script: {need.reason}"
            + (f"; {self._origin.release} needs it, too" if need.option in before else "")
            for need in needs
        )

    def _of_client(self, config: str) -> dict[str, str]:
        """Return the settings of a client by their plain names: those with its prefixes count more."""
        prefixes = [prefix for prefix, client in PREFIXES.items() if client == config]
        return {
            key.removeprefix(prefix): value
            for prefix in ("", *reversed(prefixes))
            for key, value in self._settings.items()
            if key.startswith(prefix)
        }

    def _was_refused(self, plain: str, config: str, old: ReleaseConfigKey | None, value: str) -> bool:
        release = RELEASES[self._origin.release]
        return old is not None and self._refusal(plain, config, old, value, release) is not None

    def _refusal(
        self, plain: str, config: str, definition: ReleaseConfigKey, value: str, release: Release
    ) -> str | None:
        """Return what a member says of a value with which it does not start; each thread has an id of its own."""
        passed = f"{value.strip()}-1" if plain == "group.instance.id" else value
        refused = _refused(plain, definition, value, release)
        return refused or refusal_beside(plain, passed, self._of_client(config), release.number)

    def _missing_class(self, value: str) -> str:
        """Return the first class of Kafka in a value that TO lacks; only its name is shown, also of a secret."""
        for name in _KAFKA_CLASS.findall(value):
            entry = name.replace(".", "/")
            if entry in classes_of_any_release() and entry not in self._code:
                return str(name)
        return ""

    def _lookup(self, key: str, names: Iterable[str]) -> tuple[Effect, str] | None:
        """Return the worst of what becomes of the classes that a value names; None if there are none."""
        lookups = [self._class_lookup(key, name) for name in names]
        return min(lookups, key=lambda lookup: _ORDER[lookup[0]], default=None)

    def _class_lookup(self, key: str, name: str) -> tuple[Effect, str]:
        entry = name.replace(".", "/")
        if entry in self._code or _JAVA.match(entry):
            return Effect.FINE, f"{self._target.release} accepts it"
        shown = name if _CLASS_NAME.fullmatch(name) and key != _LOGIN_MODULE else "of its value"
        if self._application and entry in self._application.names:
            return Effect.FINE, f"class {shown} is in the files of --app"
        if entry in classes_of_any_release() or entry.rpartition("/")[0] in _homes_of_kafka():
            return Effect.REFUSED, f"{self._target.release} has no class {shown}"
        if self._application is None:
            return Effect.UNDECIDED, "a class of the application: --app PATH looks for it"
        if not self._application.has_libraries:
            return Effect.UNDECIDED, f"class {shown} is not in the files of --app, which have no libraries"
        return Effect.REFUSED, f"class {shown} is not in the files of --app"

    def _successor(self, key: str) -> str:
        new = _RENAMED.get(key)
        return f"; {new} is its successor" if new in self._keys(self._target, "streams") else ""

    def _ignored(self, config: str, prefix: str = "") -> frozenset[str]:
        """Return the keys of a client that Streams sets itself; without a prefix of its own it is the main one."""
        names = (name for name, client in _IGNORED.items() if client == config)
        used = (name for name in names if self._is_exactly_once or _EXACTLY_ONCE not in name)
        keys = (self._target.overrides.get(name, ()) for name in used)
        ignored = _SET_BY_STREAMS.get(config, frozenset()).union(self._set_afterwards(config, prefix), *keys)
        return ignored - ({IN_FLIGHT} if RELEASES[self._target.release].number >= (2, 0) else set())  # only limited

    def _set_afterwards(self, config: str, prefix: str) -> Iterator[str]:
        """Yield what a consumer gets beyond the defaults of Streams: it is set after what the application sets."""
        if config != "consumer":
            return
        own = _override(self._target, f"{prefix.removesuffix('.')}{self._suffix}")
        passed = own or _override(self._target, f"{_PASSED[config]}{self._suffix}")
        defaults = _override(self._target, _CONSUMER_DEFAULTS[self._is_exactly_once])
        given = self._keys(self._target, "streams")  # those Streams may take from a key of its own
        yield from (key for key, value in passed.items() if defaults.get(key) != value and key not in given)

    @property
    def _suffix(self) -> str:
        return " (exactly once)" if self._is_exactly_once else ""

    @property
    def _is_exactly_once(self) -> bool:
        return self._settings.get(_GUARANTEE, "").strip().startswith("exactly_once")

    @staticmethod
    def _keys(configuration: Configuration, config: str) -> Mapping[str, ReleaseConfigKey]:
        return configuration.configs.get(config, {})

    @property
    def _is_idempotent(self) -> bool:
        """Whether the producer is idempotent in any release, which decides acks."""
        return self._is_exactly_once or self._of_client("producer").get("enable.idempotence", "").strip() == "true"

    def _default(self, configuration: Configuration, config: str, key: str) -> str:
        if (config, key) == ("producer", "acks") and self._is_idempotent:
            return "all"  # Java: ProducerConfig#configureAcks, and later #postProcessAndValidateIdempotenceConfigs
        passed = _override(configuration, f"{_PASSED.get(config)}{self._suffix}")
        if key in passed:
            return passed[key]
        definition = configuration.configs[config][key]
        return "one that the machine or its Java decides" if definition.varies else definition.default_text

    def _is_set(self, key: str, config: str) -> bool:
        """Whether a key is set, or may be."""
        prefixes = (prefix for prefix, client in PREFIXES.items() if client == config)
        return key in self._elsewhere or any(prefix + key in self._settings for prefix in ("", *prefixes))


def _reads_prefix(configuration: Configuration, prefix: str) -> bool:
    return RELEASES[configuration.release].number >= _PREFIXES_SINCE.get(prefix, ())


def _override(configuration: Configuration, name: str) -> Mapping[str, str]:
    """Return the values that Streams gives to a client, or that a constant of it has."""
    override = configuration.overrides.get(name, {})
    return override if isinstance(override, Mapping) else {}


def _refused(key: str, definition: ReleaseConfigKey, value: str, release: Release) -> str | None:
    """Return what a member of a release says of a value with which it does not start: its definition, or later code."""
    if reason := refusal(key, definition, value):
        return reason
    if key == _UPGRADE_FROM:
        return release.startup_outcome(value.strip()).text or None
    if key == _END_POINT:
        try:
            parse_end_point(value, release.behaviour.end_point_format)
        except ConfigException as error:
            return str(error)
    return None


_JUDGED_HERE: Final = frozenset({_UPGRADE_FROM, _END_POINT})


def _classes(key: str, definition: ReleaseConfigKey, value: str) -> tuple[str, ...]:
    """Return the names of classes that a value consists of.

    >>> known = ReleaseConfigKey("LIST", "LOW", False, None, None, False, False, False)
    >>> _classes("metric.reporters", known, "a.B, c.D"), _classes("sasl.jaas.config", known, "a.B required x=y;")
    (('a.B', 'c.D'), ('a.B',))
    """
    if key == _LOGIN_MODULE:
        return tuple(value.split(None, 1)[:1])
    if key in _LISTS_OF_CLASSES:
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return (value.strip(),) if value.strip() and (definition.type == "CLASS" or key in _CLASSES_AS_TEXT) else ()


@cache
def _homes_of_kafka() -> frozenset[str]:
    """Return what a class of Kafka can be in: its packages, and its classes, as Java's sources name inner ones."""
    names = classes_of_any_release()
    return names | {name.rpartition("/")[0] for name in names}


def shown_key(key: str, place: int, *, is_name: bool) -> str:
    """Return an unknown key, or only its place if it may be a line that has gone wrong."""
    return key if _NAME.fullmatch(key) or (is_name and len(key) <= _MAX_NAME) else f"key {place} of the file"


def shortened(text: str) -> str:
    """Return a message of Kafka, which has the value, however long that is."""
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]} ... {text[-_MAX_SHOWN // 2 :]}"


def is_secret(key: str, definition: ReleaseConfigKey) -> bool:
    """Whether the value of a key may be a secret."""
    return definition.type == "PASSWORD" or _SECRET.search(key) is not None
