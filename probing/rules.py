"""The version probing rules of each generation of Kafka's code, one table row each.

A rule set has two halves: ``LeaderRules`` for ``leader.decide`` and ``MemberRules`` for ``member.MemberVersion``.
``BY_NAME`` has all rule sets; members of this product follow ``CURRENT``. Java: ``StreamsPartitionAssignor``
(``StreamPartitionAssignor`` before 2.0) of the releases in ``source``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from streams_assignor.probing.model import (
    Action,
    AssignmentContent,
    AssignorError,
    MemberState,
    Precondition,
    RejoinMode,
    VersionComparison,
)

Transitions = Mapping[tuple[MemberState, VersionComparison], tuple[MemberState, tuple[Action, ...]]]


class VersionSource(enum.Enum):
    """The source of a version number in an answer. "Known" excludes future members."""

    OWN_SUPPORTED = "the leader's own latest version"
    LOWEST_USED_KNOWN = "the lowest used version among the known members"
    LOWEST_USED = "the lowest used version in the group, at most the leader's latest"
    LOWEST_SUPPORTED_KNOWN = "the lowest supported version among leader and known members"
    LOWEST_SUPPORTED = "the lowest supported version in the group, at most the leader's latest"


@frozen(kw_only=True)
class LeaderRules:
    """The answers of a leader. A future member is one whose used version the leader does not support."""

    version: VersionSource
    """The used version of the answers to known members."""
    supported_version: VersionSource = VersionSource.OWN_SUPPORTED
    """The supported version of all answers."""
    decodes_future: bool = True
    """The leader can read the two version numbers of a future member's subscription."""
    validates_supported_since: int | None = None
    """Since this version of its own, the leader refuses a supported version below the used one; None: never."""
    version_for_future: VersionSource = VersionSource.OWN_SUPPORTED
    """The used version of the answers to future members."""
    content_for_future: AssignmentContent = AssignmentContent.EMPTY
    content_while_probing: AssignmentContent = AssignmentContent.REGULAR
    """The content of the answers to known members, if there are future members."""
    previous_tasks_per_process: bool = False
    """A bug: each member gets the previous tasks of its whole process, named once instead of once per partition."""
    preconditions: tuple[Precondition, ...] = ()
    """The checks before the assignment, in this order."""
    answers_errors: bool = False
    """If ``VERSIONS`` fails, the leader answers with an error code; otherwise it throws."""
    answers_future_members: bool = True
    """Future members also get the answers with an error code."""


@frozen
class ErrorReaction:
    """The reaction of a member to an error code: actions or an exception."""

    actions: tuple[Action, ...] = ()
    throws: str = ""
    """The name of Kafka's exception; empty: none."""


@frozen(kw_only=True)
class MemberRules:
    """The reactions of a member to assignments."""

    transitions: Transitions
    """A pair that is missing is a protocol error of the leader."""
    rejoin_mode: RejoinMode = RejoinMode.LEAVE_AND_JOIN
    exception_above_used: str = "TaskAssignmentException"
    """Kafka's exception for an assignment above the used version."""
    error_reactions: Mapping[int, ErrorReaction] = {}
    """The reactions by error code."""
    default_error_reaction: ErrorReaction | None = None
    """The reaction to all other codes; None: the member ignores error codes."""
    schedules_follow_up: bool = False
    """The member also schedules rebalances for reasons other than versions (``follow_up``)."""


@frozen
class RuleSet:
    """Both halves of one generation."""

    name: str
    source: str
    """The releases or the document that define it."""
    leader: LeaderRules
    member: MemberRules


LATEST, DOWNGRADED, PINNED, OVERSHOT = MemberState
OLD, SAME, LOWER, BEHIND, HIGHER, HIGHEST, BEYOND, ABOVE = VersionComparison
ACCEPT, DISCARD, REJOIN, REJOIN_TO_COMPLETE, SHUTDOWN, SHUTDOWN_APPLICATION = Action

_UNPROBEABLE_TRANSITIONS: Final[Transitions] = {
    (LATEST, OLD): (LATEST, (ACCEPT,)),
    (PINNED, OLD): (PINNED, (ACCEPT,)),
}

# Before 2.0 there is no probing: a member accepts any readable version, also version 2 if it is pinned to 1.
_PRE_PROBING_TRANSITIONS: Final[Transitions] = {**_UNPROBEABLE_TRANSITIONS, (PINNED, ABOVE): (PINNED, (ACCEPT,))}

# Kafka 2.2.2, 2.3.1, 2.4 and later: a member that changes its used version rejoins.
_CURRENT_TRANSITIONS: Final[Transitions] = {
    **_UNPROBEABLE_TRANSITIONS,
    (LATEST, SAME): (LATEST, (ACCEPT,)),
    (LATEST, LOWER): (DOWNGRADED, (ACCEPT, REJOIN)),
    (LATEST, BEHIND): (LATEST, (ACCEPT, REJOIN)),
    (DOWNGRADED, OLD): (DOWNGRADED, (ACCEPT,)),
    (DOWNGRADED, SAME): (DOWNGRADED, (ACCEPT,)),
    (DOWNGRADED, LOWER): (DOWNGRADED, (ACCEPT, REJOIN)),
    (DOWNGRADED, BEHIND): (DOWNGRADED, (ACCEPT, REJOIN)),
    (DOWNGRADED, HIGHER): (DOWNGRADED, (ACCEPT, REJOIN)),
    (DOWNGRADED, HIGHEST): (LATEST, (ACCEPT, REJOIN)),
}

# The same transitions, but an assignment that changes the version is discarded (up to KAFKA-8972).
_DISCARDING_TRANSITIONS: Final[Transitions] = {
    pair: (state, (DISCARD, REJOIN) if REJOIN in actions else actions)
    for pair, (state, actions) in _CURRENT_TRANSITIONS.items()
}

# KIP-268: "we can trigger this rebalance with one more unsubscribe/subscribe/poll sequence (to make sure only one
# instance executes this, the leader should be responsible to trigger this final rebalance)". We read "final" as: all
# members support a higher version than the answered one. A leader that rejoins whenever it sees a higher version never
# stops while one old member is left (the simulation found a livelock with two members).
_KIP_268_TRANSITIONS: Final[Transitions] = {
    **_CURRENT_TRANSITIONS,
    (LATEST, LOWER): (DOWNGRADED, (DISCARD, REJOIN)),
    (DOWNGRADED, LOWER): (DOWNGRADED, (DISCARD, REJOIN)),
    (LATEST, BEHIND): (LATEST, (ACCEPT, REJOIN_TO_COMPLETE)),
    (DOWNGRADED, BEHIND): (DOWNGRADED, (ACCEPT, REJOIN_TO_COMPLETE)),
    (DOWNGRADED, HIGHER): (DOWNGRADED, (ACCEPT, REJOIN_TO_COMPLETE)),
    (DOWNGRADED, HIGHEST): (LATEST, (ACCEPT, REJOIN_TO_COMPLETE)),
    # "it always checks the leaders supported-version and update its downgraded used-version if possible": the member
    # never uses a version above its own latest one.
    (LATEST, BEYOND): (LATEST, (ACCEPT,)),
    (DOWNGRADED, BEYOND): (LATEST, (ACCEPT, REJOIN_TO_COMPLETE)),
}

# As released in 2.0: a member rejoins if the answered version is below the used one, but not if it is above. It does
# not check that it supports the answered supported version (KAFKA-8649). These releases support at most version 4, so
# a downgraded member uses 3 and cannot receive a lower version.
_KAFKA_2_0_TRANSITIONS: Final[Transitions] = {
    **_DISCARDING_TRANSITIONS,
    (DOWNGRADED, HIGHER): (DOWNGRADED, (ACCEPT,)),
    (DOWNGRADED, HIGHEST): (LATEST, (ACCEPT,)),
    (LATEST, BEYOND): (OVERSHOT, (ACCEPT,)),
    (DOWNGRADED, BEYOND): (OVERSHOT, (ACCEPT,)),
}

_DISCARDS: Final = ErrorReaction((DISCARD,))
_THROWS: Final = ErrorReaction(throws="TaskAssignmentException")
_ERROR_REACTIONS_2_0: Final[Mapping[int, ErrorReaction]] = {
    AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA: ErrorReaction((DISCARD, SHUTDOWN)),
    AssignorError.VERSION_PROBING: ErrorReaction((DISCARD, REJOIN)),
}
_CURRENT_ERROR_REACTIONS: Final[Mapping[int, ErrorReaction]] = {
    AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA: ErrorReaction(throws="MissingSourceTopicException"),
    # Kafka never sends this code, and ignores it.
    AssignorError.VERSION_PROBING: _DISCARDS,
    AssignorError.ASSIGNMENT_ERROR: _THROWS,
    # 2.8 and later; a member of 2.7 cannot read an assignment with this code.
    AssignorError.SHUTDOWN_REQUESTED: ErrorReaction((DISCARD, SHUTDOWN_APPLICATION)),
}

_LEADER_BEFORE_2_0: Final = LeaderRules(version=VersionSource.OWN_SUPPORTED, decodes_future=False)
# KIP-268: "instead of failing, the leader will send an empty assignment back encoding its supported version". The text
# has no exception: beside members of version 1 or 2, which get answers of that version, the newer member gets the
# empty assignment too, and rejoins with a version that the leader knows. So no precondition can fail. The released
# leaders refuse such a group.
_KIP_268_LEADER: Final = LeaderRules(version=VersionSource.LOWEST_USED_KNOWN)

G0: Final = RuleSet("g0", "0.10.0.0 to 0.10.0.1", _LEADER_BEFORE_2_0, MemberRules(transitions=_PRE_PROBING_TRANSITIONS))
G1: Final = RuleSet(
    "g1",
    "0.10.1.0 to 0.10.2.1, 0.11.0.0 to .2, 1.0.0 to .1, 1.1.0: answers version 2 even to version 1 (KAFKA-6054)",
    _LEADER_BEFORE_2_0,
    MemberRules(transitions=_PRE_PROBING_TRANSITIONS),
)
G1F: Final = RuleSet(
    "g1f",
    "0.10.2.2, 0.11.0.3, 1.0.2, 1.1.1: KAFKA-6054 fixed",
    evolve(_LEADER_BEFORE_2_0, version=VersionSource.LOWEST_USED),
    MemberRules(transitions=_PRE_PROBING_TRANSITIONS),
)
KIP_268: Final = RuleSet(
    "kip-268", "the text of KIP-268", _KIP_268_LEADER, MemberRules(transitions=_KIP_268_TRANSITIONS)
)
KAFKA_2_0: Final = RuleSet(
    "g2",
    "2.0.0 to 2.2.1 and 2.3.0: KIP-268 as released",
    evolve(
        _KIP_268_LEADER,
        content_while_probing=AssignmentContent.PREVIOUS,
        previous_tasks_per_process=True,
        preconditions=(Precondition.VERSIONS, Precondition.TOPICS),
        answers_future_members=False,
    ),
    MemberRules(
        transitions=_KAFKA_2_0_TRANSITIONS,
        exception_above_used="IllegalStateException",
        error_reactions=_ERROR_REACTIONS_2_0,
        default_error_reaction=_DISCARDS,
    ),
)
KAFKA_8649: Final = RuleSet(
    "g3",
    "2.2.2 and 2.3.1: the supported version is the one that all members support",
    evolve(
        KAFKA_2_0.leader,
        supported_version=VersionSource.LOWEST_SUPPORTED_KNOWN,
        version_for_future=VersionSource.LOWEST_USED_KNOWN,
        previous_tasks_per_process=False,
    ),
    MemberRules(
        transitions=_DISCARDING_TRANSITIONS, error_reactions=_ERROR_REACTIONS_2_0, default_error_reaction=_DISCARDS
    ),
)
G4A: Final = RuleSet(
    "g4a",
    "2.4 and 2.5: future members get tasks too",
    LeaderRules(
        version=VersionSource.LOWEST_USED,
        supported_version=VersionSource.LOWEST_SUPPORTED,
        validates_supported_since=6,  # 2.5
        version_for_future=VersionSource.LOWEST_USED,
        content_for_future=AssignmentContent.REGULAR,
        preconditions=(Precondition.VERSIONS, Precondition.TOPICS),
    ),
    MemberRules(
        transitions=_CURRENT_TRANSITIONS, error_reactions=_ERROR_REACTIONS_2_0, default_error_reaction=_DISCARDS
    ),
)
G4B: Final = RuleSet(
    "g4b",
    "2.6: a member that rejoins keeps its member id",
    G4A.leader,
    MemberRules(
        transitions=_CURRENT_TRANSITIONS,
        rejoin_mode=RejoinMode.KEEP_MEMBER_ID,
        error_reactions={AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA: ErrorReaction((DISCARD, SHUTDOWN))},
        default_error_reaction=_DISCARDS,
        schedules_follow_up=True,
    ),
)
G4C: Final = RuleSet(
    "g4c",
    "2.7 to 3.7: errors are answered with a code",
    evolve(
        G4B.leader,
        preconditions=(Precondition.VERSIONS, Precondition.SHUTDOWN, Precondition.TOPICS),
        answers_errors=True,
    ),
    evolve(G4B.member, error_reactions=_CURRENT_ERROR_REACTIONS, default_error_reaction=_THROWS),
)
CURRENT: Final = RuleSet(
    "today",
    "3.8 and later, and members of this product: as g4c, but versions are checked last",
    evolve(G4C.leader, preconditions=(Precondition.SHUTDOWN, Precondition.TOPICS, Precondition.VERSIONS)),
    G4C.member,
)

BY_NAME: Final[Mapping[str, RuleSet]] = {
    rules.name: rules for rules in (G0, G1, G1F, KIP_268, KAFKA_2_0, KAFKA_8649, G4A, G4B, G4C, CURRENT)
}
