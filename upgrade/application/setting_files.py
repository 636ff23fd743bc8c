"""The forms in which settings of Kafka are written: properties, JSON and YAML; plain keys, Spring Boot and Quarkus.

No error has a value: it may be a secret.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import accumulate, pairwise, repeat
from typing import Any, Final, NoReturn

from attrs import evolve, field, frozen

from upgrade.errors import UpgradeError
from upgrade.hazards import UNKNOWN_VALUE
from upgrade.input_values import parse_property_lines, require_shallow

_PREFIXES: Final = (
    "spring.kafka.streams.properties",
    "spring.kafka.properties",
    "spring.cloud.stream.kafka.streams.binder.configuration",
    "spring.cloud.stream.kafka.binder.configuration",
    "kafka-streams",
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
_OF_FRAMEWORKS: Final = ("spring.", "quarkus.", "mp.messaging.")
"""Names of frameworks: what they give to Streams is read, and the rest is for other clients."""
_STREAMS_BINDER: Final = "spring.cloud.stream.kafka.streams."
"""Its bindings can have settings of Streams, too."""
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
_SPRING_DOCUMENT: Final = re.compile(r"[#!]---[ \t\f]*")
"""The line between two documents of a properties file: Spring Boot 2.4 and later."""
_QUARKUS_PROFILE: Final = re.compile(r"%\{?([\w,-]+)\}?\.(.+)", re.DOTALL)
_FUNCTION: Final = re.compile(r"(spring\.cloud\.stream\.kafka\.streams\.binder\.)functions\.([\w-]+)\.(.+)", re.DOTALL)
CONSUMER_PREFIXES: Final = ("main.consumer.", "consumer.", "")
"""In the order of precedence. Java: ``StreamsConfig#getMainConsumerConfigs``."""
_PLACEHOLDER: Final = re.compile(r"[$#%]\{|\{\{|\$\(|<%|@[\w.-]+@|ENC\(")
"""What a framework, a build or a deployment replaces: Spring, Maven, Helm, Kubernetes, Jasypt, ..."""
_MAX_DEPTH: Final = 50
MAX_SETTINGS: Final = 10_000
MAX_CONDITIONS: Final = 50
"""Each is judged with all settings that hold with it."""
_MAX_VALUES: Final = 100_000
"""Values, names and lists in a document: aliases of YAML may stand for any number of them."""
MAX_YAML_BYTES: Final = 1 << 20
"""PyYAML reads some 600 kB in a second."""
_BRACKETS: Final = re.compile(r"\.?\[\"?([^\]\"]*)\"?\]")
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"(?P<is_key>\s*+:)?', re.DOTALL)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@frozen
class Entry:
    """A key of a file."""

    key: str
    value: str | None = field(repr=False)
    """None: null."""
    line: int
    document: int = 0
    """The place of its document in a file of several."""
    conditions: tuple[str, ...] = ()
    """When it is read: ``profile prod``; none: always."""


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
    of_wrappers: Mapping[str, str] = field(factory=dict, repr=False, hash=False)
    """Settings of a framework that decide what it does with Kafka Streams, by the names of its guide."""


@frozen
class Settings:
    """The settings of a file."""

    variants: tuple[Variant, ...] = (Variant(),)
    """The first one has no conditions."""
    framework: bool = False
    """Whether they were written in a form of Spring Boot or Quarkus."""
    left_out: int = 0
    """How many further keys of such a file are not read: those of the framework and of the application."""

    @property
    def values(self) -> Mapping[str, str]:
        """The settings without conditions."""
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


def parse_settings(text: str, suffix: str) -> Settings:
    """Read the text of a file whose name ends with ``.json``, ``.yaml``, ``.yml``, or else of properties.

    Raises:
        UpgradeError: It is of another form, has too much, or needs PyYAML.

    >>> parse_settings("acks=all", ".properties").values
    {'acks': 'all'}
    """
    return kafka_settings(_PARSERS.get(suffix.lower(), parse_properties_file)(text))


def kafka_settings(entries: Iterable[Entry]) -> Settings:
    """Return the settings of Kafka in the entries of a file; the last of equal keys wins, as in Java.

    Raises:
        UpgradeError: There are too many.

    >>> entries = [Entry("spring.kafka.streams.properties.acks", "all", 1), Entry("server.port", "80", 2)]
    >>> kafka_settings(entries).left_out
    1
    """
    all_entries = [_with_conditions(entry) for entry in _of_documents(entries)]
    framework = any(_is_read(entry.key) for entry in all_entries)
    conditions = dict.fromkeys([(), *(entry.conditions for entry in all_entries)])
    if len(all_entries) > MAX_SETTINGS or len(conditions) > MAX_CONDITIONS:
        limits = f"{MAX_SETTINGS:,} settings and {MAX_CONDITIONS} profiles and functions"
        raise UpgradeError(f"expected at most {limits}, got {len(all_entries):,} and {len(conditions) - 1}")
    variants = []
    for combination in conditions:
        active = {entry.key: entry for entry in all_entries if set(entry.conditions) <= set(combination)}
        named = _by_kafkas_names(active) if framework else active
        kept = {
            name: entry
            for name, entry in named.items()
            if framework or entry.value is not None  # Spring and Quarkus read null as an empty text
        }
        values = {name: entry.value or "" for name, entry in kept.items()}
        others = dict(_settings_of_wrappers(active))
        variants.append(
            Variant(
                combination,
                values,
                lines={name: entry.line for name, entry in (kept | others).items()},
                unread={key: entry.line for key, entry in active.items() if framework and _may_be_applications(key)},
                of_wrappers={name: entry.value or "" for name, entry in others.items()},
            )
        )
    left_out = {entry.key for entry in all_entries if framework and not _is_read(entry.key, _QUARKUS_DEFAULTS)}
    return Settings(tuple(variants), framework, len(left_out))


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
            yield evolve(entry, conditions=conditions.get(entry.document, ()))


def _with_conditions(entry: Entry) -> Entry:
    """Move a profile of Quarkus, or a function of Spring Cloud Stream, from the key to the conditions."""
    if match := _QUARKUS_PROFILE.fullmatch(entry.key):
        return evolve(entry, key=match[2], conditions=(*entry.conditions, f"profile {match[1]}"))
    if match := _FUNCTION.fullmatch(entry.key):
        return evolve(entry, key=match[1] + match[3], conditions=(*entry.conditions, f"function {match[2]}"))
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


def _may_be_applications(key: str) -> bool:
    """Whether a key that is not read may reach Streams in another way than through Spring Boot or Quarkus."""
    return not _is_read(key) and (key.startswith(_STREAMS_BINDER) or not key.startswith(_OF_FRAMEWORKS))


def _plain(key: str) -> str:
    """Return a key as Spring compares it.

    >>> _plain("spring.kafka.streams.applicationId") == _plain("spring.kafka.streams.application-id")
    True
    """
    return key.lower().replace("-", "").replace("_", "")


_PLAIN_NAMES: Final = frozenset(map(_plain, (*_NAMES, *_QUARKUS, *_OF_WRAPPERS)))


def _below(prefix: str, key: str) -> str:
    """Return the name of a key below a prefix, also in brackets, or nothing."""
    rest = key.removeprefix(prefix)
    if rest == key:
        return ""
    if match := _BRACKETS.fullmatch(rest):
        return match[1]
    return rest[1:] if rest.startswith(".") else ""


def parse_properties_file(text: str) -> Iterator[Entry]:
    """Yield the entries of Java properties; Spring Boot divides a file into documents by comments."""
    ends = [number for number, line in enumerate(_LINE_END.split(text), 1) if _SPRING_DOCUMENT.fullmatch(line)]
    for line, key, value in parse_property_lines(text):
        yield Entry(key, value, line, bisect(ends, line))


Object = tuple[tuple[str, int, Any], ...]
"""Names, their lines, and values: an ``Object``, a list, a text, or None."""


def flatten(value: Object | list[Any] | str | None, path: str = "", line: int = 1, depth: int = 0) -> Iterator[Entry]:
    """Yield the entries of a document: nested names with dots, lists with commas, or with numbers if they have objects.

    Raises:
        UpgradeError: It is not an object, or is nested too deeply.

    >>> [(each.key, each.value) for each in flatten((("a", 1, (("b", 2, ["1", "2"]),)), ("c.d", 3, "true")))]
    [('a.b', '1,2'), ('c.d', 'true')]
    """
    if depth > _MAX_DEPTH:
        raise UpgradeError(f"expected at most {_MAX_DEPTH} levels of settings, got more")
    if isinstance(value, tuple):
        for name, at, part in value:
            joint = "." if path and not name.startswith("[") else ""
            yield from flatten(part, f"{path}{joint}{name}", at, depth + 1)
    elif not path:
        raise UpgradeError(f"expected an object of settings, got {'a list' if isinstance(value, list) else 'a value'}")
    elif isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            yield Entry(path, ",".join(value), line)
            return
        for place, item in enumerate(value):
            name, named = _named_value(item)
            yield from flatten(named, f"{path}.{name}" if name else f"{path}[{place}]", line, depth + 1)
    else:
        yield Entry(path, value, line)


def _named_value(value: Object | list[Any] | str | None) -> tuple[str, Object | list[Any] | str | None]:
    """Return name and value of an object such as Kubernetes' ``{name: ACKS, value: all}``; else no name."""
    if isinstance(value, tuple):
        fields = {name: part for name, _, part in value}
        if fields.keys() == {"name", "value"} and isinstance(fields["name"], str) and fields["name"]:
            return fields["name"], fields["value"]
    return "", value


def parse_json_file(text: str) -> Iterator[Entry]:
    """Yield the entries of a JSON document; its numbers stay as they are written."""
    try:
        require_shallow(text)
        parsed = json.loads(
            text, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=_refuse_constant
        )
        document = _with_lines(parsed, iter(_key_lines(text)))
    except json.JSONDecodeError as error:
        raise UpgradeError(f"expected JSON ({error.msg}) at line {error.lineno} column {error.colno}") from None
    yield from flatten(document)


def _refuse_constant(name: str) -> NoReturn:
    raise UpgradeError(f"expected JSON, got {name}, which is no number of JSON")


def _key_lines(text: str) -> list[int]:
    """List the line of each name in a JSON document, in the order of the text."""
    starts = [match.start() for match in _JSON_STRING.finditer(text) if match["is_key"]]
    return list(accumulate((text.count("\n", *pair) for pair in pairwise([0, *starts])), initial=1))[1:]


def _with_lines(value: Any, lines: Iterator[int]) -> Any:
    if isinstance(value, tuple):
        return tuple((name, next(lines), _with_lines(part, lines)) for name, part in value)
    if isinstance(value, list):
        return [_with_lines(part, lines) for part in value]
    return str(value).lower() if isinstance(value, bool) else value


def parse_yaml_file(text: str) -> Iterator[Entry]:
    """Yield the entries of the documents of a YAML file."""
    if len(text) > MAX_YAML_BYTES:
        raise UpgradeError(f"expected at most {MAX_YAML_BYTES:,} characters of YAML, got more")
    try:
        import yaml
    except ImportError:
        raise UpgradeError("YAML needs PyYAML: pip install 'streams-assignor[yaml]'") from None
    visits = repeat(None, _MAX_VALUES)
    try:
        for place, node in enumerate(yaml.compose_all(text, yaml.SafeLoader)):
            document = _yaml_value(node, visits)
            if document not in (None, ""):  # an empty document
                yield from (evolve(entry, document=place) for entry in flatten(document))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        what = str(error.problem or "").partition("'")[0].strip()  # what is quoted is from the file
        raise UpgradeError(f"expected YAML ({what}){where}") from None
    except yaml.YAMLError:
        raise UpgradeError("expected YAML, got characters that it does not allow") from None
    except RecursionError:
        raise UpgradeError("expected YAML, got values that are nested too deeply") from None


def _yaml_value(node: Any, visits: Iterator[None]) -> Any:
    """Return a node as a value of ``flatten``; a node that an alias names is returned each time."""
    if next(visits, visits) is visits:
        raise UpgradeError(f"expected at most {_MAX_VALUES:,} values in YAML, got more: are there aliases in a circle?")
    if node.id == "sequence":
        return [_yaml_value(item, visits) for item in node.value]
    if node.id == "scalar":
        return _yaml_scalar(node.tag, node.value)
    merged: list[tuple[str, int, Any]] = []
    own: list[tuple[str, int, Any]] = []
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise UpgradeError(f"expected a name in line {line} of YAML, got a list or an object")
        if key.tag.endswith(":merge"):
            for mapping in value.value if value.id == "sequence" else [value]:
                if mapping.id != "mapping":
                    raise UpgradeError(f"expected an object to merge in line {line} of YAML, got a value or a list")
                merged += _yaml_value(mapping, visits)
        else:
            own.append((key.value, line, _yaml_value(value, visits)))
    names = {name for name, _, _ in own}
    return (*(item for item in merged if item[0] not in names), *own)


def _yaml_scalar(tag: str, text: str) -> str | None:
    """Return the text that a Java program gets of a value of YAML 1.1; a tag of one's own stands for an unknown value.

    >>> [_yaml_scalar(f"{_YAML_TAG}{name}", text) for name, text in (("bool", "Yes"), ("int", "0x10"), ("null", "~"))]
    ['true', '16', None]
    """
    kind = tag.removeprefix(_YAML_TAG)
    if kind == tag and tag != "!":
        return UNKNOWN_VALUE
    if kind == "bool":
        return str(text.lower() in {"true", "yes", "on"}).lower()
    if kind == "int" and (match := _OTHER_BASE.fullmatch(text.replace("_", ""))):
        return f"{match['sign']}{int(match[match.lastgroup or 0], _BASES[match.lastgroup or ''])}"
    return None if kind == "null" else text


_YAML_TAG: Final = "tag:yaml.org,2002:"
_OTHER_BASE: Final = re.compile(r"(?P<sign>[+-]?)0(?:x(?P<x>[0-9A-Fa-f]{1,30})|b(?P<b>[01]{1,90})|(?P<o>[0-7]{1,40}))")
_BASES: Final = {"x": 16, "b": 2, "o": 8}


_PARSERS: Final[Mapping[str, Callable[[str], Iterator[Entry]]]] = {
    ".json": parse_json_file,
    ".yaml": parse_yaml_file,
    ".yml": parse_yaml_file,
}
UTF_8_SUFFIXES: Final = frozenset(_PARSERS)
"""The ends of the names of files in UTF-8; Java properties are in ISO 8859-1."""
