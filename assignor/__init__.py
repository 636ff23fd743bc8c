"""The assignor: from a topology and what the members say to tasks for everyone, with version probing in between.

``StreamsPartitionAssignor`` is the whole; ``assignor.clients`` plugs it into real consumers.
"""

from assignor.errors import FatalError
from assignor.member import Received
from assignor.streams_assignor import StreamsPartitionAssignor
from assignor.topology import Subtopology, Topology

__all__ = ["FatalError", "Received", "StreamsPartitionAssignor", "Subtopology", "Topology"]
