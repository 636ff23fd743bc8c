"""Model clusters for the tests: one of each dialect, and the settings of the observed table."""

from attrs import evolve

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import FeatureCluster, FeatureNode
from streams_assignor.upgrade.cluster.features.dialects import KAFKA_4, KIP_584, KIP_778
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS
from streams_assignor.upgrade.cluster.features.update_features import UpdateFeaturesRequest, UpdateItem, update_features
from tests.upgrade.cluster.features import observed

OF_4_3 = CATALOGS["4.3"]  # what was observed, was observed with it
OLD, NEW = CATALOGS["3.9"].supported_ranges(), OF_4_3.supported_ranges()
COORDINATOR, TRANSACTIONS = "group_coordinator", "transaction_coordinator"


def nodes(**supports):
    """Nodes by id: `nodes(n1=RANGES)`."""
    found = {int(name[1:]): ranges for name, ranges in supports.items()}
    return {number: FeatureNode(number, ranges) for number, ranges in found.items()}


def kip_584(*ranges, finalized=None, **further):
    """Brokers 1, 2, ... with these ranges; 1 is the controller."""
    brokers = {number: FeatureNode(number, supports) for number, supports in enumerate(ranges, 1)}
    return FeatureCluster(dialect=KIP_584, brokers=brokers, active=1, finalized=finalized or {}, **further)


def from_1(ranges):
    """Without the features that begin at 0, which the KIPs do not have."""
    return {name: found for name, found in ranges.items() if found[0]}


def kip_778(*controllers, brokers=None, voter_ids=None, **further):
    """Controllers 1, 2, ... with these ranges, and unless given otherwise a broker 4."""
    known = {number: FeatureNode(number, from_1(supports)) for number, supports in enumerate(controllers, 1)}
    found = {
        number: evolve(node, supports=from_1(node.supports)) for number, node in (brokers or nodes(n4=NEW)).items()
    }
    return FeatureCluster(
        dialect=KIP_778, brokers=found, controllers=known, voter_ids=voter_ids or known.keys(), active=1, **further
    )


def finalized(metadata, catalog=OF_4_3):
    """The levels of a new cluster."""
    return {
        METADATA_VERSION: metadata,
        **{name: level for name, level in catalog.default_levels(metadata).items() if level},
    }


def kafka(metadata=25, *, broker=NEW, **further):
    """One node of both roles, as most rows of the observed table have it."""
    fields = {
        "brokers": {1: FeatureNode(1, broker)},
        "controllers": {1: FeatureNode(1, NEW)},
        "voter_ids": {1},
        **further,
    }
    return FeatureCluster(dialect=KAFKA_4, catalog=OF_4_3, active=1, finalized=finalized(metadata), epoch=463, **fields)


def setting(name, metadata):
    """The cluster of a setting of the observed table."""
    old = FeatureNode(2, OLD)
    one = {1: FeatureNode(1, NEW)}
    three = {"voter_ids": {1, 2, 3}, "brokers": {**one, 2: FeatureNode(2, NEW)}}
    changes = {
        observed.SINGLE: {},
        observed.OLD_BROKER: {"brokers": {**one, 2: old}},
        observed.OLD_BROKER_STOPPED: {"brokers": {**one, 2: evolve(old, live=False)}},
        observed.OLD_BROKER_UNREGISTERED: {},
        observed.CONTROLLER_MISSING: {**three, "controllers": nodes(n1=NEW, n2=NEW)},
        observed.CONTROLLER_OLD: {**three, "controllers": nodes(n1=NEW, n2=NEW, n3=OLD)},
        observed.CONTROLLER_RENEWED: {**three, "controllers": nodes(n1=NEW, n2=NEW, n3=NEW)},
    }
    return kafka(metadata, **changes[name])


def request(feature, level, kind=None, **further):
    """A request for one feature."""
    return UpdateFeaturesRequest((UpdateItem(feature, level, kind),), **further)


def refused(cluster, asked, **further):
    """The only error of a request that changes nothing, whether for all of it or for its only feature."""
    answer = update_features(cluster, asked, **further)
    assert cluster == answer.cluster
    assert () == answer.events
    found = [answer.top_level, *answer.results.values()]
    return next(result for result in found if not result.ok)
