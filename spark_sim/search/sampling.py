"""Random schedules with a seed, for groups that are too large to be explored.

A group of up to ``MAX_MEMBERS_FULL_SCHEDULE`` members performs the whole upgrade. A larger one performs a window of it:
it starts in the middle of a round, with some members upgraded, and the next few are bounced. Half of the schedules have
a crash. ``ScheduleClass`` and ``count_schedule_classes`` measure how much of the variety was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from random import Random
from string import ascii_uppercase
from typing import Final, NamedTuple

from attrs import evolve, frozen

from streams_assignor.spark_sim.model.scenario import Instance, Scenario, Step, make_step
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.search.schedules import crash_steps, make_schedule, restart_modes, upgrade_key
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.plans import Plan, Upgrade

MAX_MEMBERS: Final = 1_000
MAX_MEMBERS_FULL_SCHEDULE: Final = 12
WINDOW_SIZE: Final = 3
"""The members that are bounced in a window."""
PROGRESS_BUCKETS: Final = 10
MEMBERS_PER_BATCH: Final = 300
"""The members of all schedules of a batch together: a second of work, more if the members have many tasks."""
MIN_BATCH: Final = 10
"""Schedules of a batch of large groups: the repetition of one of them, which checks determinism, is a tenth more."""


class ScheduleClass(NamedTuple):
    """The features that distinguish schedules."""

    progress: tuple[int, int]
    """The round, and how many tenths of it are done at the start."""
    leader_upgraded: bool
    """Whether the first leader has done the round."""
    election_rule: str
    restart_mode: str
    has_crash: bool


class SampledSchedule(NamedTuple):
    """A schedule and its class."""

    schedule_class: ScheduleClass
    scenario: Scenario


@frozen
class SampleBatch:
    """Some of the schedules that are drawn for an upgrade. Workers draw them: the batch itself is small."""

    upgrade: Upgrade
    number: int
    count: int
    """How many schedules are drawn."""
    members: int = 3
    """How many members the group has."""
    seed: int = 0
    workload: Workload = DEFAULT_WORKLOAD

    @property
    def key(self) -> str:
        """The name of the batch, the same in every sweep with the same parameters."""
        return f"{upgrade_key(self.upgrade)}-{self.number:03}"

    @property
    def schedules(self) -> tuple[SampledSchedule, ...]:
        """The schedules, the same each time. In every second one, restarted processes have lost their state."""
        random = Random(f"{self.seed} {self.key}")
        names = member_names(self.members)
        kinds = self.workload, evolve(self.workload, ephemeral=True)
        return tuple(_sample_schedule(self.upgrade, names, random, kinds[number % 2]) for number in range(self.count))


def sample_schedules(
    upgrade: Upgrade, *, members: int = 3, seed: int = 0, count: int = 200, workload: Workload = DEFAULT_WORKLOAD
) -> Iterator[SampleBatch]:
    """Yield ``count`` random schedules of an upgrade, in batches.

    Raises:
        UpgradeError: ``members`` is out of range.
    """
    if not 1 <= members <= MAX_MEMBERS:
        raise UpgradeError(f"expected 1 to {MAX_MEMBERS} members, got {members}")
    size = max(MIN_BATCH, MEMBERS_PER_BATCH // members)
    for number, at in enumerate(range(0, count, size)):
        yield SampleBatch(upgrade, number, min(size, count - at), members, seed, workload)


def count_schedule_classes(upgrade: Upgrade, members: int) -> int:
    """Return how many schedule classes there are for a group of this size."""
    common = 2 * len(restart_modes(upgrade)) * 2  # Election rule, restart mode, with a crash or without.
    if members <= MAX_MEMBERS_FULL_SCHEDULE or upgrade.plan is Plan.OFFLINE:
        return common
    tenths = {_progress_bucket(done, members) for done in range(members - WINDOW_SIZE + 1)}
    # The first leader is upgraded or not; if no member is, it is not.
    return common * len(upgrade.rounds) * (2 * len(tenths))


def member_names(count: int) -> tuple[str, ...]:
    """Return names for members, as spreadsheets name columns.

    >>> member_names(28)[-4:]
    ('Y', 'Z', 'AA', 'AB')
    """
    names = ("".join(letters) for length in (1, 2, 3) for letters in product(ascii_uppercase, repeat=length))
    return tuple(islice(names, count))


def _sample_schedule(upgrade: Upgrade, names: Sequence[str], random: Random, workload: Workload) -> SampledSchedule:
    elects, mode = random.choice(("oldest", "newest")), random.choice(restart_modes(upgrade))
    whole = len(names) <= MAX_MEMBERS_FULL_SCHEDULE or upgrade.plan is Plan.OFFLINE
    draw = _full_schedule if whole else _window_schedule
    begins, leads_on, scenario = draw(upgrade, names, elects, mode, random)
    crashes = random.random() < 0.5
    if crashes:
        scenario = _with_random_crash(scenario, random)
    return SampledSchedule(ScheduleClass(begins, leads_on, elects, mode, crashes), evolve(scenario, workload=workload))


def _full_schedule(
    upgrade: Upgrade, names: Sequence[str], election_rule: str, mode: str, random: Random
) -> tuple[tuple[int, int], bool, Scenario]:
    order = tuple(random.sample(names, len(names)))
    return (0, 0), False, make_schedule(upgrade, random.choice(names), election_rule, mode, tuple(names), order)


def _window_schedule(
    upgrade: Upgrade, names: Sequence[str], election_rule: str, mode: str, random: Random
) -> tuple[tuple[int, int], bool, Scenario]:
    instances = [*map(Instance.of, upgrade.sequence)]
    round_ = random.randrange(len(upgrade.rounds))
    before, after = instances[round_], instances[round_ + 1]
    done = random.randint(0, len(names) - WINDOW_SIZE)
    leads_on = done > 0 and random.random() < 0.5
    order = random.sample(names, len(names))
    on, off = order[:done], order[done:]
    leader = on[0] if leads_on else off[0]
    members = ((leader, after if leads_on else before), *((n, after) for n in on), *((n, before) for n in off))
    steps = (
        Step("elect", mode=election_rule),
        *(make_step("bounce", name, instance=after, mode=mode) for name in off[:WINDOW_SIZE]),
    )
    return (round_, _progress_bucket(done, len(names))), leads_on, Scenario(tuple(dict(members).items()), steps)


def _progress_bucket(upgraded: int, members: int) -> int:
    return PROGRESS_BUCKETS * upgraded // members


def _with_random_crash(scenario: Scenario, random: Random) -> Scenario:
    place = random.randrange(1, len(scenario.steps) + 1)
    name = random.choice([name for name, _ in scenario.members])
    before, following = scenario.steps[:place], scenario.steps[place : place + 1]
    if following and following[0].verb == "start":  # It starts all members, which are stopped.
        return scenario
    middle = random.choice(list(crash_steps(name, following[0] if following else None)))
    return evolve(scenario, steps=(*before, *middle, *scenario.steps[place + 1 :]))
