"""Who negotiates how: the rules of each generation of Kafka's code, one table row each.

A rule set has two halves. ``LeaderRules`` says with which numbers a leader answers (read by ``leader.decide``),
``MemberRules`` holds the transitions of a member (read by ``member.MemberVersion``). ``BY_NAME`` lists them all;
``TODAY`` is what our own members follow. Java: ``StreamsPartitionAssignor`` (``StreamPartitionAssignor`` before 2.0) of
the releases in ``source``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from probing.events import Action, AssignorError, Check, Content, MemberState, Rejoining, Verdict

Transitions = Mapping[tuple[MemberState, Verdict], tuple[MemberState, tuple[Action, ...]]]


class Speaks(enum.Enum):
    """Where a leader takes a version number from. "Known" leaves out members from the future."""

    OWN_LATEST = "the leader's own latest version"
    LOWEST_USED_KNOWN = "the lowest used version among the known members"
    LOWEST_USED = "the lowest used version in the group, at most the leader's latest"
    LOWEST_SUPPORTED_KNOWN = "the lowest supported version among leader and known members"
    LOWEST_SUPPORTED = "the lowest supported version in the group, at most the leader's latest"


@frozen(kw_only=True)
class LeaderRules:
    """How a leader answers.

    ``reads_future``: it can tell a subscription from the future from garbage. ``validates_from``: with this latest
    version or a later one it refuses a supported version below the used one. ``previous_of_process``: "previous" tasks
    are those of the whole process, for each of its members, and are named once each, where a member expects one name
    for each partition. ``checks`` come before everything else, in this order; ``answers_errors``: versions that do not
    go together get an answer with an error code, instead of the leader's death. ``tells_future``: members from the
    future get such an answer too.
    """

    version: Speaks
    supported: Speaks = Speaks.OWN_LATEST
    reads_future: bool = True
    validates_from: int | None = None
    version_for_future: Speaks = Speaks.OWN_LATEST
    content_for_future: Content = Content.EMPTY
    others_while_probing: Content = Content.REGULAR
    previous_of_process: bool = False
    checks: tuple[Check, ...] = (Check.VERSIONS,)
    answers_errors: bool = False
    tells_future: bool = True


@frozen
class OnError:
    """What a member does about an error code: ``actions``, or it throws (the exception is Kafka's)."""

    actions: tuple[Action, ...] = ()
    throws: str = ""


@frozen(kw_only=True)
class MemberRules:
    """How a member takes answers. A pair that is not in ``transitions`` is the other side's fault.

    ``answered_above``: what Kafka throws at an answer above the version that was sent. ``errors`` by error code,
    ``other_error`` for all others; None: it knows of no error codes. ``follows_up``: it also asks for another rebalance
    for reasons that are not about versions (``follow_up``).
    """

    transitions: Transitions
    rejoining: Rejoining = Rejoining.LEAVE_AND_JOIN
    answered_above: str = "TaskAssignmentException"
    errors: Mapping[int, OnError] = {}
    other_error: OnError | None = None
    follows_up: bool = False


@frozen
class RuleSet:
    """Both halves of one generation, the name it goes by, and where it can be read."""

    name: str
    source: str
    leader: LeaderRules
    member: MemberRules


LATEST, LOWERED, PINNED, OVERSHOT = MemberState
OLD, SAME, LOWER, BEHIND, HIGHER, HIGHEST, BEYOND, ABOVE = Verdict
TAKE, DROP, REJOIN, REJOIN_TO_COMPLETE, STOP, STOP_APPLICATION = Action

_TAKES_WHAT_IS_OLD: Final[Transitions] = {
    (LATEST, OLD): (LATEST, (TAKE,)),
    (PINNED, OLD): (PINNED, (TAKE,)),
}

# Before 2.0 nobody probes: whatever can be read is taken, also version 2 by a member that was told to send 1.
_JUST_TAKES: Final[Transitions] = {**_TAKES_WHAT_IS_OLD, (PINNED, ABOVE): (PINNED, (TAKE,))}

# Kafka 2.2.2, 2.3.1 and everything since 2.4: whoever changes its version rejoins.
_TODAY: Final[Transitions] = {
    **_TAKES_WHAT_IS_OLD,
    (LATEST, SAME): (LATEST, (TAKE,)),
    (LATEST, LOWER): (LOWERED, (TAKE, REJOIN)),
    (LATEST, BEHIND): (LATEST, (TAKE, REJOIN)),
    (LOWERED, OLD): (LOWERED, (TAKE,)),
    (LOWERED, SAME): (LOWERED, (TAKE,)),
    (LOWERED, LOWER): (LOWERED, (TAKE, REJOIN)),
    (LOWERED, BEHIND): (LOWERED, (TAKE, REJOIN)),
    (LOWERED, HIGHER): (LOWERED, (TAKE, REJOIN)),
    (LOWERED, HIGHEST): (LATEST, (TAKE, REJOIN)),
}

# The same moves, but what arrives with a new version is not used (up to KAFKA-8972).
_EARLY_RETURN: Final[Transitions] = {
    pair: (state, (DROP, REJOIN) if REJOIN in actions else actions) for pair, (state, actions) in _TODAY.items()
}

# KIP-268: "we can trigger this rebalance with one more unsubscribe/subscribe/poll sequence (to make sure only one
# instance executes this, the leader should be responsible to trigger this final rebalance)". Final means that everybody
# could speak more than was answered: a leader that rejoins at every sight of a higher version never ends while one old
# member is left (the simulation found that reading stuck with two members).
_KIP_268: Final[Transitions] = {
    **_TODAY,
    (LATEST, LOWER): (LOWERED, (DROP, REJOIN)),
    (LOWERED, LOWER): (LOWERED, (DROP, REJOIN)),
    (LATEST, BEHIND): (LATEST, (TAKE, REJOIN_TO_COMPLETE)),
    (LOWERED, BEHIND): (LOWERED, (TAKE, REJOIN_TO_COMPLETE)),
    (LOWERED, HIGHER): (LOWERED, (TAKE, REJOIN_TO_COMPLETE)),
    (LOWERED, HIGHEST): (LATEST, (TAKE, REJOIN_TO_COMPLETE)),
    # "it always checks the leaders supported-version and update its downgraded used-version if possible": a leader
    # that supports more than we do is no reason to go where we cannot.
    (LATEST, BEYOND): (LATEST, (TAKE,)),
    (LOWERED, BEYOND): (LATEST, (TAKE, REJOIN_TO_COMPLETE)),
}

# As released in 2.0: a member that sent more than it got rejoins, one that sent less just moves up; and nobody checks
# that the supported version is one it has (KAFKA-8649). These releases know version 4 at most, so a lowered member
# has sent 3 and cannot at the same time be answered less.
_KAFKA_2_0: Final[Transitions] = {
    **_EARLY_RETURN,
    (LOWERED, HIGHER): (LOWERED, (TAKE,)),
    (LOWERED, HIGHEST): (LATEST, (TAKE,)),
    (LATEST, BEYOND): (OVERSHOT, (TAKE,)),
    (LOWERED, BEYOND): (OVERSHOT, (TAKE,)),
}

_DROPS: Final = OnError((DROP,))
_FAILS: Final = OnError(throws="TaskAssignmentException")
_FIRST_CODES: Final[Mapping[int, OnError]] = {
    AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA: OnError((DROP, STOP)),
    AssignorError.VERSION_PROBING: OnError((DROP, REJOIN)),
}
_TODAYS_CODES: Final[Mapping[int, OnError]] = {
    AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA: OnError(throws="MissingSourceTopicException"),
    # Never meant for the wire, and Kafka lets it pass.
    AssignorError.VERSION_PROBING: _DROPS,
    AssignorError.ASSIGNMENT_ERROR: _FAILS,
    # 2.8 and later; a member of 2.7 cannot read an assignment that has it.
    AssignorError.SHUTDOWN_REQUESTED: OnError((DROP, STOP_APPLICATION)),
}

_BEFORE_2_0: Final = LeaderRules(version=Speaks.OWN_LATEST, reads_future=False, checks=())
_KIP_LEADER: Final = LeaderRules(version=Speaks.LOWEST_USED_KNOWN)

G0: Final = RuleSet("g0", "0.10.0.0 to 0.10.0.1", _BEFORE_2_0, MemberRules(transitions=_JUST_TAKES))
G1: Final = RuleSet(
    "g1",
    "0.10.1.0 to 0.10.2.1, 0.11.0.0 to .2, 1.0.0 to .1, 1.1.0: answers version 2 even to version 1 (KAFKA-6054)",
    _BEFORE_2_0,
    MemberRules(transitions=_JUST_TAKES),
)
G1F: Final = RuleSet(
    "g1f",
    "0.10.2.2, 0.11.0.3, 1.0.2, 1.1.1: KAFKA-6054 fixed",
    evolve(_BEFORE_2_0, version=Speaks.LOWEST_USED),
    MemberRules(transitions=_JUST_TAKES),
)
KIP_268: Final = RuleSet("kip-268", "the text of KIP-268", _KIP_LEADER, MemberRules(transitions=_KIP_268))
KAFKA_2_0: Final = RuleSet(
    "g2",
    "2.0.0 to 2.2.1 and 2.3.0: KIP-268 as released",
    evolve(
        _KIP_LEADER,
        others_while_probing=Content.PREVIOUS,
        previous_of_process=True,
        checks=(Check.VERSIONS, Check.TOPICS),
        tells_future=False,
    ),
    MemberRules(
        transitions=_KAFKA_2_0, answered_above="IllegalStateException", errors=_FIRST_CODES, other_error=_DROPS
    ),
)
KAFKA_8649: Final = RuleSet(
    "g3",
    "2.2.2 and 2.3.1: the supported version is the one that all support",
    evolve(
        KAFKA_2_0.leader,
        supported=Speaks.LOWEST_SUPPORTED_KNOWN,
        version_for_future=Speaks.LOWEST_USED_KNOWN,
        previous_of_process=False,
    ),
    MemberRules(transitions=_EARLY_RETURN, errors=_FIRST_CODES, other_error=_DROPS),
)
G4A: Final = RuleSet(
    "g4a",
    "2.4 and 2.5: members from the future get tasks too",
    LeaderRules(
        version=Speaks.LOWEST_USED,
        supported=Speaks.LOWEST_SUPPORTED,
        validates_from=6,  # 2.5
        version_for_future=Speaks.LOWEST_USED,
        content_for_future=Content.REGULAR,
        checks=(Check.VERSIONS, Check.TOPICS),
    ),
    MemberRules(transitions=_TODAY, errors=_FIRST_CODES, other_error=_DROPS),
)
G4B: Final = RuleSet(
    "g4b",
    "2.6: a member that rejoins keeps its member id",
    G4A.leader,
    MemberRules(
        transitions=_TODAY,
        rejoining=Rejoining.KEEP_MEMBER_ID,
        errors={AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA: OnError((DROP, STOP))},
        other_error=_DROPS,
        follows_up=True,
    ),
)
G4C: Final = RuleSet(
    "g4c",
    "2.7 to 3.7: errors are answered with a code",
    evolve(G4B.leader, checks=(Check.VERSIONS, Check.SHUTDOWN, Check.TOPICS), answers_errors=True),
    evolve(G4B.member, errors=_TODAYS_CODES, other_error=_FAILS),
)
TODAY: Final = RuleSet(
    "today",
    "3.8 and later, and our own members: as g4c, but versions are looked at last",
    evolve(G4C.leader, checks=(Check.SHUTDOWN, Check.TOPICS, Check.VERSIONS)),
    G4C.member,
)

BY_NAME: Final[Mapping[str, RuleSet]] = {
    rules.name: rules for rules in (G0, G1, G1F, KIP_268, KAFKA_2_0, KAFKA_8649, G4A, G4B, G4C, TODAY)
}
