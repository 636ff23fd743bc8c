"""The engine of a Spark session: each batch is one job, whose tasks compute some units with ``mapInArrow``.

Nothing but DataFrames is used, so it also runs over Spark Connect. Results come back as rows. Those of a sweep are
appended to the table of units, in any storage and format: Spark commits a batch when its job ends, and reschedules the
tasks of a lost executor.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias, TypeVar, cast
from uuid import uuid4

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.engine import (
    NO_SETTINGS,
    Log,
    Mapper,
    Reducer,
    WorkEngine,
    WorkProgress,
    failure_reason,
)
from streams_assignor.spark_sim.jobs.table import Row
from streams_assignor.spark_sim.sweep.spark.files import (
    FileContent,
    FileUnit,
    SparkFile,
    SparkFilesError,
    files_of,
    lines_of,
    settings_for,
    settings_of,
    spooled,
    whole_files,
)
from streams_assignor.spark_sim.sweep.spark.session import (
    interrupt_without_cancelling,
    is_local,
    spark_errors,
    spark_session,
)
from streams_assignor.spark_sim.sweep.spark.tables import SHARED_OUT, Driver, SparkTables, now_ms, rows_of
from streams_assignor.spark_sim.sweep.tables.engine import SweepJob
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError
from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError
from streams_assignor.spark_sim.sweep.tables.schema import UNITS
from streams_assignor.spark_sim.sweep.worker import UnitTask, row_chunks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

U = TypeVar("U")
R = TypeVar("R")
FileMapper: TypeAlias = "Callable[[str, FileContent], Iterator[tuple[int, int, Iterable[bytes]]]]"
"""From path and content of a file to keys, places, and the bytes for them in pieces."""
ArrowFunction: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"

JOB: Final = "streams-assignor"
"""How Spark names jobs."""
_CALLS: Final = "number BIGINT, piece BINARY"
_MAPPED: Final = "key BIGINT, place BIGINT, number BIGINT, piece BINARY"
_NO_ERROR: Final = b"bytes:"
"""How bytes of a mapper begin; what begins otherwise is its error, pickled."""
_MAPPED_BYTES: Final = 1 << 20
_ROWS_PER_BATCH: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_FEW_ROWS: Final = {_ROWS_PER_BATCH: "16"}
"""For rows of up to a megabyte."""
_MORE_ROWS: Final = {_ROWS_PER_BATCH: "512"}
"""For lines of files."""
_LINES_BYTES: Final = 1 << 17
"""A row has less bytes where a batch has more rows."""
_PIECE_BYTES: Final = 1 << 24
"""A result may be larger than a row of Arrow should be."""
MAX_CONCURRENT_JOBS: Final = 8
"""Batches that run at the same time: a few more than needed, because the first are small while executors register."""
MAX_LOOKING_SHARE: Final = 0.01
"""The share of a thread's time in which it looks for other drivers."""


@contextmanager
def open_spark(
    master: str, log: Log, settings: Mapping[str, str] = NO_SETTINGS, job: str = JOB
) -> Iterator[SparkEngine]:
    """Start Spark with settings of the user, or use the active session.

    Raises:
        SparkNotStarted: Spark cannot be started, or there is no Java (``JavaNotFound``).
    """
    with spark_session(master, log, settings) as spark, on_session(spark, job) as engine:
        yield engine


@contextmanager
def on_session(spark: SparkSession, job: str = JOB) -> Iterator[SparkEngine]:
    """Use a session, whose settings and other jobs stay as they are."""
    with interrupt_without_cancelling(), ThreadPoolExecutor(MAX_CONCURRENT_JOBS) as threads:
        yield SparkEngine(spark, threads, job)


@contextmanager
def sweep_on_spark(engine: SparkEngine, out: str, storage_format: str) -> Iterator[SparkSweep]:
    """Sweep into a URI.

    Raises:
        ResultFolderError: Spark cannot read or write ``out``.
    """
    with one_line_of_spark(out):
        yield SparkSweep(engine, out, storage_format)


@contextmanager
def one_line_of_spark(out: str) -> Iterator[None]:
    """Say in one line what Spark cannot do with ``out``.

    Raises:
        ResultFolderError: Spark cannot read or write it.
    """
    try:
        yield
    except spark_errors() as error:
        raise ResultFolderError(f"Spark cannot use {out}: {failure_reason(error)}") from error


class SparkEngine(WorkEngine):
    """Computes batches as jobs of a session. They have a tag, by which they are cancelled, and a description."""

    one_task_per_batch = False

    def __init__(self, spark: SparkSession, threads: ThreadPoolExecutor, job: str = JOB) -> None:
        self.spark = spark
        self.pool = threads
        self._job = job
        self._tag = f"streams-assignor-{uuid4().hex}"
        self._cores = 0

    @property
    def shares_files(self) -> bool:  # type: ignore[override]  # of processes it is always so
        """Whether workers may write into folders of this process, as those of a local master.

        A cluster repeats the task of a worker that is lost, or only seems to be: then two would write one file.
        """
        master = self.spark.conf.get("spark.master", "") or ""
        return _context(self.spark) is not None and is_local(master) and not master.startswith("local-cluster")

    def cores(self) -> int:
        """Return the cores that are registered now; over Spark Connect those of the first time."""
        if (context := _context(self.spark)) is not None:
            return int(context.defaultParallelism)
        if not self._cores:
            from pyspark.sql.functions import count_distinct, spark_partition_id

            partitions = self.spark.range(10_000).select(spark_partition_id().alias("partition"))
            self._cores = int(partitions.agg(count_distinct("partition")).collect()[0][0])
        return self._cores

    def cancel(self) -> None:
        """Cancel the jobs of this engine and no others."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        with suppress(Exception):  # a Spark that does not answer has nothing left to cancel
            if (context := _context(self.spark)) is not None:  # its tags are those of one thread
                context.cancelJobGroup(self._tag)
            else:
                self.spark.interruptTag(self._tag)

    def frame(self, count: int, compute: ArrowFunction, schema: str, what: str) -> DataFrame:
        """Return rows that so many tasks compute of their numbers; jobs of this thread have tag and description."""
        self._describe(what)
        return self.spark.range(0, count, 1, count).mapInArrow(compute, schema)

    def _describe(self, what: str) -> None:
        self.spark.addTag(self._tag)
        if (context := _context(self.spark)) is not None:
            context.setJobGroup(self._tag, f"{self._job}: {what}")

    def caller(self, function: Callable[[U], R]) -> Callable[[Sequence[tuple[int, U]]], list[tuple[int, R]]]:
        """Return what computes a batch as a job."""
        return partial(self._call_each, function)

    def _call_each(self, function: Callable[[U], R], batch: Sequence[tuple[int, U]]) -> list[tuple[int, R]]:
        units, what = tuple(unit for _, unit in batch), f"{len(batch)} tasks"
        if with_files := {number: unit for number, unit in enumerate(units) if isinstance(unit, FileUnit)}:
            results = self._called_with_files(function, with_files, what)
        else:
            results = _unpickled(self.frame(len(batch), _calls(function, units), _CALLS, what))
        return [(place, results[number]) for number, (place, _) in enumerate(batch)]

    def _called_with_files(
        self, function: Callable[[Any], R], units: Mapping[int, FileUnit], what: str
    ) -> dict[int, R]:
        """Return the results of units whose files Spark reads, and brings to the task of their unit."""
        places = {file.path: (key, place) for key, unit in units.items() for place, file in enumerate(unit.files)}
        files = files_of([*units.values()])
        results = {}
        if files:
            mapped = self._mapped_files(partial(_for_its_unit, places), files, what)
            results = _unpickled(self._joined(mapped, len(units)).mapInArrow(_called(function, units), _CALLS))
        # Spark has nothing to read for the others.
        return {key: results[key] if key in results else function(units[key].opened(iter(()))) for key in units}

    def _mapped_files(self, mapper: FileMapper, files: Sequence[SparkFile], what: str) -> DataFrame:
        """Return what a mapper makes of files that Spark reads."""
        self._describe(what)
        sizes = {file.path: file.size for file in files}
        return lines_of(self.spark, files).mapInArrow(_mapped_by_path(mapper, sizes), _MAPPED)

    def _joined(self, mapped: DataFrame, keys: int) -> DataFrame:
        return mapped.repartition(keys, "key").sortWithinPartitions("key", "place", "number")

    def map(
        self,
        function: Callable[[U], R],
        units: Sequence[U],
        cost: Callable[[U], float],
        on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the results as every engine; Spark also reads the files of a ``FileUnit``."""
        files = files_of(units)
        with settings_of(self.spark, settings_for(files) | _MORE_ROWS if files else {}):
            yield from super().map(function, units, cost, on_progress)

    def map_reduce(
        self,
        mapper: Mapper[U],
        reducer: Reducer[R],
        units: Sequence[U],
        keys: Sequence[int],
        on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the results with their keys at the end of one job, in which Spark joins the bytes of each key.

        A ``FileUnit`` has one file.
        """
        files, count = files_of(units), len(units) + len(keys)

        def compute(_batch: object) -> dict[int, R]:
            what = f"{len(units)} tasks, joined by {len(keys)} keys"
            if files:
                placed = {file.path: place for place, unit in enumerate(units) for file in files_of([unit])}
                of_file = partial(_for_each_key, mapper, tuple(units), tuple(keys), placed)
                mapped = self._mapped_files(of_file, files, what)
            else:
                mapped = self.frame(len(units), _mapped(mapper, tuple(units), tuple(keys)), _MAPPED, what)
            reduced = _reduced(reducer, {keys[0]: len(files)})
            return _unpickled(self._joined(mapped, len(keys)).mapInArrow(reduced, _CALLS))

        settings = settings_for(files) | _MORE_ROWS if files else _FEW_ROWS
        with (
            settings_of(self.spark, settings),
            self._finished_tasks() as finished,
            closing(self.run(compute, [(1.0, None)])) as steps,
        ):
            for batches, schedule in steps:
                for results in batches:
                    yield from results.items()
                on_progress(WorkProgress(count, count if schedule.is_finished else min(finished(), count - 1), None))

    @contextmanager
    def _finished_tasks(self) -> Iterator[Callable[[], int]]:
        """Provide a function that returns how many tasks of jobs that begin meanwhile are finished."""
        if (context := _context(self.spark)) is None:
            handler: Any = _FinishedTasks()
            self.spark.registerProgressHandler(handler)
            try:
                yield lambda: handler.count
            finally:
                self.spark.removeProgressHandler(handler)
            return
        tracker = context.statusTracker()
        earlier = {*tracker.getJobIdsForGroup(self._tag)}

        def count() -> int:
            jobs = map(tracker.getJobInfo, {*tracker.getJobIdsForGroup(self._tag)} - earlier)
            stages = {stage for job in jobs if job is not None for stage in job.stageIds}
            return sum(info.numCompletedTasks for info in map(tracker.getStageInfo, stages) if info is not None)

        yield count


class _FinishedTasks:
    """Counts the finished tasks of a session of Spark Connect, which calls it."""

    count = 0

    def __call__(self, stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        """Take the stages of the operation that runs."""
        self.count = sum(stage.num_completed_tasks for stage in stages or ())


def _unpickled(frame: DataFrame) -> dict[int, Any]:
    """Return results by their numbers; an error that is one of them is raised."""
    pieces: dict[int, list[bytes]] = {}
    for row in rows_of(frame):
        pieces.setdefault(row["number"], []).append(row["piece"])
    results = {number: pickle.loads(b"".join(parts)) for number, parts in pieces.items()}
    if error := next((result for result in results.values() if isinstance(result, StreamsAssignorError)), None):
        raise error
    return results


def _mapped(mapper: Mapper[U], units: tuple[U, ...], keys: tuple[int, ...]) -> ArrowFunction:
    """Return the function of ``mapInArrow``: from numbers of units to the bytes of each key, in pieces."""

    def call(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in (number for batch in numbers for number in batch.column(0).to_pylist()):
            for key, content in _contents(mapper, units[place], keys).items():
                for number, piece in enumerate(_pieces(content, _MAPPED_BYTES)):
                    yield _row(key=key, place=place, number=number, piece=piece)

    return call


def _contents(mapper: Mapper[U], unit: U, keys: Sequence[int]) -> dict[int, bytes]:
    """Return what a mapper makes of a unit by key; its error is that of the first key."""
    try:
        return {key: _NO_ERROR + content for key, content in mapper(unit).items()}
    except StreamsAssignorError as error:
        return {keys[0]: pickle.dumps(error)}


def _mapped_by_path(mapper: FileMapper, sizes: Mapping[str, int]) -> ArrowFunction:
    """Return the function of ``mapInArrow``: from lines of files to what a mapper makes of each file."""

    def call(lines: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path, content in whole_files(lines, sizes):
            for key, place, pieces in mapper(path, content):
                for number, piece in enumerate(pieces):
                    yield _row(key=key, place=place, number=number, piece=piece)

    return call


def _for_its_unit(
    places: Mapping[str, tuple[int, int]], path: str, content: FileContent
) -> Iterator[tuple[int, int, Iterable[bytes]]]:
    """Yield the content of a file for its unit: it is the key."""
    if isinstance(content, SparkFilesError):
        yield *places[path], [pickle.dumps(content)]
    else:
        yield *places[path], chain([_NO_ERROR], iter(partial(content.read, _LINES_BYTES), b""))


def _for_each_key(
    mapper: Mapper[Any],
    units: Sequence[Any],
    keys: Sequence[int],
    places: Mapping[str, int],
    path: str,
    content: FileContent,
) -> Iterator[tuple[int, int, Iterable[bytes]]]:
    """Yield what a mapper makes of the unit of a file for each key."""
    place = places[path]
    if isinstance(content, SparkFilesError):
        contents = {keys[0]: pickle.dumps(content)}
    else:
        contents = _contents(mapper, units[place].opened(iter([content])), keys)
    for key, of_key in contents.items():
        yield key, place, _pieces(of_key, _LINES_BYTES)


def _called(function: Callable[[Any], Any], units: Mapping[int, FileUnit]) -> ArrowFunction:
    """Return the function of ``mapInArrow``: from the files of units, in order, to their results."""

    def contents(rows: Iterator[Row]) -> Iterator[BinaryIO]:
        for _, of_file in groupby(rows, itemgetter("place")):
            pieces = (row["piece"] for row in of_file)
            begin = next(pieces)
            if begin != _NO_ERROR:
                raise pickle.loads(begin)
            with spooled() as content:
                content.writelines(pieces)
                content.seek(0)
                yield cast("BinaryIO", content)

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for key, of_key in groupby(rows, itemgetter("key")):
            try:
                result = function(units[key].opened(contents(of_key)))
            except StreamsAssignorError as error:
                result = error
            for piece in _pieces(pickle.dumps(result), _PIECE_BYTES):
                yield _row(number=key, piece=piece)

    return call


def _reduced(reducer: Reducer[Any], files: Mapping[int, int]) -> ArrowFunction:
    """Return the function of ``mapInArrow``: from the bytes of keys, in order, to their results.

    Args:
        reducer: Called with each key.
        files: How many files Spark has read, by the first key, which has something of each of them.
    """

    def contents(key: int, rows: Iterator[Row]) -> Iterator[bytes]:
        count = 0
        for _, pieces in groupby(rows, itemgetter("place")):
            content = b"".join(row["piece"] for row in pieces)
            if not content.startswith(_NO_ERROR):
                raise pickle.loads(content)
            count += 1
            yield content.removeprefix(_NO_ERROR)
        if count < (expected := files.get(key, 0)):
            raise SparkFilesError(
                f"expected {expected} files with content, Spark read {count}: were they changed meanwhile?"
            )

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for key, of_key in groupby(rows, itemgetter("key")):
            try:
                result = reducer(key, contents(key, of_key))
            except StreamsAssignorError as error:
                result = error
            for piece in _pieces(pickle.dumps(result), _PIECE_BYTES):
                yield _row(number=key, piece=piece)

    return call


def _pieces(content: bytes, size: int) -> Iterator[bytes]:
    for begin in range(0, len(content), size):
        yield content[begin : begin + size]


def _row(**values: int | bytes) -> pa.RecordBatch:
    import pyarrow

    types = {int: pyarrow.int64(), bytes: pyarrow.binary()}
    columns = [pyarrow.array([value], types[type(value)]) for value in values.values()]
    return pyarrow.RecordBatch.from_arrays(columns, names=[*values])


def _calls(function: Callable[[U], Any], units: tuple[U, ...]) -> ArrowFunction:
    """Return the function of ``mapInArrow``: from numbers of units to their results, pickled, in pieces."""

    def call(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
            try:
                result = function(units[number])
            except StreamsAssignorError as error:  # as a value: Spark would repeat the task, and print the traceback
                result = error
            for piece in _pieces(pickle.dumps(result), _PIECE_BYTES):
                yield _row(number=number, piece=piece)

    return call


class SparkSweep(SweepJob):
    """A sweep on Spark: a batch is a job that appends rows to the table of units."""

    def __init__(self, engine: SparkEngine, out: str, storage_format: str) -> None:
        self.engine: SparkEngine = engine
        self.store: SparkTables = SparkTables(engine.spark, out, storage_format)
        self.compute = self._compute
        self._driver = Driver.new()
        self._creating = Lock()
        self._submitted = 0
        self._next_look = 0.0

    def _compute(self, tasks: Sequence[UnitTask]) -> list[tuple[str, str]]:
        """Compute a batch: one Spark task for each task."""
        batch, units = self._new_batch(), sum(len(task.units) for task in tasks)
        what = f"{units} units, batch {batch}"
        rows = self.engine.frame(len(tasks), _row_batches(tuple(tasks)), UNITS.ddl(), what)
        with self._creating:
            self.store.create_log()
        self.store.append(rows, batch)
        results = self.store.batch(batch)
        self._look_for_earlier_driver()
        if len(results) < units:
            raise TablesError(f"{len(results)} of {units} units of a batch are in {self.store.out}: {SHARED_OUT}")
        return results

    def _new_batch(self) -> str:
        """Name a batch. Two that are submitted in the same millisecond have different names."""
        with self._creating:
            self._submitted = max(now_ms(), self._submitted + 1)
            return self._driver.batch(self._submitted)

    def refuse_earlier_driver(self) -> None:
        """Refuse to go on beside a driver that began earlier."""
        self.store.refuse_earlier_driver(self._driver)

    def _look_for_earlier_driver(self) -> None:
        """Look now and then: all batches are listed, which takes longer with each of them."""
        began = time.monotonic()
        if began >= self._next_look:
            self.refuse_earlier_driver()
            self._next_look = time.monotonic() + (time.monotonic() - began) / MAX_LOOKING_SHARE


def _row_batches(tasks: tuple[UnitTask, ...]) -> ArrowFunction:
    """Return the function of ``mapInArrow``: from numbers of tasks to the rows of their units."""

    def compute(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        schema = UNITS.arrow()
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for rows in row_chunks(tasks[number]):
                    yield pyarrow.RecordBatch.from_pylist(rows, schema=schema)

    return compute


def _context(spark: Any) -> Any:
    """Return the context of a session; None over Spark Connect, which has none."""
    return getattr(spark, "sparkContext", None)
