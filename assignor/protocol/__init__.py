"""The rebalance protocol of one group: bytes in, bytes out, without input or output of its own.

``member`` encodes subscriptions and applies assignments; ``leader`` turns the subscriptions of all members into
assignments. The other modules are its steps.
"""

from typing import Final

PROTOCOL_NAME: Final = "stream"
"""The name of the protocol in JoinGroup, in every release. Java: ``StreamsPartitionAssignor.name``."""
