"""The options of ``plan`` about a group, and what its settings say in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click
from attrs import evolve, frozen
from click.core import ParameterSource

from upgrade import Advice
from upgrade.application.parameters import PlanParameters, plan_parameters
from upgrade.application.setting_files import Settings
from upgrade.errors import UpgradeError
from upgrade.verdict import TopologyFacts, TopologyFeature

GROUP_OPTIONS: Final = ("members", "tasks", "standbys", "static", "state", "session_timeout", "explored")
_KEYS: Final[Mapping[str, str]] = {
    "standbys": "num.standby.replicas",
    "session_timeout": "session.timeout.ms",
    "static": "group.instance.id",
}
_MOST: Final[Mapping[str, float]] = {"standbys": 100, "session_timeout": 86_400.0, "static": True}
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
    contradicted: tuple[str, ...] = ()
    """A sentence for each option that contradicts the settings."""

    @classmethod
    def of(
        cls, context: click.Context, values: Mapping[str, Any], settings: Settings | None, file: str
    ) -> GroupOptions:
        """Combine options and settings; ``UpgradeError`` for a value that cannot be simulated."""
        given = options_given(context)
        parameters = plan_parameters(settings) if settings else PlanParameters()
        size, contradicted = dict(values), []
        for name, value in _of_settings(parameters).items():
            if name not in given:
                if given and value > _MOST[name]:
                    limit = f"{_KEYS[name]} of at most {_MOST[name]:g}"
                    raise UpgradeError(f"expected {limit} for {_option(name)}, got {value:g} in {file}")
                size[name] = value
            elif values[name] != value:
                contradicted.append(f"{_option(name)} counts, and not {_KEYS[name]} of {file}")
        return cls(parameters, size if given else None, tuple(contradicted))

    @property
    def is_static(self) -> bool:
        """Whether the members are static, by option or by settings."""
        return self.parameters.is_static or bool(self.size and self.size["static"])

    def refine(self, facts: TopologyFacts) -> TopologyFacts:
        """Return what is known of the application with what settings say; an option counts more."""
        known = facts.absent | facts.present
        return evolve(
            facts,
            absent=facts.absent | (self.parameters.absent - known),
            present=facts.present | (self.parameters.present - known),
        )

    def notes(self, advice: Advice, facts: TopologyFacts) -> Iterator[str]:
        """Say what the settings mean for the plan, and which option counts in their place."""
        yield from self.contradicted
        if self.parameters.present & facts.absent:
            yield f"--without {TopologyFeature.SECOND_THREAD.value} counts, and not num.stream.threads of the settings"
        hops = advice.guidance.hops
        yield from self.parameters.notes(hops[0].origin, hops[-1].target, advice.upgrade_from)

    def blocked(self, advice: Advice) -> str:
        """Say why a rolling bounce is not possible; empty if it is."""
        hops = advice.guidance.hops
        return self.parameters.blocked(hops[0].origin, hops[-1].target)


def _of_settings(parameters: PlanParameters) -> dict[str, Any]:
    """Return the values of options that settings give."""
    timeout = parameters.session_timeout_ms
    found = {
        "standbys": parameters.standbys,
        "session_timeout": timeout / 1000 if timeout else None,
        "static": parameters.is_static or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
