"""The settings of an application that are parameters of the plan: its group, and what its members are started with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application.configuration import releases_with
from streams_assignor.upgrade.application.live_group import LiveGroup
from streams_assignor.upgrade.application.setting_files import Settings, Variant, is_placeholder, setting_of
from streams_assignor.upgrade.input_values import InvalidInput, parse_number
from streams_assignor.upgrade.release_behaviour import UPGRADE_FROM
from streams_assignor.upgrade.releases import Release

_GROUP_PROTOCOL: Final = "group.protocol"
_STREAMS: Final = "streams"
_CLASSIC: Final = "classic"
_INSTANCE: Final = "group.instance.id"
_STANDBYS: Final = "num.standby.replicas"
_SESSION: Final = "session.timeout.ms"
_UPGRADE_FROM: Final = "upgrade.from"
_ASSIGNORS: Final = ("task.assignor.class", "internal.task.assignor.class")
_OF_KAFKA: Final = "org.apache.kafka."
_READ: Final = (_GROUP_PROTOCOL, _INSTANCE, _STANDBYS, _SESSION, _UPGRADE_FROM, *_ASSIGNORS)


@frozen
class PlanParameters:
    """A parameter from settings; None: they do not have it, or not in a readable way."""

    is_static: bool = False
    """Whether members have a ``group.instance.id``."""
    standbys: int | None = None
    session_timeout_ms: int | None = None
    upgrade_from: str | None = None
    """Only if it is a value that some release accepts."""
    has_streams_protocol: bool = False
    has_classic_protocol: bool = False
    """Whether they name the classic protocol, which is the default."""
    task_assignor: str = ""
    """The key that names a task assignor of the application."""
    differing: Mapping[str, str] = field(factory=dict, hash=False)
    """The keys of these that are others under conditions, each with the first of these."""
    placeholders: frozenset[str] = frozenset()
    """The keys of these whose value is a placeholder."""

    def in_streams_group(self, origin: Release, group: LiveGroup | None) -> bool | None:
        """Whether brokers assign the tasks of a group, under some condition at least; None: nothing shows it.

        Settings without the key are no proof: code can set it.
        """
        if not has_streams_protocol(origin):
            return False
        is_set = self.has_streams_protocol or _GROUP_PROTOCOL in self.differing
        if is_set or (group is not None and group.is_streams_group):
            return True
        return False if self.has_classic_protocol or (group and group.members) else None

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "static": self.is_static,
            "standbys": self.standbys,
            "session_timeout_ms": self.session_timeout_ms,
            "upgrade_from": self.upgrade_from,
            "group_protocol": _STREAMS if self.has_streams_protocol else "classic",
            "task_assignor": self.task_assignor or None,
        }

    def blocked(self, origin: Release, target: Release, group: LiveGroup | None = None) -> str:
        """Say why members of both releases cannot be in one group; empty if they can, as far as this decides."""
        has_it = [has_streams_protocol(release) for release in (origin, target)]
        is_streams = self.has_streams_protocol or (group is not None and group.is_streams_group)
        if not is_streams or all(has_it) or not any(has_it):
            return ""
        without, way = (origin, _STREAMS) if has_it[1] else (target, "classic")
        return (
            f"{_GROUP_PROTOCOL}=streams, which {without} does not have: members of both protocols cannot be in one "
            f"group, see plan --to-protocol {way}"
        )

    def open_protocol(self, origin: Release, target: Release, group: LiveGroup | None) -> str:
        """Say that the protocol decides whether members of both releases can be in one group, and nothing shows it."""
        is_shown = _GROUP_PROTOCOL not in self.placeholders or (group is not None and group.members)
        why = "" if is_shown else evolve(self, has_streams_protocol=True).blocked(origin, target)
        return why and f"{_GROUP_PROTOCOL} has a placeholder; if it is {_STREAMS}: {why}"

    def contradicted(self, group: LiveGroup | None) -> str:
        """Say why members with these settings cannot join a live group; empty if they can, as far as this decides."""
        wanted = _STREAMS if self.has_streams_protocol else _CLASSIC if self.has_classic_protocol else ""
        if not (wanted and group and group.members) or group.type not in {_STREAMS, _CLASSIC} or group.type == wanted:
            return ""
        return (
            f"group {group.name} is a {group.type} group, and the settings have {_GROUP_PROTOCOL}={wanted}: members of "
            f"both protocols cannot be in one group, see plan --to-protocol {wanted}"
        )

    def notes(self, origin: Release, target: Release, needed: str | None) -> Iterator[str]:
        """Say what the settings mean for a plan whose first step needs this ``upgrade.from``, or none."""
        brokers_assign = self.has_streams_protocol and has_streams_protocol(origin) and has_streams_protocol(target)
        if self.upgrade_from and self.upgrade_from != needed:
            effects = ", ".join(effect.value for effect in origin.upgrade_from_effects(self.upgrade_from))
            now = f"; with it a member of {origin} {effects}" if effects else ""
            instead = f'give it the value "{needed}" in step 1' if needed else "remove it before step 1"
            yield f'{_UPGRADE_FROM}="{self.upgrade_from}" is set, as within another upgrade{now}: {instead}'
        if brokers_assign:
            yield f"{_GROUP_PROTOCOL}=streams: brokers assign the tasks, and members send no metadata"
        if _UPGRADE_FROM in self.placeholders:
            yield f"{_UPGRADE_FROM} has a placeholder: the members need the value that the steps name, or none"
        if self.task_assignor:
            yield f"{self.task_assignor} names a class of the application: what is simulated has Kafka's task assignor"
        for key, condition in self.differing.items():
            yield f"{key} is another one with {condition}; the plan is for the settings without it"


def has_streams_protocol(release: Release) -> bool:
    """Whether members of a release can be in a group of the streams protocol."""
    return release.number >= tuple(map(int, releases_with("streams", _GROUP_PROTOCOL)[0].split(".")))


def plan_parameters(settings: Settings) -> PlanParameters:
    """Return what the settings without conditions say of the plan.

    >>> found = plan_parameters(Settings.of({"consumer.group.instance.id": "${POD}", "num.standby.replicas": "1"}))
    >>> found.is_static, found.standbys
    (True, 1)
    """
    first, *others = settings.variants
    values = {key: setting_of(first.values, key) for key in _READ}
    value = (values[_UPGRADE_FROM] or "").strip()
    protocol = (values[_GROUP_PROTOCOL] or "").strip().lower()
    assignors = ((key, values[key]) for key in _ASSIGNORS)
    return PlanParameters(
        is_static=bool(values[_INSTANCE]),
        standbys=_number(values[_STANDBYS]),
        session_timeout_ms=_number(values[_SESSION]),
        upgrade_from=value if value in UPGRADE_FROM else None,
        has_streams_protocol=protocol == _STREAMS,
        has_classic_protocol=protocol == _CLASSIC,
        task_assignor=next((key for key, name in assignors if name and not name.strip().startswith(_OF_KAFKA)), ""),
        placeholders=frozenset(key for key, given in values.items() if given and is_placeholder(given)),
        differing={
            key: _first_condition(key, values[key], others)
            for key in _READ
            if any(setting_of(variant.values, key) != values[key] for variant in others)
        },
    )


def _first_condition(key: str, value: str | None, variants: list[Variant]) -> str:
    return next(", ".join(variant.conditions) for variant in variants if setting_of(variant.values, key) != value)


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else parse_number(text.strip())
    except InvalidInput:  # a placeholder, or Kafka refuses it
        return None
