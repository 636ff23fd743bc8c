"""``streams-assignor audit``: the history of every group, from the records of ``__consumer_offsets``."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import click

from streams_assignor.cli._exit_status import WrongUsage, exit_unless, one_line_errors
from streams_assignor.cli._spark_options import (
    STORAGE_FORMAT,
    LocalPath,
    engine_options,
    fresh_option,
    log_to_stderr,
    resumable,
)
from streams_assignor.cli.audit._output import show
from streams_assignor.cli.params import (
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG,
    VERBOSE,
    Duration,
    cluster_settings,
    document,
    is_given,
    output_options,
)
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.groups.history.log_segment import MAX_BATCH_BYTES, MAX_TIMESTAMP
from streams_assignor.upgrade.errors import quote_input
from streams_assignor.upgrade.input_values import parse_number

if TYPE_CHECKING:
    from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic
    from streams_assignor.spark_sim.audit.job import Audit
    from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
    from streams_assignor.spark_sim.audit.sources import Source
    from streams_assignor.spark_sim.sweep.engine_choice import EngineOptions

_LAG_SECONDS: Final = 10.0
_LIVE: Final = ("confluent_kafka",)
"""The reader of brokers."""


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A point in time: ISO 8601 (UTC unless it has an offset), or milliseconds since 1970."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds since 1970."""
        if isinstance(value, int):
            return value
        try:
            if value.isdigit() and len(value) > 4:
                return parse_number(value, most=MAX_TIMESTAMP)
            moment = datetime.fromisoformat(value)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except ValueError:
            expected = "a time such as 2026-11-22T14:30, or milliseconds since 1970"
            self.fail(f"expected {expected}, got {quote_input(value)}", param, ctx)


_LOCAL_PATH: Final = LocalPath(path_type=Path)


@click.command(cls=StrictCommand)
@click.option("--segments", metavar="DIR|URI", help="Copied folders __consumer_offsets-N with segments.")
@click.option("--dump", type=_LOCAL_PATH, metavar="FILE", help="Or a dump: JSON lines, also as .gz.")
@click.option("--records", type=_LOCAL_PATH, metavar="DIR", help="Or what --follow has preserved: its --out.")
@BOOTSTRAP_SERVERS
@COMMAND_CONFIG
@VERBOSE
@click.option("--group", "groups", multiple=True, metavar="NAME", help="Only these groups; * matches any text.")
@click.option("--since", type=Moment(), help="Only what happened at this time or later (ISO 8601, UTC).")
@click.option("--until", type=Moment(), help="Only what happened at this time or earlier.")
@click.option("--out", required=True, metavar="DIR|URI", help="Where the results go, also s3://bucket/path.")
@click.option("--commits/--no-commits", default=True, show_default=True, help="Offset commits: most records.")
@click.option(
    "--session-timeout",
    type=Duration(0.001, 86_400),
    default="45s",
    show_default=True,
    metavar="DURATION",
    help="Of groups that are not classic: no record has it.",
)
@click.option(
    "--max-batch-bytes",
    type=click.IntRange(1, 1 << 30),
    default=MAX_BATCH_BYTES,
    show_default=True,
    metavar="BYTES",
    help="Skip and count batches that expand to more.",
)
@click.option("--follow", is_flag=True, help="Preserve records of brokers until Ctrl-C, on Spark.")
@click.option(
    "--interval",
    type=Duration(0.1, 86_400),
    default="60s",
    show_default=True,
    metavar="DURATION",
    help="Time between two batches of --follow.",
)
@click.option("--conform", is_flag=True, help="Status 1 if a bounce is not as simulated.")
@engine_options
@STORAGE_FORMAT
@fresh_option("audit")
@click.option("--check", is_flag=True, help="Status 1 if a group has a problem.")
@output_options("audit.json instead of the table")
@click.pass_context
def audit(
    context: click.Context,
    segments: str | None,
    dump: Path | None,
    records: Path | None,
    bootstrap_servers: str | None,
    command_config: Path | None,
    groups: tuple[str, ...],
    since: int | None,
    until: int | None,
    out: str,
    *,
    commits: bool,
    session_timeout: float,
    max_batch_bytes: int,
    engine: EngineOptions,
    storage_format: str,
    fresh: bool,
    follow: bool,
    interval: float,
    conform: bool,
    check: bool,
    output: str,
) -> None:
    """Show the history of every consumer group: rebalances and their causes.

    It reads the records that group coordinators write into __consumer_offsets, and writes the tables generations,
    members, tasks, commits and findings as Parquet, audit.json and report.html. Compaction removes history: audit, or
    copy the segments, soon after an incident. From brokers it reads up to the end offsets of the start; the user needs
    READ and DESCRIBE on the topic __consumer_offsets. Exit status 1: a part of the source is damaged or missing; the
    results have the rest. If interrupted, rerun the same command to resume.

    \b
    Examples:
      streams-assignor audit --segments /backup/broker-1 --out audit
      streams-assignor audit --bootstrap-servers localhost:9092 --out audit
      streams-assignor audit --segments s3://backup/broker-1 --out s3://results/audit
      streams-assignor audit --bootstrap-servers localhost:9092 --follow --out preserved
      streams-assignor audit --records preserved --out audit
      streams-assignor audit --segments segments --conform --master "local[4]" --out audit
      streams-assignor audit --segments segments --group "billing-*" --since 2026-11-22T14:00 --out audit
      streams-assignor audit --segments segments --no-commits --json --out audit
    """  # noqa: D301 - click reads the backspace character
    from streams_assignor.spark_sim.audit.job import is_read_by_spark
    from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
    from streams_assignor.spark_sim.jobs.engine_libraries import require_engine
    from streams_assignor.spark_sim.sweep.engine_choice import EVERY_CORE, PROCESSES
    from streams_assignor.spark_sim.sweep.spark.paths import is_uri

    is_live = is_given(context, "command_config") or is_given(context, "bootstrap_servers")
    files = [path for path in (segments, dump, records) if path is not None]
    if len(files) + is_live > 1 or not (files or is_live or bootstrap_servers or command_config):
        raise WrongUsage(
            "give one source: --segments DIR, --dump FILE, --records DIR or --bootstrap-servers HOST:PORT,..."
        )
    if follow:
        if files:
            raise WrongUsage("--follow reads brokers: give --bootstrap-servers HOST:PORT,...")
        if conform:
            raise WrongUsage("--conform does not go with --follow: audit --records compares what is preserved")
        if is_uri(out):
            raise WrongUsage(f"--follow writes to a folder of this machine, got --out {out}")
        if (engine.master or "").startswith("sc://"):
            expected = f"expected a Spark master such as spark://HOST:7077, got --master {engine.master}"
            raise WrongUsage(f"{expected}: --follow does not run over Spark Connect")
        if engine.master == PROCESSES:
            raise WrongUsage(f"--follow runs on Spark: leave out --master {PROCESSES} and --processes")
        step("")
        require_engine(engine.master or EVERY_CORE, *_LIVE)
        topic = _offsets_topic(context, bootstrap_servers, command_config)
        _follow(topic, command_config, Path(out), interval, engine)
        return
    if since is not None and until is not None and since > until:
        raise WrongUsage("--since is later than --until")
    kept = AuditFilter(
        groups=groups,
        since=since,
        until=until,
        reads_commits=commits,
        max_batch_bytes=max_batch_bytes,
        assumed_session_ms=round(1000 * session_timeout),
        finds_bounces=conform,
    )
    stored = segments if segments is not None and is_read_by_spark(segments, engine) else None
    engine = engine.chosen(0, needs_spark=True) if stored else engine
    require_engine(engine.master or PROCESSES, *(() if files else _LIVE))
    step("looking at the source")
    with one_line_errors():
        source = stored or _file_source(segments, dump, records)
        source = source or _live_source(context, bootstrap_servers, command_config)
        result = _run(source, out, kept, engine, storage_format, fresh=fresh)
    step("writing what was found")
    if output == "text":
        show(result, out)
    elif output == "json":
        result.write_json(sys.stdout.write)
        click.echo()
    else:
        text = io.StringIO()
        result.write_json(text.write)
        click.echo(document(json.loads(text.getvalue()), output))
    exit_unless(result.is_complete)
    compared = result.conformance
    exit_unless(compared is None or not compared["differ"])
    exit_unless(not check or not result.groups.total("problems"))


def _file_source(segments: str | None, dump: Path | None, records: Path | None) -> Source | None:
    from streams_assignor.spark_sim.audit.sources import dump_source, preserved_source, segments_source

    if records is not None:
        return preserved_source(records)
    if segments is not None:
        return segments_source(segments)
    return None if dump is None else dump_source(dump)


def _live_source(context: click.Context, servers: str | None, command_config: Path | None) -> Source:
    from streams_assignor.spark_sim.audit.sources import live_source

    return live_source(_offsets_topic(context, servers, command_config))


def _offsets_topic(context: click.Context, servers: str | None, command_config: Path | None) -> OffsetsTopic:
    from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

    return OffsetsTopic.of(*cluster_settings(context, servers, command_config))


def _follow(topic: OffsetsTopic, command_config: Path | None, out: Path, seconds: float, engine: EngineOptions) -> None:
    with one_line_errors():
        from streams_assignor.spark_sim.audit.follow import follow, open_preserved, report_lag
        from streams_assignor.spark_sim.audit.sources.live import live_ranges
        from streams_assignor.spark_sim.sweep.engine_choice import EVERY_CORE
        from streams_assignor.spark_sim.sweep.spark.session import spark_session

        options = {"bootstrap.servers": topic.bootstrap_servers}
        options |= {} if command_config is None else {"command.config": str(command_config.absolute())}
        with ExitStack() as stack:
            stack.enter_context(open_preserved(out))
            live_ranges(topic)  # before Spark starts: what is wrong with the brokers is one line
            session = stack.enter_context(spark_session(engine.master or EVERY_CORE, log_to_stderr, engine.settings))
            stopped = stack.enter_context(_set_by_interrupt())
            with closing(follow(session, topic, options, out, seconds, stopped)) as lags:
                report_lag(lags, log_to_stderr, _LAG_SECONDS)
            log_to_stderr(f"stopped; the same command resumes, and audit --records {out} reads what is preserved")


@contextmanager
def _set_by_interrupt() -> Iterator[Event]:
    """Yield an event that Ctrl-C sets; another Ctrl-C interrupts as always.

    KeyboardInterrupt within a call of Spark would leave the connection to its JVM without an answer.
    """
    stopped, before = Event(), signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


def _run(
    source: Source | str, out: str, kept: AuditFilter, engine: EngineOptions, storage_format: str, *, fresh: bool
) -> Audit:
    """Audit a source, or the URI of segments that Spark reads."""
    from streams_assignor.formats.console import SafeConsole
    from streams_assignor.spark_sim.audit.destination import open_destination
    from streams_assignor.spark_sim.audit.job import RESULTS, chosen_engine, run_audit, stored_segments
    from streams_assignor.spark_sim.jobs.engine_libraries import require_engine
    from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES, open_engine
    from streams_assignor.spark_sim.sweep.report.progress import show_progress
    from streams_assignor.spark_sim.sweep.tables.formats import require_format

    console = SafeConsole(stderr=True, highlight=False)
    chosen = engine if isinstance(source, str) else chosen_engine(engine, source, storage_format)
    require_format(chosen.master, storage_format)
    require_engine(chosen.master or PROCESSES)
    step("")
    with (
        resumable(out),
        open_destination(out, RESULTS, fresh=fresh, storage_format=storage_format) as destination,
        open_engine(chosen, log_to_stderr, "streams-assignor audit") as opened,
        show_progress(console) as on_progress,
    ):
        how: Any = {"on_progress": on_progress, "on_step": step, "log": log_to_stderr}
        if isinstance(source, str):
            source = stored_segments(source, opened, log_to_stderr)
        return run_audit(source, destination, kept, engine=opened, **how)
