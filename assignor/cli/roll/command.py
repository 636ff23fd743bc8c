"""``streams-assignor roll``: an upgrade of a live group, executed step by step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from attrs import evolve

from streams_assignor.cli._exit_status import CommandFailed
from streams_assignor.cli._files import refuse_same_files
from streams_assignor.cli.group._lookup import load_lookup
from streams_assignor.cli.lazy_group import discard_output
from streams_assignor.cli.params import (
    ASSUME,
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG,
    VERBOSE,
    Duration,
    cluster_settings,
    complete_release,
    silence_client_logs,
)
from streams_assignor.cli.roll._answers import RollAnswers, by_option
from streams_assignor.cli.roll._brokers import brokers_subject, finalize_command, refuse_group_options
from streams_assignor.cli.roll._commands import CommandTemplate, check_values
from streams_assignor.cli.roll._driver import Interrupts, LastingView, RollSettings, RollView, drive
from streams_assignor.cli.roll._group import group_subject
from streams_assignor.cli.roll._instances import names_of, read_instances
from streams_assignor.cli.roll._journal_file import JournalFile, has_begun, open_journal
from streams_assignor.cli.roll._options import EPHEMERAL, PERSISTENT, LiveTarget, RollOptions
from streams_assignor.cli.roll._output import RollJson, RollLines
from streams_assignor.cli.roll._report import report_file
from streams_assignor.cli.roll._subject import RollSubject
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.codec import StreamsAssignorError
from streams_assignor.formats.console import SafeConsole
from streams_assignor.formats.progress import step
from streams_assignor.formats.text import sanitize
from streams_assignor.groups import LOOKUP_TIMEOUT_SECONDS
from streams_assignor.upgrade.releases import resolve_release
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.engine import FINISHED, NO_WAY_BACK, ROLLED_BACK, ended, unlike_its_end, watching
from streams_assignor.upgrade.roll.gates import RollWatch
from streams_assignor.upgrade.roll.journal import OriginNamed, PlanRecorded, QuestionAnswered, RollEnded, RollResumed
from streams_assignor.upgrade.roll.plan import (
    BROKERS,
    DEFAULT_MAX_LAG,
    DEFAULT_MAX_UNOWNED_S,
    DEFAULT_TIMEOUT_S,
    GROUP,
    ONCE,
    RollPlan,
    RoundAction,
    check_plan,
)
from streams_assignor.upgrade.roll.state import ABOUT_DEVIATION, RollState, begin, replay

NEEDS_DECISION: Final = 3
ROLLED_BACK_INSTEAD: Final = 4
INTERRUPTED: Final = 130
_DAY: Final = 86_400


@click.command(cls=StrictCommand)
@click.argument("group", required=False)
@click.option("--to", "target", required=True, metavar="RELEASE", shell_complete=complete_release, help="The release.")
@click.option("--brokers", is_flag=True, help="Roll the nodes of the cluster, in KRaft mode, instead of a group.")
@click.option(
    "--level-unchanged",
    is_flag=True,
    help="With --brokers: each node has a snapshot of the metadata that is newer than the last change of its level.",
)
@click.option(
    "--from",
    "origin",
    metavar="RELEASE",
    shell_complete=complete_release,
    help="The release that runs now, or from which an interrupted upgrade began.  [default: what the members show]",
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
@click.option("--leader", metavar="INSTANCE", help="This instance leads: it comes last where the plan asks for that.")
@click.option("--offline", is_flag=True, help="Stop the whole group, then start it; always possible.")
@click.option("--without", metavar="FEATURE,...", help="Features that the application does not have, as in plan.")
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
    metavar="OFFSETS",
    help="A task whose state is further behind when its owner joins has to commit.  [default: acceptable.recovery.lag "
    f"of --config, else {DEFAULT_MAX_LAG:,}]",
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
    "--soak",
    type=Duration(0, _DAY),
    metavar="DURATION",
    help="So long an instance has to live after it has joined, by commits, --ready or its session.  [default: "
    "--session-timeout; 0 believes the first look]",
)
@click.option("--ready", metavar="COMMAND", help="Ends with status 0 if an instance is ready, as a readiness probe.")
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
    type=click.Choice([PERSISTENT, EPHEMERAL]),
    help="Whether an instance that starts finds its state stores, for forecasts.  [default: persistent, until one "
    "shows the other]",
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
    your command, in whose words {instance}, {release}, {upgrade_from}, {round}, {group} and {empty_state} are replaced;
    they are in its environment, too (ROLL_INSTANCE, ...). It runs without a shell. After a step the instance has to be
    back with the right release and upgrade.from, the group stable, each task owned once, versions as forecast, no
    probing rebalance scheduled, lag low, commits have to advance, and the instance has to live on. If not, roll stops
    and says what was expected, what is there, what it probably means, and what is safe.

    The journal has each intent before it is executed, so that the same command continues after a crash: it looks
    whether a restart has happened, or asks, and repeats none unasked. A lock in the cluster keeps out a second roll.
    Ctrl-C ends after the current step, a second one at once.

    With --brokers the nodes of a cluster in KRaft mode are restarted, as `plan --brokers` says: one at a time, the
    active controller last, each when no partition is under-replicated and every controller has the committed metadata.
    At last `features upgrade` raises the levels, once, and only with consent.

    Exit status 0 if the group runs the release, as far as it shows (with --back: what it ran before); 3 if somebody
    has to decide, or has stopped it (the same command continues), or the group has changed since it was finished; 4 if
    it was rolled back instead; 5 if another roll of the group is under way; 1 if the plan is unsafe or something fails;
    2 wrong usage; 130 interrupted.

    \b
    Examples:
      export KAFKA_BOOTSTRAP_SERVERS=localhost:9092
      streams-assignor roll billing --to 4.3 --dry-run
      streams-assignor roll billing --to 4.3 --by-hand
      streams-assignor roll billing --to 4.3 --restart "./restart.sh {instance} {release} {upgrade_from}"
      streams-assignor roll billing --to 4.3 --stop "./stop.sh {instance}" --start "./start.sh {instance} {release}"
      streams-assignor roll billing --from 3.9 --to 4.3 --restart "./restart.sh" --canary pod-0 --yes
      streams-assignor roll billing --from 3.9 --to 4.3 --restart "./restart.sh" --back
      streams-assignor roll --brokers --to 4.3.1 --restart "./restart-broker.sh {instance} {release}"
    """  # noqa: D301 - click reads the backspace character
    if brokers == bool(group):
        raise click.UsageError("expected GROUP, or --brokers")
    if brokers:
        refuse_group_options(context)
    options = RollOptions(group=group or BROKERS, **given)
    commands, verbs = options.commands()
    options.probe()
    options.check_releases()
    if options.dry_run and (options.back or options.answer):
        raise click.UsageError("--dry-run shows the plan of a new roll, so it fits neither --back nor --answer")
    refuse_same_files(
        {"--journal": options.journal, "--report": options.report_path},
        {"--instances": options.instances_file, "--config": options.settings_file, "--command-config": command_config},
    )
    servers, config = cluster_settings(context, bootstrap_servers, command_config)
    silence_client_logs()
    step("")
    lookup = load_lookup()(servers, config.settings, config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS)
    target = LiveTarget(servers, config, lookup, resolve_release(options.assume).release if options.assume else None)
    try:
        if brokers:
            subject = brokers_subject(options, target, verbs)
            commands = {**commands, ONCE: finalize_command(servers, command_config, options.target, options.assume)}
        else:
            subject = group_subject(options, target, verbs)
        status = _roll(options, commands, verbs, subject)
    except click.ClickException:
        raise
    except StreamsAssignorError as error:
        raise CommandFailed(sanitize(str(error))) from error
    context.exit(status)


def _view(*, as_json: bool) -> RollView:
    """Return what shows the roll: lines of JSON, a picture on a terminal, plain lines elsewhere."""
    if as_json:
        return RollJson(click.echo)
    if sys.stdout.isatty():
        from streams_assignor.cli.roll._live import RollLive

        return RollLive(SafeConsole())
    return RollLines(click.echo)


def _roll(
    options: RollOptions, commands: Mapping[str, CommandTemplate], verbs: tuple[str, ...], subject: RollSubject
) -> int:
    view = _view(as_json=options.as_json)
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
        planned = planned and evolve(planned, cluster_id=subject.cluster_id())
        templates = (*commands.values(), *filter(None, [options.probe()]))
        interrupts = Interrupts()
        view = LastingView(view, partial(_closed, interrupts))
        with open_journal(options.journal) as journal, report_file(options.report_path) as report, interrupts.caught():
            check_values(templates, planned or replay(journal.records, str(journal.path)).plan)
            try:
                options, state = _state(options, journal, planned, verbs, view, subject)
                was_over = bool(state.outcome) and not state.wants_back
                state = drive(
                    journal, state, _settings(options, subject, state, commands, check_lock, view, interrupts)
                )
            except KeyboardInterrupt:
                if journal.lines:
                    view.note(_unknown(replay(journal.records)))
                raise
            finally:
                if journal.lines and not journal.is_lost:
                    report(journal.lines)
        if was_over and (differs := _differs(options, state, subject, view)):
            view.note(f"{state.plan.name}: {state.outcome} then; now {'; '.join(differs)}")
            return NEEDS_DECISION
    return _status(options, state, interrupts, view)


def _differs(options: RollOptions, state: RollState, subject: RollSubject, view: RollView) -> tuple[str, ...]:
    """Look, for at most a session, how what was rolled differs from what the roll has left."""
    left, limits = ended(state), state.plan.limits
    if left is None:
        return ()
    if limits.soak_s:
        view.note(f"looking for {limits.session_timeout_s:g} s whether it is still so; --soak 0 looks once")
    look, until, watch = subject.looking(state).look, time.monotonic() + limits.session_timeout_s, RollWatch()
    while True:
        seen = look()
        watch = watching(left, watch, seen, subject.rules)
        differs = unlike_its_end(left, watch, seen, subject.rules)
        if not differs or time.monotonic() > until:
            return tuple(dict.fromkeys(result.text for result in differs if result.kind))
        time.sleep(options.interval)


def _closed(interrupts: Interrupts) -> None:
    """Go on without output until the step has ended: a pipe or a terminal was closed, or a disk is full."""
    interrupts.ask()
    discard_output()


def _status(options: RollOptions, state: RollState, interrupts: Interrupts, view: RollView) -> int:
    if state.outcome and not state.wants_back:
        if options.back or state.outcome == NO_WAY_BACK:
            return 0 if state.outcome == ROLLED_BACK else 1
        return 0 if state.outcome == FINISHED else ROLLED_BACK_INSTEAD
    if interrupts.is_asked:
        where = f"in step {state.step.number}" if state.step else f"after step {state.steps}"
        view.note(f"interrupted {where}; the same command continues")
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
        if journal.records and replay(journal.records, str(journal.path)).confirmed:
            raise CommandFailed(
                f"{journal.path}: another process has begun this roll meanwhile: the same command continues it"
            )
        journal.clear()  # a plan that nobody has confirmed
        state = begin(planned)
        view.record(journal.append(PlanRecorded(plan=planned)), state)
        return options, state
    state = replay(journal.records, str(journal.path))
    _check_same(options, state.plan, verbs, journal.path, subject)
    leader = options.leader or state.plan.leader
    state = evolve(state, plan=evolve(state.plan, batch=options.batch, limits=options.limits, leader=leader))
    check_plan(state.plan)

    def write(record: Any) -> None:
        nonlocal state
        line = journal.append(record)
        state = state.after(record)
        view.record(line, state)

    if options.answer and state.deviation and (state.is_going_back or not options.back):
        if options.answer not in (offered := [one.value for one in state.deviation.options]):
            raise click.BadParameter(
                f"expected one of {', '.join(offered)}, got {options.answer}", param_hint="--answer"
            )
        found = state.deviation
        write(
            QuestionAnswered(
                about=ABOUT_DEVIATION,
                option=SafeOption(options.answer),
                step=found.step,
                kind=found.kind,
                instances=found.instances,
                by=by_option("--answer"),
            )
        )
        options = evolve(options, answer=None)
    if options.origin and state.plan.origins:
        write(OriginNamed(plan=subject.named(state.plan), by=by_option("--from")))
    if not state.outcome or options.back:
        write(RollResumed(torn=journal.is_torn, seconds=journal.seconds_in_step))
    else:
        # A record after the end has changed nothing.
        ended_at = next(line.at for line in reversed(journal.lines) if isinstance(line.record, RollEnded))
        text = f"{state.plan.name}: {state.outcome} at {ended_at}, says {journal.path}"
        view.note(f"{text}; --journal names another file for another roll")
    if options.back and not state.is_going_back and not state.wants_back:
        write(QuestionAnswered(about="back", option=SafeOption.BACK, by=by_option("--back")))
    return options, state


def _check_same(options: RollOptions, plan: RollPlan, verbs: tuple[str, ...], path: Path, subject: RollSubject) -> None:
    """Refuse to continue another roll."""
    if (plan.kind, plan.name) != (subject.kind, options.group) or plan.target not in subject.targets:
        begun, wanted = (
            name if kind == GROUP else "--brokers"
            for kind, name in ((plan.kind, plan.name), (subject.kind, options.group))
        )
        raise CommandFailed(
            f"{path} is the journal of {begun} to {plan.target}, not of {wanted} to {options.target}: --journal names "
            "another file"
        )
    if plan.cluster_id and (cluster_id := subject.cluster_id()) != plan.cluster_id:
        where = f"in cluster {plan.cluster_id}, not in {cluster_id or 'one without id'}"
        raise CommandFailed(f"{path} is the journal of {plan.name} {where}: --journal names another file")
    if plan.verbs != verbs:
        raise CommandFailed(
            f"{path} was begun with {' and '.join(plan.verbs)}: expected the same, got {' and '.join(verbs)}"
        )
    if options.origin and plan.kind == GROUP and not plan.origins:
        origins = {release.name for release in resolve_release(options.origin, options.assume).candidates}
        if resolve_release(plan.origin).release.name not in origins:
            raise CommandFailed(f"{path} was begun from {plan.origin}, got --from {options.origin}")
    if options.offline and all(each.action is not RoundAction.STOP for each in plan.rounds):
        raise CommandFailed(f"{path} was begun without --offline")
    if options.canary not in (None, plan.canary):
        raise CommandFailed(f"{path} was begun with the canary {plan.canary or 'of nobody'}, got {options.canary}")
    if options.instances_file and plan.kind == GROUP and options.answer != SafeOption.REPLAN.value:
        named = read_instances(options.instances_file)
        if named != names_of(plan.instances):
            raise CommandFailed(f"{path} was begun with other instances than those of {options.instances_file}")


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
    looks = subject.looking(state)
    return RollSettings(
        rules=subject.rules,
        look=looks.look,
        expect=looks.expect,
        replan=looks.replan,
        compare=looks.compare,
        commands=commands,
        probe=options.probe(),
        ask=RollAnswers(options, view, interrupts).ask,
        check_lock=check_lock,
        view=view,
        interrupts=interrupts,
        interval_s=options.interval,
        command_timeout_s=options.timeout,
    )
