"""``streams-assignor roll``: an upgrade of a live group, executed step by step."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve, field, frozen

from assignor.cli._exit_status import CommandFailed
from assignor.cli.group._lookup import LOOKUP_LOADERS, Lookup, load_lookup
from assignor.cli.group._what_if import read_config
from assignor.cli.params import (
    ASSUME,
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG,
    VERBOSE,
    Duration,
    cluster_settings,
    complete_release,
    silence_client_logs,
)
from assignor.cli.plan._live_group import read_group
from assignor.cli.plan.application_settings import read_settings
from assignor.cli.plan.text import DisplayOptions, broker_plan_lines, group_plan_lines
from assignor.cli.roll._brokers import (
    LOOK_SECONDS,
    NO_FORECAST_OF_NODES,
    finalize_command,
    ids_of,
    instances_of,
    look_at_cluster,
    plan_cluster,
    refuse_group_options,
)
from assignor.cli.roll._commands import CommandTemplate
from assignor.cli.roll._driver import Decided, Interrupts, RollSettings, RollView, drive
from assignor.cli.roll._forecast import expectation_of
from assignor.cli.roll._instances import InstanceNames, names_of, read_instances, seen_instances
from assignor.cli.roll._journal_file import JournalFile, has_begun, open_journal
from assignor.cli.roll._lock import cluster_lock, user_name
from assignor.cli.roll._look import LiveLook, look_at
from assignor.cli.roll._output import RollJson, RollLines, expectation_text, plan_lines, question_lines
from assignor.cli.roll._report import report_lines
from assignor.formats.console import SafeConsole
from assignor.formats.progress import step
from assignor.formats.text import printable, sanitize
from assignor.groups import LOOKUP_TIMEOUT_SECONDS
from assignor.groups.described_group import WITHOUT_METADATA
from subscription_codec import StreamsAssignorError
from upgrade.application_plan import ApplicationPlan, PlannedApplication, plan_for
from upgrade.cluster.brokers.protocol_versions import broker_release
from upgrade.cluster.client.command_config import CommandConfig
from upgrade.errors import UpgradeError
from upgrade.patch_levels import is_same_release
from upgrade.releases import Release, resolve_release
from upgrade.roll.cluster import CLUSTER_RULES, cluster_rounds
from upgrade.roll.deviations import SafeOption
from upgrade.roll.engine import FINISHED, NO_WAY_BACK, ROLLED_BACK, AskOperator, BeginStep, next_instances
from upgrade.roll.expectation import Expectation
from upgrade.roll.gates import RollRules
from upgrade.roll.group import GROUP_RULES
from upgrade.roll.journal import PlanRecorded, QuestionAnswered, RollResumed
from upgrade.roll.plan import (
    BROKERS,
    BY_HAND,
    DEFAULT_MAX_LAG,
    DEFAULT_MAX_UNOWNED_S,
    DEFAULT_SESSION_S,
    DEFAULT_TIMEOUT_S,
    ONCE,
    RESTART,
    START,
    STOP,
    RollLimits,
    RollPlan,
    check_plan,
    group_rounds,
)
from upgrade.roll.state import ABOUT_DEVIATION, ABOUT_PLAN, ABOUT_WAY_BACK, RollState, begin, replay
from upgrade.streams_config import StreamsConfig
from upgrade.verdict.conditions import features_named

if TYPE_CHECKING:
    from upgrade.cluster.client.feature_client import FeatureClient

NEEDS_DECISION: Final = 3
ROLLED_BACK_INSTEAD: Final = 4
INTERRUPTED: Final = 130
_DAY: Final = 86_400
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.-]+")


@click.command
@click.argument("group", required=False)
@click.option("--to", "target", required=True, metavar="RELEASE", shell_complete=complete_release, help="The release.")
@click.option("--brokers", is_flag=True, help="Roll the nodes of the cluster, in KRaft mode, instead of a group.")
@click.option(
    "--from",
    "origin",
    metavar="RELEASE",
    shell_complete=complete_release,
    help="The release that runs now.  [default: what the members show]",
)
@click.option("--restart", metavar="COMMAND", help="Restarts one instance with another release.")
@click.option("--stop", metavar="COMMAND", help="Stops one instance; with --start instead of --restart.")
@click.option("--start", metavar="COMMAND", help="Starts one instance.")
@click.option("--by-hand", is_flag=True, help="Print each step, and wait until the group shows it.")
@click.option(
    "--instances",
    "instances_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A line for each instance in order: its name and, if the group shows it by another one, that.  [default: what "
    "the group shows]",
)
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="So many instances at a time.")
@click.option("--canary", metavar="INSTANCE", help="This instance first and alone, in each round.")
@click.option("--offline", is_flag=True, help="Stop the whole group, then start it; always possible.")
@click.option("--without", metavar="FEATURE,...", help="What the application does not have, as in plan.")
@click.option(
    "--max-unowned",
    type=Duration(1, _DAY),
    default=DEFAULT_MAX_UNOWNED_S,
    metavar="DURATION",
    help="So long may a task have no owner.  [default: 5m]",
)
@click.option(
    "--max-lag",
    type=click.IntRange(0),
    default=DEFAULT_MAX_LAG,
    metavar="RECORDS",
    show_default=True,
    help="A larger lag of a partition is waited for.",
)
@click.option(
    "--timeout",
    type=Duration(1, 7 * _DAY),
    default=DEFAULT_TIMEOUT_S,
    metavar="DURATION",
    help="So long may a step, or a command, take.  [default: 15m]",
)
@click.option(
    "--session-timeout",
    type=Duration(1, _DAY),
    metavar="DURATION",
    help="session.timeout.ms of the members.  [default: 45s; in forecasts that of their release]",
)
@click.option(
    "--interval", type=Duration(0.1, 3600), default=1.0, metavar="DURATION", help="Between looks.  [default: 1s]"
)
@click.option(
    "--config",
    "settings_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The settings of the members, for the plan and for forecasts.",
)
@click.option(
    "--state",
    type=click.Choice(["persistent", "ephemeral"]),
    default="persistent",
    help="Whether an instance that starts finds its state stores, for forecasts.",
)
@click.option("--no-forecast", is_flag=True, help="Expect of a step only what the rules of the releases say.")
@click.option("--yes", is_flag=True, help="Do not ask before the first step.")
@click.option("--accept-no-way-back", is_flag=True, help="Do not ask before a round without a way back.")
@click.option(
    "--answer",
    type=click.Choice([option.value for option in SafeOption]),
    help="The answer to the next question about a deviation or an unknown outcome.",
)
@click.option("--back", is_flag=True, help="Roll back what the journal has done.")
@click.option(
    "--journal",
    "journal_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Written before and after each thing that is done; an existing one is continued.  [default: "
    "GROUP-to-RELEASE.roll.jsonl]",
)
@click.option(
    "--report",
    "report_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write one page for the change ticket, in Markdown, from the journal.",
)
@click.option(
    "--no-lock",
    is_flag=True,
    help="Do not keep a second roll out; for brokers on which the lock's group is not allowed.",
)
@click.option("--dry-run", is_flag=True, help="Show plan, order and the forecast of the first step, and do nothing.")
@click.option(
    "--json", "as_json", is_flag=True, help="Lines of JSON: the records of the journal, and what is waited for."
)
@ASSUME
@BOOTSTRAP_SERVERS
@COMMAND_CONFIG
@click.option(
    "--client",
    type=click.Choice(list(LOOKUP_LOADERS)),
    help="Describe with this client library.  [default: the first that is installed]",
)
@VERBOSE
@click.pass_context
def roll(
    context: click.Context,
    /,
    group: str | None,
    brokers: bool,
    bootstrap_servers: str | None,
    command_config: Path | None,
    **given: Any,
) -> None:
    """Upgrade a live group: one instance at a time, with a forecast before and gates after each step.

    The plan is that of `plan RELEASE --group GROUP`, for the release that the members run. Each step is a restart by
    your command, in whose words {instance}, {release}, {upgrade_from}, {round} and {group} are replaced; they are in
    its environment, too (ROLL_INSTANCE, ...). It runs without a shell. After a step the instance has to be back with
    the right release and upgrade.from, the group stable, each task owned once, versions as forecast, no probing
    rebalance scheduled, lag low, and commits have to advance. If not, roll stops and says what was expected, what is
    there, what it probably means, and what is safe.

    The journal has each intent before it is executed, so that the same command continues after a crash: it looks
    whether a restart has happened, or asks, and repeats none unasked. A lock in the cluster keeps out a second roll.
    Ctrl-C ends after the current step, a second one at once.

    With --brokers the nodes of a cluster in KRaft mode are restarted, as `plan --brokers` says: one at a time, the
    active controller last, each when no partition is under-replicated and every controller has the committed metadata.
    At last `features upgrade` raises the levels, once, and only with consent.

    Exit status 0 if the group runs the release (with --back: what it ran before); 3 if somebody has to decide, or has
    stopped it: the same command continues; 4 if it was rolled back instead; 5 if another roll of the group is under
    way; 1 if the plan is unsafe or something fails; 2 wrong usage; 130 interrupted.

    \b
    Examples:
      export KAFKA_BOOTSTRAP_SERVERS=localhost:9092
      streams-assignor roll billing --to 4.3 --dry-run
      streams-assignor roll billing --to 4.3 --by-hand
      streams-assignor roll billing --to 4.3 --restart "./restart.sh {instance} {release} {upgrade_from}"
      streams-assignor roll billing --to 4.3 --stop "./stop.sh {instance}" --start "./start.sh {instance} {release}"
      streams-assignor roll billing --to 4.3 --restart "./restart.sh" --canary pod-0 --yes --report roll.md
      streams-assignor roll billing --to 4.3 --restart "./restart.sh" --back
      streams-assignor roll --brokers --to 4.3.1 --restart "./restart-broker.sh {instance} {release}"
    """  # noqa: D301 - click reads the backspace character
    if brokers == bool(group):
        raise click.UsageError("expected GROUP, or --brokers")
    if brokers:
        refuse_group_options(context)
    options = RollOptions(group=group or BROKERS, **given)
    commands, verbs = options.commands()
    options.check_releases()
    servers, config = cluster_settings(context, bootstrap_servers, command_config)
    silence_client_logs()
    step("")
    lookup = load_lookup(options.client)(servers, config.settings, config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS)
    target = LiveTarget(servers, config, lookup, resolve_release(options.assume).release if options.assume else None)
    try:
        if brokers:
            subject = _of_brokers(options, target, verbs)
            commands = {**commands, ONCE: finalize_command(servers, command_config, options.target, options.assume)}
        else:
            subject = _of_group(options, target, verbs)
        status = _roll(options, commands, verbs, subject)
    except click.ClickException:
        raise
    except StreamsAssignorError as error:
        raise CommandFailed(sanitize(str(error))) from error
    context.exit(status)


@frozen(kw_only=True)
class RollOptions:
    """The options of the command line."""

    group: str
    target: str
    origin: str | None
    restart: str | None
    stop: str | None
    start: str | None
    by_hand: bool
    instances_file: Path | None
    batch: int
    canary: str | None
    offline: bool
    without: str | None
    max_unowned: float
    max_lag: int
    timeout: float
    session_timeout: float | None
    interval: float
    settings_file: Path | None
    state: str
    no_forecast: bool
    yes: bool
    accept_no_way_back: bool
    answer: str | None
    back: bool
    journal_path: Path | None
    report_path: Path | None
    no_lock: bool
    dry_run: bool
    as_json: bool
    assume: str | None
    client: str | None

    def commands(self) -> tuple[Mapping[str, CommandTemplate], tuple[str, ...]]:
        """Return the templates by verb, and the verbs of a restart; wrong usage if they do not fit together."""
        texts = {RESTART: self.restart, STOP: self.stop, START: self.start}
        given = {verb: text for verb, text in texts.items() if text is not None}
        fits = (*given,) in {(RESTART,), (STOP, START)} and not self.by_hand
        only_shown = self.dry_run and not given
        if not (fits or only_shown or (self.by_hand and not given)):
            raise click.UsageError("expected --restart, or --stop and --start, or --by-hand")
        try:
            templates = {verb: CommandTemplate.parse(text) for verb, text in given.items()}
        except UpgradeError as error:
            raise click.UsageError(str(error)) from error
        return templates, tuple(given) or (BY_HAND,)

    def check_releases(self) -> None:
        """Refuse names that are no releases, before anything is looked at."""
        for option, name in {"--to": self.target, "--from": self.origin}.items():
            try:
                if name is not None:
                    resolve_release(name, self.assume)
            except UpgradeError as error:
                raise click.BadParameter(str(error), param_hint=option) from error

    @property
    def limits(self) -> RollLimits:
        """How long is waited, and for what."""
        return RollLimits(
            timeout_s=self.timeout,
            max_unowned_s=self.max_unowned,
            max_lag=self.max_lag,
            session_timeout_s=self.session_timeout or DEFAULT_SESSION_S,
        )

    @property
    def journal(self) -> Path:
        """The file of the journal."""
        names = (_NOT_IN_A_NAME.sub("_", name) for name in (self.group, self.target))
        return self.journal_path or Path(f"{'-to-'.join(names)}.roll.jsonl")


@frozen
class LiveTarget:
    """The cluster of a roll."""

    servers: str
    config: CommandConfig = field(repr=False)
    lookup: Lookup
    assume: Release | None


@frozen
class RollSubject:
    """What a roll of a group and a roll of brokers do differently."""

    targets: frozenset[str]
    """The names of the release that is to be reached."""
    plan: Callable[[RollView], RollPlan | None]
    """Derive the plan and show it; None: nothing is to be done."""
    rules: RollRules[Any]
    looking: Callable[[RollState], tuple[Callable[[], Any], Callable[[BeginStep], Expectation]]]
    """Return how to look, and what is expected of a step after the last look."""
    lock: Callable[[RollView], AbstractContextManager[Callable[[], None]]]


def _of_group(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...]) -> RollSubject:
    def looking(state: RollState) -> tuple[Callable[[], Any], Callable[[BeginStep], Expectation]]:
        names = names_of(state.plan.instances)
        last: list[LiveLook] = []

        def look() -> Any:
            last[:] = [_look(options, target, names)]
            return last[0].seen

        return look, lambda first: _expectation(options, first, last[0], names)

    wanted = resolve_release(options.target, options.assume)
    targets = frozenset(release.name for release in wanted.candidates)
    return RollSubject(
        targets, partial(_plan, options, target, verbs), GROUP_RULES, looking, partial(_lock, options, target)
    )


def _lock(options: RollOptions, target: LiveTarget, view: RollView) -> AbstractContextManager[Callable[[], None]]:
    return cluster_lock(options.group, target.servers, target.config.settings, target.lookup, view.note)


def _of_brokers(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...]) -> RollSubject:
    from upgrade.cluster.client.feature_client import FeatureClient

    client = FeatureClient(target.servers, settings=target.config.settings, timeout_seconds=LOOK_SECONDS)

    def looking(state: RollState) -> tuple[Callable[[], Any], Callable[[BeginStep], Expectation]]:
        ids = ids_of(state.plan.instances)
        return (lambda: look_at_cluster(client, ids)), lambda _step: Expectation(why_none=NO_FORECAST_OF_NODES)

    def plan(view: RollView) -> RollPlan | None:
        return _planned_cluster(options, client, verbs, view)

    targets = frozenset({broker_release(options.target, options.assume).name})
    return RollSubject(targets, plan, CLUSTER_RULES, looking, partial(_lock, options, target))


def _planned_cluster(
    options: RollOptions, client: FeatureClient, verbs: tuple[str, ...], view: RollView
) -> RollPlan | None:
    """Derive the plan of a cluster, and show it; None: it runs the release, with its levels."""
    health = client.describe_health()
    found = plan_cluster(health, options.target, options.origin, options.instances_file, options.assume)
    if found.advice is None:
        view.note(f"the cluster runs {options.target} already, with its levels: nothing to do")
        return None
    if not options.as_json:
        for line in broker_plan_lines(found.advice, DisplayOptions()):
            view.note(line)
    roll_plan = RollPlan(
        name=BROKERS,
        origin=found.advice.origin,
        target=found.advice.target,
        rounds=cluster_rounds(found.advice),
        instances=instances_of(found.node_ids),
        kind=BROKERS,
        verbs=verbs,
        canary=options.canary,
        limits=options.limits,
        notes=found.advice.warnings,
    )
    check_plan(roll_plan)
    if not options.as_json:
        for line in plan_lines(roll_plan):
            view.note(line)
    return roll_plan


def _view(*, as_json: bool) -> RollView:
    """Return what shows the roll: lines of JSON, a picture on a terminal, plain lines elsewhere."""
    if as_json:
        return RollJson(click.echo)
    if sys.stdout.isatty():
        from assignor.cli.roll._live import RollLive

        return RollLive(SafeConsole())
    return RollLines(click.echo)


def _roll(
    options: RollOptions, commands: Mapping[str, CommandTemplate], verbs: tuple[str, ...], subject: RollSubject
) -> int:
    view = _view(as_json=options.as_json)
    interrupts = Interrupts(view.note)
    if options.dry_run:
        subject.plan(view)
        return 0
    exists = has_begun(options.journal)
    if options.back and not exists:
        raise CommandFailed(f"{options.journal}: expected the journal of what is to be rolled back, got no file")
    lock: Any = nullcontext(lambda: None)
    if not options.no_lock:
        lock = subject.lock(view)
    with lock as check_lock:
        planned = None if exists else subject.plan(view)
        if not exists and planned is None:
            return 0
        for template in commands.values():
            template.check(planned.names if planned else ())
        with open_journal(options.journal) as journal, interrupts.caught():
            try:
                options, state = _state(options, journal, planned, verbs, view, subject)
                state = drive(
                    journal, state, _settings(options, subject, state, commands, check_lock, view, interrupts)
                )
            except KeyboardInterrupt:
                if journal.lines:
                    view.note(_unknown(replay(journal.records)))
                raise
            finally:
                if options.report_path and journal.lines:
                    options.report_path.write_text("\n".join(report_lines(journal.lines)) + "\n", "utf-8")
    return _status(options, state, interrupts, view)


def _status(options: RollOptions, state: RollState, interrupts: Interrupts, view: RollView) -> int:
    if state.outcome:
        if options.back or state.outcome == NO_WAY_BACK:
            return 0 if state.outcome == ROLLED_BACK else 1
        return 0 if state.outcome == FINISHED else ROLLED_BACK_INSTEAD
    if interrupts.is_asked:
        view.note(f"interrupted after step {state.steps}; the same command continues")
        return INTERRUPTED
    view.note("stopped; the same command continues")
    return NEEDS_DECISION


def _unknown(state: RollState) -> str:
    """Say what is not known after a second Ctrl-C."""
    pending = state.step and next((key for key, end in state.step.ended.items() if end is None), None)
    if state.step and pending:
        instance, verb = pending
        return (
            f"step {state.step.number}: {verb} {instance} was under way, and goes on: whether it does its work is not "
            "known. The same command looks, and repeats nothing unasked"
        )
    if state.step and not state.step.is_untouched:
        return f"step {state.step.number} has not passed its gates. The same command goes on with them"
    return f"nothing was under way after step {state.steps}. The same command continues"


# -- planning --------------------------------------------------------------------------------------------------------


def _plan(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...], view: RollView) -> RollPlan | None:
    """Derive the plan from what the group is, and show it; None: it runs the release already."""
    found = _look(options, target, InstanceNames({}))
    if found.group is None:
        raise CommandFailed(f"group {printable(options.group)}: {found.seen.problem or 'it does not exist'}")
    if not found.group.is_streams and found.group.described.state not in WITHOUT_METADATA:
        shown = " ".join(filter(None, (found.seen.state, found.group.described.type, found.group.described.protocol)))
        raise CommandFailed(f"group {printable(options.group)}: expected a classic group of Kafka Streams, got {shown}")
    live = read_group(options.group, target.servers, target.config, options.client, target.assume)
    wanted = resolve_release(options.target, options.assume)
    origin = resolve_release(options.origin, options.assume) if options.origin else live.origin(wanted)
    if is_same_release(origin, wanted):
        view.note(f"{options.group} runs {wanted.release} already: nothing to do")
        return None
    absent = features_named(options.without) if options.without else frozenset()
    application = PlannedApplication(
        group=live,
        absent=absent,
        settings=read_settings(options.settings_file) if options.settings_file else None,
        settings_source=str(options.settings_file),
    )
    planned = plan_for(application, origin, wanted, offline=options.offline)
    if not options.as_json:
        for line in _plan_text(planned):
            view.note(line)
    if planned.reasons or not planned.is_safe:
        why = planned.blocked or "the plan is unsafe, see above: --without names what the application does not have"
        raise CommandFailed(sanitize(f"{options.group}: {why}"))
    names = read_instances(options.instances_file) if options.instances_file else seen_instances(found.group)
    roll_plan = RollPlan(
        name=options.group,
        origin=planned.advice.origin,
        target=planned.advice.target,
        rounds=group_rounds(planned.advice),
        instances=names.instances(found.group),
        verbs=verbs,
        batch=options.batch,
        canary=options.canary,
        limits=options.limits,
        notes=planned.advice.notes,
    )
    check_plan(roll_plan)
    if not options.as_json:
        for line in plan_lines(roll_plan):
            view.note(line)
    state = begin(roll_plan)
    seen = _look(options, target, names)
    first = BeginStep(1, roll_plan.rounds[0], next_instances(state, roll_plan.rounds[0], seen.seen.leader))
    view.note(
        f"first step, {', '.join(first.instances)}: {expectation_text(_expectation(options, first, seen, names))}"
    )
    return roll_plan


def _plan_text(planned: ApplicationPlan) -> Iterator[str]:
    view = DisplayOptions()
    yield from group_plan_lines(planned.advice, view, planned.checked, blocked=planned.blocked, judged=planned.judged)
    yield ""


def _look(options: RollOptions, target: LiveTarget, names: InstanceNames) -> LiveLook:
    return look_at(target.lookup, options.group, names, target.assume)


def _expectation(options: RollOptions, first: BeginStep, found: LiveLook, names: InstanceNames) -> Expectation:
    if options.no_forecast:
        return Expectation(why_none="--no-forecast")
    config = read_config(options.settings_file) if options.settings_file else StreamsConfig()
    return expectation_of(
        first,
        found.group,
        names,
        config,
        ephemeral=options.state == "ephemeral",
        session_timeout_s=options.session_timeout,
    )


# -- the state -------------------------------------------------------------------------------------------------------


def _state(
    options: RollOptions,
    journal: JournalFile,
    planned: RollPlan | None,
    verbs: tuple[str, ...],
    view: RollView,
    subject: RollSubject,
) -> tuple[RollOptions, RollState]:
    """Return the state of a journal, a new one or one that is continued, and the options that it has not used."""
    if planned:
        journal.clear()  # a plan that nobody has confirmed
        state = begin(planned)
        view.record(journal.append(PlanRecorded(plan=planned)), state)
        return options, state
    state = replay(journal.records, str(journal.path))
    _check_same(options, state.plan, verbs, journal.path, subject.targets)
    state = evolve(state, plan=evolve(state.plan, batch=options.batch, limits=options.limits))

    def write(record: Any) -> None:
        nonlocal state
        line = journal.append(record)
        state = state.after(record)
        view.record(line, state)

    if options.answer and state.deviation and options.answer in {one.value for one in state.deviation.options}:
        found = state.deviation
        write(
            QuestionAnswered(
                about=ABOUT_DEVIATION,
                option=SafeOption(options.answer),
                step=found.step,
                kind=found.kind,
                instances=found.instances,
                by=_by("--answer"),
            )
        )
        options = evolve(options, answer=None)
    if not state.outcome or options.back:
        write(RollResumed(torn=journal.is_torn))
    if options.back and not state.is_going_back and not state.wants_back:
        write(QuestionAnswered(about="back", option=SafeOption.BACK, by=_by("--back")))
    return options, state


def _check_same(
    options: RollOptions, plan: RollPlan, verbs: tuple[str, ...], path: Path, wanted: frozenset[str]
) -> None:
    """Refuse to continue another roll."""
    if plan.name != options.group or plan.target not in wanted:
        raise CommandFailed(
            f"{path} is the journal of {plan.name} to {plan.target}, not of {options.group} to {options.target}: "
            "--journal names another file"
        )
    if plan.verbs != verbs:
        raise CommandFailed(
            f"{path} was begun with {' and '.join(plan.verbs)}: expected the same, got {' and '.join(verbs)}"
        )
    if options.canary not in (None, plan.canary):
        raise CommandFailed(f"{path} was begun with the canary {plan.canary or 'of nobody'}, got {options.canary}")
    if options.instances_file and options.group != BROKERS:
        named = read_instances(options.instances_file)
        if named != names_of(plan.instances):
            raise CommandFailed(f"{path} was begun with other instances than those of {options.instances_file}")


def _by(option: str) -> str:
    return f"{option}, {user_name()}"


# -- executing -------------------------------------------------------------------------------------------------------


def _settings(
    options: RollOptions,
    subject: RollSubject,
    state: RollState,
    commands: Mapping[str, CommandTemplate],
    check_lock: Callable[[], None],
    view: RollView,
    interrupts: Interrupts,
) -> RollSettings:
    look, expect = subject.looking(state)
    return RollSettings(
        rules=subject.rules,
        look=look,
        expect=expect,
        commands=commands,
        ask=_Answers(options, view, interrupts).ask,
        check_lock=check_lock,
        view=view,
        interrupts=interrupts,
        interval_s=options.interval,
        command_timeout_s=options.timeout,
    )


class _Answers:
    """Answers questions: by options, or by asking at a terminal."""

    def __init__(self, options: RollOptions, view: RollView, interrupts: Interrupts) -> None:
        self._options = options
        self._interrupts = interrupts
        self._view = view
        self._answer = SafeOption(options.answer) if options.answer else None

    def ask(self, question: AskOperator, state: RollState) -> Decided | None:
        """Return the answer; None if nobody can give it now."""
        options = self._options
        if question.about == ABOUT_PLAN and (options.yes or options.back):
            return Decided(SafeOption.CONTINUE, _by("--yes"))
        if question.about == ABOUT_WAY_BACK and options.accept_no_way_back:
            return Decided(SafeOption.CONTINUE, _by("--accept-no-way-back"))
        if question.about not in (ABOUT_PLAN, ABOUT_WAY_BACK) and self._answer in question.options:
            answer, self._answer = self._answer, None
            return Decided(answer, _by("--answer"))
        for line in question_lines(question, state):
            self._view.note(line)
        if not sys.stdin.isatty() or options.as_json:
            return None
        choices = click.Choice([option.value for option in question.options])
        with self._interrupts.at_once():
            return Decided(SafeOption(click.prompt("decision", type=choices, err=True)), _by("at the terminal"))
