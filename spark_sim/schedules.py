"""From an upgrade to all the ways it can go: bounce orders, leaders, slow and fast restarts, crashes.

The members are alike when it begins, so the first round is always in the order A, B, C: every other order is this one
with the names changed. What differs is counted out: who leads at the start (the others have joined in the order of the
round), whether the oldest or the newest takes over when the leader goes, whether a member is back before the group has
noticed, the order of the second round, and one crash with a restart, of any member, before, during or after any step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product

from spark_sim.scenario import MODES, Instance, Scenario, Step, step
from upgrade.matrix import Plan, Upgrade


def name_of(upgrade: Upgrade) -> str:
    """Name an upgrade, so that a file may have that name: ``1.1.1-to-2.0.1-two_bounces-1.1``."""
    value = f"-{upgrade.upgrade_from}" if upgrade.upgrade_from else ""
    return f"{upgrade.origin}-to-{upgrade.target}-{upgrade.plan.value}{value}"


def schedules(upgrade: Upgrade, names: Sequence[str]) -> Iterator[Scenario]:
    """Yield all schedules of an upgrade without faults, up to the names of the members."""
    orders = [tuple(names)] if len(upgrade.rounds) == 1 else list(permutations(names))
    for leader, elects, mode in product(names, ("oldest", "newest"), modes_of(upgrade)):
        for order in orders:
            yield scheduled(upgrade, leader, elects, mode, tuple(names), order)


def modes_of(upgrade: Upgrade) -> tuple[str, ...]:
    """List how restarts can go: slow or fast; with everybody stopped there is only slow."""
    return ("",) if upgrade.plan is Plan.OFFLINE else ("", "fast")


def scheduled(
    upgrade: Upgrade, leader: str, elects: str, mode: str, first: tuple[str, ...], second: tuple[str, ...]
) -> Scenario:
    """Return one schedule: who leads, who takes over, how restarts go, and the order of the first and second round."""
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
                for middle in crashes_at(name, following):
                    yield Scenario(schedule.members, (*before, *middle, *after))
        stopped = _stopped_after(stopped, following)


def spread(upgrade: Upgrade, names: Sequence[str], count: int) -> Iterator[Scenario]:
    """Yield so many of all schedules with at most one crash, evenly spread over them; all if there are no more.

    There are many thousands in a group of five, so only those are put together that are asked for. A crash has as many
    places in each of them, as they differ in who does what and in nothing else.
    """
    plain = list(schedules(upgrade, names)) if count else []
    places = sum(1 for _ in with_crashes(plain[0])) if count else 0
    every = len(plain) * places
    for number in range(min(count, every)):
        schedule, place = divmod(number * every // min(count, every), places)
        yield next(islice(with_crashes(plain[schedule]), place, None))


def crashes_at(name: str, following: Step | None) -> Iterator[tuple[Step, ...]]:
    """Yield the ways in which a member can crash around a step (None: at the end)."""
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
