"""What travels: the layouts of the userdata, their structures, and what single releases write otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from blocks.markdown import NOT_THERE, number, table
from streams_assignor.codec import consumer_protocol, layout, quirks
from streams_assignor.codec.wire.schema import Layout
from streams_assignor.codec.wire.structs import Struct
from streams_assignor.codec.wire.types import Array, ColumnType


def layouts(versions: Mapping[int, Layout]) -> str:
    """Show a message: a row per field and type, a column per version with the field's place on the wire."""
    places = {
        version: {(field.name, field.wire.name): place for place, field in enumerate(row.members, 1)}
        for version, row in versions.items()
    }
    known = {(field.name, field.wire.name): field.key for row in versions.values() for field in row.members}
    rows = [
        [f"`{name}`", f"`{ours}`", wire, *(found.get((name, wire), NOT_THERE) for found in places.values())]
        for (name, wire), ours in known.items()
    ]
    return table(("field", "in Python", "type", *(f"v{version}" for version in versions)), rows)


def types() -> str:
    """List the structures that fields are made of."""
    found: dict[str, Struct] = {}

    def collect(wire: Any) -> None:
        if isinstance(wire, ColumnType):
            collect(wire.inner)
        elif isinstance(wire, Array):
            collect(wire.item)
        elif isinstance(wire, Struct):
            found[wire.name] = wire
            for field in wire.members:
                collect(field.wire)

    for versions in (layout.SUBSCRIPTION_LAYOUTS, layout.ASSIGNMENT_LAYOUTS, consumer_protocol.SUBSCRIPTION_LAYOUTS):
        for row in versions.values():
            for field in row.members:
                collect(field.wire)
    rows = [
        (f"`{name}`", ", ".join(f"`{field.name}` {field.wire.name}" for field in struct.members))
        for name, struct in found.items()
    ]
    return table(("structure", "is"), rows)


def quirk_rows() -> str:
    """List what single releases write that their version does not say."""
    rows = [
        (f"{number(each.since)} up to, not including, {number(each.until)}", each.description) for each in quirks.QUIRKS
    ]
    return table(("releases", "quirk"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "subscription": lambda: layouts(layout.SUBSCRIPTION_LAYOUTS),
    "assignment": lambda: layouts(layout.ASSIGNMENT_LAYOUTS),
    "consumer protocol subscription": lambda: layouts(consumer_protocol.SUBSCRIPTION_LAYOUTS),
    "consumer protocol assignment": lambda: layouts(consumer_protocol.ASSIGNMENT_LAYOUTS),
    "types": types,
    "quirks": quirk_rows,
}
