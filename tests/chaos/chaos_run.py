"""From a seed to an outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from string import ascii_uppercase

from tests.chaos.fault_schedule import FAULT_KINDS, draw_schedule
from tests.chaos.faults import inject_fault
from tests.chaos.network import Network, NetworkUnavailable
from tests.chaos.outcome import ChaosSettings, Outcome
from tests.chaos.run import Chaos, StabilizationTimeout
from tests.chaos.wall_clock import NoClocks, library
from tests.integration.clusters import NEWEST


def run_chaos(
    seed: int,
    folder: Path,
    *,
    faults: int = len(FAULT_KINDS),
    kinds: Collection[str] = (),
    worker: str = "kafka-python",
    members: int = 3,
    partitions: int = 6,
    per_second: int = 300,
    broker: str = NEWEST,
    java: str | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Run the course of a seed; what this machine cannot do is left out, and named in the outcome."""
    names = ascii_uppercase[:members]
    with ExitStack() as stack:
        skipped, network = [], None
        try:
            network = stack.enter_context(Network())
        except NetworkUnavailable as why:
            skipped.append(f"cut, cut-leader: {why}")
        clocks = True
        try:
            library()
        except NoClocks as why:
            clocks = False
            skipped.append(f"clock, node-clock: {why}")
        able = [
            kind for kind in kinds or FAULT_KINDS if (network or "cut" not in kind) and (clocks or "clock" not in kind)
        ]
        settings = ChaosSettings(
            seed=seed,
            steps=draw_schedule(seed, names, faults, able),
            worker=worker,
            members=tuple(names),
            partitions=partitions,
            per_second=per_second,
            broker=broker,
            java=java,
        )
        beside = f" beside Kafka Streams {java}" if java else ""
        log(f"seed {seed}, {worker}{beside}, brokers {broker}; logs in {folder}")
        chaos = stack.enter_context(Chaos(settings, folder, log))
        results, stuck = [], None
        try:
            chaos.build(network, clocks=clocks)
            results.extend(chaos.step(step, inject_fault) for step in settings.steps)
        except StabilizationTimeout as error:
            stuck = str(error)
        return chaos.finish(results, stuck, skipped)
