"""One complete upgrade by `roll`, for the documentation: a group from 1.1 to 4.3, and its broker on the way.

``python -m tests.lab.integration.roll_transcript FOLDER`` runs it, and writes what the terminal showed and the reports.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.lab.integration.broker_rolls import Nodes
from tests.lab.integration.brokers import SETTINGS
from tests.lab.integration.clusters import OLDER, Cluster
from tests.lab.integration.peers import Group
from tests.lab.integration.rolls import SESSION_S, Load, Operator, RollProcess

OLD, NEW = "1.1.1", "4.3.1"
PODS = ("pod-1", "pod-2", "pod-3")
_INTERRUPTED = 130
_HAZARD = "- "
"""How a line of hazards begins: `plan` shows them, too, and there are 59."""
_COMMAND = (
    "streams-assignor roll billing --from 1.1.1 --to 4.3.1 --restart ./restart.sh --yes --accept-no-way-back "
    "--report report.md"
)
_FOR_BROKERS = (
    "streams-assignor roll --brokers --to 4.3.1 --restart ./restart-broker.sh --yes --accept-no-way-back "
    "--report brokers.md"
)


class Transcript:
    """What a terminal showed, with names that readers expect."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.lines: list[str] = []

    def run(
        self, command: str, arguments: list[str], status: int, meanwhile: Callable[[RollProcess], None] | None = None
    ) -> None:
        """Run ``roll``, and add command and output; ``meanwhile`` may act on it."""
        process = RollProcess(*arguments)
        if meanwhile:
            meanwhile(process)
        ended = process.wait()
        print(*process.lines, sep="\n", flush=True)
        assert status == ended, ended
        shown = [self.renamed(line) for line in process.lines if not line.startswith(_HAZARD)]
        self.lines += [f"$ {command}", *shown, f"(exit status {ended})", ""]

    def renamed(self, text: str) -> str:
        """Return a text with the names of the documentation."""
        for name, shown in self._names.items():
            text = text.replace(name, shown)
        return text


def main(out: Path) -> None:
    """Run it, and write the files."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(Cluster(folder / "kafka", others=0))
        cluster.start(1, OLDER, settings=SETTINGS)
        group = stack.enter_context(Group(cluster.brokers, "persistent", folder))
        operator = stack.enter_context(Operator(group, folder))
        nodes = stack.enter_context(Nodes(cluster, SETTINGS))
        for pod in PODS:
            operator.start(pod, OLD)
        group.settle()
        names = {
            group.topics.application: "billing",
            cluster.brokers: "localhost:9092",
            f"{folder}/": "",
            sys.executable: "python",
        }
        transcript = Transcript(names)
        common = ["--bootstrap-servers", cluster.brokers, "--yes", "--accept-no-way-back"]
        of_group = [
            group.topics.application,
            "--from",
            OLD,
            "--to",
            NEW,
            "--restart",
            operator.template,
            *common,
            "--report",
        ]
        of_group += [f"{folder}/report.md", "--journal", f"{folder}/billing-to-4.3.1.roll.jsonl"]
        of_group += ["--session-timeout", f"{SESSION_S}s"]
        of_brokers = ["--brokers", "--to", NEW, "--restart", nodes.operator.template, *common, "--report"]
        of_brokers += [f"{folder}/brokers.md", "--journal", f"{folder}/brokers-to-4.3.1.roll.jsonl"]
        with Load(group):
            transcript.run(_COMMAND, of_group, _INTERRUPTED, _interrupt_in_step(2 * len(PODS)))
            transcript.run(_FOR_BROKERS, of_brokers, 0)
            transcript.run(_COMMAND, of_group, 0)
        group.settle()
        lost, duplicated = _when_all_are_counted(group)
        assert lost == 0, lost
        transcript.lines.append(
            f"# {group.sent:,} records of each of 6 keys were sent meanwhile: {lost} lost, {duplicated} counted twice"
        )
        out.mkdir(exist_ok=True)
        (out / "1.1-to-4.3.txt").write_text("\n".join(transcript.lines) + "\n")
        for page in ("report", "brokers"):
            (out / f"1.1-to-4.3-{page}.txt").write_text(transcript.renamed((folder / f"{page}.md").read_text()))


def _interrupt_in_step(number: int) -> Callable[[RollProcess], None]:
    """Return what presses Ctrl-C as soon as the command of a step runs."""

    def interrupt(process: RollProcess) -> None:
        process.until(f"step {number}: restart ")
        process.signal(signal.SIGINT)

    return interrupt


def _when_all_are_counted(group: Group) -> tuple[int, int]:
    """Wait until all that was sent is counted."""
    group.eventually(lambda: group.lost_and_duplicated()[0] == 0, lambda: str(group.lost_and_duplicated()))
    return group.lost_and_duplicated()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
