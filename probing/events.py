"""What can happen to a member's version, what it may then have to do, and how a leader may answer."""

from __future__ import annotations

import enum

from attrs import frozen


class MemberState(enum.Enum):
    """Where the used version of a member stands."""

    LATEST = "sends its latest version"
    LOWERED = "sends a lower version, learnt from a leader (in memory, gone with a restart)"
    PINNED = "sends version 1 or 2, because upgrade.from says so"
    OVERSHOT = "was told a version that it does not have; its next subscription fails (KAFKA-8649)"


class Action(enum.Enum):
    """What a member has to do with the assignment it received."""

    TAKE = "take the assignment"
    DROP = "drop the assignment"
    REJOIN = "rejoin at once"
    REJOIN_TO_COMPLETE = "rejoin at once if this member leads and one more rebalance completes the upgrade"
    STOP = "shut this member down, without an exception"
    STOP_APPLICATION = "shut the whole application down"


class AssignorError(enum.IntEnum):
    """Why an assignment is none, as a number in the assignment (version 4 and later). Java: ``AssignorError``."""

    NONE = 0
    INCOMPLETE_SOURCE_TOPIC_METADATA = 1
    VERSION_PROBING = 2
    ASSIGNMENT_ERROR = 3
    SHUTDOWN_REQUESTED = 4


@frozen
class AssignmentReceived:
    """An assignment arrived: its used version and its supported version (-1 below version 3).

    ``completes``: this member made it, and knows that one more rebalance completes an upgrade (``Decision.completes``).
    ``error_code``: an ``AssignorError``, or a number that is none.
    """

    version: int
    supported: int
    completes: bool = False
    error_code: int = AssignorError.NONE


class Verdict(enum.Enum):
    """What a received assignment says, seen from the version that the member sent (``used``)."""

    OLD = "version below 3: says nothing about what the group supports"
    SAME = "our version, and nobody knows of a better one"
    LOWER = "a lower version, and the group supports no more than a lower one"
    BEHIND = "a lower version, although the group supports what we sent"
    HIGHER = "the group supports more than we sent, but not our latest"
    HIGHEST = "the group supports our latest, and we sent less"
    BEYOND = "the supported version is above our latest"
    ABOVE = "a version above the one that we sent"


class Check(enum.Enum):
    """What a leader looks at before it assigns anything."""

    VERSIONS = "members from the future beside members that cannot be probed"
    SHUTDOWN = "a member wants the whole application to end (KIP-663)"
    TOPICS = "a source topic is missing"


class Content(enum.Enum):
    """What a leader puts into the answer for one member."""

    REGULAR = "its share of a regular assignment"
    PREVIOUS = "the tasks it had before"
    EMPTY = "no tasks, only the two version numbers"
    ERROR = "no tasks, but an error code"


class Rejoining(enum.Enum):
    """How a member rejoins at once."""

    LEAVE_AND_JOIN = "unsubscribe, subscribe, poll: it leaves and comes back with a new member id (KIP-268, up to 2.5)"
    KEEP_MEMBER_ID = "enforceRebalance: it keeps its member id (2.6 and later)"
