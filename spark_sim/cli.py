"""``streams-assignor sweep``, ``replay`` and ``report``: what a person types and sees of the simulator.

Nothing heavy is imported before a command runs, so that ``--help`` comes at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve
from click.core import ParameterSource

from upgrade.errors import UpgradeError
from upgrade.matrix import Plan, Upgrade, everything, kip_268, plans
from upgrade.releases import release_named

if TYPE_CHECKING:
    from rich.console import Console

    from spark_sim.cell_result import CellResult
    from spark_sim.jobs import Extent
    from spark_sim.results import Sweep
    from spark_sim.story import Story

OF_GROUPS: Final = frozenset(
    {
        *("matrix", "plan", "upgrade_from", "sample", "seed", "master", "fresh"),
        *("crashes", "lates", "patient", "runs", "tasks", "standbys"),
    }
)
"""Options of a sweep that mean nothing to brokers."""

HISTORY: Final = "history"
MOST_IMPATIENT: Final = 3
"""With more members who waits for nothing has millions of states to go through."""
MATRICES: Final[dict[str, Callable[[], tuple[Upgrade, ...]]]] = {"kip-268": kip_268, "all": everything}
EXAMPLES_SHOWN: Final = 3
RUNS: Final = 40
RUNS_OF_MANY: Final = 4


class _Wrong(click.ClickException):
    """One line, and the exit status of wrong usage."""

    exit_code = 2


class _Failed(click.ClickException):
    """One line, and the exit status of something that did not work."""

    exit_code = 1


# -- sweep -----------------------------------------------------------------------------------------------------------


@click.command
@click.option(
    "--matrix",
    type=click.Choice([*MATRICES, HISTORY]),
    help="All cells and plans of a test matrix: that of KIP-268, or all pairs of Kafka's releases with all plans. Or "
    "history: Kafka's own bugs, in releases that had them and in releases that did not.",
)
@click.option("--from", "origin", metavar="RELEASE", help="Or one upgrade: the release that runs now.")
@click.option("--to", "target", metavar="RELEASE", help="The release to come to.")
@click.option("--plan", type=click.Choice([plan.value for plan in Plan]), help="One plan only; without it, all three.")
@click.option("--upgrade-from", metavar="VERSION", help="upgrade.from of the (first) bounce, right or wrong.")
@click.option("--members", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Members of the group.")
@click.option("--tasks", type=click.IntRange(1, 10_000), default=6, show_default=True, help="Tasks of the group.")
@click.option("--standbys", type=click.IntRange(0, 100), default=0, show_default=True, help="num.standby.replicas.")
@click.option(
    "--crashes", type=click.IntRange(0, 3), default=1, show_default=True, help="Most crashes in one schedule."
)
@click.option(
    "--lates",
    type=click.IntRange(0, 3),
    default=1,
    show_default=True,
    help="Most times in one schedule that a member misses the rebalance timeout.",
)
@click.option(
    "--patient/--impatient",
    default=None,
    help="The operator waits until the group rests before the next restart. Default: not, but for --matrix all and "
    "groups of more than three members.",
)
@click.option(
    "--runs",
    type=click.IntRange(0),
    help="So many schedules of each upgrade are then run with real members, which have to agree. Default: 40, and 4 "
    "for --matrix all.",
)
@click.option(
    "--sample", type=click.IntRange(1), help="Draw so many schedules of each upgrade instead of exploring all."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn; equal seeds, equal rows.")
@click.option(
    "--master",
    metavar="MASTER",
    default="local[*]",
    show_default=True,
    help="Any Spark master, or `processes` to do without Spark and Java (rows become JSON lines, not Parquet).",
)
@click.option("--brokers", is_flag=True, help="Upgrades of brokers instead (--members are the nodes of the cluster).")
@click.option(
    "--faults", type=click.IntRange(0, 3), default=1, show_default=True, help="Of brokers: most faults in one run."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the results go.")
@click.option("--fresh", is_flag=True, help="Throw away what an earlier sweep left in DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print matrix.json at the end instead of the table.")
def sweep(out: Path, master: str, fresh: bool, as_json: bool, *, brokers: bool, faults: int, **chosen: Any) -> None:
    """Simulate every way an upgrade can go, on Spark.

    Up to five members every schedule is explored: all orders of restarts and messages, all leaders, slow and fast
    restarts, a crash of any member and a member that is late at any moment. Then some schedules are run with real
    members and real bytes, which have to agree. Larger groups are sampled. DIR gets matrix.json (a verdict for each
    pair and plan), guide.json (the least that is safe, pair by pair), the rows of all runs as Parquet, and report.html.
    A sweep that was stopped goes on when its command is given again.

    With --brokers it is the upgrade of a cluster: every order of the roll, every place to finalise metadata.version,
    and faults, as KIP-584, KIP-778 and Kafka 4.x have it. It takes seconds and no Spark; without --from and --to it is
    every line of Kafka to every later one. DIR gets matrix.json.

    Exit status 0 if every documented plan is safe and, where version probing belongs to the upgrade, a probe was seen;
    1 if not; 2 for wrong usage.

    \b
    Examples:
      streams-assignor sweep --matrix kip-268 --out sweep-results
      streams-assignor sweep --from 1.1 --to 2.0 --plan one_bounce --out one-bounce
      streams-assignor sweep --matrix all --out every-release
      streams-assignor sweep --matrix history --out history
      streams-assignor sweep --from 2.3 --to 3.9 --members 200 --tasks 1000 --standbys 1 --sample 100 --out large
      streams-assignor sweep --brokers --from 3.9.2 --to 4.3.1 --out brokers
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    context = click.get_current_context()
    said = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if brokers:
        _sweep_brokers(out, faults, said, as_json=as_json, **chosen)
        return
    if chosen["matrix"] == HISTORY:
        _sweep_history(out, said, as_json=as_json)
        return
    if "faults" in said:
        raise _Wrong("--faults belongs to --brokers; of a group say --crashes and --lates")
    wanted = _wanted(**chosen)
    from rich.console import Console

    from spark_sim.page import write_html
    from spark_sim.report import judge
    from spark_sim.results import MATRIX, REPORT

    console = Console(stderr=as_json, highlight=False)
    results = _swept(wanted, out, master, console, fresh=fresh)
    with _one_line_errors():
        write_html(results, out / REPORT)
    if as_json:
        click.echo((out / MATRIX).read_text(encoding="utf-8"), nl=False)
    else:
        _show(console, results)
    console.print(
        f"Results in {out / MATRIX}, rows in {out / 'runs'}, page for the browser {out / REPORT}", soft_wrap=True
    )
    if not judge(results).good:
        raise click.exceptions.Exit(1)


def _sweep_brokers(
    out: Path,
    faults: int,
    said: set[str],
    origin: str | None,
    target: str | None,
    members: int,
    *,
    as_json: bool,
    **_of_groups: Any,
) -> None:
    if said & OF_GROUPS or bool(origin) != bool(target):
        raise _Wrong(
            "with --brokers say --from RELEASE and --to RELEASE, or neither of them, and no other part of a group"
        )
    from spark_sim.brokers.cli import sweep_brokers

    with _one_line_errors():
        good = sweep_brokers(out, origin, target, nodes=members, faults=faults, as_json=as_json)
    _exit(good)


def _sweep_history(out: Path, said: set[str], *, as_json: bool) -> None:
    if unused := said - {"matrix", "out", "as_json"}:
        raise _Wrong(f"--matrix {HISTORY} knows by itself what to search for: leave out --{min(unused)}")
    from spark_sim.known.cli import sweep_history

    with _one_line_errors():
        good = sweep_history(out, as_json=as_json)
    _exit(good)


def _exit(good: bool) -> None:
    if not good:
        raise click.exceptions.Exit(1)


def _wanted(
    matrix: str | None,
    origin: str | None,
    target: str | None,
    plan: str | None,
    upgrade_from: str | None,
    **how_far: Any,
) -> Sweep:
    """Say what is to be swept; whatever does not fit together is wrong usage."""
    from spark_sim.results import Sweep

    extent = _extent(many=matrix == "all", **how_far)
    if matrix is not None:
        if origin or target or plan or upgrade_from:
            raise _Wrong("--matrix names all upgrades by itself: leave out --from, --to, --plan and --upgrade-from")
        return Sweep(matrix, MATRICES[matrix](), extent)
    if not origin or not target:
        raise _Wrong("say what to sweep: --matrix kip-268, or --from RELEASE --to RELEASE")
    try:
        upgrades = _upgrades(origin, target, plan, upgrade_from)
    except UpgradeError as error:
        raise _Wrong(str(error)) from error
    name = ", ".join(map(_name, upgrades))
    return Sweep(f"{upgrades[0].origin} to {upgrades[0].target}: {name}", upgrades, extent)


def _extent(*, many: bool, patient: bool | None, runs: int | None, crashes: int, lates: int, **numbers: Any) -> Extent:
    """Say how far to go into each upgrade: less far by itself if they are as many as all pairs of releases."""
    from spark_sim.explore import Faults
    from spark_sim.jobs import Extent

    patient = many or numbers["members"] > MOST_IMPATIENT if patient is None else patient
    runs = (RUNS_OF_MANY if many else RUNS) if runs is None else runs
    return Extent(faults=Faults(crashes, lates), patient=patient, runs=runs, **numbers)


def _name(upgrade: Upgrade) -> str:
    return upgrade.plan.value + (f" with upgrade.from={upgrade.upgrade_from}" if upgrade.upgrade_from else "")


def _upgrades(origin: str, target: str, plan: str | None, upgrade_from: str | None) -> tuple[Upgrade, ...]:
    from spark_sim.scenario import Instance

    before, after = release_named(origin), release_named(target)
    Instance(after, upgrade_from).config()
    # Without --plan a value belongs to the two bounces; with it, to the plan that is asked for.
    takes_value = plan or Plan.TWO_BOUNCES.value
    return tuple(
        evolve(
            each,
            upgrade_from=upgrade_from if upgrade_from and each.plan.value == takes_value else each.upgrade_from,
            called=(origin, target),
        )
        for each in plans(before, after)
        if plan in (None, each.plan.value)
    )


def _swept(wanted: Sweep, out: Path, master: str, console: Console, *, fresh: bool) -> list[CellResult]:
    from spark_sim.screen import watched
    from spark_sim.sweep import run_sweep

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    try:
        with _one_line_errors(), watched(console) as on_progress:
            return run_sweep(wanted, out, master=master, fresh=fresh, on_progress=on_progress, tell=tell)
    except KeyboardInterrupt:
        kept = (
            f"what is finished is in {out}, and the same command goes on with it" if out.exists() else "nothing is kept"
        )
        click.echo(f"interrupted; {kept}", err=True)
        raise click.exceptions.Exit(130) from None


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn what can go wrong outside the runs into one line and an exit status."""
    from spark_sim.java import JavaNotFound
    from spark_sim.results import ResultsError
    from spark_sim.session import SparkNotStarted
    from spark_sim.sweep import SweepError

    try:
        yield
    except (ResultsError, UpgradeError) as error:
        raise _Wrong(str(error)) from error
    except (JavaNotFound, SparkNotStarted) as error:
        raise _Failed(f"{error} (or do without Spark: --master processes)") from error
    except SweepError as error:
        raise _Failed(f"{error}; what is finished is kept, and the same command goes on with it") from error
    except ModuleNotFoundError as error:
        raise _Failed(f"{error.name} is not installed: pip install 'streams-assignor[spark]'") from error
    except OSError as error:
        raise _Failed(str(error)) from error


def _show(console: Console, results: list[CellResult]) -> None:
    """Print the matrix (or the guide, if that is too large), a few examples of what goes wrong, what it comes to."""
    from spark_sim.guide_page import summary
    from spark_sim.report import (
        Grid,
        example_lines,
        guide_legend,
        guide_table,
        judge,
        legend,
        matrix_table,
        measures,
        notes,
    )
    from spark_sim.screen import style_of

    ascii_only = bool(console.options.ascii_only)
    if Grid(results).large:
        console.print(guide_table(summary(results)))
        console.print(guide_legend(), soft_wrap=True)
    else:
        console.print(matrix_table(results, ascii_only=ascii_only))
        console.print(legend(ascii_only=ascii_only), soft_wrap=True)
    for line in (*notes(results), *measures(results), *example_lines(results, EXAMPLES_SHOWN)):
        console.print(line, markup=False, soft_wrap=True, style="dim")
    judgement = judge(results)
    console.print(judgement.text, markup=False, soft_wrap=True, style=style_of(judgement.good))


# -- report ----------------------------------------------------------------------------------------------------------


@click.command
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Instead of DIR/report.html."
)
def report(folder: Path, html: Path | None) -> None:
    """Show a finished sweep: the matrix here, and a page for the browser with an example of each cell told in full.

    \b
    Example:
      streams-assignor report sweep-results --html upgrades.html
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    from rich.console import Console

    from spark_sim.brokers.results import is_broker_sweep
    from spark_sim.page import write_html
    from spark_sim.report import read_matrix
    from spark_sim.results import REPORT

    if is_broker_sweep(folder):
        _report_brokers(folder, html)
        return
    console = Console(highlight=False)
    page = html or folder / REPORT
    with _one_line_errors():
        results = read_matrix(folder)
        _show(console, results)
        write_html(results, page)
    console.print(f"Page for the browser: {page}", soft_wrap=True)


def _report_brokers(folder: Path, html: Path | None) -> None:
    from spark_sim.brokers.cli import report_brokers

    if html:
        raise _Wrong("there is no page of a sweep over brokers: leave out --html")
    with _one_line_errors():
        report_brokers(folder)


# -- replay ----------------------------------------------------------------------------------------------------------

EVENT_STYLES: Final = {
    "leads": "cyan",
    "stopped": "dim",
    "crashed": "red",
    "expired": "dim",
    "dropped": "yellow",
    "revoked": "yellow",
    "follows": "yellow",
    "rejoins": "yellow",
    "died": "bold red",
    "ended": "yellow",
    "late": "red",
    "lost": "red",
    "unheard": "yellow",
    "asked": "yellow",
    "looks": "dim",
    "remark": "yellow",
    "violation": "bold white on red",
}


@click.command
@click.argument("scenario")
@click.option("--json", "as_json", is_flag=True, help="Print the whole run as one JSON object.")
def replay(scenario: str, as_json: bool) -> None:
    """Run one SCENARIO again and explain it step by step.

    A scenario is one line: members in joining order, then steps. Exit status 1 if a property is violated, 0 if none.
    If it says "level" before the first bar, it is about the nodes of a cluster (the last steps and example here).

    \b
    Steps:
      bounce [fast|leave] M>R ...   stop each member and start it as release R, one after the other
      stop [leave] M ...            stop members; they leave the group or their sessions time out
      start M[>R] ...               start members together
      crash [mid|late] M ...        at once, or between JoinGroup and SyncGroup of the next rebalance (mid)
                                    or of the one after it (late)
      elect oldest|newest|M         who takes over when the leader has gone
      lose T, find T, shutdown M    a source topic goes or comes back; M asks that all end (KIP-663)
      with threads=2 standbys=1 topology=join partitions=4 static lag
                                    before the steps: what the group is like
      hold, settle                  in between nothing happens by itself, only single moves:
      join|lead|take|expire|late M  JoinGroup, the leader's answer, its arrival, an end of a session, too late to join

    \b
    Steps of a cluster (N is a node, R a release of Kafka, L a level such as 4.3-IV0 or group.version=1):
      bounce N>R ..., stop N ..., start N[>R] ..., crash N ..., elect N, snapshot
      register N@R ..., unregister N ...   a further broker comes, is forgotten
      finalise L ..., downgrade [unsafe] L ...
      race N@R finalise L ..., race finalise L ... N@R
      stale N ..., fresh N ...      nodes that hear of no changes, and of all again
      ask N, restart M ...          the leader of the group that watches asks a broker; members A, B, C restart

    \b
    Examples:
      streams-assignor replay "A@2.0 B@2.0 C@2.0 | bounce A>simulated-4 B>simulated-4 C>simulated-4"
      streams-assignor replay "A@1.1 B@1.1 | bounce A>2.0,upgrade.from=1.1 B>2.0,upgrade.from=1.1 | bounce A>2.0 B>2.0"
      streams-assignor replay "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3 | race finalise 4.3 3@3.9"
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    from spark_sim.brokers.reading import is_about_brokers
    from spark_sim.known.what_if import imagined
    from spark_sim.scenario import Scenario
    from spark_sim.story import tell

    if is_about_brokers(scenario):
        from spark_sim.brokers.cli import replay_brokers

        with _one_line_errors():
            good = replay_brokers(scenario, as_json=as_json)
        _exit(good)
        return
    try:
        with imagined():  # releases that never were have examples, too
            story = tell(Scenario.parse(scenario))
    except UpgradeError as error:
        raise _Wrong(str(error)) from error
    if as_json:
        click.echo(json.dumps(story.as_json(), ensure_ascii=False))
    else:
        _print_story(story)
    if story.world.violations:
        raise click.exceptions.Exit(1)


def _print_story(story: Story) -> None:
    from rich.console import Console

    from spark_sim.screen import show_chapters, style_of

    console = Console(highlight=False)
    show_chapters(console, story.chapters, EVENT_STYLES)
    world = story.world
    good = not world.violations
    told = (
        f"{'safe' if good else 'unsafe'}: {world.coordinator.generation} generations, "
        f"at most {world.most_rebalances} after one step, members probed {world.probes} times"
    )
    console.print(told, style=style_of(good), soft_wrap=True)
