"""Fixed bugs of Kafka Streams and of the clients that it runs: the rows of ``known_bugs.toml``.

A bug with ``applies_to`` makes a hazard of its own; another one names the rows that have it.
Sources: Kafka's issues, as numbered; their fix versions, and the release notes of the releases named.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from importlib.resources import files
from typing import Final, TypedDict, Unpack

from attrs import frozen

from streams_assignor.upgrade.hazards._application import version_number
from streams_assignor.upgrade.hazards._conditions import (
    EVERYWHERE,
    PRODUCER,
    Always,
    Ask,
    Brokers,
    Condition,
    Observes,
    RunsOnJavaBefore,
    Sets,
    Uses,
)
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._remedy import YOURS, Remedy, RemedyKind, edit
from streams_assignor.upgrade.hazards._usual_conditions import (
    BUILT_WITH_PROPERTIES,
    CACHE_IS_OFF,
    EXACTLY_ONCE,
    EXACTLY_ONCE_V2,
    FOREIGN_KEY_JOINS,
    GLOBAL_TABLES,
    IDEMPOTENCE_IS_OFF,
    ON_DISK,
    OPTIMIZED,
    OUTER_JOINS,
    PATTERN_SOURCES,
    PUNCTUATORS,
    REPARTITION_TOPICS,
    SASL,
    SCALA,
    SEVERAL_INPUTS,
    SEVERAL_THREADS,
    SOURCE_TOPICS_MISSING,
    SOURCES,
    STANDBYS,
    STATIC_MEMBERS,
    STORES,
    STREAMS_PROTOCOL,
    SUPPRESS,
    TABLES,
    WINDOWED_STORES,
    setting,
)


@frozen(kw_only=True)
class KnownBug:
    """One bug, and the releases that have it."""

    issue: str
    affected: ReleaseRange
    symptom: str
    applies_to: str = ""
    """The applications that meet it in a release that has it; empty if it makes no hazard of its own."""
    when: Condition | None = None
    """The condition in files that it concerns an application, or the place to look at."""
    is_certain: bool = False
    about: HazardSubject = HazardSubject.CODE
    severity: Severity = Severity.STOPS
    new_only: bool = False
    """It has nothing to do with upgrades, so only one from a release without it names it."""
    remedy: str = ""
    """Another remedy than a release with the fix."""
    edit: str = ""
    """The key that this remedy changes."""
    rows: Sequence[str] = ()
    """The hazards and rules that have it besides its own hazard."""

    def hazards(self) -> Iterator[Hazard]:
        """Yield the row of an upgrade to a release that has the bug."""
        if self.when:
            yield Hazard(
                name=self.issue.lower(),
                about=self.about,
                severity=self.severity,
                targets=self.affected,
                applies_to=self.applies_to,
                when=self.when,
                is_certain=self.is_certain,
                symptom=self.symptom,
                remedy=" or ".join(filter(None, (self.remedy, f"take {_fixed_in(self.affected)}"))),
                remedies=(edit(self.edit, YOURS),) if self.edit else (Remedy(RemedyKind.RELEASE),),
                source=self.issue,
                new_only=self.new_only,
            )


def _fixed_in(affected: ReleaseRange) -> str:
    """Name the releases that have the fix.

    >>> _fixed_in(ReleaseRange((3, 3), (3, 7), ((3, 5, 2), (3, 6, 1))))
    '3.5.2, 3.6.1, 3.7 or later'
    """
    return f"{', '.join('.'.join(map(str, number)) for number in (*affected.backports, affected.before))} or later"


def _is_of_windows(value: str) -> bool:
    return re.match(r"[A-Za-z]:", value) is not None


def _has_small_letters(value: str) -> bool:
    return value != value.upper()


_BYTE_BUFFER_SERDE: Final = "org.apache.kafka.common.serialization.Serdes$ByteBufferSerde"
_EXTRACTOR: Final = Uses("timestamp-extractor", "TimestampExtractor") | setting("default.timestamp.extractor")
_DESERIALIZATION: Final = (
    setting("default.deserialization.exception.handler")
    | setting("deserialization.exception.handler")
    | Uses("deserialization-exception-handler", "DeserializationExceptionHandler")
)

_CONDITIONS: Final[Mapping[str, Condition]] = {
    "acks": setting("acks", prefixes=PRODUCER),
    "application.server": setting("application.server"),
    "batch.size=0": setting("batch.size", "0", prefixes=PRODUCER),
    "brokers before 2.3": Brokers(before=(2, 3)),
    "brokers before 2.4": Brokers(before=(2, 4)),
    "brokers of 3.0 to 3.3.1": Brokers((3, 0), (3, 3, 2)),
    "built with properties": BUILT_WITH_PROPERTIES,
    "cache is off": CACHE_IS_OFF,
    "every member": Always("every member"),
    "exactly once": EXACTLY_ONCE,
    "exactly once v2": EXACTLY_ONCE_V2,
    "foreign key joins": FOREIGN_KEY_JOINS,
    "global tables": GLOBAL_TABLES,
    "handler of uncaught exceptions": Uses("new-uncaught-exception-handler", "StreamsUncaughtExceptionHandler"),
    "handlers of exceptions": _DESERIALIZATION
    | setting("processing.exception.handler")
    | Uses("processing-exception-handler", "ProcessingExceptionHandler"),
    "idempotent producers": EXACTLY_ONCE | ~IDEMPOTENCE_IS_OFF,
    "Java before 17": RunsOnJavaBefore(17),
    "Kerberos": SASL
    & (setting("sasl.mechanism", "GSSAPI", prefixes=EVERYWHERE) | ~setting("sasl.mechanism", prefixes=EVERYWHERE)),
    "max.in.flight": setting("max.in.flight.requests.per.connection", prefixes=PRODUCER),
    "metrics libraries": Observes(
        r"micrometer-(?:core|registry-.*)", "which metrics your dashboards and alerts have, and what takes them"
    ),
    "metrics are not pushed": setting("enable.metrics.push", "false", prefixes=EVERYWHERE),
    "no permissions": Sets("state.dir", fits=_is_of_windows, what="to a path of Windows")
    | Ask("which file system has your state.dir"),
    "on disk": ON_DISK,
    "optimized": OPTIMIZED,
    "outer joins": OUTER_JOINS,
    "pattern sources": PATTERN_SOURCES,
    "punctuators": PUNCTUATORS,
    "repartition topics": REPARTITION_TOPICS,
    "replaced threads": Uses("threads-changed", "KafkaStreams#addStreamThread")
    | (Uses("new-uncaught-exception-handler", "StreamsUncaughtExceptionHandler") & Ask("whether it replaces threads")),
    "scala": SCALA,
    "schema registry": Observes(
        r"kafka-streams-(?:avro|protobuf|json-schema)-serde|kafka-(?:avro|protobuf|json-schema)-serializer|"
        r"apicurio-registry-.*serdes?.*|.*avro4k.*serializer.*",
        "whether serdes use a schema registry",
        with_agents=False,
    )
    | setting("schema.registry.url", prefixes=EVERYWHERE),
    "security.protocol in small letters": Sets(
        "security.protocol", prefixes=EVERYWHERE, fits=_has_small_letters, what="in small letters"
    ),
    "several inputs": SEVERAL_INPUTS,
    "several threads": SEVERAL_THREADS,
    "skipped records": _DESERIALIZATION | _EXTRACTOR,
    "source topics are missing": SOURCE_TOPICS_MISSING,
    "sources": SOURCES,
    "standbys": STANDBYS,
    "static members": STATIC_MEMBERS,
    "stores": STORES,
    "stores or global tables": STORES | GLOBAL_TABLES,
    "streams protocol": STREAMS_PROTOCOL,
    "suppress": SUPPRESS,
    "tables": TABLES,
    "timestamp extractor": _EXTRACTOR,
    "tracing": Observes(
        "(?:brave|opentelemetry|opentracing|spring-cloud-sleuth|dd-trace|elastic-apm|newrelic|pinpoint)-.*",
        "whether an agent or a library traces members",
    ),
    "windowed stores": WINDOWED_STORES,
    "ByteBufferSerializer": Uses("byte-buffer-serializer", "ByteBufferSerializer")
    | setting("default.key.serde", _BYTE_BUFFER_SERDE)
    | setting("default.value.serde", _BYTE_BUFFER_SERDE),
    "EmitStrategy#onWindowClose": Uses("emit-on-window-close", "EmitStrategy#onWindowClose"),
    "KafkaStreams#store": Uses("queries", "KafkaStreams#store"),
    "KStream#processValues": Uses("process-values", "KStream#processValues"),
    "SessionWindows": Uses("session-windows", "SessionWindows"),
    "Stores#inMemory...": Uses("in-memory-stores", "Stores#inMemory..."),
    "joins of streams": Uses("stream-joins", "joins of streams"),
    "joins with tables": Uses("stream-table-joins", "joins with tables"),
    "range scans of stores": Uses("range-scans", "range scans of stores"),
    "windows": Uses("windows", "windows"),
}
"""The words of the table for conditions; other words are questions, which begin as questions do."""
_QUESTIONS: Final = ("whether", "which", "what", "how", "to how many")


def condition_of(text: str) -> Condition:
    """Return the condition of a text of the tables.

    >>> str(condition_of("~whether it rains"))
    "NotThat(part=Ask(what='whether it rains'))"
    """
    return reduce(operator.and_, map(_of_words, text.split(" & ")))


def _of_words(words: str) -> Condition:
    if words.startswith("~"):
        return ~_of_words(words[1:])
    return Ask(words) if words.startswith(_QUESTIONS) else _CONDITIONS[words]


def _affected(since: str, fixed: str) -> ReleaseRange:
    *backports, before = map(version_number, fixed.split())
    return ReleaseRange(version_number(since), before, tuple(backports))


class _Further(TypedDict, total=False):
    is_certain: bool
    new_only: bool
    remedy: str
    edit: str
    rows: list[str]


def _bug(
    issue: str,
    since: str,
    fixed: str,
    severity: str,
    about: str,
    applies_to: str,
    when: str,
    symptom: str,
    **further: Unpack[_Further],
) -> KnownBug:
    return KnownBug(
        issue=issue,
        affected=_affected(since, fixed),
        symptom=symptom,
        applies_to=applies_to,
        when=condition_of(when),
        about=HazardSubject(about),
        severity=Severity(severity),
        **further,
    )


def _elsewhere(issue: str, since: str, fixed: str, symptom: str, rows: list[str]) -> KnownBug:
    return KnownBug(issue=issue, affected=_affected(since, fixed), symptom=symptom, rows=rows)


_TABLE: Final = tomllib.loads(
    files("streams_assignor.upgrade.hazards").joinpath("known_bugs.toml").read_text(encoding="utf-8")
)
KNOWN_BUGS: Final = (
    *(_elsewhere(*row) for row in _TABLE["elsewhere"]),
    *(_bug(*row[:8], **further) for row in _TABLE["bugs"] for further in row[8:] or [{}]),
)
WITHOUT_ROW: Final[Mapping[str, tuple[str, ...]]] = {
    reason: tuple(issues.split()) for reason, issues in _TABLE["without-row"].items()
}
"""The other issues of the patch releases, by the reason why they need no row."""
