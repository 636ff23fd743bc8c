"""The words of the enumerations, which users read in messages, events and the reference."""

import importlib
from pathlib import Path

import pytest

from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.probing.model import (
    Action,
    AssignmentContent,
    AssignorError,
    MemberState,
    Precondition,
    RejoinMode,
)
from streams_assignor.probing.model import VersionComparison as Comparison
from streams_assignor.probing.rules import VersionSource

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("words", [MemberState, Comparison, AssignmentContent, VersionSource])
def test_the_reference_has_each_word(words, monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    page = importlib.import_module("tables").for_the_site((DOCS / "reference/probing.md").read_text()).splitlines()
    rows = [f"| {word.name.lower().replace('_', ' ')} | {word.value} |" for word in words]

    assert [] == [row for row in rows if row not in page]


def test_the_words_that_are_not_there_say_what_happens():
    assert [
        "use the assignment",
        "discard the assignment",
        "rejoin immediately",
        "rejoin immediately if this member leads and one more rebalance completes the upgrade",
        "shut down this member, without an exception",
        "shut down the whole application",
    ] == [action.value for action in Action]
    assert [
        "no future member is in a group with a member that cannot be probed",
        "no member requests the shutdown of the application (KIP-663)",
        "all source topics exist",
    ] == [precondition.value for precondition in Precondition]
    assert [
        "unsubscribe, subscribe, poll: it leaves and joins with a new member id (KIP-268, up to 2.5)",
        "enforceRebalance: it keeps its member id (2.6 and later)",
    ] == [mode.value for mode in RejoinMode]
    assert [
        "its used version has changed",
        "the group does not know its end point",
        "it waits for a task that the current owner must revoke first (KIP-429)",
        "the leader wants to see then whether warm-ups have caught up (KIP-441)",
    ] == [reason.value for reason in FollowUpReason]


def test_error_codes_are_those_of_kafka():
    assert {
        "NONE": 0,
        "INCOMPLETE_SOURCE_TOPIC_METADATA": 1,
        "VERSION_PROBING": 2,
        "ASSIGNMENT_ERROR": 3,
        "SHUTDOWN_REQUESTED": 4,
    } == {code.name: code.value for code in AssignorError}
