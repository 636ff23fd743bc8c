"""``upgrade.from`` and the rest of the configuration: every value of the KIP, Kafka's refusals in Kafka's words."""

import pytest

from upgrade import OURS, ConfigException, StreamsConfig, release_named

KIP_VALUES = {"0.10.0": 1, "0.10.1": 2, "0.10.2": 2, "0.11.0": 2, "1.0": 2, "1.1": 2}


@pytest.mark.parametrize("release", ["2.0.0", "2.0.1", "2.3.1", "streams-assignor", "simulated-4"])
@pytest.mark.parametrize(("value", "version"), KIP_VALUES.items())
def test_every_value_of_the_kip_pins_its_version(release, value, version):
    assert version == StreamsConfig(upgrade_from=value).pinned_version(release_named(release))


def test_null_means_no_upgrade():
    assert StreamsConfig().pinned_version(OURS) is None


@pytest.mark.parametrize("value", ["2.0", "1.1.1", "", "0.10", "3.5", 1.1])
def test_any_other_value_is_refused_in_kafkas_words(value):
    expected = (
        f"Invalid value {value} for configuration upgrade.from: "
        "String must be one of: null, 0.10.0, 0.10.1, 0.10.2, 0.11.0, 1.0, 1.1"
    )
    with pytest.raises(ConfigException) as caught:
        StreamsConfig.of({"upgrade.from": value})

    assert expected == str(caught.value)


@pytest.mark.parametrize("release", ["0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"])
def test_the_fixed_releases_before_2_0_accept_only_0_10_0(release):
    assert 1 == StreamsConfig(upgrade_from="0.10.0").pinned_version(release_named(release))
    with pytest.raises(ConfigException, match=r"must be one of: null, 0\.10\.0$"):
        StreamsConfig(upgrade_from="0.10.1").pinned_version(release_named(release))


@pytest.mark.parametrize("release", ["0.10.0.1", "0.10.1.1", "1.1.0"])
def test_releases_without_the_configuration_ignore_it(release):
    assert StreamsConfig(upgrade_from="0.10.0").pinned_version(release_named(release)) is None


@pytest.mark.parametrize("address", ["", "localhost:8080", "[::1]:80", "host.example:65535"])
def test_an_application_server_is_host_and_port(address):
    assert address == StreamsConfig.of({"application.server": address}).application_server


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("localhost", "Expected format host:port"),
        (":80", "Expected format host:port"),
        ("a:b", "Invalid port"),
        ("a:65536", "Invalid port"),
    ],
)
def test_anything_else_is_no_application_server(address, text):
    with pytest.raises(ConfigException, match=text):
        StreamsConfig(application_server=address)


@pytest.mark.parametrize("value", [-1, "x", 1.5, True])
def test_the_number_of_standbys_is_a_number_from_0_on(value):
    with pytest.raises(ConfigException, match=r"num\.standby\.replicas"):
        StreamsConfig.of({"num.standby.replicas": value})


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ConfigException, match=r"unknown configuration upgrade_from; known are application\.server"):
        StreamsConfig.of({"upgrade_from": "1.1"})
