"""A group as a broker describes it: members, tasks, upgrade status and findings, decoded from raw bytes.

Pure: ``assignor.clients`` describes groups, ``assignor.cli._group`` shows the result. Nothing here changes a group.
"""

from assignor.inspect._diff import find_changes
from assignor.inspect._group import InspectedGroup, inspect_group
from assignor.inspect._messages import Change, change_text, finding_text, upgrade_text
from assignor.inspect._progress import (
    Progress,
    group_progress,
    is_empty,
    is_on_release,
    is_stable,
    lines_with_same_metadata,
    progress_text,
)
from assignor.inspect.broker_assigned import (
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedSubtopology,
    DescribedTopology,
    InternalTopic,
)
from assignor.inspect.check import Finding, Severity
from assignor.inspect.checks import TRANSIENT
from assignor.inspect.described_group import (
    DEFAULT_MAX_MESSAGE_BYTES,
    LOOKUP_TIMEOUT_SECONDS,
    ClusterGroups,
    DescribedGroup,
    DescribedGroupMember,
    NoSuchGroup,
    topics_of,
    with_topic_metadata,
)

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "LOOKUP_TIMEOUT_SECONDS",
    "TRANSIENT",
    "Assigned",
    "BrokerAssignment",
    "BrokerGroup",
    "Change",
    "ClusterGroups",
    "DescribedGroup",
    "DescribedGroupMember",
    "DescribedSubtopology",
    "DescribedTopology",
    "Finding",
    "InspectedGroup",
    "InternalTopic",
    "NoSuchGroup",
    "Progress",
    "Severity",
    "change_text",
    "find_changes",
    "finding_text",
    "group_progress",
    "inspect_group",
    "is_empty",
    "is_on_release",
    "is_stable",
    "lines_with_same_metadata",
    "progress_text",
    "topics_of",
    "upgrade_text",
    "with_topic_metadata",
]
