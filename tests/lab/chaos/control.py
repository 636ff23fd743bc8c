"""Our adapters and plain consumers beside each other, under the same network cuts: whose memory grows?

    python -m tests.lab.chaos.control FOLDER [--minutes 10] [--fault node-kill]
    python -m tests.lab.chaos.plot_resources FOLDER/resources.csv tests/lab/chaos/chaos-control.svg

Four groups of two members read the same topic: kafka-python and aiokafka with our assignor, and with their own. One
member of each group loses its network for longer than the session, then the other one; or the brokers are killed in
turn. Workers count the blocks that Python has allocated before and after the faults: a leak has more, fragmentation has
not. At the end they call ``malloc_trim(0)``. Needs Linux and root.
"""

from __future__ import annotations

import argparse
import queue
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.lab.chaos.cluster import LoadGenerator, ThreeNodes
from tests.lab.chaos.fault_schedule import NEW_VERSION, NODES, SESSION_EXPIRED_SECONDS, SESSION_SECONDS
from tests.lab.chaos.members import Worker, WorkerOutput
from tests.lab.chaos.network import Network
from tests.lab.chaos.resources import EVERY_SECONDS, ResourceSampler, Sample, read_samples
from tests.lab.chaos.worker_events import WorkerSettings

GROUPS: Final[Mapping[str, str]] = {
    "kafka-python": "AB",
    "kafka-python-plain": "CD",
    "aiokafka": "EF",
    "aiokafka-plain": "GH",
}
"""The kind of the workers of each group, and its two members."""

_TOPIC, _PARTITIONS, _PER_SECOND = "control", 8, 160
_WARM_UP_SECONDS: Final = 60.0
_BETWEEN_SECONDS: Final = 6.0  # a member has rejoined and reads by then
_NODE_SECONDS: Final = 2.0
_TRIMMED_SECONDS: Final = 3 * EVERY_SECONDS


class ControlRun:
    """The workers of all groups; the network of one member of each group is cut at a time."""

    def __init__(self, folder: Path, network: Network, brokers: str) -> None:
        self._network, self._received = network, queue.SimpleQueue[WorkerOutput]()
        self.workers = {
            name: self._start(folder, brokers, kind, name) for kind, members in GROUPS.items() for name in members
        }
        self.heaps: dict[str, list[Mapping[str, int]]] = {name: [] for name in self.workers}

    def processes(self) -> list[tuple[str, str, int, int]]:
        return [(name, one.settings.kind, 1, one.pid) for name, one in self.workers.items() if not one.ended]

    def cut_all(self, place: int) -> None:
        """Cut the first or the second member of each group, and mend it when its session is over."""
        names = [members[place] for members in GROUPS.values()]
        for name in names:
            self._network.cut(name)
        time.sleep(SESSION_EXPIRED_SECONDS)
        for name in names:
            self._network.mend(name)
        time.sleep(_BETWEEN_SECONDS)
        self.listen()

    def kill_node(self, nodes: ThreeNodes, number: int) -> None:
        """Kill a broker and start it again."""
        nodes.kill(number)
        time.sleep(_NODE_SECONDS)
        nodes.restart(number)
        nodes.wait(number)
        time.sleep(_BETWEEN_SECONDS)
        self.listen()

    def listen(self) -> None:
        while not self._received.empty():
            output = self._received.get()
            match output.event:
                case {"event": "heap"} as heap:
                    self.heaps[output.name].append(heap)
                case None | {"event": "failed"}:
                    raise RuntimeError(f"{output.name} ended: {output.event}")

    def command(self, words: str) -> None:
        for worker in self.workers.values():
            worker.send_command(words)
        time.sleep(_TRIMMED_SECONDS)
        self.listen()

    def stop(self) -> None:
        for worker in self.workers.values():
            worker.request_stop()
        for worker in self.workers.values():
            worker.stop()

    def _start(self, folder: Path, brokers: str, kind: str, name: str) -> Worker:
        settings = WorkerSettings(
            kind=kind,
            bootstrap_servers=brokers,
            group=kind,
            topic=_TOPIC,
            output=_TOPIC,
            name=name,
            session_ms=int(SESSION_SECONDS * 1000),
            release=NEW_VERSION.release,
        )
        return Worker(settings, 1, self._received, folder / f"{name}.log", self._network.inside(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--fault", choices=["cut", "node-kill"], default="cut")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    path = options.folder / "resources.csv"
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        nodes = stack.enter_context(ThreeNodes(options.folder / "nodes", network.host))
        nodes.start_all()
        nodes.create(**{_TOPIC: _PARTITIONS})
        flow = LoadGenerator(nodes.brokers, _TOPIC, _PARTITIONS, _PER_SECOND)
        stack.callback(flow.stop)
        run = ControlRun(options.folder, network, nodes.brokers)
        stack.callback(run.stop)
        sampler = ResourceSampler(path, run.processes)
        with sampler:
            time.sleep(_WARM_UP_SECONDS)
            run.command("heap")
            begun, faults = time.monotonic(), 0
            while time.monotonic() < begun + 60 * options.minutes:
                if options.fault == "cut":
                    run.cut_all(faults % 2)
                else:
                    run.kill_node(nodes, faults % NODES + 1)
                faults += 1
            run.command("heap")
            ended = time.monotonic() - sampler.begun
            run.command("trim")
    print(f"{faults} faults ({options.fault})")
    print("\n".join(table(read_samples(path), ended, run.heaps)))


def table(samples: Sequence[Sample], trimmed_at: float, heaps: Mapping[str, Sequence[Mapping[str, int]]]) -> list[str]:
    """Return the rows of the table of chaos.md; memory before the cuts, after them, and after the trim."""
    rows = ["| member | before | most | after the cuts | after the trim | blocks of Python, before and after |"]
    rows.append("|---|---:|---:|---:|---:|---:|")
    for name in sorted({sample.member for sample in samples}):
        lived = [sample for sample in samples if sample.member == name and sample.seconds > _WARM_UP_SECONDS / 2]
        early = [sample.memory_mb for sample in lived if sample.seconds < _WARM_UP_SECONDS]
        cut = [sample.memory_mb for sample in lived if _WARM_UP_SECONDS < sample.seconds < trimmed_at]
        late = [sample.memory_mb for sample in lived if sample.seconds > trimmed_at]
        figures = [statistics.median(early), max(cut), cut[-1], late[-1]]
        blocks = " to ".join(f"{heap['blocks']:,}" for heap in heaps[name])
        rows.append(f"| {name}: {lived[0].worker} | {' | '.join(f'{figure:.1f}' for figure in figures)} | {blocks} |")
    return rows


if __name__ == "__main__":
    main()
