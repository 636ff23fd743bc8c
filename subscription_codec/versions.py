"""The version numbers of Kafka Streams' rebalance metadata, and what the numbers mean.

Java: ``StreamsAssignmentProtocolVersions`` (``LATEST_SUPPORTED_VERSION``, ``EARLIEST_PROBEABLE_VERSION``, ``UNKNOWN``).
"""

from typing import Final

UNKNOWN_VERSION: Final = -1
"""Stands where a record of version 1 or 2 has no "latest supported version" field."""

EARLIEST_PROBEABLE_VERSION: Final = 3
"""KIP-268: from version 3 on a record carries the supported version too, so a leader can be probed."""

FIRST_WITH_OFFSET_SUMS: Final = 7
"""KIP-441: from version 7 on a subscription says how far the member's state of each task is."""

LATEST_SUPPORTED_VERSION: Final = 11
"""The newest version that Kafka has shipped (3.2 and everything since) and that is read and written here."""
