"""Assigns the tasks of a Kafka Streams topology to the members of a consumer group, with version probing.

``StreamsAssignor`` is the assignor of one member, bytes in and bytes out; ``clients`` attaches it to real
consumers. A name below is loaded at its first use, so that the command line, which is part of this package, starts
quickly.
"""

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from streams_assignor.cluster import ClusterSnapshot
    from streams_assignor.codec import TaskId, TopicPartition
    from streams_assignor.errors import FatalError, StreamsAssignorError, UsageError
    from streams_assignor.observability.events import combine_observers
    from streams_assignor.observability.metrics import MetricsObserver
    from streams_assignor.protocol.member import ReceivedAssignment
    from streams_assignor.rebalance_listener import TaskRebalanceListener
    from streams_assignor.streams_assignor import StreamsAssignor
    from streams_assignor.task_assignor import TaskAssignor
    from streams_assignor.topology import Subtopology, Topology
    from streams_assignor.upgrade import ConfigException, StreamsConfig

__all__ = [
    "ClusterSnapshot",
    "ConfigException",
    "FatalError",
    "MetricsObserver",
    "ReceivedAssignment",
    "StreamsAssignor",
    "StreamsAssignorError",
    "StreamsConfig",
    "Subtopology",
    "TaskAssignor",
    "TaskId",
    "TaskRebalanceListener",
    "TopicPartition",
    "Topology",
    "UsageError",
    "combine_observers",
]

_MODULES: Final = MappingProxyType(
    {
        "ClusterSnapshot": "streams_assignor.cluster",
        "ConfigException": "streams_assignor.upgrade",
        "FatalError": "streams_assignor.errors",
        "MetricsObserver": "streams_assignor.observability.metrics",
        "ReceivedAssignment": "streams_assignor.protocol.member",
        "StreamsAssignor": "streams_assignor.streams_assignor",
        "StreamsAssignorError": "streams_assignor.errors",
        "StreamsConfig": "streams_assignor.upgrade",
        "Subtopology": "streams_assignor.topology",
        "TaskAssignor": "streams_assignor.task_assignor",
        "TaskId": "streams_assignor.codec",
        "TaskRebalanceListener": "streams_assignor.rebalance_listener",
        "Topology": "streams_assignor.topology",
        "TopicPartition": "streams_assignor.codec",
        "UsageError": "streams_assignor.errors",
        "combine_observers": "streams_assignor.observability.events",
    }
)
"""Name -> module that defines it."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
