"""How far a group is behind: committed offsets beside end offsets, and restored state beside changelogs.

``clients`` reads the offsets; what follows from them is pure.
"""

from streams_assignor.groups.described_group import GroupOffsets
from streams_assignor.groups.offsets._gauges import group_gauges
from streams_assignor.groups.offsets._lag import (
    active_state_lags,
    offset_request,
    partition_lags,
    state_lags,
    task_lags,
)
from streams_assignor.groups.offsets._offsets import ChangelogSizes, OffsetRequest
from streams_assignor.groups.offsets._over_time import GroupsOverTime, LagState
from streams_assignor.groups.offsets._summary import check_lag, lag_json, lag_summary
from streams_assignor.groups.offsets._unread import UnreadRecordsDetector

__all__ = [
    "ChangelogSizes",
    "GroupOffsets",
    "GroupsOverTime",
    "LagState",
    "OffsetRequest",
    "UnreadRecordsDetector",
    "active_state_lags",
    "check_lag",
    "group_gauges",
    "lag_json",
    "lag_summary",
    "offset_request",
    "partition_lags",
    "state_lags",
    "task_lags",
]
