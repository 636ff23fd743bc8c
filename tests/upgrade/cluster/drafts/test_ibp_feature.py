"""KIP-584's phases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.brokers.protocol_versions import VERSIONS, version_named
from streams_assignor.upgrade.cluster.drafts.ibp_feature import (
    EffectiveVersion,
    FeatureChange,
    MigrationPhase,
    SupportedRange,
    effective_version,
    features_active,
    max_static_version,
    range_after,
    required_rolls,
)
from streams_assignor.upgrade.errors import UpgradeError

BEFORE, MIGRATION, LATER = (version_named(name) for name in ("2.6", "2.7", "2.8"))
versions = st.sampled_from(VERSIONS)
phases = st.sampled_from(MigrationPhase)


@pytest.mark.parametrize(("static", "active"), [(BEFORE, False), (MIGRATION, True), (LATER, True)])
def test_p1_features_are_active_only_after_the_second_roll(static, active):
    assert active is features_active(static, MIGRATION)


@pytest.mark.parametrize("finalized", [None, 1])
@pytest.mark.parametrize("phase", [MigrationPhase.SYSTEM_READY, MigrationPhase.BOTH_ACTIVE])
def test_p2_the_double_roll_is_still_needed(phase, finalized):
    assert 2 == required_rolls(phase, finalized)


@pytest.mark.parametrize("phase", [MigrationPhase.SYSTEM_READY, MigrationPhase.BOTH_ACTIVE])
def test_p2_the_static_value_still_decides(phase):
    assert EffectiveVersion(None, LATER) == effective_version(phase, LATER, MIGRATION, 3)


def test_p3_one_roll_is_enough_once_the_feature_is_finalized():
    assert [2, 1] == [required_rolls(MigrationPhase.FEATURE_PREFERRED, finalized) for finalized in (None, 1)]


@pytest.mark.parametrize(
    ("static", "finalized", "decision"),
    [
        (BEFORE, None, EffectiveVersion(None, BEFORE)),
        (BEFORE, 2, EffectiveVersion(None, BEFORE)),
        (MIGRATION, None, EffectiveVersion(None, MIGRATION)),
        (MIGRATION, 2, EffectiveVersion(2, None)),
        (LATER, 1, EffectiveVersion(1, None)),
    ],
)
def test_p3_the_feature_decides_if_finalized_and_the_static_value_is_high_enough(static, finalized, decision):
    assert decision == effective_version(MigrationPhase.FEATURE_PREFERRED, static, MIGRATION, finalized)


@given(phases, versions, versions, st.none() | st.integers(1, 9))
def test_p3_exactly_one_of_them_decides(phase, static, migration, finalized):
    found = effective_version(phase, static, migration, finalized)

    assert [found.level, found.static].count(None) == 1


@pytest.mark.parametrize(
    ("phase", "expected"), [(MigrationPhase.FEATURE_PREFERRED, LATER), (MigrationPhase.STATIC_FROZEN, MIGRATION)]
)
def test_p4_a_newer_release_has_no_newer_static_value(phase, expected):
    assert expected == max_static_version(phase, LATER, frozen_at=MIGRATION)


@given(phases, versions, versions)
def test_p4_the_static_values_are_no_longer_advanced(phase, newest, frozen_at):
    found = max_static_version(phase, newest, frozen_at)

    assert found == (min(newest, frozen_at) if phase is MigrationPhase.STATIC_FROZEN else newest)
    assert found == max_static_version(phase, found, frozen_at)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (FeatureChange.COMPATIBLE, SupportedRange(1, 3)),
        (FeatureChange.BREAKING, SupportedRange(1, 4)),
        (FeatureChange.DEPRECATION, SupportedRange(2, 3)),
    ],
)
def test_p5_only_a_breaking_change_raises_the_highest_and_only_deprecation_the_lowest(change, expected):
    assert expected == range_after(SupportedRange(1, 3), change)


def test_p5_the_only_version_cannot_be_deprecated():
    with pytest.raises(UpgradeError, match="version 2 is the only one supported"):
        range_after(SupportedRange(2, 2), FeatureChange.DEPRECATION)


@given(st.lists(st.sampled_from(FeatureChange)))
def test_p5_the_range_never_becomes_empty_nor_goes_back(changes):
    supported = SupportedRange(1, 1)
    for change in changes:
        try:
            found = range_after(supported, change)
        except UpgradeError:
            found = supported
        assert supported.lowest <= found.lowest <= found.highest
        assert supported.highest <= found.highest
        supported = found
