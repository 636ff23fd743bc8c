"""The differences of the dialects: the rows M2 to M7, and the table of points."""

import pytest
from attrs import fields

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.dialects import (
    DIALECT_POINTS,
    DIALECTS,
    KAFKA_4,
    KIP_584,
    KIP_584_OLDER,
    KIP_778,
    Code,
    Dialect,
    DowngradeIntent,
)
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.cluster.features.update_features import UpdateFeaturesRequest, UpdateItem, update_features
from streams_assignor.upgrade.errors import FeatureError
from tests.upgrade.cluster.features import observed
from tests.upgrade.cluster.features.clusters import NEW, kafka, kip_584, kip_778, refused, request

TRANSACTION = observed.TRANSACTION


def test_m2_how_a_request_says_that_a_lower_level_is_meant():
    assert [DowngradeIntent.UPGRADE, DowngradeIntent.SAFE, DowngradeIntent.UNKNOWN] == [
        KIP_584.downgrade_intent(code) for code in (0, 1, 2)
    ]
    assert [DowngradeIntent.UPGRADE, DowngradeIntent.SAFE, DowngradeIntent.UNSAFE, DowngradeIntent.UNKNOWN] == [
        KIP_778.downgrade_intent(code) for code in range(4)
    ]
    assert [
        DowngradeIntent.UNKNOWN,
        DowngradeIntent.UPGRADE,
        DowngradeIntent.SAFE,
        DowngradeIntent.UNSAFE,
        DowngradeIntent.UNKNOWN,
    ] == [KAFKA_4.downgrade_intent(code) for code in range(5)]


def test_m2_version_0_of_kafka_4_ignores_allow_downgrade():
    assert [DowngradeIntent.UPGRADE, DowngradeIntent.UPGRADE] == [
        KAFKA_4.downgrade_intent(allowed, version=0) for allowed in (False, True)
    ]


def test_m2_a_dry_run_came_with_kip_778():
    assert kip_778(NEW, finalized={METADATA_VERSION: 25}) == (
        update_features(
            kip_778(NEW, finalized={METADATA_VERSION: 25}), request(METADATA_VERSION, 26, 0, dry_run=True)
        ).cluster
    )
    with pytest.raises(FeatureError, match="KIP-584's request has none"):
        update_features(kip_584({"a": (1, 2)}), request("a", 1, 0, dry_run=True))
    with pytest.raises(FeatureError, match="expected no dry run: version 0 of KIP-778's request has none"):
        update_features(kip_778(NEW), request(METADATA_VERSION, 26, 0, version=0, dry_run=True))
    with pytest.raises(FeatureError, match="expected no dry run: version 0 of Kafka 4"):
        update_features(kafka(), request(METADATA_VERSION, 26, version=0, dry_run=True))


def test_m3_controllers_are_asked_directly_since_kip_778():
    cluster = kip_778(NEW, NEW, finalized={METADATA_VERSION: 25})

    assert 26 == update_features(cluster, request(METADATA_VERSION, 26, 0), node_id=1).cluster.level_of(
        METADATA_VERSION
    )
    assert Code.NOT_CONTROLLER is refused(cluster, request(METADATA_VERSION, 26, 0), node_id=2).code


def test_m4_the_code_for_an_unsafe_downgrade_was_never_released():
    asked = request(METADATA_VERSION, 22, 1)

    assert Code.UNSAFE_FEATURE_DOWNGRADE is refused(kip_778(NEW, finalized={METADATA_VERSION: 25}), asked).code
    assert Code.UNSAFE_FEATURE_DOWNGRADE.value is None
    assert Code.INVALID_UPDATE_VERSION is refused(kafka(), request(METADATA_VERSION, 22, observed.SAFE)).code


def test_m6_since_kip_778_a_finalized_feature_is_one_level():
    assert {TRANSACTION: 1}.items() <= update_features(kafka(22), request(TRANSACTION, 1)).cluster.finalized.items()
    assert {} == update_features(kafka(22), request(TRANSACTION, 1)).cluster.minimum
    assert {"a": 2} == update_features(kip_584({"a": (2, 3)}), request("a", 3, 0)).cluster.minimum


def test_m7_without_a_kind_a_lower_level_is_not_meant_and_nothing_is_a_dry_run():
    """The KIP's deprecated constructor makes SAFE even of `false`; taken as a slip."""
    assert DowngradeIntent.UPGRADE is KIP_778.downgrade_intent(False)
    assert {DowngradeIntent.UPGRADE} == {
        dialect.downgrade_intent(UpdateItem("a", 1).upgrade_type) for dialect in DIALECTS
    }
    assert not UpdateFeaturesRequest(()).dry_run


def test_the_points_are_the_fields_of_a_dialect():
    assert [each.name for each in fields(Dialect) if each.name != "name"] == list(DIALECT_POINTS)


def test_dialects_and_tables_show_their_names_only():
    assert f"<Kafka 4.x> <levels of Kafka {NEWEST_CATALOG.release}>" == f"{KAFKA_4!r} {NEWEST_CATALOG!r}"


def test_every_point_differs_between_two_dialects():
    every = (*DIALECTS, KIP_584_OLDER)

    assert all(len({str(getattr(dialect, point)) for dialect in every}) > 1 for point in DIALECT_POINTS)


def test_o1_o2_o3_the_older_version_of_kip_584_differs_in_three_points():
    assert ["level_bits", "late", "deprecated_by"] == [
        point for point in DIALECT_POINTS if getattr(KIP_584, point) != getattr(KIP_584_OLDER, point)
    ]
