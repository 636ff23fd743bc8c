"""Validation of broker configurations at start-up, their effective values, and the rules of the draft."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, PMV, TOPIC_OVERRIDES, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    VERSIONS,
    MetadataMode,
    broker_release,
    version_named,
)
from streams_assignor.upgrade.errors import ConfigException
from tests.upgrade.cluster.brokers.observed import KRAFT, ROWS

RELEASES = st.sampled_from(["0.9.0", "0.10.0", "1.0.0", "1.0.1", "2.1", "2.8", "3.0", "3.3", "3.9"]).map(broker_release)

OF_2_8 = [version for version in VERSIONS if version <= version_named("2.8")]


def config(release, draft=False, **settings):
    """A broker's configuration; `ibp`, `lmf`, `pmv` stand for Kafka's long names."""
    keys = {"ibp": IBP, "lmf": LMF, "pmv": PMV}
    return BrokerConfig.of(broker_release(release), {keys[key]: text for key, text in settings.items()}, draft=draft)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_it_refuses_what_real_brokers_refuse_in_their_words(row):
    def start():
        return BrokerConfig.of(broker_release(row.release), row.settings)

    if row.refusal:
        with pytest.raises(ConfigException) as refused:
            start()
        assert row.refusal == str(refused.value)
    else:
        assert version_named(row.settings[IBP]) == start().protocol


def test_a_version_that_had_not_been_released_is_refused_although_3_9_takes_it():
    with pytest.raises(ConfigException, match=r"Version 4\.0-IV0 is not a valid version"):
        config("3.9.2", ibp="4.0-IV0")


@given(RELEASES)
def test_without_settings_every_version_is_the_newest_of_the_release(release):
    found = BrokerConfig.of(release)

    assert (release.newest, None, ()) == (found.protocol, found.persistent_metadata_version, found.ignored_keys)
    assert release.newest.message_format == found.record_format
    assert release.newest == found.schema_version


def test_the_default_format_is_that_of_the_binary_not_of_the_protocol():
    assert ("2.1-IV2", "2.0-IV1") == tuple(map(str, (config("2.1", ibp="2.0").message_format, version_named("2.0"))))


def test_before_0_10_there_is_no_message_format_to_configure():
    found = config("0.9.0", ibp="0.8.2", lmf="banana")

    assert (None, (LMF,), 0) == (found.message_format, found.ignored_keys, found.record_format)


def test_from_protocol_3_0_on_the_message_format_is_ignored():
    found = config("3.9", ibp="3.0", lmf="0.10.0")

    assert (None, (LMF,), 2) == (found.message_format, found.ignored_keys, found.record_format)
    assert "0.10.0-IV1" == config("3.9", ibp="2.8", lmf="0.10.0").message_format.name


@given(RELEASES, st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_no_broker_writes_records_that_its_protocol_does_not_have(release, protocol, message_format):
    try:
        found = BrokerConfig.of(release, {IBP: protocol.name, LMF: message_format.name})
    except ConfigException:
        return

    assert found.record_format <= found.protocol.message_format
    assert found.supports(found.protocol)


@pytest.mark.parametrize("release", ["3.3", "3.9.2"])
def test_m1_in_kraft_mode_the_protocol_is_ignored(release):
    """KIP-778: "clusters running self-managed mode will ignore inter.broker.protocol.version"."""
    found = BrokerConfig.of(broker_release(release), {IBP: "3.1", LMF: "2.8", **KRAFT})

    assert ("3.0-IV1", (IBP, LMF)) == (found.protocol.name, found.ignored_keys)
    assert MetadataMode.KRAFT is found.mode


def test_m1_in_the_preview_it_was_not_ignored_yet():
    assert "3.1-IV0" == BrokerConfig.of(broker_release("3.2"), {IBP: "3.1", **KRAFT}).protocol.name


def test_m1_in_4_both_keys_are_removed_and_ignored():
    found = BrokerConfig.of(broker_release("4.3.1"), {IBP: "banana", LMF: "", **KRAFT})

    assert ("3.3-IV3", (IBP, LMF), None) == (found.protocol.name, found.ignored_keys, found.message_format)


def test_m1_with_zookeeper_the_protocol_decides_and_metadata_version_does_not():
    """KIP-778: "In ZK mode, this feature flag is ignored"; nothing here even takes one."""
    found = BrokerConfig.of(broker_release("3.9.2"), {IBP: "3.1", "metadata.version": "3.9"})

    assert ("3.1-IV0", ()) == (found.protocol.name, found.ignored_keys)


def test_before_2_8_there_are_no_roles():
    assert MetadataMode.ZOOKEEPER is BrokerConfig.of(broker_release("2.7"), KRAFT).mode


def test_s1_the_new_configuration_decides_which_schemas_are_written():
    found = config("2.1", draft=True, ibp="2.1", pmv="2.0", lmf="2.0")

    assert ("2.1-IV2", "2.0-IV1") == (found.protocol.name, found.schema_version.name)
    assert version_named("2.0").schemas == found.schema_version.schemas < found.protocol.schemas


def test_s1_no_real_broker_has_it():
    found = config("2.1", ibp="2.1", pmv="banana")

    assert (None, (PMV,), "2.1-IV2") == (
        found.persistent_metadata_version,
        found.ignored_keys,
        found.schema_version.name,
    )


@pytest.mark.parametrize("text", ["2.1", "2.1.0", "2.1-IV2", "2.1.1"])
def test_s3_it_takes_the_values_of_the_other_two(text):
    assert version_named("2.1") == config("2.2", draft=True, pmv=text, lmf="2.0").persistent_metadata_version


def test_s3_and_refuses_what_they_refuse():
    with pytest.raises(ConfigException, match=f"Invalid value 2.3 for configuration {PMV}: Version 2.3 is not a valid"):
        config("2.2", draft=True, pmv="2.3")


def test_s4_its_default_is_the_message_format():
    assert "2.0-IV1" == config("2.2", draft=True, lmf="2.0").persistent_metadata_version.name
    assert "2.2-IV1" == config("2.2", draft=True).persistent_metadata_version.name


def test_s4_its_default_is_not_higher_than_the_protocol():
    """A broker of 2.8 with a protocol of 2.7 was refused because of a default that was not configured."""
    found = config("2.8", draft=True, ibp="2.7")

    assert ("2.7-IV2", "2.7-IV2") == (found.protocol.name, found.persistent_metadata_version.name)
    assert ("2.8-IV1", found.protocol) == (found.message_format.name, found.schema_version)


VERSION_NAMES = st.none() | st.sampled_from(VERSIONS).map(str)


@given(RELEASES, VERSION_NAMES, VERSION_NAMES)
def test_s4_without_it_a_broker_of_the_draft_starts_as_every_broker(release, protocol, message_format):
    """The draft: compatible with previous versions."""
    settings = {key: text for key, text in ((IBP, protocol), (LMF, message_format)) if text}

    def start(*, draft):
        try:
            found = BrokerConfig.of(release, settings, draft=draft)
        except ConfigException as refused:
            return str(refused)
        return found.protocol, found.message_format, found.record_format, found.ignored_keys

    assert start(draft=False) == start(draft=True)


def test_s4_without_a_message_format_its_default_is_the_protocol():
    """Our own choice: the draft is older than brokers that have no message format to configure."""
    assert "3.1-IV0" == config("3.2", draft=True, ibp="3.1").persistent_metadata_version.name


def test_s5_the_message_format_must_not_be_higher():
    with pytest.raises(ConfigException, match=rf"{LMF} 2\.1-IV2 must not be higher than {PMV}, which is 2\.0-IV1"):
        config("2.2", draft=True, lmf="2.1", pmv="2.0")


def test_s5_a_default_message_format_is_compared_by_its_number():
    assert "2.0-IV1" == config("2.2", draft=True, pmv="2.0").persistent_metadata_version.name
    with pytest.raises(ConfigException, match=rf"{LMF} 2\.2-IV1 must not be higher than {PMV}, which is 0\.10\.2-IV0"):
        config("2.2", draft=True, pmv="0.10.2")


def test_s5_our_own_choice_it_must_not_be_higher_than_the_protocol():
    with pytest.raises(ConfigException, match=rf"{PMV} 2\.2-IV1 must not be higher than {IBP}, which is 2\.1-IV2"):
        config("2.2", draft=True, ibp="2.1", pmv="2.2")


@given(st.sampled_from(OF_2_8), st.sampled_from(OF_2_8), st.sampled_from(OF_2_8))
def test_s5_a_broker_that_starts_has_them_in_order(protocol, persistent, message_format):
    settings = {IBP: protocol.name, PMV: persistent.name, LMF: message_format.name}
    try:
        found = BrokerConfig.of(broker_release("2.8"), settings, draft=True)
    except ConfigException:
        assert not message_format <= persistent <= protocol
    else:
        assert found.message_format <= found.persistent_metadata_version <= found.protocol


def test_s9_no_topic_overrides_it():
    assert {LMF: "message.format.version"} == TOPIC_OVERRIDES
