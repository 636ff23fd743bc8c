"""Fixed bugs of Kafka Streams and of the clients that it runs: data loss, hangs and crashes of the release of TO.

A bug with ``applies_to`` makes a hazard of its own; another one names the rows that have it, or why it needs none.
Sources: Kafka's issues, as numbered; their fix versions, and the release notes of the releases named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.hazards._conditions import (
    EVERYWHERE,
    PRODUCER,
    Always,
    Ask,
    Brokers,
    Condition,
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
    SEVERAL_THREADS,
    SOURCES,
    STANDBYS,
    STORES,
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
    remedies: tuple[Remedy, ...] = ()
    rows: tuple[str, ...] = ()
    """The hazards and rules that have it besides its own hazard."""
    reason: str = ""
    """Why it needs no row; empty if it has one."""

    def hazards(self) -> Iterator[Hazard]:
        """Yield the row of an upgrade to a release that has the bug."""
        if self.applies_to and self.when:
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
                remedies=self.remedies or (Remedy(RemedyKind.RELEASE),),
                source=self.issue,
                new_only=self.new_only,
            )


def _fixed_in(affected: ReleaseRange) -> str:
    """Name the releases that have the fix.

    >>> _fixed_in(ReleaseRange((3, 3), (3, 7), ((3, 5, 2), (3, 6, 1))))
    '3.5.2, 3.6.1, 3.7 or later'
    """
    return f"{', '.join('.'.join(map(str, number)) for number in (*affected.backports, affected.before))} or later"


def _has_small_letters(value: str) -> bool:
    return value != value.upper()


_IN_TRANSACTIONS: Final = "whether their topics are written in transactions"
_OLD_CHECKPOINTS: Final = "whether brokers delete from changelogs what a checkpoint still points to"
_BYTE_BUFFER_SERDE: Final = "org.apache.kafka.common.serialization.Serdes$ByteBufferSerde"
_BYTE_BUFFERS: Final = setting("default.key.serde", _BYTE_BUFFER_SERDE) | setting(
    "default.value.serde", _BYTE_BUFFER_SERDE
)
_CHANGED_THREADS: Final = Uses("threads-changed", "KafkaStreams#addStreamThread") | (
    Uses("new-uncaught-exception-handler", "StreamsUncaughtExceptionHandler") & Ask("whether it replaces threads")
)

_KERBEROS: Final = SASL & (
    setting("sasl.mechanism", "GSSAPI", prefixes=EVERYWHERE) | ~setting("sasl.mechanism", prefixes=EVERYWHERE)
)

KNOWN_BUGS: Final = (
    # -- answered by the rules of version probing, by record formats or by other hazards
    KnownBug(
        issue="KAFKA-6054",
        affected=ReleaseRange((0, 10, 1), (2, 0), ((0, 10, 2, 2), (0, 11, 0, 3), (1, 0, 2), (1, 1, 1))),
        symptom="0.10.0 cannot be rolled to it",
        rows=("upgrade-from",),
    ),
    KnownBug(
        issue="KAFKA-8649",
        affected=ReleaseRange((2, 0), (2, 4), ((2, 2, 2), (2, 3, 1))),
        symptom="a leader answers with its own version, which members may not have",
        rows=("overshot-versions",),
    ),
    KnownBug(
        issue="KAFKA-13769",
        affected=ReleaseRange((2, 4), (3, 3)),
        symptom="foreign-key joins do not know the partitions of their results",
        rows=("foreign-key-joins",),
    ),
    KnownBug(
        issue="KAFKA-14646",
        affected=ReleaseRange((3, 3), (3, 4)),
        symptom="foreign-key joins do not read what other releases write",
        rows=("foreign-key-joins", "kafka-14646-messages"),
    ),
    KnownBug(
        issue="KAFKA-16139",
        affected=ReleaseRange((3, 6), (3, 6, 2)),
        symptom="upgrade.from=3.5 is not accepted",
        rows=("upgrade-from",),
    ),
    KnownBug(
        issue="KAFKA-9335",
        affected=ReleaseRange((2, 4), (2, 4, 1)),
        symptom="repartition topics that feed each other get a wrong number of partitions",
        rows=("release-bugs",),
    ),
    KnownBug(
        issue="KAFKA-10455",
        affected=ReleaseRange((2, 6), (2, 6, 1)),
        symptom="a follow-up rebalance can get lost",
        rows=("release-notes",),
    ),
    KnownBug(
        issue="KAFKA-10716",
        affected=ReleaseRange(before=(2, 8), backports=((2, 6, 2), (2, 7, 1))),
        symptom="a restarted process has another id, so its tasks can move",
        rows=("kept-process-ids",),
    ),
    KnownBug(
        issue="KAFKA-10173",
        affected=ReleaseRange((2, 3), (2, 5, 1)),
        symptom="changelogs of suppress are misread",
        rows=("suppress-changelog-of-2.3-misread", "suppress-changelog-between-2.3-and-2.4"),
    ),
    KnownBug(
        issue="KAFKA-10336",
        affected=ReleaseRange((2, 1), (2, 5, 1)),
        symptom="changelogs of suppress of newer releases are not read",
        rows=(
            "suppress-changelog-of-2.5.1",
            "suppress-changelog-rolling-to-2.5.1",
            "suppress-changelog-of-2.3",
        ),
    ),
    KnownBug(
        issue="KAFKA-15353",
        affected=ReleaseRange((3, 5), (3, 5, 2)),
        symptom="brokers lose in-sync replicas while they are bounced",
        rows=("broker-notes",),
    ),
    KnownBug(
        issue="KAFKA-19668",
        affected=ReleaseRange((3, 3), (4, 2), ((4, 0, 1), (4, 1, 1))),
        symptom="processValues is not treated as an operator that changes values",
        rows=("process-values-rewritten",),
    ),
    KnownBug(
        issue="KAFKA-19748",
        affected=ReleaseRange((4, 1), (4, 1, 1)),
        symptom="memory is not freed by range scans",
        rows=("leak-of-4.1.0",),
    ),
    KnownBug(
        issue="KAFKA-20046",
        affected=ReleaseRange((4, 0), (4, 1, 2), ((4, 0, 2),)),
        about=HazardSubject.JAVA,
        new_only=True,
        applies_to="kafka-streams-scala on Java before 17",
        when=SCALA & RunsOnJavaBefore(17),
        symptom="UnsupportedClassVersionError: its classes are of Java 17, those of kafka-streams of Java 11",
        remedy="run members on Java 17",
    ),
    KnownBug(
        issue="KAFKA-20254",
        affected=ReleaseRange((4, 2), (4, 2, 1)),
        symptom="brokers cannot load a classic group that became a streams group",
        rows=("streams-groups-of-4.2.0",),
    ),
    KnownBug(
        issue="KAFKA-20616",
        affected=ReleaseRange((4, 3), (4, 3, 1)),
        symptom="memory outside the heap is not freed when tasks are closed",
        rows=("leak-of-4.3.0",),
    ),
    # -- bugs of the release to which an upgrade leads
    KnownBug(
        issue="KAFKA-6269",
        affected=ReleaseRange((1, 0), (1, 0, 1)),
        about=HazardSubject.STORES,
        applies_to="tables read from topics",
        when=TABLES,
        symptom="a member fails while it restores such a table after a rebalance",
    ),
    KnownBug(
        issue="KAFKA-6782",
        affected=ReleaseRange((0, 11), (2, 0), ((1, 0, 2), (1, 1, 1))),
        about=HazardSubject.STORES,
        applies_to="global tables of topics that are written in transactions",
        when=GLOBAL_TABLES & Ask(_IN_TRANSACTIONS),
        symptom="members do not start: the restoration waits for an offset that never comes",
    ),
    KnownBug(
        issue="KAFKA-7021",
        affected=ReleaseRange((1, 0), (2, 0), ((1, 0, 2), (1, 1, 1))),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="tables read from topics",
        when=TABLES,
        symptom="their checkpoints have offsets of another topic, so a restored table can lack rows",
    ),
    KnownBug(
        issue="KAFKA-7190",
        affected=ReleaseRange((1, 1), (2, 3)),
        about=HazardSubject.CHANGELOGS,
        applies_to="repartition topics with little traffic, and brokers before 2.4",
        when=REPARTITION_TOPICS & Brokers(before=(2, 4)),
        symptom="records are deleted so early that brokers forget their producer: UnknownProducerIdException, with "
        "which threads of exactly-once processing end",
    ),
    KnownBug(
        issue="KAFKA-7192",
        affected=ReleaseRange((0, 11), (2, 1), ((2, 0, 1),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="exactly-once processing with stores",
        when=EXACTLY_ONCE & STORES,
        symptom="a member that was killed keeps in its stores what was not committed, so records count twice",
    ),
    KnownBug(
        issue="KAFKA-7443",
        affected=ReleaseRange((1, 1), (2, 2), ((2, 1, 1),)),
        about=HazardSubject.STORES,
        applies_to="stores whose checkpoint is older than what their changelog still has",
        when=STORES & Ask(_OLD_CHECKPOINTS),
        symptom="a task fails with OffsetOutOfRangeException while it is restored",
    ),
    KnownBug(
        issue="KAFKA-7652",
        affected=ReleaseRange((0, 11), (2, 3)),
        severity=Severity.WAITS,
        about=HazardSubject.STORES,
        applies_to="session windows with a cache",
        when=STORES & Uses("session-windows", "SessionWindows") & ~CACHE_IS_OFF,
        symptom="a look at one key goes through the cache of all keys: members are many times slower than with 0.10.2",
    ),
    KnownBug(
        issue="KAFKA-7671",
        affected=ReleaseRange((2, 0), (2, 2), ((2, 1, 1),)),
        severity=Severity.LOSES,
        applies_to="a stream whose key was changed before it is joined with a global table",
        when=GLOBAL_TABLES & Ask("whether a key changes before such a join"),
        symptom="what follows the join is not repartitioned: results are wrong",
    ),
    KnownBug(
        issue="KAFKA-7672",
        affected=ReleaseRange((1, 1), (2, 2)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="stores that are restored while a group rebalances",
        when=STORES,
        symptom="a task that is suspended meanwhile counts as restored: its store lacks records",
    ),
    KnownBug(
        issue="KAFKA-7895",
        affected=ReleaseRange((2, 1), (2, 2)),
        severity=Severity.LOSES,
        applies_to="suppress() until a window closes",
        when=SUPPRESS & Ask("whether suppress() waits until windows close"),
        symptom="a window can have several final results",
    ),
    KnownBug(
        issue="KAFKA-8187",
        affected=ReleaseRange((2, 0), (2, 3), ((2, 2, 2),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="standbys, and several threads in a process",
        when=STANDBYS & SEVERAL_THREADS,
        symptom="a store can lack records after its task has moved several times",
    ),
    KnownBug(
        issue="KAFKA-8199",
        affected=ReleaseRange((2, 1), (2, 3)),
        applies_to="groupBy() or a join after suppress()",
        when=SUPPRESS & Ask("what comes after suppress()"),
        symptom="members fail with ClassCastException",
    ),
    KnownBug(
        issue="KAFKA-8204",
        affected=ReleaseRange((2, 1), (2, 3), ((2, 2, 1),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="suppress() after a cached store",
        when=SUPPRESS & ~CACHE_IS_OFF,
        symptom="stores are flushed in the wrong order: results of the last moment before a failure are lost",
    ),
    KnownBug(
        issue="KAFKA-8289",
        affected=ReleaseRange((2, 1), (2, 3), ((2, 2, 1),)),
        severity=Severity.LOSES,
        applies_to="suppress() of session windows",
        when=SUPPRESS & Uses("session-windows", "SessionWindows"),
        symptom="windows close too late or too early: final results are missing or wrong",
    ),
    KnownBug(
        issue="KAFKA-8323",
        affected=ReleaseRange((2, 2), (2, 2, 1)),
        about=HazardSubject.MEMORY,
        applies_to="stores on disk (RocksDB)",
        when=ON_DISK,
        symptom="memory outside the heap grows with every store that is closed",
    ),
    KnownBug(
        issue="KAFKA-8602",
        affected=ReleaseRange((2, 0), (2, 4), ((2, 2, 2), (2, 3, 1))),
        about=HazardSubject.MEMBERSHIP,
        applies_to="standbys, and a sub-topology whose stores have no changelog",
        when=STANDBYS & Ask("whether a sub-topology has stores, and none of them a changelog"),
        symptom="a thread with such a standby ends: its restore consumer is subscribed to nothing",
    ),
    KnownBug(
        issue="KAFKA-8615",
        affected=ReleaseRange((2, 1), (2, 4), ((2, 2, 2), (2, 3, 1))),
        severity=Severity.LOSES,
        applies_to="a TimestampExtractor that uses the time of the partition",
        when=Uses("timestamp-extractor", "TimestampExtractor") | setting("default.timestamp.extractor"),
        symptom="it gets a wrong time of the partition",
    ),
    KnownBug(
        issue="KAFKA-8637",
        affected=ReleaseRange((2, 1), (2, 4), ((2, 2, 2), (2, 3, 1))),
        about=HazardSubject.MEMORY,
        applies_to="stores on disk (RocksDB)",
        when=ON_DISK,
        symptom="memory outside the heap grows with every batch of writes",
    ),
    KnownBug(
        issue="KAFKA-9073",
        affected=ReleaseRange((2, 3), (2, 4)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="members whose thread loses a partition while it resets its offset",
        when=Ask("whether threads end with this exception"),
        symptom='the thread ends with IllegalStateException "No current assignment for partition", and the member '
        "stays REBALANCING",
    ),
    KnownBug(
        issue="KAFKA-9298",
        affected=ReleaseRange((2, 1), (2, 6), ((2, 5, 1),)),
        applies_to="a mapped stream that is used by several joins",
        when=REPARTITION_TOPICS & Uses("stream-joins", "joins of streams") & Ask("whether two joins have one stream"),
        symptom="members do not start: TopologyException, because two repartition topics have one name",
    ),
    KnownBug(
        issue="KAFKA-9500",
        affected=ReleaseRange((2, 4), (2, 4, 1)),
        applies_to="foreign-key joins",
        when=FOREIGN_KEY_JOINS & Ask("whether a further operator has the result"),
        symptom="members do not start: TopologyException, if the result is used by a further operator",
    ),
    KnownBug(
        issue="KAFKA-9517",
        affected=ReleaseRange((2, 4), (2, 4, 1)),
        applies_to="foreign-key joins that are not materialized",
        when=FOREIGN_KEY_JOINS & Ask("whether the result is materialized"),
        symptom="further joins of their result fail with NullPointerException",
    ),
    KnownBug(
        issue="KAFKA-9603",
        affected=ReleaseRange((2, 3), (2, 6), ((2, 5, 1),)),
        about=HazardSubject.MEMORY,
        applies_to="standbys of windowed stores",
        when=STANDBYS & WINDOWED_STORES,
        symptom="the number of open files grows until no more can be opened",
    ),
    KnownBug(
        issue="KAFKA-9739",
        affected=ReleaseRange((2, 1), (2, 6)),
        applies_to="topology.optimization=all passed to StreamsBuilder#build",
        when=OPTIMIZED & BUILT_WITH_PROPERTIES & REPARTITION_TOPICS,
        symptom='members do not start: StreamsException "Found a null keyChangingChild node", for some merges '
        "after a new key",
    ),
    KnownBug(
        issue="KAFKA-9891",
        affected=ReleaseRange((2, 3), (2, 6), ((2, 5, 1),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="exactly-once processing with standbys",
        when=EXACTLY_ONCE & STANDBYS,
        symptom="a store can have what was not committed after its task has moved",
    ),
    KnownBug(
        issue="KAFKA-10049",
        affected=ReleaseRange((2, 4, 1), (2, 6), ((2, 5, 1),)),
        applies_to="foreign-key joins with default serdes",
        when=FOREIGN_KEY_JOINS & Ask("whether the joins have serdes"),
        symptom="members fail with ClassCastException or StreamsException when a key is serialized",
    ),
    KnownBug(
        issue="KAFKA-10134",
        affected=ReleaseRange((2, 5), (2, 7), ((2, 6, 1),)),
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        applies_to="all members",
        when=Always("every member"),
        symptom="while a group rebalances, a consumer polls without a pause: it takes a whole processor, and can miss "
        "its heartbeats",
    ),
    KnownBug(
        issue="KAFKA-10362",
        affected=ReleaseRange((2, 6), (2, 7), ((2, 6, 2),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="exactly-once processing with stores",
        when=EXACTLY_ONCE & STORES,
        symptom="a checkpoint of before stays when a task is resumed, so that a killed member trusts what was not "
        "committed",
    ),
    KnownBug(
        issue="KAFKA-10515",
        affected=ReleaseRange((2, 4), (2, 7), ((2, 6, 1),)),
        applies_to="foreign-key joins with default serdes, and several members",
        when=FOREIGN_KEY_JOINS & Ask("whether the joins have serdes"),
        symptom="a member that has no task of the first part of the join fails with NullPointerException",
    ),
    KnownBug(
        issue="KAFKA-10651",
        affected=ReleaseRange((2, 6), (2, 6, 1)),
        severity=Severity.WAITS,
        about=HazardSubject.MEMBERSHIP,
        applies_to="stateful tasks whose restoration has not begun when a group rebalances",
        when=STORES,
        symptom="members report such tasks without their offsets: probing rebalances can follow without end",
    ),
    KnownBug(
        issue="KAFKA-9127",
        affected=ReleaseRange((2, 5), (2, 5, 1)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="topologies with global tables only",
        when=GLOBAL_TABLES & ~SOURCES,
        symptom="all threads end with IllegalStateException, as they subscribe to nothing: the member is in ERROR",
        rows=("topology-without-sources",),
    ),
    KnownBug(
        issue="KAFKA-10664",
        affected=ReleaseRange((2, 6), (2, 6, 1)),
        about=HazardSubject.STORES,
        applies_to="stores whose changelogs are deleted from or truncated",
        when=STORES & Ask(_OLD_CHECKPOINTS),
        symptom="a task is restored again and again: OffsetOutOfRangeException without end",
    ),
    KnownBug(
        issue="KAFKA-10689",
        affected=ReleaseRange((2, 4), (2, 8), ((2, 6, 2), (2, 7, 1))),
        about=HazardSubject.MEMBERSHIP,
        applies_to="foreign-key joins of windowed tables",
        when=FOREIGN_KEY_JOINS & Uses("windows", "windows"),
        symptom="the leader never ends its search for the number of partitions: the group stays REBALANCING",
    ),
    KnownBug(
        issue="KAFKA-10758",
        affected=ReleaseRange((2, 6), (2, 6, 1)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="sources with a pattern, in a topology of several sub-topologies",
        when=PATTERN_SOURCES,
        symptom="a new topic that fits ends all threads: IllegalStateException, as 'source nodes did not match'",
    ),
    KnownBug(
        issue="KAFKA-12190",
        affected=ReleaseRange((2, 6, 1), (2, 8), ((2, 6, 2), (2, 7, 1))),
        about=HazardSubject.STORES,
        applies_to="stores on Windows, or on other file systems without POSIX permissions",
        when=ON_DISK & Ask("which file system has your state.dir"),
        symptom="members do not start: UnsupportedOperationException, because permissions are set",
    ),
    KnownBug(
        issue="KAFKA-12323",
        affected=ReleaseRange((2, 7), (2, 7, 1)),
        severity=Severity.LOSES,
        applies_to="records forwarded by punctuators",
        when=PUNCTUATORS & Ask("whether punctuators forward records"),
        symptom="they have the timestamp 0, so windows and retention drop them",
    ),
    KnownBug(
        issue="KAFKA-12508",
        affected=ReleaseRange((2, 6), (2, 8), ((2, 6, 2), (2, 7, 1))),
        severity=Severity.LOSES,
        applies_to="tables read from topics",
        when=TABLES,
        symptom="an update whose value is the same is not forwarded, also when it is read again after a failure: "
        "results are missing",
    ),
    KnownBug(
        issue="KAFKA-12718",
        affected=ReleaseRange((2, 1), (3, 0)),
        severity=Severity.LOSES,
        applies_to="session windows with records out of order",
        when=STORES & Uses("session-windows", "SessionWindows") & Ask("whether records come out of order"),
        symptom="sessions close before gap and grace period have passed: late records are dropped",
    ),
    KnownBug(
        issue="KAFKA-12951",
        affected=ReleaseRange((2, 7), (3, 0), ((2, 7, 2), (2, 8, 1))),
        about=HazardSubject.STORES,
        applies_to="global tables of topics that are written in transactions",
        when=GLOBAL_TABLES & Ask(_IN_TRANSACTIONS),
        symptom="members do not start: the restoration does not end at the marker of a transaction",
    ),
    KnownBug(
        issue="KAFKA-13096",
        affected=ReleaseRange((2, 8), (3, 0), ((2, 8, 1),)),
        severity=Severity.CHANGES,
        applies_to="queries, and threads that are added or replaced",
        when=_CHANGED_THREADS & Uses("queries", "KafkaStreams#store"),
        symptom="stores of the new thread are not found",
    ),
    KnownBug(
        issue="KAFKA-13249",
        affected=ReleaseRange((2, 7), (3, 0), ((2, 8, 1),)),
        severity=Severity.WAITS,
        about=HazardSubject.STORES,
        applies_to="exactly-once processing with stores",
        when=EXACTLY_ONCE & STORES,
        symptom="a member that is closed does not write its last offsets: the end of its stores is restored again",
    ),
    KnownBug(
        issue="KAFKA-13600",
        affected=ReleaseRange((2, 6), (3, 2)),
        severity=Severity.WAITS,
        about=HazardSubject.MEMBERSHIP,
        applies_to="stateful tasks, when no process has caught up",
        when=STORES & Ask("whether processes have caught up when tasks move"),
        symptom="tasks move to processes that have nothing of them, and are restored from the beginning",
        rows=("tasks-leave-new-members", "tasks-go-back-too-early", "tasks-dealt-without-lags"),
    ),
    KnownBug(
        issue="KAFKA-14054",
        affected=ReleaseRange((3, 0), (3, 5), ((3, 4, 1),)),
        symptom="a TimeoutException of a commit ends a thread as an IllegalStateException",
        rows=("kafka-14128",),
    ),
    KnownBug(
        issue="KAFKA-14128",
        affected=ReleaseRange((2, 8), (3, 5), ((3, 4, 1),)),
        about=HazardSubject.BROKERS,
        applies_to="brokers that answer late while a group rebalances",
        when=Ask("whether brokers answer late"),
        symptom="a thread ends with TimeoutException while it looks at internal topics",
    ),
    KnownBug(
        issue="KAFKA-14172",
        affected=ReleaseRange((2, 6), (3, 5), ((3, 4, 1),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="standbys with cached stores",
        when=STANDBYS & ~CACHE_IS_OFF & STORES,
        symptom="a standby that becomes active again reads its old cache: results are wrong",
    ),
    KnownBug(
        issue="KAFKA-14278",
        affected=ReleaseRange((2, 8), (3, 6)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="exactly-once processing",
        when=EXACTLY_ONCE,
        symptom="a producer that a broker has fenced can report a fatal error (InvalidProducerEpochException, "
        "InvalidTxnStateException): its thread ends instead of giving up its tasks",
    ),
    KnownBug(
        issue="KAFKA-14294",
        affected=ReleaseRange((2, 6), (3, 4)),
        applies_to="exactly-once processing with punctuators that write while no records come",
        when=EXACTLY_ONCE & PUNCTUATORS,
        symptom="their transaction is not committed until it times out, and the producer is fenced",
    ),
    KnownBug(
        issue="KAFKA-14382",
        affected=ReleaseRange((3, 0), (3, 4), ((3, 3, 2),)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="groups that rebalance often",
        when=Ask("how often your group rebalances"),
        symptom="a thread that processes during a rebalance can miss it: its tasks have no owner until the next one",
    ),
    KnownBug(
        issue="KAFKA-14388",
        affected=ReleaseRange((3, 3), (3, 3, 2)),
        applies_to="processValues() with stores",
        when=Uses("process-values", "KStream#processValues") & Ask("whether the processors have stores"),
        symptom="a processor cannot get its store: NullPointerException",
    ),
    KnownBug(
        issue="KAFKA-14862",
        affected=ReleaseRange((3, 1), (3, 5), ((3, 4, 1),)),
        severity=Severity.LOSES,
        applies_to="left and outer joins of streams with several partitions",
        when=OUTER_JOINS,
        symptom="tasks of one member share a clock: results without a partner are missing",
    ),
    KnownBug(
        issue="KAFKA-14864",
        affected=ReleaseRange((3, 3), (3, 5), ((3, 4, 1),)),
        about=HazardSubject.MEMORY,
        applies_to="windows that emit when they close",
        when=Uses("emit-on-window-close", "EmitStrategy#onWindowClose"),
        symptom="memory outside the heap grows with every emit",
    ),
    KnownBug(
        issue="KAFKA-15053",
        affected=ReleaseRange((3, 3), (3, 6), ((3, 5, 1),)),
        about=HazardSubject.CONFIGURATION,
        applies_to="security.protocol in small letters",
        when=Sets("security.protocol", prefixes=EVERYWHERE, fits=_has_small_letters, what="in small letters"),
        is_certain=True,
        symptom="members do not start: ConfigException",
        remedy="write it in capital letters",
        remedies=(edit("security.protocol", YOURS),),
    ),
    KnownBug(
        issue="KAFKA-15417",
        affected=ReleaseRange((3, 2), (3, 8)),
        severity=Severity.LOSES,
        applies_to="left and outer joins of streams with unequal windows",
        when=OUTER_JOINS & Ask("whether windows have an unequal before and after"),
        symptom="results without a partner are missing or late",
    ),
    KnownBug(
        issue="KAFKA-15571",
        affected=ReleaseRange((3, 5), (3, 7), ((3, 5, 2), (3, 6, 1))),
        symptom="StateRestoreListener#onRestoreSuspended is not called",
        reason="a callback for monitoring",
    ),
    KnownBug(
        issue="KAFKA-15602",
        affected=ReleaseRange((3, 4), (3, 7), ((3, 5, 2), (3, 6, 1))),
        severity=Severity.LOSES,
        applies_to="ByteBufferSerializer",
        when=Uses("byte-buffer-serializer", "ByteBufferSerializer") | _BYTE_BUFFERS,
        symptom="it writes other bytes than before for a buffer whose position is not 0: records are corrupt",
    ),
    KnownBug(
        issue="KAFKA-16017",
        affected=ReleaseRange((2, 6), (3, 7), ((3, 6, 2),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="exactly-once processing with stores",
        when=EXACTLY_ONCE & STORES,
        symptom="a task that is closed while it is restored after TaskCorruptedException checkpoints the end of its "
        "changelogs: its stores lack records from then on",
    ),
    KnownBug(
        issue="KAFKA-16025",
        affected=ReleaseRange((3, 4), (3, 8), ((3, 7, 1),)),
        about=HazardSubject.STORES,
        applies_to="stores on disk (RocksDB)",
        when=ON_DISK,
        symptom="a rebalance during the clean-up of a state directory can leave its lock: the task never starts there",
    ),
    KnownBug(
        issue="KAFKA-16055",
        affected=ReleaseRange((0, 10, 1), (3, 8)),
        symptom="stores that are queried while tasks move can be missed",
        reason="queries of one moment; the next one finds them",
    ),
    KnownBug(
        issue="KAFKA-16394",
        affected=ReleaseRange((3, 7), (4, 1), ((3, 9, 1), (4, 0, 1))),
        severity=Severity.LOSES,
        applies_to="left foreign-key joins (also KAFKA-16644)",
        when=FOREIGN_KEY_JOINS & Ask("whether they are left joins, and what reads a null of their result"),
        symptom="a null is emitted too often: before the new result if the foreign key changes, and twice if a record "
        "is deleted",
    ),
    KnownBug(
        issue="KAFKA-16407",
        affected=ReleaseRange((2, 4), (4, 1), ((3, 9, 1), (4, 0, 1))),
        severity=Severity.LOSES,
        applies_to="inner foreign-key joins whose foreign key can be null",
        when=FOREIGN_KEY_JOINS & Ask("whether a foreign key changes from null, or to null"),
        symptom="a record whose foreign key was null before has no result, and one whose foreign key becomes null "
        "keeps its old result",
    ),
    KnownBug(
        issue="KAFKA-17299",
        affected=ReleaseRange((2, 1), (4, 0), ((3, 7, 2), (3, 9, 1))),
        applies_to="records that are skipped: a handler of deserialization errors that continues, or a timestamp "
        "extractor that returns a negative time",
        when=(
            setting("default.deserialization.exception.handler")
            | setting("deserialization.exception.handler")
            | Uses("deserialization-exception-handler", "DeserializationExceptionHandler")
            | setting("default.timestamp.extractor")
            | Uses("timestamp-extractor", "TimestampExtractor")
        )
        & Ask("whether records are skipped"),
        symptom="a partition that was paused at buffered.records.per.partition is never read again",
    ),
    KnownBug(
        issue="KAFKA-16699",
        affected=ReleaseRange((0, 11), (3, 8)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="exactly-once processing, and threads that write nothing for transactional.id.expiration.ms",
        when=EXACTLY_ONCE & Ask("whether a thread writes nothing for 7 days, the default of brokers"),
        symptom="the broker has forgotten the transactional id: the thread ends with InvalidPidMappingException, "
        "and does not give up its tasks",
    ),
    KnownBug(
        issue="KAFKA-17489",
        affected=ReleaseRange((3, 8), (3, 8, 1)),
        about=HazardSubject.STORES,
        applies_to="stores that fail while they are restored",
        when=STORES & Ask("whether tasks fail while they are restored"),
        symptom="such a task is assigned again as if it ran: IllegalStateException ends the thread",
    ),
    KnownBug(
        issue="KAFKA-17635",
        affected=ReleaseRange((3, 6), (3, 9, 1), ((3, 7, 2),)),
        severity=Severity.LOSES,
        about=HazardSubject.CHANGELOGS,
        applies_to="exactly-once processing with repartition topics",
        when=EXACTLY_ONCE & REPARTITION_TOPICS,
        symptom="after a producer is fenced, records that are not committed yet are deleted from repartition topics",
    ),
    KnownBug(
        issue="KAFKA-18326",
        affected=ReleaseRange((0, 10, 1), (4, 0), ((3, 9, 1),)),
        severity=Severity.LOSES,
        applies_to="range scans of cached stores with deleted rows",
        when=STORES & Uses("range-scans", "range scans of stores") & ~CACHE_IS_OFF,
        symptom="a scan can return rows that were deleted",
    ),
    KnownBug(
        issue="KAFKA-18479",
        affected=ReleaseRange((3, 6), (4, 0), ((3, 9, 1),)),
        applies_to="joins of streams with versioned tables and a grace period",
        when=STORES
        & Uses("stream-table-joins", "joins with tables")
        & Ask("whether a join has a grace period and serdes of its own"),
        symptom="the buffer takes the default serdes: ClassCastException, or ConfigException without a default",
    ),
    KnownBug(
        issue="KAFKA-18713",
        affected=ReleaseRange((2, 4), (4, 1), ((3, 9, 1), (4, 0, 1))),
        severity=Severity.LOSES,
        applies_to="left foreign-key joins",
        when=FOREIGN_KEY_JOINS & Ask("whether they are left joins, and whether foreign keys change"),
        symptom="results of the old and of the new foreign key can come in the wrong order",
    ),
    KnownBug(
        issue="KAFKA-18943",
        affected=ReleaseRange((2, 6), (4, 0), ((3, 9, 1),)),
        severity=Severity.LOSES,
        about=HazardSubject.MEMBERSHIP,
        applies_to="exactly_once_v2 or exactly_once_beta, and tasks that move",
        when=EXACTLY_ONCE_V2,
        symptom="when tasks are revoked, a transaction can be committed without the offsets of all its tasks: records "
        "are processed twice",
    ),
    KnownBug(
        issue="KAFKA-19012",
        affected=ReleaseRange((2, 8), (4, 2), ((3, 9, 2), (4, 0, 2), (4, 1, 2))),
        severity=Severity.LOSES,
        new_only=True,
        applies_to="producers whose batches expire while a broker disconnects",
        when=Ask("whether batches expire while a broker disconnects"),
        symptom="rarely, a record ends up in another topic",
    ),
    KnownBug(
        issue="KAFKA-19208",
        affected=ReleaseRange((3, 7), (4, 1), ((4, 0, 1),)),
        severity=Severity.LOSES,
        applies_to="left joins of streams with global tables",
        when=GLOBAL_TABLES
        & Uses("stream-table-joins", "joins with tables")
        & Ask("whether the key of the table can be null"),
        symptom="records for which the key of the table is null are dropped",
    ),
    KnownBug(
        issue="KAFKA-19479",
        affected=ReleaseRange((0, 11), (4, 2), ((4, 1, 1),)),
        severity=Severity.LOSES,
        new_only=True,
        applies_to="at-least-once processing, and batches that brokers refuse as too large",
        when=~EXACTLY_ONCE & Ask("whether brokers refuse batches as too large"),
        symptom="records of such a batch are lost although their offsets are committed",
    ),
    KnownBug(
        issue="KAFKA-19960",
        affected=ReleaseRange((3, 8), (4, 2), ((4, 0, 2), (4, 1, 2))),
        severity=Severity.WAITS,
        about=HazardSubject.STORES,
        applies_to="members that are closed while a group rebalances, and standbys",
        when=STORES & STANDBYS,
        symptom="a task that becomes a standby is not closed: its store is restored",
    ),
    KnownBug(
        issue="KAFKA-19994",
        affected=ReleaseRange((3, 8), (4, 2), ((3, 9, 2), (4, 0, 2), (4, 1, 2))),
        about=HazardSubject.STORES,
        applies_to="tasks that meet task.timeout.ms",
        when=Ask("whether tasks meet task.timeout.ms"),
        symptom="further tasks of the thread are not closed: their directories stay locked, and no other thread can "
        "take them",
    ),
    KnownBug(
        issue="KAFKA-20398",
        affected=ReleaseRange((4, 0), (4, 3), ((4, 2, 1),)),
        about=HazardSubject.MEMORY,
        applies_to="threads that fail and are replaced",
        when=_CHANGED_THREADS,
        symptom="the heap grows with every thread, by its reporter of metrics",
    ),
    KnownBug(
        issue="KAFKA-20663",
        affected=ReleaseRange((4, 3), (4, 3, 1)),
        severity=Severity.WAITS,
        about=HazardSubject.STORES,
        applies_to="stores on disk (RocksDB) that are there at start",
        when=ON_DISK,
        symptom="they stay locked and are not closed with the member: their offsets on disk are old, and stores are "
        "restored",
    ),
    KnownBug(
        issue="KAFKA-20685",
        affected=ReleaseRange((3, 8), (4, 3), ((4, 2, 2),)),
        severity=Severity.LOSES,
        about=HazardSubject.STORES,
        applies_to="exactly-once processing with stores",
        when=EXACTLY_ONCE & STORES,
        symptom="a checkpoint of the restoration stays, so that a killed member trusts what was not committed",
    ),
    # -- bugs of the clients that Streams runs; releases with the fix by the tags that have its commit
    KnownBug(
        issue="KAFKA-6768",
        affected=ReleaseRange((0, 11), (2, 0)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="exactly-once processing",
        when=EXACTLY_ONCE,
        symptom="a producer with requests that wait can hang in close(), and so can a member that is bounced",
    ),
    KnownBug(
        issue="KAFKA-7280",
        affected=ReleaseRange((1, 1), (2, 1), ((2, 0, 1),)),
        about=HazardSubject.MEMBERSHIP,
        new_only=True,
        applies_to="all members",
        when=Always("every member"),
        symptom="rarely, the heartbeat thread of a consumer breaks the fetch session of another thread: "
        "ConcurrentModificationException ends it",
    ),
    KnownBug(
        issue="KAFKA-7890",
        affected=ReleaseRange((2, 1), (2, 1, 1)),
        about=HazardSubject.BROKERS,
        new_only=True,
        applies_to="brokers whose host names change",
        when=Ask("whether a broker keeps its id and changes its host name"),
        symptom="clients go on to connect to the old address",
    ),
    KnownBug(
        issue="KAFKA-8104",
        affected=ReleaseRange((0, 10, 1), (2, 4)),
        about=HazardSubject.MEMBERSHIP,
        applies_to="members that leave by max.poll.interval.ms while they rejoin",
        when=Ask("whether threads exceed max.poll.interval.ms"),
        symptom="the consumer loses its generation between two threads: IllegalStateException, and the thread ends "
        "instead of rejoining",
    ),
    KnownBug(
        issue="KAFKA-8950",
        affected=ReleaseRange((2, 3), (2, 3, 1)),
        about=HazardSubject.MEMBERSHIP,
        new_only=True,
        applies_to="all members",
        when=Always("every member"),
        symptom="after a broker disconnects, a consumer can stop to fetch from it for ever: a task stands still",
    ),
    KnownBug(
        issue="KAFKA-10727",
        affected=ReleaseRange(before=(2, 8), backports=((2, 6, 3), (2, 7, 2))),
        about=HazardSubject.CONFIGURATION,
        applies_to="SASL with Kerberos",
        when=_KERBEROS,
        symptom="while a ticket is renewed, a client can get an AuthenticationException, which ends its thread",
    ),
    KnownBug(
        issue="KAFKA-10793",
        affected=ReleaseRange((0, 10, 1), (2, 8), ((2, 6, 2), (2, 7, 1))),
        about=HazardSubject.MEMBERSHIP,
        applies_to="all members",
        when=Always("every member"),
        symptom="after a coordinator has moved, a consumer can wait for ever for the answer of a request that failed: "
        "it never comes back to the group",
    ),
    KnownBug(
        issue="KAFKA-12257",
        affected=ReleaseRange((2, 2), (3, 0), ((2, 8, 2),)),
        about=HazardSubject.BROKERS,
        applies_to="topics that are deleted and created again while members run (the reset tool, for one)",
        when=Ask("whether topics are deleted and created again while members run"),
        symptom="clients refuse the metadata of the new topic, as its leader epoch is lower: it stays unread",
    ),
    KnownBug(
        issue="KAFKA-12870",
        affected=ReleaseRange((0, 11), (3, 0), ((2, 8, 1),)),
        severity=Severity.WAITS,
        about=HazardSubject.CONFIGURATION,
        applies_to="exactly-once processing",
        when=EXACTLY_ONCE,
        symptom="after a commit linger.ms has no effect: producers send more and smaller batches",
    ),
    KnownBug(
        issue="KAFKA-14303",
        affected=ReleaseRange((3, 3), (3, 3, 2)),
        about=HazardSubject.CONFIGURATION,
        applies_to="producer.batch.size=0, and records without keys",
        when=setting("batch.size", "0", prefixes=PRODUCER) & Ask("whether records have no keys"),
        symptom="send() never returns",
    ),
    KnownBug(
        issue="KAFKA-14417",
        affected=ReleaseRange((0, 11), (3, 4), ((3, 3, 2),)),
        about=HazardSubject.BROKERS,
        applies_to="exactly-once processing or idempotent producers, and brokers of 3.0 to 3.3.1",
        when=(EXACTLY_ONCE | ~IDEMPOTENCE_IS_OFF) & Brokers((3, 0), (3, 3, 2)),
        symptom="a broker that is slow to give a producer its id ends the producer: TimeoutException is taken as fatal",
    ),
    KnownBug(
        issue="KAFKA-16226",
        affected=ReleaseRange((3, 6, 1), (3, 8), ((3, 6, 2), (3, 7, 1))),
        severity=Severity.WAITS,
        about=HazardSubject.CONFIGURATION,
        new_only=True,
        applies_to="producers that write to many partitions",
        when=Ask("to how many partitions your producers write"),
        symptom="threads of a producer wait for each other, so that throughput is lower",
    ),
)
