"""The table of hazards: one row per fact, with its source, and with the releases whose jars showed it.

In ``tests/lab/integration``, ``test_state_directories.py``, ``test_old_brokers.py``, ``test_suspended_tasks.py`` and
``test_streams_group_loading.py``, and in ``tests/upgrade/hazards``, ``test_settings_java.py`` and ``test_made_java.py``
rerun every row that says "seen".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams_assignor.upgrade.config_types import EndPointFormat
from streams_assignor.upgrade.hazards._behaviours import BEHAVIOURS, GUIDE_HAZARDS
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._known_bugs import KNOWN_BUGS
from streams_assignor.upgrade.hazards._remedy import YOURS, Remedy, RemedyKind, edit, edit_first, edit_on
from streams_assignor.upgrade.hazards._stores import STORE_FORMATS
from streams_assignor.upgrade.hazards.conditions import (
    MAIN_CONSUMER,
    Ask,
    Brokers,
    Lacks,
    RunsOnJavaBefore,
    Sets,
    Uses,
)
from streams_assignor.upgrade.hazards.usual_conditions import (
    EXACTLY_ONCE,
    FOREIGN_KEY_JOINS,
    ON_DISK,
    STATIC_MEMBERS,
    STORES,
    STREAMS_PROTOCOL,
    SUPPRESS,
    WINDOWED_STORES,
    is_no_end_point_since,
    may_use,
    setting,
)
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.releases import Release

_BEFORE_3_0: Final = ReleaseRange(before=(3, 0))
_SINCE_3_0: Final = ReleaseRange((3, 0))
_BEFORE_4_0: Final = ReleaseRange(before=(4, 0))
_SINCE_4_0: Final = ReleaseRange((4, 0))
_BEFORE_4_1: Final = ReleaseRange(before=(4, 1))
_SINCE_4_1: Final = ReleaseRange((4, 1))
_BEFORE_4_4: Final = ReleaseRange(before=(4, 4))
_SINCE_4_4: Final = ReleaseRange((4, 4))
_SHARED_BUILDERS: Final = "processors that return the same StoreBuilder from ConnectedStoreProvider#stores()"
_CONNECTED_STORES: Final = may_use(
    "connected-stores", "ConnectedStoreProvider#stores", "whether two processors return the same StoreBuilder"
)
_SESSION_TIMEOUT: Final = setting("session.timeout.ms", prefixes=MAIN_CONSUMER)
_COMPARE_TEXTS: Final = (
    "compare the Topology#describe() texts of both releases (--topologies); if they differ, stop the group (--offline)"
)

_BEFORE_2_0: Final = ReleaseRange(before=(2, 0))
_EAGER_ONLY: Final = ReleaseRange(before=(2, 4))
_UNKNOWN_LAG_IS_LARGE: Final = ReleaseRange((2, 6), (3, 2))
_TASKS_LEAVE: Final = (
    "members of the newer release count as not caught up on what they ran (it is suspended when they report it, and "
    "version 6 and older have no offsets): tasks move to members of the older release, up to all of them"
)

# `upgrade.plans.takes_tasks_from_eager_members` and `deals_tasks_without_lags` have the same releases as rules.
_MEMBERSHIP: Final = (
    Hazard(
        name="tasks-leave-new-members",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        origins=_EAGER_ONLY,
        targets=_UNKNOWN_LAG_IS_LARGE,
        applies_to="stores, while a member of the newer release leads members of the older one",
        when=STORES,
        symptom=f"{_TASKS_LEAVE}; tasks beyond acceptable.recovery.lag stay there until the last older member has "
        "gone, and then move again and are restored",
        remedy="restart the leader of the group last (roll --leader), take 3.2 or later, or stop the group (--offline)",
        source="KAFKA-13600",
        seen=("2.3.1", "2.6.3"),
        mixed_only=True,
    ),
    Hazard(
        name="tasks-go-back-too-early",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        origins=_UNKNOWN_LAG_IS_LARGE,
        targets=_EAGER_ONLY,
        applies_to="stores, while a member of the newer release leads members of the older one",
        when=STORES,
        symptom=f"{_TASKS_LEAVE}: the first ones get what others still could run, and restore it",
        remedy="do not pause between the restarts, or stop the group (--offline)",
        source="KAFKA-13600",
        seen=("2.6.3", "2.3.1"),
        mixed_only=True,
    ),
    Hazard(
        name="tasks-dealt-without-lags",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        origins=_BEFORE_2_0,
        targets=_UNKNOWN_LAG_IS_LARGE,
        applies_to="stores, from the end of the first bounce until the second one has ended",
        when=STORES,
        symptom="versions 1 and 2 have no offsets, and members have suspended their tasks when they report them, so "
        "nobody counts as caught up on a task: when a process comes or goes, tasks are dealt to processes in turn, "
        "wherever their stores are, and those beyond acceptable.recovery.lag are restored without a warm-up",
        remedy="do not pause between the bounces or scale meanwhile, take 3.2 or later, or stop the group (--offline)",
        source="KAFKA-13600",
        seen=("1.1.1", "2.8.2"),
        mixed_only=True,
    ),
)

_CHANGELOGS: Final = (
    Hazard(
        name="suppress-changelog-of-2.5.1",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.STOPS,
        origins=ReleaseRange((2, 5, 1)),
        targets=ReleaseRange((2, 1), (2, 5, 1)),
        applies_to="suppress() with a changelog",
        when=SUPPRESS,
        is_certain=True,
        symptom='members fail with IllegalArgumentException "Restoring apparently invalid changelog record" while they '
        "restore what the newer release buffered",
        remedy="stop, and start the older release only when the buffers are empty, or reset the application",
        remedies=(Remedy(RemedyKind.OUTSIDE),),
        source="KAFKA-10336, KAFKA-10173",
        seen=("2.5.1", "2.4.1"),
    ),
    Hazard(
        name="suppress-changelog-rolling-to-2.5.1",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.STOPS,
        origins=ReleaseRange((2, 1), (2, 5, 1)),
        targets=ReleaseRange((2, 5, 1)),
        applies_to="suppress() with a changelog",
        when=SUPPRESS,
        symptom="members that are still of the old release fail when a task comes back to them, or on its standby: "
        "they cannot restore what a new member buffered",
        remedy="nothing is lost: finish the bounce, or stop the group instead (--offline)",
        source="KAFKA-10336",
        seen=("2.5.1", "2.4.1"),
        mixed_only=True,
    ),
    Hazard(
        name="suppress-changelog-of-2.3-misread",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.STOPS,
        origins=ReleaseRange((2, 3), (2, 4)),
        targets=ReleaseRange((2, 4), (2, 5, 1)),
        applies_to="suppress() with a changelog",
        when=SUPPRESS,
        is_certain=True,
        symptom="members misread what 2.3 buffered: BufferUnderflowException",
        remedy="take 2.5.1 or later",
        remedies=(Remedy(RemedyKind.RELEASE),),
        source="KAFKA-10173",
        seen=("2.3.1", "2.4.1"),
    ),
    Hazard(
        name="suppress-changelog-of-2.3",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.STOPS,
        origins=ReleaseRange((2, 3), (2, 5, 1)),
        targets=ReleaseRange((2, 1), (2, 3)),
        applies_to="suppress() with a changelog",
        when=SUPPRESS,
        is_certain=True,
        symptom='members fail with IllegalArgumentException "Restoring apparently invalid changelog record" while they '
        "restore what the newer release buffered",
        remedy="stop, and start the older release only when the buffers are empty, or reset the application",
        remedies=(Remedy(RemedyKind.OUTSIDE),),
        source="KAFKA-10336, KAFKA-8199",
        seen=("2.3.1", "2.2.2"),
    ),
    Hazard(
        name="suppress-changelog-between-2.3-and-2.4",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.STOPS,
        origins=ReleaseRange((2, 4), (2, 5, 1)),
        targets=ReleaseRange((2, 3), (2, 4)),
        applies_to="suppress() with a changelog",
        when=SUPPRESS,
        is_certain=True,
        symptom="2.4 wrote another format under the same version number, so that 2.3 misreads it: "
        "NullPointerException in KTableSuppressProcessor",
        remedy="stop, and start the older release only when the buffers are empty, or reset the application",
        remedies=(Remedy(RemedyKind.OUTSIDE),),
        source="KAFKA-10173",
        seen=("2.4.1", "2.3.1"),
    ),
)

_CONFIGURATION: Final = (
    Hazard(
        name="exactly-once-removed",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        origins=_BEFORE_4_0,
        targets=_SINCE_4_0,
        applies_to="processing.guarantee=exactly_once or exactly_once_beta",
        when=setting("processing.guarantee", "exactly_once", "exactly_once_beta"),
        is_certain=True,
        symptom='members do not start: ConfigException "Invalid value exactly_once for configuration '
        'processing.guarantee: String must be one of: at_least_once, exactly_once_v2"',
        remedy="bounce a release of 3.0 to 3.9 with exactly_once_v2 (it needs brokers of 2.5 or later) before this "
        "release; exactly_once_beta becomes exactly_once_v2 in the same bounce",
        remedies=(
            edit_on((3, 0), (4, 0), "processing.guarantee", "exactly_once_v2", instead_of="exactly_once"),
            edit("processing.guarantee", "exactly_once_v2", instead_of="exactly_once_beta"),
        ),
        source="KIP-732, upgrade guide of 4.0",
        seen=("3.9.2", "4.3.1"),
    ),
    Hazard(
        name="exactly-once-v2-unknown",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        origins=_SINCE_3_0,
        targets=ReleaseRange((2, 6), (3, 0)),
        applies_to="processing.guarantee=exactly_once_v2",
        when=setting("processing.guarantee", "exactly_once_v2"),
        is_certain=True,
        symptom='members do not start: ConfigException "Invalid value exactly_once_v2 for configuration '
        'processing.guarantee"',
        remedy="set exactly_once_beta, its name before 3.0, in the same bounce",
        remedies=(edit("processing.guarantee", "exactly_once_beta"),),
        source="KIP-732, upgrade guide of 3.0",
        seen=("3.0.2", "2.8.2"),
    ),
    Hazard(
        name="session-timeout-45-s",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        origins=_BEFORE_3_0,
        targets=_SINCE_3_0,
        applies_to="no session.timeout.ms of its own",
        when=~_SESSION_TIMEOUT,
        symptom="the default is 45 s instead of 10 s: a member that fails, or is closed and not started again, keeps "
        "its tasks that much longer",
        remedy="set session.timeout.ms if tasks must move earlier",
        source="KIP-735, upgrade guide of 3.0",
        seen=("2.8.2", "3.0.2"),
    ),
    Hazard(
        name="session-timeout-10-s",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        origins=_SINCE_3_0,
        targets=_BEFORE_3_0,
        applies_to="no session.timeout.ms of its own",
        when=~_SESSION_TIMEOUT,
        symptom="the default is 10 s instead of 45 s: a restart that takes longer moves the member's tasks",
        remedy="set session.timeout.ms",
        source="KIP-735",
        seen=("3.0.2", "2.8.2"),
    ),
    Hazard(
        name="names-removed-in-3.0",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        origins=_BEFORE_3_0,
        targets=_SINCE_3_0,
        applies_to="partition.grouper, default.windowed.key.serde.inner or default.windowed.value.serde.inner",
        when=setting("partition.grouper")
        | setting("default.windowed.key.serde.inner")
        | setting("default.windowed.value.serde.inner"),
        symptom="the release has no such configuration and ignores it",
        remedy="set windowed.inner.class.serde; partition.grouper has no successor",
        source="upgrade guide of 3.0",
        seen=("2.8.2", "3.0.2"),
    ),
    Hazard(
        name="names-removed-in-4.0",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        origins=_BEFORE_4_0,
        targets=_SINCE_4_0,
        applies_to="retries or auto.include.jmx.reporter",
        when=setting("retries") | setting("auto.include.jmx.reporter"),
        symptom="the release has no such configuration of Streams and ignores it",
        remedy="set task.timeout.ms instead of retries (KIP-572); list the JMX reporter in metric.reporters",
        source="KAFKA-12822, upgrade guide of 4.0",
        seen=("3.9.2", "4.3.1"),
    ),
    Hazard(
        name="state-directory-lock",
        about=HazardSubject.STORES,
        severity=Severity.STOPS,
        origins=ReleaseRange(before=(2, 8), backports=((2, 6, 2), (2, 7, 1))),
        targets=ReleaseRange((2, 8), backports=((2, 6, 2), (2, 7, 1))),
        applies_to="several processes of one application with one state.dir",
        when=ON_DISK & Ask("whether several processes have one state.dir"),
        symptom="all but the first process fail to start",
        remedy="give each process a state.dir of its own",
        source="upgrade guide of 2.8",
    ),
)

_REST: Final = (
    Hazard(
        name="deprecated-methods-removed-in-4.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        origins=_BEFORE_4_0,
        targets=_SINCE_4_0,
        applies_to="code that needs what is gone or another since 4.0, such as KStream#through, branch, transform, the "
        "old Processor API",
        when=Lacks((4, 0), (5, 0)),
        is_certain=True,
        symptom="NoSuchMethodError, NoClassDefFoundError or AbstractMethodError if it is not compiled again, else "
        "errors of the compiler",
        remedy="compile against 3.9 without deprecation warnings first",
        remedies=(Remedy(RemedyKind.CODE),),
        source="KAFKA-12822, upgrade guide of 4.0",
    ),
    Hazard(
        name="java-8",
        about=HazardSubject.JAVA,
        severity=Severity.STOPS,
        origins=ReleaseRange(before=(2, 0)),
        targets=ReleaseRange((2, 0), (4, 0)),
        applies_to="Java 7",
        when=RunsOnJavaBefore(8),
        symptom="UnsupportedClassVersionError: the classes are of Java 8",
        remedy="change Java before the release",
        source="KIP-118, upgrade guide of 2.0",
        seen=("1.1.1", "2.0.1"),
    ),
    Hazard(
        name="java-11",
        about=HazardSubject.JAVA,
        severity=Severity.STOPS,
        origins=_BEFORE_4_0,
        targets=_SINCE_4_0,
        applies_to="Java 8 (brokers: before Java 17)",
        when=RunsOnJavaBefore(11),
        symptom="UnsupportedClassVersionError: the classes are of Java 11",
        remedy="change Java before the release",
        source="KIP-750, KIP-1013, upgrade guide of 4.0",
        seen=("3.9.2", "4.3.1"),
    ),
    Hazard(
        name="brokers-before-0.11",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        origins=ReleaseRange(before=(2, 2, 1)),
        targets=ReleaseRange((2, 2, 1), (4, 0)),
        applies_to="brokers before 0.11, or a message format before 0.11",
        when=Brokers(before=(0, 11)) | Ask("which message format your topics have"),
        symptom="members fail to write the headers of their records",
        remedy="upgrade the brokers first",
        source="upgrade guide of 2.3",
    ),
    Hazard(
        name="brokers-before-2.4",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        origins=_BEFORE_3_0,
        targets=_SINCE_3_0,
        applies_to="brokers before 2.4 or of another make, and no replication.factor of its own",
        when=~setting("replication.factor") & Brokers(before=(2, 4)),
        is_certain=True,
        symptom="new internal topics cannot be created: StreamsException \"brokers don't support configuration "
        'replication.factor=-1"',
        remedy="set replication.factor, or upgrade the brokers first",
        remedies=(edit("replication.factor", "1"),),
        source="KIP-733, upgrade guide of 3.0",
        seen=("2.8.2", "3.9.2"),
    ),
    Hazard(
        name="brokers-before-2.1",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        origins=_BEFORE_4_0,
        targets=_SINCE_4_0,
        applies_to="brokers before 2.1; with exactly-once processing, before 2.5",
        when=Brokers(before=(2, 1)) | (EXACTLY_ONCE & Brokers(before=(2, 5))),
        is_certain=True,
        symptom="not supported: a request of which these brokers know no version fails (UnsupportedVersionException), "
        "even if members start (4.3.1 does on a broker of 1.0.2)",
        remedy="upgrade the brokers first (plan --brokers)",
        remedies=(Remedy(RemedyKind.OUTSIDE),),
        source="KIP-896, upgrade guide of 4.0",
        seen=("3.9.2", "4.3.1"),
    ),
    Hazard(
        name="clients-before-2.1",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        origins=ReleaseRange((2, 1)),
        targets=ReleaseRange(before=(2, 1)),
        applies_to="brokers of 4.0 or later",
        when=Brokers(since=(4, 0)),
        is_certain=True,
        symptom="they do not support clients before 2.1, and have removed requests of 0.10",
        remedy="keep the brokers at 3.9 as long as members of the older release may come back",
        remedies=(Remedy(RemedyKind.OUTSIDE),),
        source="KIP-896",
    ),
    Hazard(
        name="streams-groups-of-4.2.0",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        targets=ReleaseRange((4, 2)),
        applies_to="brokers of 4.2.0, and group.protocol=streams for a group that was a classic one",
        when=STREAMS_PROTOCOL & Brokers((4, 2), (4, 2, 1)) & Ask("whether the group was a classic one"),
        symptom="after compaction the brokers cannot load the partition of __consumer_offsets that has the group: "
        'IllegalStateException "Group NAME is not a streams group"',
        remedy="upgrade the brokers to 4.2.1 or later before the group changes its protocol (plan --to-protocol)",
        source="KAFKA-20254, upgrade guide of 4.2",
        seen=("4.2.0", "4.2.1"),
    ),
    Hazard(
        name="leak-of-4.1.0",
        about=HazardSubject.MEMORY,
        severity=Severity.STOPS,
        targets=ReleaseRange((4, 1), (4, 1, 1)),
        applies_to="range scans, session and sliding windows, joins of streams, foreign-key joins",
        when=WINDOWED_STORES | FOREIGN_KEY_JOINS | Uses("range-scans", "range scans of stores"),
        symptom="memory is not freed",
        remedy="take 4.1.1",
        remedies=(Remedy(RemedyKind.RELEASE),),
        source="KAFKA-19748, upgrade guide of 4.1",
    ),
    Hazard(
        name="leak-of-4.3.0",
        about=HazardSubject.MEMORY,
        severity=Severity.STOPS,
        targets=ReleaseRange((4, 3), (4, 3, 1)),
        applies_to="stores on disk (RocksDB)",
        when=ON_DISK,
        symptom="memory outside the heap grows with every task that is closed",
        remedy="take 4.3.1",
        remedies=(Remedy(RemedyKind.RELEASE),),
        source="KAFKA-20616, KAFKA-20688",
    ),
    Hazard(
        name="offsets-flushed-late",
        about=HazardSubject.STORES,
        severity=Severity.WAITS,
        origins=ReleaseRange(before=(4, 3)),
        targets=ReleaseRange((4, 3)),
        applies_to="stores on disk with little traffic, after a member was killed",
        when=ON_DISK & Ask("whether members are killed, and how little is written to your stores"),
        symptom="the offset on disk can be old: if the changelog no longer has it (OffsetOutOfRangeException, "
        "TaskCorruptedException), the whole store is restored",
        remedy="close members in time: a grace period longer than KafkaStreams#close takes",
        source="KIP-1035, upgrade guide of 4.3",
    ),
    # The upgrade guide names 4.5, but the jars of 4.4.0 have it.
    Hazard(
        name="shared-store-builders",
        about=HazardSubject.TASK_IDS,
        severity=Severity.STOPS,
        origins=_BEFORE_4_4,
        targets=_SINCE_4_4,
        applies_to=_SHARED_BUILDERS,
        when=_CONNECTED_STORES,
        symptom="they are in one subtopology now: task ids change, stores are restored, and while old and new members "
        "meet, a member can end with a TopologyException that names the difference",
        remedy=_COMPARE_TEXTS,
        source="KAFKA-20464, upgrade guide of 4.5",
        seen=("4.3.1", "4.4.0"),
    ),
    Hazard(
        name="separate-store-builders",
        about=HazardSubject.TASK_IDS,
        severity=Severity.WAITS,
        origins=_SINCE_4_4,
        targets=_BEFORE_4_4,
        applies_to=_SHARED_BUILDERS,
        when=_CONNECTED_STORES,
        symptom="they are in subtopologies of their own again: task ids change, and stores are restored",
        remedy=_COMPARE_TEXTS,
        source="KAFKA-20464, upgrade guide of 4.5",
        seen=("4.4.0", "4.3.1"),
    ),
    Hazard(
        name="application-server-checked",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        origins=_BEFORE_4_4,
        targets=_SINCE_4_4,
        applies_to="application.server without a host, such as :8080",
        when=Sets(
            "application.server",
            fits=is_no_end_point_since(EndPointFormat.SCHEME, EndPointFormat.SCHEME_AND_NAMED_HOST),
            what="without a host",
        ),
        is_certain=True,
        symptom="members do not start: ConfigException for application.server",
        remedy="correct the value while the old release runs",
        remedies=(edit_first("application.server", YOURS),),
        source="KIP-1245, upgrade guide of 4.4",
        seen=("4.3.1", "4.4.0"),
    ),
    Hazard(
        name="static-members-of-streams-groups",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        targets=_SINCE_4_4,
        applies_to="group.protocol=streams with group.instance.id, and brokers before 4.4",
        when=STREAMS_PROTOCOL & STATIC_MEMBERS & Brokers(before=(4, 4)),
        is_certain=True,
        symptom="members end with INVALID_REQUEST, also when brokers go back to a release before 4.4 later",
        remedy="set group.instance.id when every broker is of 4.4 or later, and remove it before brokers go back",
        remedies=(edit("group.instance.id"),),
        source="upgrade guide of 4.4",
    ),
)

_ORDER: Final = {subject: place for place, subject in enumerate(HazardSubject)}

HAZARDS: Final = tuple(
    sorted(
        (
            *(hazard for store_format in STORE_FORMATS for hazard in store_format.hazards()),
            *_MEMBERSHIP,
            *_CHANGELOGS,
            *_CONFIGURATION,
            *_REST,
            *GUIDE_HAZARDS,
            *BEHAVIOURS,
            *(hazard for bug in KNOWN_BUGS for hazard in bug.hazards()),
        ),
        key=lambda hazard: _ORDER[hazard.about],
    )
)
"""Every row, in the order of a plan."""


def hazards_between(origin: Release, target: Release, plan: Plan) -> Iterator[Hazard]:
    """Yield what one hop from one release to the other meets; static members come first.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> ends = release_named("4.1.1"), release_named("4.3.0")
    >>> "leak-of-4.3.0" in [each.name for each in hazards_between(*ends, Plan.ONE_BOUNCE)]
    True
    """
    mixed = plan is not Plan.OFFLINE
    if (static := static_downgrade(origin, target)) and mixed:
        yield static
    yield from (hazard for hazard in HAZARDS if hazard.concerns(origin, target) and mixed >= hazard.mixed_only)


def static_downgrade(origin: Release, target: Release) -> Hazard | None:
    """Return the hazard of static members in a downgrade to a lower metadata version; None if there is none."""
    if not (origin.kafka_name and target.kafka_name) or target.supported_version >= origin.supported_version:
        return None
    return Hazard(
        name="static-members-keep-newer-assignments",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.STOPS,
        origins=_only(origin),
        targets=_only(target),
        applies_to="static members (group.instance.id)",
        when=STATIC_MEMBERS,
        symptom="unsafe while a session lasts: a member that is back in time gets its old assignment from the "
        f"coordinator, in version {origin.supported_version} or what the group used, and {target} cannot read it",
        remedy="let each session time out before the member starts as the older release, or stop the group (--offline)",
        source="KIP-345, KIP-268",
        seen=("2.8.2", "2.5.1"),
    )


def _only(release: Release) -> ReleaseRange:
    return ReleaseRange(release.number, (*release.number, 0))
