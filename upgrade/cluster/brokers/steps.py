"""The parts of the advice for brokers: steps with their way back and their source.

``upgrade.planner`` has the same parts for members of a Streams group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from attrs import asdict, field, frozen

from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, MetadataMode
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import CheckedScope

_CHECKED: Final = ("protocol versions", "feature levels", "ZooKeeper and KRaft", "what each step raises")
_NOT_CHECKED: Final = ("your configuration", "your clients", "your disks and Java", "how long a roll takes")


_DYNAMIC: Final = "dynamic settings (kafka-configs --describe --entity-type brokers) and --override"
"""Instead of the configuration, if its files were read: these win over a file."""


class NoUpgradePath(UpgradeError):
    """No sequence of steps leads from one release to the other; the message gives the reason."""


class DowngradeVerdict(Enum):
    """Whether a cluster can return to the release before a step."""

    OPEN = "open"
    """One roll is enough."""
    SAFE = "safe"
    """Levels are lowered first, which loses nothing."""
    LOSSY = "lossy"
    """Lowering the levels loses something: metadata, and Kafka refuses it, or what uses a feature."""
    CLOSED = "closed"
    """There is no way back."""


@frozen
class DowngradePath:
    """The way back after a step: its verdict, and what to do or why it is closed."""

    verdict: DowngradeVerdict
    how: str
    levels: Mapping[str, int] = field(default=MappingProxyType({}), hash=False)
    """The levels to lower first; empty if there are none, or if Kafka refuses to lower them."""

    @property
    def summary(self) -> str:
        """The verdict, and the way up to the first semicolon or colon."""
        return f"{self.verdict.value}: {re.split('[:;] ', self.how)[0]}"

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.how}"


@frozen(kw_only=True)
class BrokerStep:
    """A step for the brokers of a cluster."""

    do: str
    why: str
    if_skipped: str
    release: str
    """The release that every broker has after the step."""
    settings: Mapping[str, str] = field(default=MappingProxyType({}), hash=False)
    """The relevant settings of every broker after the step, by Kafka's names."""
    levels: Mapping[str, int] = field(default=MappingProxyType({}), hash=False)
    """The levels that the step finalizes, by feature: everything that its command raises or lowers."""
    rolls: int = 1
    """How often each broker is bounced."""
    way_back: DowngradePath
    source: str
    """The document of Kafka that requires the step."""


def release_roll(
    origin: BrokerRelease,
    target: BrokerRelease,
    *,
    why: str,
    if_skipped: str,
    source: str,
    nodes: str = "broker",
    set_first: str = "",
    settings: Mapping[str, str] = MappingProxyType({}),
) -> BrokerStep:
    """Return the step that bounces every node from ``origin`` to ``target``; the way back is the same roll."""
    return BrokerStep(
        do=f"{set_first}bounce every {nodes} to {target}, one by one",
        why=why,
        if_skipped=if_skipped,
        release=target.name,
        settings=settings,
        way_back=DowngradePath(DowngradeVerdict.OPEN, f"bounce every {nodes} to {origin} again"),
        source=source,
    )


@frozen
class BrokerAdvice:
    """The steps of a cluster from ``origin`` to ``target``. If there are none, ``warnings`` has the reason."""

    origin: str
    target: str
    mode: MetadataMode
    steps: tuple[BrokerStep, ...]
    warnings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """The assumptions about releases that the table lacks."""
    read: str = ""
    """Which of Kafka's upgrade notes were read, and what they have."""
    settings_file: str = ""
    """The files of the nodes' settings; empty if there are none."""

    @property
    def checked(self) -> CheckedScope:
        """The checked and the unchecked subjects of the plan."""
        checked = (*_CHECKED, *([self.read] if self.read else []))
        not_checked = _NOT_CHECKED
        if self.settings_file:
            checked, not_checked = (*checked, f"the settings of {self.settings_file}"), (_DYNAMIC, *_NOT_CHECKED[1:])
        return CheckedScope(checked, not_checked).assuming(self.assumed)

    @property
    def is_possible(self) -> bool:
        """Whether there are steps."""
        return bool(self.steps)

    @property
    def rolls(self) -> int:
        """How often each broker is bounced in total."""
        return sum(step.rolls for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """Return plain values. Names that the advice for Streams also has mean the same."""
        steps = [asdict(step, value_serializer=_serialize) for step in self.steps]
        return {
            "from": self.origin,
            "to": self.target,
            "mode": self.mode.value,
            "rolls": self.rolls,
            "steps": steps,
            "warnings": list(self.warnings),
            "assumed": list(self.assumed),
            **self.checked.as_json(),
        }


def _serialize(_instance: Any, _attribute: Any, value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return dict(value) if isinstance(value, Mapping) else value
