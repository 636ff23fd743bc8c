"""The configuration of brokers: its keys by release line, from the jars, and the settings in the files of a node.

A file is a ``server.properties``, a resource of Kubernetes, values of a chart, or the variables of a container.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from attrs import evolve

from streams_assignor.upgrade.application.configuration import (
    CONFIGS,
    ReleaseConfigKey,
    config_key,
    keys_of_any_release,
)
from streams_assignor.upgrade.application.setting_elsewhere import (
    Embedded,
    decoded,
    deployed,
    takes_from,
    variable_name,
)
from streams_assignor.upgrade.application.setting_files import MAX_SETTINGS, Settings, Variant, read_files
from streams_assignor.upgrade.application.setting_forms import PROPERTIES, Entry, form_of
from streams_assignor.upgrade.application.stored import BROKERS, stored_json, values_at
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.upgrade_from import line_number

BROKER: Final = "broker"
OPERATOR: Final = "operator"
"""In ``Settings.shows``: a chart, an image or an operator makes the file of the node, and may set further keys."""
STRIMZI: Final = "Strimzi"
"""In ``Settings.shows``: a resource of Strimzi, whose operator raises metadata.version unless the resource has it."""
LEVEL: Final = "metadata.version"
"""The key of ``spec.kafka.metadataVersion``, which a resource of Strimzi has instead of a setting."""
LOGGING: Final = "KAFKA_LOG4J_OPTS"
"""A variable of the start script that an upgrade concerns."""
_VARIABLE: Final = re.compile(r"KAFKA_(?:CFG_)?([A-Z0-9_]+)")
_SEPARATORS: Final = {"_": ".", "__": "_", "___": "-"}
"""In the names of variables. Java: ``KafkaDockerWrapper``, and the images of Confluent."""
_BELOW: Final = re.compile(
    r"(?:.*\.)?(?:config|configuration|configurations|extraConfig|overrideConfiguration|configurationOverrides"
    r"|serverProperties|kafkaConfig|config\[\"?server\"?\])\.(?P<key>[a-z].*)"
)
"""Where a manifest or a chart has settings of a broker."""
_OVERRIDES: Final = re.compile(r".*configOverrides\.(?:server|kafka)")
_NEXT: Final = re.compile(r",(?=[a-z][\w.-]*=)")
_LEVEL_OF_STRIMZI: Final = "spec.kafka.metadataVersion"
_TEXT: Final = re.compile(r".*(?:[cC]onfig(?:uration)?|[pP]roperties)")
_KINDS: Final = frozenset({"Kafka", "KRaftController"})
"""The kinds of resources that have settings of brokers; those of topics have keys with the same names."""
_OPERATORS: Final = ("kafka.strimzi.io/", "platform.confluent.io/")
_LISTENERS: Final = "listeners"
"""Connect, REST Proxy and Schema Registry have this key, too."""
_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(?:(?:plain|gssapi|scram-sha-\d+|oauthbearer|aws_\w+)\.)?")


@cache
def broker_keys(line: tuple[int, ...]) -> Mapping[str, ReleaseConfigKey]:
    """Return the keys of a release line; of one that the table lacks, those of the newest line before it.

    >>> broker_keys((4, 0))["process.roles"].required, "zookeeper.connect" in broker_keys((4, 0))
    (True, False)
    """
    table = stored_json(BROKERS)
    lines = [line_number(name)[:2] for name in table["releases"]]
    place = max((place for place, each in enumerate(lines) if each <= line[:2]), default=0)
    rows = table["configs"][BROKER].items()
    return {key: config_key(row) for key, ranges in rows for row in values_at(ranges, place)}


@cache
def first_line() -> tuple[int, ...]:
    """Return the oldest line of the table."""
    return line_number(stored_json(BROKERS)["releases"][0])[:2]


@cache
def keys_of_any_broker() -> frozenset[str]:
    """Return the keys that the brokers of some release have."""
    return frozenset(stored_json(BROKERS)["configs"][BROKER])


@cache
def _keys_of_clients() -> frozenset[str]:
    return frozenset[str]().union(*map(keys_of_any_release, CONFIGS))


def plain_key(key: str) -> str:
    """Return a key without the prefix of a listener and its mechanism.

    >>> plain_key("listener.name.external.scram-sha-512.sasl.jaas.config")
    'sasl.jaas.config'
    """
    return _OF_LISTENER.sub("", key)


def key_of_variable(name: str) -> str:
    """Return the key that a variable of a container sets; empty if it sets none.

    >>> key_of_variable("KAFKA_CFG_LOG_RETENTION_HOURS"), key_of_variable("KAFKA_OPTS")
    ('log.retention.hours', '')
    """
    key = _named_by(name)
    return key if plain_key(key) in keys_of_any_broker() else ""


def _named_by(variable: str) -> str:
    match = _VARIABLE.fullmatch(variable)
    return re.sub("_{1,3}", lambda found: _SEPARATORS[found[0]], match[1].lower()) if match else ""


def broker_settings(files: Sequence[tuple[str, str]], *, of_folder: bool = False) -> Settings:
    """Return the settings of brokers in files; those of nodes that set a key differently are variants.

    There are no variants if no file shows a setting of a broker.

    Args:
        files: The name and the text of each.
        of_folder: They are all that a folder has: those of other programs among them are left out.

    Raises:
        UpgradeError: A text is of another form, or has too much; or one needs PyYAML.

    >>> broker_settings([("server.properties", "node.id=1")]).values
    {'node.id': '1'}
    """
    found, foreign, shows = list[Entry](), list[str](), set[str]()
    read, reasons = read_files(files, _entries, of_folder=of_folder)
    for file in read:
        settings = list(_settings(file.entries))
        if any(entry.key == "apiVersion" and _OPERATORS[0] in (entry.value or "") for entry in file.entries):
            shows.add(STRIMZI)
        if not _is_of_a_broker(file.entries, settings):
            if not takes_from(file.entries, [name for name, _ in files if name != file.name]):
                foreign.append(file.name)
            continue
        found += settings
        if file.form is not PROPERTIES or any(entry.is_variable for entry in settings):
            shows.add(OPERATOR)
    if not (of_folder and found):
        reasons += ((name, "shows no setting of a broker") for name in foreign)
    if len(found) > MAX_SETTINGS:
        raise UpgradeError(f"expected at most {MAX_SETTINGS:,} settings, got {len(found):,}")
    left_out = sum(len(file.entries) for file in read) - len(found)
    variants = tuple(_variants(found)) if found else ()
    return Settings(variants, left_out=left_out, elsewhere=tuple(dict.fromkeys(reasons)), shows=frozenset(shows))


def _is_of_a_broker(entries: Iterable[Entry], settings: Iterable[Entry]) -> bool:
    """Whether a file shows a setting of a broker; in variables or beside a client's, one that no client has."""
    shown = [entry for entry in settings if plain_key(entry.key) in keys_of_any_broker() | {LEVEL}]
    keys = {_named_by(variable_name(entry.key)) or entry.key for entry in entries}
    of_clients = _keys_of_clients() - keys_of_any_broker()
    if any(key in of_clients or key.endswith("bootstrap.servers") for key in keys):
        return any(plain_key(entry.key) not in _keys_of_clients() | {_LISTENERS} for entry in shown)
    return any(not entry.is_variable or plain_key(entry.key) not in _keys_of_clients() for entry in shown)


def _entries(name: str, text: str) -> Iterator[Entry]:
    for entry in decoded(form_of(name, text).parse(text)):
        for part in deployed(entry):
            if isinstance(part, Entry) and "\n" in (part.value or "") and _TEXT.fullmatch(part.key):
                part = Embedded(".properties", part.value or "", part.line, place=part.key.rpartition(".")[0])
            if isinstance(part, Entry):
                yield part
                continue
            for found in _entries(part.name, part.text):
                yield evolve(found, line=part.line + found.line, place=part.place, document=entry.document)


def _settings(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the entries that are settings of a broker, by Kafka's names."""
    others = tuple(_other_resources(entries))
    for entry in entries:
        name = variable_name(entry.key)
        if any(entry.document == document and entry.key.startswith(path) for document, path in others):
            continue
        if name:
            key = key_of_variable(name)
            if key or name == LOGGING:
                yield evolve(entry, key=key or name, is_variable=True)
        elif _OVERRIDES.fullmatch(entry.key):
            for pair in _NEXT.split(entry.value or ""):
                key, _, value = pair.partition("=")
                yield evolve(entry, key=key, value=value)
        elif entry.key == _LEVEL_OF_STRIMZI:
            yield evolve(entry, key=LEVEL)
        elif match := _BELOW.fullmatch(entry.key):
            yield evolve(entry, key=match["key"], place=entry.key.removesuffix(match["key"]))
        elif not entry.is_name or plain_key(entry.key) in keys_of_any_broker():
            yield entry


def _other_resources(entries: Iterable[Entry]) -> Iterator[tuple[int, str]]:
    """Yield the documents and paths of resources of an operator that are no cluster: topics, users, Connect."""
    values = {(entry.document, entry.key): entry.value or "" for entry in entries}
    for (document, key), value in values.items():
        path = key.removesuffix("apiVersion")
        if path != key and value.startswith(_OPERATORS) and values.get((document, f"{path}kind")) not in _KINDS:
            yield document, path


def _variants(entries: Sequence[Entry]) -> Iterator[Variant]:
    """Yield the settings of each node: those of its place, and those of its file that are in no place."""
    places = list(dict.fromkeys((entry.file, entry.place, entry.document) for entry in entries))
    by_key: dict[str, set[str | None]] = {}
    for entry in entries:
        by_key.setdefault(entry.key, set()).add(entry.value)
    if all(len(values) == 1 for values in by_key.values()) or len(places) == 1:
        yield _variant(entries)
        return
    for file, place, document in places:
        own = [
            entry
            for entry in entries
            if entry.file == file and entry.document == document and entry.place in {"", place}
        ]
        words = " ".join(filter(None, (file, place.rstrip("."), f"document {document + 1}" if document else "")))
        yield _variant(own, (f"in {words or 'the file'}",))


def _variant(entries: Iterable[Entry], conditions: tuple[str, ...] = ()) -> Variant:
    last = {entry.key: entry for entry in entries}
    return Variant(
        conditions,
        {key: entry.value or "" for key, entry in last.items()},
        lines={key: entry.line for key, entry in last.items()},
        files={key: entry.file for key, entry in last.items() if entry.file},
        names=frozenset(key for key, entry in last.items() if entry.is_name),
    )
