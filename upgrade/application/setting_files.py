"""The forms in which settings of Kafka are written: plain keys, and those of Spring Boot and Quarkus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen

from upgrade.errors import UpgradeError, quote_input

_FRAMEWORKS: Final = ("spring.", "quarkus.", "kafka-streams.")
_PREFIXES: Final = (
    "spring.kafka.streams.properties",
    "spring.kafka.properties",
    "spring.cloud.stream.kafka.streams.binder.configuration",
    "spring.cloud.stream.kafka.binder.configuration",
    "kafka-streams",
)
"""From the one that wins to the others."""
_NAMES: Final[Mapping[str, str]] = {
    "spring.kafka.streams.application-id": "application.id",
    "spring.kafka.streams.bootstrap-servers": "bootstrap.servers",
    "spring.kafka.bootstrap-servers": "bootstrap.servers",
    "spring.kafka.streams.client-id": "client.id",
    "spring.kafka.streams.replication-factor": "replication.factor",
    "spring.kafka.streams.state-dir": "state.dir",
    "spring.cloud.stream.kafka.streams.binder.application-id": "application.id",
    "spring.cloud.stream.kafka.streams.binder.brokers": "bootstrap.servers",
    "quarkus.kafka-streams.application-id": "application.id",
    "quarkus.kafka-streams.bootstrap-servers": "bootstrap.servers",
}
_MAX_DEPTH: Final = 50
_BRACKETS: Final = re.compile(r"\[\"?([^\]\"]*)\"?\]")


@frozen
class Settings:
    """The settings of a file by Kafka's names."""

    values: Mapping[str, str] = field(repr=False, hash=False)
    framework: bool = False
    """Whether they were written in a form of Spring Boot or Quarkus."""
    left_out: int = 0
    """How many further keys of such a file are none of Kafka Streams."""


def kafka_settings(pairs: Iterable[tuple[str, str]]) -> Settings:
    """Return the settings of Kafka in those of a file; the last of equal keys wins, as in Java.

    >>> kafka_settings([("spring.kafka.streams.properties.acks", "all"), ("server.port", "80")]).left_out
    1
    """
    given = dict(pairs)
    if not any(key.startswith(_FRAMEWORKS) for key in given):
        return Settings(given)
    found: dict[str, str] = {}
    for prefix in reversed(_PREFIXES):
        found |= {name: value for key, value in given.items() if (name := _below(prefix, key))}
    named = {_NAMES[key]: given[key] for key in reversed(list(_NAMES)) if key in given}
    known = sum(key in _NAMES or any(_below(prefix, key) for prefix in _PREFIXES) for key in given)
    return Settings(named | found, framework=True, left_out=len(given) - known)


def _below(prefix: str, key: str) -> str:
    """Return the name of a key below a prefix, also in brackets, or nothing."""
    rest = key.removeprefix(prefix)
    if rest == key:
        return ""
    if found := _BRACKETS.fullmatch(rest):
        return found[1]
    return rest[1:] if rest.startswith(".") else ""


def flatten(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the settings of a JSON document: nested names with dots, lists with commas.

    Raises:
        UpgradeError: It is not an object, a list in it has objects, or it is nested too deeply.

    >>> list(flatten({"a": {"b": [1, 2]}, "c.d": True, "e": None}))
    [('a.b', '1,2'), ('c.d', 'true')]
    """
    if depth > _MAX_DEPTH:
        raise UpgradeError(f"expected at most {_MAX_DEPTH} levels of settings, got more")
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from flatten(each, f"{path}.{name}" if path else name, depth + 1)
    elif not path:
        raise UpgradeError(f"expected an object of settings, got {quote_input(type(value).__name__)}")
    elif isinstance(value, list):
        if any(isinstance(each, dict | list) for each in value):
            raise UpgradeError(f"expected a list of values for {quote_input(path)}, got one with objects or lists")
        yield path, ",".join(map(_text, value))
    elif value is not None:
        yield path, _text(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
