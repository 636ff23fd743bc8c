"""The settings of Kafka in the entries of files: plain keys, frameworks and ksqlDB; profiles, all files.

No error has a value: it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.codec.errors import require_type
from streams_assignor.upgrade.application.configuration import CONFIGS, keys_of_any_release
from streams_assignor.upgrade.application.setting_elsewhere import (
    COMMAND_LINE,
    ENVIRONMENT,
    Embedded,
    agents,
    decoded,
    deployed,
    elsewhere,
    variable_name,
)
from streams_assignor.upgrade.application.setting_forms import Entry, Form, MissingReader, form_of
from streams_assignor.upgrade.errors import UpgradeError

_PREFIXES: Final = (
    "spring.kafka.streams.properties",
    "spring.kafka.properties",
    "spring.cloud.stream.kafka.streams.binder.configuration",
    "spring.cloud.stream.kafka.binder.configuration",
    "kafka-streams",
    "kafka.streams.default",
    "ksql.streams",
)
"""From the one that wins to the others."""
_SPRING_SECURITY: Final[Mapping[str, str]] = {
    "security.protocol": "security.protocol",
    "ssl.key-password": "ssl.key.password",
    "ssl.key-store-certificate-chain": "ssl.keystore.certificate.chain",
    "ssl.key-store-key": "ssl.keystore.key",
    "ssl.key-store-location": "ssl.keystore.location",
    "ssl.key-store-password": "ssl.keystore.password",
    "ssl.key-store-type": "ssl.keystore.type",
    "ssl.protocol": "ssl.protocol",
    "ssl.trust-store-certificates": "ssl.truststore.certificates",
    "ssl.trust-store-location": "ssl.truststore.location",
    "ssl.trust-store-password": "ssl.truststore.password",
    "ssl.trust-store-type": "ssl.truststore.type",
}
"""Of Spring Boot, for all clients (``spring.kafka``) and for Streams (``spring.kafka.streams``)."""
_NAMES: Final[Mapping[str, str]] = {
    "spring.kafka.streams.application-id": "application.id",
    "spring.kafka.streams.bootstrap-servers": "bootstrap.servers",
    "spring.kafka.streams.client-id": "client.id",
    "spring.kafka.streams.replication-factor": "replication.factor",
    "spring.kafka.streams.state-dir": "state.dir",
    "spring.kafka.bootstrap-servers": "bootstrap.servers",
    "spring.kafka.client-id": "client.id",
    **{f"spring.kafka.streams.{name}": key for name, key in _SPRING_SECURITY.items()},
    **{f"spring.kafka.{name}": key for name, key in _SPRING_SECURITY.items()},
    "spring.cloud.stream.kafka.streams.binder.application-id": "application.id",
    "spring.cloud.stream.kafka.streams.binder.brokers": "bootstrap.servers",
}
"""Names of frameworks, from those that win to the others; Spring reads ``applicationId`` as well."""
_QUARKUS: Final[Mapping[str, str]] = {
    **{f"quarkus.kafka-streams.{key.replace('.', '-')}": key for key in ("application.id", "application.server")},
    "quarkus.kafka-streams.bootstrap-servers": "bootstrap.servers",
    "quarkus.kafka-streams.security.protocol": "security.protocol",
    **{
        f"quarkus.kafka-streams.{group}.{name}": f"{group}.{name.replace('-', '.')}"
        for group, names in {
            "sasl": (
                *("client-callback-handler-class", "jaas-config", "kerberos-kinit-cmd", "kerberos-service-name"),
                *("kerberos-min-time-before-relogin", "kerberos-ticket-renew-jitter"),
                *("kerberos-ticket-renew-window-factor", "login-callback-handler-class", "login-class"),
                *("login-refresh-window-factor", "login-refresh-window-jitter", "mechanism"),
            ),
            "ssl": (
                *("cipher-suites", "enabled-protocols", "endpoint-identification-algorithm", "key.password"),
                *("keymanager-algorithm", "keystore.certificate-chain", "keystore.key", "keystore.location"),
                *("keystore.password", "keystore.type", "protocol", "provider", "secure-random-implementation"),
                *("trustmanager-algorithm", "truststore.certificates", "truststore.location", "truststore.password"),
                "truststore.type",
            ),
        }.items()
        for name in names
    },
}
"""Of Quarkus, which sets them after its ``kafka-streams.*``."""
_QUARKUS_DEFAULTS: Final[Mapping[str, str]] = {
    "kafka.bootstrap.servers": "bootstrap.servers",
    "quarkus.application.name": "application.id",
}
"""Of Quarkus, where its own names for Kafka Streams are not set; they do not show that a file is one of Quarkus."""
_OF_WRAPPERS: Final = ("spring.kafka.streams.cleanup.on-startup", "spring.kafka.streams.cleanup.on-shutdown")
"""Names of frameworks that are no settings of Kafka, and that decide what its wrapper does."""
_ACTIVATION: Final[Mapping[str, str]] = {
    "spring.config.activate.on-profile": "profile",
    "spring.profiles": "profile",
    "spring.config.activate.on-cloud-platform": "platform",
}
"""The keys with which a document of Spring Boot says when it is read."""
_QUARKUS_PROFILE: Final = re.compile(r"%\{?([\w,-]+)\}?\.(.+)", re.DOTALL)
_FUNCTION: Final = re.compile(r"(spring\.cloud\.stream\.kafka\.streams\.binder\.)functions\.([\w-]+)\.(.+)", re.DOTALL)
_BINDER: Final = re.compile(r"spring\.cloud\.stream\.binders\.([\w-]+)\.environment\.(.+)", re.DOTALL)
_MICRONAUT_STREAM: Final = re.compile(r"kafka\.streams\.(?!default\.)([\w-]+)\.(.+)", re.DOTALL)
_PROFILE_FILE: Final = re.compile(r"(?:.*[/\\])?(?:application|bootstrap)-([^/\\]+)\.(?:properties|ya?ml)")
CONSUMER_PREFIXES: Final = ("main.consumer.", "consumer.", "")
"""In the order of precedence. Java: ``StreamsConfig#getMainConsumerConfigs``."""
_PLACEHOLDER: Final = re.compile(r"[$#%]\{|\{\{|\$\(|<%|@[\w.-]+@|ENC\(")
"""Placeholders that a framework, a build or a deployment replaces: Spring, Maven, Helm, Kubernetes, Jasypt, ..."""
MAX_SETTINGS: Final = 10_000
MAX_CONDITIONS: Final = 50
"""Each is judged with all settings that hold with it."""
_REFERENCE: Final = re.compile(r"\$\{([^:{}]++)[^{}]*+\}")
_DEFAULT: Final = re.compile(r"\$\{[^:{}]+:-?([^{}]*)\}")
_MAX_REFERENCES: Final = 5
"""A value may refer to one that refers to another."""
_BRACKETS: Final = re.compile(r"\.?\[\"?([^\]\"]*)\"?\]")


@frozen
class Variant:
    """The settings with which an application runs: always, or under conditions that the file names."""

    conditions: tuple[str, ...] = ()
    values: Mapping[str, str] = field(factory=dict, repr=False, hash=False)
    """By Kafka's names."""
    lines: Mapping[str, int] = field(factory=dict, hash=False)
    """The line of each, if there is a file."""
    unread: Mapping[str, int] = field(factory=dict, hash=False)
    """Other keys of a file of a framework, with their lines: the application may read them itself."""
    unread_values: Mapping[str, str] = field(factory=dict, repr=False, hash=False)
    """Their values, which may name keys of Kafka."""
    files: Mapping[str, str] = field(factory=dict, hash=False)
    """The file of each key, if there are several."""
    names: frozenset[str] = frozenset()
    """The keys that a parser of documents says are names."""
    of_wrappers: Mapping[str, str] = field(factory=dict, repr=False, hash=False)
    """Settings of a framework that decide what it does with Kafka Streams, by the names of its guide."""


@frozen
class Settings:
    """The settings of a file."""

    variants: tuple[Variant, ...] = (Variant(),)
    """The first one has no conditions, or is that of the first container if these set a key differently."""
    framework: bool = False
    """Whether they were written in a form of Spring Boot or Quarkus."""
    left_out: int = 0
    """How many further keys of such a file are not read: those of the framework and of the application."""
    forms: tuple[tuple[str, str], ...] = ()
    """The files, each with its form; the name of the only one is empty."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """The files, as above, with why any other key may be set, too: it imports another file, or is not read."""
    shows: frozenset[str] = frozenset()
    """``ENVIRONMENT`` and ``COMMAND_LINE`` if a file has them, ``FOLDER`` if the files are all of one."""
    agents: tuple[tuple[str, str], ...] = ()
    """The files, as above, with the lines by which Java gets an agent."""

    @property
    def values(self) -> Mapping[str, str]:
        """The settings of the first variant."""
        return self.variants[0].values

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Settings:
        """Return settings that are in no file."""
        return cls((Variant(values=values),))


def is_placeholder(value: str) -> bool:
    """Whether something else decides the value, so that it is not known.

    >>> is_placeholder("${THREADS:4}"), is_placeholder("{{ threads }}"), is_placeholder("4")
    (True, True, False)
    """
    return _PLACEHOLDER.search(value) is not None


def setting_of(settings: Mapping[str, str], name: str) -> str | None:
    """Return the value with which a main consumer runs, whatever prefix it has; None if it is not set.

    >>> setting_of({"session.timeout.ms": "1", "main.consumer.session.timeout.ms": "2"}, "session.timeout.ms")
    '2'
    """
    return next((settings[prefix + name] for prefix in CONSUMER_PREFIXES if prefix + name in settings), None)


def default_of(value: str) -> str | None:
    """Return the value that a placeholder stands for unless something else sets it; None if it has no such value.

    >>> default_of("${GUARANTEE:exactly_once}"), default_of("${A:${B:-x}}"), default_of("${A}"), default_of("x")
    ('exactly_once', 'x', None, None)
    """
    replaced = value
    for _ in range(_MAX_REFERENCES):
        replaced = _DEFAULT.sub(lambda match: match[1], replaced)
    return None if replaced == value or is_placeholder(replaced) else replaced


def parse_settings(text: str, name: str) -> Settings:
    """Read the text of a file; its name, or the end of it, says the form.

    Raises:
        UpgradeError: It is of another form, has too much, or needs PyYAML.

    >>> parse_settings("acks=all", ".properties").values
    {'acks': 'all'}
    """
    require_type("text", text, str)
    require_type("name", name, str)
    return combined_settings([(name, text)])


FOLDER: Final = "folder"


def combined_settings(files: Sequence[tuple[str, str]], *, of_folder: bool = False) -> Settings:
    """Return the settings of files as a framework combines them: later ones win, then profiles, then variables.

    Args:
        files: The name and the text of each.
        of_folder: They are all that a folder has: data among them is named as not read, and leaves keys open.

    Raises:
        UpgradeError: A text that is named alone is of another form, or has too much; or one needs PyYAML.

    >>> pair = [("application-prod.yml", "kafka-streams.acks: '1'"), ("application.yml", "kafka-streams.acks: all")]
    >>> [variant.values for variant in combined_settings(pair).variants]
    [{'acks': 'all'}, {'acks': '1'}]
    """
    entries = list[Entry]()
    read, reasons = read_files(files, _entries, of_folder=of_folder)
    for file in read:
        own: Sequence[Entry] = file.entries
        if profile := _PROFILE_FILE.fullmatch(file.name):
            own = [evolve(entry, conditions=(*entry.conditions, f"profile {profile[1]}")) for entry in own]
        entries += own
        if file.form.is_read and not any(_may_be_kafkas(entry) for entry in own):
            reasons.append((file.name, "sets no key of Kafka Streams or its clients: is it the application's?"))
    entries = list(_apart(entries))
    settings = kafka_settings(
        sorted(entries, key=lambda entry: (entry.is_variable, bool(_PROFILE_FILE.fullmatch(entry.file))))
    )
    commands = {"args", "command", "CMD", "ENTRYPOINT"}
    shows = {FOLDER} if of_folder else set[str]()
    shows |= {ENVIRONMENT for entry in entries if entry.is_variable}
    shows |= {COMMAND_LINE for entry in entries if entry.key.rpartition(".")[2] in commands}
    forms = tuple((file.name, file.form.words) for file in read)
    found = tuple(dict.fromkeys((entry.file, agent) for entry in entries for agent in agents(entry)))
    left = tuple(dict.fromkeys(reasons))
    return evolve(settings, forms=forms, elsewhere=left, shows=frozenset(shows), agents=found)


@frozen
class ReadFile:
    """A file that was read."""

    name: str
    """Empty: the only one."""
    form: Form
    entries: tuple[Entry, ...]


def read_files(
    files: Sequence[tuple[str, str]], parse: Callable[[str, str], Iterable[Entry]], *, of_folder: bool
) -> tuple[list[ReadFile], list[tuple[str, str]]]:
    """Return the files that can be read, and why any other key may be set, too; ``combined_settings`` has the rest."""
    read, reasons = list[ReadFile](), list[tuple[str, str]]()
    for given, text in files:
        form, name = form_of(given, text), given if len(files) > 1 else ""
        try:
            own = tuple(evolve(entry, file=name) for entry in parse(given, text))
        except UpgradeError as error:
            if of_folder and name and not isinstance(error, MissingReader):
                reasons.append((name, f"was not read: {error}"))
                continue
            raise UpgradeError(f"{name}: {error}" if name else str(error)) from error
        read.append(ReadFile(name, form, own))
        reasons += ((name, words) for words in elsewhere(own, [other for other, _ in files]))
        if not form.is_read:
            reasons.append((name, f"is not read: {form.words}"))
    return read, reasons


def _apart(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the entries; those of containers and documents that set a key differently only hold in these."""
    values: dict[tuple[object, ...], dict[str, str | None]] = {}
    for entry in entries:
        if (place := _place(entry)) and _may_be_kafkas(entry):
            values.setdefault((entry.conditions, entry.key), {})[place] = entry.value
    mixed = _contradicts_a_plain_file(entries)
    differ = mixed or any(len(set(by_place.values())) > 1 for by_place in values.values())
    for entry in entries:
        place = (_place(entry) or (f"{_IN_A_PLACE}{entry.file}" if mixed else "")) if differ else ""
        yield evolve(entry, conditions=(place, *entry.conditions)) if place else entry


def _contradicts_a_plain_file(entries: Sequence[Entry]) -> bool:
    """Whether a framework's file and a plain one set a key differently: nothing says which of them a client gets."""
    files = [entry for entry in entries if not entry.is_variable]
    of_frameworks = {entry.file for entry in files if _is_read(entry.key)}
    plain = {entry.key: entry.value for entry in files if entry.file not in of_frameworks}
    named = _by_kafkas_names({entry.key: entry for entry in files if entry.file in of_frameworks})
    return any(plain.get(key, entry.value) != entry.value for key, entry in named.items())


def _place(entry: Entry) -> str:
    """Return the condition of an entry that is in one of several places; empty for those that hold in all."""
    words = " ".join(filter(None, (entry.file, entry.place))) or "the file"
    return f"{_IN_A_PLACE}{words}" if entry.place or entry.is_variable else ""


_IN_A_PLACE: Final = "in "


def _entries(name: str, text: str) -> list[Entry]:
    """Return the entries of a text with their conditions, and those of documents, variables and options in values."""
    listed: list[Entry] = []
    for entry in decoded(form_of(name, text).parse(text)):
        for part in deployed(entry):
            if isinstance(part, Embedded):
                listed += _embedded(part)
            elif known := _framework_name(part.key):
                listed.append(evolve(part, key=known, is_variable=True))
            else:
                listed.append(part)
    return [_with_conditions(entry) for entry in _of_documents(listed)]


def _embedded(part: Embedded) -> Iterator[Entry]:
    profile = _PROFILE_FILE.fullmatch(part.name)
    conditions = (f"profile {profile[1]}",) if profile else ()
    for found in _entries(part.name, part.text):
        yield evolve(
            found,
            line=part.line + found.line,
            document=-1,
            conditions=(*conditions, *found.conditions),
            is_variable=found.is_variable or part.is_variable,
            place=part.place,
        )


def _framework_name(key: str) -> str:
    """Return the name of a framework's setting that a variable of the environment sets; empty if it sets none.

    >>> _framework_name("SPRING_KAFKA_STREAMS_PROPERTIES_PROCESSING_GUARANTEE")
    'spring.kafka.streams.properties.processing.guarantee'
    >>> _framework_name("QUARKUS_KAFKA_STREAMS_APPLICATION_ID"), _framework_name("PROCESSING_GUARANTEE")
    ('quarkus.kafka-streams.application-id', '')
    """
    if not (name := variable_name(key)):
        return ""
    if name in _VARIABLES:
        return _VARIABLES[name]
    below = (
        (prefix, name.removeprefix(f"{_upper(prefix)}_").lower().replace("_", "."))
        for prefix in _PREFIXES
        if name.startswith(f"{_upper(prefix)}_")
    )
    return next((f"{prefix}.{rest}" for prefix, rest in below if _is_kafkas(rest)), "")


def _upper(name: str) -> str:
    return re.sub(r"[.-]", "_", name).upper()


def _is_kafkas(key: str) -> bool:
    """Whether a release has a key, with the prefix of a client or without."""
    plain = _CLIENT.sub("", key)
    return any(plain in keys_of_any_release(config) for config in CONFIGS)


_CLIENT: Final = re.compile(r"(?:(?:main|restore|global)\.)?(?:consumer|producer|admin)\.|topic\.")


def _may_be_kafkas(entry: Entry) -> bool:
    """Whether a file with this entry is one of a Kafka client."""
    return _is_read(entry.key, _QUARKUS_DEFAULTS) or _is_kafkas(entry.key)


def kafka_settings(entries: Iterable[Entry]) -> Settings:
    """Return the settings of Kafka in the entries of files; the last of equal keys wins, as in Java.

    Raises:
        UpgradeError: There are too many.

    >>> entries = [Entry("spring.kafka.streams.properties.acks", "all", 1), Entry("server.port", "80", 2)]
    >>> kafka_settings(entries).left_out
    1
    """
    all_entries = [_with_conditions(entry) for entry in _of_documents(entries)]
    of_frameworks = {entry.file for entry in all_entries if not entry.is_variable and _is_read(entry.key)}
    conditions = dict.fromkeys([(), *(entry.conditions for entry in all_entries)])
    if any(each and each[0].startswith(_IN_A_PLACE) for each in conditions):
        del conditions[()]  # nothing runs with the settings of no place
    if len(all_entries) > MAX_SETTINGS or len(conditions) > MAX_CONDITIONS:
        limits = f"{MAX_SETTINGS:,} settings and {MAX_CONDITIONS} profiles and functions"
        raise UpgradeError(f"expected at most {limits}, got {len(all_entries):,} and {len(conditions) - 1}")

    def is_of_framework(entry: Entry) -> bool:
        return entry.is_variable or entry.file in of_frameworks

    variants = []
    for combination in conditions:
        active = [entry for entry in all_entries if set(entry.conditions) <= set(combination)]
        of_framework = {entry.key: entry for entry in active if is_of_framework(entry)}
        plain = {entry.key: entry for entry in active if not is_of_framework(entry)}
        kept = _by_kafkas_names(of_framework) | {
            key: entry
            for key, entry in plain.items()
            if entry.value is not None  # Spring reads null as an empty text
        }
        others = dict(_settings_of_wrappers(of_framework | plain))
        unread = {key: entry for key, entry in of_framework.items() if not _is_read(key)}
        placed = unread | kept | others
        known = {entry.key: entry.value or "" for entry in active}
        variants.append(
            Variant(
                combination,
                {name: _resolved(entry.value or "", known) for name, entry in kept.items()},
                lines={name: entry.line for name, entry in (kept | others).items()},
                unread={key: entry.line for key, entry in unread.items()},
                unread_values={key: entry.value or "" for key, entry in unread.items()},
                of_wrappers={name: _resolved(entry.value or "", known) for name, entry in others.items()},
                files={name: entry.file for name, entry in placed.items() if entry.file},
                names=frozenset(name for name, entry in placed.items() if entry.is_name),
            )
        )
    left_out = {
        entry.key for entry in all_entries if is_of_framework(entry) and not _is_read(entry.key, _QUARKUS_DEFAULTS)
    }
    return Settings(tuple(variants), any(map(is_of_framework, all_entries)), len(left_out))


def _resolved(value: str, known: Mapping[str, str]) -> str:
    """Return a value with what other keys and variables of the files give to its placeholders."""
    for _ in range(_MAX_REFERENCES):
        if "${" not in value:
            return value
        value = _REFERENCE.sub(lambda match: known.get(match[1].strip(), match[0]), value)
    return value


def _of_documents(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries with the conditions of their documents, without the keys that state them."""
    listed = list(entries)
    conditions: dict[int, tuple[str, ...]] = {}
    for entry in listed:
        if entry.key in _ACTIVATION:
            stated = f"{_ACTIVATION[entry.key]} {entry.value}"
            conditions[entry.document] = (*conditions.get(entry.document, ()), stated)
    for entry in listed:
        if entry.key not in _ACTIVATION:
            yield evolve(entry, conditions=(*conditions.get(entry.document, ()), *entry.conditions))


def _with_conditions(entry: Entry) -> Entry:
    """Move a profile of Quarkus, or a function of Spring Cloud Stream, from the key to the conditions."""
    if match := _QUARKUS_PROFILE.fullmatch(entry.key):
        return evolve(entry, key=match[2], conditions=(*entry.conditions, f"profile {match[1]}"))
    if match := _FUNCTION.fullmatch(entry.key):
        return evolve(entry, key=match[1] + match[3], conditions=(*entry.conditions, f"function {match[2]}"))
    if match := _BINDER.fullmatch(entry.key):
        return evolve(entry, key=match[2], conditions=(*entry.conditions, f"binder {match[1]}"))
    if (match := _MICRONAUT_STREAM.fullmatch(entry.key)) and _is_kafkas(match[2]):
        return evolve(
            entry, key=f"kafka.streams.default.{match[2]}", conditions=(*entry.conditions, f"stream {match[1]}")
        )
    return entry


def _by_kafkas_names(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    prefixed: dict[str, Entry] = {}
    for prefix in reversed(_PREFIXES):
        prefixed |= {name: entry for key, entry in entries.items() if (name := _below(prefix, key))}
    named = {_plain(key): entry for key, entry in entries.items()}

    def by(names: Mapping[str, str]) -> dict[str, Entry]:
        return {names[key]: named[_plain(key)] for key in reversed(list(names)) if _plain(key) in named}

    return by(_NAMES) | prefixed | by(_QUARKUS_DEFAULTS) | by(_QUARKUS)


def _settings_of_wrappers(given: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    named = {_plain(key): entry for key, entry in given.items()}
    return ((name, named[_plain(name)]) for name in _OF_WRAPPERS if _plain(name) in named)


def _is_read(key: str, further: Container[str] = ()) -> bool:
    return key in further or _plain(key) in _PLAIN_NAMES or any(_below(prefix, key) for prefix in _PREFIXES)


def _plain(key: str) -> str:
    """Return a key as Spring compares it.

    >>> _plain("spring.kafka.streams.applicationId") == _plain("spring.kafka.streams.application-id")
    True
    """
    return key.lower().replace("-", "").replace("_", "")


_PLAIN_NAMES: Final = frozenset(map(_plain, (*_NAMES, *_QUARKUS, *_OF_WRAPPERS)))
_VARIABLES: Final[Mapping[str, str]] = {
    variable: name
    for name in (*_NAMES, *_QUARKUS, *_OF_WRAPPERS)
    for variable in (_upper(name), _upper(name.replace("-", "")))
}
"""Spring leaves hyphens out of the names of variables, Quarkus writes them as underscores."""


def _below(prefix: str, key: str) -> str:
    """Return the name of a key below a prefix, also in brackets, or nothing."""
    rest = key.removeprefix(prefix)
    if rest == key:
        return ""
    if match := _BRACKETS.fullmatch(rest):
        return match[1]
    return rest[1:] if rest.startswith(".") else ""
