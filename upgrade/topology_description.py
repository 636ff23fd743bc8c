"""The text of Kafka's ``Topology#describe()``, read into its nodes. Java: ``TopologyDescription``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attrs import evolve, frozen

from upgrade.errors import UpgradeError, quote_input
from upgrade.input_values import parse_number

_SUBTOPOLOGY: Final = re.compile(r"\s*Sub-topology:\s*(\d+)(.*)")
_NODE: Final = re.compile(r"\s*(Source|Processor|Sink): (\S+)(?: \((topics?|stores): (.*?)\))?\s*$")
_PREDECESSORS: Final = re.compile(r"\s*<-- (.*)")


@frozen
class DescribedNode:
    """One source, processor or sink."""

    kind: str
    """``Source``, ``Processor`` or ``Sink``."""
    name: str
    subtopology: int | None
    """The number of its subtopology; None in the subtopology of a global store, which has no tasks."""
    topics: tuple[str, ...] = ()
    """What a source reads, a pattern as one, or what a sink writes; empty if the program chooses the topic."""
    stores: tuple[str, ...] = ()
    predecessors: tuple[str, ...] = ()
    has_pattern: bool = False
    """Whether a source reads a pattern: the text has brackets around the names of topics only."""


def parse_topology_description(text: str, name: str = "the text") -> tuple[DescribedNode, ...]:
    """Read a ``Topology#describe()`` text; ``name`` is its name in the error.

    Raises:
        UpgradeError: It is no such text.
    """
    found = tuple(_nodes(text))
    if not found:
        raise UpgradeError(
            f"{name}: expected the text of Topology#describe(), with lines such as 'Sub-topology: 0' and 'Source: "
            f"KSTREAM-SOURCE-0000000000 (topics: [orders])', received {quote_input(text.strip())}"
        )
    return found


def _nodes(text: str) -> Iterator[DescribedNode]:
    is_inside, subtopology, node = False, None, None
    for line in text.splitlines():
        if header := _SUBTOPOLOGY.match(line):
            is_inside, subtopology = True, None if "global store" in header[2] else parse_number(header[1])
        elif is_inside and (match := _NODE.match(line)):
            if node:
                yield node
            kind, name, listed, names = match.groups("")
            has_pattern = kind == "Source" and not names.startswith("[")
            node = DescribedNode(kind, name, subtopology, has_pattern=has_pattern)
            node = evolve(node, stores=_names(names)) if listed == "stores" else evolve(node, topics=_names(names))
        elif node and (match := _PREDECESSORS.match(line)):
            node = evolve(node, predecessors=_names(match[1]))
    if node:
        yield node


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name for part in listed.strip("[]").split(",") if (name := part.strip()))
