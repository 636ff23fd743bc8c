"""The state machine of version probing (KIP-268), without bytes and clients: leader decision and member transitions.

``rules`` has one table row per generation of Kafka's code; ``leader.decide`` and ``member.MemberVersion`` follow it and
``state_diagram`` prints it. ``follow_up`` schedules the next rebalance.
"""

from streams_assignor.probing._errors import LocalProtocolError, ProbingError, RemoteProtocolError
from streams_assignor.probing._member import MemberVersion, compare_versions
from streams_assignor.probing.follow_up import FollowUp, FollowUpReason, schedule_follow_up
from streams_assignor.probing.leader import MemberVersions, VersionAnswer, VersionDecision, decide
from streams_assignor.probing.model import (
    Action,
    AssignmentContent,
    AssignorError,
    MemberState,
    Precondition,
    ReceivedVersions,
    RejoinMode,
    VersionComparison,
)
from streams_assignor.probing.rules import BY_NAME, CURRENT, KIP_268, ErrorReaction, LeaderRules, MemberRules, RuleSet

__all__ = [
    "BY_NAME",
    "CURRENT",
    "KIP_268",
    "Action",
    "AssignmentContent",
    "AssignorError",
    "ErrorReaction",
    "FollowUp",
    "FollowUpReason",
    "LeaderRules",
    "LocalProtocolError",
    "MemberRules",
    "MemberState",
    "MemberVersion",
    "MemberVersions",
    "Precondition",
    "ProbingError",
    "ReceivedVersions",
    "RejoinMode",
    "RemoteProtocolError",
    "RuleSet",
    "VersionAnswer",
    "VersionComparison",
    "VersionDecision",
    "compare_versions",
    "decide",
    "schedule_follow_up",
]
