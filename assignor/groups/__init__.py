"""A group as a broker describes it: members, tasks, upgrade status and findings, decoded from raw bytes.

``describe`` asks brokers, ``offsets`` is about lag, ``checks`` finds what is wrong, ``history`` reads the records of
``__consumer_offsets``. All but ``describe`` is pure, and nothing here changes a group.
"""

from streams_assignor.groups._diff import find_changes, is_hidden
from streams_assignor.groups._group import InspectedGroup, inspect_group
from streams_assignor.groups._messages import change_text, upgrade_text
from streams_assignor.groups._progress import (
    GroupProgress,
    group_progress,
    indistinguishable_releases,
    is_empty,
    is_on_release,
    is_stable,
    progress_text,
    shows_releases,
    upgrade_from_note,
)
from streams_assignor.groups._restart import CrashLoopDetector, ExpectedMembers, Restart, RestartTracker
from streams_assignor.groups.broker_assigned import (
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedSubtopology,
    DescribedTopology,
    InternalTopic,
)
from streams_assignor.groups.check import Finding, FindingSeverity
from streams_assignor.groups.checks import TRANSIENT, finding_text
from streams_assignor.groups.described_group import (
    DEFAULT_MAX_MESSAGE_BYTES,
    LOOKUP_TIMEOUT_SECONDS,
    ClusterGroups,
    DescribedGroup,
    DescribedGroupMember,
    NoSuchGroup,
    topics_of,
    with_topic_metadata,
)
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.member_names import matches, member_label, place_of

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "LOOKUP_TIMEOUT_SECONDS",
    "TRANSIENT",
    "Assigned",
    "BrokerAssignment",
    "BrokerGroup",
    "ClusterGroups",
    "CrashLoopDetector",
    "DescribedGroup",
    "DescribedGroupMember",
    "DescribedSubtopology",
    "DescribedTopology",
    "ExpectedMembers",
    "Finding",
    "FindingSeverity",
    "GroupProgress",
    "InspectedGroup",
    "InspectedMember",
    "InternalTopic",
    "NoSuchGroup",
    "Restart",
    "RestartTracker",
    "change_text",
    "find_changes",
    "finding_text",
    "group_progress",
    "indistinguishable_releases",
    "inspect_group",
    "is_empty",
    "is_hidden",
    "is_on_release",
    "is_stable",
    "matches",
    "member_label",
    "place_of",
    "progress_text",
    "shows_releases",
    "topics_of",
    "upgrade_from_note",
    "upgrade_text",
    "with_topic_metadata",
]
