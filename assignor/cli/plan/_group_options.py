"""The options of ``plan`` about a group, and what its settings or the live group say in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click
from attrs import frozen
from click.core import ParameterSource

from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade import Advice
from upgrade.application.live_group import LiveGroup
from upgrade.application.parameters import PlanParameters, plan_parameters
from upgrade.application.setting_files import Settings
from upgrade.errors import UpgradeError
from upgrade.hazards import Answer, JudgedFeatures
from upgrade.releases import ResolvedRelease

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
    return frozenset(
        name for name in GROUP_OPTIONS if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


@frozen
class GroupOptions:
    """The options, with what the settings say where an option is not given."""

    parameters: PlanParameters
    size: Mapping[str, Any] | None
    """The values of all options; None: none is given, so that nothing is simulated."""
    live: LiveGroup | None = None
    contradicted: tuple[str, ...] = ()
    """A sentence for each option that contradicts the settings, and each setting that contradicts the live group."""

    @classmethod
    def of(
        cls,
        context: click.Context,
        values: Mapping[str, Any],
        settings: Settings | None,
        file: str,
        live: LiveGroup | None,
    ) -> GroupOptions:
        """Combine options, settings and the live group: what comes first counts.

        Raises:
            UpgradeError: A value cannot be simulated.
        """
        given = options_given(context)
        parameters = plan_parameters(settings) if settings else PlanParameters()
        size, contradicted = dict(values), []
        of_group, of_settings = _of_group(live), _of_settings(parameters)
        for name, value in {**of_group, **of_settings}.items():
            shown = f"{_KEYS[name]} of {file}" if name in of_settings else f"what group {live and live.name} has"
            if name in given:
                if values[name] != value:
                    contradicted.append(f"{_option(name)} counts, and not {shown}")
            elif given and value > _MOST[name]:
                raise UpgradeError(f"expected at most {_MOST[name]:g} for {_option(name)}, got {value:g}: {shown}")
            else:
                size[name] = value
            if name in of_settings and of_group.get(name, value) != value:
                contradicted.append(f"{shown} counts, and not what group {live and live.name} has now")
        return cls(parameters, size if given else None, live, tuple(contradicted))

    @property
    def is_static(self) -> bool:
        """Whether the members are static, by option or by settings."""
        return bool(
            self.parameters.is_static or (self.live and self.live.static) or (self.size and self.size["static"])
        )

    def notes(self, advice: Advice, features: JudgedFeatures) -> Iterator[str]:
        """Say what the settings mean for the plan, and which option counts in their place."""
        yield from self.contradicted
        for feature, concern in features.concerns.items():
            if concern.answer is Answer.YES and feature in features.facts.absent:
                yield f"--without {feature.value} counts, and not {'; '.join(concern.evidence)}"
        hops = advice.guidance.hops
        yield from self.parameters.notes(hops[0].origin, hops[-1].target, advice.upgrade_from)

    def reasons(self, origin: ResolvedRelease, advice: Advice) -> tuple[str, ...]:
        """Say why a rolling bounce is not possible; nothing if it is."""
        hops = advice.guidance.hops
        of_settings = self.parameters.blocked(hops[0].origin, hops[-1].target)
        return tuple(filter(None, (self.live.blocked(origin) if self.live else "", of_settings)))

    def origin(self, target: ResolvedRelease) -> ResolvedRelease:
        """Return the release that the live group runs; ``ClickException`` if it cannot be told."""
        assert self.live  # the command has no FROM only with --group
        try:
            return self.live.origin(target)
        except UpgradeError as error:
            raise click.ClickException(sanitize(str(error))) from None

    def as_json(self) -> dict[str, Any]:
        """Return plain values of the live group, if one was looked at."""
        return {"live_group": self.live.as_json()} if self.live else {}

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what the live group shows."""
        if self.live:
            yield from (view.fact(sanitize(line)) for line in self.live.lines(verbose=view.verbose))


def _of_settings(parameters: PlanParameters) -> dict[str, Any]:
    """Return the values of options that settings give."""
    timeout = parameters.session_timeout_ms
    found = {
        "standbys": parameters.standbys,
        "session_timeout": timeout / 1000 if timeout else None,
        "static": parameters.is_static or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _of_group(live: LiveGroup | None) -> dict[str, Any]:
    """Return the values of options that a live group shows; of one that is not stable there are none."""
    if live is None or not live.tasks:
        return {}
    found: dict[str, Any] = {"members": len(live.members), "tasks": live.tasks, "standbys": live.standbys}
    return found | ({"static": True} if live.static else {})


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
