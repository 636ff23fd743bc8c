"""metadata.version and the records it governs: the rows I1 to I3, M1, M5 and W1 to W7."""

from operator import attrgetter

import pytest
from attrs import evolve, fields

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import EventType
from streams_assignor.upgrade.cluster.features.dialects import KAFKA_4, KIP_778
from streams_assignor.upgrade.cluster.features.levels_of_releases import catalog_of
from streams_assignor.upgrade.cluster.features.metadata_log import (
    FeatureLevelRecord,
    LoaderAction,
    MetadataLoader,
    MetadataRecord,
    MetadataSnapshot,
    RecordField,
    apply_entry,
    can_downgrade_software,
    decode_record,
    format_meta_properties,
    initialize_metadata_version,
    load_from_disk,
    records_at_level,
    write_snapshot,
)
from streams_assignor.upgrade.cluster.features.update_features import update_features
from streams_assignor.upgrade.errors import FeatureError, UnknownLevel
from tests.upgrade.cluster.features.clusters import NEW, kafka, kip_584, kip_778, request
from tests.upgrade.cluster.features.test_catalog import KIP_778_EXAMPLE

# The example of KIP-778: V3 adds an optional field to Foo, V4 the record Bar, V5 an optional field to Bar.
FOO = MetadataRecord("Foo", "1", 1, (RecordField("id", 1), RecordField("note", 3, tagged=True)))
BAR = MetadataRecord("Bar", "2", 4, (RecordField("id", 4), RecordField("note", 5, tagged=True)))


def level(number):
    return FeatureLevelRecord(METADATA_VERSION, number)


def loaded(dialect, *entries, start=5):
    loader, steps = MetadataLoader(dialect, start), ()
    for entry in entries:
        loader, steps = apply_entry(loader, entry)
    return loader, steps


def test_i1_a_new_active_controller_that_has_read_no_level_writes_the_one_of_its_meta_properties():
    outcome = initialize_metadata_version(kip_778(NEW), {METADATA_VERSION: "4.0-IV3"})

    assert {METADATA_VERSION: 25} == outcome.cluster.finalized
    assert [(EventType.FINALIZED, 1, "metadata.version 25")] == [(e.type, e.node, e.text) for e in outcome.events]
    assert outcome.cluster.epoch > kip_778(NEW).epoch


def test_i1_one_that_has_read_a_level_leaves_it():
    cluster = kip_778(NEW, finalized={METADATA_VERSION: 9})

    assert (cluster, ()) == attrgetter("cluster", "events")(
        initialize_metadata_version(cluster, {METADATA_VERSION: "4.3"})
    )


def test_i1_what_is_no_level_is_refused():
    with pytest.raises(UnknownLevel, match=r"Unknown metadata.version '9\.9'"):
        initialize_metadata_version(kip_778(NEW), {METADATA_VERSION: "9.9"})


@pytest.mark.parametrize(
    ("meta_properties", "why"),
    [
        ({METADATA_VERSION: "4.0-IV3"}, r"expected metadata\.version from 7 to 21, which it supports, got 25$"),
        ({}, r"from 7 to 21, which it supports, got 1 \(the value of a preview cluster"),
    ],
)
def test_i1_i2_a_level_outside_the_controllers_own_range_is_not_written(meta_properties, why):
    with pytest.raises(FeatureError, match=f"meta.properties of controller 1: .*{why}"):
        initialize_metadata_version(kip_778({METADATA_VERSION: (7, 21)}), meta_properties)


@pytest.mark.parametrize(("release", "level"), [("3.9", 21), ("4.3", 30)])
def test_m13_the_default_of_the_format_tool_is_the_newest_released_level_of_its_release(release, level):
    catalog = catalog_of(release)
    cluster = evolve(kip_778({METADATA_VERSION: (1, 31)}), catalog=catalog)
    default = format_meta_properties(catalog)

    assert {METADATA_VERSION: level} == initialize_metadata_version(cluster, default).cluster.finalized
    assert max(each.number for each in catalog.levels[METADATA_VERSION]) > level


def test_m13_the_format_tool_takes_a_level_of_its_release():
    assert {METADATA_VERSION: "3.9-IV0"} == format_meta_properties(catalog_of("4.3"), "3.9")
    with pytest.raises(UnknownLevel, match=r"Unknown metadata.version '4\.3'"):
        format_meta_properties(catalog_of("3.9"), "4.3")


def test_i2_a_preview_cluster_begins_at_1():
    assert {METADATA_VERSION: 1} == initialize_metadata_version(
        kip_778({METADATA_VERSION: (1, 7)}), {}
    ).cluster.finalized


def test_i3_the_highest_supported_level_is_never_assumed():
    assert 1 == initialize_metadata_version(kip_778({METADATA_VERSION: (1, 7)}), {"cluster.id": "x"}).cluster.level_of(
        METADATA_VERSION
    )


def test_m1_a_zookeeper_cluster_gets_no_metadata_version():
    cluster = kip_584({METADATA_VERSION: (1, 4)})

    assert cluster is initialize_metadata_version(cluster, {METADATA_VERSION: "3.3"}).cluster


def test_m5_the_record_of_a_level_has_a_name_and_one_number():
    assert (12, 0) == (FeatureLevelRecord.API_KEY, FeatureLevelRecord.VERSION)
    assert ["name", "feature_level"] == [each.name for each in fields(FeatureLevelRecord)]


@pytest.mark.parametrize(("source", "target"), [(5, 4), (3, 2), (3, 1), (2, 1)])
def test_w2_a_lossless_downgrade_changes_no_record(source, target):
    records = records_at_level((FOO, BAR), source)

    assert records == records_at_level(records, target)
    assert KIP_778_EXAMPLE.is_safe_downgrade(source, target)


def test_w2_tagged_fields_that_are_newer_are_skipped_when_read():
    assert ("id",) == tuple(each.name for each in decode_record(FOO, 2).fields)
    assert FOO == decode_record(FOO, 3)


def test_w2_nothing_else_that_is_newer_can_be_read():
    with pytest.raises(FeatureError, match="expected a record that level 3 can read, got Bar 2"):
        decode_record(BAR, 3)
    with pytest.raises(FeatureError, match="got Foo 1"):
        decode_record(evolve(FOO, fields=(RecordField("must", 4),)), 3)


def test_w3_a_lossy_downgrade_omits_newer_record_types_and_writes_the_rest_in_the_older_format():
    record = evolve(FOO, fields=(*FOO.fields, RecordField("must", 4)))

    assert (FOO,) == records_at_level((record, BAR), 2)


def test_w3_a_loader_drops_them_too():
    loader, _ = loaded(KIP_778, FOO, BAR, level(2))

    assert {("Foo", "1"): FOO} == loader.state
    assert {("Bar", "2")} == loader.changed_keys


def test_w4_the_software_goes_back_only_after_every_node_has_loaded_the_downgrade():
    cluster = kip_778(NEW, finalized={METADATA_VERSION: 25})
    answer = update_features(cluster, request(METADATA_VERSION, 23, 1))  # validated, then written
    written = level(answer.cluster.level_of(METADATA_VERSION))
    nodes = [MetadataLoader(KIP_778, 25), MetadataLoader(KIP_778, 25)]

    first = apply_entry(nodes[0], written)[0]

    assert not can_downgrade_software([first, nodes[1]], 23)
    assert can_downgrade_software([first, apply_entry(nodes[1], written)[0]], 23)


def test_w2_w5_a_downgrade_writes_a_snapshot_right_before_it_and_one_with_the_lower_level():
    loader, steps = loaded(KIP_778, FOO, BAR, level(4))

    assert tuple(LoaderAction) == steps
    assert (MetadataSnapshot(1, 5, (FOO, BAR)), MetadataSnapshot(2, 4, (FOO, BAR))) == loader.snapshots
    assert (2, 4) == (loader.offset, loader.level)


def test_w3_w5_the_second_snapshot_of_a_lossy_downgrade_has_no_newer_record_and_the_first_one_has_all():
    loader, _ = loaded(KIP_778, FOO, BAR, level(2))

    assert (MetadataSnapshot(1, 5, (FOO, BAR)), MetadataSnapshot(2, 2, (FOO,))) == loader.snapshots


def test_w5_an_upgrade_writes_only_the_snapshot_right_before_it():
    loader, steps = loaded(KIP_778, FOO, level(5), start=4)

    assert (LoaderAction.SNAPSHOT, LoaderAction.RESERIALIZED, LoaderAction.PUBLISHED) == steps
    assert (MetadataSnapshot(0, 4, (FOO,)),) == loader.snapshots
    assert not can_downgrade_software([loader], 4)


def test_w3_w4_the_older_release_reads_the_second_snapshot_and_cannot_read_the_first():
    """Only the first one was modelled, with the newer record, and yet the software could go back."""
    loader, _ = loaded(KIP_778, FOO, BAR, level(2))
    first, second = loader.snapshots

    assert can_downgrade_software([loader], 2)
    assert ({FOO.key}, {"id"}) == (
        {record.key for record in load_from_disk(loader, 2)},
        {each.name for record in load_from_disk(loader, 2, second) for each in record.fields},
    )
    with pytest.raises(FeatureError, match=r"expected metadata\.version 2 at most, got 5 from offset 1 on"):
        load_from_disk(loader, 2, first)
    assert {FOO, BAR} == set(load_from_disk(loader, 5, first))
    assert not can_downgrade_software([evolve(loader, snapshots=(first,))], 2)


def test_w4_the_older_release_reads_the_log_after_the_snapshot_too():
    loader, _ = loaded(KIP_778, FOO, level(2), evolve(FOO, key="9"))

    assert ["1", "9"] == [record.key for record in load_from_disk(loader, 2)]
    assert not can_downgrade_software([apply_entry(loader, evolve(BAR, key="9"))[0]], 2)
    assert can_downgrade_software([apply_entry(loader, FeatureLevelRecord("group.version", 9))[0]], 2)


def test_w5_kafka_4_writes_no_snapshot():
    loader, steps = loaded(KAFKA_4, FOO, BAR, level(4))

    assert (LoaderAction.PUBLISHED,) == steps
    assert ((), 4, {("Foo", "1"): FOO, ("Bar", "2"): BAR}) == (loader.snapshots, loader.level, loader.state)


def test_w5_so_in_kafka_4_the_older_release_waits_for_a_regular_snapshot():
    loader, _ = loaded(KAFKA_4, FOO, BAR, level(4))

    assert not can_downgrade_software([loader], 4)
    assert can_downgrade_software([write_snapshot(loader)], 4)


@pytest.mark.parametrize("dialect", [KIP_778, KAFKA_4], ids=lambda dialect: dialect.name)
def test_w6_a_delta_has_only_what_changed(dialect):
    other = evolve(FOO, key="9")

    assert {("Foo", "9")} == loaded(dialect, FOO, BAR, other)[0].changed_keys
    assert set() == loaded(dialect, FOO, other, level(3))[0].changed_keys
    assert set() == loaded(dialect, FOO, FOO)[0].changed_keys


def test_w6_the_level_it_has_already_and_other_features_change_nothing():
    assert ((), 1) == (lambda found: (found[1], found[0].offset))(loaded(KIP_778, FOO, level(5)))
    assert () == loaded(KIP_778, FOO, FeatureLevelRecord("group.version", 1))[1]


def test_w7_no_transitional_level_no_record_twice_no_last_inter_broker_protocol():
    """The rejected parts of KIP-778 are not there: one number per feature, one record per key, and no IBP."""
    cluster = update_features(kafka(), request(METADATA_VERSION, 26)).cluster

    assert (26, {}) == (cluster.finalized[METADATA_VERSION], cluster.minimum)
    assert 1 == len(loaded(KIP_778, FOO, level(3), FOO)[0].state)
    assert "inter.broker.protocol.version" not in cluster.finalized
