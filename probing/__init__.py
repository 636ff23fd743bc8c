"""Version probing (KIP-268) without bytes and clients: the leader's decision and the member's transitions.

``rules`` holds what differs between generations of Kafka as tables, ``leader.decide`` and ``member.MemberVersion``
read them, ``diagram`` draws them.
"""

from probing.errors import LocalProtocolError, ProbingError, RemoteProtocolError
from probing.events import Action, AssignmentReceived, Content, MemberState, Rejoining, Verdict
from probing.leader import Answer, Decision, Heard, decide
from probing.member import MemberVersion, verdict
from probing.rules import KIP_268, TODAY, LeaderRules, MemberRules, RuleSet

__all__ = [
    "KIP_268",
    "TODAY",
    "Action",
    "Answer",
    "AssignmentReceived",
    "Content",
    "Decision",
    "Heard",
    "LeaderRules",
    "LocalProtocolError",
    "MemberRules",
    "MemberState",
    "MemberVersion",
    "ProbingError",
    "Rejoining",
    "RemoteProtocolError",
    "RuleSet",
    "Verdict",
    "decide",
    "verdict",
]
