"""The tables of configuration, and the check of values beside Kafka's words."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.application.configuration import (
    ReleaseConfigKey,
    compare_configurations,
    configuration_of,
    releases_with,
)
from streams_assignor.upgrade.application.stored import NoTable
from streams_assignor.upgrade.application.values import is_judged, refusal, validator_text
from streams_assignor.upgrade.releases import RELEASES, resolve_release

KEY = ReleaseConfigKey("INT", "LOW", False, None, None, False, False, False)
STRINGS = {"class": "ValidString", "validStrings": ["a", "b"]}
ANY_LIST = {
    "class": "ValidList",
    "isEmptyAllowed": "false",
    "isNullAllowed": "false",
    "validString": {"class": "ValidString", "validStrings": []},
}
TWO = ANY_LIST | {"validString": STRINGS}


def configuration(name):
    return configuration_of(resolve_release(name).release)


def test_every_published_release_is_in_the_tables():
    for name, release in RELEASES.items():
        if release.is_released:
            assert configuration_of(release).configs["streams"]["application.id"].required, name


@pytest.mark.parametrize("name", ["streams-assignor", "0.10.1.2"])
def test_a_release_without_jars_has_no_table(name):
    with pytest.raises(NoTable, match="expected a release that Kafka has published"):
        configuration_of(RELEASES[name])


def test_an_unknown_release_has_the_table_of_the_one_it_is_assumed_to_be():
    assert configuration_of(resolve_release("4.9", "4.3").release) is configuration("4.3")


def test_the_facts_of_a_key_are_those_of_its_release():
    old, new = (configuration(name).configs["consumer"]["session.timeout.ms"] for name in ("2.8.2", "3.0.0"))

    assert ("10000", "45000") == (old.default, new.default)
    assert "TLSv1.2,TLSv1.3" == configuration("3.9.2").configs["consumer"]["ssl.enabled.protocols"].default_text
    assert configuration("3.9.2").configs["streams"]["state.dir"].varies


def test_the_admin_client_came_with_0_11():
    assert "admin" not in configuration("0.10.2").configs
    assert "admin" in configuration("0.11.0").configs
    assert "partition.grouper" in configuration("2.8").configs["streams"]


def test_it_knows_which_releases_have_a_key():
    assert ("2.8.2", "3.7.0") == (
        releases_with("streams", "partition.grouper")[-1],
        releases_with("consumer", "group.protocol")[0],
    )
    assert () == releases_with("streams", "no.such.key")


def test_each_difference_says_what_it_is():
    found = compare_configurations(configuration("2.8.2"), configuration("4.3.1"))
    plain = {(each.config, each.key): each.as_json() for each in found.keys}

    assert ["10000", "45000"] == plain["consumer", "session.timeout.ms"]["default"]
    assert "removed" == plain["streams", "partition.grouper"]["change"]
    assert "added" == plain["streams", "group.protocol"]["change"]
    assert () == next(each for each in found.keys if each.key == "partition.grouper").facts
    assert {"ADMIN_CLIENT_OVERRIDES", "CONSUMER_DEFAULT_OVERRIDES"} < {each.constant for each in found.overrides}
    assert ["enable.auto.commit"] == next(
        each.as_json()["old"]
        for each in found.overrides
        if each.constant == "NON_CONFIGURABLE_CONSUMER_DEFAULT_CONFIGS"
    )


def test_a_release_does_not_differ_from_itself():
    found = compare_configurations(configuration("4.3.1"), configuration("4.3.1"))

    assert ((), ()) == (found.keys, found.overrides)


def test_a_default_is_written_as_in_a_properties_file():
    defaults = (None, "", "a", (), ("a", "b"))

    assert ["null", '""', "a", '""', "a,b"] == [evolve(KEY, default=each).default_text for each in defaults]


@pytest.mark.parametrize(
    ("java_type", "validator", "accepted", "refused", "words"),
    [
        ("BOOLEAN", None, " TRUE ", "yes", "Expected value to be either true or false"),
        ("INT", None, "+2147483647", "2147483648", "Not a number of type INT"),
        ("INT", None, "-2147483648", 30 * "9", "Not a number of type INT"),
        ("LONG", None, "007", "7L", "Not a number of type LONG"),
        ("DOUBLE", None, "1.5e3f", "1_0", "Not a number of type DOUBLE"),
        ("DOUBLE", None, "NaN", "", "Not a number of type DOUBLE"),
        ("STRING", None, "anything", None, ""),
        ("INT", {"class": "Range", "min": "0", "max": "9"}, "9", "-1", "Value must be at least 0"),
        ("DOUBLE", {"class": "Range", "min": None, "max": "0.5"}, "0.5", "1e9", "Value must be no more than 0.5"),
        ("INT", {"class": "Range", "min": "1", "max": None}, "1", "0", "Value must be at least 1"),
        ("STRING", STRINGS, " a", "A", "String must be one of: a, b"),
        (
            "STRING",
            {"class": "ValidString", "validStrings": [None, "a"]},
            "a",
            "null",
            "String must be one of: null, a",
        ),
        ("STRING", {"class": "CaseInsensitiveValidString", "validStrings": ["A"]}, "a", "b", "(case insensitive): A"),
        ("LIST", {"class": "ValidList", "validString": STRINGS}, "b , a", "a,c", "Invalid value c for"),
        ("LIST", TWO, "b,a", " ", "must not be empty. Valid values include: [a, b]"),
        ("LIST", ANY_LIST, "c", "", "must not be empty. Valid values include: any non-empty value"),
        ("LIST", ANY_LIST | {"isEmptyAllowed": "true"}, "a,a", ",", "values must not be empty."),
        ("LIST", TWO, "a", "a,", "values must not be empty."),
        ("LIST", TWO, "a", "c", "String must be one of: a, b"),
        ("LIST", {"class": "ListSize", "maxSize": "1"}, "a", "a,b", "[a, b] for configuration k: exceeds maximum list"),
        ("STRING", {"class": "NonEmptyString"}, "a", " ", "String must be non-empty"),
        ("LIST", {"class": "NonNullValidator"}, "", None, ""),
        ("STRING", {"class": "code"}, "anything", None, ""),
    ],
)
def test_a_value_is_refused_in_the_words_of_kafka(java_type, validator, accepted, refused, words):
    key = evolve(KEY, type=java_type, validator=validator)

    assert refusal("k", key, accepted) is None
    assert refused is None or words in refusal("k", key, refused)


def test_a_check_that_is_code_and_a_class_are_not_judged():
    code = evolve(KEY, validator={"class": "code", "accepts": ["a"]})

    assert is_judged(KEY, "b")
    assert is_judged(evolve(KEY, validator={"class": "Range"}), "b")
    assert not is_judged(evolve(KEY, type="CLASS"), "b")
    assert [True, False] == [is_judged(code, text) for text in (" a ", "b")]


def test_what_a_validator_accepts_has_words():
    found = (None, STRINGS, TWO, ANY_LIST | {"isEmptyAllowed": "true"}, {"class": "ValidList", "validString": STRINGS})
    further = ({"class": "ListSize", "maxSize": "5"}, {"class": "NonEmptyString"}, {"class": "code"})

    assert [
        "any",
        "one of a, b",
        "not empty, some of a, b",
        "any elements",
        "some of a, b",
        "at most 5 elements",
        "not empty",
        "a check of Kafka's own",
    ] == [validator_text(each) for each in (*found, *further)]
