"""The address of a node, as a client connects to it."""

from typing import Any


def node_address(node: Any) -> str:
    """Return ``host:port`` of a node; an IPv6 address is in brackets.

    >>> from types import SimpleNamespace
    >>> node_address(SimpleNamespace(host="a", port=9092)), node_address(SimpleNamespace(host="::1", port=9092))
    ('a:9092', '[::1]:9092')
    """
    return f"[{node.host}]:{node.port}" if ":" in node.host else f"{node.host}:{node.port}"
