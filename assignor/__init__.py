"""Assigns the tasks of a Kafka Streams topology to the members of a consumer group, with version probing.

``StreamsAssignor`` is the assignor of one member, bytes in and bytes out; ``assignor.clients`` attaches it to real
consumers. A name below is loaded at its first use, so that the command line, which is part of this package, starts
quickly.
"""

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from assignor.cluster import ClusterSnapshot
    from assignor.errors import FatalError, StreamsAssignorError, UsageError
    from assignor.observability.events import combine_observers
    from assignor.observability.metrics import MetricsObserver
    from assignor.protocol.member import ReceivedAssignment
    from assignor.rebalance_listener import TaskRebalanceListener
    from assignor.streams_assignor import StreamsAssignor
    from assignor.task_assignor import TaskAssignor
    from assignor.topology import Subtopology, Topology
    from subscription_codec import TaskId, TopicPartition
    from upgrade import ConfigException, StreamsConfig

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
        "ClusterSnapshot": "assignor.cluster",
        "ConfigException": "upgrade",
        "FatalError": "assignor.errors",
        "MetricsObserver": "assignor.observability.metrics",
        "ReceivedAssignment": "assignor.protocol.member",
        "StreamsAssignor": "assignor.streams_assignor",
        "StreamsAssignorError": "assignor.errors",
        "StreamsConfig": "upgrade",
        "Subtopology": "assignor.topology",
        "TaskAssignor": "assignor.task_assignor",
        "TaskId": "subscription_codec",
        "TaskRebalanceListener": "assignor.rebalance_listener",
        "Topology": "assignor.topology",
        "TopicPartition": "subscription_codec",
        "UsageError": "assignor.errors",
        "combine_observers": "assignor.observability.events",
    }
)
"""Name -> module that defines it."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
