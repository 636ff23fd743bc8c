"""Converts records to and from plain JSON values, with Kafka's field names and in wire order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal
from uuid import UUID

from streams_assignor.codec._messages import with_topic_dictionary
from streams_assignor.codec.columns import RecordSequence
from streams_assignor.codec.errors import EncodeError, WrongArgument, require_type
from streams_assignor.codec.layout import ASSIGNMENT_LAYOUTS, SUBSCRIPTION_LAYOUTS
from streams_assignor.codec.records import Assignment, FutureSubscription, Subscription, TaskId, TaskOffsetSum
from streams_assignor.codec.versions import FIRST_VERSION_WITH_TOPIC_DICTIONARY
from streams_assignor.codec.wire.schema import Layout

MessageKind = Literal["subscription", "assignment"]
LAYOUTS: Final[Mapping[str, Mapping[int, Layout]]] = {
    "subscription": SUBSCRIPTION_LAYOUTS,
    "assignment": ASSIGNMENT_LAYOUTS,
}


def require_kind(kind: object) -> None:
    """Raise ``WrongArgument`` if there is no such kind of message."""
    if kind not in LAYOUTS:
        raise WrongArgument(f"expected {' or '.join(LAYOUTS)} as kind, got {kind!r}")


def to_fields(record: Subscription | Assignment) -> dict[str, Any]:
    """Return the fields of the record's version; bytes after them are hex under ``trailing``.

    >>> to_fields(Assignment(version=1))
    {'version': 1, 'activeTasks': [], 'standbyTasks': []}
    """
    require_type("record", record, Subscription, Assignment)
    layouts = SUBSCRIPTION_LAYOUTS if isinstance(record, Subscription) else ASSIGNMENT_LAYOUTS
    if isinstance(record, Assignment) and record.version >= FIRST_VERSION_WITH_TOPIC_DICTIONARY:
        record = with_topic_dictionary(record)
    fields = {field.name: to_json(getattr(record, field.key)) for field in layouts[record.version].members}
    return fields | ({"trailing": record.trailing.hex()} if record.trailing else {})


def from_fields(kind: MessageKind, fields: Mapping[str, Any]) -> Subscription | Assignment:
    """Return the record of a JSON form. A missing field takes its default, but ``version`` is required.

    Raises ``EncodeError`` for a missing version, an unknown field or a value of the wrong type.
    """
    require_kind(kind)
    require_type("fields", fields, Mapping)
    layouts, version = LAYOUTS[kind], fields.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version not in layouts:
        raise EncodeError(f"must be one of {min(layouts)} to {max(layouts)}, got {version!r}", "version")
    layout_fields = {field.name: field for field in layouts[version].members}
    if unknown := fields.keys() - layout_fields.keys() - {"trailing"}:
        raise EncodeError(f"{kind} version {version} has no such field, only {', '.join(layout_fields)}", min(unknown))
    values: dict[str, Any] = {"trailing": _trailing_from_hex(fields.get("trailing", ""))}
    for name, field in layout_fields.items():
        if name in fields:
            try:
                # Kafka prints an empty endpoint as null; both are encoded as a text of length 0.
                value = "" if name == "userEndPoint" and fields[name] is None else fields[name]
                values[field.key] = field.wire.from_json(value)
            except EncodeError as error:
                raise error.within(name) from None
    if kind == "subscription":
        return Subscription(**values)
    topics = values.pop("topics", ())
    return with_topic_dictionary(Assignment(**values), topics) if topics else Assignment(**values)


def describe(record: Subscription | FutureSubscription | Assignment) -> dict[str, Any]:
    """Return the JSON value that ``streams-assignor userdata decode`` prints for a record."""
    if isinstance(record, FutureSubscription):
        return {"version": record.version, "latestSupportedVersion": record.supported_version, "future": True}
    fields = to_fields(record)  # checks its type
    return {"version": record.version, "fields": fields}


def to_json(value: Any) -> Any:
    """Return the JSON form of a field's value: sequences are lists, a UUID is text, a task is ``[0, 3]``."""
    match value:
        case TaskId(topology=None):
            return [value.subtopology, value.partition]
        case TaskOffsetSum():
            return [*to_json(value.task), value.offset_sum]
        case tuple() | RecordSequence():
            return list(map(to_json, value))
        case UUID():
            return str(value)
        case _:
            return value


def _trailing_from_hex(text: object) -> bytes:
    try:
        return bytes.fromhex(text)  # type: ignore[arg-type]  # a TypeError is caught
    except (TypeError, ValueError):
        raise EncodeError(f"needs hex, got {text!r}", "trailing") from None
