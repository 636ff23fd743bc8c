"""The options of ``plan`` about a group, and what its settings or the live group say in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
from attrs import frozen

from streams_assignor.cli.params import is_given
from streams_assignor.upgrade.application.live_group import LiveGroup
from streams_assignor.upgrade.application.parameters import PlanParameters, plan_parameters
from streams_assignor.upgrade.application_plan import PlannedApplication
from streams_assignor.upgrade.errors import UpgradeError

GROUP_OPTIONS: Final = ("members", "tasks", "standbys", "static", "state", "session_timeout", "explored")
_KEYS: Final[Mapping[str, str]] = {
    "standbys": "num.standby.replicas",
    "session_timeout": "session.timeout.ms",
    "static": "group.instance.id",
}
_MOST: Final[Mapping[str, float]] = {
    "members": 1_000,
    "tasks": 10_000,
    "standbys": 100,
    "session_timeout": 86_400.0,
    "static": True,
}
"""The limits of the options."""


def options_given(context: click.Context) -> frozenset[str]:
    """Return which options about a group are on the command line."""
    return frozenset(name for name in GROUP_OPTIONS if is_given(context, name))


@frozen
class GroupOptions:
    """The options, with what the settings say where an option is not given."""

    size: Mapping[str, Any] | None
    """The values of all options; None: none is given, so that nothing is simulated."""
    is_static: bool
    """Whether the members are static, by option, by settings or in the live group."""
    contradicted: tuple[str, ...] = ()
    """A sentence for each option that contradicts the settings, and each setting that contradicts the live group."""

    @classmethod
    def of(cls, context: click.Context, values: Mapping[str, Any], application: PlannedApplication) -> GroupOptions:
        """Combine options, settings and the live group: what comes first counts.

        Raises:
            UpgradeError: A value cannot be simulated.
        """
        given = options_given(context)
        parameters = plan_parameters(application.settings) if application.settings else PlanParameters()
        size, contradicted = dict(values), []
        of_group, of_settings = _of_group(application.group), _of_settings(parameters)
        group = application.group.name if application.group else ""
        for name, value in {**of_group, **of_settings}.items():
            shown = (
                f"{_KEYS[name]} of {application.settings_source}" if name in of_settings else f"what group {group} has"
            )
            if name in given:
                if values[name] != value:
                    contradicted.append(f"{_option(name)} counts, and not {shown}")
            elif given and value > _MOST[name]:
                raise UpgradeError(f"expected at most {_MOST[name]:g} for {_option(name)}, got {value:g}: {shown}")
            else:
                size[name] = value
            if name in of_settings and of_group.get(name, value) != value:
                contradicted.append(f"{shown} counts, and not what group {group} has now")
        return cls(size if given else None, size["static"], tuple(contradicted))


def _of_settings(parameters: PlanParameters) -> dict[str, Any]:
    """Return the values of options that settings give."""
    timeout = parameters.session_timeout_ms
    values = {
        "standbys": parameters.standbys,
        "session_timeout": timeout / 1000 if timeout else None,
        "static": parameters.is_static or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _of_group(live: LiveGroup | None) -> dict[str, Any]:
    """Return the values of options that a live group shows; of one that is not stable there are none."""
    if live is None or not live.tasks:
        return {}
    values: dict[str, Any] = {"members": len(live.members), "tasks": live.tasks, "standbys": live.standbys}
    return values | ({"static": True} if live.static else {})


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
