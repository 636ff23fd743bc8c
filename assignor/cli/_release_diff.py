"""``release A --diff B``: configuration, API, libraries and environment of two releases, from tables of their jars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.formats.text import count
from streams_assignor.upgrade.application.api_diff import ApiChange, compare_api
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.configuration import (
    ConfigChange,
    ConfigurationDiff,
    OverrideChange,
    ReleaseConfigKey,
    compare_configurations,
    configuration_of,
)
from streams_assignor.upgrade.application.dependencies import (
    DependenciesDiff,
    Dependency,
    DependencyChange,
    compare_dependencies,
)
from streams_assignor.upgrade.application.environment import (
    ALL_VARIABLES,
    EnvironmentChange,
    EnvironmentEntry,
    compare_environments,
)
from streams_assignor.upgrade.application.scala import scala_jar, scala_versions
from streams_assignor.upgrade.application.values import validator_text
from streams_assignor.upgrade.releases import Release

_FACTS: Final = {"validator": "accepts", "varies": "default depends on the machine"}
_CLIENT_CONSTANTS: Final = ("ADMIN_", "CONSUMER_", "PRODUCER_")
_EXACTLY_ONCE: Final = " (exactly once)"
_OVERRIDES: Final = "_OVERRIDES"
_SCALA: Final = "org/apache/kafka/streams/scala/"
_SIGNS: Final = {"added": "+", "added, abstract": "+", "removed": "-"}


@frozen
class ScalaDiff:
    """The differences between the public APIs of two releases for one version of Scala."""

    version: str
    jars: tuple[str, str]
    """The releases whose jars were read."""
    api: tuple[ApiChange, ...]

    @classmethod
    def between(cls, origin: Release, target: Release) -> ScalaDiff | None:
        """Compare two releases for the newest version of Scala that both have; None if there is none."""
        versions = [version for version in scala_versions(origin) if version in scala_versions(target)]
        if not versions:
            return None
        version = versions[-1]
        changes = compare_api(code_of(origin, version), code_of(target, version))
        jars = scala_jar(origin, version), scala_jar(target, version)
        return cls(version, jars, tuple(change for change in changes if change.owner.startswith(_SCALA)))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"version": self.version, "jars": list(self.jars), "api": [change.as_json() for change in self.api]}


@frozen
class ReleaseDiff:
    """The differences between two releases."""

    origin: Release
    target: Release
    configuration: ConfigurationDiff
    api: tuple[ApiChange, ...]
    scala: ScalaDiff | None
    dependencies: DependenciesDiff
    environment: tuple[EnvironmentChange, ...]

    @classmethod
    def between(cls, origin: Release, target: Release) -> ReleaseDiff:
        """Compare two releases of Kafka; ``NoTable`` for others."""
        return cls(
            origin,
            target,
            compare_configurations(configuration_of(origin), configuration_of(target)),
            compare_api(code_of(origin), code_of(target)),
            ScalaDiff.between(origin, target),
            compare_dependencies(origin, target),
            compare_environments(origin, target),
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "from": self.origin.name,
            "to": self.target.name,
            "configuration": [key.as_json() for key in self.configuration.keys],
            "overrides": [override.as_json() for override in self.configuration.overrides],
            "api": [change.as_json() for change in self.api],
            "scala": self.scala and self.scala.as_json(),
            "dependencies": self.dependencies.as_json(),
            "environment": [need.as_json() for need in self.environment],
        }

    def lines(self) -> Iterator[str]:
        """Write it as text."""
        keys, overrides = self.configuration.keys, self.configuration.overrides
        counted = Counter(key.as_json()["change"] for key in keys)
        yield f"{self.origin} to {self.target}"
        yield ""
        yield f"configuration: {_counts(counted) or 'no difference'}"
        yield from map(_key_line, keys)
        if lines := list(_override_lines(overrides)):
            yield ""
            yield f"what Streams sets for its clients and topics: {count(len(lines), 'difference')}"
            yield from lines
        yield ""
        yield from _dependency_lines(self.dependencies)
        yield ""
        yield f"environment: {count(len(self.environment), 'difference') if self.environment else 'no difference'}"
        yield from map(_environment_line, self.environment)
        yield ""
        yield from _api_lines("public API", self.api)
        yield ""
        yield from self._scala_lines()

    def _scala_lines(self) -> Iterator[str]:
        if self.scala is None:
            versions = (", ".join(scala_versions(release)) or "none" for release in (self.origin, self.target))
            yield f"public API for Scala: no version of Scala in common ({' -> '.join(versions)})"
            return
        yield from _api_lines(f"public API for Scala {self.scala.version}", self.scala.api)
        for release, jar in zip((self.origin, self.target), self.scala.jars, strict=True):
            if jar != release.name:
                yield f"  note: the jar of {jar} is read, as that of {release.name} could not be had"


def _api_lines(title: str, changes: Sequence[ApiChange]) -> Iterator[str]:
    yield f"{title}: {_counts(Counter(change.change for change in changes)) or 'no difference'}"
    yield from (f"  {_SIGNS.get(change.change, '~')} {change.text}{_word(change.change)}" for change in changes)


def _dependency_lines(diff: DependenciesDiff) -> Iterator[str]:
    counted = Counter(
        "added" if library.old is None else "removed" if library.new is None else "changed"
        for library in diff.libraries
    )
    yield f"libraries: {_counts(counted) or 'no difference'}"
    for name in diff.artifacts_removed:
        yield f"  - {name}: the release has no such artifact, or needs none"
    for name in diff.artifacts_added:
        yield f"  + {name}: an artifact of the release"
    yield from map(_library_line, diff.libraries)
    for java in diff.java:
        yield f"  ~ Java of {java.name}: {java.old} -> {java.new}"
    for natives in diff.natives:
        signed = [f"+ {platform}" for platform in sorted(natives.added)] + [
            f"- {platform}" for platform in sorted(natives.removed)
        ]
        yield f"  ~ native code of {natives.library}: {', '.join(signed)}"


def _library_line(change: DependencyChange) -> str:
    name = f"{change.artifact}: {change.library}"
    if change.old is None or change.new is None:
        return f"  - {name}" if change.new is None else f"  + {name} {_library(change.new)}"
    same = _scope(change.old) == _scope(change.new)
    return f"  ~ {name} {change.old.version if same else _library(change.old)} -> {_library(change.new)}"


def _library(library: Dependency) -> str:
    return f"{library.version} ({_scope(library)})"


def _scope(library: Dependency) -> str:
    return f"{library.scope}, optional" if library.is_optional else library.scope


def _environment_line(change: EnvironmentChange) -> str:
    entry = change.new or change.old
    assert entry is not None
    kind = "system property" if entry.is_property else "environment variable"
    name = f"{kind} {change.name}" if change.name != ALL_VARIABLES else "all environment variables"
    if change.old is None or change.new is None:
        return f"  - {name}" if change.new is None else f"  + {name}{_defaults(change.new)}"
    return f"  ~ {name}: {_default_text(change.old)} -> {_default_text(change.new)}"


def _defaults(entry: EnvironmentEntry) -> str:
    return f" ({_default_text(entry)})" if entry.defaults else ""


def _default_text(entry: EnvironmentEntry) -> str:
    return f"default {' or '.join(map(_value, entry.defaults))}" if entry.defaults else "no default"


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in counted.most_common())


def _word(change: str) -> str:
    """Say what the sign in front does not."""
    return {"added": "", "removed": "", "added, abstract": ": abstract"}.get(change, f": {change}")


def _key_line(change: ConfigChange) -> str:
    name = f"{change.config} {change.key}"
    if change.new is None or change.old is None:
        return f"  - {name}" if change.new is None else f"  + {name} ({_new_key(change.new)})"
    old, new = change.old, change.new
    facts = (f"{_FACTS.get(fact, fact)} {_fact(old, fact)} -> {_fact(new, fact)}" for fact in change.facts)
    return f"  ~ {name}: {'; '.join(facts)}"


def _override_lines(changes: Sequence[OverrideChange]) -> Iterator[str]:
    """Write what differs, once: constants about clients are in what the clients get."""
    texts = {change.constant: _override_text(change) for change in changes}
    for name, text in texts.items():
        is_of_client = name.startswith(_CLIENT_CONSTANTS) and name.endswith(_OVERRIDES)
        is_repeated = name.endswith(_EXACTLY_ONCE) and texts.get(name.removesuffix(_EXACTLY_ONCE)) == text
        if not is_of_client and not is_repeated:
            yield f"  ~ {name}: {text}"


def _override_text(change: OverrideChange) -> str:
    old, new = change.old, change.new
    if isinstance(old, tuple) or isinstance(new, tuple):
        return f"{_value(old)} -> {_value(new)}"
    old, new = old or {}, new or {}
    keys = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return ", ".join(_entry_text(key, old.get(key), new.get(key)) for key in keys)


def _entry_text(key: str, old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return f"+ {key}={new}" if old is None else f"- {key}={old}"
    return f"{key}={old} -> {new}"


def _new_key(key: ReleaseConfigKey) -> str:
    return f"{key.type}, {'required' if key.required else f'default {key.default_text}'}"


def _fact(key: ReleaseConfigKey, fact: str) -> str:
    if fact == "validator":
        return validator_text(key.validator)
    return key.default_text if fact == "default" else _value(getattr(key, fact))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_value(part)}" for name, part in value.items())
    if isinstance(value, tuple | list):
        return _list(value)
    return "none" if value is None else str(value) or '""'


def _list(values: Iterable[Any]) -> str:
    return f"[{', '.join(map(_value, values))}]"
