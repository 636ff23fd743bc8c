"""``upgrade.from`` and the rest of the configuration: every value of the KIP, Kafka's refusals in Kafka's words."""

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.config import AssignmentConfigs
from streams_assignor.probing.follow_up import MAX_WAIT_SECONDS
from streams_assignor.upgrade import (
    OURS,
    ConfigException,
    StreamsConfig,
    StreamsSettings,
    as_streams_config,
    release_named,
)
from streams_assignor.upgrade.config_keys import CONFIG_KEYS
from streams_assignor.upgrade.config_types import ConfigType
from streams_assignor.upgrade.release_behaviour import UPGRADE_FROM
from streams_assignor.upgrade.releases import NEWEST

KIP_VALUES = {"0.10.0": 1, "0.10.1": 2, "0.10.2": 2, "0.11.0": 2, "1.0": 2, "1.1": 2}

# What StreamsConfig and ConsumerConfig of 4.3.1 say: key, default, the least value, the greatest.
NUMBERS = [
    ("acceptable.recovery.lag", 10_000, 0, 2**63 - 1),
    ("max.warmup.replicas", 2, 1, 2**31 - 1),
    ("num.standby.replicas", 0, 0, 2**31 - 1),
    ("probing.rebalance.interval.ms", 600_000, 60_000, 2**63 - 1),
    ("rack.aware.assignment.non_overlap_cost", None, -(2**31), 2**31 - 1),
    ("rack.aware.assignment.traffic_cost", None, -(2**31), 2**31 - 1),
]
TEXTS = [
    ("application.server", ""),
    ("client.rack", ""),
    ("client.tag.*", {}),
    ("group.instance.id", None),
    ("rack.aware.assignment.strategy", "none"),
    ("rack.aware.assignment.tags", ()),
    ("upgrade.from", None),
]

TYPES = {
    ConfigType.INT: int | str,
    ConfigType.LONG: int | str,
    ConfigType.STRING: str,
    ConfigType.LIST: str | list[str] | tuple[str, ...],
}


def attribute(key):
    return key.removesuffix(".*").replace(".", "_") + "s" * key.endswith("*")


def refused(**settings):
    with pytest.raises(ConfigException) as caught:
        StreamsConfig.of({key.replace("__", "."): value for key, value in settings.items()})
    return str(caught.value)


@pytest.mark.parametrize(("key", "default"), [(key, default) for key, default, *_ in [*NUMBERS, *TEXTS]])
def test_an_attribute_is_named_like_its_key_and_has_kafkas_default(key, default):
    assert default == getattr(StreamsConfig(), attribute(key))


def test_there_are_no_other_keys():
    known = {key for key, *_ in [*NUMBERS, *TEXTS]}

    assert known == CONFIG_KEYS.keys() == {each.metadata["key"] for each in attrs.fields(StreamsConfig)}


@pytest.mark.parametrize("of_tasks", attrs.fields(AssignmentConfigs), ids=lambda each: each.name)
def test_a_default_has_one_place_for_a_member_and_a_task_assignor(of_tasks):
    key = of_tasks.metadata["key"]

    assert CONFIG_KEYS[key].default == of_tasks.default == getattr(StreamsConfig(), attribute(key))


@pytest.mark.parametrize(("key", "_", "least", "greatest"), NUMBERS)
def test_a_number_ends_where_it_does_in_kafka(key, _, least, greatest):
    assert least == getattr(StreamsConfig.of({key: least}), attribute(key))
    assert greatest == getattr(StreamsConfig.of({key: f" {greatest} "}), attribute(key))
    for value in (least - 1, str(greatest + 1), "x", 1.5, True):
        with pytest.raises(ConfigException, match=f"Invalid value {value} for configuration {key}: "):
            StreamsConfig.of({key: value})


@pytest.mark.parametrize("key", [key for key, default, *_ in NUMBERS if default is not None])
def test_a_number_with_a_default_cannot_be_null(key):
    with pytest.raises(ConfigException, match=key):
        StreamsConfig.of({key: None})


@pytest.mark.unmeasured
@pytest.mark.parametrize("release", ["2.0.0", "2.0.1", "2.3.1", "2.4.0", "3.9.2", "streams-assignor", "simulated-4"])
@pytest.mark.parametrize(("value", "version"), KIP_VALUES.items())
def test_every_value_of_the_kip_pins_its_version(release, value, version):
    assert version == StreamsConfig(upgrade_from=value).pinned_version(release_named(release))


@pytest.mark.parametrize("value", UPGRADE_FROM[len(KIP_VALUES) :])
def test_no_other_value_pins_a_version(value):
    accepting = [name for name in ("2.4", "3.9", NEWEST.line) if release_named(name).can_start_with(value)]

    assert accepting
    assert [None] * len(accepting) == [
        StreamsConfig(upgrade_from=value).pinned_version(release_named(name)) for name in accepting
    ]


def test_null_means_no_upgrade():
    assert StreamsConfig().pinned_version(OURS) is None


@pytest.mark.parametrize("value", ["1.1.1", "", "0.10", "7", "null"])
def test_a_value_that_no_release_knows_is_refused_with_all_that_some_release_does(value):
    text = refused(upgrade__from=value)

    assert text.startswith(
        f"Invalid value {value} for configuration upgrade.from: String must be one of: null, 0.10.0, "
    )
    assert text.endswith(f", {UPGRADE_FROM[-1]}")


def test_a_release_refuses_what_it_does_not_know_in_kafkas_words():
    config = StreamsConfig(upgrade_from="2.0")

    with pytest.raises(ConfigException) as caught:
        config.pinned_version(release_named("2.3.1"))
    assert str(caught.value) == (
        "Invalid value 2.0 for configuration upgrade.from: "
        "String must be one of: null, 0.10.0, 0.10.1, 0.10.2, 0.11.0, 1.0, 1.1"
    )


@pytest.mark.parametrize(("release", "value"), [("3.5.0", "3.4"), ("4.0.0", "2.3")])
def test_a_value_that_a_release_accepts_and_then_fails_on_is_refused_at_start(release, value):
    with pytest.raises(ConfigException, match=r"upgrade\.from.*" + value.replace(".", r"\.")):
        StreamsConfig(upgrade_from=value).pinned_version(release_named(release))


@pytest.mark.parametrize("release", ["0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"])
def test_the_fixed_releases_before_2_0_accept_only_0_10_0(release):
    assert 1 == StreamsConfig(upgrade_from="0.10.0").pinned_version(release_named(release))
    with pytest.raises(ConfigException, match=r"must be one of: null, 0\.10\.0$"):
        StreamsConfig(upgrade_from="0.10.1").pinned_version(release_named(release))


@pytest.mark.parametrize("release", ["0.10.0.1", "0.10.1.1", "1.1.0"])
def test_releases_without_the_configuration_ignore_it(release):
    assert StreamsConfig(upgrade_from="0.10.0").pinned_version(release_named(release)) is None


@pytest.mark.parametrize("key", ["application.server", "client.rack", "group.instance.id", "upgrade.from"])
def test_a_text_is_a_text(key):
    with pytest.raises(
        ConfigException, match=f"Invalid value 1.1 for configuration {key}: Expected value to be a string"
    ):
        StreamsConfig.of({key: 1.1})


@pytest.mark.parametrize(("text", "trimmed"), [(" a ", "a"), ("\x00\ta\n", "a"), ("\xa0a\u2003", "\xa0a\u2003")])
def test_a_text_is_trimmed_as_java_trims_it(text, trimmed):
    assert trimmed == StreamsConfig.of({"client.rack": text}).client_rack


@pytest.mark.parametrize("name", ["a", "A-9_.z", "x" * 249])
def test_a_static_member_has_a_name_that_a_topic_could_have(name):
    assert name == StreamsConfig(group_instance_id=name).group_instance_id


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250])
def test_anything_else_is_no_name_of_a_static_member(name):
    assert "group.instance.id" in refused(group__instance__id=name)


def test_client_tags_are_the_keys_with_their_prefix():
    config = StreamsConfig.of({"client.tag.zone": "a", "client.tag.cluster": 1, "rack.aware.assignment.tags": "zone"})

    assert {"zone": "a", "cluster": "1"} == config.client_tags
    assert ("zone",) == config.rack_aware_assignment_tags
    assert hash(config) == hash(StreamsConfig(rack_aware_assignment_tags=("zone",), client_tags=config.client_tags))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {f"client.tag.{i}": "a" for i in range(6)},
            "At most 5 client tags can be specified using client.tag. prefix.",
        ),
        ({"client.tag.": "a"}, "Invalid config `client.tag.` (missing client tag key)."),
        ({"client.tag.a": " "}, "Invalid value [] for configuration client.tag.a: Tag value cannot be empty."),
        ({f"client.tag.{'a' * 21}": "b"}, "Tag key exceeds maximum length of 20."),
        ({"client.tag.a": "b" * 31}, "Tag value exceeds maximum length of 30."),
        ({"client.tag.a": "\U0001f600" * 16}, "Tag value exceeds maximum length of 30."),
        (
            {"rack.aware.assignment.tags": "a, b", "client.tag.a": "1"},
            "Invalid value [a, b] for configuration rack.aware.assignment.tags: Contains invalid value [b] which "
            "doesn't have corresponding tag set via [client.tag.] prefix.",
        ),
        (
            {"rack.aware.assignment.tags": ["a"] * 6, "client.tag.a": "1"},
            "[a, a, a, a, a, a] for configuration rack.aware.assignment.tags: exceeds maximum list size of [5].",
        ),
        (
            {"rack.aware.assignment.strategy": "x"},
            "Invalid value x for configuration rack.aware.assignment.strategy: String must be one of: none, "
            "min_traffic, balance_subtopology",
        ),
    ],
    ids=[
        "six",
        "no key",
        "no value",
        "long key",
        "long value",
        "long value in Java",
        "no such tag",
        "six tags",
        "strategy",
    ],
)
def test_tags_and_racks_are_refused_in_kafkas_words(settings, text):
    with pytest.raises(ConfigException) as caught:
        StreamsConfig.of(settings)

    assert str(caught.value).endswith(text)


def test_the_longest_tags_are_accepted():
    tags = {"k" * 19 + str(number): "v" * 30 for number in range(5)}

    assert tags == StreamsConfig(client_tags=tags, rack_aware_assignment_tags=tuple(tags)).client_tags


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=5, unique=True))
def test_a_list_may_be_a_text_with_commas(tags):
    settings = {f"client.tag.{tag}": "x" for tag in tags}
    as_list = StreamsConfig.of(settings | {"rack.aware.assignment.tags": tags})

    assert as_list == StreamsConfig.of(settings | {"rack.aware.assignment.tags": " , ".join(tags)})


def test_an_unknown_name_is_refused_with_the_known_ones():
    text = refused(upgrade_from="1.1")

    assert text.startswith(
        "unknown configuration ['upgrade_from'] (did you mean upgrade.from?); known are acceptable.recovery.lag, "
    )


@pytest.mark.parametrize(
    ("key", "closest"),
    [
        ("num.standby.replica", "num.standby.replicas"),
        ("num_standby_replicas", "num.standby.replicas"),
        ("probing.rebalance.interval", "probing.rebalance.interval.ms"),
        ("group.instance", "group.instance.id"),
    ],
)
def test_an_unknown_key_names_the_closest_known_key(key, closest):
    with pytest.raises(ConfigException, match=rf"\(did you mean {re.escape(closest)}\?\)"):
        StreamsConfig.of({key: "1"})


def test_a_key_that_is_close_to_none_names_none():
    with pytest.raises(ConfigException) as error:
        StreamsConfig.of({"xyz": "1"})

    assert "did you mean" not in str(error.value)


def test_the_typed_dictionary_has_the_keys_and_types_of_the_configuration():
    expected = {
        key.name: TYPES[key.type] | None if key.default is None else TYPES[key.type]
        for key in CONFIG_KEYS.values()
        if key.type is not ConfigType.PREFIX
    }

    assert expected == StreamsSettings.__annotations__


def test_a_rejoin_waits_at_most_kafkas_default_of_the_probing_interval():
    assert MAX_WAIT_SECONDS * 1000 == CONFIG_KEYS["probing.rebalance.interval.ms"].default


def test_a_dictionary_or_nothing_stands_for_a_configuration():
    config = StreamsConfig(num_standby_replicas=1)

    assert config is as_streams_config(config)
    assert config == as_streams_config({"num.standby.replicas": 1})
    assert StreamsConfig() == as_streams_config(None)
    with pytest.raises(ConfigException, match="or a dictionary of Kafka's dotted names, got a list"):
        as_streams_config(["num.standby.replicas"])


def test_only_the_classic_protocol_has_an_assignor():
    assert StreamsConfig() == StreamsConfig.of({"group.protocol": "CLASSIC"})
    with pytest.raises(ConfigException, match=r"Invalid value streams for .*group.protocol: .*StreamsConsumer"):
        StreamsConfig.of({"group.protocol": "streams"})
