"""All schedules of an upgrade: orders of bounces, leaders, slow and fast restarts, and one crash.

The members bounce in the first round in the order of their names; other orders are the same schedules with the names
changed. The differences are enumerated: the first leader (the others join in the order of the round), whether the
oldest or the newest member is elected next, whether a member restarts within its session timeout, the order of the
second round, and one crash with a restart, of any member, before, during or after any step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product

from streams_assignor.spark_sim.model.scenario import VERBS, Instance, Scenario, Step, make_step
from streams_assignor.upgrade.plans import Plan, Upgrade


def upgrade_key(upgrade: Upgrade) -> str:
    """Return the name of an upgrade, which is also a file name: ``1.1.1-to-2.0.1-two_bounces-1.1``."""
    value = f"-{upgrade.upgrade_from}" if upgrade.upgrade_from else ""
    return f"{upgrade.origin}-to-{upgrade.target}-{upgrade.plan.value}{value}"


def upgrade_schedules(upgrade: Upgrade, names: Sequence[str]) -> Iterator[Scenario]:
    """Yield all schedules of an upgrade without faults, up to the names of the members."""
    orders = [tuple(names)] if len(upgrade.rounds) == 1 else list(permutations(names))
    for leader, elects, mode in product(names, ("oldest", "newest"), restart_modes(upgrade)):
        for order in orders:
            yield make_schedule(upgrade, leader, elects, mode, tuple(names), order)


def restart_modes(upgrade: Upgrade) -> tuple[str, ...]:
    """Return the modes of restarts: slow or fast; offline upgrades have slow ones only."""
    return ("",) if upgrade.plan is Plan.OFFLINE else ("", "fast")


def make_schedule(
    upgrade: Upgrade,
    leader: str,
    election_rule: str,
    restart_mode: str,
    first_round: tuple[str, ...],
    second_round: tuple[str, ...],
) -> Scenario:
    """Return one schedule: first leader, election rule, restart mode, and the orders of the two rounds."""
    before = Instance(upgrade.origin)
    joining = (leader, *(name for name in first_round if name != leader))
    members = tuple((name, before) for name in joining)
    if upgrade.plan is Plan.OFFLINE:
        after = Instance(upgrade.target)
        return Scenario(
            members,
            (
                Step("elect", mode=election_rule),
                make_step("stop", *first_round),
                make_step("start", *first_round, instance=after),
            ),
        )
    bounces = [
        make_step("bounce", name, instance=Instance.of(round_), mode=restart_mode)
        for round_, order in zip(upgrade.rounds, (first_round, second_round), strict=False)
        for name in order
    ]
    return Scenario(members, (Step("elect", mode=election_rule), *bounces))


def crash_variants(schedule: Scenario) -> Iterator[Scenario]:
    """Yield a schedule as it is, and then with one member that crashes at one place and is restarted.

    It crashes before a step or after the last one, and is restarted at once or after that step; or it crashes during
    the first or second rebalance that the step causes. Stopped members cannot crash.
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
                for middle in crash_steps(name, following):
                    yield Scenario(schedule.members, (*before, *middle, *after))
        stopped = _stopped_after(stopped, following)


def spread_schedules(upgrade: Upgrade, names: Sequence[str], count: int) -> Iterator[Scenario]:
    """Yield ``count`` schedules with at most one crash, evenly spread over all; all if there are no more.

    A group of five has many thousands, so only those that are yielded are made. Every schedule has the same number of
    places for a crash, as schedules differ only in which member acts.
    """
    plain = list(upgrade_schedules(upgrade, names)) if count else []
    places = sum(1 for _ in crash_variants(plain[0])) if count else 0
    every = len(plain) * places
    for number in range(min(count, every)):
        schedule, place = divmod(number * every // min(count, every), places)
        yield next(islice(crash_variants(plain[schedule]), place, None))


def crash_steps(name: str, next_step: Step | None) -> Iterator[tuple[Step, ...]]:
    """Yield the ways in which a member can crash around a step (None: after the last step)."""
    crash, start = make_step("crash", name), make_step("start", name)
    if next_step is None:
        yield crash, start
        return
    yield crash, start, next_step
    if name in dict(next_step.members):
        yield crash, next_step
    else:
        yield crash, next_step, start
        for mode in VERBS["crash"].modes:
            yield make_step("crash", name, mode=mode), next_step, start


def _stopped_after(stopped: set[str], next_step: Step | None) -> set[str]:
    if next_step is None or next_step.verb not in {"stop", "start"}:
        return stopped
    names = set(dict(next_step.members))
    return stopped | names if next_step.verb == "stop" else stopped - names
