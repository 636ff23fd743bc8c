"""``streams-assignor replay``: one scenario again, explained step by step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from streams_assignor.cli._exit_status import CommandFailed, exit_unless, one_line_errors
from streams_assignor.cli._spark_options import LocalPath
from streams_assignor.cli.params import ASSUME, document, output_options
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import assumptions_of
from streams_assignor.upgrade.releases import resolve_release

if TYPE_CHECKING:
    from streams_assignor.spark_sim.sweep.traces import Trace

SAFE: Final = "safe"
_RELEASE: Final = re.compile(r"(?:(?<=[@>])|(?<=\bgroup ))[^\s,|]+")
REMARKS: Final = frozenset({"remark"})
"""The kinds of events that only ``--verbose`` prints."""
GROUP_EVENT_STYLES: Final = {
    "leads": "cyan",
    "stopped": "dim",
    "crashed": "red",
    "expired": "dim",
    "dropped": "yellow",
    "revoked": "yellow",
    "follows": "yellow",
    "rejoins": "yellow",
    "failed": "bold red",
    "ended": "yellow",
    "rebalance_timeout": "red",
    "topic_lost": "red",
    "unchanged": "yellow",
    "shutdown_requested": "yellow",
    "probing_rebalance": "dim",
    "remark": "yellow",
    "violation": "bold white on red",
}
EVENT_STYLES: Final = {
    "elected": "cyan",
    "stopped": "dim",
    "crashed": "red",
    "refused": "yellow",
    "skipped": "yellow",
    "finalized": "bold cyan",
    "learned": "cyan",
    "exited": "bold red",
    "epoch": "cyan",
    "target": "dim",
    "expired": "yellow",
    "failed": "bold red",
    "remark": "yellow",
    "violation": "bold white on red",
}


@click.command(cls=StrictCommand)
@click.argument("scenario")
@click.option("--summary", is_flag=True, help="Print the verdict alone, with its reason.")
@click.option("-v", "--verbose", is_flag=True, help="Also print remarks: what is wasteful or slow, not unsafe.")
@click.option(
    "--html",
    type=LocalPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the trace as a page for the browser: one file, without a network.",
)
@ASSUME
@output_options("the whole run as one object")
def replay(scenario: str, summary: bool, verbose: bool, html: Path | None, assume: str | None, output: str) -> None:
    """Run one SCENARIO again and explain it step by step. The verdict is the first and the last line.

    A scenario is one line: members in joining order, then steps. Exit status 1 if a property is violated, 0 if none.
    If it says "level" before the first bar, it is about the nodes of a cluster, and if it says "group", about a streams
    group (KIP-1071): the last steps and examples here.

    \b
    Steps:
      bounce [fast|leave] M>R ...   stop each member and start it as release R, one after the other
      stop [leave] M ...            stop members; they leave the group or their sessions time out
      start M[>R] ...               start members together
      crash [mid|late] M ...        at once, or between JoinGroup and SyncGroup of the next rebalance (mid)
                                    or of the one after it (late)
      elect oldest|newest|M         who takes over when the leader has gone
      lose T, find T, shutdown M    a source topic goes or comes back; M asks that all end (KIP-663)
      with threads=2 standbys=1 topology=join partitions=4 static ephemeral lag
                                    before the steps: what the group is like
      hold, settle                  in between nothing happens by itself, only single moves:
      join|lead|take|expire|late M  JoinGroup, the leader's answer, its arrival, an end of a session, too late to join

    \b
    Steps of a cluster (N is a node, R a release of Kafka, L a level such as 4.3-IV0 or group.version=1):
      bounce N>R ..., stop N ..., start N[>R] ..., crash N ..., elect N, snapshot
      register N@R ..., unregister N ...   a further broker comes, is forgotten
      finalize L ..., downgrade [unsafe] L ...
      race N@R finalize L ..., race finalize L ... N@R
      stale N ..., fresh N ...      nodes that hear of no changes, and of all again
      ask N, restart M ...          the leader of the group that watches asks a broker; members A, B, C restart

    \b
    Steps of a streams group (M is a member, as A, or A.1 of a process with several; I is a member id, as A#1):
      start M, stop M, restart M, update M   update restarts it with the next topology epoch
      heartbeat M, callback M, settle        single moves of the protocol, or all that happen by themselves
      expire I, crash M, stall M, silence M, linger M, failover
      lose-request M, lose-response M, slow-response M, receive M, delay M, arrive I
      retire                                 a member of the classic protocol leaves (classic=N before the steps)

    \b
    Examples:
      streams-assignor replay "A@2.0 B@2.0 C@2.0 | bounce A>simulated-4 B>simulated-4 C>simulated-4"
      streams-assignor replay "A@1.1 B@1.1 | bounce A>2.0,upgrade.from=1.1 B>2.0,upgrade.from=1.1 | bounce A>2.0 B>2.0"
      streams-assignor replay "A@1.1 B@1.1 | bounce A>2.0 B>2.0" --html trace.html
      streams-assignor replay "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3 | race finalize 4.3 3@3.9"
      streams-assignor replay "A@4.3.1 B@4.3.1 group 4.3.1 tasks=4 standbys=1 | start A | settle | start B | settle"
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    step("running the scenario")
    with one_line_errors():
        from streams_assignor.spark_sim.sweep.traces import trace_line

        result = trace_line(_assuming(scenario, assume))
        if html:
            _write_page(result, html)
    if output != "text":
        click.echo(document(result.as_json(), output, ensure_ascii=False))
    else:
        from streams_assignor.formats.console import SafeConsole
        from streams_assignor.spark_sim.sweep.report.console import print_judgement, print_trace
        from streams_assignor.spark_sim.sweep.report.judgement import Judgement

        console = SafeConsole(highlight=False)
        judgement = Judgement(result.verdict == SAFE, f"{result.verdict}: {result.summary}")
        print_judgement(console, judgement)
        if not summary:
            console.print()
            print_trace(console, result.steps, _styles(result), frozenset() if verbose else REMARKS)
            print_judgement(console, judgement)
    if html:
        click.echo(f"Page for the browser: {html}", err=True)
    exit_unless(result.verdict == SAFE)


def _write_page(result: Trace[Any], page: Path) -> None:
    from streams_assignor.spark_sim.sweep.report.replay_page import TITLE, replay_page
    from streams_assignor.spark_sim.sweep.tables.publishing import page_titled, write_page

    try:
        write_page(page, replay_page(result), page_titled(TITLE))
    except OSError as error:
        raise CommandFailed(f"cannot write {page}: {error.strerror or error}") from error


def _assuming(scenario: str, assume: str | None) -> str:
    """Return a scenario whose releases contain what they are assumed to behave like, if the table lacks them.

    A note on stderr says how each name was read that is not Kafka's own.

    >>> _assuming("A@4.9 B@2.0 | bounce A>4.9,upgrade.from=2.4", "4.3")
    'A@4.9.0~4.3.1 B@2.0 | bounce A>4.9.0~4.3.1,upgrade.from=2.4'
    """
    spellings = {}
    for name in sorted({match[0] for match in _RELEASE.finditer(scenario)}):
        try:
            resolved = resolve_release(name, assume)
        except UpgradeError:  # a broker's release before 0.10, or an error that names its place in the scenario
            continue
        spellings[name] = resolved.release.spelling if resolved.notes else name
        for note in resolved.notes if resolved.is_open else assumptions_of(resolved.release) or resolved.notes:
            click.echo(f"note: {note}", err=True)
    return _RELEASE.sub(lambda match: spellings.get(match[0], match[0]), scenario)


def _styles(trace: Trace[Any]) -> Mapping[str, str]:
    """Return the styles of the events of a trace: a classic group has its own."""
    from streams_assignor.spark_sim.model.events import GroupEvent

    return GROUP_EVENT_STYLES if any(isinstance(event, GroupEvent) for event in trace.events) else EVENT_STYLES
