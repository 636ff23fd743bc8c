"""Commands in children of a process that has imported them already: their status, output, memory and time."""

import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path

from attrs import frozen

SECONDS = 120
"""After which a command hangs; each has its own limit of at most ten."""
PRELOADED = [
    "streams_assignor.groups.describe.confluent.offsets_topic",
    "streams_assignor.groups.describe.kafka_python.group_lookup",
    "streams_assignor.cli.group.command",
    "streams_assignor.spark_sim.audit.report",
    "streams_assignor.spark_sim.audit.job",
    "streams_assignor.cli.audit.command",
    "streams_assignor.cli.features",
]


def run_command(arguments: list[str], folder: str) -> None:
    """Run the console script in this process, with its output in files."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    sys.argv = ["streams-assignor", *arguments]
    from streams_assignor.cli.main import main

    try:
        main()
    finally:
        Path(folder, "most").write_text(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10))


@frozen
class Run:
    """What came of a command."""

    status: int | None
    """None if it was ended because it hangs."""
    stdout: str
    stderr: str
    most: int
    """Bytes of memory."""
    seconds: float


def run_once(arguments: list[str], folder: Path) -> Run:
    """Run a command in a child of a process that has imported it already."""
    folder.mkdir(exist_ok=True)
    (folder / "most").write_text("0")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    child = context.Process(target=run_command, args=(arguments, str(folder)))
    began = time.monotonic()
    child.start()
    child.join(SECONDS)
    status = child.exitcode
    if status is None:
        child.kill()
        child.join()
    stdout, stderr = ((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    return Run(status, stdout, stderr, int((folder / "most").read_text()), time.monotonic() - began)
