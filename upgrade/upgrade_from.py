"""``upgrade.from``: its values, whether a member starts with a value, and what the value changes.

A value is the line of the older release (``2.3`` for 2.3.1). Java: ``StreamsConfig`` and ``UpgradeFromValues`` for what
is accepted, ``AssignorConfiguration`` (``StreamsPartitionAssignor.configure`` before 2.4) for the effect.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cache
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.config_types import invalid_value

PINNED_VERSIONS: Final[Mapping[str, int]] = {
    "0.10.0": 1,
    "0.10.1": 2,
    "0.10.2": 2,
    "0.11.0": 2,
    "1.0": 2,
    "1.1": 2,
}
"""Values that make a member send an old metadata version, and the version (KIP-268). Other values do not change it."""

EAGER_LINES: Final = ("2.0", "2.1", "2.2", "2.3")
"""With these values, and with those above, a member of 2.4 to 3.9 offers only the eager protocol (KIP-429)."""

EAGER_VALUES_REMOVED_IN: Final = (4, 2)
"""The first release whose configuration rejects the values that 4.0 and 4.1 accept and then fail on."""


@cache
def line_number(value: str) -> tuple[int, ...]:
    """Return a line or a release as numbers, for comparison.

    >>> line_number("0.10.2") < line_number("2.3")
    True
    """
    return tuple(map(int, value.split(".")))


def implies_eager(value: str) -> bool:
    """Whether a value stands for releases that have only the eager protocol (KIP-429: 2.3 and older)."""
    return value in PINNED_VERSIONS or value in EAGER_LINES


class StartupOutcome(enum.Enum):
    """Whether a member starts with a value."""

    STARTS = "it starts"
    IGNORED = "it starts: the release has no such configuration"
    REFUSED = "the configuration rejects the value"
    FAILS = "the configuration accepts the value, and the member fails at start-up"


@frozen
class StartupResult:
    """The outcome; if the member does not start, the Java exception and its text, both verbatim."""

    outcome: StartupOutcome
    exception: str = ""
    text: str = ""


@frozen
class StartupFailure:
    """Values that the releases from ``since`` to before ``until`` accept, and then fail on."""

    values: tuple[str, ...]
    since: tuple[int, ...]
    until: tuple[int, ...]
    exception: str
    text: str


STARTUP_FAILURES: Final = (
    # The hotfix of 3.5.2 and 3.6.0, apache/kafka pull request 14103.
    StartupFailure(
        ("3.4",),
        (3, 5, 0),
        (3, 5, 2),
        "IllegalArgumentException",
        "Unknown configuration value for parameter 'upgrade.from': {value}",
    ),
    # KAFKA-18839: no eager protocol any more, so nothing to fall back to.
    StartupFailure(
        (*PINNED_VERSIONS, *EAGER_LINES),
        (4, 0, 0),
        EAGER_VALUES_REMOVED_IN,
        "ConfigException",
        "The eager rebalancing protocol is no longer supported in 4.0 which means live upgrades from 2.3 or below are "
        "not possible. Please see the Streams upgrade guide for the bridge releases and recommended upgrade path. Got "
        "upgrade.from='{value}'",
    ),
)


def startup_result(value: str | None, accepted: tuple[str, ...], number: tuple[int, ...]) -> StartupResult:
    """Return whether a member starts with a value.

    Args:
        value: The value of ``upgrade.from``; None if it is not set.
        accepted: The values that the configuration of the release accepts; empty if it has no such configuration.
        number: The release.
    """
    if value is None:
        return StartupResult(StartupOutcome.STARTS)
    if not accepted:
        return StartupResult(StartupOutcome.IGNORED)
    if value not in accepted:
        why = f"String must be one of: {', '.join(('null', *accepted))}"
        return StartupResult(StartupOutcome.REFUSED, "ConfigException", str(invalid_value("upgrade.from", value, why)))
    for failure in STARTUP_FAILURES:
        if value in failure.values and failure.since <= number < failure.until:
            text = failure.text.format(value=value)
            return StartupResult(StartupOutcome.FAILS, failure.exception, text)
    return StartupResult(StartupOutcome.STARTS)


class UpgradeFromEffect(enum.Enum):
    """The effects of a value in a member."""

    OLD_VERSION = "sends metadata version 1 or 2 (KIP-268)"
    EAGER = "offers the eager protocol only (KIP-429)"
    OLD_FOREIGN_KEY_JOINS = "writes the subscriptions of foreign-key joins as up to 3.2 (KAFKA-13769)"
    OLD_REPARTITIONING = "writes updates of tables into repartition topics as up to 3.4 (KIP-904)"
    CHECKPOINT_FILES = "writes offsets into .checkpoint files too, where releases up to 4.2 look for them"


@frozen
class FormatEffect:
    """Values up to ``newest_value`` make releases from ``since`` on write an older format."""

    effect: UpgradeFromEffect
    newest_value: str
    since: tuple[int, ...]


_FORMAT_EFFECTS: Final = (
    FormatEffect(UpgradeFromEffect.OLD_FOREIGN_KEY_JOINS, "3.2", (3, 3, 0)),
    # Although 3.3 reads the new format:
    FormatEffect(UpgradeFromEffect.OLD_FOREIGN_KEY_JOINS, "3.3", (3, 4, 0)),
    FormatEffect(UpgradeFromEffect.OLD_REPARTITIONING, "3.4", (3, 5, 0)),
    FormatEffect(UpgradeFromEffect.CHECKPOINT_FILES, "4.2", (4, 3, 0)),
)


def format_effects(value: str, number: tuple[int, ...]) -> tuple[UpgradeFromEffect, ...]:
    """List the old formats that a value makes a release of Kafka write.

    >>> [effect.name for effect in format_effects("2.3", (3, 9, 2))]
    ['OLD_FOREIGN_KEY_JOINS', 'OLD_REPARTITIONING']
    """
    line = line_number(value)
    reached = [
        format_effect.effect
        for format_effect in _FORMAT_EFFECTS
        if line <= line_number(format_effect.newest_value) and format_effect.since <= number
    ]
    return tuple(dict.fromkeys(reached))
