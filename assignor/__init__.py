"""The assignor: from a topology and what the members say to tasks for everyone, with version probing in between.

``StreamsPartitionAssignor`` is the whole; ``assignor.clients`` plugs it into real consumers. What is named here is
loaded when it is first asked for: the command line lives in this package, and its help must come at once.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from assignor.errors import FatalError
    from assignor.member import Received
    from assignor.streams_assignor import StreamsPartitionAssignor
    from assignor.topology import Subtopology, Topology

__all__ = ["FatalError", "Received", "StreamsPartitionAssignor", "Subtopology", "Topology"]

_HOMES: Final = {
    "FatalError": "errors",
    "Received": "member",
    "StreamsPartitionAssignor": "streams_assignor",
    "Subtopology": "topology",
    "Topology": "topology",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
