"""The environment that every release reads: system properties and variables of the environment, from its jars.

Only calls in Kafka's own code are known, not what Java or other libraries read. ``environment.toml`` has the settings
that make a property necessary.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.application.stored import ENVIRONMENT, place_of, stored_json, table_name, values_at
from streams_assignor.upgrade.releases import Release, number_of

ALL_VARIABLES: Final = "*"
"""The name for a class that reads all variables of the environment."""


@frozen
class EnvironmentEntry:
    """A system property or a variable of the environment that a release reads."""

    is_property: bool
    defaults: tuple[str, ...]
    """The defaults of its readers, sorted; empty if they find that out themselves."""
    readers: tuple[str, ...]
    """The classes that read it, sorted."""


def environment_of(release: Release) -> Mapping[str, EnvironmentEntry]:
    """Return what a release reads, by name.

    Raises:
        NoTable: Kafka has not published the release.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> name = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
    >>> [environment_of(RELEASES[each])[name].defaults for each in ("3.9.2", "4.0.0")]
    [(), ('',)]
    """
    return _environment(table_name(release))


@cache
def _environment(name: str) -> Mapping[str, EnvironmentEntry]:
    place = place_of(name)
    return {
        entry: EnvironmentEntry(kind == "properties", tuple(row["defaults"]), tuple(row["readers"]))
        for kind, rows in stored_json(ENVIRONMENT).items()
        for entry, ranges in rows.items()
        for row in values_at(ranges, place)
    }


@frozen
class EnvironmentNeed:
    """A system property that some settings make necessary."""

    property: str
    keys: tuple[str, ...]
    """The settings that do."""
    reason: str
    """The consequence if it is missing."""
    option: str
    """The arguments of the command that starts Java, with the names of the settings in the place of their values."""
    source: str

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        names = ("property", "reason", "option", "source")
        return {"keys": list(self.keys)} | {name: getattr(self, name) for name in names}


@frozen
class NeedRule:
    """When settings make a system property necessary: a row of ``environment.toml``."""

    property: str
    since: str
    until: str
    """The first release without the rule; empty: none yet."""
    keys: tuple[str, ...]
    pattern: re.Pattern[str] = field(eq=False)
    """The contents of the values of those keys."""
    unless: str
    """A key that makes it unnecessary; empty: none."""
    reason: str
    option: str
    source: str

    def applies_to(self, name: str) -> bool:
        """Whether a release has the rule."""
        return number_of(self.since) <= number_of(name) and (not self.until or number_of(name) < number_of(self.until))

    def need(self, settings: Mapping[str, str]) -> EnvironmentNeed | None:
        """Return what settings need by this rule; None if nothing."""
        keys = tuple(key for key in self.keys if self.pattern.search(settings.get(key, "")))
        if not keys or (self.unless and self.unless in settings):
            return None
        values = ",".join(f"<{key}>" for key in keys)
        return EnvironmentNeed(self.property, keys, self.reason, self.option.format(values=values), self.source)


def needs_of(release: Release, settings: Mapping[str, str]) -> tuple[EnvironmentNeed, ...]:
    """Return the system properties that a release needs for the settings of one client.

    Whether the process has them is not known here. Values are not in the answer, as they may be secrets.

    Raises:
        NoTable: Kafka has not published the release.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> settings = {"sasl.oauthbearer.token.endpoint.url": "https://example.com/token"}
    >>> [each.option for each in needs_of(RELEASES["4.0.0"], settings)]
    ['-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=<sasl.oauthbearer.token.endpoint.url>']
    >>> needs_of(RELEASES["3.9.2"], settings)
    ()
    """
    name = table_name(release)
    needs = (rule.need(settings) for rule in need_rules() if rule.applies_to(name))
    return tuple(need for need in needs if need)


@cache
def need_rules() -> tuple[NeedRule, ...]:
    """Return the rows of ``environment.toml``."""
    text = (files(__package__) / "environment.toml").read_text(encoding="utf-8")
    return tuple(_rule(**row) for row in tomllib.loads(text)["need"])


def _rule(*, keys: list[str], pattern: str, unless: str = "", until: str = "", **row: str) -> NeedRule:
    return NeedRule(keys=tuple(keys), pattern=re.compile(pattern), unless=unless, until=until, **row)


@frozen
class EnvironmentChange:
    """A system property or variable of the environment that two releases read in different ways."""

    name: str
    old: EnvironmentEntry | None
    """None: it is new."""
    new: EnvironmentEntry | None
    """None: it is not read any more."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        need = self.new or self.old
        plain: dict[str, Any] = {"name": self.name, "property": bool(need and need.is_property)}
        sides = (("old", self.old), ("new", self.new))
        return plain | {side: need and {"defaults": list(need.defaults)} for side, need in sides}


def compare_environments(old: Release, new: Release) -> tuple[EnvironmentChange, ...]:
    """List what two releases read in different ways, sorted; classes that only moved are no difference.

    Raises:
        NoTable: Kafka has not published one of them.
    """
    return tuple(_changes(environment_of(old), environment_of(new)))


def _changes(old: Mapping[str, EnvironmentEntry], new: Mapping[str, EnvironmentEntry]) -> Iterator[EnvironmentChange]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if (before and before.defaults) != (after and after.defaults):
            yield EnvironmentChange(name, before, after)
