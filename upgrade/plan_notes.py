"""What there is to say beside the steps of a plan: bugs on the way, state and records that are left, other ways.

Sources: Kafka's issues, as numbered, and the code of the releases that have them or mend them; the upgrade guides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from upgrade.matrix import (
    FORMATS,
    KAFKA_8649_RULES,
    NOT_BACK,
    Obstacle,
    Plan,
    behind_and_ahead,
    bridge_between,
    documented_plan,
    goes_back,
    obstacles,
    upgrade_from_value,
)
from upgrade.releases import RELEASES, Effect, Fate, Release

_NEW_STORES: Final[Mapping[tuple[int, ...], str]] = {
    (2, 3): "their values have timestamps since 2.3, KIP-258",
    (3, 0): "RocksDB changed its files with 3.0",
    (4, 0): "RocksDB changed its files with 4.0",
}
"""Since when stores cannot be opened by any older release, and why."""
_OFFSETS_IN_STORES: Final = (4, 3)
_ONLY_NEW_JOINS: Final = (3, 3)
"""KAFKA-14646: the line that reads no records of foreign-key joins but those that it writes itself."""
_NEW_JOINS: Final = "3.4"
"""The oldest value with which foreign-key joins write what 3.3 writes."""
_NAMES_EVERYTHING: Final = (2, 4)
"""The first line whose members do not name what they ran without state (if they are cooperative)."""
_WANTS_LAGS: Final = ((2, 6), (3, 1))
"""Leaders from the one to before the other die of such a name; nobody has given that a number."""
_NAMES_ALL_BUT_WHAT_IT_RUNS: Final = ((2, 4), (2, 6))
"""Between these, a cooperative thread names all that its process has on disk but does not run itself."""
_PINNED: Final = "1.1"
"""The newest value with which nobody is probed."""

_ABOUT: Final[Mapping[Obstacle, str]] = {
    Obstacle.FOREIGN_KEY_JOINS: "foreign-key joins",
    Obstacle.REPARTITIONING: "tables that are repartitioned",
}
_DOES_NOT: Final[Mapping[Fate, str]] = {
    Fate.IGNORED: "does not know",
    Fate.REFUSED: "does not accept",
    Fate.CRASHES: "does not start with",
}
_BUGS: Final[Mapping[str, str]] = {
    "2.4.0": "KAFKA-9335: 2.4.0 gives repartition topics that feed each other a wrong number of partitions, or fails; "
    "take 2.4.1",
}
"""What is known of a release that matters to whoever goes there."""


def notes(origin: Release, target: Release, plan: Plan) -> Iterator[str]:
    """Yield what there is to say about one hop, done by ``plan``, which may be offline although it could be rolled."""
    yield from (f"{release}: {release.note}" for release in (origin, target) if release.note)
    if target.name in _BUGS:
        yield _BUGS[target.name]
    if target.number < origin.number and origin.line != target.line and origin.of_kafka and target.of_kafka:
        yield from _of_state(origin, target)
    found = obstacles(origin, target)
    if documented_plan(origin, target) is Plan.OFFLINE:
        yield from _of_no_rolling(origin, target, found)
    if FORMATS.keys() & set(found):
        yield from _of_records(origin, target, plan, found)
    yield from _of_kafka_14646(origin, target, plan)
    if plan is not Plan.OFFLINE:
        yield from _of_tasks_without_state(origin, target)
        yield from _of_threads(origin, target)
    yield from _of_kafka_8649(origin, target, plan)


def _of_state(origin: Release, target: Release) -> Iterator[str]:
    """Warn of what an older release cannot read on disk."""
    changes = [why for since, why in _NEW_STORES.items() if target.number < since <= origin.number]
    if changes:
        yield (
            f"{target} cannot open the stores of {origin} ({'; '.join(changes)}): start each member with an empty "
            "state directory, and it restores from the changelogs"
        )
        return
    yield (
        f"going back: {target} may not be able to read the state that {origin} leaves on disk; a member with an empty "
        "state directory restores from the changelogs"
    )
    if target.number < _OFFSETS_IN_STORES <= origin.number:
        yield (
            f'{target} does not find the offsets of {origin}; with upgrade.from="{target.line}" set for a while before '
            f"that, {origin} writes .checkpoint files too (KIP-1035)"
        )


def _of_no_rolling(origin: Release, target: Release, found: Iterable[Obstacle]) -> Iterator[str]:
    """Say which release makes it roll after all."""
    behind, ahead = behind_and_ahead(origin, target)
    bridge = bridge_between(origin, target)
    if bridge:
        yield f"{bridge} is a bridge: through it the group can be rolled"
    elif not (goes_back(origin, target) and NOT_BACK.intersection(found)):
        outcome = ahead.accepts(behind.line)
        newer = (each for each in RELEASES.values() if each.released and each.number > ahead.number)
        fixed = next((str(each) for each in newer if each.starts_with(behind.line)), "")
        first = ", so bounce to it first" * (ahead == origin)
        yield (
            f'{ahead} {_DOES_NOT[outcome.fate]} upgrade.from="{behind.line}" ({outcome.exception or "KAFKA-6054"}), '
            "so it cannot be rolled" + f"; {fixed} does{first}" * bool(fixed)
        )


def _of_records(origin: Release, target: Release, plan: Plan, found: Iterable[Obstacle]) -> Iterator[str]:
    """Say for whom formats of records matter, and what becomes of records that are left."""
    documented = documented_plan(origin, target)
    if FORMATS.keys() >= set(found) and plan is documented:
        what = " and ".join(text for each, text in _ABOUT.items() if each in found)
        yield (
            f"{'two bounces are' if plan is Plan.TWO_BOUNCES else 'stopping is'} for {what}; a topology without them "
            f"needs one bounce to {target}, without upgrade.from"
        )
    if plan is Plan.OFFLINE and goes_back(origin, target):
        yield f"{target} cannot read the records that {origin} has left in topics of the group: process them all first"


def _of_kafka_14646(origin: Release, target: Release, plan: Plan) -> Iterator[str]:
    """Warn of members of 3.3 that get foreign-key joins as others write them, or as they write them when told to."""
    behind, ahead = behind_and_ahead(origin, target)
    value = upgrade_from_value(origin, target)
    behind_has_it, ahead_has_it = (each.number[:2] == _ONLY_NEW_JOINS for each in (behind, ahead))
    old_joins = value is not None and Effect.OLD_FOREIGN_KEY_JOINS in ahead.effects(value)
    has_joins = behind.number >= FORMATS[Obstacle.FOREIGN_KEY_JOINS][0]
    if not (old_joins and has_joins and (behind_has_it or ahead_has_it)):
        return
    fail = "KAFKA-14646: with foreign-key joins members of 3.3 fail on"
    if ahead_has_it and ahead == target:
        left = "that are left in its topics" if plan is Plan.OFFLINE else "even so"
        yield f"{fail} records of {behind} {left}; take 3.4.0 or later"
    elif plan is not Plan.OFFLINE:
        first = "bounce to 3.4 first" * ahead_has_it
        other = f'take upgrade.from="{_NEW_JOINS}"' + " and 3.5.2 or later" * (not ahead.starts_with(_NEW_JOINS))
        yield f'{fail} what {ahead} writes with upgrade.from="{value}"; {first or other}'


def _of_tasks_without_state(origin: Release, target: Release) -> Iterator[str]:
    """Warn of leaders that want to know how far behind everything is that a member names."""
    behind, ahead = behind_and_ahead(origin, target)
    since, until = _WANTS_LAGS
    if behind.of_kafka and behind.number < _NAMES_EVERYTHING and since <= ahead.number < until:
        yield (
            f"a leader of {ahead} dies of a task without state that a member of {behind} names (IllegalStateException: "
            "Tried to lookup lag for unknown task), if there are tasks with state as well; take 3.1.0 or later"
        )


def _of_threads(origin: Release, target: Release) -> Iterator[str]:
    """Warn of leaders that deal the threads of a process anything but what they run."""
    behind, ahead = behind_and_ahead(origin, target)
    since, until = _NAMES_ALL_BUT_WHAT_IT_RUNS
    if behind.of_kafka and ahead.of_kafka and since <= behind.number < until <= ahead.number:
        yield (
            f"with several threads in a process of {behind} and {ahead} leading, the group can rebalance without end "
            f"and leave tasks unprocessed until no member of {behind} is left: do not pause between the bounces"
        )


def _of_kafka_8649(origin: Release, target: Release, plan: Plan) -> Iterator[str]:
    """Warn of leaders that do not probe as they should, and of those that push others too far."""
    newer = max(origin, target, key=lambda release: release.latest_version)
    if newer.rules == KAFKA_8649_RULES and {origin.latest_version, target.latest_version} == {3, 4}:
        way = "" if plan is Plan.OFFLINE else "; take 2.2.2, 2.3.1 or 2.4 and later, or bounce the leader last"
        yield (
            f"KAFKA-8649: a leader of {newer} can push members of the older release beyond what they know, and they "
            f"die{way}"
        )
    probes = origin.rules == KAFKA_8649_RULES and origin.latest_version < target.latest_version
    if probes and plan is not Plan.OFFLINE:
        same = (each for each in RELEASES.values() if each.latest_version == origin.latest_version and each.released)
        fixed = next((each for each in same if each.number > origin.number and each.rules != KAFKA_8649_RULES), None)
        yield (
            f"with KAFKA-8649: while {origin} leads and probes, each thread of a process gets all of the process's "
            "tasks, and tasks of several topics or subtopologies come with wrong partitions, of which members die; "
            f'with upgrade.from="{_PINNED}" in a first bounce nobody is probed'
            + (f", and {fixed}, one bounce away, has the fix" if fixed else "")
        )
