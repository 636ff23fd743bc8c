"""From a seed to an outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from string import ascii_uppercase

from tests.chaos.course import KINDS, course
from tests.chaos.faults import strike
from tests.chaos.network import Network, NoNetwork
from tests.chaos.outcome import ChaosSettings, Outcome
from tests.chaos.run import Chaos, Stuck
from tests.integration.clusters import NEWEST


def whole_run(
    seed: int,
    folder: Path,
    *,
    faults: int = 12,
    kinds: Collection[str] = (),
    worker: str = "kafka-python",
    members: int = 3,
    partitions: int = 6,
    per_second: int = 300,
    broker: str = NEWEST,
    say: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Run the course of a seed; what this machine cannot do is left out, and named in the outcome."""
    names = ascii_uppercase[:members]
    with ExitStack() as stack:
        skipped, network = [], None
        try:
            network = stack.enter_context(Network())
        except NoNetwork as why:
            skipped.append(f"cut, cut-leader: {why}")
        able = [kind for kind in kinds or KINDS if network or kind not in {"cut", "cut-leader"}]
        settings = ChaosSettings(
            seed=seed,
            steps=course(seed, names, faults, able),
            worker=worker,
            members=tuple(names),
            partitions=partitions,
            per_second=per_second,
            broker=broker,
        )
        say(f"seed {seed}, {worker}, brokers {broker}; logs in {folder}")
        chaos = stack.enter_context(Chaos(settings, folder, say))
        results, stuck = [], None
        try:
            chaos.build(network)
            results.extend(chaos.step(step, strike) for step in settings.steps)
        except Stuck as error:
            stuck = str(error)
        return chaos.finish(results, stuck, skipped)
