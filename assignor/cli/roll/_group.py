"""A roll of a live group of Kafka Streams: its plan, the looks at it, and what is expected of a step."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve

from streams_assignor.cli._exit_status import CommandFailed
from streams_assignor.cli.group.what_if import read_config
from streams_assignor.cli.plan.application_settings import read_settings
from streams_assignor.cli.plan.live_group import read_group
from streams_assignor.cli.plan.text import group_plan_lines
from streams_assignor.cli.roll._compared import SeenGenerations, StepComparison
from streams_assignor.cli.roll._driver import RollView
from streams_assignor.cli.roll._forecast import expectation_of
from streams_assignor.cli.roll._options import EPHEMERAL, LiveTarget, RollOptions
from streams_assignor.cli.roll._subject import RollLooks, RollSubject, lock_of
from streams_assignor.cli.roll.instances import InstanceNames, names_of, names_of_now, read_instances, seen_instances
from streams_assignor.cli.roll.look import LiveLook, look_at
from streams_assignor.cli.roll.output import expectation_text, forecast_lines, plan_lines, show
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import printable, sanitize
from streams_assignor.groups import InspectedGroup, inspect_group
from streams_assignor.groups._restart import configured_session_seconds
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.upgrade.application.live_group import LiveGroup, listed
from streams_assignor.upgrade.application_plan import ApplicationPlan, PlannedApplication, plan_for
from streams_assignor.upgrade.patch_levels import is_same_release
from streams_assignor.upgrade.planner import Advice, advise
from streams_assignor.upgrade.releases import ResolvedRelease, resolve_release
from streams_assignor.upgrade.roll.engine import BeginStep, next_instances
from streams_assignor.upgrade.roll.expectation import Expectation
from streams_assignor.upgrade.roll.group import GROUP_RULES
from streams_assignor.upgrade.roll.group_observation import REBALANCING, GroupObservation, MemberSeen
from streams_assignor.upgrade.roll.interrupted import interrupted, is_over, may_be_over
from streams_assignor.upgrade.roll.journal import InstancesPlanned
from streams_assignor.upgrade.roll.plan import (
    GROUP,
    InstanceConfig,
    RollInstance,
    RollLimits,
    RollPlan,
    check_plan,
    group_rounds,
    with_origin,
)
from streams_assignor.upgrade.roll.state import RollState, begin
from streams_assignor.upgrade.roll.static_members import keeps_unreadable_assignment
from streams_assignor.upgrade.streams_config import StreamsConfig
from streams_assignor.upgrade.verdict.conditions import features_named


def _named(options: RollOptions, plan: RollPlan) -> RollPlan:
    """Return a plan with the release of ``--from``; ``CommandFailed`` if it is none of those that can have run."""
    assert options.origin
    resolved = resolve_release(options.origin, options.assume)
    if not {release.name for release in resolved.candidates}.intersection(plan.origins):
        raise CommandFailed(
            f"expected a release from {plan.origins[0]} to {plan.origins[-1]}, as members of {plan.name} have shown, "
            f"got --from {options.origin}"
        )
    return with_origin(plan, advise(resolved.release, resolve_release(plan.target).release, offline=options.offline))


def group_subject(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...]) -> RollSubject:
    """Return what a roll of a group does."""
    wanted = resolve_release(options.target, options.assume)
    targets = frozenset(release.name for release in wanted.candidates)
    return RollSubject(
        GROUP,
        targets,
        partial(_plan, options, target, verbs),
        GROUP_RULES,
        lambda state: _GroupLooks(options, target, names_of(state.plan.instances)).as_looks(),
        partial(lock_of, options, target),
        target.lookup.cluster_id,
        partial(_named, options),
    )


class _GroupLooks:
    """The looks at a group, and what they have shown of the present step."""

    def __init__(self, options: RollOptions, target: LiveTarget, names: InstanceNames) -> None:
        self._options, self._target, self._names = options, target, names
        self._last: LiveLook | None = None
        self._seen = SeenGenerations(names)
        self._ephemeral = options.state == EPHEMERAL

    def as_looks(self) -> RollLooks:
        return RollLooks(self._look, self._expect, self._replan, self._compare)

    def _look(self) -> Any:
        self._last = _look(self._options, self._target, self._names)
        self._seen.add(self._last.group)
        return self._last.seen

    def _expect(self, first: BeginStep, state: RollState) -> Expectation:
        assert self._last
        self._seen.begin(self._last.group)
        return _expectation(self._options, first, state, self._last, self._names, ephemeral=self._ephemeral)

    def _replan(self, state: RollState) -> InstancesPlanned | None:
        """Take the instances of now, or those of ``--instances``; those that are stopped, or not back yet, stay."""
        assert self._last
        group, seen = self._last.group, self._last.seen
        if group is None or not seen.is_stable or any(member.rejoins for member in seen.members):
            return None
        step, ids = state.step, {each.name: seen.incarnations(each.name) for each in state.plan.instances}
        not_back = {name for name in step.instances if not ids[name] or step.counted(ids[name])} if step else set[str]()
        away = {each.name: each for each in state.plan.instances if each.name in not_back | state.stopped}
        file = self._options.instances_file
        self._names = read_instances(file) if file else names_of_now(state.plan, group, away)
        instances = self._names.instances(group, away)
        self._seen = SeenGenerations(self._names)
        seen = self._look()
        new = [each.name for each in instances if each.name not in state.configs]
        return InstancesPlanned(instances=instances, configs={name: _runs(state, seen, name) for name in new})

    def _compare(self, state: RollState, observed: Mapping[str, Any]) -> Mapping[str, Any]:
        assert state.step
        if self._options.no_forecast or self._last is None or self._last.seen.epochs:
            return {}
        before, *groups = (
            inspect_group(each, assume=self._target.assume) if each else None
            for each in (self._seen.before, *self._seen.groups)
        )
        comparison = StepComparison(
            state=state,
            step=state.step,
            before=before,
            groups=tuple(filter(None, groups)),
            counted=self._seen.counted,
            names=self._names,
            config=_config(self._options),
            ephemeral=self._ephemeral,
        )
        finds_state = comparison.finds_state
        if self._options.state is None and finds_state is not None:
            self._ephemeral = not finds_state
        return comparison.as_json(observed["moved"])


def _plan(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...], view: RollView) -> RollPlan | None:
    """Derive the plan from what the group is, and show it; None: it runs the release already."""
    found = _stable_look(options, target, view)
    group = _streams_group(options, found)
    live = read_group(options.group, target.servers, target.config, target.assume)
    wanted = resolve_release(options.target, options.assume)
    origin = resolve_release(options.origin, options.assume) if options.origin else live.origin(wanted)
    if is_same_release(origin, wanted):
        _refuse_unfinished(options, found, live, wanted)
        shown = "" if not live.not_on(wanted) else ", as --from says; its members may run another release"
        view.note(f"{options.group} runs {wanted.release} already{shown}: nothing to do")
        return None
    planned = _planned_application(options, live, origin, wanted, view)
    names = read_instances(options.instances_file) if options.instances_file else seen_instances(group)
    seen = _look(options, target, names)
    rounds, instances, members = group_rounds(planned.advice), names.instances(group), seen.seen.members
    if options.origin and is_over(rounds, members):
        view.note(f"{options.group}: every member can run {wanted.release}, and none what it ran before: nothing to do")
        return None
    roll_plan = _roll_plan(options, planned.advice, instances, members, verbs, _limits(options, group))
    if options.origin:
        roll_plan = evolve(roll_plan, may_be_done=may_be_over(rounds, members))
    else:
        may_be_done = any(release in live.common_releases for release in wanted.candidates)
        roll_plan = evolve(roll_plan, origins=_origins(origin), may_be_done=may_be_done)
    show(view, () if options.as_json else plan_lines(roll_plan))
    if seen.seen.offsets_problem:
        raise CommandFailed(
            f"{printable(options.group)}: offsets are not known, and roll looks at lag and commits after each step: "
            f"{sanitize(seen.seen.offsets_problem)} (does this user have DESCRIBE on the topics?)"
        )
    state = begin(roll_plan)
    first = BeginStep(1, roll_plan.rounds[0], next_instances(state, roll_plan.rounds[0], seen.seen.leader))
    expected = _expectation(options, first, state, seen, names, ephemeral=options.state == EPHEMERAL)
    if options.as_json:
        view.note(f"first step, {', '.join(first.instances)}: {expectation_text(expected)}")
    else:
        told = evolve(planned, advice=evolve(planned.advice, notes=()))  # the notes are those of the roll
        show(view, (*forecast_lines(first.instances, expected), "", *_plan_text(options, told)))
    return roll_plan


def _runs(state: RollState, seen: GroupObservation, name: str) -> InstanceConfig:
    """Return what a new instance runs: what the round makes of it, if it cannot be what it begins with."""
    assert state.round
    for config in (state.round.before, state.round.config):
        if all(member.candidates.can_be(config.resolved.release) for member in seen.of(name)):
            return config
    shown = seen.of(name)[0].releases
    raise CommandFailed(
        f"{printable(name)} runs {shown}, and the round makes {state.round.config} of {state.round.before}: start it "
        "as one of them, and call roll again"
    )


def _origins(origin: ResolvedRelease) -> tuple[str, ...]:
    """Return the releases that can run, if they are several."""
    names = tuple(release.name for release in origin.candidates)
    return names if len(names) > 1 else ()


def _stable_look(options: RollOptions, target: LiveTarget, view: RollView) -> LiveLook:
    """Look until the group does not rebalance: who is missing meanwhile is no instance of a plan."""
    until, shown = time.monotonic() + options.timeout, ""
    while True:
        found = _look(options, target, InstanceNames({}))
        rejoining = any(member.rejoins for member in found.seen.members)
        if found.seen.state not in REBALANCING and not (found.seen.is_stable and rejoining):
            return found
        state = found.seen.state if found.seen.state in REBALANCING else "a member is about to rejoin"
        if time.monotonic() > until:
            raise CommandFailed(f"group {printable(options.group)}: expected a stable group, got {state}")
        if state != shown:
            shown = state
            view.note(f"before the plan: waiting for a stable group: {state}")
        time.sleep(options.interval)


def _streams_group(options: RollOptions, found: LiveLook) -> InspectedGroup:
    """Return the group of a look; ``CommandFailed`` if it is none that can be rolled."""
    group = found.group
    if group is None:
        raise CommandFailed(f"group {printable(options.group)}: {found.seen.problem or 'it does not exist'}")
    if not group.described.members:
        name, state = printable(options.group), found.seen.state
        raise CommandFailed(f"group {name}: expected all instances to run, got none ({state})")
    if not group.has_tasks and group.described.state not in WITHOUT_METADATA:
        shown = " ".join(filter(None, (found.seen.state, group.described.type, group.described.protocol)))
        raise CommandFailed(f"group {printable(options.group)}: expected a group of Kafka Streams, got {shown}")
    return group


def _refuse_unfinished(options: RollOptions, found: LiveLook, live: LiveGroup, wanted: ResolvedRelease) -> None:
    """Refuse to call a group done of which that is not so, whatever ``--from`` says."""
    if any(member.candidates.is_pinned for member in found.seen.members):
        why = "runs {} already, with upgrade.from: --from RELEASE, that from which its upgrade began, bounces it"
        raise CommandFailed(sanitize(f"{options.group} {why.format(wanted.release)} to remove that"))
    if why := live.blocked(wanted):
        raise CommandFailed(sanitize(f"{options.group}: {why}"))
    if unknown := live.unknown:
        labels = listed([member.label for member in unknown])
        raise CommandFailed(sanitize(f"{options.group}: the release of {labels} cannot be told: {unknown[0].shown}"))


def _planned_application(
    options: RollOptions, live: LiveGroup, origin: ResolvedRelease, wanted: ResolvedRelease, view: RollView
) -> ApplicationPlan:
    """Return the plan of ``plan --group``; if it must not be executed, show it and raise ``CommandFailed``."""
    application = PlannedApplication(
        group=live,
        absent=features_named(options.without) if options.without else frozenset(),
        settings=read_settings(options.settings_file) if options.settings_file else None,
        settings_source=str(options.settings_file),
        goes_on=True,
    )
    planned = plan_for(application, origin, wanted, offline=options.offline)
    if options.as_json:
        show(view, _open_hazards(options, planned))
    if planned.reasons or not planned.is_safe:
        show(view, () if options.as_json else _plan_text(options, planned))
        why = planned.blocked or "the plan is unsafe, see above: --without names what the application does not have"
        raise CommandFailed(sanitize(f"{options.group}: {why}"))
    return planned


def _limits(options: RollOptions, group: InspectedGroup) -> RollLimits:
    """Return the limits of a roll; in a streams group the broker has the session timeout, and not the members."""
    configured_s = configured_session_seconds(group) if options.session_timeout is None else None
    return options.limits if configured_s is None else evolve(options, session_timeout=configured_s).limits


def _roll_plan(
    options: RollOptions,
    advice: Advice,
    instances: tuple[RollInstance, ...],
    members: Sequence[MemberSeen],
    verbs: tuple[str, ...],
    limits: RollLimits,
) -> RollPlan:
    rest = interrupted(group_rounds(advice), members)
    roll_plan = RollPlan(
        name=options.group,
        origin=advice.origin,
        target=advice.target,
        rounds=rest.rounds,
        bounced=rest.bounced,
        begun=rest.begun,
        instances=instances,
        verbs=verbs,
        batch=options.batch,
        canary=options.canary,
        leader=options.leader,
        limits=limits,
        notes=advice.notes,
    )
    check_plan(roll_plan)
    return roll_plan


def _plan_text(options: RollOptions, planned: ApplicationPlan) -> Iterator[str]:
    view = DisplayOptions.of_output(verbose=False)
    yield from group_plan_lines(
        planned.advice,
        view,
        planned.checked,
        blocked=planned.blocked,
        judged=planned.judged,
        is_proven=planned.is_proven,
    )
    yield from _open_hazards(options, planned)


def _open_hazards(options: RollOptions, planned: ApplicationPlan) -> Iterator[str]:
    if planned.undecided:
        names = ", ".join(judged.hazard.name for judged in planned.undecided)
        yield f"{options.settings_file} leaves open what can stop members or lose data: {names}; see plan --app"


def _look(options: RollOptions, target: LiveTarget, names: InstanceNames) -> LiveLook:
    return look_at(target.lookup, options.group, names, target.assume)


def _expectation(
    options: RollOptions,
    first: BeginStep,
    state: RollState,
    found: LiveLook,
    names: InstanceNames,
    *,
    ephemeral: bool,
) -> Expectation:
    if options.no_forecast:
        return Expectation(why_none="--no-forecast")
    return expectation_of(
        first,
        found.group,
        names,
        state.configs,
        _config(options),
        ephemeral=ephemeral,
        session_timeout_s=options.session_timeout_s,
        after_session=any(
            keeps_unreadable_assignment(found.seen, name, first.round.config) for name in first.instances
        ),
    )


def _config(options: RollOptions) -> StreamsConfig:
    return read_config(options.settings_file) if options.settings_file else StreamsConfig()
