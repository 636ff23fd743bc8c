"""KIP-584's phases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upgrade.brokers.ibp_feature import (
    Change,
    Decision,
    Phase,
    Range,
    after,
    decide,
    features_active,
    newest_static,
    rolls,
)
from upgrade.brokers.versions import VERSIONS, version_named
from upgrade.errors import UpgradeError

BEFORE, MIGRATION, LATER = (version_named(name) for name in ("2.6", "2.7", "2.8"))
versions = st.sampled_from(VERSIONS)
phases = st.sampled_from(Phase)


@pytest.mark.parametrize(("static", "active"), [(BEFORE, False), (MIGRATION, True), (LATER, True)])
def test_p1_features_are_active_only_after_the_second_roll(static, active):
    assert active is features_active(static, MIGRATION)


@pytest.mark.parametrize("finalised", [None, 1])
@pytest.mark.parametrize("phase", [Phase.SYSTEM_READY, Phase.BOTH_ACTIVE])
def test_p2_the_double_roll_is_still_needed(phase, finalised):
    assert 2 == rolls(phase, finalised)


@pytest.mark.parametrize("phase", [Phase.SYSTEM_READY, Phase.BOTH_ACTIVE])
def test_p2_the_static_value_still_decides(phase):
    assert Decision(None, LATER) == decide(phase, LATER, MIGRATION, 3)


def test_p3_one_roll_is_enough_once_the_feature_is_finalised():
    assert [2, 1] == [rolls(Phase.FEATURE_PREFERRED, finalised) for finalised in (None, 1)]


@pytest.mark.parametrize(
    ("static", "finalised", "decision"),
    [
        (BEFORE, None, Decision(None, BEFORE)),
        (BEFORE, 2, Decision(None, BEFORE)),
        (MIGRATION, None, Decision(None, MIGRATION)),
        (MIGRATION, 2, Decision(2, None)),
        (LATER, 1, Decision(1, None)),
    ],
)
def test_p3_the_feature_decides_if_finalised_and_the_static_value_has_come_far_enough(static, finalised, decision):
    assert decision == decide(Phase.FEATURE_PREFERRED, static, MIGRATION, finalised)


@given(phases, versions, versions, st.none() | st.integers(1, 9))
def test_p3_exactly_one_of_them_decides(phase, static, migration, finalised):
    found = decide(phase, static, migration, finalised)

    assert [found.level, found.static].count(None) == 1


@pytest.mark.parametrize(("phase", "expected"), [(Phase.FEATURE_PREFERRED, LATER), (Phase.STATIC_FROZEN, MIGRATION)])
def test_p4_a_newer_release_has_no_newer_static_value(phase, expected):
    assert expected == newest_static(phase, LATER, frozen_at=MIGRATION)


@given(phases, versions, versions)
def test_p4_the_static_values_are_no_longer_advanced(phase, newest, frozen_at):
    found = newest_static(phase, newest, frozen_at)

    assert found == (min(newest, frozen_at) if phase is Phase.STATIC_FROZEN else newest)
    assert found == newest_static(phase, found, frozen_at)


@pytest.mark.parametrize(
    ("change", "expected"),
    [(Change.COMPATIBLE, Range(1, 3)), (Change.BREAKING, Range(1, 4)), (Change.DEPRECATION, Range(2, 3))],
)
def test_p5_only_a_breaking_change_raises_the_highest_and_only_deprecation_the_lowest(change, expected):
    assert expected == after(Range(1, 3), change)


def test_p5_the_only_version_cannot_be_deprecated():
    with pytest.raises(UpgradeError, match="version 2 is the only one supported"):
        after(Range(2, 2), Change.DEPRECATION)


@given(st.lists(st.sampled_from(Change)))
def test_p5_the_range_never_becomes_empty_nor_goes_back(changes):
    supported = Range(1, 1)
    for change in changes:
        try:
            found = after(supported, change)
        except UpgradeError:
            found = supported
        assert supported.lowest <= found.lowest <= found.highest
        assert supported.highest <= found.highest
        supported = found
