"""The console script ``streams-assignor``: the commands of ``assignor.cli`` and those of the simulator.

Only ``sweep`` needs PySpark; every other command runs without it.
"""

from __future__ import annotations

from typing import Final

import click

from assignor import cli as assignor_cli
from assignor.cli.lazy_group import LazyCommand, LazyGroup, run_script


def _load_audit() -> click.Command:
    from spark_sim.cli._audit import audit

    return audit


def _load_conform() -> click.Command:
    from spark_sim.cli._conform import conform

    return conform


def _load_plan() -> click.Command:
    from spark_sim.cli._plan import plan

    return plan


def _load_release() -> click.Command:
    from spark_sim.cli._release import release

    return release


def _load_replay() -> click.Command:
    from spark_sim.cli._replay import replay

    return replay


def _load_report() -> click.Command:
    from spark_sim.cli._report import report

    return report


def _load_sweep() -> click.Command:
    from spark_sim.cli._sweep import sweep

    return sweep


COMMANDS: Final = {
    "plan": LazyCommand(
        _load_plan,
        "The steps of a safe upgrade from one release to another.",
        assignor_cli.PLAN,
        "1,000 members and 10,000 tasks, of which 20 and 200 are played; five members are explored. A file has at most "
        "16 MiB, and each of --topologies 2,500 sub-topologies.",
    ),
    "release": LazyCommand(
        _load_release, "What is known about one release.", assignor_cli.PLAN, "none; it reads neither file nor network."
    ),
    **assignor_cli.COMMANDS,
    "audit": LazyCommand(
        _load_audit,
        "The history of every group, from __consumer_offsets.",
        assignor_cli.INSPECT,
        "a batch expands to at most --max-batch-bytes, a line of a dump has at most 64 MiB, and the page shows a "
        "million rebalances. Each process takes up to 64 KiB for each group of its partition that is not gone. A "
        "group that is deleted takes up to 400 bytes in the main process: a million need about 650 MB.",
    ),
    "replay": LazyCommand(
        _load_replay,
        "One simulated scenario, explained step by step.",
        assignor_cli.SIMULATE,
        "10,000 partitions of a topic, 100 threads and standbys. More than 20 rebalances after one step count as "
        "endless. Time grows with the square of the members.",
    ),
    "sweep": LazyCommand(
        _load_sweep,
        "Every way an upgrade can go, simulated on Spark.",
        assignor_cli.SIMULATE,
        "1,000 members; five and fewer are explored, more are sampled. A preset predicts its time and asks.",
    ),
    "report": LazyCommand(
        _load_report,
        "Tables and pictures of a finished sweep.",
        assignor_cli.SIMULATE,
        "none of its own; the results of a sweep are in memory as a whole.",
    ),
    "conform": LazyCommand(
        _load_conform,
        "Compare captures of real groups with simulated members.",
        assignor_cli.SIMULATE,
        "a capture has at most 256 MiB. Time and memory grow with its members and generations.",
    ),
}
"""All commands by name, in the order of ``--help``."""


@click.command(cls=LazyGroup, lazy_commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="streams-assignor")
def cli() -> None:
    """The Kafka Streams rebalance protocol in Python, with version probing (KIP-268).

    \b
    Examples:
      streams-assignor plan 2.8 4.3
      streams-assignor group billing --bootstrap-servers localhost:9092
      streams-assignor replay "A@2.8 B@2.8 C@2.8 | bounce A>4.3 B>4.3 C>4.3"
      streams-assignor bounce
      streams-assignor sweep --matrix kip-268 --out sweep-results
    """  # noqa: D301 - click reads the backspace character


def main() -> None:
    """Run the console script."""
    run_script(cli)


if __name__ == "__main__":
    main()
