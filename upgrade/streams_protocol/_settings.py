"""The settings of members that a change of the protocol loses: which command keeps each, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.application.setting_files import CONSUMER_PREFIXES, is_placeholder
from streams_assignor.upgrade.config_types import invalid_value
from streams_assignor.upgrade.group_configurations import IGNORED_SETTINGS, REPLACED_SETTINGS, GroupConfiguration
from streams_assignor.upgrade.hazards import Setting, SettingFacts

_MAX_DIGITS: Final = 10  # int() raises its own error for thousands of digits


@frozen
class CarriedSetting:
    """A setting of members and the configuration of the group that replaces it."""

    configuration: GroupConfiguration
    given: int | None
    """The value of the members; None if it is not known."""
    where: str = ""
    """Its place in the settings; empty if they are not known."""
    key: str = ""
    """As it is given, with its prefix; empty if it is not."""
    others: tuple[str, ...] = ()
    """The places that have another value, under a condition."""
    is_default: bool = False
    """Whether the value is what a placeholder stands for unless something else sets it."""

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

    @property
    def compared_with(self) -> tuple[str, ...]:
        """The configurations of brokers that limit the printed value; none while it is not known."""
        row = self.configuration
        return () if self.given is None else tuple(filter(None, (row.minimum_name, row.maximum_name)))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "setting": self.configuration.replaces,
            "value": self.given,
            "where": self.where or None,
            "group_configuration": self.configuration.name,
            "applied": self.applied,
            "limited_by": self.limit,
            "if_skipped": self.configuration.if_lost,
        }


@frozen
class LostSetting:
    """A setting of members that has no effect any more, and that nothing replaces."""

    name: str
    """As it is given."""
    where: str
    consequence: str

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"setting": self.name, "where": self.where, "consequence": self.consequence}


def carried_settings(
    settings: Sequence[SettingFacts] | None,
    limits: Mapping[str, int],
    replaced: Mapping[str, GroupConfiguration] = REPLACED_SETTINGS,
) -> tuple[CarriedSetting, ...]:
    """List what ``kafka-configs`` has to set: of unknown settings every row, else those that are set.

    ``settings`` are those without conditions first, then those under each condition. ``limits`` are those of the
    brokers, by the names of their configurations, as far as they are known; ``replaced`` are the configurations that
    replace settings, by these.

    Raises:
        ConfigException: A value is not a number that Kafka accepts.
    """
    rows = {name: row.within(limits) for name, row in replaced.items()}
    if settings is None:
        return tuple(CarriedSetting(row, None) for row in rows.values())
    return tuple(_carried(name, row, settings) for name, row in rows.items() if stated(name, settings))


def lost_settings(settings: Sequence[SettingFacts] | None) -> tuple[LostSetting, ...]:
    """List the settings that have no effect any more, as they are given, each with what follows."""
    given = {name: setting.where for variant in reversed(settings or ()) for name, setting in variant.values.items()}
    return tuple(
        LostSetting(name, given[name], row.consequence)
        for name in sorted(given)
        for row in IGNORED_SETTINGS
        if row.concerns(next(name.removeprefix(prefix) for prefix in CONSUMER_PREFIXES if name.startswith(prefix)))
    )


def main_consumer_setting(variant: SettingFacts, name: str) -> Setting | None:
    """Return the setting with which a main consumer runs, whatever prefix it has; None if it is not set."""
    key = _key_of(variant, name)
    return variant.values[key] if key else None


def _key_of(variant: SettingFacts, name: str) -> str:
    names = (prefix + name for prefix in CONSUMER_PREFIXES)
    return next((key for key in names if key in variant.values), "")


def stated(name: str, settings: Sequence[SettingFacts] | None) -> list[Setting]:
    """Return a setting of main consumers: without conditions, then under each condition, where it is set."""
    found = (main_consumer_setting(variant, name) for variant in settings or ())
    return [setting for setting in found if setting is not None]


def _carried(name: str, row: GroupConfiguration, settings: Sequence[SettingFacts]) -> CarriedSetting:
    first, *others = stated(name, settings)
    differing = (setting.where for setting in others if setting.value != first.value)
    key = next(filter(None, (_key_of(variant, name) for variant in settings)))
    others_at = tuple(dict.fromkeys(differing))
    return CarriedSetting(row, _number(name, first), first.where, key, others_at, first.is_default)


def _number(name: str, setting: Setting) -> int | None:
    text = setting.value.strip()
    if not setting.reaches_kafka or is_placeholder(text):
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        if setting.is_default:
            return None
        raise invalid_value(name, text, "expected a number that is not negative")
    return int(text)


def limits_of(settings: Sequence[CarriedSetting]) -> Iterator[str]:
    """Say which values brokers do not accept, which are not known, and which differ under conditions."""
    for setting in settings:
        row = setting.configuration
        if setting.limit:
            yield (
                f"{setting.key}={setting.given} ({setting.where}) is outside what brokers accept of {row.name} unless "
                f"{setting.limit} is changed: the line sets {setting.applied}"
            )
        if setting.where and setting.given is None:
            yield f"{setting.where} does not tell the value of {setting.key}: put it into the line"
        elif setting.is_default:
            yield (
                f"{setting.key}={setting.given} ({setting.where}) is the default of a placeholder: if something else "
                "sets it, change the line"
            )
        if setting.others:
            yield f"{setting.key} is another one in {', '.join(setting.others)}: the group has one value for all"
