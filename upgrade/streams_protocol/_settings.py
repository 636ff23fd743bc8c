"""The settings of members that a change of the protocol loses: which command keeps each, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from upgrade.application.setting_files import CONSUMER_PREFIXES, setting_of
from upgrade.config_types import invalid_value
from upgrade.streams_protocol._facts import IGNORED_SETTINGS, GroupConfiguration, replaced_settings

_MAX_DIGITS: Final = 10  # int() raises its own error for thousands of digits


@frozen
class CarriedSetting:
    """A setting of members and the configuration of the group that replaces it."""

    configuration: GroupConfiguration
    given: int | None
    """The value of the members; None if it is not known."""

    @property
    def applied(self) -> int | None:
        """The value that the printed command sets: the given one, or the nearest that brokers accept."""
        return None if self.given is None else self.configuration.nearest(self.given)

    @property
    def pair(self) -> str:
        """``NAME=VALUE`` for ``kafka-configs``; the name of the setting stands for a value that is not known."""
        value = f"<{self.configuration.replaces}>" if self.applied is None else self.applied
        return f"{self.configuration.name}={value}"

    @property
    def limit(self) -> str | None:
        """The configuration of brokers that does not allow the given value; None if it is allowed."""
        if self.given is None or self.given == self.applied:
            return None
        row = self.configuration
        return row.minimum_name if self.given < row.minimum else row.maximum_name

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "setting": self.configuration.replaces,
            "value": self.given,
            "group_configuration": self.configuration.name,
            "applied": self.applied,
            "limited_by": self.limit,
            "if_skipped": self.configuration.if_lost,
        }


def carried_settings(settings: Mapping[str, str] | None, broker: tuple[int, ...] | None) -> tuple[CarriedSetting, ...]:
    """List what ``kafka-configs`` has to set: of unknown settings every row, else those that are set.

    ``broker`` is the oldest release of the brokers, None if it is not known.

    Raises:
        ConfigException: A value is not a number that Kafka accepts.
    """
    replaced = replaced_settings(broker)
    if settings is None:
        return tuple(CarriedSetting(row, None) for row in replaced.values())
    stated = ((row, setting_of(settings, name)) for name, row in replaced.items())
    return tuple(CarriedSetting(row, _number(str(row.replaces), text)) for row, text in stated if text is not None)


def ignored_settings(settings: Mapping[str, str] | None, broker: tuple[int, ...] | None) -> tuple[tuple[str, str], ...]:
    """List the settings that have no effect any more, as they are given, each with what follows."""
    replaced = replaced_settings(broker)
    given = {name: _without_prefix(name) for name in sorted(settings or {})}
    return tuple(
        (name, row.consequence)
        for name, plain in given.items()
        if plain not in replaced
        for row in IGNORED_SETTINGS
        if row.concerns(plain)
    )


def _without_prefix(name: str) -> str:
    return next(name.removeprefix(prefix) for prefix in CONSUMER_PREFIXES if name.startswith(prefix))


def _number(name: str, text: str) -> int:
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdigit() and len(stripped) <= _MAX_DIGITS):
        raise invalid_value(name, text, "expected a number that is not negative")
    return int(stripped)
