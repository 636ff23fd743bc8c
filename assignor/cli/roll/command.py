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
from streams_assignor.cli.lazy_group import discard_output
from streams_assignor.cli.params import (
    ASSUME,
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG,
    FILE,
    INTERVAL_HELP,
    NEW_FILE,
    VERBOSE,
    Duration,
    cluster_settings,
    complete_release,
    silence_client_logs,
)
from streams_assignor.cli.roll._answers import RollAnswers, by_option
from streams_assignor.cli.roll._brokers import brokers_subject, finalize_command, refuse_group_options
from streams_assignor.cli.roll._driver import Interrupts, LastingView, RollSettings, RollView, drive
from streams_assignor.cli.roll._group import group_subject
from streams_assignor.cli.roll._journal_file import JournalFile, has_begun, open_journal
from streams_assignor.cli.roll._options import EPHEMERAL, PERSISTENT, LiveTarget, RollOptions
from streams_assignor.cli.roll._report import report_file
from streams_assignor.cli.roll._subject import RollSubject
from streams_assignor.cli.roll.commands import CommandTemplate, check_values
from streams_assignor.cli.roll.instances import names_of, read_instances
from streams_assignor.cli.roll.output import RollJson, RollLines
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
@click.option("--restart", metavar="COMMAND", help="Restarts one instance with another release.")
@click.option("--by-hand", is_flag=True, help="Print each step, and wait until it is done.")
@click.option("--dry-run", is_flag=True, help="Show plan, order and the first forecast.")
@click.option("--yes", is_flag=True, help="Do not ask before the first step.")
@click.option("--from", "origin", metavar="RELEASE", shell_complete=complete_release, help="The release of before.")
@click.option("--stop", metavar="COMMAND", help="Stops one instance; with --start.")
@click.option("--start", metavar="COMMAND", help="Starts one instance; with --stop.")
@click.option("--instances", "instances_file", type=FILE, metavar="FILE", help="A line each: name, and what shows it.")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="So many instances at a time.")
@click.option("--canary", metavar="INSTANCE", help="This instance first and alone, each round.")
@click.option("--leader", metavar="INSTANCE", help="It leads: last where the plan says so.")
@click.option("--offline", is_flag=True, help="Stop the whole group, then start it.")
@click.option("--without", metavar="FEATURE,...", help="What the application lacks, as in plan.")
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
    help="A task that is further behind has to commit.  [default: acceptable.recovery.lag of --config, else "
    f"{DEFAULT_MAX_LAG:,}]",
)
@click.option(
    "--timeout",
    type=Duration(1, 7 * _DAY),
    default=DEFAULT_TIMEOUT_S,
    metavar="DURATION",
    help="Limit of a step or a command.  [default: 15m]",
)
@click.option(
    "--session-timeout",
    type=Duration(1, _DAY),
    metavar="DURATION",
    help="session.timeout.ms.  [default: that of --config, else 45s; in forecasts that of the release]",
)
@click.option(
    "--soak",
    type=Duration(0, _DAY),
    metavar="DURATION",
    help="So long an instance has to live.  [default: --session-timeout; 0 believes the first look]",
)
@click.option("--ready", metavar="COMMAND", help="Ends with status 0 if an instance is ready.")
@click.option("--interval", type=Duration(0.1, 3600), default=1.0, metavar="DURATION", help=INTERVAL_HELP)
@click.option("--config", "settings_file", type=FILE, metavar="FILE", help="The settings of the members.")
@click.option("--state", type=click.Choice([PERSISTENT, EPHEMERAL]), help="Whether state stores outlive a restart.")
@click.option("--no-forecast", is_flag=True, help="Expect only what the rules of releases say.")
@click.option("--accept-no-way-back", is_flag=True, help="Do not ask where no way leads back.")
@click.option("--answer", type=click.Choice([option.value for option in SafeOption]), help="Answers the next question.")
@click.option("--back", is_flag=True, help="Roll back what the journal has done.")
@click.option(
    "--journal",
    "journal_path",
    type=NEW_FILE,
    metavar="FILE",
    help="Made, or continued.  [default: GROUP-to-RELEASE.roll.jsonl]",
)
@click.option("--report", "report_path", type=NEW_FILE, metavar="FILE", help="Write a page for the change ticket.")
@click.option("--no-lock", is_flag=True, help="Do not keep a second roll out.")
@click.option("--brokers", is_flag=True, help="Roll the nodes of a KRaft cluster instead.")
@click.option("--level-unchanged", is_flag=True, help="Of --brokers: snapshots have the level.")
@click.option("--json", "as_json", is_flag=True, help="Lines of JSON: records, and waits.")
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

    The plan is that of `plan RELEASE --group GROUP`. Your command restarts an instance, without a shell; {instance},
    {release}, {upgrade_from}, {round}, {group} and {empty_state} in it are replaced. If the group is not as expected
    after a step, roll stops and says what is safe. After a crash the same command continues, from its journal.

    Exit status 0 done; 1 unsafe or failed; 2 wrong usage; 3 somebody has to decide; 4 rolled back; 5 another roll is
    under way; 130 interrupted.

    \b
    Examples:
      streams-assignor roll billing --to 4.3 --dry-run
      streams-assignor roll billing --to 4.3 --by-hand
      streams-assignor roll billing --to 4.3 --restart "./restart.sh {instance} {release} {upgrade_from}"
      streams-assignor roll billing --to 4.3 --stop "./stop.sh {instance}" --start "./start.sh {instance} {release}"
      streams-assignor roll --brokers --to 4.3.1 --restart "./restart-broker.sh {instance} {release}"
    """  # noqa: D301 - click reads the backspace character
    if brokers == bool(group):
        raise click.UsageError("expected GROUP, or --brokers")
    if brokers:
        refuse_group_options(context)
    options = RollOptions(group=group or BROKERS, **given)
    commands, verbs = options.commands()
    options.probe()
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

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
    lookup = GroupLookup(servers, config.settings, config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS)
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
    limits = options.limits_after(state.plan.limits)
    state = evolve(state, plan=evolve(state.plan, batch=options.batch, limits=limits, leader=leader))
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
