"""``streams-assignor sweep``: which upgrades, how far into them, and where the results go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve
from click.core import ParameterSource

from spark_sim.cli.ending import Failed, Wrong, exit_with, one_line_errors
from upgrade.errors import UpgradeError
from upgrade.matrix import Plan, Upgrade, everything, kip_268, plans
from upgrade.releases import release_named

if TYPE_CHECKING:
    from rich.console import Console

    from spark_sim.cell_result import CellResult
    from spark_sim.jobs import Extent
    from spark_sim.results import Sweep

OF_GROUPS: Final = frozenset(
    {
        *("matrix", "plan", "upgrade_from", "sample", "seed", "master", "fresh"),
        *("crashes", "lates", "patient", "runs", "tasks", "standbys", "variants"),
    }
)
"""Options of a sweep that mean nothing to brokers."""

HISTORY: Final = "history"
MOST_IMPATIENT: Final = 3
"""With more members who waits for nothing has millions of states to go through."""
MATRICES: Final[dict[str, Callable[[], tuple[Upgrade, ...]]]] = {"kip-268": kip_268, "all": everything}
RUNS: Final = 40
RUNS_OF_MANY: Final = 4


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
    "--variants/--no-variants",
    default=None,
    help="Also explore operators who do not follow the plan: it ends anywhere, they turn round, upgrade.from is never "
    "removed, or one member goes without it. Default: for --matrix kip-268.",
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
        raise Wrong("--faults belongs to --brokers; of a group say --crashes and --lates")
    wanted = _wanted(**chosen)
    from rich.console import Console

    from spark_sim.cli.report import show, write_page
    from spark_sim.report import judge
    from spark_sim.results import MATRIX, REPORT

    console = Console(stderr=as_json, highlight=False)
    results = _swept(wanted, out, master, console, fresh=fresh)
    with one_line_errors():
        write_page(results, out / REPORT)
    if as_json:
        click.echo((out / MATRIX).read_text(encoding="utf-8"), nl=False)
    else:
        show(console, results)
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
        raise Wrong(
            "with --brokers say --from RELEASE and --to RELEASE, or neither of them, and no other part of a group"
        )
    from spark_sim.brokers.cli import sweep_brokers

    with one_line_errors():
        good = sweep_brokers(out, origin, target, nodes=members, faults=faults, as_json=as_json)
    exit_with(good)


def _sweep_history(out: Path, said: set[str], *, as_json: bool) -> None:
    if unused := said - {"matrix", "out", "as_json"}:
        options = (param.opts[0] for param in sweep.params if param.name in unused)
        raise Wrong(f"--matrix {HISTORY} knows by itself what to search for: leave out {', '.join(options)}")
    from spark_sim.known.cli import sweep_history

    with one_line_errors():
        good = sweep_history(out, as_json=as_json)
    exit_with(good)


def _wanted(
    matrix: str | None,
    origin: str | None,
    target: str | None,
    plan: str | None,
    upgrade_from: str | None,
    variants: bool | None,
    **how_far: Any,
) -> Sweep:
    """Say what is to be swept; whatever does not fit together is wrong usage."""
    from spark_sim.jobs import MOST_EXPLORED
    from spark_sim.results import Sweep

    if variants and (how_far["sample"] or how_far["members"] > MOST_EXPLORED):
        raise Wrong(f"--variants are explored: leave out --sample, and take at most {MOST_EXPLORED} members")
    extent = _extent(many=matrix == "all", variants=(matrix == "kip-268") if variants is None else variants, **how_far)
    if matrix is not None:
        if origin or target or plan or upgrade_from:
            raise Wrong("--matrix names all upgrades by itself: leave out --from, --to, --plan and --upgrade-from")
        return Sweep(matrix, MATRICES[matrix](), extent)
    if not origin or not target:
        raise Wrong("say what to sweep: --matrix kip-268, or --from RELEASE --to RELEASE")
    try:
        upgrades = _upgrades(origin, target, plan, upgrade_from)
    except UpgradeError as error:
        raise Wrong(str(error)) from error
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
    # Without --plan a value belongs to the two bounces; with it, to the plan that is asked for.
    takes_value = plan or Plan.TWO_BOUNCES.value
    found = tuple(
        evolve(
            each,
            upgrade_from=upgrade_from if upgrade_from and each.plan.value == takes_value else each.upgrade_from,
            called=(origin, target),
        )
        for each in plans(release_named(origin), release_named(target))
        if plan in (None, each.plan.value)
    )
    for each in found:
        _refuse_what_does_not_start(each)
    return found


def _refuse_what_does_not_start(upgrade: Upgrade) -> None:
    for each in upgrade.rounds:
        outcome = each.release.accepts(each.upgrade_from)
        if outcome.exception:
            raise UpgradeError(
                f"{each.release} does not start with upgrade.from={each.upgrade_from}: "
                f"{outcome.exception}: {outcome.text}"
            )


def _swept(wanted: Sweep, out: Path, master: str, console: Console, *, fresh: bool) -> list[CellResult]:
    from spark_sim.screen import watched
    from spark_sim.sweep import SweepError, run_sweep

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    try:
        with one_line_errors(), watched(console) as on_progress:
            return run_sweep(wanted, out, master=master, fresh=fresh, on_progress=on_progress, tell=tell)
    except SweepError as error:
        raise Failed(f"{error}; {_kept(out)}") from error
    except KeyboardInterrupt:
        click.echo(f"interrupted; {_kept(out)}", err=True)
        raise click.exceptions.Exit(130) from None


def _kept(out: Path) -> str:
    """Say what there is of a sweep that ended early; its folder goes with it if nothing is."""
    return f"what is finished is in {out}, and the same command goes on with it" if out.exists() else "nothing is kept"
