"""Version probing (KIP-268) without bytes and clients: the leader's decision and the member's transitions.

``rules`` holds what differs between generations of Kafka as tables, ``leader.decide`` and ``member.MemberVersion``
read them, ``diagram`` draws them; ``follow_up`` says when the next rebalance is.
"""

from probing.errors import LocalProtocolError, ProbingError, RemoteProtocolError
from probing.events import (
    Action,
    AssignmentReceived,
    AssignorError,
    Check,
    Content,
    MemberState,
    Rejoining,
    Verdict,
)
from probing.follow_up import NEVER, NOW, FollowUp, Reason, follow_up
from probing.leader import Answer, Decision, Heard, decide
from probing.member import MemberVersion, verdict
from probing.rules import BY_NAME, KIP_268, TODAY, LeaderRules, MemberRules, OnError, RuleSet

__all__ = [
    "BY_NAME",
    "KIP_268",
    "NEVER",
    "NOW",
    "TODAY",
    "Action",
    "Answer",
    "AssignmentReceived",
    "AssignorError",
    "Check",
    "Content",
    "Decision",
    "FollowUp",
    "Heard",
    "LeaderRules",
    "LocalProtocolError",
    "MemberRules",
    "MemberState",
    "MemberVersion",
    "OnError",
    "ProbingError",
    "Reason",
    "Rejoining",
    "RemoteProtocolError",
    "RuleSet",
    "Verdict",
    "decide",
    "follow_up",
    "verdict",
]
