"""UpdateFeatures: what a cluster makes of a request to raise, lower or delete features.

Checks come first, all against what the controller has seen so far; then one write; then the answer. After a refusal
nothing has changed. Java: ``FeatureControlManager.updateFeatures`` for Kafka 4.x; KIP-584, Validations, for the others,
where the words of an error are ours.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field, frozen

from upgrade.errors import FeatureError
from upgrade.features.cluster import Cluster, Event, Node, What, range_text
from upgrade.features.dialects import Asked, Code, Deletion, Kind, Lossy
from upgrade.features.levels import INT16, KRAFT, METADATA

KNOWS_CONTROLLERS: Final = 15
"""The level of metadata.version from which on controllers register (KIP-919); before it, nobody asks what they have."""
FOR_ALL: Final = "The update failed for all features since the following feature had an error: "


@frozen
class Update:
    """One wish: a feature at a level.

    ``kind`` is what the request's dialect has there: a code, or AllowDowngrade; none is an upgrade in every dialect.
    """

    feature: str
    level: int
    kind: int | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be sent."""
        if not self.feature or self.level not in INT16:
            raise FeatureError(f"expected a named feature and a level of 16 bits, got {self.feature!r} at {self.level}")


@frozen
class Request:
    """UpdateFeatures. The features are different ones, as the field is a map key on the wire."""

    updates: tuple[Update, ...]
    dry_run: bool = False
    version: int = 1

    def __attrs_post_init__(self) -> None:
        """Refuse a feature that is there twice."""
        names = [update.feature for update in self.updates]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise FeatureError(f"expected each feature once in a request, got {', '.join(twice)} more than once")


@frozen
class Result:
    """A code and its message, which is none without an error."""

    code: Code = Code.NONE
    message: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there was no error."""
        return self.code is Code.NONE


OK: Final = Result()


class Change(enum.Enum):
    """What an update does, in the words of KIP-584's tool."""

    ADD = "Add"
    UPGRADE = "Upgrade"
    DOWNGRADE = "Downgrade"
    DELETE = "Delete"
    NOTHING = "-"

    @classmethod
    def of(cls, before: int, after: int) -> Change:
        """Name the step from one level to another; a level below 1 is none.

        >>> Change.of(0, 2).value
        'Add'
        """
        before, after = max(before, 0), max(after, 0)
        if before == after:
            return cls.NOTHING
        if not before or not after:
            return cls.DELETE if before else cls.ADD
        return cls.UPGRADE if after > before else cls.DOWNGRADE


@frozen
class Answer:
    """The cluster afterwards, the error for all of the request, the results by feature, and what happened.

    In an atomic dialect there are results only if all is well.
    """

    cluster: Cluster
    top: Result = OK
    results: Mapping[str, Result] = field(factory=dict)
    events: tuple[Event, ...] = ()


class Applied(enum.Enum):
    """What a client may conclude."""

    YES = "applied"
    NO = "not applied"
    UNKNOWN = "it may have been applied or not"


def conclusion(answer: Answer | None, feature: str) -> Applied:
    """Say what a client knows about one feature of its request; ``None`` is an answer that never came.

    KIP-584, Guarantees: after a network error, or if either side dies, "the user should assume that the application
    (...) may have either succeeded or failed".
    """
    if answer is None:
        return Applied.UNKNOWN
    return Applied.YES if answer.top.ok and answer.results[feature].ok else Applied.NO


def update(cluster: Cluster, request: Request, *, to: int | None = None, authorized: bool = True) -> Answer:
    """Answer a request that was sent to node ``to`` (none: to the active controller; both roles: as a controller).

    ``FeatureError`` if the cluster has no such node or no active controller, or if the request cannot say this.
    """
    if request.dry_run and not (cluster.dialect.dry_run and request.version >= cluster.dialect.kinds_from):
        raise FeatureError(
            f"expected no dry run: version {request.version} of {cluster.dialect.name}'s request has none"
        )
    if not _reaches_controller(cluster, to):
        return Answer(
            cluster, Result(Code.NOT_CONTROLLER, f"The active controller appears to be node {cluster.active}.")
        )
    if not authorized:
        return Answer(cluster, Result(Code.CLUSTER_AUTHORIZATION_FAILED, "ALTER on CLUSTER is needed."))
    if not cluster.enabled:
        return Answer(cluster, Result(Code.INVALID_REQUEST, "The feature system is disabled."))
    results = {each.feature: _judge(cluster, request, each) for each in request.updates}
    errors = [result for result in results.values() if not result.ok]
    if errors and cluster.dialect.atomic:
        return Answer(cluster, Result(errors[0].code, f"{FOR_ALL}{errors[0].message}"))
    if request.dry_run:
        return Answer(cluster, results=results)
    return _applied(cluster, request, results)


def _reaches_controller(cluster: Cluster, to: int | None) -> bool:
    if to is None or to == cluster.local.id:
        return True
    if to not in {node.id for node in cluster.nodes()}:
        raise FeatureError(f"expected one of the cluster's nodes, got {to}")
    return cluster.dialect.brokers_forward and to in cluster.brokers and to not in cluster.controllers


def _applied(cluster: Cluster, request: Request, results: Mapping[str, Result]) -> Answer:
    # Kafka 4.x writes a level that is there already once more, so its epoch rises.
    levels = {each.feature: max(each.level, 0) for each in request.updates if results[each.feature].ok}
    if not levels:
        return Answer(cluster, results=results)
    events = [Event(What.FINALIZED, cluster.active, f"{feature} {level}") for feature, level in levels.items()]
    return Answer(cluster.write(levels), OK, results, (*events, Event(What.NOTIFIED)))


def _judge(cluster: Cluster, request: Request, wish: Update) -> Result:
    dialect = cluster.dialect
    kind = dialect.kind(wish.kind, request.version)
    for code, why in _objections(cluster, request, wish, kind):
        return Result(code, f"Invalid update version {wish.level} for feature {wish.feature}. {why}")
    level = cluster.level_of(METADATA)
    if wish.feature == METADATA and 0 < wish.level < level and not _may_lower(cluster, wish.level, kind):
        why = (
            "Unsafe metadata downgrade is not supported in this version."
            if kind is Kind.UNSAFE
            else "Refusing to perform the requested downgrade because it might delete metadata information."
        )
        return Result(dialect.unsafe, f"Unsupported {METADATA} downgrade from {level} to {wish.level}. {why}")
    return OK


def _may_lower(cluster: Cluster, target: int, kind: Kind) -> bool:
    lossy = cluster.dialect.lossy
    if lossy is Lossy.NOT_JUDGED or (lossy is Lossy.IF_UNSAFE and kind is Kind.UNSAFE):
        return True
    return cluster.catalog.safe_downgrade(cluster.level_of(METADATA), target)


def _objections(cluster: Cluster, request: Request, wish: Update, kind: Kind) -> Iterator[tuple[Code, str]]:
    """Yield what speaks against a wish, in Kafka's order; the first one is what the client hears."""
    dialect, now = cluster.dialect, cluster.level_of(wish.feature)
    lowering = kind in (Kind.SAFE, Kind.UNSAFE)
    if kind is Kind.UNKNOWN:
        yield dialect.invalid, "The controller does not support the given upgrade type."
    checked = dialect.deletion is Deletion.CHECKED
    if checked and wish.level < 0:
        yield dialect.invalid, "A feature version cannot be less than 0."
    if checked or wish.level >= 1:
        yield from ((dialect.failed, why) for why in not_supported(cluster, wish.feature, wish.level))
    if wish.level < now and not lowering:
        yield (
            dialect.invalid,
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade.",
        )
    if wish.level > now and lowering:
        yield dialect.invalid, "Can't downgrade to a newer version."
    if not dialect.same_level and max(wish.level, 0) == now:
        # KIP-584 leaves open what deleting an absent feature does. Kafka 2.7 refused it, and so do we.
        yield dialect.invalid, f"The feature is {f'at {now} already' if now else 'not finalised'}."
    if wish.level < now and (wish.feature, now) in cluster.impossible:
        yield dialect.failed, f"The feature cannot be downgraded from {now}."
    if 1 <= wish.level < cluster.minimum.get(wish.feature, 1):
        # Follows from "min_version_level <= max_version_level" always being true (KIP-584, Schema).
        yield dialect.failed, f"The levels below {cluster.minimum[wish.feature]} are deprecated."
    yield from _own_rules(cluster, request, wish)


def _own_rules(cluster: Cluster, request: Request, wish: Update) -> Iterator[tuple[Code, str]]:
    """Yield what a feature's own rules have against a wish. Java: ``KRaftVersion``, ``Feature.validateVersion``."""
    failed = cluster.dialect.failed
    if wish.feature == KRAFT:
        if wish.level < cluster.level_of(KRAFT):
            yield failed, "Can't downgrade the version of this feature."
    elif wish.feature in cluster.catalog.levels:
        # Judged on the result that is proposed, so a request can bring what it depends on.
        proposed = {**cluster.finalized, **{each.feature: each.level for each in request.updates}}
        for why in _depends(cluster, wish, proposed):
            yield failed, f"{wish.feature} could not be set to {wish.level} because it depends on {why}"
    elif cluster.dialect.deletion is Deletion.CHECKED:
        yield failed, f"Feature {wish.feature} not found."


def _depends(cluster: Cluster, wish: Update, proposed: Mapping[str, int]) -> Iterator[str]:
    catalog = cluster.catalog
    first = catalog.levels[METADATA][0]
    if (
        not cluster.in_zookeeper
        and wish.level >= 1
        and wish.feature != METADATA
        and proposed.get(METADATA, 0) < first.number
    ):
        yield f"{METADATA}={first.number} ({first.name})"
    for other, least in catalog.depends(wish.feature, wish.level).items():
        if proposed.get(other, 0) < least:
            yield f"{other} level {least}"


def not_supported(cluster: Cluster, feature: str, level: int) -> Iterator[str]:
    """Yield why nodes keep a feature from a level, in Kafka's words and order."""
    asked = cluster.dialect.asked
    if asked is Asked.ALL_REGISTERED:
        yield from _lacking("Local controller", {cluster.local.id: cluster.local}, feature, level)
        yield from _lacking("Broker", cluster.brokers, feature, level)
        yield from _other_controllers(cluster, feature, level)
        return
    live = {number: node for number, node in cluster.brokers.items() if node.live}
    yield from _lacking("Broker", live, feature, level)
    having = sum(node.live and node.has(feature, level) for node in cluster.controllers.values())
    if asked is Asked.AND_A_MAJORITY and 2 * having <= len(cluster.quorum):
        yield f"{having} of {len(cluster.quorum)} controllers run and support it, which is no majority."


def _other_controllers(cluster: Cluster, feature: str, level: int) -> Iterator[str]:
    if cluster.level_of(METADATA) < KNOWS_CONTROLLERS:
        return
    yield from _lacking("Controller", cluster.controllers, feature, level)
    for number in sorted(cluster.quorum - cluster.controllers.keys()):
        yield f"controller {number} has not registered, and may not support this feature"


def _lacking(role: str, nodes: Mapping[int, Node], feature: str, level: int) -> Iterator[str]:
    for number, node in sorted(nodes.items()):
        low, high = node.range_of(feature)
        if not low <= level <= high:
            said = f"only supports versions {range_text(low, high)}" if high else "does not support this feature."
            yield f"{role} {number} {said}"
