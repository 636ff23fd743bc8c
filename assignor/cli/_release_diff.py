"""``release A --diff B``: the configuration and the public API of two releases, from the tables of their jars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import frozen

from assignor.formats.text import count
from upgrade.application.api_diff import ApiChange, compare_api
from upgrade.application.code import code_of
from upgrade.application.configuration import (
    ConfigChange,
    ConfigurationDiff,
    ReleaseConfigKey,
    compare_configurations,
    configuration_of,
)
from upgrade.application.values import validator_text
from upgrade.releases import Release

_FACTS: Final = {"validator": "accepts", "varies": "default depends on the machine"}
_SIGNS: Final = {"added": "+", "added, abstract": "+", "removed": "-"}


@frozen
class ReleaseDiff:
    """What differs between two releases."""

    origin: Release
    target: Release
    configuration: ConfigurationDiff
    api: tuple[ApiChange, ...]

    @classmethod
    def between(cls, origin: Release, target: Release) -> ReleaseDiff:
        """Compare two releases of Kafka; ``NoTable`` for others."""
        configurations = compare_configurations(configuration_of(origin), configuration_of(target))
        return cls(origin, target, configurations, compare_api(code_of(origin), code_of(target)))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "from": self.origin.name,
            "to": self.target.name,
            "configuration": [key.as_json() for key in self.configuration.keys],
            "overrides": [override.as_json() for override in self.configuration.overrides],
            "api": [change.as_json() for change in self.api],
        }

    def lines(self) -> Iterator[str]:
        """Write it as text."""
        keys, overrides = self.configuration.keys, self.configuration.overrides
        counted = Counter(key.as_json()["change"] for key in keys)
        yield f"{self.origin} to {self.target}"
        yield ""
        yield f"configuration: {_counts(counted) or 'no difference'}"
        yield from map(_key_line, keys)
        if overrides:
            yield ""
            yield f"what Streams sets for its clients: {count(len(overrides), 'difference')}"
            yield from (
                f"  ~ {override.constant}: {_value(override.old)} -> {_value(override.new)}" for override in overrides
            )
        yield ""
        yield f"public API: {_counts(Counter(change.change for change in self.api)) or 'no difference'}"
        yield from (f"  {_SIGNS.get(change.change, '~')} {change.text}{_word(change.change)}" for change in self.api)


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
