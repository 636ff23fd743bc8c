"""``plan --to-protocol``: a group changes from the classic to the streams protocol, or back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from attrs import evolve, field, frozen

from streams_assignor.cli.params import BOOTSTRAP_SERVERS, COMMAND_CONFIG, cluster_settings
from streams_assignor.cli.plan.application import application_files
from streams_assignor.cli.plan.text import (
    decided_by,
    hazard_lines,
    judged_lines,
    rest_text,
    split_text,
    step_lines,
    undecided_note,
)
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.application.live_group import LiveGroup
from streams_assignor.upgrade.application.setting_files import is_placeholder
from streams_assignor.upgrade.application_plan import PlannedApplication
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import CheckedScope, JudgedHazard, ReadGuides, assumptions_of, scope_of
from streams_assignor.upgrade.releases import Release, ResolvedRelease, resolve_release
from streams_assignor.upgrade.streams_protocol import (
    Facts,
    JudgedRequirement,
    Protocol,
    Reliance,
    RequirementStatus,
    Target,
)
from streams_assignor.upgrade.streams_protocol.consumers import CONSUMER_PROTOCOL
from streams_assignor.upgrade.streams_protocol.planner import Migration, MigrationStep, plan_migration
from streams_assignor.upgrade.streams_protocol.preflight import Check, Level, preflight, refine
from streams_assignor.upgrade.verdict import Verdict

if TYPE_CHECKING:
    from streams_assignor.upgrade.cluster.client.command_config import CommandConfig

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option(
        "--config",
        "settings_files",
        type=click.Path(exists=True, path_type=Path),
        multiple=True,
        metavar="FILE",
        help="The settings of members or brokers; a folder.",
    ),
    click.option("--group", "group_name", metavar="NAME", help="Look at this live group and its brokers."),
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG,
    click.option(
        "--to-protocol",
        type=click.Choice([*(protocol.value for protocol in Protocol), CONSUMER_PROTOCOL]),
        help="Change group.protocol; consumer: of plain consumers.",
    ),
    click.option("--broker-release", metavar="RELEASE", help="With --to-protocol: the oldest of the brokers."),
)


def protocol_options(command: F) -> F:
    """Add the options of this module to ``plan``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@frozen
class ProtocolOptions:
    """Their values."""

    to_protocol: str | None
    settings_files: tuple[Path, ...]
    broker_release: str | None
    group_name: str | None
    bootstrap_servers: str | None
    command_config: Path | None

    @property
    def config_path(self) -> str | None:
        """The file of ``--command-config``."""
        return str(self.command_config) if self.command_config else None

    def check(self) -> None:
        """Refuse options that mean nothing without another one; the environment may name servers."""
        if self.broker_release and not self.to_protocol:
            raise click.UsageError("--broker-release needs --to-protocol")
        if self.command_config and not self.group_name:
            raise click.UsageError("--command-config needs --group")


@frozen
class ProtocolPlan:
    """A plan and what was seen of the live group."""

    migration: Migration
    checks: tuple[Check, ...] = field(default=())
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """The assumptions about releases that the table lacks."""

    @property
    def verdict(self) -> Verdict:
        """``UNSAFE`` if the live group or its brokers block the change, else that of the plan."""
        blocked = any(check.level is Level.BLOCKED for check in self.checks)
        return Verdict.UNSAFE if blocked else self.migration.verdict

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what blocks or, if nothing does, of what is open."""
        blocking = [check.name for check in self.checks if check.level is Level.BLOCKED]
        planned = self.migration.conditions if self.verdict is self.migration.verdict else ()
        return tuple(dict.fromkeys((*blocking, *planned)))

    @property
    def undecided(self) -> tuple[JudgedHazard, ...]:
        """The hazards by which the plan is not proven; none without files of the application."""
        return self.migration.application.undecided(self.migration.judged)

    @property
    def told(self) -> Verdict:
        """The verdict that is told: ``UNKNOWN`` if nothing is known to be unsafe, and that is not proven.

        With files or a live group nothing is proven while a requirement is open; without them the plan is for any.
        """
        is_looked_at = self.migration.application.has_files or self.checks
        is_open = self.undecided or (is_looked_at and self.verdict is Verdict.SAFE_IF)
        return Verdict.UNKNOWN if is_open and self.verdict is not Verdict.UNSAFE else self.verdict

    def as_json(self) -> dict[str, Any]:
        """Return plain values; ``preflight`` only if there is a live group to check."""
        decided = {"verdict": self.told.value, "conditions": list(self.conditions), "notes": [*self._notes()]}
        decided |= {"assumed": list(self.assumed), "headline": self.headline}
        plain = self.migration.as_json() | decided | self.checked.as_json()
        if self.migration.judged is not None:
            plain["undecided"] = [judged.hazard.name for judged in self.undecided]
        return plain | ({"preflight": [check.as_json() for check in self.checks]} if self.checks else {})

    @property
    def checked(self) -> CheckedScope:
        """The checked and the unchecked subjects of the plan."""
        scope = scope_of(ReadGuides.between(self.migration.origin, self.migration.target))
        return scope.with_application(
            configuration=self.migration.application.settings is not None,
            code=self.migration.application.code is not None,
        ).assuming(self.assumed)

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write the plan as text."""
        plan = self.migration
        before = [self.headline, *change_lines(self.checks, plan.judgements, plan.steps, view)]
        if plan.change:
            before += ["", *map(sanitize, plan.change.facts())]
        if not plan.is_there:
            before += ["", *_survival_lines(plan, view)]
        if notes := [*self._notes(), *plan.warnings]:
            before += ["", *(sanitize(f"note: {note}") for note in notes)]
        files = application_files(plan.application, plan.between.settings if plan.between else None, view)
        scope = self.checked.summary if view.is_short else str(self.checked)
        after = [line for part in (*files, [scope]) for line in ("", *part)]
        yield from before
        if plan.judged is not None:
            yield from (
                "",
                *judged_lines(plan.judged, view, [*before, *after], is_blocked=plan.verdict is Verdict.UNSAFE),
            )
        elif plan.hazards:
            yield from ("", *hazard_lines(plan.hazards, view, [*before, *after]))
        yield from after

    def _notes(self) -> tuple[str, ...]:
        return (*self.notes, *(undecided_note(self.undecided) if self.told is not Verdict.UNSAFE else ()))

    @property
    def headline(self) -> str:
        """The first line of the plan in every form."""
        plan, verdict = self.migration, self.verdict
        way = "offline: stop everything, then start everything"
        if plan.change and plan.change.in_streams_group:
            way = "offline: stop everything and start it twice, through the classic protocol to the new topology"
        if plan.is_there:
            way = f"the group is a {plan.protocol.value} group already, nothing to change"
        if plan.first:
            way = "rolling upgrade first, then offline: stop everything, then start everything"
        keeps_protocol = plan.is_there or (plan.change and plan.change.in_streams_group)
        before = "" if keeps_protocol else f"{plan.protocol.other.value} to "
        change = f"{plan.origin} to {plan.target}, {before}{plan.protocol.value} protocol"
        names = ", ".join(self.conditions)
        blocked = "; ".join(filter(None, (names and f"blocked by {names}", *plan.blocked)))
        reason = {Verdict.SAFE_IF: f", if these hold: {names}", Verdict.UNSAFE: f"; {blocked}"}
        parts = (f"{change}: {self.told.words}: {way}{reason.get(verdict, '')}", self._rest(), *self.assumed)
        return "; ".join(filter(None, parts))

    def _rest(self) -> str:
        """Say how many hazards decide besides; nothing if the steps must not be made anyway."""
        plan = self.migration
        if self.verdict is Verdict.UNSAFE:
            return ""
        if plan.judged is None:
            return rest_text(plan.beyond_metadata)
        return split_text((judged.concern.answer.value, judged.hazard.severity.value) for judged in plan.judged)


def change_lines(
    checks: Sequence[Check],
    judgements: Sequence[JudgedRequirement],
    steps: Sequence[MigrationStep],
    view: DisplayOptions,
) -> Iterator[str]:
    """Write what a live group shows, the requirements and the steps."""
    if checks:
        yield from ("", "the live group:", *(sanitize(f"- {check}") for check in checks))
    if judgements:
        yield from ("", "requirements:", *_requirement_lines(judgements, view))
    for number, step in enumerate(steps, 1):
        yield from (*([""] if number == 1 or not view.is_short else []), *step_lines(number, step, view))


def _requirement_lines(judgements: Sequence[JudgedRequirement], view: DisplayOptions) -> Iterator[str]:
    """Write all of each requirement; a terminal gets a line for each that is open, and one for those that are met."""
    met = [judgement.requirement.condition for judgement in judgements if judgement.status is RequirementStatus.MET]
    if view.is_short and met:
        yield sanitize(f"- met: {'; '.join(met)}")
    for judgement in judgements:
        if not view.is_short or judgement.status is RequirementStatus.BLOCKED:
            yield from map(sanitize, judgement.lines())
        elif judgement.status is RequirementStatus.OPEN:
            ways = decided_by(judgement.concern)
            yield sanitize(f"- open ({ways}): {judgement.requirement.condition} ({judgement.requirement.name})")


def _survival_lines(plan: Migration, view: DisplayOptions) -> Iterator[str]:
    """Write what survives and what does not, and how; a terminal gets their names."""
    if not view.is_short:
        yield "what survives:"
        for row in plan.survivals:
            yield f"- {row.what}: {'yes' if row.survives else 'no'}: {row.how} ({row.evidence})"
        return
    for survives, words in {True: "survives", False: "is lost"}.items():
        if names := [row.what for row in plan.survivals if row.survives is survives]:
            yield f"{words}: {'; '.join(names)} (-v: how)"


def plan_protocol(
    origin: ResolvedRelease,
    target: ResolvedRelease,
    options: ProtocolOptions,
    application: PlannedApplication,
    *,
    absent: frozenset[Reliance],
    offline: bool,
) -> ProtocolPlan:
    """Return the plan, after a look at the live group if one is named; ``UpgradeError`` for wrong input."""
    protocol = Protocol(options.to_protocol)
    facts = Facts(applications=application.facts(), absent=absent)
    if options.broker_release:
        facts = facts.with_brokers(broker_number(options.broker_release))
    settings = application.settings.values if application.settings else {}
    facts, checks, at, now = _look(target.release, protocol, facts, options, settings)
    is_classic = now == Protocol.CLASSIC.value
    plan = plan_migration(
        origin, target, protocol, facts, at, offline=offline, application=application, is_classic=is_classic
    )
    if now == protocol.value and (is_classic or not plan.change):
        plan = _unchanged(plan, at.group)
    assumed = assumptions_of(origin.release, target.release)
    notes = (*origin.notes, *target.notes)
    return ProtocolPlan(plan, checks, notes, tuple(dict.fromkeys(assumed)))


def _unchanged(plan: Migration, group: str) -> Migration:
    """Return the plan for a group that has the protocol already; ``UpgradeError`` if something else is to change."""
    if plan.change or plan.between:
        option = " --topologies OLD NEW --offline" if plan.change else ""
        further = f"plan {plan.origin} {plan.target} --group {group}{option}"
        raise UpgradeError(f"{group} is a {plan.protocol.value} group already: for the rest see {further}")
    nothing: dict[str, Any] = dict.fromkeys(("judgements", "steps", "settings", "lost", "warnings", "hazards"), ())
    return evolve(plan, **nothing, judged=None, is_there=True)


def broker_number(name: str) -> tuple[int, ...]:
    """Return the number of a release, that of its line if the name leaves the patch level open."""
    release = resolve_release(name)
    number = release.release.known_number
    return number[:2] if release.older or release.is_open else number


def _look(
    release: Release, protocol: Protocol, facts: Facts, options: ProtocolOptions, settings: Mapping[str, str]
) -> tuple[Facts, tuple[Check, ...], Target, str]:
    """Look at the live group if one is named; return the facts with it, where the commands go, and its type if known.

    A group that does not exist is a classic one: it has no topology.
    """
    if not options.group_name:
        return facts, (), named_target(options, settings, "application.id"), ""
    servers, config, at = live_target(options, settings)
    from streams_assignor.cli.plan.live_group import read_migration, with_limits  # not for a plan without a group

    brokers, group, configurations = read_migration(options.group_name, servers, config)
    refined = with_limits(refine(facts, options.group_name, brokers, group), brokers, configurations)
    checks = preflight(options.group_name, brokers, group, release, protocol, refined)
    return refined, checks, evolve(at, members=(len(group.members) if group else 0) or None), _type_of(group)


def named_target(options: ProtocolOptions, settings: Mapping[str, str], group_key: str) -> Target:
    """Return where the commands of a plan without a look go, as the options and the settings name it."""
    given: dict[str, Any] = {
        "group": told_value(settings, group_key),
        "servers": options.bootstrap_servers or told_value(settings, "bootstrap.servers"),
        "command_config": options.config_path,
    }
    return Target(**{name: value for name, value in given.items() if value})


def live_target(options: ProtocolOptions, settings: Mapping[str, str]) -> tuple[str, CommandConfig, Target]:
    """Return the servers of the group that is looked at, how to reach them, and where the commands go."""
    servers, config = cluster_settings(
        click.get_current_context(),
        options.bootstrap_servers or told_value(settings, "bootstrap.servers"),
        options.command_config,
    )
    return servers, config, Target(options.group_name or "", servers, options.config_path)


def told_value(settings: Mapping[str, str], key: str) -> str | None:
    """Return a value that settings tell; None if they have none, or a placeholder."""
    value = settings.get(key)
    return None if value is None or is_placeholder(value) else value


def _type_of(group: LiveGroup | None) -> str:
    if group is None:
        return Protocol.CLASSIC.value
    return "" if group.error else group.type
