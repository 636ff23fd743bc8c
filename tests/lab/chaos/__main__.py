"""``python -m tests.lab.chaos``: runs, one seed after the other, and a table of what became of the records."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tests.lab.chaos.chaos_run import run_chaos
from tests.lab.chaos.fault_schedule import FAULT_KINDS, ROLL_FAULT_KINDS
from tests.lab.chaos.report import as_json, table
from tests.lab.chaos.worker import OF_STREAMS_GROUPS
from tests.lab.chaos.worker import WORKER_MODULES as WORKERS
from tests.lab.integration.clusters import NEWEST, OLDER


@click.command
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed is the same course of faults.")
@click.option(
    "--runs", type=click.IntRange(1), default=1, show_default=True, help="This many, each with the next seed."
)
@click.option("--faults", type=click.IntRange(0), help="So many; as many as there are kinds without it.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([*FAULT_KINDS, *ROLL_FAULT_KINDS]),
    help="Only these faults; may be repeated.",
)
@click.option(
    "--worker",
    "workers",
    multiple=True,
    type=click.Choice([*WORKERS]),
    default=["kafka-python"],
    show_default=True,
    help="May be repeated: the members take them in turn.",
)
@click.option("--members", type=click.IntRange(2, 26), default=3, show_default=True)
@click.option("--partitions", type=click.IntRange(1), default=6, show_default=True)
@click.option("--records-per-second", "per_second", type=click.IntRange(1), default=300, show_default=True)
@click.option("--broker", type=click.Choice(["4.4.0", NEWEST, OLDER]), default=NEWEST, show_default=True)
@click.option(
    "--java",
    type=click.Choice(["4.4.0", NEWEST, OLDER]),
    help="The last member is Kafka Streams, upgraded to this release while the others are.",
)
@click.option(
    "--java-members", type=click.IntRange(1), default=1, show_default=True, help="So many of the last members are it."
)
@click.option(
    "--roll",
    metavar="RELEASE",
    help="`streams-assignor roll` upgrades all members, from this release to that of --java, while faults happen.",
)
@click.option(
    "--protocol",
    type=click.Choice(["classic", "streams"]),
    default="classic",
    show_default=True,
    help="streams: brokers assign; with --roll all members are in --java-members, with --minutes they need not be.",
)
@click.option("--static", type=click.IntRange(0), default=0, help="So many members have a group.instance.id.")
@click.option("--minutes", type=click.FloatRange(0), default=0.0, help="Faults for so long, and no upgrade.")
@click.option("--keep", type=click.Path(path_type=Path), help="Leave the logs of members and nodes in this folder.")
@click.option("--json", "json_lines", is_flag=True, help="Print one JSON object for each run, instead of the table.")
def main(seed: int, runs: int, workers: Sequence[str], keep: Path | None, json_lines: bool, **how: Any) -> None:
    """Upgrade a group under load on three brokers while members, brokers, network and clocks fail.

    Exit status 1 if a record was lost (or doubled, with exactly-once), a member died of itself, or a group got stuck;
    with --roll also if it has not finished, has repeated a restart unasked, or reports what no fault explains.
    """
    _check(workers=workers, **how)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that blocks end and nothing is left running
    outcomes = []
    for number in range(seed, seed + runs):
        with ExitStack() as stack:
            folder = keep / f"{number}-{time.time_ns()}" if keep else stack.enter_context(_scratch())
            folder.mkdir(parents=True, exist_ok=True)
            outcome = run_chaos(number, folder, worker=",".join(workers), log=_say, **how)
        outcomes.append(outcome)
        if json_lines:
            print(json.dumps(as_json(outcome)), flush=True)
    if not json_lines:
        Console(width=160).print(table(outcomes))
    sys.exit(any(outcome.problems for outcome in outcomes))


def _check(
    *,
    workers: Sequence[str],
    roll: str | None,
    java: str | None,
    java_members: int,
    members: int,
    minutes: float,
    protocol: str,
    **how: Any,
) -> None:
    if protocol == "streams":
        if not (minutes or (roll and java_members == members)):
            raise click.UsageError(
                f"expected --minutes, or --roll and --java-members {members}, with --protocol streams"
            )
        if minutes and (others := {*workers} - OF_STREAMS_GROUPS):
            raise click.UsageError(f"expected a --worker of {', '.join(sorted(OF_STREAMS_GROUPS))}, got {min(others)}")
    if roll and (not java or minutes):
        raise click.UsageError("expected --java RELEASE with --roll, and no --minutes")
    if java_members > members:
        raise click.UsageError(f"expected at most {members} --java-members, as there are --members, got {java_members}")
    if alone := {*how["kinds"]} & {*ROLL_FAULT_KINDS} if not roll else ():
        raise click.UsageError(f"expected --roll with --kind {', '.join(sorted(alone))}")


def _say(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        yield Path(folder)


if __name__ == "__main__":
    main()
