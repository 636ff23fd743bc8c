"""A roll of the nodes of a live cluster: its plan, a look at it, and the command that raises its levels."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import click
from attrs import evolve, frozen
from click.core import ParameterSource

from streams_assignor.cli.plan.text import broker_plan_lines
from streams_assignor.cli.roll._driver import RollView
from streams_assignor.cli.roll._options import LiveTarget, RollOptions
from streams_assignor.cli.roll._secrets import without_secrets
from streams_assignor.cli.roll._subject import RollLooks, RollSubject, lock_of
from streams_assignor.cli.roll.commands import CommandTemplate
from streams_assignor.cli.roll.instances import InstancesError, read_instances
from streams_assignor.cli.roll.output import plan_lines, show
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import count, join_names
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    BrokerRelease,
    MetadataMode,
    broker_release,
    version_named,
)
from streams_assignor.upgrade.cluster.brokers.steps import BrokerAdvice
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError
from streams_assignor.upgrade.cluster.client.feature_client import ClusterHealth, FeatureClient
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.dialects import Code
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.roll.cluster import CLUSTER_RULES, ClusterObservation, NodeSeen, cluster_rounds
from streams_assignor.upgrade.roll.expectation import Expectation
from streams_assignor.upgrade.roll.plan import ALL_INSTANCES, BROKERS, RollInstance, RollPlan, check_plan
from streams_assignor.upgrade.roll.state import RollState

_TRAILING_NUMBER: Final = re.compile(r"(?<!\d)(\d+)$")
LOOK_SECONDS: Final = 10.0
"""How long a look at the cluster may take."""
NO_FORECAST_OF_NODES: Final = "partitions follow their replicas"
_OF_GROUPS: Final = (
    *("batch", "leader", "offline", "without", "max_unowned", "max_lag", "settings_file", "state", "no_forecast"),
    "ready",
)
_LEAST_VOTERS: Final = 3
"""Of which one may be away."""
_FIRST_OF_4: Final = (4,)


@frozen
class ClusterPlan:
    """The releases of a cluster, and the steps from there."""

    advice: BrokerAdvice | None
    """None: nothing is to be done."""
    node_ids: Mapping[str, int]


def brokers_subject(options: RollOptions, target: LiveTarget, verbs: tuple[str, ...]) -> RollSubject:
    """Return what a roll of the nodes of a cluster does."""
    client = FeatureClient(target.servers, settings=target.config.settings, timeout_seconds=LOOK_SECONDS)

    def looking(state: RollState) -> RollLooks:
        describe_cluster(client)  # who continues may be another user than who has begun
        ids = ids_of(state.plan.instances)
        return RollLooks(
            lambda: look_at_cluster(client, ids),
            lambda _step, _state: Expectation(why_none=NO_FORECAST_OF_NODES),
            lambda _state: None,
        )

    def plan(view: RollView) -> RollPlan | None:
        return _planned_cluster(options, client, verbs, view)

    targets = frozenset({broker_release(options.target, options.assume).name})
    lock, cluster_id = partial(lock_of, options, target), target.lookup.cluster_id
    return RollSubject(BROKERS, targets, plan, CLUSTER_RULES, looking, lock, cluster_id)


def _planned_cluster(
    options: RollOptions, client: FeatureClient, verbs: tuple[str, ...], view: RollView
) -> RollPlan | None:
    """Derive the plan of a cluster, and show it; None: it runs the release, with its levels."""
    health = describe_cluster(client)
    found = plan_cluster(
        health, options.target, options.origin, options.instances_file, options.assume, options.level_unchanged
    )
    if found.advice is None:
        view.note(f"the cluster runs {options.target} already, with its levels: nothing to do")
        return None
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
        text = broker_plan_lines(evolve(found.advice, warnings=()), DisplayOptions.of_output(verbose=False))
        show(view, (*plan_lines(roll_plan), "", *text))
    return roll_plan


def refuse_group_options(context: click.Context) -> None:
    """Raise wrong usage if an option was given that is about a group."""
    parameters = {parameter.name: parameter.opts[-1] for parameter in context.command.params}
    for name in _OF_GROUPS:
        if context.get_parameter_source(name) not in (ParameterSource.DEFAULT, None):
            raise click.UsageError(f"{parameters[name]} is for a group, without --brokers")


def describe_cluster(client: FeatureClient) -> ClusterHealth:
    """Describe a cluster before its plan.

    Raises:
        UpgradeError: It has ZooKeeper, this user may not describe all of it, or it does not answer.
    """
    try:
        health = client.describe_health()
        # Twice: a topic may have been deleted in between.
        hidden = client.describe_stored_topics() - health.replicas.topics
        if hidden:
            health = client.describe_health()
            hidden &= client.describe_stored_topics() - health.replicas.topics
    except ApiError as error:
        if error.code == Code.UNSUPPORTED_VERSION.value:
            raise UpgradeError(
                f"{client.bootstrap}: expected a cluster in KRaft mode, got a broker without a metadata quorum: it has "
                "ZooKeeper, and each step changes the configuration of every broker; do what plan --brokers prints"
            ) from error
        if error.code == Code.CLUSTER_AUTHORIZATION_FAILED.value:
            raise UpgradeError(f"{error.name}: roll --brokers needs DESCRIBE on the cluster") from error
        raise
    if hidden:
        raise UpgradeError(
            "roll --brokers needs DESCRIBE on all topics, to see whether their replicas are in sync: this user may not "
            f"describe {join_names(sorted(hidden))}"
        )
    return health


def plan_cluster(
    health: ClusterHealth,
    target: str,
    origin: str | None,
    instances: Path | None,
    assume: str | None = None,
    level_unchanged: bool = False,
) -> ClusterPlan:
    """Return the plan for a live cluster; ``level_unchanged`` is that of ``advise_brokers``: no request shows it.

    Raises:
        UpgradeError: Releases, instances or levels do not allow one.
    """
    wanted = broker_release(target, assume)
    running = broker_release(origin, assume) if origin else _oldest_release(health)
    level = _finalized(health).get(METADATA_VERSION)
    if level is None:
        raise UpgradeError("expected a finalized metadata.version, got none: the cluster does not run in KRaft mode")
    named = version_named(NEWEST_CATALOG.level_name(METADATA_VERSION, level))
    ids = node_ids(health, instances)
    if origin is None and running.line == wanted.line:
        raise UpgradeError(
            f"the brokers run {running.line}, and no request shows which patch release: expected --from with it, such "
            f'as --from {running.line}.0; a broker logs it as "Kafka version" when it starts'
        )
    _check_shown(health, running, wanted)
    if running.number == wanted.number and named >= wanted.newest:
        return ClusterPlan(None, ids)
    return ClusterPlan(advise_brokers(running, wanted, MetadataMode.KRAFT, named, level_unchanged=level_unchanged), ids)


def _oldest_release(health: ClusterHealth) -> BrokerRelease:
    """Return the release line of the broker that supports least."""
    if missing := [str(node) for node in health.replicas.brokers if node not in health.features]:
        raise UpgradeError(f"broker {', '.join(missing)} does not answer: its release is not known")
    highest = min(features.supported[METADATA_VERSION][1] for features in health.features.values())
    name = NEWEST_CATALOG.level_name(METADATA_VERSION, highest)
    return broker_release(name.partition("-")[0])


def _check_shown(health: ClusterHealth, running: BrokerRelease, wanted: BrokerRelease) -> None:
    """Refuse brokers of another release line than the two: the plan, and its way back, would not be theirs."""
    expected = {running.newest.level, wanted.newest.level}
    for node, features in sorted(health.features.items()):
        if (highest := features.supported[METADATA_VERSION][1]) not in expected:
            raise UpgradeError(
                f"expected brokers of {running} or {wanted}, got broker {node}, which supports metadata.version up to "
                f"{NEWEST_CATALOG.level_name(METADATA_VERSION, highest)}"
            )


def notes_of(health: ClusterHealth) -> Iterator[str]:
    """Yield what the roll does not do, and what it cannot avoid."""
    voters = health.quorum.voters
    for node in sorted(health.quorum.observers.keys() - {*health.replicas.brokers, *voters}):
        yield (
            f"node {node} reads the metadata, and is neither a broker that is registered nor a controller that votes: "
            "it is not part of this roll"
        )
    if len(voters) < _LEAST_VOTERS:
        yield (
            f"{count(len(voters), 'controller')}, fewer than {_LEAST_VOTERS}: while one of them restarts, no majority "
            "is left, and no metadata changes"
        )


def node_ids(health: ClusterHealth, instances: Path | None) -> Mapping[str, int]:
    """Return the node id of each instance: those of a file, or else every node by its id.

    Raises:
        InstancesError: A name has no id, or instances and nodes are not the same.
    """
    there = {*health.replicas.brokers, *health.quorum.voters}
    if instances is None:
        return {str(node): node for node in sorted(there)}
    ids: dict[str, int] = {}
    for name, shown in read_instances(instances).shown.items():
        if not (number := _TRAILING_NUMBER.search(shown)):
            raise InstancesError(f"{instances}: expected a name that ends with the node id, or NAME ID, got {name!r}")
        if name == ALL_INSTANCES:
            raise InstancesError(f"{instances}: expected the name of one node, got {name!r}, which is all of them")
        ids[name] = int(number[1])
    if {*ids.values()} != there or len({*ids.values()}) < len(ids):
        given, nodes = (", ".join(map(str, sorted(some))) for some in (ids.values(), there))
        raise InstancesError(f"{instances}: expected each node of the cluster once, {nodes}, got {given}")
    return ids


def instances_of(ids: Mapping[str, int]) -> tuple[RollInstance, ...]:
    """Return the instances of a plan, which keeps the node ids."""
    return tuple(RollInstance(name, shown=str(node)) for name, node in ids.items())


def ids_of(instances: Iterable[RollInstance]) -> Mapping[str, int]:
    """Return the node ids that ``instances_of`` has kept."""
    return {instance.name: int(instance.shown) for instance in instances}


def finalize_command(
    servers: str, command_config: Path | None, release: str, assume: str | None = None
) -> CommandTemplate:
    """Return the command that raises the levels: this program's own ``features upgrade``.

    A controller that has become the active one learns only after a while what the others support, and until then
    refuses, as if one of them had the old release.
    """
    target = broker_release(release, assume)
    flag = "--release-version" if target.number >= _FIRST_OF_4 else "--metadata"
    config = ("--command-config", str(command_config)) if command_config else ()
    program = (sys.executable, "-m", "streams_assignor", "features", "--bootstrap-server", servers, *config)
    return CommandTemplate((*program, "upgrade", flag, target.line), again_if="support")


def look_at_cluster(
    client: FeatureClient, ids: Mapping[str, int], clock: Callable[[], float] = time.monotonic
) -> ClusterObservation:
    """Describe a cluster. A failure is part of the look."""
    try:
        health = client.describe_health()
    except ClusterError as error:
        return ClusterObservation(seconds=clock(), node_ids=ids, problem=without_secrets(str(error)))
    return ClusterObservation(
        seconds=clock(),
        node_ids=ids,
        nodes=dict(_nodes(health)),
        controller=health.quorum.leader,
        levels=_finalized(health),
        under_replicated=health.replicas.under_replicated,
    )


def _nodes(health: ClusterHealth) -> Iterator[tuple[int, NodeSeen]]:
    for node in {*health.replicas.brokers, *health.quorum.voters}:
        features = health.features.get(node)
        yield (
            node,
            NodeSeen(
                node_id=node,
                is_broker=node in health.replicas.brokers,
                metadata_levels=features.supported.get(METADATA_VERSION) if features else None,
                is_voter=node in health.quorum.voters,
                is_caught_up=health.quorum.has_committed(node),
                last_fetch_ms=health.quorum.fetched.get(node),
            ),
        )


def _finalized(health: ClusterHealth) -> Mapping[str, int]:
    """Return the finalized levels of the broker with the highest epoch: the others are stale."""
    answers = [features for features in health.features.values() if features.epoch is not None]
    return max(answers, key=lambda features: features.epoch or 0).finalized if answers else {}
