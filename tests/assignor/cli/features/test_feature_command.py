"""Words in, lines out: what Kafka's tool makes of them, and what ours reads beyond that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.cli.features import _feature_command
from streams_assignor.upgrade.cluster.client.errors import ApiError
from streams_assignor.upgrade.cluster.features.catalog import INT16, METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS, NEWEST_CATALOG
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, Listener, UpgradeType
from streams_assignor.upgrade.errors import UnknownLevel

ERROR = ApiError(95, "INVALID_UPDATE_VERSION", "It cannot be.")
OLDER = CATALOGS["3.9"]


@pytest.mark.parametrize("level", NEWEST_CATALOG.levels[METADATA_VERSION], ids=lambda level: level.name)
def test_m10_every_level_has_a_name_and_a_number(level):
    assert (
        level.number
        == _feature_command.parse_metadata_level(level.name)
        == _feature_command.parse_metadata_level(str(level.number))
    )
    assert (METADATA_VERSION, level.number) == _feature_command.parse_feature_level(f"{METADATA_VERSION}={level.name}")


@pytest.mark.parametrize("text", ["", "4", "4.", "4.0.", "9.9", "3.0-IV1", "31.", "99", "+25", " 4.0"])
def test_m10_an_unknown_release_names_the_known_ones(text):
    with pytest.raises(UnknownLevel) as refused:
        _feature_command.parse_metadata_level(text)

    why = f"Unknown metadata.version '{text}'. Supported metadata.version are: 3.3-IV3, 3.4-IV0, "
    assert str(refused.value).startswith(why)
    assert str(refused.value).endswith(f", {NEWEST_CATALOG.levels[METADATA_VERSION][-1].name}")


@pytest.mark.parametrize(
    ("text", "level"), [("4.0", 25), ("4.0.1", 25), ("4.0.1-IV1", 25), ("4.0-IV1.7", 23), ("3.3", 7)]
)
def test_m10_a_release_is_its_newest_level(text, level):
    assert level == _feature_command.parse_metadata_level(text)


@given(st.sampled_from(INT16))
def test_m10_any_number_of_16_bits_is_a_level(level):
    assert ("a", level) == _feature_command.parse_feature_level(f" a = {level} ")
    assert ("a", level) == _feature_command.parse_feature_level(f"a={level:+06}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "a: equals sign not found."),
        ("a=", "a=: unable to parse  as a short."),
        ("a=b", "a=b: unable to parse b as a short."),
        ("a=4.0", "a=4.0: unable to parse 4.0 as a short."),
        ("a=1=1", "a=1=1: unable to parse 1=1 as a short."),
        ("a=32768", "a=32768: unable to parse 32768 as a short."),
        ("a=1_0", "a=1_0: unable to parse 1_0 as a short."),
        ("metadata.version=9.9", "metadata.version=9.9: unable to parse 9.9 as a short."),
        ("a=" + "9" * 5000, "as a short."),
    ],
)
def test_m10_what_is_no_level_is_refused_in_kafkas_words(text, why):
    with pytest.raises(_feature_command.ToolError) as refused:
        _feature_command.parse_feature_level(text)

    assert str(refused.value).startswith("Can't parse feature=level string ")
    assert str(refused.value).endswith(why)


def change(**asked):
    verb = asked.pop("verb", "upgrade")
    return _feature_command.UpdateArguments(
        verb, UpgradeType.UPGRADE if verb == "upgrade" else UpgradeType.SAFE_DOWNGRADE, **asked
    ).updates()


def test_m10_what_is_asked_for_becomes_updates():
    expected = {METADATA_VERSION: FeatureUpdate(26), "share.version": FeatureUpdate(1)}

    assert expected == change(metadata="4.1-IV0", features=["share.version=1"])
    assert expected == change(features=["share.version=1", "metadata.version=4.1-IV0"])


def test_m10_a_release_is_all_features_but_nothing_is_upgraded_to_0():
    levels = {METADATA_VERSION: 21, "kraft.version": 1}
    others = dict.fromkeys(set(NEWEST_CATALOG.features) - set(levels), 0)

    assert {name: FeatureUpdate(level) for name, level in levels.items()} == change(release="3.9")
    assert {
        name: FeatureUpdate(level, UpgradeType.SAFE_DOWNGRADE) for name, level in (levels | others).items()
    } == change(verb="downgrade", release="3.9")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "You must specify at least one feature to upgrade"),
        ({"verb": "downgrade"}, "You must specify at least one feature to downgrade"),
        ({"features": ["a=1", "a=2"]}, "Feature a was specified more than once."),
        (
            {"metadata": "4.0", "features": ["metadata.version=25"]},
            "Feature metadata.version was specified more than once.",
        ),
        ({"features": ["=1"]}, "Provided feature can not be empty."),
        ({"release": "4.0", "metadata": "4.0"}, "Can not specify `release-version` with other feature flags."),
        ({"release": "4.0", "features": ["a=1"]}, "Can not specify `release-version` with other feature flags."),
    ],
)
def test_m10_what_makes_no_sense_is_refused_in_kafkas_words(asked, why):
    with pytest.raises(_feature_command.ToolError) as refused:
        change(**asked)

    assert why == str(refused.value)


def test_m12_to_disable_is_to_go_to_0():
    unsafe = UpgradeType.UNSAFE_DOWNGRADE

    assert {"a": FeatureUpdate(0, unsafe), "b": FeatureUpdate(0, unsafe)} == _feature_command.disable_updates(
        ["a", "b"], unsafe
    )
    with pytest.raises(_feature_command.ToolError, match="You must specify at least one feature to disable"):
        _feature_command.disable_updates([], unsafe)


def described(epoch=7, **finalized):
    return FeatureMetadata(Listener.BROKER, epoch, {METADATA_VERSION: (1, 99), "b": (0, 2), "a": (1, 3)}, finalized)


def test_t1_m9_a_line_for_each_feature():
    lines = [" ".join(line.split()) for line in _feature_command.describe_lines(described(b=2))]

    assert [
        "Feature: a SupportedMinVersion: 1 SupportedMaxVersion: 3 FinalizedVersionLevel: 0 Epoch: 7",
        "Feature: b SupportedMinVersion: 0 SupportedMaxVersion: 2 FinalizedVersionLevel: 2 Epoch: 7",
        "Feature: metadata.version SupportedMinVersion: UNKNOWN 1 SupportedMaxVersion: UNKNOWN 99 "
        "FinalizedVersionLevel: UNKNOWN 0 Epoch: 7",
    ] == lines


def test_a4_an_unknown_epoch_is_a_dash():
    assert all(line.endswith("  Epoch: -") for line in _feature_command.describe_lines(described(epoch=None)))
    assert _feature_command.describe_json(described(epoch=None), 3)["epoch"] is None


def test_t1_the_columns_are_kafkas():
    (line, *_) = _feature_command.describe_lines(described())

    assert (
        "Feature: a                                         SupportedMinVersion: 1                "
        "SupportedMaxVersion: 3                FinalizedVersionLevel: 0                Epoch: 7"
    ) == line


@pytest.mark.parametrize(
    ("verb", "error", "dry_run", "line"),
    [
        ("upgrade", None, False, "a was upgraded to 1."),
        ("upgrade", None, True, "a can be upgraded to 1."),
        ("downgrade", None, False, "a was downgraded to 1."),
        ("disable", None, False, "a was disabled."),
        ("disable", None, True, "a can be disabled."),
        ("upgrade", ERROR, False, "Could not upgrade a to 1. It cannot be."),
        ("downgrade", ERROR, True, "Can not downgrade a to 1. It cannot be."),
        ("disable", ERROR, False, "Could not disable a. It cannot be."),
        ("disable", ERROR, True, "Can not disable a. It cannot be."),
    ],
)
def test_m10_m11_m12_a_line_for_each_result(verb, error, dry_run, line):
    assert line == _feature_command.result_line(verb, "a", 1, error, dry_run=dry_run)


def test_results_as_values():
    found = _feature_command.results_json(
        "upgrade", {"b": FeatureUpdate(1), "a": FeatureUpdate(2)}, {"b": None, "a": ERROR}, dry_run=True
    )

    error = {"code": 95, "name": "INVALID_UPDATE_VERSION", "message": "It cannot be."}
    rows = [{"feature": "a", "level": 2, "error": error}, {"feature": "b", "level": 1, "error": None}]
    assert {"operation": "upgrade", "dryRun": True, "results": rows} == found


def test_m10_the_levels_of_a_release():
    assert ["metadata.version=21 (3.9)", "kraft.version=1", "transaction.version=0"] == list(
        _feature_command.version_mapping_lines("3.9", _feature_command.version_mapping("3.9"))
    )[:3]


def test_dependencies():
    name = "eligible.leader.replicas.version"

    assert [f"{name}=1 requires:", "    metadata.version=23 (4.0-IV1)"] == list(
        _feature_command.dependency_lines(name, 1, _feature_command.feature_dependencies(name, 1))
    )
    assert ["metadata.version=23 (4.0-IV1) has no dependencies."] == list(
        _feature_command.dependency_lines(
            METADATA_VERSION, 23, _feature_command.feature_dependencies(METADATA_VERSION, 23)
        )
    )


@pytest.mark.parametrize(
    ("feature", "level", "why"),
    [
        ("nope", 1, "Unknown feature: nope"),
        ("test.feature.version", 1, "Unknown feature: test.feature.version"),
        (METADATA_VERSION, 99, "Unknown metadata.version 99"),
        ("group.version", 7, "No feature:group.version with feature level 7"),
    ],
)
def test_dependencies_of_what_is_not_there(feature, level, why):
    with pytest.raises(_feature_command.ToolError) as refused:
        _feature_command.feature_dependencies(feature, level)

    assert why == str(refused.value)


def test_t2_upgrade_all_adds_and_upgrades_to_what_the_tool_knows():
    finalized = {METADATA_VERSION: 25, "transaction.version": 2, "unheard.of": 3}

    assert {
        ("Add", "eligible.leader.replicas.version", 0, 1),
        ("Add", "group.version", 0, 1),
        ("Add", "kraft.version", 0, 1),
        ("Upgrade", METADATA_VERSION, 25, NEWEST_CATALOG.latest_production.number),
        ("Add", "share.version", 0, NEWEST_CATALOG.supported_range("share.version")[1]),
        ("Add", "streams.version", 0, 1),
    } == {
        (step.change.value, step.feature, step.existing, step.new) for step in _feature_command.upgrade_all(finalized)
    }


def test_t3_downgrade_all_deletes_what_the_tool_does_not_know():
    finalized = {METADATA_VERSION: 25, "group.version": 1, "kraft.version": 1, "unheard.of": 3}

    assert {
        ("Delete", "group.version", 1, 0),
        ("Downgrade", METADATA_VERSION, 25, 21),
        ("Delete", "unheard.of", 3, 0),
    } == {
        (step.change.value, step.feature, step.existing, step.new)
        for step in _feature_command.downgrade_all(finalized, OLDER)
    }


levels = st.dictionaries(st.sampled_from([*NEWEST_CATALOG.features, "unheard.of"]), st.integers(1, 40))


@given(levels, st.sampled_from(list(CATALOGS.values())))
def test_t2_t3_nothing_goes_the_wrong_way_and_a_second_time_nothing_is_left(finalized, catalog):
    for steps, up in (
        (_feature_command.upgrade_all(finalized, catalog), True),
        (_feature_command.downgrade_all(finalized, catalog), False),
    ):
        assert all((step.new > step.existing) == up for step in steps)
        after = {
            name: level for name, level in (finalized | {step.feature: step.new for step in steps}).items() if level
        }
        again = _feature_command.upgrade_all(after, catalog) if up else _feature_command.downgrade_all(after, catalog)
        assert [] == again


def test_t2_t3_the_lines_are_the_kips():
    """KIP-584, "Basic CLI tool usage", with its blanks made even."""
    added = [
        _feature_command.LevelStep("consumer_offsets_topic_schema", 0, 1),
        _feature_command.LevelStep("group_coordinator", 1, 2),
    ]
    gone = [
        _feature_command.LevelStep("consumer_offsets_topic_schema", 1, 0),
        _feature_command.LevelStep("group_coordinator", 2, 1),
    ]

    assert [
        "    [Add] Feature: consumer_offsets_topic_schema  ExistingFinalizedMaxVersion: -  NewFinalizedMaxVersion: 1  "
        "Result: OK",
        "[Upgrade] Feature: group_coordinator  ExistingFinalizedMaxVersion: 1  NewFinalizedMaxVersion: 2  Result: OK",
    ] == list(_feature_command.step_lines(added, {}))
    assert [
        "   [Delete] Feature: consumer_offsets_topic_schema  ExistingFinalizedMaxVersion: 1  "
        "NewFinalizedMaxVersion: -  Result: OK",
        "[Downgrade] Feature: group_coordinator  ExistingFinalizedMaxVersion: 2  NewFinalizedMaxVersion: 1  "
        "Result: INVALID_UPDATE_VERSION. It cannot be.",
    ] == list(_feature_command.step_lines(gone, {"group_coordinator": ERROR}))
