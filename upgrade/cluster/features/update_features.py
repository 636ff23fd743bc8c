"""UpdateFeatures: how a cluster answers a request to raise, lower or delete features.

All checks come first, against the state of the controller; then one write; then the answer. A refused request changes
nothing. Java: ``FeatureControlManager.updateFeatures`` for Kafka 4.x. For the other dialects: KIP-584, Validations;
their error texts are ours.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.cluster.features.catalog import KRAFT_VERSION, METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import (
    ClusterEvent,
    EventType,
    FeatureCluster,
    FeatureNode,
    range_text,
)
from streams_assignor.upgrade.cluster.features.dialects import (
    Code,
    Deletion,
    Dialect,
    DowngradeIntent,
    LossyDowngrade,
    ValidatedNodes,
)
from streams_assignor.upgrade.errors import FeatureError

CONTROLLER_REGISTRATION_LEVEL: Final = 15
"""The first level of metadata.version with registered controllers (KIP-919); below it, their ranges are unknown."""
ALL_FAILED_PREFIX: Final = "The update failed for all features since the following feature had an error: "


@frozen
class UpdateItem:
    """One update: a feature and its new level."""

    feature: str
    level: int
    upgrade_type: int | None = None
    """The code in the dialect of the request: UpgradeType or AllowDowngrade; None is an upgrade in every dialect."""

    def __attrs_post_init__(self) -> None:
        """Refuse an update without a feature."""
        if not self.feature:
            raise FeatureError(f"expected a named feature, got {self.feature!r} at {self.level}")


@frozen
class UpdateFeaturesRequest:
    """The request UpdateFeatures. Each feature occurs once, because it is a map key on the wire."""

    updates: tuple[UpdateItem, ...]
    dry_run: bool = False
    version: int = 1

    def __attrs_post_init__(self) -> None:
        """Refuse a feature that occurs twice."""
        names = [update.feature for update in self.updates]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise FeatureError(f"expected each feature once in a request, got {', '.join(twice)} more than once")


@frozen
class UpdateResult:
    """A code and its message; the message is None without an error."""

    code: Code = Code.NONE
    message: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there was no error."""
        return self.code is Code.NONE


UPDATE_OK: Final = UpdateResult()


class LevelChange(enum.Enum):
    """The kinds of changes, with the names of KIP-584's tool."""

    ADD = "Add"
    UPGRADE = "Upgrade"
    DOWNGRADE = "Downgrade"
    DELETE = "Delete"
    NOTHING = "-"

    @classmethod
    def of(cls, before: int, after: int) -> LevelChange:
        """Return the kind of a change; a level below 1 is none.

        >>> LevelChange.of(0, 2).value
        'Add'
        """
        before, after = max(before, 0), max(after, 0)
        if before == after:
            return cls.NOTHING
        if not before or not after:
            return cls.DELETE if before else cls.ADD
        return cls.UPGRADE if after > before else cls.DOWNGRADE


@frozen
class UpdateFeaturesResponse:
    """The answer: the cluster afterwards, the error of the whole request, the results by feature, and the events.

    In an atomic dialect there are results only if no update has an error.
    """

    cluster: FeatureCluster
    top_level: UpdateResult = UPDATE_OK
    results: Mapping[str, UpdateResult] = field(factory=dict)
    events: tuple[ClusterEvent, ...] = ()


class UpdateConclusion(enum.Enum):
    """The outcome of an update, as far as a client can know."""

    YES = "applied"
    NO = "not applied"
    UNKNOWN = "it may have been applied or not"


def conclude(answer: UpdateFeaturesResponse | None, feature: str) -> UpdateConclusion:
    """Return what a client can conclude about one feature of its request.

    KIP-584, Guarantees: after a network error, or if either side stops, "the user should assume that the application
    (...) may have either succeeded or failed".

    Args:
        answer: The answer; None if it never came.
        feature: The feature.
    """
    if answer is None:
        return UpdateConclusion.UNKNOWN
    return UpdateConclusion.YES if answer.top_level.ok and answer.results[feature].ok else UpdateConclusion.NO


def update_features(
    cluster: FeatureCluster, request: UpdateFeaturesRequest, *, node_id: int | None = None, authorized: bool = True
) -> UpdateFeaturesResponse:
    """Answer a request.

    Args:
        cluster: The cluster.
        request: The request.
        node_id: The node that receives it, as a controller if it has both roles; None for the active controller.
        authorized: The client has the permission ALTER on the cluster.

    Raises:
        FeatureError: The cluster has no such node or no active controller, or the request cannot be encoded: a level
            has more bits, or this version has no dry run.
    """
    _check_encodable(cluster.dialect, request)
    if not _reaches_controller(cluster, node_id):
        return UpdateFeaturesResponse(
            cluster, UpdateResult(Code.NOT_CONTROLLER, f"The active controller appears to be node {cluster.active}.")
        )
    if not authorized:
        return UpdateFeaturesResponse(
            cluster, UpdateResult(Code.CLUSTER_AUTHORIZATION_FAILED, "ALTER on CLUSTER is needed.")
        )
    if not cluster.enabled:
        return UpdateFeaturesResponse(cluster, UpdateResult(Code.INVALID_REQUEST, "The feature system is disabled."))
    results = {update.feature: _check_decodable(cluster, request, update) for update in request.updates}
    errors = [result for result in results.values() if not result.ok]
    if errors and cluster.dialect.atomic:
        return UpdateFeaturesResponse(cluster, UpdateResult(errors[0].code, f"{ALL_FAILED_PREFIX}{errors[0].message}"))
    if request.dry_run:
        return UpdateFeaturesResponse(cluster, results=results)
    return _apply(cluster, request, results)


def _check_encodable(dialect: Dialect, request: UpdateFeaturesRequest) -> None:
    for update in request.updates:
        if update.level not in dialect.levels:
            raise FeatureError(
                f"expected a level of {dialect.level_bits} bits, got {update.feature!r} at {update.level}"
            )
    if request.dry_run and (dialect.dry_run_from is None or request.version < dialect.dry_run_from):
        raise FeatureError(f"expected no dry run: version {request.version} of {dialect.name}'s request has none")


def _reaches_controller(cluster: FeatureCluster, node_id: int | None) -> bool:
    if node_id is None or node_id == cluster.active_controller.id:
        return True
    if node_id not in {node.id for node in cluster.nodes()}:
        raise FeatureError(f"expected one of the cluster's nodes, got {node_id}")
    return cluster.dialect.brokers_forward and node_id in cluster.brokers and node_id not in cluster.controllers


def _apply(
    cluster: FeatureCluster, request: UpdateFeaturesRequest, results: Mapping[str, UpdateResult]
) -> UpdateFeaturesResponse:
    # Kafka 4.x writes an unchanged level again, so its epoch rises.
    levels = {update.feature: max(update.level, 0) for update in request.updates if results[update.feature].ok}
    if not levels:
        return UpdateFeaturesResponse(cluster, results=results)
    events = [
        ClusterEvent(EventType.FINALIZED, cluster.active, f"{feature} {level}") for feature, level in levels.items()
    ]
    return UpdateFeaturesResponse(
        cluster.write_levels(levels), UPDATE_OK, results, (*events, ClusterEvent(EventType.NOTIFIED))
    )


def _check_decodable(cluster: FeatureCluster, request: UpdateFeaturesRequest, item: UpdateItem) -> UpdateResult:
    dialect = cluster.dialect
    kind = dialect.downgrade_intent(item.upgrade_type, request.version)
    for code, why in _validation_errors(cluster, request, item, kind):
        return UpdateResult(code, f"Invalid update version {item.level} for feature {item.feature}. {why}")
    level = cluster.level_of(METADATA_VERSION)
    if item.feature == METADATA_VERSION and item.level < level and not _may_downgrade(cluster, item.level, kind):
        why = (
            "Unsafe metadata downgrade is not supported in this version."
            if kind is DowngradeIntent.UNSAFE
            else "Refusing to perform the requested downgrade because it might delete metadata information."
        )
        return UpdateResult(
            dialect.unsafe, f"Unsupported {METADATA_VERSION} downgrade from {level} to {item.level}. {why}"
        )
    return UPDATE_OK


def _may_downgrade(cluster: FeatureCluster, target: int, intent: DowngradeIntent) -> bool:
    lossy = cluster.dialect.lossy
    if lossy is LossyDowngrade.NOT_JUDGED or (lossy is LossyDowngrade.IF_UNSAFE and intent is DowngradeIntent.UNSAFE):
        return True
    # Level 0 removes the feature: no level is left that could read the records.
    return target > 0 and cluster.catalog.is_safe_downgrade(cluster.level_of(METADATA_VERSION), target)


def _validation_errors(
    cluster: FeatureCluster, request: UpdateFeaturesRequest, item: UpdateItem, intent: DowngradeIntent
) -> Iterator[tuple[Code, str]]:
    """Yield the errors of an update in the order of Kafka; the client gets the first one."""
    dialect, now = cluster.dialect, cluster.level_of(item.feature)
    lowering = intent in (DowngradeIntent.SAFE, DowngradeIntent.UNSAFE)
    if intent is DowngradeIntent.UNKNOWN:
        yield dialect.invalid, "The controller does not support the given upgrade type."
    checked = dialect.deletion is Deletion.CHECKED
    if checked and item.level < 0:
        yield dialect.invalid, "A feature version cannot be less than 0."
    if checked or item.level >= 1:
        yield from ((dialect.failed, why) for why in unsupported_reasons(cluster, item.feature, item.level))
    if item.level < now and not lowering:
        yield (
            dialect.invalid,
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade.",
        )
    if item.level > now and lowering:
        yield dialect.invalid, "Can't downgrade to a newer version."
    if not dialect.same_level and max(item.level, 0) == now:
        # KIP-584 does not define the deletion of an absent feature. Kafka 2.7 refused it.
        yield dialect.invalid, f"The feature is {f'at {now} already' if now else 'not finalized'}."
    if item.level < now and (item.feature, now) in cluster.not_downgradable:
        yield dialect.failed, f"The feature cannot be downgraded from {now}."
    if 1 <= item.level < cluster.minimum.get(item.feature, 1):
        # Because "min_version_level <= max_version_level" is always true (KIP-584, Schema).
        yield dialect.failed, f"The levels below {cluster.minimum[item.feature]} are deprecated."
    yield from _feature_rule_errors(cluster, request, item)


def _feature_rule_errors(
    cluster: FeatureCluster, request: UpdateFeaturesRequest, item: UpdateItem
) -> Iterator[tuple[Code, str]]:
    """Yield the errors of the feature's own rules. Java: ``KRaftVersion``, ``Feature.validateVersion``."""
    failed = cluster.dialect.failed
    if item.feature == KRAFT_VERSION:
        if item.level < cluster.level_of(KRAFT_VERSION):
            yield failed, "Can't downgrade the version of this feature."
    elif item.feature in cluster.catalog.levels:
        # Checked against the proposed result, so one request can update the dependencies, too.
        proposed = {**cluster.finalized, **{update.feature: update.level for update in request.updates}}
        for why in _unmet_dependencies(cluster, item, proposed):
            yield failed, f"{item.feature} could not be set to {item.level} because it depends on {why}"
    elif cluster.dialect.deletion is Deletion.CHECKED:
        yield failed, f"Feature {item.feature} not found."


def _unmet_dependencies(cluster: FeatureCluster, item: UpdateItem, proposed: Mapping[str, int]) -> Iterator[str]:
    catalog = cluster.catalog
    first = catalog.levels[METADATA_VERSION][0]
    if (
        not cluster.in_zookeeper
        and item.level >= 1
        and item.feature != METADATA_VERSION
        and proposed.get(METADATA_VERSION, 0) < first.number
    ):
        yield f"{METADATA_VERSION}={first.number} ({first.name})"
    for other, least in catalog.dependencies(item.feature, item.level).items():
        if proposed.get(other, 0) < least:
            yield f"{other} level {least}"


def unsupported_reasons(cluster: FeatureCluster, feature: str, level: int) -> Iterator[str]:
    """Yield why nodes do not support a level, with the texts and in the order of Kafka."""
    asked = cluster.dialect.asked
    if asked is ValidatedNodes.ALL_REGISTERED:
        yield from _node_reasons(
            "Local controller", {cluster.active_controller.id: cluster.active_controller}, feature, level
        )
        yield from _node_reasons("Broker", cluster.brokers, feature, level)
        yield from _controller_reasons(cluster, feature, level)
        return
    live = {number: node for number, node in cluster.brokers.items() if node.live}
    yield from _node_reasons("Broker", live, feature, level)
    having = sum(node.live and node.supports_level(feature, level) for node in cluster.controllers.values())
    if asked is ValidatedNodes.LIVE_BROKERS_AND_CONTROLLER_MAJORITY and 2 * having <= len(cluster.voter_ids):
        yield f"{having} of {len(cluster.voter_ids)} controllers run and support it, which is no majority."


def _controller_reasons(cluster: FeatureCluster, feature: str, level: int) -> Iterator[str]:
    if cluster.level_of(METADATA_VERSION) < CONTROLLER_REGISTRATION_LEVEL:
        return
    yield from _node_reasons("Controller", cluster.controllers, feature, level)
    for number in sorted(cluster.voter_ids - cluster.controllers.keys()):
        yield f"controller {number} has not registered, and may not support this feature"


def _node_reasons(role: str, nodes: Mapping[int, FeatureNode], feature: str, level: int) -> Iterator[str]:
    for number, node in sorted(nodes.items()):
        low, high = node.range_of(feature)
        if not low <= level <= high:
            problem = f"only supports versions {range_text(low, high)}" if high else "does not support this feature."
            yield f"{role} {number} {problem}"
