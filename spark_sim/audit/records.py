"""The decoded records of a source, one row each, as Spark's data source ``consumer_offsets`` has them too."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any, Final

from assignor.groups.history.log_segment import LogRecord, SegmentReader
from assignor.groups.history.record_columns import RecordColumns
from assignor.groups.history.tables import valid_text
from spark_sim.audit.sources import PartitionSource, Source
from spark_sim.table import Table, columns_of
from subscription_codec import DecodeError
from subscription_codec.coordinator import RECORD_TYPES, decode_key, decode_value, record_type_number

MARKER: Final = "transaction marker"
RECORDS: Final = Table(
    "records",
    "Each record of __consumer_offsets.",
    ("partition", "offset"),
    columns_of(
        ("partition", "bigint", "partition of __consumer_offsets"),
        ("offset", "bigint", "offset of the record"),
        ("timestamp", "bigint", "milliseconds since 1970; -1 if it has none"),
        ("producer_id", "bigint", "producer of a record in a transaction; -1 outside of transactions"),
        ("kind", "string", "type of the record, such as OffsetCommit or GroupMetadata, or transaction marker"),
        ("group?", "string", "name of the group; null if the key is not decoded"),
        ("topic?", "string", "topic of an offset commit"),
        ("topic_partition?", "bigint", "partition of an offset commit"),
        ("key?", "binary", "bytes of the key"),
        ("value?", "binary", "bytes of the value; null for a tombstone"),
        ("json?", "string", "decoded key and value; bytes in hexadecimal; null if they are not decoded"),
    ),
)


def read_records(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of all records, those of a partition in the order of their offsets.

    What is damaged or missing is a ``UserWarning``.

    Raises:
        SourceError: The source cannot be read.
    """
    for partition in source.partitions:
        yield from partition_records(partition)


def partition_records(source: PartitionSource) -> Iterator[dict[str, Any]]:
    """Yield the rows of the records of one part of a source; what is damaged or missing is a ``UserWarning``."""
    reader = SegmentReader()
    for number, part in source.records(reader):
        for record in part.records() if isinstance(part, RecordColumns) else (part,):
            yield record_row(number, record)
    for problem in reader.problems:
        warnings.warn(problem, stacklevel=2)


def record_row(partition: int, record: LogRecord) -> dict[str, Any]:
    """Return the row of a record; one that cannot be decoded has its bytes."""
    row: dict[str, Any] = {
        **dict.fromkeys(column.name for column in RECORDS.columns),
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "producer_id": record.producer_id,
        "key": record.key,
        "value": record.value,
    }
    if record.is_control:
        return row | {"kind": MARKER}
    try:
        number = record_type_number(record.key)
        kind = RECORD_TYPES.get(number)
        row["kind"] = kind.name if kind else f"unknown type {number}"
        if kind is None:
            return row
        key = decode_key(record.key)
        row["group"] = valid_text(key.group)
        if "partition" in key.fields and "topic" in key.fields:
            row |= {"topic": valid_text(key.fields["topic"]), "topic_partition": key.fields["partition"]}
        value = None if record.value is None else decode_value(kind, record.value)
        decoded = {"key": key.fields, "version": value and value.version, "value": value and value.fields}
        row["json"] = json.dumps(decoded, default=_text)
    except DecodeError:
        row["kind"] = row["kind"] or "undecodable"
    return row


def _text(value: Any) -> str:
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)
