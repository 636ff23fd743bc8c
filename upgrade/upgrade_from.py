"""``upgrade.from``: which values each release accepts, which of these it then dies of, and what a value does.

A value is the line of the older release (``2.3`` for 2.3.1). Java: ``StreamsConfig`` and ``UpgradeFromValues`` for what
is accepted, ``AssignorConfiguration`` (``StreamsPartitionAssignor.configure`` before 2.4) for what becomes of it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from upgrade.values import invalid

PINNED_VERSIONS: Final[Mapping[str, int]] = {
    "0.10.0": 1,
    "0.10.1": 2,
    "0.10.2": 2,
    "0.11.0": 2,
    "1.0": 2,
    "1.1": 2,
}
"""KIP-268: values that make a member send an old metadata version, and which. The others leave the version alone."""

EAGER_LINES: Final = ("2.0", "2.1", "2.2", "2.3")
"""KIP-429: for these, and those above, a member of 2.4 to 3.9 offers the eager protocol only."""

ACCEPTED_SINCE: Final[Mapping[tuple[int, ...], tuple[str, ...]]] = {
    (2, 0, 0): tuple(PINNED_VERSIONS),
    (2, 4, 0): EAGER_LINES,
    (3, 3, 0): ("2.4", "2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2"),
    (3, 4, 0): ("3.3",),
    (3, 5, 0): ("3.4",),
    (3, 6, 2): ("3.5",),  # KAFKA-16139: forgotten in 3.6.0 and 3.6.1
    (3, 7, 0): ("3.6",),
    (3, 8, 0): ("3.7",),
    (3, 9, 0): ("3.8",),
    (4, 0, 0): ("3.9",),
    (4, 1, 0): ("4.0",),
    (4, 2, 0): ("4.1",),
    (4, 3, 0): ("4.2",),
}
"""The first release whose configuration accepts the values. The fixed releases before 2.0 have ``0.10.0`` besides."""

UPGRADE_FROM: Final = tuple(value for values in ACCEPTED_SINCE.values() for value in values)
"""Every value that some release accepts, oldest first."""

EAGER_FORGOTTEN: Final = (4, 2, 0)
"""The first release that does not even know the values that 4.0 and 4.1 refuse at start-up."""


def line_of(value: str) -> tuple[int, ...]:
    """Return a value as numbers, for comparing.

    >>> line_of("0.10.2") < line_of("2.3")
    True
    """
    return tuple(map(int, value.split(".")))


def is_eager(value: str) -> bool:
    """Whether the releases that a value stands for know the eager protocol only (KIP-429: 2.3 and older)."""
    return value in PINNED_VERSIONS or value in EAGER_LINES


def accepted_by(number: tuple[int, ...]) -> tuple[str, ...]:
    """List what the configuration of a release from 2.0 on accepts; whether the member then starts is another matter.

    >>> accepted_by((2, 3, 1))
    ('0.10.0', '0.10.1', '0.10.2', '0.11.0', '1.0', '1.1')
    """
    values = [value for since, values in ACCEPTED_SINCE.items() if since <= number for value in values]
    return tuple(value for value in values if number < EAGER_FORGOTTEN or not is_eager(value))


class Fate(enum.Enum):
    """What becomes of a member that is started with a value."""

    WORKS = "it starts"
    IGNORED = "it starts: the release has no such configuration"
    REFUSED = "the configuration refuses the value"
    CRASHES = "the configuration accepts the value, and the member dies of it as it starts"


@frozen
class Outcome:
    """What becomes of it, and if it does not start: the exception and its text, both Kafka's."""

    fate: Fate
    exception: str = ""
    text: str = ""


@frozen
class Trap:
    """Values that some releases (from ``since``, before ``until``) accept and then die of."""

    values: tuple[str, ...]
    since: tuple[int, ...]
    until: tuple[int, ...]
    exception: str
    text: str


TRAPS: Final = (
    # The hotfix of 3.5.2 and 3.6.0, apache/kafka pull request 14103.
    Trap(
        ("3.4",),
        (3, 5, 0),
        (3, 5, 2),
        "IllegalArgumentException",
        "Unknown configuration value for parameter 'upgrade.from': {value}",
    ),
    # KAFKA-18839: no eager protocol any more, so nothing to fall back to.
    Trap(
        (*PINNED_VERSIONS, *EAGER_LINES),
        (4, 0, 0),
        EAGER_FORGOTTEN,
        "ConfigException",
        "The eager rebalancing protocol is no longer supported in 4.0 which means live upgrades from 2.3 or below are "
        "not possible. Please see the Streams upgrade guide for the bridge releases and recommended upgrade path. Got "
        "upgrade.from='{value}'",
    ),
)


def outcome_of(value: str | None, accepted: tuple[str, ...], number: tuple[int, ...]) -> Outcome:
    """Say what becomes of a member of a release that is started with ``value`` (None: without).

    ``accepted`` is what its configuration accepts; nothing means that there is no such configuration.
    """
    if value is None:
        return Outcome(Fate.WORKS)
    if not accepted:
        return Outcome(Fate.IGNORED)
    if value not in accepted:
        why = f"String must be one of: {', '.join(('null', *accepted))}"
        return Outcome(Fate.REFUSED, "ConfigException", str(invalid("upgrade.from", value, why)))
    for trap in TRAPS:
        if value in trap.values and trap.since <= number < trap.until:
            return Outcome(Fate.CRASHES, trap.exception, trap.text.format(value=value))
    return Outcome(Fate.WORKS)


class Effect(enum.Enum):
    """What a value makes a member do."""

    OLD_VERSION = "sends metadata version 1 or 2 (KIP-268)"
    EAGER = "offers the eager protocol only (KIP-429)"
    OLD_FOREIGN_KEY_JOINS = "writes the subscriptions of foreign-key joins as up to 3.2 (KAFKA-13769)"
    OLD_REPARTITIONING = "writes updates of tables into repartition topics as up to 3.4 (KIP-904)"
    CHECKPOINT_FILES = "writes offsets into .checkpoint files too, where releases up to 4.2 look for them"


@frozen
class Reach:
    """Values up to ``last`` have an effect on what releases from ``since`` on write."""

    effect: Effect
    last: str
    since: tuple[int, ...]


_REACHES: Final = (
    Reach(Effect.OLD_FOREIGN_KEY_JOINS, "3.2", (3, 3, 0)),
    # 3.3 could read the new format, and yet:
    Reach(Effect.OLD_FOREIGN_KEY_JOINS, "3.3", (3, 4, 0)),
    Reach(Effect.OLD_REPARTITIONING, "3.4", (3, 5, 0)),
    Reach(Effect.CHECKPOINT_FILES, "4.2", (4, 3, 0)),
)


def old_formats(value: str, number: tuple[int, ...]) -> tuple[Effect, ...]:
    """List what a value makes a release of Kafka write as older ones did.

    >>> [effect.name for effect in old_formats("2.3", (3, 9, 2))]
    ['OLD_FOREIGN_KEY_JOINS', 'OLD_REPARTITIONING']
    """
    line = line_of(value)
    reached = [each.effect for each in _REACHES if line <= line_of(each.last) and each.since <= number]
    return tuple(dict.fromkeys(reached))
