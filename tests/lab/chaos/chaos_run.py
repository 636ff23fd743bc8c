"""From a seed to an outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from string import ascii_uppercase

from tests.lab.chaos.fault_schedule import (
    ENDS_A_PROCESS,
    FAULT_KINDS,
    NEEDS_STATIC,
    NEW_VERSION,
    OF_A_LEADER,
    OLD_VERSION,
    ROLL_FAULT_KINDS,
    MemberVersion,
    draw_schedule,
    draw_soak,
)
from tests.lab.chaos.faults import inject_fault
from tests.lab.chaos.network import Network, NetworkUnavailable
from tests.lab.chaos.outcome import ChaosSettings, Outcome
from tests.lab.chaos.rolling import ROLL, Rolling
from tests.lab.chaos.run import Chaos, StabilizationTimeout
from tests.lab.chaos.wall_clock import NoClocks, library
from tests.lab.integration.clusters import NEWEST

_ENDS_SOME_MEMBER = ("dying-leader", "slow")  # they kill the leader, or bounce a member that does not lead


def run_chaos(
    seed: int,
    folder: Path,
    *,
    faults: int | None = None,
    kinds: Collection[str] = (),
    worker: str = "kafka-python",
    members: int = 3,
    partitions: int = 6,
    per_second: int = 300,
    broker: str = NEWEST,
    java: str | None = None,
    java_members: int = 1,
    roll: str | None = None,
    protocol: str = "classic",
    static: int = 0,
    minutes: float = 0.0,
    log: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Run the course of a seed; what this machine cannot do is left out, and named in the outcome.

    With ``minutes`` it is not an upgrade: faults go on for so long, with a rest after each, and only the processes of
    ``static`` members end. The others live long enough to see whether their memory grows. With ``roll``, a release,
    `streams-assignor roll` upgrades all members from it to that of ``java``; the faults happen around its restarts.
    """
    names = ascii_uppercase[:members]
    with ExitStack() as stack:
        skipped, network = [], None
        try:
            network = stack.enter_context(Network())
        except NetworkUnavailable as why:
            skipped.append(f"cut, cut-leader, roll-cut: {why}")
        clocks = True
        try:
            library()
        except NoClocks as why:
            clocks = False
            skipped.append(f"clock, node-clock, roll-clock: {why}")
        able = [
            kind
            for kind in kinds or (FAULT_KINDS | ROLL_FAULT_KINDS if roll else FAULT_KINDS)
            if (network or "cut" not in kind) and (clocks or "clock" not in kind) and (static or kind != NEEDS_STATIC)
            if protocol == "classic" or kind not in OF_A_LEADER
        ]
        soaking = [kind for kind in able if kind not in _ENDS_SOME_MEMBER and (static or kind not in ENDS_A_PROCESS)]
        settings = ChaosSettings(
            seed=seed,
            steps=()
            if minutes or roll
            else draw_schedule(seed, names, len(able) if faults is None else faults, able, names[:static]),
            begin=MemberVersion(roll) if roll else NEW_VERSION if minutes else OLD_VERSION,
            roll=bool(roll),
            protocol=protocol,
            static=static,
            minutes=minutes,
            worker=worker,
            members=tuple(names),
            partitions=partitions,
            per_second=per_second,
            broker=broker,
            java=java,
            java_count=java_members,
        )
        beside = f" beside {java_members} of Kafka Streams {java}" if java else ""
        log(f"seed {seed}, {worker}{beside}, brokers {broker}; logs in {folder}")
        chaos = stack.enter_context(Chaos(settings, folder, log))
        results, stuck, rolled = [], None, None
        try:
            chaos.build(network, clocks=clocks, others=[ROLL] if roll else ())
            if roll:
                rolled = Rolling(chaos, len(able) if faults is None else faults, able, folder).run()
                chaos.wait_until_stable()
            results.extend(chaos.step(step, inject_fault) for step in settings.steps)
            end = chaos.seconds + 60 * minutes
            for step in draw_soak(seed, names, names[:static], soaking) if soaking else ():
                if chaos.seconds >= end:
                    break
                results.append(chaos.step(step, inject_fault))
                chaos.rest()
        except StabilizationTimeout as error:
            stuck = str(error)
        return chaos.finish(results, stuck, skipped, rolled)
