"""Schedules drawn at random, with a seed: what is tried of groups that are too large to be explored.

A group of up to ``MOST_WHOLE`` members goes the whole way. A larger one is looked at through a window: it stands in the
middle of a round, some members on and the others not yet, and the next few are bounced. In either case every other
schedule has a crash. How much of the variety was drawn is said by ``kind_of`` and ``kinds_possible``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from random import Random
from string import ascii_uppercase
from typing import Final, NamedTuple

from attrs import evolve, frozen

from spark_sim.scenario import Instance, Scenario, Step, step
from spark_sim.schedules import crashes_at, modes_of, name_of, scheduled
from spark_sim.shape import NORMAL, Shape
from upgrade.errors import UpgradeError
from upgrade.matrix import Plan, Upgrade

MOST_MEMBERS: Final = 1_000
MOST_WHOLE: Final = 12
WINDOW: Final = 3
"""So many members are bounced of a group that is looked at through a window."""
TENTHS: Final = 10
MEMBERS_PER_BLOCK: Final = 300
"""A block has so many members in all its schedules together: a few seconds of work."""


class Kind(NamedTuple):
    """What distinguishes schedules: who leads at first, who takes over, how restarts go, where a crash comes.

    ``begins``: the round and the tenth of it that is done already; ``leads_on``: whether the first leader is.
    """

    begins: tuple[int, int]
    leads_on: bool
    elects: str
    mode: str
    crashes: bool


class Drawn(NamedTuple):
    """A schedule and its kind."""

    kind: Kind
    scenario: Scenario


@frozen
class Block:
    """A slice of the schedules that were drawn for one upgrade. ``key`` names it in every sweep."""

    upgrade: Upgrade
    number: int
    schedules: tuple[Drawn, ...]

    @property
    def key(self) -> str:
        """A name that is the same in every sweep with the same parameters."""
        return f"{name_of(self.upgrade)}-{self.number:03}"

    @property
    def members(self) -> int:
        """How many members its schedules have, all together: about what it costs."""
        return sum(len(each.scenario.members) for each in self.schedules)


def drawn(
    upgrade: Upgrade, *, members: int = 3, seed: int = 0, sample: int = 200, shape: Shape = NORMAL
) -> Iterator[Block]:
    """Draw ``sample`` schedules of an upgrade, in blocks."""
    if not 1 <= members <= MOST_MEMBERS:
        raise UpgradeError(f"expected 1 to {MOST_MEMBERS} members, got {members}")
    random = Random(f"{seed} {upgrade}")
    found = [_drawn(upgrade, names_of(members), random, shape) for _ in range(sample)]
    size = max(1, MEMBERS_PER_BLOCK // members)
    for number, at in enumerate(range(0, len(found), size)):
        yield Block(upgrade, number, tuple(found[at : at + size]))


def kinds_possible(upgrade: Upgrade, members: int) -> int:
    """Count the kinds of schedules that there are for a group of a size."""
    common = 2 * len(modes_of(upgrade)) * 2  # who takes over, how restarts go, with a crash or without
    if members <= MOST_WHOLE or upgrade.plan is Plan.OFFLINE:
        return common
    tenths = {_tenth(done, members) for done in range(members - WINDOW + 1)}
    # The first leader is on or not; when nobody is on yet, it is not.
    return common * len(upgrade.rounds) * (2 * len(tenths))


def names_of(count: int) -> tuple[str, ...]:
    """Name members as spreadsheets name columns.

    >>> names_of(28)[-4:]
    ('Y', 'Z', 'AA', 'AB')
    """
    names = ("".join(letters) for length in (1, 2, 3) for letters in product(ascii_uppercase, repeat=length))
    return tuple(islice(names, count))


def _drawn(upgrade: Upgrade, names: Sequence[str], random: Random, shape: Shape) -> Drawn:
    elects, mode = random.choice(("oldest", "newest")), random.choice(modes_of(upgrade))
    whole = len(names) <= MOST_WHOLE or upgrade.plan is Plan.OFFLINE
    draw = _whole if whole else _window
    begins, leads_on, scenario = draw(upgrade, names, elects, mode, random)
    crashes = random.random() < 0.5
    if crashes:
        scenario = _with_a_crash(scenario, random)
    return Drawn(Kind(begins, leads_on, elects, mode, crashes), evolve(scenario, shape=shape))


def _whole(
    upgrade: Upgrade, names: Sequence[str], elects: str, mode: str, random: Random
) -> tuple[tuple[int, int], bool, Scenario]:
    order = tuple(random.sample(names, len(names)))
    return (0, 0), False, scheduled(upgrade, random.choice(names), elects, mode, tuple(names), order)


def _window(
    upgrade: Upgrade, names: Sequence[str], elects: str, mode: str, random: Random
) -> tuple[tuple[int, int], bool, Scenario]:
    instances = [Instance(upgrade.origin), *(Instance(each.release, each.upgrade_from) for each in upgrade.rounds)]
    round_ = random.randrange(len(upgrade.rounds))
    before, after = instances[round_], instances[round_ + 1]
    done = random.randint(0, len(names) - WINDOW)
    leads_on = done > 0 and random.random() < 0.5
    order = random.sample(names, len(names))
    on, off = order[:done], order[done:]
    leader = on[0] if leads_on else off[0]
    members = ((leader, after if leads_on else before), *((n, after) for n in on), *((n, before) for n in off))
    steps = (Step("elect", mode=elects), *(step("bounce", name, to=after, mode=mode) for name in off[:WINDOW]))
    return (round_, _tenth(done, len(names))), leads_on, Scenario(tuple(dict(members).items()), steps)


def _tenth(done: int, members: int) -> int:
    return TENTHS * done // members


def _with_a_crash(scenario: Scenario, random: Random) -> Scenario:
    place = random.randrange(1, len(scenario.steps) + 1)
    name = random.choice([name for name, _ in scenario.members])
    before, following = scenario.steps[:place], scenario.steps[place : place + 1]
    if following and following[0].verb == "start":  # of all members, which are stopped
        return scenario
    middle = random.choice(list(crashes_at(name, following[0] if following else None)))
    return evolve(scenario, steps=(*before, *middle, *scenario.steps[place + 1 :]))
