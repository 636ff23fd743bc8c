"""What Kafka's test classes do with records, and the lines that they print, as facts for a member of this project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from streams_assignor import Subtopology, Topology

Settings = Mapping[str, str]


@frozen(kw_only=True)
class Application:
    """One test class. Lines are templates."""

    id: str
    """The ``application.id`` that the class sets."""
    settings: Settings = field(factory=dict)
    """What else the class sets."""
    topology: Topology
    sinks: Mapping[str, str] = field(factory=dict)
    """Where records of a source are copied to."""
    not_copied: bytes = b""
    """The key of records that are not."""
    counts: Mapping[str, str] = field(factory=dict)
    """Sinks of the counts of each key, by the changelog of the store that has them."""
    report_every: int = 1
    """The number of records of a task, or of a thread, between two reports."""
    first_report: int = 0
    """The number of records before the first report; 0: as many as between two."""
    reports_by_task: bool = False
    reported: tuple[str, ...] = ()
    """The topics of these records; empty: those that are copied, or all."""
    report: str = ""
    running: str = ""
    """When all tasks of an assignment are running."""
    tasks: str = ""
    """With them; names what it owns."""
    closed: str


def upgrade(settings: Settings) -> Application:
    """``StreamsUpgradeTest``; it names an internal topic by its place in the topology."""
    topology = Topology.of(Subtopology(sources=["data"]))
    if settings.get("test.run_fk_join") == "true":
        topology = _foreign_key_join(settings.get("application.id", "StreamsUpgradeTest"))
    return Application(
        id="StreamsUpgradeTest",
        topology=topology,
        sinks={"data": "echo"},
        report_every=100,
        reports_by_task=True,
        report="processed {count} records from topic={topic}",
        closed="UPGRADE-TEST-CLIENT-CLOSED",
    )


def _foreign_key_join(application: str) -> Topology:
    registration, response = (
        f"{application}-KTABLE-FK-JOIN-SUBSCRIPTION-{name}-topic"
        for name in ("REGISTRATION-0000000011", "RESPONSE-0000000019")
    )
    stores = ("KSTREAM-TOTABLE-STATE-STORE-0000000010", "fk-STATE-STORE-0000000006")
    left, right = (f"{application}-{store}-changelog" for store in stores)
    subscriptions = f"{application}-KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000015-changelog"
    return Topology.of(
        Subtopology(
            sources=["data"],
            repartition_sources=[response],
            repartition_sinks=[registration],
            changelogs=[left],
        ),
        Subtopology(
            sources=["fk"],
            repartition_sources=[registration],
            repartition_sinks=[response],
            changelogs=[right, subscriptions],
        ),
        copartition_groups=[["data", response], ["fk", registration]],
    )


def cooperative_upgrade(settings: Settings) -> Application:
    """``StreamsUpgradeToCooperativeRebalanceTest``."""
    phase = settings.get("upgrade.phase", "")
    source = settings.get("source.topic", "source")
    return Application(
        id="cooperative-rebalance-upgrade",
        topology=Topology.of(Subtopology(sources=[source])),
        sinks={source: settings.get("sink.topic", "sink")},
        report_every=int(settings.get("report.interval", "100")),
        first_report=1,
        report=f"{phase}Processed {{count}} records so far",
        running=f"{phase}STREAMS in a RUNNING State",
        tasks="TASK-ASSIGNMENTS:{partitions}#",
        closed=f"{phase}COOPERATIVE-REBALANCE-TEST-CLIENT-CLOSED",
    )


def static_membership(settings: Settings) -> Application:
    """``StaticMemberTestClient``."""
    return Application(
        id="StaticMemberTestClient",
        topology=Topology.of(Subtopology(sources=[settings["input.topic"]])),
        report="PROCESSED",
        running="REBALANCING -> RUNNING",
        closed="Static membership test closed",
    )


def standbys(settings: Settings) -> Application:
    """``StreamsStandByReplicaTest``."""
    application = "kafka-streams-standby-tasks"
    in_memory, persistent = (f"{application}-{store}-store-changelog" for store in ("in-memory", "persistent-memory"))
    return Application(
        id=application,
        settings={"num.standby.replicas": "1"},
        topology=Topology.of(Subtopology(sources=[settings["sourceTopic"]], changelogs=[in_memory, persistent])),
        counts={in_memory: settings["sinkTopic1"], persistent: settings["sinkTopic2"]},
        tasks="ACTIVE_TASKS:{active} STANDBY_TASKS:{standby}",
        closed="Shut down streams now",
    )


def broker_down(_: Settings) -> Application:
    """``StreamsBrokerDownResilienceTest``."""
    source = "streamsResilienceSource"
    return Application(
        id="kafka-streams-resilience",
        topology=Topology.of(Subtopology(sources=[source])),
        sinks={source: "streamsResilienceSink"},
        report="processed {count} messages",
        closed="Complete shutdown of streams resilience test app now",
    )


_SMOKE_STORES: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("data",): (
        "uwin-min",
        "KSTREAM-REDUCE-STATE-STORE-0000000020",
        "uwin-max",
        "win-sum",
        "uwin-cnt",
        "KTABLE-SUPPRESS-STATE-STORE-0000000011",
        "KTABLE-SUPPRESS-STATE-STORE-0000000027",
    ),
    ("min", "max"): ("minStoreName", "maxStoreName"),
    ("cnt", "sum"): ("cntStoreName", "sum-STATE-STORE-0000000050"),
}
"""The stores of the subtopologies of ``SmokeTestClient`` by their sources; the last one reads ``cntByCnt``."""


def smoke(settings: Settings) -> Application:
    """``StreamsSmokeTest process``: copies ``data``, and has the tasks of the stores without the stores."""
    application = settings.get("application.id", "SmokeTest")
    repartition = f"{application}-cntByCnt-repartition"
    first, *others = (
        Subtopology(
            sources=sources,
            repartition_sinks=[repartition] if "cnt" in sources else [],
            changelogs=[f"{application}-{store}-changelog" for store in stores],
        )
        for sources, stores in _SMOKE_STORES.items()
    )
    last = Subtopology(repartition_sources=[repartition], changelogs=[f"{application}-cntByCnt-changelog"])
    return Application(
        id=application,
        topology=Topology.of(first, *others, last, copartition_groups=[["min", "max"], ["cnt", "sum"]]),
        sinks={"data": "echo"},
        not_copied=b"flush",
        report_every=100,
        reports_by_task=True,
        reported=("data", "min", "max", "sum", "cnt"),
        report="processed {count} records from topic={topic}",
        running="SMOKE-TEST-CLIENT-STARTED",
        closed="SMOKE-TEST-CLIENT-CLOSED",
    )


APPLICATIONS: Final = {
    "StreamsUpgradeTest": upgrade,
    "StreamsUpgradeToCooperativeRebalanceTest": cooperative_upgrade,
    "StaticMemberTestClient": static_membership,
    "StreamsStandByReplicaTest": standbys,
    "StreamsBrokerDownResilienceTest": broker_down,
    "StreamsSmokeTest": smoke,
}
