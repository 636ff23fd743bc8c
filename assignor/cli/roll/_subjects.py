"""What a roll of a group and a roll of brokers do differently: the plan, how to look, and what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import frozen

from assignor.cli._exit_status import CommandFailed
from assignor.cli.group._what_if import read_config
from assignor.cli.plan._live_group import read_group
from assignor.cli.plan.application_settings import read_settings
from assignor.cli.plan.text import DisplayOptions, broker_plan_lines, group_plan_lines
from assignor.cli.roll._brokers import (
    LOOK_SECONDS,
    NO_FORECAST_OF_NODES,
    describe_cluster,
    ids_of,
    instances_of,
    look_at_cluster,
    notes_of,
    plan_cluster,
)
from assignor.cli.roll._compared import SeenGenerations, StepComparison
from assignor.cli.roll._driver import RollView
from assignor.cli.roll._forecast import expectation_of
from assignor.cli.roll._instances import InstanceNames, names_of, read_instances, seen_instances
from assignor.cli.roll._lock import cluster_lock
from assignor.cli.roll._look import LiveLook, look_at
from assignor.cli.roll._options import EPHEMERAL, LiveTarget, RollOptions
from assignor.cli.roll._output import expectation_text, plan_lines
from assignor.formats.text import printable, sanitize
from assignor.groups import inspect_group
from assignor.groups.described_group import WITHOUT_METADATA
from upgrade.application_plan import ApplicationPlan, PlannedApplication, plan_for
from upgrade.cluster.brokers.protocol_versions import broker_release
from upgrade.patch_levels import is_same_release
from upgrade.releases import resolve_release
from upgrade.roll.cluster import CLUSTER_RULES, cluster_rounds
from upgrade.roll.engine import BeginStep, next_instances
from upgrade.roll.expectation import Expectation
from upgrade.roll.gates import RollRules
from upgrade.roll.group import GROUP_RULES
from upgrade.roll.interrupted import interrupted
from upgrade.roll.plan import (
    BROKERS,
    GROUP,
    RollPlan,
    check_plan,
    group_rounds,
)
from upgrade.roll.state import RollState, begin
from upgrade.roll.static_members import keeps_unreadable_assignment
from upgrade.streams_config import StreamsConfig
from upgrade.verdict.conditions import features_named

if TYPE_CHECKING:
    from upgrade.cluster.client.feature_client import FeatureClient


def _nothing(_state: RollState) -> Mapping[str, Any]:
    return {}


@frozen
class RollLooks:
    """How to look at what is rolled, and what follows from the looks."""

    look: Callable[[], Any]
    expect: Callable[[BeginStep, RollState], Expectation]
    """Return what is expected of a step, after the last look."""
    compare: Callable[[RollState], Mapping[str, Any]] = _nothing
    """Return what came of the step that has passed beside its forecast, of the looks since it began."""


@frozen
class RollSubject:
    """What a roll of a group and a roll of brokers do differently."""

    kind: str
    """``group`` or ``brokers``."""
    targets: frozenset[str]
    """The names of the release that is to be reached."""
    plan: Callable[[RollView], RollPlan | None]
    """Derive the plan and show it; None: nothing is to be done."""
    rules: RollRules[Any]
    looking: Callable[[RollState], RollLooks]
    """Return how to look."""
    lock: Callable[[RollView], AbstractContextManager[Callable[[], None]]]


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
        partial(_lock, options, target),
    )


class _GroupLooks:
    """The looks at a group, and what they have shown of the present step."""

    def __init__(self, options: RollOptions, target: LiveTarget, names: InstanceNames) -> None:
        self._options, self._target, self._names = options, target, names
        self._last: LiveLook | None = None
        self._seen = SeenGenerations()
        self._ephemeral = options.state == EPHEMERAL

    def as_looks(self) -> RollLooks:
        return RollLooks(self._look, self._expect, self._compare)

    def _look(self) -> Any:
        self._last = _look(self._options, self._target, self._names)
        self._seen.add(self._last.group)
        return self._last.seen

    def _expect(self, first: BeginStep, state: RollState) -> Expectation:
        assert self._last
        self._seen.begin(self._last.group)
        return _expectation(self._options, first, state, self._last, self._names, ephemeral=self._ephemeral)

    def _compare(self, state: RollState) -> Mapping[str, Any]:
        assert state.step
        if self._options.no_forecast:
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
            names=self._names,
            config=_config(self._options),
            ephemeral=self._ephemeral,
        )
        finds_state = comparison.finds_state
        if self._options.state is None and finds_state is not None:
            self._ephemeral = not finds_state
        return comparison.as_json()


def _lock(options: RollOptions, target: LiveTarget, view: RollView) -> AbstractContextManager[Callable[[], None]]:
    return cluster_lock(options.group, target.servers, target.config.settings, target.lookup, view.note)


def brokers_subject(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...]) -> RollSubject:
    """Return what a roll of the nodes of a cluster does."""
    from upgrade.cluster.client.feature_client import FeatureClient

    client = FeatureClient(target.servers, settings=target.config.settings, timeout_seconds=LOOK_SECONDS)

    def looking(state: RollState) -> RollLooks:
        ids = ids_of(state.plan.instances)
        return RollLooks(
            lambda: look_at_cluster(client, ids), lambda _step, _state: Expectation(why_none=NO_FORECAST_OF_NODES)
        )

    def plan(view: RollView) -> RollPlan | None:
        return _planned_cluster(options, client, verbs, view)

    targets = frozenset({broker_release(options.target, options.assume).name})
    return RollSubject(BROKERS, targets, plan, CLUSTER_RULES, looking, partial(_lock, options, target))


def _planned_cluster(
    options: RollOptions, client: FeatureClient, verbs: tuple[str, ...], view: RollView
) -> RollPlan | None:
    """Derive the plan of a cluster, and show it; None: it runs the release, with its levels."""
    health = describe_cluster(client)
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
        notes=(*found.advice.warnings, *notes_of(health)),
    )
    check_plan(roll_plan)
    if not options.as_json:
        for line in plan_lines(roll_plan):
            view.note(line)
    return roll_plan


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
        if any(member.is_pinned for member in found.seen.members):
            raise CommandFailed(
                sanitize(
                    f"{options.group} runs {wanted.release} already, with upgrade.from: --from RELEASE, that from "
                    "which its upgrade began, bounces it to remove that"
                )
            )
        view.note(f"{options.group} runs {wanted.release} already: nothing to do")
        return None
    absent = features_named(options.without) if options.without else frozenset()
    application = PlannedApplication(
        group=live,
        absent=absent,
        settings=read_settings(options.settings_file) if options.settings_file else None,
        settings_source=str(options.settings_file),
        goes_on=True,
    )
    planned = plan_for(application, origin, wanted, offline=options.offline)
    if not options.as_json:
        for line in _plan_text(planned):
            view.note(line)
    if planned.reasons or not planned.is_safe:
        why = planned.blocked or "the plan is unsafe, see above: --without names what the application does not have"
        raise CommandFailed(sanitize(f"{options.group}: {why}"))
    names = read_instances(options.instances_file) if options.instances_file else seen_instances(found.group)
    rest = interrupted(group_rounds(planned.advice), _look(options, target, names).seen.members)
    roll_plan = RollPlan(
        name=options.group,
        origin=planned.advice.origin,
        target=planned.advice.target,
        rounds=rest.rounds,
        bounced=rest.bounced,
        begun=rest.begun,
        instances=names.instances(found.group),
        verbs=verbs,
        batch=options.batch,
        canary=options.canary,
        leader=options.leader,
        limits=options.limits,
        notes=planned.advice.notes,
    )
    check_plan(roll_plan)
    if not options.as_json:
        for line in plan_lines(roll_plan):
            view.note(line)
    state = begin(roll_plan)
    seen = _look(options, target, names)
    if seen.seen.offsets_problem:
        raise CommandFailed(
            f"{printable(options.group)}: offsets are not known, and roll looks at lag and commits after each step: "
            f"{sanitize(seen.seen.offsets_problem)} (does this user have DESCRIBE on the topics?)"
        )
    first = BeginStep(1, roll_plan.rounds[0], next_instances(state, roll_plan.rounds[0], seen.seen.leader))
    expected = _expectation(options, first, state, seen, names, ephemeral=options.state == EPHEMERAL)
    view.note(f"first step, {', '.join(first.instances)}: {expectation_text(expected)}")
    return roll_plan


def _plan_text(planned: ApplicationPlan) -> Iterator[str]:
    view = DisplayOptions()
    yield from group_plan_lines(planned.advice, view, planned.checked, blocked=planned.blocked, judged=planned.judged)
    yield ""


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
        session_timeout_s=options.session_timeout,
        after_session=any(
            keeps_unreadable_assignment(found.seen, name, first.round.config) for name in first.instances
        ),
    )


def _config(options: RollOptions) -> StreamsConfig:
    return read_config(options.settings_file) if options.settings_file else StreamsConfig()
