"""The decoded records of a source, one row each, as Spark's data source ``consumer_offsets`` has them too."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any, Final

from streams_assignor.codec import DecodeError
from streams_assignor.codec.coordinator import RECORD_TYPES, RecordKey, decode_key, decode_value, record_type_number
from streams_assignor.groups.history.log_segment import LogRecord, SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.groups.history.tables import valid_text
from streams_assignor.spark_sim.audit.sources import PartitionSource, Source
from streams_assignor.spark_sim.jobs.row_filter import KEEPS_ALL, RowFilter
from streams_assignor.spark_sim.jobs.table import Table, columns_of

MARKER: Final = "transaction marker"
FILTERED: Final = ("partition", "group", "kind", "topic", "topic_partition")
"""Columns that are known before the value of a record is decoded."""
_COMMITS: Final = ("OffsetCommit", "LegacyOffsetCommit")
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

    Damage is a ``UserWarning``.

    Raises:
        SourceError: The source cannot be read.
    """
    for partition in source.partitions:
        yield from partition_records(partition)


def partition_records(source: PartitionSource, kept: RowFilter = KEEPS_ALL) -> Iterator[dict[str, Any]]:
    """Yield the rows of the records of one part of a source; what is damaged or missing is a ``UserWarning``.

    Args:
        source: The part.
        kept: Which rows, by ``FILTERED`` columns: the values of others are not decoded.
    """
    reader, has_commits = SegmentReader(), any(kept.keeps({"kind": kind}, ("kind",)) for kind in _COMMITS)
    for number, part in source.records(reader, reads_commits=has_commits):
        for record in part.records() if isinstance(part, RecordColumns) else (part,):
            row, key = _row_by_key(number, record)
            if kept.keeps(row):
                yield row | _decoded(record, key)
    for problem in reader.problems:
        warnings.warn(problem, stacklevel=2)


def record_row(partition: int, record: LogRecord) -> dict[str, Any]:
    """Return the row of a record; one that cannot be decoded has its bytes."""
    row, key = _row_by_key(partition, record)
    return row | _decoded(record, key)


def _row_by_key(partition: int, record: LogRecord) -> tuple[dict[str, Any], RecordKey | None]:
    """Return a row without what the value has, and the key if it is decoded."""
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
        return row | {"kind": MARKER}, None
    try:
        number = record_type_number(record.key)
        kind = RECORD_TYPES.get(number)
        row["kind"] = kind.name if kind else f"unknown type {number}"
        key = decode_key(record.key) if kind else None
    except DecodeError:
        return row | {"kind": row["kind"] or "undecodable"}, None
    if key is not None:
        row["group"] = valid_text(key.group)
        if "partition" in key.fields and "topic" in key.fields:
            row |= {"topic": valid_text(key.fields["topic"]), "topic_partition": key.fields["partition"]}
    return row, key


def _decoded(record: LogRecord, key: RecordKey | None) -> dict[str, str]:
    """Return the column with the decoded key and value; none if they are not decoded."""
    if key is None:
        return {}
    try:
        value = None if record.value is None else decode_value(key.type, record.value)
    except DecodeError:
        return {}
    decoded = {"key": key.fields, "version": value and value.version, "value": value and value.fields}
    return {"json": json.dumps(decoded, default=_text)}


def _text(value: Any) -> str:
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)
