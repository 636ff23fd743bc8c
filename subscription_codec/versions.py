"""The version numbers of Kafka Streams' rebalance metadata, and the first version of each feature.

Java: ``StreamsAssignmentProtocolVersions`` (``LATEST_SUPPORTED_VERSION``, ``EARLIEST_PROBEABLE_VERSION``, ``UNKNOWN``).
"""

from typing import Final

UNKNOWN_VERSION: Final = -1
"""The supported version of a record of version 1 or 2, which has no such field."""

EARLIEST_PROBEABLE_VERSION: Final = 3
"""KIP-268: since version 3 a record also carries the supported version, so the group can be probed."""

FIRST_VERSION_WITH_OFFSET_SUMS: Final = 7
"""KIP-441: since version 7 a subscription has the offset sum of each task instead of two lists of tasks."""

FIRST_VERSION_WITH_TOPIC_DICTIONARY: Final = 5
"""Since version 5 an assignment refers to topics by their index in its topic dictionary."""

FIRST_ASSIGNMENT_WITH_ERROR_CODE: Final = 4
"""Since version 4 an assignment has an error code."""

FIRST_SUBSCRIPTION_WITH_ERROR_CODE: Final = 9
"""KIP-663: since version 9 a subscription has an error code."""

LATEST_SUPPORTED_VERSION: Final = 11
"""The newest version of Kafka (3.2 and later) and of this codec."""
