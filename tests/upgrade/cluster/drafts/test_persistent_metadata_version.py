"""The rolls of the draft, applied to a model cluster."""

from itertools import combinations

import pytest

from streams_assignor.upgrade.cluster.brokers.config import IBP, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import NEWEST_OF_LINE, broker_release, version_named
from streams_assignor.upgrade.cluster.drafts.persistent_metadata_version import (
    StoredMetadata,
    StoredMetadataChange,
    persistent_metadata_rolls,
)
from streams_assignor.upgrade.cluster.drafts.rolling_cluster import RollingCluster
from streams_assignor.upgrade.errors import UpgradeError

OLD, NEW = broker_release("2.0"), broker_release("2.1")
SERIES = [
    broker_release(line)
    for line in NEWEST_OF_LINE
    if version_named("0.11.0") <= version_named(line) < version_named("3.0-IV1")
]
PAIRS = list(combinations([broker_release("0.10.2"), *SERIES], 2))


def walked(origin, path):
    """The cluster after each stage, in which every broker has led and written once."""
    cluster = RollingCluster.of(BrokerConfig.of(origin, draft=True)).write("A")
    for stage in path:
        for cluster in cluster.roll(stage.config):  # noqa: B020 - each roll goes on from the last
            assert () == cluster.incompatible_pairs
        for leader in "ABC":
            cluster = cluster.write(leader)
        yield stage, cluster


def first_roll_with(change):
    """The roll in which the change takes effect: its configuration has the new value for the first time."""
    return next(
        stage for stage in persistent_metadata_rolls(OLD, NEW) if NEW.line == stage.settings[change.controlled_by]
    )


def test_s1_the_four_kinds_of_stored_data_are_those_of_the_text():
    """Its numbered list, with words of each item."""
    words = ("internal topics", "ZooKeeper", "index files", "replication and cleaner checkpoints")

    assert all(text in kind.value for text, kind in zip(words, StoredMetadata, strict=True))


@pytest.mark.parametrize("what", StoredMetadata)
def test_s1_incompatible_changes_wait_for_the_roll_after_which_there_is_no_downgrade(what):
    """ "Once persistent.metadata.version has been updated to the latest version, users cannot downgrade"."""
    roll = first_roll_with(StoredMetadataChange(what, compatible=False))

    assert ("raise persistent.metadata.version", False) == (roll.do, roll.can_downgrade)


@pytest.mark.parametrize("what", StoredMetadata)
def test_s2_compatible_changes_take_effect_while_a_downgrade_is_possible(what):
    """They "will take effect immediately when inter.broker.protocol.version is updated"."""
    roll = first_roll_with(StoredMetadataChange(what, compatible=True))

    assert ("raise inter.broker.protocol.version and validate", True) == (roll.do, roll.can_downgrade)


def test_s1_the_records_of_internal_topics_change_with_the_third_roll_only():
    """Kafka 2.1 writes committed offsets as version 3 and groups as version 2; 2.0 writes version 1 of both."""
    newest = [cluster.brokers[0].log[-1] for _, cluster in walked(OLD, persistent_metadata_rolls(OLD, NEW))]

    assert [(1, 1), (1, 1), (2, 3)] == [entry.schema.schemas for entry in newest]


def test_s6_the_protocol_then_the_metadata_then_the_message_format():
    path = persistent_metadata_rolls(broker_release("0.10.2"), broker_release("2.1"))

    assert [
        ("0.10.2-IV0",) * 3,
        ("2.1-IV2", "0.10.2-IV0", "0.10.2-IV0"),
        ("2.1-IV2", "2.1-IV2", "0.10.2-IV0"),
        ("2.1-IV2",) * 3,
    ] == [
        tuple(map(str, (stage.config.protocol, stage.config.persistent_metadata_version, stage.config.message_format)))
        for stage in path
    ]


def test_s6_without_a_new_message_format_its_roll_is_left_out():
    """ "Finally, if there are any message format changes"."""
    assert 3 == len(persistent_metadata_rolls(OLD, NEW))


@pytest.mark.unmeasured
@pytest.mark.parametrize("together", [False, True])
def test_s7_a_downgrade_is_possible_exactly_as_long_as_in_the_draft(together):
    for origin, target in PAIRS:
        for stage, cluster in walked(origin, persistent_metadata_rolls(origin, target, together=together)):
            found = cluster.downgrade(origin)
            assert stage.can_downgrade == found.is_possible, (origin, target, stage)
            if stage.can_downgrade:
                assert () == found.unreadable_entries


def test_s7_after_the_first_step_alone_a_downgrade_is_possible():
    stages = dict.fromkeys(
        stage.do
        for stage, cluster in walked(OLD, persistent_metadata_rolls(OLD, NEW))
        if cluster.downgrade(OLD).is_possible
    )

    assert [f"raise {IBP} and validate"] == list(stages)[1:]


def test_s7_both_at_once_prevent_it_a_roll_earlier():
    assert [True, False] == [stage.can_downgrade for stage in persistent_metadata_rolls(OLD, NEW, together=True)]


def test_s10_the_path_is_there_for_every_pair_because_the_sentence_that_may_restrict_it_is_cut_off():
    assert all(
        persistent_metadata_rolls(origin, target)[1].do == f"raise {IBP} and validate" for origin, target in PAIRS
    )


@pytest.mark.parametrize(("origin", "target"), [("2.1", "2.0"), ("2.1", "2.1.1")])
def test_there_must_be_something_to_raise(origin, target):
    with pytest.raises(UpgradeError, match="there is nothing to raise"):
        persistent_metadata_rolls(broker_release(origin), broker_release(target))
