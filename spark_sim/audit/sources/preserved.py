"""The preserved records of ``audit --follow`` as a source: Parquet files of finished batches, or others like them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import frozen

from streams_assignor.groups.history.log_segment import MAX_OFFSET, LogRecord, SegmentReader, known_time
from streams_assignor.spark_sim.audit.sources._source import (
    RECORDS_PER_SECOND,
    WITHOUT_CHECKSUMS,
    OffsetOrder,
    Source,
    SourceError,
    file_inputs,
)
from streams_assignor.spark_sim.sweep.tables.parquet import open_parquet
from streams_assignor.upgrade.input_values import InvalidInput, parse_json, read_text

RECORDS_FOLDER: Final = "records"
SINK_LOG: Final = "_spark_metadata"
"""The folder in which Spark's file sink lists the files of finished batches."""
_NUMBERS: Final = {
    "partition": (0, (1 << 31) - 1),
    "offset": (0, MAX_OFFSET),
    "timestamp": (-1 << 63, (1 << 63) - 1),
}
_RECORD_COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value")


@frozen
class PreservedPartition:
    """The preserved records of one partition."""

    partition: int
    files: tuple[Path, ...]
    """In the order of their offsets."""
    size: int
    """Records."""

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        return f"partition-{self.partition}"

    @property
    def inputs(self) -> object:
        """The files with their sizes and times."""
        return file_inputs(self.files)

    @property
    def pieces(self) -> Sequence[PreservedPartition]:
        """The partition itself: files have records of all partitions."""
        return [self]

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[tuple[int, LogRecord]]:  # noqa: ARG002  # the interface
        """Yield the records.

        Raises:
            SourceError: They are not in the order of their offsets.
        """
        import pyarrow.compute as pc

        order = OffsetOrder()
        for batch in _batches(self.files, _RECORD_COLUMNS, self.partition):
            own = batch.filter(pc.equal(batch.column("partition"), self.partition))
            reader.counts["records"] += own.num_rows
            offsets, timestamps, *rest = (own.column(name).to_pylist() for name in _RECORD_COLUMNS[1:])
            for record in map(LogRecord, offsets, map(known_time, timestamps), *rest):
                order.check(self.partition, record.offset)
                yield self.partition, record


def preserved_source(folder: Path) -> Source:
    """Return the records that ``audit --follow`` has preserved; ``folder`` is its ``OUT/records``, or ``OUT``.

    Of a folder that another program has written, all Parquet files are read; they have the same columns.

    Raises:
        SourceError: There are none.
    """
    records_folder = folder / RECORDS_FOLDER if (folder / RECORDS_FOLDER).is_dir() else folder
    names = (
        _committed_files(records_folder)
        if (records_folder / SINK_LOG).is_dir()
        else sorted(map(str, records_folder.glob("*.parquet")))
    )
    files = tuple(records_folder / name for name in names)
    counts: dict[int, int] = {}
    for batch in _batches(files, ("partition",)):
        for entry in batch.column("partition").value_counts().to_pylist():
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    if not counts:
        raise SourceError(f"expected Parquet files with records, as of audit --follow, found none in {folder}")
    partitions = tuple(PreservedPartition(number, files, counts[number]) for number in sorted(counts))
    return Source(str(folder), partitions, unverified=WITHOUT_CHECKSUMS, sizes_per_second=RECORDS_PER_SECOND)


def _committed_files(folder: Path) -> Iterator[str]:
    """Yield the names of files of finished batches: ``N.compact`` has those of batches up to N, ``N`` those of one."""
    logs = {path.name: path for path in (folder / SINK_LOG).glob("[0-9]*") if "." not in path.stem}
    compact = max(
        (int(path.stem) for path in logs.values() if path.suffix == ".compact" and path.stem.isdecimal()), default=-1
    )
    later = sorted(int(name) for name in logs if name.isdecimal() and int(name) > compact)
    names = [f"{compact}.compact"] if compact >= 0 else []
    if later != [*range(compact + 1, compact + 1 + len(later))]:
        raise SourceError(f"expected the files of all batches after {compact} in {folder / SINK_LOG}, got {later}")
    for name in (*names, *map(str, later)):
        for line in _text_of(logs[name]).splitlines()[1:]:  # the first one is the version
            try:
                yield Path(urlsplit(parse_json(line)["path"]).path).name
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise SourceError(f"{logs[name]}: expected the name of a file in each line; {error}") from None


def _text_of(log: Path) -> str:
    try:
        return read_text(log)
    except (OSError, InvalidInput) as error:
        raise SourceError(f"{log} cannot be read: {error}") from None


def _batches(files: tuple[Path, ...], columns: tuple[str, ...], partition: int | None = None) -> Iterator[Any]:
    """Yield batches of columns, without row groups that cannot have a partition."""
    for file in files:
        try:
            with open_parquet(file) as opened:
                _require_columns(file, opened.schema_arrow)
                for group in range(opened.num_row_groups):
                    if partition is None or _may_have(opened.metadata.row_group(group), partition):
                        for batch in opened.iter_batches(row_groups=[group], columns=list(columns)):
                            _require_numbers(file, batch)
                            yield batch
        except SourceError:
            raise
        except (OSError, ValueError) as error:
            raise SourceError(f"{file} cannot be read: {error}") from None


def _require_columns(file: Path, schema: Any) -> None:
    from pyarrow import types

    for name in _RECORD_COLUMNS:
        expected, is_type = ("binary", types.is_binary) if name in {"key", "value"} else ("integer", types.is_integer)
        if name not in schema.names:
            raise SourceError(
                f"{file}: expected the columns {', '.join(_RECORD_COLUMNS)}, got {', '.join(schema.names)}"
            )
        if not is_type(schema.field(name).type):
            raise SourceError(f"{file}: expected {expected} in the column {name}, got {schema.field(name).type}")


def _require_numbers(file: Path, batch: Any) -> None:
    """Refuse numbers that no record has; a timestamp may be any, as in segments."""
    import pyarrow.compute as pc

    for name in _NUMBERS.keys() & {*batch.schema.names} if batch.num_rows else ():
        column, (least, most) = batch.column(name), _NUMBERS[name]
        bounds = pc.min_max(column).as_py()
        if column.null_count or not least <= bounds["min"] <= bounds["max"] <= most:
            got = "null" if column.null_count else f"{bounds['min']} to {bounds['max']}"
            raise SourceError(f"{file}: expected {least} to {most} in the column {name}, got {got}")


def _may_have(group: Any, partition: int) -> bool:
    """Whether the statistics of a row group allow a partition."""
    columns = map(group.column, range(group.num_columns))
    statistics = next(column.statistics for column in columns if column.path_in_schema == "partition")
    return statistics is None or not statistics.has_min_max or bool(statistics.min <= partition <= statistics.max)
