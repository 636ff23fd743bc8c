"""The configuration of every release, from its jars: keys of Streams and of its clients, and what Streams overrides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from attrs import field, fields, frozen

from streams_assignor.upgrade.application.stored import place_of, stored_configuration, table_name, values_at
from streams_assignor.upgrade.releases import Release

CONFIGS: Final = ("streams", "consumer", "producer", "admin")
"""``StreamsConfig``, ``ConsumerConfig``, ``ProducerConfig`` and ``AdminClientConfig``."""


@frozen
class ReleaseConfigKey:
    """A key in one release."""

    type: str
    """Its type in Kafka: ``INT``, ``LIST``, ``PASSWORD``, ..."""
    importance: str
    required: bool
    """It has no default, so a member does not start without a value."""
    default: str | tuple[str, ...] | None
    validator: Mapping[str, Any] | None = field(hash=False)
    """The class of Kafka's validator and its limits; None if every value of the type is accepted."""
    deprecated: bool
    internal: bool
    """It is for Kafka itself and in no documentation."""
    varies: bool
    """The default depends on the machine or its Java."""

    @property
    def default_text(self) -> str:
        """The default as it would be in a properties file."""
        if self.default is None:
            return "null"
        text = self.default if isinstance(self.default, str) else ",".join(self.default)
        return text or '""'


@frozen
class Configuration:
    """The configuration of one release."""

    release: str
    configs: Mapping[str, Mapping[str, ReleaseConfigKey]] = field(hash=False)
    """The keys of each of ``CONFIGS`` that the release has."""
    overrides: Mapping[str, Mapping[str, str] | tuple[str, ...]] = field(hash=False)
    """The settings that Streams makes. Constants: other defaults of its clients and topics, and keys whose values it
    ignores. By ``main.consumer``, ``producer (exactly once)``, ...: what it passes to each client."""


def configuration_of(release: Release) -> Configuration:
    """Return the configuration of a release; that of an unknown one is that of the release it is assumed to be.

    Raises:
        NoTable: Kafka has not published the release.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> configuration_of(RELEASES["3.9.2"]).configs["streams"]["processing.guarantee"].default
    'at_least_once'
    """
    return _configuration(table_name(release))


@cache
def _configuration(name: str) -> Configuration:
    table, place = stored_configuration(), place_of(name)
    configs = {
        config: {
            key: config_key(row) for key, rows in table["configs"][config].items() for row in values_at(rows, place)
        }
        for config in CONFIGS
    }
    overrides = {
        constant: value if isinstance(value, dict) else tuple(value)
        for constant, rows in table["overrides"].items()
        for value in values_at(rows, place)
    }
    return Configuration(name, {config: keys for config, keys in configs.items() if keys}, overrides)


def config_key(row: Mapping[str, Any]) -> ReleaseConfigKey:
    """Return a stored row as a key."""
    default = row["default"]
    return ReleaseConfigKey(**{**row, "default": tuple(default) if isinstance(default, list) else default})


@cache
def keys_of_any_release(config: str) -> frozenset[str]:
    """Return the keys that some release has.

    >>> "partition.grouper" in keys_of_any_release("streams")
    True
    """
    return frozenset(stored_configuration()["configs"][config])


def releases_with(config: str, key: str) -> tuple[str, ...]:
    """List the releases that have a key, oldest first.

    >>> releases_with("streams", "partition.grouper")[-1]
    '2.8.2'
    """
    table = stored_configuration()
    rows = table["configs"][config].get(key, {})
    return tuple(name for place, name in enumerate(table["releases"]) if any(values_at(rows, place)))


@frozen
class ConfigChange:
    """A key that differs between two releases."""

    config: str
    key: str
    old: ReleaseConfigKey | None
    """None: the key is new."""
    new: ReleaseConfigKey | None
    """None: the key is gone."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The names of what differs of a key that both releases have."""
        if self.old is None or self.new is None:
            return ()
        names = (field.name for field in fields(ReleaseConfigKey))
        return tuple(name for name in names if getattr(self.old, name) != getattr(self.new, name))

    def as_json(self) -> dict[str, Any]:
        """Return plain values: what differs, or the new or old key."""
        plain: dict[str, Any] = {"config": self.config, "key": self.key}
        if self.old is None or self.new is None:
            config_key = self.new or self.old
            facts = {name: _plain(getattr(config_key, name)) for name in ("type", "importance", "required", "default")}
            return plain | {"change": "removed" if self.new is None else "added"} | facts
        differing = {
            name: [_plain(getattr(config_key, name)) for config_key in (self.old, self.new)] for name in self.facts
        }
        return plain | {"change": "changed"} | differing


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@frozen
class OverrideChange:
    """A constant of ``StreamsConfig`` about its clients that differs."""

    constant: str
    old: Any = field(hash=False)
    new: Any = field(hash=False)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"constant": self.constant, "old": _plain(self.old), "new": _plain(self.new)}


@frozen
class ConfigurationDiff:
    """The differences between the configurations of two releases."""

    keys: tuple[ConfigChange, ...]
    overrides: tuple[OverrideChange, ...]


def compare_configurations(old: Configuration, new: Configuration) -> ConfigurationDiff:
    """Compare the configurations of two releases.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> old, new = (configuration_of(RELEASES[name]) for name in ("2.8.2", "3.0.2"))
    >>> found = {(each.config, each.key): each for each in compare_configurations(old, new).keys}
    >>> found["consumer", "session.timeout.ms"].as_json()["default"]
    ['10000', '45000']
    """
    keys = tuple(
        ConfigChange(config, key, before.get(key), after.get(key))
        for config in CONFIGS
        for before, after in [(old.configs.get(config, {}), new.configs.get(config, {}))]
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    )
    constants = sorted(old.overrides.keys() | new.overrides.keys())
    pairs = ((name, old.overrides.get(name), new.overrides.get(name)) for name in constants)
    return ConfigurationDiff(keys, tuple(OverrideChange(*pair) for pair in pairs if pair[1] != pair[2]))
