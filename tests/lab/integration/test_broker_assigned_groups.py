"""``streams-assignor group`` on groups whose broker assigns (KIP-1071, KIP-848), beside Kafka's own Admin."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.cli.group._output import group_document
from streams_assignor.cli.plan.live_group import live_group
from streams_assignor.groups import NoSuchGroup, inspect_group
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.upgrade.verdict import features_of_nodes
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting, driver
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, Subprocess, wait_until
from tests.lab.integration.test_group_view import codes, reported
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.max.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
}
PREVIOUS = "4.2.2"
LATER = "4.4.0"
ADMINS = (NEWEST, LATER)
"""The releases of Java's Admin that describe each group."""


class JavaAdmin(Subprocess):
    """``java/Describing.java``: a line of input, a line of JSON."""

    def __init__(self, broker: str, release: str) -> None:
        super().__init__(f"Admin {release}", [*driver("Describing", release), broker])

    def ask(self, *words: str) -> Any:
        known = len(self._answers)
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        wait_until(lambda: len(self._answers) > known, self)
        return json.loads(self._answers[-1])

    @property
    def _answers(self) -> list[str]:
        return [line.removeprefix("json ") for line in self.lines if line.startswith("json ")]


class Groups:
    """Streams groups on one broker, with Java members of its release and Kafka's Admin of two."""

    def __init__(self, brokers: str, release: str, folder: Path, stack: ExitStack) -> None:
        self.brokers, self.release = brokers, release
        self._folder, self._stack = folder, stack
        self._admin = AdminClient({"bootstrap.servers": brokers})
        self.admins = {each: stack.enter_context(JavaAdmin(brokers, each)) for each in ADMINS}
        self.java = self.admins[LATER]

    def topics(self, **counts: int) -> None:
        made = self._admin.create_topics([NewTopic(name, each, 1) for name, each in counts.items()])
        for future in made.values():
            future.result(TIMEOUT_SECONDS)

    def member(self, group: str, name: str, release: str = "", **settings: str) -> JavaMember:
        release = release or self.release
        usual = {
            "bootstrap.servers": self.brokers,
            "application.id": group,
            "client.id": name,
            "state.dir": str(self._folder / name),
            "group.protocol": "streams",
            "statestore.cache.max.bytes": "0",
        }
        pairs = [f"{key}={value}" for key, value in {**usual, **settings}.items()]
        command = [*counting(release), f"{group}-data", f"{group}-out", *pairs]
        return self._stack.enter_context(JavaMember(f"{name} {release}", command))

    def group(self, name: str) -> Any:
        """What ``group NAME --json`` says, without a process for each look."""
        return group_document(inspect_group(GroupLookup(self.brokers, timeout_seconds=TIMEOUT_SECONDS).group(name)))

    def until(self, name: str, condition: Callable[[Any], bool], *alive: Subprocess) -> Any:
        """Look at a group until it is as expected; it may not exist at first."""
        found: list[Any] = []

        def happened() -> bool:
            found.clear()
            with suppress(NoSuchGroup):
                found.append(self.group(name))
            return bool(found) and condition(found[0])

        wait_until(happened, *alive)
        return found[0]


@pytest.fixture(
    name="groups",
    scope="module",
    params=with_matrix([NEWEST, PREVIOUS, LATER], [NEWEST], "the same on another release"),
)
def fixture_groups(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Groups]:
    folder = tmp_path_factory.mktemp("groups")
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(Cluster(folder / "cluster", metadata="4.3-IV0"))
            cluster.start(1, request.param, settings=SETTINGS)
            yield Groups(cluster.brokers, request.param, folder, stack)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams of {request.param}: {missing}")


def in_javas_names(found: Any) -> Any:
    """A group by the names of the methods of Java's description."""
    topology = found["topology"]
    return {
        "class": "StreamsGroupDescription",
        "groupId": found["group"],
        "groupState": found["state"],
        "groupEpoch": found["epoch"],
        "targetAssignmentEpoch": found["assignment_epoch"],
        "topologyEpoch": topology["epoch"],
        "coordinator": found["coordinator"],
        "authorizedOperations": sorted(found["authorized_operations"]),
        "subtopologies": {
            name: {
                "class": "StreamsGroupSubtopologyDescription",
                "subtopologyId": name,
                "sourceTopics": subtopology["source_topics"],
                "repartitionSinkTopics": subtopology["repartition_sink_topics"],
                "repartitionSourceTopics": _topics_in_javas_names(subtopology["repartition_source_topics"]),
                "stateChangelogTopics": _topics_in_javas_names(subtopology["changelogs"]),
            }
            for name, subtopology in topology["subtopologies"].items()
        },
        "members": {member["member_id"]: _member_in_javas_names(member) for member in found["members"]},
        "assignorName": found["protocol"] or None,
        "topologyDescriptionStatus": found["topology_description_status"],
        "topologyDescription": found["topology_description"]
        and [{**node, "predecessors": sorted(node["predecessors"])} for node in found["topology_description"]],
    }


def _topics_in_javas_names(topics: Any) -> Any:
    return {
        name: {
            "class": "TopicInfo",
            "partitions": topic["partitions"],
            "replicationFactor": topic["replication_factor"],
            "topicConfigs": topic["configs"],
        }
        for name, topic in topics.items()
    }


def _member_in_javas_names(member: Any) -> Any:
    return {
        "class": "StreamsGroupMemberDescription",
        "memberId": member["member_id"],
        "memberEpoch": member["epoch"],
        "instanceId": member["group_instance_id"],
        "rackId": member["rack"],
        "clientId": member["client_id"],
        "clientHost": member["host"],
        "topologyEpoch": member["topology_epoch"],
        "processId": member["process_id"],
        "userEndpoint": member["end_point"],
        "clientTags": member["tags"],
        "isClassic": member["is_classic"],
        "taskOffsets": member["offset_sums"] or {},
        "taskEndOffsets": member["end_offset_sums"] or {},
        "assignment": _tasks_in_javas_names(member),
        "targetAssignment": _tasks_in_javas_names(member["target"]),
    }


def _tasks_in_javas_names(tasks: Any) -> Any:
    names = {"activeTasks": "active", "standbyTasks": "standby", "warmupTasks": "warm_up"}
    return {"class": "StreamsGroupMemberAssignment", **{java: sorted(tasks[ours]) for java, ours in names.items()}}


def comparable(java: Any) -> Any:
    """What Java says, with tasks as texts, and members and subtopologies by name."""
    if isinstance(java, list):
        return [comparable(each) for each in java]
    if not isinstance(java, dict):
        return java
    found = {key: comparable(value) for key, value in java.items()}
    for key, name in (("members", "memberId"), ("subtopologies", "subtopologyId")):
        if key in found and "groupId" in found:
            found[key] = {each[name]: each for each in found[key]}
    for key in ("activeTasks", "standbyTasks", "warmupTasks"):
        if key in found:
            tasks = [(each["subtopologyId"], number) for each in java[key] for number in each["partitions"]]
            found[key] = sorted(f"{subtopology}_{number}" for subtopology, number in tasks)
    for key in ("taskOffsets", "taskEndOffsets"):
        if key in found:
            found[key] = {f"{each['subtopologyId']}_{each['partition']}": each["offset"] for each in java[key]}
    if end_point := found.get("userEndpoint", ""):
        found["userEndpoint"] = f"{end_point['host']}:{end_point['port']}"
    elif "userEndpoint" in found:
        found["userEndpoint"] = ""
    if status := found.get("topologyDescriptionStatus"):
        found["topologyDescriptionStatus"] = _STATUSES[status]
        found["topologyDescription"] = _nodes(java["groupId"], java["subtopologies"], java["topologyDescription"])
    return found


_STATUSES = {"NOT_REQUESTED": None, "NOT_STORED": "not-stored", "ERROR": "error", "AVAILABLE": "available"}


def _nodes(group: str, subtopologies: Any, description: Any) -> Any:
    """The nodes of a topology as ``group --json`` has them: internal topics without the application id."""
    if description is None:
        return None
    internal = {
        name for each in subtopologies for name in (*each["repartitionSinkTopics"], *each["repartitionSourceTopics"])
    }
    placed = [(node, int(each["id"])) for each in description["subtopologies"] for node in each["nodes"]]
    stores = [node for store in description["globalStores"] for node in (store["source"], store["processor"])]
    nodes = []
    for node, subtopology in [*placed, *((each, None) for each in stores)]:
        assert set(node) <= {"class", "name", "successors", "predecessors", "topics", "topic", "stores"}
        topics = node.get("topics", [node["topic"]] if node.get("topic") else [])
        nodes.append(
            {
                "kind": node["class"],
                "name": node["name"],
                "subtopology": subtopology,
                "topics": None
                if node["class"] == "Source" and not topics
                else [each.removeprefix(f"{group}-") if each in internal else each for each in topics],
                "stores": node.get("stores", []),
                "predecessors": node["predecessors"],
            }
        )
    return nodes


def check_that_java_says_the_same(groups: Groups, name: str) -> None:
    """Compare all fields of one group, between two equal descriptions by Java: it may change in between.

    A method of Java's description without a counterpart here is a difference.
    """
    for admin in groups.admins.values():
        compared: list[tuple[Any, Any]] = []

        def still(java: JavaAdmin = admin, compared: list[tuple[Any, Any]] = compared) -> bool:
            before = java.ask("streams", name)
            assert "error" not in before, before
            ours = in_javas_names(groups.group(name))
            compared[:] = [(before, ours)]
            return before == java.ask("streams", name)

        wait_until(still)
        ((said, ours),) = compared
        java = comparable(said)
        assert java == {key: ours.get(key, "no counterpart") for key in java}


def check_that_an_audit_shows_the_same(groups: Groups, name: str, folder: Path) -> None:
    """Compare what is open at the end of an audit with the description of the group, which does not change."""
    found = groups.group(name)
    out = folder / "audit"
    script = "from streams_assignor.cli.main import main; main()"
    settings = ["--bootstrap-servers", groups.brokers, "--group", name, "--out", str(out), "--processes", "1"]
    done = subprocess.run(
        [sys.executable, "-c", script, "audit", *settings], capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert 0 == done.returncode, done
    generations = sorted(pq.read_table(out / "generations").to_pylist(), key=lambda row: row["offset"])
    shown: dict[str, dict[str, list[str]]] = {}
    for row in pq.read_table(out / "tasks").to_pylist():
        if row["until_time"] is None:
            shown.setdefault(row["member_id"], {}).setdefault(row["role"], []).append(row["task"])
    described = {member["member_id"]: _roles(member) for member in found["members"]}
    assert (found["epoch"], found["state"], {member: roles for member, roles in described.items() if roles}) == (
        generations[-1]["generation"],
        generations[-1]["state"],
        {member: {role: sorted(tasks) for role, tasks in roles.items()} for member, roles in shown.items()},
    )


def _roles(member: Any) -> dict[str, list[str]]:
    """What a member has, awaits and has to revoke, by the roles of an audit."""
    names = {"active": "", "partition": "", "standby": "-standby", "warm-up": "-warm-up"}
    roles: dict[str, list[str]] = {
        "active": [*member["active"], *member["partitions"]],
        "standby": [*member["standby"]],
        "warm-up": [*member["warm_up"]],
    }
    for prefix, things in (("awaited", member["awaited"]), ("to-revoke", member["to_revoke"])):
        for thing in things:
            roles.setdefault(f"{prefix}{names[thing['role']]}", []).append(thing["name"])
    return {role: sorted(tasks) for role, tasks in roles.items() if tasks}


def test_a_group_with_standbys_as_java_describes_it_until_it_is_empty(groups: Groups) -> None:
    name = f"orders-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-data": 4, f"{name}-out": 1})
    assert {} == groups.java.ask("config", name, "streams.num.standby.replicas", "1")
    settings = {"application.server": "localhost:7001", "shape": "repartition"}
    first = groups.member(name, f"{name}-1", **settings)

    found = groups.until(name, lambda group: group["state"] == "Stable", first)
    assert ["too-few-standbys"] == codes(found)
    second = groups.member(name, f"{name}-2", shape="repartition")
    everything = {"0_0", "0_1", "0_2", "0_3", "1_0", "1_1", "1_2", "1_3"}
    wait_until(lambda: bool(second.tasks) and first.tasks | second.tasks == everything, first, second)
    assert 0 == reported(groups.brokers, name, "--wait", "stable", "--members", "2", "--timeout", "2m").returncode

    found = groups.group(name)
    assert {frozenset(first.tasks), frozenset(second.tasks)} == {frozenset(each["active"]) for each in found["members"]}
    standbys = [task for each in found["members"] for task in each["standby"]]
    assert ["1_0", "1_1", "1_2", "1_3"] == sorted(standbys)
    assert ["without-end-point"] == codes(found)
    assert ("streams", "1") == (found["type"], found["configs"]["streams.num.standby.replicas"])
    assert {"localhost:7001", ""} == {each["end_point"] for each in found["members"]}
    for each in found["members"]:
        sends_offsets = each["offset_sums"] or each["end_offset_sums"]  # members of 4.4 do so, once a minute
        assert (groups.release == LATER) >= bool(sends_offsets)
        assert f"{LATER if sends_offsets else '4.1.0'} or later" == each["releases"]
    check_that_java_says_the_same(groups, name)

    second.stop()
    first.stop()
    assert 0 == reported(groups.brokers, name, "--wait", "empty", "--timeout", "2m").returncode
    check_that_java_says_the_same(groups, name)


def test_members_of_three_releases_share_a_group(groups: Groups, tmp_path: Path) -> None:
    """Each of them is shown in full with kafka-python; confluent-kafka cannot show the group, and says so."""
    name = f"mixed-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-data": 6, f"{name}-out": 1})
    assert {} == groups.java.ask("config", name, "streams.num.standby.replicas", "1")
    members = [groups.member(name, f"{name}-{each}", each) for each in (PREVIOUS, NEWEST, LATER)]
    found = groups.until(
        name,
        lambda group: (
            group["state"] == "Stable"
            and len(group["members"]) == 3
            and sum(len(each["active"]) for each in group["members"]) == 6
            and sum(len(each["standby"]) for each in group["members"]) == 6
        ),
        *members,
    )
    assert [] == codes(found)
    check_that_java_says_the_same(groups, name)
    check_that_an_audit_shows_the_same(groups, name, tmp_path)
    assert 0 == reported(groups.brokers, name, "--check").returncode
    table = reported(groups.brokers, name).stdout
    assert f"{name}: 3 members (streams" in table
    (listed,) = [
        each for each in json.loads(reported(groups.brokers, "list", "--json").stdout) if each["group"] == name
    ]
    assert (3, "streams") == (len(listed["members"]), listed["type"])


def test_a_member_waits_for_one_that_does_not_confirm(groups: Groups, tmp_path: Path) -> None:
    """The first member is frozen, so it revokes nothing, and its session does not end."""
    name = f"frozen-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-data": 4, f"{name}-out": 1})
    assert {} == groups.java.ask("config", name, "streams.session.timeout.ms", "600000")
    frozen = groups.member(name, f"{name}-1")
    (holder,) = groups.until(name, lambda group: group["state"] == "Stable", frozen)["members"]
    frozen.signal(signal.SIGSTOP)
    try:
        other = groups.member(name, f"{name}-2")
        found = groups.until(name, lambda group: any(each["awaited"] for each in group["members"]), other)
        (waiting,) = [each for each in found["members"] if each["name"] != holder["name"]]
        assert "Reconciling" == found["state"]
        assert [holder["name"]] == found["progress"]["waiting_for"]
        assert {(holder["name"],)} == {tuple(each["holders"]) for each in waiting["awaited"]}
        assert 2 == len(waiting["awaited"])
        check_that_java_says_the_same(groups, name)
        check_that_an_audit_shows_the_same(groups, name, tmp_path)
        done = reported(groups.brokers, name, "--check")
        assert (1, True) == (
            done.returncode,
            f", {holder['name']}) has not confirmed" in " ".join(done.stdout.split()),
        ), done
        assert 124 == reported(groups.brokers, name, "--wait", "stable", "--timeout", "1s").returncode
    finally:
        frozen.signal(signal.SIGCONT)
    both = ("--members", "2", "--session-timeout", "1s")
    assert 0 == reported(groups.brokers, name, "--wait", "stable", *both, "--timeout", "4m").returncode


def test_a_missing_source_topic_is_named(groups: Groups) -> None:
    name = f"missing-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-out": 1})
    member = groups.member(name, f"{name}-1", **{"default.api.timeout.ms": "120000", "max.poll.interval.ms": "600000"})

    found = groups.until(name, lambda group: group["state"] == "NotReady", member)
    text = next(each["text"] for each in found["findings"] if each["code"] == "missing-source-topics")
    assert f"source topic {name}-data is missing: create it" == text
    assert {"not-ready", "missing-source-topics"} == set(codes(found))
    check_that_java_says_the_same(groups, name)
    # What the broker states to the member is the same.
    wait_until(lambda: any(f"(1) Source topics {name}-data are missing" in line for line in member.lines))


def test_a_changelog_with_a_wrong_number_of_partitions_is_named(groups: Groups) -> None:
    name = f"wrong-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-data": 3, f"{name}-out": 1, f"{name}-store-changelog": 2})
    member = groups.member(name, f"{name}-1")

    # The group is NotReady only until its member ends, which may be sooner than a look.
    found = groups.until(name, lambda group: "incorrectly-partitioned-topics" in codes(group))
    text = next(each["text"] for each in found["findings"] if each["code"] == "incorrectly-partitioned-topics")
    assert f"internal topics have the wrong number of partitions: {name}-store-changelog has 2 and needs 3" == text
    wait_until(lambda: any("(2) Existing topic" in line and "expected 3, found 2" in line for line in member.lines))


@pytest.mark.parametrize("plugin", ["InMemoryTopologyDescriptionPlugin", ""])
def test_the_topology_that_members_of_4_4_describe(tmp_path: Path, plugin: str) -> None:
    """KIP-1331: it decides conditions of a plan, as the text of Topology#describe() does; only a plug-in stores it."""
    settings = {"group.streams.topology.description.plugin.class": f"org.apache.kafka.server.streams.{plugin}"}
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path / "cluster"))
        try:
            cluster.start(1, LATER, settings={**SETTINGS, **(settings if plugin else {})})
            groups = Groups(cluster.brokers, LATER, tmp_path, stack)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams of {LATER}: {missing}")
        groups.topics(**{"orders-data": 2, "orders-out": 2})
        member = groups.member("orders", "a", shape="repartition")
        status = "available" if plugin else "not-stored"
        found = groups.until("orders", lambda group: group["topology_description_status"] == status, member)
        groups.until("orders", lambda group: group["state"] == "Stable", member)
        check_that_java_says_the_same(groups, "orders")
        table = " ".join(reported(cluster.brokers, "orders").stdout.split())
        live = live_group(GroupLookup(cluster.brokers, timeout_seconds=TIMEOUT_SECONDS).group("orders"), {})

    if not plugin:
        assert (None, None) == (found["topology_description"], live.topology)
        assert "description none: the broker has no plug-in that stores it" in table
        return
    assert "1: orders-store-repartition, 2 tasks, 1 changelog, stores store" in table
    assert "description 8 nodes; --json has them" in table
    assert found["protocol"] == "sticky"
    assert {
        (each["name"], each["subtopology"], *each["topics"], *each["stores"]) for each in found["topology_description"]
    } == {
        ("KSTREAM-SOURCE-0000000000", 0, "orders-data"),
        ("KSTREAM-KEY-SELECT-0000000001", 0),
        ("store-repartition-filter", 0),
        ("store-repartition-sink", 0, "store-repartition"),
        ("store-repartition-source", 1, "store-repartition"),
        ("KSTREAM-AGGREGATE-0000000002", 1, "store"),
        ("KTABLE-TOSTREAM-0000000006", 1),
        ("KSTREAM-SINK-0000000007", 1, "orders-out"),
    }
    features = features_of_nodes(live.topology.nodes)
    assert {"foreign-key-joins", "repartitioned-tables"} == {each.value for each in features.absent}
    assert {"second-source-topic", "stateless-subtopologies"} == {each.value for each in features.present}


def test_static_members_and_rack_tags_of_4_4(tmp_path: Path) -> None:
    """A static member that is away keeps its tasks, and nobody works on them."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path / "cluster"))
        try:
            cluster.start(1, LATER, settings=SETTINGS)
            groups = Groups(cluster.brokers, LATER, tmp_path, stack)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams of {LATER}: {missing}")
        groups.topics(**{"orders-data": 4, "orders-out": 1})
        for key, value in (
            ("streams.rack.aware.assignment.tags", "zone"),
            ("streams.num.standby.replicas", "1"),
            ("streams.task.offset.interval.ms", "15000"),
            ("streams.session.timeout.ms", "600000"),
        ):
            assert {} == groups.java.ask("config", "orders", key, value)
        first = groups.member("orders", "a", **{"group.instance.id": "one", "client.tag.zone": "east"})
        second = groups.member("orders", "b", **{"group.instance.id": "two"})
        found = groups.until(
            "orders",
            lambda group: (
                group["state"] == "Stable"
                and [2, 2] == [len(each["active"]) for each in group["members"]]
                and all(each["offset_sums"] for each in group["members"])
            ),
            first,
            second,
        )
        assert ["missing-client-tags"] == codes(found)
        assert [("one-1", {"zone": "east"}), ("two-1", {})] == [
            (each["group_instance_id"], each["tags"]) for each in found["members"]
        ]
        assert {"4.4.0 or later"} == {each["releases"] for each in found["members"]}
        check_that_java_says_the_same(groups, "orders")
        before = tmp_path / "before.json"
        before.write_text(reported(cluster.brokers, "orders", "--json").stdout)

        second.stop()
        found = groups.until("orders", lambda group: "static-member-away" in codes(group), first)
        assert ("Reconciling", -2) == (found["state"], found["members"][1]["epoch"])
        assert ["two-1"] == found["progress"]["waiting_for"]
        check_that_java_says_the_same(groups, "orders")
        checked = reported(cluster.brokers, "orders", "--check")
        assert (1, True) == (checked.returncode, "has left for a while" in " ".join(checked.stdout.split())), checked

        groups.member("orders", "b", **{"group.instance.id": "two", "client.tag.zone": "west"})
        waiting = ("--since", str(before), "--restarted", "two", "--timeout", "4m")
        waited = reported(cluster.brokers, "orders", "--wait", "stable", *waiting)
        assert 0 == waited.returncode, waited
        assert [] == codes(groups.until("orders", lambda group: not codes(group), first))
        check_that_java_says_the_same(groups, "orders")


def test_a_consumer_group_as_java_describes_it(groups: Groups, tmp_path: Path) -> None:
    name = f"plain-{uuid4().hex[:8]}"
    groups.topics(**{name: 3})
    settings = {"bootstrap.servers": groups.brokers, "group.id": name, "group.protocol": "consumer"}
    with ExitStack() as stack:
        consumers = [Consumer({**settings, "client.id": each}) for each in "ab"]
        for consumer in consumers:
            stack.callback(consumer.close)
            consumer.subscribe([name])

        def settled() -> bool:
            for consumer in consumers:
                consumer.poll(0.2)
            return all(consumer.assignment() for consumer in consumers)

        wait_until(settled)
        for consumer in consumers:  # records of the group have no names of topics, its commits have
            offsets = [TopicPartition(each.topic, each.partition, 0) for each in consumer.assignment()]
            consumer.commit(offsets=offsets, asynchronous=False)
        found = groups.until(name, lambda group: group["state"] == "Stable" and len(group["members"]) == 2)
        java = groups.java.ask("consumer", name)
        check_that_an_audit_shows_the_same(groups, name, tmp_path)

    assert ([], "uniform") == (codes(found), found["protocol"])
    java["members"] = {each["consumerId"]: each for each in java["members"]}
    assert java == {
        "class": "ConsumerGroupDescription",
        "groupId": name,
        "type": "Consumer",
        "isSimpleConsumerGroup": False,
        "state": found["state"],
        "groupState": found["state"],
        "partitionAssignor": found["protocol"],
        "groupEpoch": found["epoch"],
        "targetAssignmentEpoch": found["assignment_epoch"],
        "coordinator": found["coordinator"],
        "authorizedOperations": sorted(found["authorized_operations"]),
        "members": {
            member["member_id"]: {
                "class": "MemberDescription",
                "consumerId": member["member_id"],
                "memberEpoch": member["epoch"],
                "groupInstanceId": member["group_instance_id"],
                "rackId": member["rack"],
                "clientId": member["client_id"],
                "host": member["host"],
                "upgraded": not member["is_classic"],
                "assignment": {"class": "MemberAssignment", "topicPartitions": member["partitions"]},
                "targetAssignment": {"class": "MemberAssignment", "topicPartitions": member["target"]["partitions"]},
            }
            for member in found["members"]
        },
    }


def test_consumers_change_their_protocol_one_by_one(groups: Groups) -> None:
    """Online, there and back, so the group has members of both. One that is closed leaves; a static one stays."""
    name = f"online-{uuid4().hex[:8]}"
    groups.topics(**{name: 3})
    assert {} == groups.java.ask("config", name, "consumer.session.timeout.ms", "600000")  # longer than any wait
    with ExitStack() as stack:

        def joined(client: str, protocol: str, **more: str) -> Consumer:
            settings = {"bootstrap.servers": groups.brokers, "group.id": name, "group.protocol": protocol}
            consumer = Consumer({**settings, "client.id": client, **more})
            stack.callback(consumer.close)
            consumer.subscribe([name])
            return consumer

        def share(*consumers: Consumer) -> bool:
            for consumer in consumers:
                consumer.poll(0.2)
            owned = [[each.partition for each in consumer.assignment()] for consumer in consumers]
            return all(owned) and [0, 1, 2] == sorted(chain.from_iterable(owned))

        def members() -> tuple[str, dict[str, bool | None]]:
            """The type of the group, and whether each member has its protocol (``None``: it has no other)."""
            found = groups.java.ask("consumer", name)
            return found["type"], {each["clientId"]: each["upgraded"] for each in found["members"]}

        a = joined("a", "classic")
        wait_until(lambda: share(a))
        assert ("Classic", {"a": None}) == members()
        b = joined("b", "consumer")
        wait_until(lambda: share(a, b))
        assert ("Consumer", {"a": False, "b": True}) == members()
        assert {"a": True, "b": False} == {
            each["client_id"]: each["is_classic"] for each in groups.group(name)["members"]
        }
        a.close()
        wait_until(lambda: share(b))
        assert ("Consumer", {"b": True}) == members()
        c = joined("c", "classic")
        wait_until(lambda: share(b, c))
        assert ("Consumer", {"b": True, "c": False}) == members()
        b.close()
        wait_until(lambda: share(c))
        assert ("Classic", {"c": None}) == members()
        c.close()
        static = joined("static", "consumer", **{"group.instance.id": "one"})
        wait_until(lambda: share(static))
        static.close()
        wait_until(lambda: [-2] == [each["memberEpoch"] for each in groups.java.ask("consumer", name)["members"]])
        assert ["static-member-away"] == [code for code in codes(groups.group(name)) if code.startswith("static")]


def test_a_release_that_members_do_not_show_cannot_be_told(groups: Groups) -> None:
    name = f"release-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-data": 1, f"{name}-out": 1})
    member = groups.member(name, f"{name}-1")
    groups.until(name, lambda group: group["state"] == "Stable", member)

    done = reported(groups.brokers, name, "--wait", "release=4.3.1", "--timeout", "1m")
    assert 3 == done.returncode
    assert "what these members send is that of 4.1.0 or newer, and does not show which one" in done.stderr


@pytest.mark.matrix(reason="one more broker, of a release without streams groups")
def test_a_broker_without_streams_groups_is_named(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        try:
            cluster.start(1, OLDER)
        except Unavailable as missing:
            pytest.skip(f"no broker of {OLDER}: {missing}")
        done: subprocess.CompletedProcess[str] = reported(cluster.brokers, "orders")

    assert 1 == done.returncode
    assert "this broker does not support groups of type streams (KIP-1071: Kafka 4.1 or later)" in done.stderr
