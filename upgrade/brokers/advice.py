"""What an advice about brokers is made of: steps with their way back and their source.

Beside ``upgrade.plan``, which has the same for members of a Streams group.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from attrs import asdict, field, frozen

from upgrade.brokers.versions import Mode
from upgrade.errors import UpgradeError
from upgrade.plan import Step


class NoWay(UpgradeError):
    """There is no way from the one release to the other; the message says why."""


class Verdict(Enum):
    """Whether a cluster that has done a step can go back to the release before it."""

    OPEN = "open"
    """It takes no more than a roll."""
    SAFE = "safe"
    """A lower metadata.version first, which loses nothing."""
    LOSSY = "lossy"
    """A lower metadata.version would lose metadata, and Kafka refuses it."""
    CLOSED = "closed"
    """No."""


@frozen
class WayBack:
    """The way back after a step, in a word and in words."""

    verdict: Verdict
    how: str


@frozen(kw_only=True)
class BrokerStep(Step):
    """A step for the brokers of a cluster.

    ``release`` and ``settings`` are what every broker has after it (the settings that matter here, by Kafka's names);
    ``rolls`` is how often each broker is bounced, ``source`` who says so.
    """

    release: str
    settings: Mapping[str, str] = field(default=MappingProxyType({}), hash=False)
    rolls: int = 1
    way_back: WayBack
    source: str


@frozen
class BrokerAdvice:
    """The way of a cluster from ``origin`` to ``target``; no steps if there is none, and ``warnings`` says why."""

    origin: str
    target: str
    mode: Mode
    steps: tuple[BrokerStep, ...]
    warnings: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether there is a way."""
        return bool(self.steps)

    @property
    def rolls(self) -> int:
        """How often each broker is bounced in all."""
        return sum(step.rolls for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; the names that the advice for Streams has too mean the same."""
        steps = [{**asdict(step, value_serializer=_plain), "settings": dict(step.settings)} for step in self.steps]
        return {
            "from": self.origin,
            "to": self.target,
            "mode": self.mode.value,
            "rolls": self.rolls,
            "steps": steps,
            "warnings": list(self.warnings),
        }


def _plain(_instance: Any, _attribute: Any, value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
