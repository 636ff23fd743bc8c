"""The values of the two requests, and the rule about epochs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.client.errors import ApiError, FeatureUpdateFailed
from streams_assignor.upgrade.cluster.features.rpc import (
    FeatureMetadata,
    FeatureUpdate,
    Listener,
    NewestFeatures,
    UpgradeType,
)
from streams_assignor.upgrade.errors import UpgradeError


def answer(listener, epoch, level=1):
    return FeatureMetadata(listener, epoch, {"a": (1, 9)}, {"a": level})


answers = st.builds(answer, st.sampled_from(Listener), st.none() | st.integers(0, 5), st.integers(1, 9))


@given(st.lists(answers))
def test_a3_the_highest_epoch_of_each_kind_of_listener_wins(answers):
    newest = NewestFeatures()
    for each in answers:
        newest.observe(each)

    for listener in Listener:
        known = [each for each in answers if each.listener is listener and each.epoch is not None]
        # Of equal epochs the last: their contents are the same.
        expected = max(enumerate(known), key=lambda found: (found[1].epoch, found[0]), default=(0, None))[1]
        assert expected == newest.newest(listener)


@given(st.lists(answers, min_size=1))
def test_a3_what_holds_never_goes_back(answers):
    newest = NewestFeatures()
    epochs = dict.fromkeys(Listener, -1)
    for each in answers:
        now = newest.observe(each)
        assert (now is None) == (epochs[each.listener] == -1 and each.epoch is None)
        if now:
            assert now.epoch >= epochs[each.listener]
            epochs[each.listener] = now.epoch


def test_a4_an_answer_without_an_epoch_says_nothing():
    newest = NewestFeatures()

    assert newest.observe(answer(Listener.BROKER, None)) is None
    known = answer(Listener.BROKER, 7)
    assert known == newest.observe(known)
    assert known == newest.observe(answer(Listener.BROKER, None))


def test_what_was_received_cannot_be_changed():
    with pytest.raises(TypeError):
        answer(Listener.BROKER, 1).finalized["a"] = 2


@pytest.mark.parametrize(
    ("level", "kind", "why"),
    [
        (0, UpgradeType.UPGRADE, "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE"),
        (-1, UpgradeType.UPGRADE, "Cannot specify a negative version level."),
        (-1, UpgradeType.SAFE_DOWNGRADE, "Cannot specify a negative version level."),
    ],
)
def test_m7_it_refuses_what_javas_update_refuses(level, kind, why):
    with pytest.raises(UpgradeError, match=why):
        FeatureUpdate(level, kind)


def test_u8_a_deletion_is_a_downgrade_to_0():
    assert 0 == FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE).level


def test_equal_errors_are_listed_once():
    error, other = ApiError(95, "INVALID_UPDATE_VERSION", "no"), ApiError(96, "FEATURE_UPDATE_FAILED", "never")

    assert "never; no" == str(FeatureUpdateFailed({"a": error, "b": other, "c": error, "d": None}))
    assert {"code": 95, "name": "INVALID_UPDATE_VERSION", "message": "no"} == error.as_json()
    assert "org.apache.kafka.common.errors.InvalidUpdateVersionException: no" == error.java_text
