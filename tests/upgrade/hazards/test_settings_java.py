"""Rows about configuration and Java, asked of Kafka's own jars; no broker is needed."""

import os
import re
import subprocess
import zipfile
from functools import cache
from pathlib import Path

import pytest

from streams_assignor.upgrade import release_named
from streams_assignor.upgrade.hazards import HAZARDS, parse_subtopologies
from tests.lab.integration.kafka_jars import Unavailable, class_path, jvm
from tests.upgrade.end_points import ask

PROGRAM = Path(__file__).parents[1] / "java/Settings.java"
SERVERS = ("host", "host:port", ":8080", "host:8080", "http://host:8080")
GUARANTEES = [f"processing.guarantee={value}" for value in ("exactly_once", "exactly_once_beta", "exactly_once_v2")]
SEEN = {row.name: row.seen for row in HAZARDS}
CLASS_OF_JAVA = {7: 51, 8: 52, 11: 55}
TESTED = {
    "exactly-once-removed",
    "exactly-once-v2-unknown",
    "session-timeout-45-s",
    "session-timeout-10-s",
    "names-removed-in-3.0",
    "names-removed-in-4.0",
    "java-8",
    "java-11",
    "shared-store-builders",
    "separate-store-builders",
    "self-joins-optimized",
    "names-of-source-stores",
    "segments-of-1.0",
    "stores-of-suppressed-tables",
    "tables-without-store",
    "tables-without-store-of-2.7",
    "application-server-checked",
    "application-server-without-host",
    "default-serdes-removed",
    "replication-factor-of-brokers",
    "dns-lookup-default",
    "state-dir-of-2.8",
    "transaction-timeout-10-s",
    "in-flight-requests-refused",
    "bootstrap-servers-with-blanks",
    "internal-task-assignor-class",
    "commit-interval-verified",
    "suppliers-checked",
}
CLIENTS = PROGRAM.with_name("Clients.java")
TOO_MANY = "producer.max.in.flight.requests.per.connection=6"
BLANKS = "bootstrap.servers=localhost:9092 localhost:9093"

pytestmark = [pytest.mark.java, pytest.mark.slow]


@cache
def jars(release):
    try:
        return class_path(f"org.apache.kafka:kafka-streams:{release}")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {release}: {missing}")


@cache
def printed(release):
    settings = [*GUARANTEES, *(f"application.server={value}" for value in SERVERS)]
    command = [*jvm(jars(release), "128m", "off"), str(PROGRAM), *settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout.splitlines()


@cache
def of_clients(release):
    """The value of a default, a class or a setting in the clients of a member, by its name."""
    guarantee = "exactly_once" if release_named(release).number < (4,) else "exactly_once_v2"
    arguments = [guarantee, "client.dns.lookup=default", TOO_MANY, BLANKS]
    command = [*jvm(jars(release), "128m", "off"), str(CLIENTS), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stdout + done.stderr
    names = [
        *arguments[1:],
        "streams replication.factor",
        "streams state.dir",
        "producer transaction.timeout.ms",
        "serde",
        "commit.interval.ms",
        "request Produce",
        "request Fetch",
    ]
    names.append("class StickyTaskAssignor")
    lines = done.stdout.splitlines()
    return {name: line.removeprefix(f"{name} ") for name in names for line in lines if line.startswith(f"{name} ")}


def outcome(release, setting):
    (found,) = (line.partition(" ")[2] for line in printed(release) if line.startswith(f"{setting} "))
    return found


def has(release, name):
    return f"name {name}" in printed(release)


def java_of(release):
    """The major version of the class files."""
    (jar,) = (path for path in jars(release).split(os.pathsep) if path.endswith(f"kafka-streams-{release}.jar"))
    with zipfile.ZipFile(jar) as archive:
        return int.from_bytes(archive.read("org/apache/kafka/streams/StreamsConfig.class")[4:8], "big")


def test_exactly_once_is_removed():
    old, new = SEEN["exactly-once-removed"]
    (symptom,) = (row.symptom for row in HAZARDS if row.name == "exactly-once-removed")

    for setting in GUARANTEES[:2]:
        assert "OK" == outcome(old, setting)
    exception, _, text = outcome(new, GUARANTEES[0]).partition(" ")
    assert f'{exception} "{text}"' in symptom
    assert outcome(new, GUARANTEES[1]).startswith("ConfigException Invalid value exactly_once_beta")
    assert "OK" == outcome(old, GUARANTEES[2]) == outcome(new, GUARANTEES[2])


def test_exactly_once_v2_is_unknown():
    new, old = SEEN["exactly-once-v2-unknown"]

    assert "OK" == outcome(new, GUARANTEES[2])
    assert outcome(old, GUARANTEES[2]).startswith("ConfigException Invalid value exactly_once_v2")


def test_the_default_session_timeout_changes():
    old, new = SEEN["session-timeout-45-s"]

    assert (new, old) == SEEN["session-timeout-10-s"]
    assert "default session.timeout.ms 10000" in printed(old)
    assert "default session.timeout.ms 45000" in printed(new)


@pytest.mark.parametrize(
    ("row", "removed"),
    [
        (
            "names-removed-in-3.0",
            ("partition.grouper", "default.windowed.key.serde.inner", "default.windowed.value.serde.inner"),
        ),
        ("names-removed-in-4.0", ("retries", "auto.include.jmx.reporter")),
    ],
)
def test_names_are_removed(row, removed):
    old, new = SEEN[row]

    for name in removed:
        assert has(old, name)
        assert not has(new, name)


@pytest.mark.parametrize(("row", "before", "after"), [("java-8", 7, 8), ("java-11", 8, 11)])
def test_classes_are_of_a_newer_java(row, before, after):
    old, new = SEEN[row]

    assert (CLASS_OF_JAVA[before], CLASS_OF_JAVA[after]) == (java_of(old), java_of(new))


def run(release, program, *arguments):
    """The text that a program prints with the jars of a release."""
    command = [*jvm(jars(release), "128m", "off"), str(PROGRAM.with_name(program)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def described(release, program, *arguments):
    return parse_subtopologies(run(release, program, *arguments))


def test_streams_does_not_run_with_the_clients_of_another_release():
    """Of the hazard mixed-artifacts."""
    old, new = (jars(release).split(os.pathsep) for release in ("2.8.2", "3.9.2"))
    clients = next(path for path in old if "kafka-clients-" in path)
    mixed = os.pathsep.join(clients if "kafka-clients-" in path else path for path in new)
    command = [*jvm(mixed, "128m", "off"), str(PROGRAM), "application.server=host:80"]

    assert "NoSuchMethodError" in subprocess.run(command, capture_output=True, text=True, timeout=120).stderr


@pytest.mark.parametrize("release", ["2.8.2", "3.9.2", "4.3.1"])
def test_the_row_of_proxies_has_the_versions_of_the_jars(release):
    (told,) = (row.symptom for row in HAZARDS if row.name == "proxies")
    lines = re.findall(r"(\w+) (\d+)(?: and (\w+) (\d+))? \(([\d.]+)\)", told)
    newest = {}
    for name, version, also, other, line in lines:
        if release_named(line).number[:2] <= release_named(release).number[:2]:
            newest |= {name: version} | ({also: other} if also else {})

    assert newest == {name: of_clients(release)[f"request {name}"] for name in ("Produce", "Fetch")}


def test_a_supplier_has_to_make_a_new_object():
    old, new = (run(release, "SharedSupplier.java") for release in SEEN["suppliers-checked"])

    assert "OK\n" == old
    assert "generates single reference" in new


def test_a_shared_store_builder_makes_one_subtopology():
    old, new = SEEN["shared-store-builders"]

    assert (new, old) == SEEN["separate-store-builders"]
    assert (2, 1) == tuple(len(described(release, "SharedBuilder.java")) for release in (old, new))


def test_a_self_join_has_one_store():
    numbers = [len(described(release, "SelfJoin.java")[0].stores) for release in SEEN["self-joins-optimized"]]

    assert [2, 1] == numbers


@pytest.mark.parametrize(
    ("row", "program", "before", "after"),
    [
        ("names-of-source-stores", "SourceTable.java read", {"ordersSTATE-STORE"}, {"orders-STATE-STORE"}),
        ("tables-without-store", "SourceTable.java read", {"orders-STATE-STORE"}, set()),
        ("stores-of-suppressed-tables", "SuppressedTable.java", set(), {"orders-STATE-STORE"}),
        ("tables-without-store-of-2.7", "SourceTable.java filtered", {"orders-STATE-STORE"}, set()),
    ],
)
def test_a_source_table_has_another_store(row, program, before, after):
    def stores(release):
        found = {store for each in described(release, *program.split()) for store in each.stores}
        return {store.rpartition("-")[0] for store in found if store.startswith("orders")}

    assert [before, after] == list(map(stores, SEEN[row]))


def test_directories_of_windows_have_names_that_older_releases_do_not_know():
    new, old = SEEN["segments-of-1.0"]

    assert "orders:0\n" == run("1.0.0", "SegmentNames.java")
    assert "orders.0\n" == run(new, "SegmentNames.java")
    assert ["-1", "0"] == run(old, "SegmentNames.java", "orders.0", "orders-197001010000").splitlines()[1:]


def test_application_server_is_checked():
    old, new = SEEN["application-server-checked"]

    assert {"OK"} == {outcome(old, f"application.server={value}") for value in SERVERS}
    for value in SERVERS:
        found = outcome(new, f"application.server={value}")
        assert found.startswith("OK" if value.endswith("host:8080") else f"ConfigException Invalid value {value} for")


def test_application_server_has_a_host_after_a_scheme_only():
    old, new = SEEN["application-server-without-host"]

    assert [["host", 80]] == ask(old, ["user@host:80"])
    assert ["refused"] == ask(new, ["user@host:80"])


@pytest.mark.parametrize(
    ("row", "what", "before", "after"),
    [
        ("default-serdes-removed", "serde", "OK", "ConfigException Please specify a key serde or set one through "),
        ("replication-factor-of-brokers", "streams replication.factor", "1", "-1"),
        ("dns-lookup-default", "client.dns.lookup=default", "OK", "ConfigException Invalid value default for "),
        ("state-dir-of-2.8", "streams state.dir", "/tmp/kafka-streams", "/elsewhere/kafka-streams"),
        ("transaction-timeout-10-s", "producer transaction.timeout.ms", "60000", "10000"),
        ("in-flight-requests-refused", TOO_MANY, "OK", "ConfigException To use the idempotent producer, max.in.flight"),
        ("bootstrap-servers-with-blanks", BLANKS, "OK", "ConfigException Invalid url in bootstrap.servers: "),
        ("commit-interval-verified", "commit.interval.ms", "OK", "IllegalArgumentException Transaction timeout 10000 "),
        ("internal-task-assignor-class", "class StickyTaskAssignor", "OK", "ClassNotFoundException "),
    ],
)
def test_clients_get_another_configuration(row, what, before, after):
    old, new = SEEN[row]

    assert before == of_clients(old)[what]
    assert of_clients(new)[what].startswith(after)
