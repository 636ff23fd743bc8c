"""The vocabulary of version probing: states, events and actions of a member, and answers of a leader."""

from __future__ import annotations

import enum

from attrs import frozen


class MemberState(enum.Enum):
    """The state of a member's used version."""

    LATEST = "uses its latest version"
    DOWNGRADED = "uses a lower version that a leader has set (in memory until a restart)"
    PINNED = "uses version 1 or 2, pinned by upgrade.from"
    OVERSHOT = "a leader has set a version that it does not support; its next subscription fails (KAFKA-8649)"


class Action(enum.Enum):
    """The duties of a member that has received an assignment."""

    ACCEPT = "use the assignment"
    DISCARD = "discard the assignment"
    REJOIN = "rejoin immediately"
    REJOIN_TO_COMPLETE = "rejoin immediately if this member leads and one more rebalance completes the upgrade"
    SHUTDOWN = "shut down this member, without an exception"
    SHUTDOWN_APPLICATION = "shut down the whole application"


class AssignorError(enum.IntEnum):
    """The error code of an assignment (version 4 and later). Java: ``AssignorError``."""

    NONE = 0
    INCOMPLETE_SOURCE_TOPIC_METADATA = 1
    VERSION_PROBING = 2
    ASSIGNMENT_ERROR = 3
    SHUTDOWN_REQUESTED = 4


@frozen
class ReceivedVersions:
    """The event that a member receives an assignment."""

    version: int
    supported_version: int
    """-1 for a version below 3."""
    completes_upgrade: bool = False
    """This member is the leader, and one more rebalance completes the upgrade (``VersionDecision``)."""
    error_code: int = AssignorError.NONE
    """An ``AssignorError``, or an unknown code."""


class VersionComparison(enum.Enum):
    """How the versions of a received assignment compare with the used version of the member."""

    OLD = "version below 3: says nothing about what the group supports"
    SAME = "the used version, and the group supports no higher one"
    LOWER = "a lower version, and the group does not support the used version"
    BEHIND = "a lower version, although the group supports the used version"
    HIGHER = "the group supports a version above the used one, but not our latest"
    HIGHEST = "the group supports our latest version, which is above the used one"
    BEYOND = "the supported version is above our latest version"
    ABOVE = "a version above the one that we sent"


class Precondition(enum.Enum):
    """The checks of a leader before it assigns tasks."""

    VERSIONS = "no future member is in a group with a member that cannot be probed"
    SHUTDOWN = "no member requests the shutdown of the application (KIP-663)"
    TOPICS = "all source topics exist"


class AssignmentContent(enum.Enum):
    """The content of one member's assignment."""

    REGULAR = "the tasks of a regular assignment"
    PREVIOUS = "the previous tasks"
    EMPTY = "no tasks, only the two version numbers"
    ERROR = "no tasks, and an error code"


class RejoinMode(enum.Enum):
    """How a member rejoins immediately."""

    LEAVE_AND_JOIN = "unsubscribe, subscribe, poll: it leaves and joins with a new member id (KIP-268, up to 2.5)"
    KEEP_MEMBER_ID = "enforceRebalance: it keeps its member id (2.6 and later)"
