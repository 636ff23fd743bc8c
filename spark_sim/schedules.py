"""From an upgrade to all the ways it can go: bounce orders, leaders, slow and fast restarts, crashes.

The members are alike when it begins, so the first round is always in the order A, B, C: every other order is this one
with the names changed. What differs is counted out: who leads at the start (the others have joined in the order of the
round), whether the oldest or the newest takes over when the leader goes, whether a member is back before the group has
noticed, the order of the second round, and one crash with a restart, of any member, before, during or after any step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from random import Random
from string import ascii_uppercase
from typing import Final

from attrs import frozen

from spark_sim.scenario import MODES, Instance, Scenario, Step, step
from upgrade.errors import UpgradeError
from upgrade.matrix import Plan, Upgrade

RUNS_PER_BLOCK: Final = 1500
"""About two seconds of work: long enough to pay for a task of Spark, short enough to lose when killed."""
MOST_EXHAUSTIVE: Final = 4
"""Up to this many members all schedules are tried; larger groups are sampled."""
DEFAULT_SAMPLE: Final = 200


@frozen
class Block:
    """A slice of the schedules of one upgrade: what one task works on. ``key`` names it in every run."""

    upgrade: Upgrade
    number: int
    schedules: tuple[Scenario, ...]

    @property
    def key(self) -> str:
        """A name that is the same in every sweep with the same parameters."""
        upgrade = self.upgrade
        return f"{upgrade.origin}-to-{upgrade.target}-{upgrade.plan.value}-{self.number:03}"

    @property
    def cost(self) -> int:
        """About how many runs it makes."""
        return sum(len(list(with_crashes(schedule))) for schedule in self.schedules)

    def scenarios(self) -> Iterator[Scenario]:
        """Yield every run of the block: each schedule as it is, and with one crash."""
        for schedule in self.schedules:
            yield from with_crashes(schedule)


def blocks(upgrades: Iterable[Upgrade], *, members: int = 3, seed: int = 0, sample: int | None = None) -> list[Block]:
    """Cut all schedules of some upgrades into blocks.

    With more than ``MOST_EXHAUSTIVE`` members, or if ``sample`` is given, ``sample`` schedules of each upgrade are
    drawn with ``seed`` instead of trying all.
    """
    if not 1 <= members <= len(ascii_uppercase):
        raise UpgradeError(f"expected 1 to {len(ascii_uppercase)} members, got {members}")
    if members > MOST_EXHAUSTIVE and sample is None:
        sample = DEFAULT_SAMPLE
    return [block for upgrade in upgrades for block in _cut(upgrade, members, seed, sample)]


def _cut(upgrade: Upgrade, members: int, seed: int, sample: int | None) -> Iterator[Block]:
    if sample is None:
        found = schedules(upgrade, ascii_uppercase[:members])
    else:
        found = sampled(upgrade, ascii_uppercase[:members], Random(f"{seed} {upgrade}"), sample)
    number, waiting, runs = 0, list[Scenario](), 0
    for schedule in found:
        waiting.append(schedule)
        runs += sum(1 for _ in with_crashes(schedule))
        if runs >= RUNS_PER_BLOCK:
            yield Block(upgrade, number, tuple(waiting))
            number, waiting, runs = number + 1, [], 0
    if waiting:
        yield Block(upgrade, number, tuple(waiting))


def schedules(upgrade: Upgrade, names: Sequence[str]) -> Iterator[Scenario]:
    """Yield all schedules of an upgrade without faults, up to the names of the members."""
    orders = [tuple(names)] if len(upgrade.rounds) == 1 else list(permutations(names))
    for leader, elects, mode in product(names, ("oldest", "newest"), _modes(upgrade)):
        for order in orders:
            yield _schedule(upgrade, leader, elects, mode, tuple(names), order)


def sampled(upgrade: Upgrade, names: Sequence[str], random: Random, count: int) -> Iterator[Scenario]:
    """Yield ``count`` schedules of an upgrade, drawn at random."""
    for _ in range(count):
        leader, elects, mode = random.choice(names), random.choice(("oldest", "newest")), random.choice(_modes(upgrade))
        order = tuple(random.sample(names, len(names)))
        yield _schedule(upgrade, leader, elects, mode, tuple(names), order)


def _modes(upgrade: Upgrade) -> tuple[str, ...]:
    return ("",) if upgrade.plan is Plan.OFFLINE else ("", "fast")


def _schedule(
    upgrade: Upgrade, leader: str, elects: str, mode: str, first: tuple[str, ...], second: tuple[str, ...]
) -> Scenario:
    before = Instance(upgrade.origin)
    joining = (leader, *(name for name in first if name != leader))
    members = tuple((name, before) for name in joining)
    if upgrade.plan is Plan.OFFLINE:
        after = Instance(upgrade.target)
        return Scenario(members, (Step("elect", mode=elects), step("stop", *first), step("start", *first, to=after)))
    bounces = [
        step("bounce", name, to=Instance(each.release, each.upgrade_from), mode=mode)
        for each, order in zip(upgrade.rounds, (first, second), strict=False)
        for name in order
    ]
    return Scenario(members, (Step("elect", mode=elects), *bounces))


def with_crashes(schedule: Scenario) -> Iterator[Scenario]:
    """Yield a schedule as it is, and then with one member crashing at one place and coming back.

    It crashes before a step or after the last one and comes back at once, or after that step; or it crashes in the
    middle of the first or the second rebalance that the step causes. Members that are stopped cannot crash.
    """
    yield schedule
    names = [name for name, _ in schedule.members]
    stopped: set[str] = set()
    for place, following in enumerate((*schedule.steps, None)):
        if following is not None and following.verb == "elect":
            continue
        before, after = schedule.steps[:place], schedule.steps[place + 1 :]
        for name in names:
            if name not in stopped:
                for middle in _crashes(name, following):
                    yield Scenario(schedule.members, (*before, *middle, *after))
        stopped = _stopped_after(stopped, following)


def _crashes(name: str, following: Step | None) -> Iterator[tuple[Step, ...]]:
    crash, start = step("crash", name), step("start", name)
    if following is None:
        yield crash, start
        return
    yield crash, start, following
    if name in dict(following.members):
        yield crash, following
    else:
        yield crash, following, start
        for mode in MODES["crash"]:
            yield step("crash", name, mode=mode), following, start


def _stopped_after(stopped: set[str], following: Step | None) -> set[str]:
    if following is None or following.verb not in {"stop", "start"}:
        return stopped
    names = set(dict(following.members))
    return stopped | names if following.verb == "stop" else stopped - names
