"""``streams-assignor group`` on groups whose broker assigns (KIP-1071, KIP-848), beside Kafka's own Admin."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from assignor.cli.group._output import group_document
from assignor.cli.plan._live_group import live_group
from assignor.groups import NoSuchGroup, inspect_group
from assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting, driver
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, Subprocess, wait_until
from tests.lab.integration.test_group_view import codes, reported
from tests.matrix import with_matrix
from upgrade.verdict import features_of_nodes

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.max.session.timeout.ms": "600000",
}
PREVIOUS = "4.2.2"
LATER = "4.4.0"


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
    """Streams groups on one broker, with Java members and Kafka's Admin of one release."""

    def __init__(self, brokers: str, release: str, folder: Path, stack: ExitStack) -> None:
        self.brokers, self.release = brokers, release
        self._folder, self._stack = folder, stack
        self._admin = AdminClient({"bootstrap.servers": brokers})
        self.java = stack.enter_context(JavaAdmin(brokers, release))

    def topics(self, **counts: int) -> None:
        made = self._admin.create_topics([NewTopic(name, each, 1) for name, each in counts.items()])
        for future in made.values():
            future.result(TIMEOUT_SECONDS)

    def member(self, group: str, name: str, **settings: str) -> JavaMember:
        usual = {
            "bootstrap.servers": self.brokers,
            "application.id": group,
            "client.id": name,
            "state.dir": str(self._folder / name),
            "group.protocol": "streams",
            "statestore.cache.max.bytes": "0",
        }
        pairs = [f"{key}={value}" for key, value in {**usual, **settings}.items()]
        command = [*counting(self.release), f"{group}-data", f"{group}-out", *pairs]
        return self._stack.enter_context(JavaMember(f"{name} {self.release}", command))

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


def as_java_says(found: Any) -> Any:
    """The fields of a group that Java's description has, by Java's names of them."""
    topology = found["topology"]
    return {
        **{key: found[key] for key in ("group", "state", "epoch", "assignment_epoch", "coordinator")},
        "topology_epoch": topology["epoch"],
        "authorized_operations": sorted(found["authorized_operations"]),
        "subtopologies": topology["subtopologies"],
        "members": {
            member["member_id"]: {
                **{key: member[key] for key in ("epoch", "group_instance_id", "rack", "client_id", "host")},
                **{key: member[key] for key in ("topology_epoch", "process_id", "end_point", "tags", "is_classic")},
                "offset_sums": member["offset_sums"] or {},
                "end_offset_sums": member["end_offset_sums"] or {},
                "current": {role: member[role] for role in ("active", "standby", "warm_up")},
                "target": {role: member["target"][role] for role in ("active", "standby", "warm_up")},
            }
            for member in found["members"]
        },
    }


def check_that_java_says_the_same(groups: Groups, name: str) -> None:
    """Compare all fields of one group, between two equal descriptions by Java: it may change in between."""
    compared: list[tuple[Any, Any]] = []

    def still() -> bool:
        before = groups.java.ask("streams", name)
        ours = as_java_says(groups.group(name))
        compared[:] = [(before, ours)]
        return before == groups.java.ask("streams", name)

    wait_until(still)
    ((java, ours),) = compared
    assert java == ours


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
    assert {"4.1.0 or later"} == {each["releases"] for each in found["members"]}
    check_that_java_says_the_same(groups, name)

    second.stop()
    first.stop()
    assert 0 == reported(groups.brokers, name, "--wait", "empty", "--timeout", "2m").returncode
    check_that_java_says_the_same(groups, name)


def test_a_member_waits_for_one_that_does_not_confirm(groups: Groups) -> None:
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
        live = live_group(GroupLookup(cluster.brokers, timeout_seconds=TIMEOUT_SECONDS).group("orders"), {})

    if not plugin:
        assert (None, None) == (found["topology_description"], live.topology)
        return
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


def test_a_consumer_group_as_java_describes_it(groups: Groups) -> None:
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
        found = groups.until(name, lambda group: group["state"] == "Stable" and len(group["members"]) == 2)
        java = groups.java.ask("consumer", name)

    assert ([], "uniform") == (codes(found), found["protocol"])
    keys = ("group", "type", "state", "protocol", "epoch", "assignment_epoch", "coordinator")
    assert java == {
        **{key: found[key] for key in keys},
        "authorized_operations": sorted(found["authorized_operations"]),
        "members": {
            member["member_id"]: {
                **{key: member[key] for key in ("epoch", "group_instance_id", "rack", "client_id", "host")},
                "is_classic": member["is_classic"],
                "current": sorted(member["partitions"]),
                "target": sorted(member["target"]["partitions"]),
            }
            for member in found["members"]
        },
    }


def test_a_release_cannot_be_waited_for(groups: Groups) -> None:
    name = f"release-{uuid4().hex[:8]}"
    groups.topics(**{f"{name}-data": 1, f"{name}-out": 1})
    member = groups.member(name, f"{name}-1")
    groups.until(name, lambda group: group["state"] == "Stable", member)

    done = reported(groups.brokers, name, "--wait", "release=4.3.1", "--timeout", "1m")
    assert 1 == done.returncode
    assert "expected a group of Kafka Streams, whose metadata shows releases" in done.stderr


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
