"""The text of Kafka's ``Topology#describe()``, read into its nodes. Java: ``TopologyDescription``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from attrs import evolve, frozen

from streams_assignor.upgrade.errors import UpgradeError, quote_input
from streams_assignor.upgrade.input_values import InvalidInput, parse_number

_MARGIN: Final = r"[\s>|#*/+\"'`]*"
"""Marks before a line of a pasted text: quotes, comments, the bars of a table."""
_BEGINS: Final = re.compile(rf"{_MARGIN}(Sub-topology|Source|Processor|Sink):")
_SUBTOPOLOGY: Final = re.compile(r"(?:^|[^\w-])Sub-topology: *([0-9]+)(.*)")
_EMPTY: Final = {"Topologies:", "Sub-topologies:"}
"""The texts of a topology without nodes."""
_NODE: Final = re.compile(r"(?:^|[^\w-])(Source|Processor|Sink): ")
_DETAILS: Final = re.compile(r"(.+) \((topics?|stores|extractor class): (.*)\)")
_END: Final = " \t\r,;|*/+\\\"'`"
"""Marks behind a pasted line."""
_ARROW: Final = re.compile(r"[^\w-]*(-->|<--) (.*)")
_PREDECESSORS: Final = re.compile(r".*?<-- (.*)")


@frozen
class DescribedNode:
    """One source, processor or sink."""

    kind: str
    """``Source``, ``Processor`` or ``Sink``."""
    name: str
    subtopology: int | None
    """The number of its subtopology; None in the subtopology of a global store, which has no tasks."""
    topics: tuple[str, ...] = ()
    """The topics of a source, a pattern as one, or of a sink; empty if the program chooses the topic."""
    stores: tuple[str, ...] = ()
    predecessors: tuple[str, ...] = ()
    has_pattern: bool = False
    """Whether a source reads a pattern: the text has brackets around the names of topics only."""


def parse_topology_description(text: str, name: str = "the text") -> tuple[DescribedNode, ...]:
    """Read a ``Topology#describe()`` text, also one that was copied with quotes, escapes or the prefix of a log.

    Args:
        text: of any release from 1.0 on.
        name: of the text, in errors.

    Raises:
        UpgradeError: It is no such text, a part of one, or a line that begins with Source, Processor or Sink is not
            understood.
    """
    whole = _unescaped(text)
    nodes = tuple(_nodes(whole, name))
    if (
        not nodes and text.strip() not in _EMPTY
    ):  # nothing of the text is shown: a file of settings that is named by mistake has passwords
        raise UpgradeError(
            f"{name}: expected the text of Topology#describe(), with lines such as 'Sub-topology: 0' and 'Source: "
            "KSTREAM-SOURCE-0000000000 (topics: [orders])', received another text"
        )
    if lacking := _lacking(whole, {node.name for node in nodes}):
        raise UpgradeError(
            f"{name}: expected a whole text, received one that names {quote_input(lacking)} in an arrow only"
        )
    return nodes


def _lacking(text: str, known: set[str]) -> str:
    """Return a node that an arrow names and no line has; names with commas are not told apart."""
    arrows = (match[2] for line in text.splitlines() if (match := _ARROW.match(line)))
    named = (name for arrow in arrows for name in _names(arrow.rstrip(_END)))
    is_plain = not any("," in name for name in known)
    return next((name for name in named if is_plain and name not in {*known, "none"}), "")


def _unescaped(text: str) -> str:
    """Return the text without the escapes of JSON, a string of a program, or HTML."""
    if "\\n" in text and len(text.splitlines()) <= 1:
        text = text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return unescape(text) if "&gt;" in text or "&lt;" in text else text


def _nodes(text: str, name: str) -> Iterator[DescribedNode]:
    is_inside, subtopology, node = False, None, None
    for number, line in enumerate(text.splitlines(), start=1):
        begins = _BEGINS.match(line)
        if not (begins and begins[1] != _HEADER) and (header := _SUBTOPOLOGY.search(line)):
            is_inside, subtopology = True, None
            if "global store" not in header[2]:
                try:
                    subtopology = parse_number(header[1])
                except InvalidInput as error:
                    raise UpgradeError(f"{name}, line {number}: {error}") from None
        elif not _ARROW.match(line) and (details := _details(line)):
            if not is_inside:
                raise _not_understood(name, number, line, f"{_EXPECTED[_HEADER]} before it")
            if node:
                yield node
            node = _node(*details, subtopology)
        elif begins:
            raise _not_understood(name, number, line, _EXPECTED[begins[1]])
        elif node and (match := _PREDECESSORS.match(line)):
            node = evolve(node, predecessors=_names(match[1]))
    if node:
        yield node


_HEADER: Final = "Sub-topology"
_EXPECTED: Final = {
    _HEADER: "'Sub-topology: NUMBER'",
    "Source": "'Source: NAME (topics: [...])'",
    "Processor": "'Processor: NAME (stores: [...])'",
    "Sink": "'Sink: NAME (topic: ...)' or 'Sink: NAME (extractor class: ...)'",
}


def _details(line: str) -> tuple[str, str, str, str] | None:
    """Return kind, name, label and list of a line about a node; each search passes the line once."""
    if (kind := _NODE.search(line)) is None:
        return None
    rest = line[kind.end() :].rstrip(_END)
    match = _DETAILS.fullmatch(rest) if rest.endswith(")") else None
    return (kind[1], match[1], match[2], match[3]) if match else None


def _not_understood(name: str, number: int, line: str, expected: str) -> UpgradeError:
    return UpgradeError(f"{name}, line {number}: expected {expected}, received {quote_input(line.strip())}")


def _node(kind: str, name: str, label: str, listed: str, subtopology: int | None) -> DescribedNode:
    return DescribedNode(
        kind,
        name,
        subtopology,
        topics=_names(listed) if label.startswith("topic") else (),
        stores=_names(listed) if label == "stores" else (),
        has_pattern=kind == "Source" and not listed.startswith("["),
    )


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name for part in listed.strip().strip("[]").split(",") if (name := part.strip()))
