"""``streams-assignor sweep``: which upgrades, how far into them, and where the results go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve
from click.core import ParameterSource

from streams_assignor.cli._exit_status import WrongUsage, exit_unless, one_line_errors
from streams_assignor.cli._spark_options import ENGINE_OPTIONS, STORAGE_FORMAT, engine_options, fresh_option, resumable
from streams_assignor.cli.params import ASSUME, complete_release, output_options, print_file
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
from streams_assignor.upgrade.plans import MATRICES, Plan, Upgrade
from streams_assignor.upgrade.redaction import hide_credentials
from streams_assignor.upgrade.releases import resolve_release, with_assumption

if TYPE_CHECKING:
    from streams_assignor.formats.console import SafeConsole
    from streams_assignor.spark_sim.sweep.engine_choice import EngineOptions
    from streams_assignor.spark_sim.sweep.suites import FinishedSweep, Suite
    from streams_assignor.spark_sim.sweep.work_units import SweepConfig

GROUP_OPTIONS: Final = frozenset(
    {
        *("matrix", "plan", "upgrade_from", "sample", "seed", "runs", "tasks", "standbys"),
        *("crashes", "rebalance_timeouts", "wait_for_quiescence", "deviations"),
    }
)
"""Options of a sweep over groups, which brokers do not have."""

HISTORY: Final = "history"
STREAMS: Final = "streams"
ROLL: Final = "roll"
SEARCHES: Final = frozenset({HISTORY, STREAMS, ROLL})
"""Matrices of searches, which define everything."""
HOW_TO_RUN: Final = frozenset({"out", "output", "storage_format", "fresh", *ENGINE_OPTIONS})
REGRESSION_OPTIONS: Final = HOW_TO_RUN | {"matrix"}
"""Options of ``--matrix history``, ``streams`` and ``roll``."""


@click.command(cls=StrictCommand)
@click.option(
    "--matrix",
    type=click.Choice([*MATRICES, HISTORY, STREAMS, ROLL]),
    help="kip-268 or all: pairs of releases with their plans; history: Kafka's own bugs; streams: KIP-1071; roll: "
    "upgrades by roll, with faults.",
)
@click.option("--out", required=True, metavar="DIR|URI", help="Where results go; with Spark also s3a:// and so on.")
@click.option("--from", "origin", metavar="RELEASE", shell_complete=complete_release, help="Or one upgrade: this now.")
@click.option("--to", "target", metavar="RELEASE", shell_complete=complete_release, help="The release afterwards.")
@click.option("--members", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Of the group.")
@click.option("--plan", type=click.Choice([plan.value for plan in Plan]), help="One plan only; else all three.")
@click.option("--upgrade-from", metavar="VERSION", help="Of the (first) bounce, right or wrong.")
@click.option("--tasks", type=click.IntRange(1, 10_000), default=6, show_default=True, help="Of the group.")
@click.option("--standbys", type=click.IntRange(0, 100), default=0, show_default=True, help="num.standby.replicas.")
@click.option("--crashes", type=click.IntRange(0, 3), default=1, show_default=True, help="Most in a schedule.")
@click.option(
    "--rebalance-timeouts", type=click.IntRange(0, 3), default=1, show_default=True, help="Missed, most in a schedule."
)
@click.option(
    "--wait/--no-wait",
    "wait_for_quiescence",
    default=None,
    help="Whether the operator lets the group settle.  [default: for --matrix all and more than three members]",
)
@click.option("--runs", type=click.IntRange(0), help="Schedules run with real bytes.  [default: 40, --matrix all: 4]")
@click.option(
    "--deviations/--no-deviations",
    "deviations",
    default=None,
    help="Also operators who deviate from the plan.  [default: for --matrix kip-268]",
)
@click.option("--sample", type=click.IntRange(1), help="So many schedules of each upgrade, not all.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of --sample.")
@engine_options
@click.option("--brokers", is_flag=True, help="Of brokers instead; --members are nodes.")
@click.option("--faults", type=click.IntRange(0, 3), default=1, show_default=True, help="Of brokers: most in a run.")
@STORAGE_FORMAT
@fresh_option("sweep")
@ASSUME
@output_options("matrix.json or history.json.")
def sweep(
    out: str,
    engine: EngineOptions,
    storage_format: str,
    fresh: bool,
    output: str,
    *,
    brokers: bool,
    faults: int,
    **chosen: Any,
) -> None:
    """Simulate every way an upgrade can go, on Spark.

    Up to five members every schedule is explored: all orders of restarts and messages, all leaders, crashes and missed
    rebalance timeouts. Simulated members run some schedules with real bytes, which have to agree. Larger groups are
    sampled. The results are tables, matrix.json, guide.json and report.html. The same command resumes. With --brokers
    it is the upgrade of a cluster (KIP-584, KIP-778, Kafka 4.x).

    Exit status 0 if every plan of Kafka's guide is safe and, where version probing belongs to the upgrade, a probe was
    seen; 1 if not; 2 for wrong usage.

    \b
    Examples:
      streams-assignor sweep --matrix kip-268 --out sweep-results
      streams-assignor sweep --from 1.1 --to 2.0 --plan one_bounce --out one-bounce
      streams-assignor sweep --matrix all --out every-release
      streams-assignor sweep --from 2.3 --to 3.9 --members 200 --tasks 1000 --standbys 1 --sample 100 --out large
      streams-assignor sweep --brokers --from 3.9.2 --to 4.3.1 --out brokers
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    step("listing the upgrades")
    with one_line_errors():
        suite = _suite(brokers=brokers, faults=faults, **chosen)
    from streams_assignor.formats.console import SafeConsole
    from streams_assignor.spark_sim.jobs.engine_libraries import require_engine
    from streams_assignor.spark_sim.sweep.engine_choice import EVERY_CORE
    from streams_assignor.spark_sim.sweep.folder import REPORT
    from streams_assignor.spark_sim.sweep.report.console import print_judgement
    from streams_assignor.spark_sim.sweep.report.renderers import RENDERERS, page_of
    from streams_assignor.spark_sim.sweep.spark.paths import local_folder
    from streams_assignor.spark_sim.sweep.sweep import chosen_engine

    renderer = RENDERERS[suite.kind]
    console = SafeConsole(stderr=output != "text", highlight=False)
    chosen_options = chosen_engine(engine, suite, out, storage_format)
    require_engine(chosen_options.master or EVERY_CORE)
    how: dict[str, Any] = {"engine": chosen_options, "storage_format": storage_format, "fresh": fresh}
    finished = _run_sweep(suite, out, console, page=page_of, **how)
    folder, where = local_folder(out), f"Results in {hide_credentials(out)}"
    if folder is not None:
        where = f"Results in {folder / suite.main_file}, tables in {folder}, page for the browser {folder / REPORT}"
    if output != "text":
        print_file(suite.files[suite.main_file](finished.results), output)
        print_judgement(console, judgement := renderer.judge(finished.results))
    else:
        judgement = renderer.show(console, finished.results)
    console.print(where, soft_wrap=True)
    exit_unless(judgement.good)


def _suite(*, brokers: bool, faults: int, **chosen: Any) -> Suite:
    """Return what is to be swept; options that contradict each other are wrong usage."""
    context = click.get_current_context()
    chosen_names = {
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if brokers:
        return _broker_suite(chosen_names, faults, **chosen)
    if chosen["matrix"] in SEARCHES:
        _leave_out(chosen_names - REGRESSION_OPTIONS, f"--matrix {chosen['matrix']} defines what to search for")
        from streams_assignor.spark_sim.sweep.suites import SUITES

        return SUITES[chosen["matrix"]]()
    if "faults" in chosen_names:
        raise WrongUsage("--faults belongs to --brokers; of a group say --crashes and --rebalance-timeouts")
    return _upgrade_suite(**chosen)


def _leave_out(unused: set[str], why: str) -> None:
    if unused:
        options = (param.opts[0] for param in sweep.params if param.name in unused)
        raise WrongUsage(f"{why}: leave out {', '.join(options)}")


def _broker_suite(
    chosen_names: set[str],
    faults: int,
    *,
    origin: str | None,
    target: str | None,
    assume: str | None,
    members: int,
    **_of_groups: Any,
) -> Suite:
    if chosen_names & GROUP_OPTIONS or bool(origin) != bool(target) or (assume and not origin):
        raise WrongUsage(
            "with --brokers say --from RELEASE and --to RELEASE (and --assume), or neither of them, and no other part "
            "of a group"
        )
    from streams_assignor.spark_sim.sweep.suites import broker_suite

    if not (origin and target):
        return broker_suite((), nodes=members, faults=faults)
    ends = [broker_release(name, assume) for name in (origin, target)]
    for release in ends:
        assumed = [f"{release} is assumed to behave like {release.assumed_like}"] if release.assumed_like else []
        for note in (*release.reading, *assumed):
            click.echo(f"note: {note}", err=True)
    first, last = (
        release.spelling if release.assumed_like else name for release, name in zip(ends, (origin, target), strict=True)
    )
    return broker_suite([(first, last)], nodes=members, faults=faults)


def _upgrade_suite(
    *,
    matrix: str | None,
    origin: str | None,
    target: str | None,
    assume: str | None,
    plan: str | None,
    upgrade_from: str | None,
    deviations: bool | None,
    **how_far: Any,
) -> Suite:
    from streams_assignor.spark_sim.packed.upgrade_result import MAX_EXPLORED_MEMBERS
    from streams_assignor.spark_sim.sweep.suites import pair_suite, upgrade_suite
    from streams_assignor.spark_sim.sweep.work_units import MATRIX_CONFIGS, SweepConfig

    if deviations and (how_far["sample"] or how_far["members"] > MAX_EXPLORED_MEMBERS):
        raise WrongUsage(
            f"--deviations are explored: leave out --sample, and take at most {MAX_EXPLORED_MEMBERS} members"
        )
    defaults = MATRIX_CONFIGS.get(matrix or "", SweepConfig())
    deviations = defaults.deviations if deviations is None else deviations
    config = _sweep_config(defaults, deviations=deviations, **how_far)
    if matrix is not None:
        if origin or target or assume or plan or upgrade_from:
            raise WrongUsage("--matrix names all upgrades: leave out --from, --to, --assume, --plan and --upgrade-from")
        return upgrade_suite(matrix, MATRICES[matrix](), config)
    if not origin or not target:
        raise WrongUsage("say what to sweep: --matrix kip-268, or --from RELEASE --to RELEASE")
    return pair_suite(_upgrades(origin, target, assume, plan, upgrade_from), config)


def _sweep_config(
    defaults: SweepConfig,
    *,
    wait_for_quiescence: bool | None,
    runs: int | None,
    crashes: int,
    rebalance_timeouts: int,
    **others: Any,
) -> SweepConfig:
    """Return how far to explore each upgrade."""
    from streams_assignor.spark_sim.packed import FaultBudget
    from streams_assignor.spark_sim.sweep.work_units import MAX_MEMBERS_WITHOUT_WAITING

    if wait_for_quiescence is None:
        wait_for_quiescence = defaults.wait_for_quiescence or others["members"] > MAX_MEMBERS_WITHOUT_WAITING
    runs = defaults.runs if runs is None else runs
    faults = FaultBudget(crashes, rebalance_timeouts)
    return evolve(defaults, faults=faults, wait_for_quiescence=wait_for_quiescence, runs=runs, **others)


def _upgrades(
    origin: str, target: str, assume: str | None, plan: str | None, upgrade_from: str | None
) -> tuple[Upgrade, ...]:
    """Return the plans for one pair; a note on stderr says what was assumed of a release."""
    from streams_assignor.spark_sim.sweep.suites import upgrades_between

    for name in (origin, target):
        for note in resolve_release(name, assume).notes:
            click.echo(f"note: {note}", err=True)
    return upgrades_between(with_assumption(origin, assume), with_assumption(target, assume), plan, upgrade_from)


def _run_sweep(suite: Suite, out: str, console: SafeConsole, *, engine: EngineOptions, **how: Any) -> FinishedSweep:
    from streams_assignor.spark_sim.sweep.report.progress import show_progress
    from streams_assignor.spark_sim.sweep.report.renderers import RENDERERS
    from streams_assignor.spark_sim.sweep.sweep import run_sweep

    def log(line: str) -> None:
        console.print(hide_credentials(line), markup=False, soft_wrap=True)

    of_engine: Any = {"master": engine.master, "settings": engine.settings, "processes": engine.processes}
    step("")
    with (
        one_line_errors(),
        resumable(out),
        show_progress(console, RENDERERS[suite.kind].draw_progress) as on_progress,
    ):
        return run_sweep(suite, out, on_progress=on_progress, log=log, **of_engine, **how)
