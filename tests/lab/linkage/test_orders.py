"""The application of docs/how-to/your-application.md: what --app and --config say, and how it ends on Kafka's jars."""

import os
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from streams_assignor.cli.plan.application_settings import read_settings
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.code_report import judge_code
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.settings import judge_settings
from streams_assignor.upgrade.releases import RELEASES
from tests.lab.integration.brokers import a_broker
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm, program

pytestmark = [pytest.mark.java, pytest.mark.slow]

ORDERS = Path(__file__).parent / "orders"
SOURCES = "src/main/java/com/example/orders"
OLD, NEW = RELEASES["2.8.2"], RELEASES["4.4.0"]
MAIN = "com.example.orders.OrdersApplication"
TOPICS = ("orders", "vip-orders", "orders-by-letter", "orders-per-letter")


def built(folder, name, *, raised=False, own=False, traced=True, pom="before"):
    """A folder with the classes and libraries of the application: ``own`` with its own code changed for 4.x."""
    project = folder / name
    shutil.copytree(ORDERS / "before", project)
    if own:
        for each in ("OrdersTopology.java", "Audit.java"):
            shutil.copy(ORDERS / "after" / SOURCES / each, project / SOURCES / each)
        resources = "src/main/resources/application.properties"
        shutil.copy(ORDERS / "after" / resources, project / resources)
    if not traced:
        (project / SOURCES / "Tracing.java").unlink()
    shutil.copy(ORDERS / pom / "pom.xml", project / "pom.xml")
    version = [f"-Dkafka.version={NEW.name}"] if raised else []
    done = subprocess.run(
        [program("mvn"), "-B", "-q", "-Dstyle.color=never", *version, "package"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        pytest.skip(f"Maven does not build the application (is there a network?): {done.stdout[-300:]}")
    return project / "target" / "orders-1.0.jar"


def run(jar, folder, *, replaced=False, bootstrap="localhost:1", until=""):
    """Start the application; with ``replaced``, on Kafka's jars of 4.4.0. Return what it prints."""
    with ZipFile(jar) as archive:
        archive.extractall(folder)
    libraries = sorted(map(str, (folder / "BOOT-INF/lib").glob("*.jar")))
    if replaced:
        others = ("kafka-", "connect-", "rocksdbjni", "lz4-java", "snappy-java", "zstd-jni")
        new = class_path(f"org.apache.kafka:kafka-streams:{NEW.name}").split(os.pathsep)
        libraries = [each for each in libraries if not Path(each).name.startswith(others)]
        libraries += [each for each in new if Path(each).name.startswith(others)]
    command = jvm(os.pathsep.join((str(folder / "BOOT-INF/classes"), *libraries)), "300m", "off")
    settings = [f"-Dspring.kafka.streams.state-dir={folder}/state"]
    environment = {**os.environ, "KAFKA": bootstrap}
    lines = []
    with subprocess.Popen(
        [*command[:1], *settings, *command[1:], MAIN],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as process:
        for line in process.stdout:
            lines.append(line)
            if until and until in line:
                process.terminate()
    return "".join(lines)


def predicted(jar):
    return {(each.error, each.member) for each in judge_code([jar], OLD, NEW).linkage.new_problems}


@pytest.fixture
def jars(tmp_path):
    try:
        java(), program("mvn")
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    return tmp_path


def test_the_old_application_ends_with_its_own_code_on_the_new_jars(jars):
    jar = built(jars, "before")
    output = run(jar, jars / "run", replaced=True)

    assert ("NoSuchMethodError", "branch") in predicted(jar)
    assert "NoSuchMethodError: 'org.apache.kafka.streams.kstream.KStream[] " in output
    assert "KStream.branch(org.apache.kafka.streams.kstream.Predicate[])'" in output
    settings = read_settings(ORDERS / "before/src/main/resources/application.properties")
    report = judge_settings(settings, configuration_of(OLD), configuration_of(NEW), code_of(NEW))
    refused = [each.key for each in report.stopping]
    assert ["processing.guarantee"] == refused


def test_with_new_code_the_tracing_library_ends_it(jars):
    """AbstractMethodError by a wrapping consumer."""
    jar = built(jars, "traced", own=True, raised=True)
    output = run(jar, jars / "run")

    assert ("AbstractMethodError", "registerMetricForSubscription") in predicted(jar)
    assert "AbstractMethodError: Receiver class brave.kafka.clients.TracingConsumer" in output
    assert "'abstract void registerMetricForSubscription(" in output


def test_without_it_the_framework_ends_it(jars):
    jar = built(jars, "framework", own=True, raised=True, traced=False)
    output = run(jar, jars / "run")

    assert ("NoSuchMethodError", "setUncaughtExceptionHandler") in predicted(jar)
    assert "KafkaStreams.setUncaughtExceptionHandler(java.lang.Thread$UncaughtExceptionHandler)'" in output


@pytest.mark.broker
def test_the_raised_application_loses_nothing_and_runs(jars):
    from confluent_kafka.admin import AdminClient, NewTopic

    jar = built(jars, "after", own=True, traced=False, pom="after")
    assert set() == predicted(jar)
    try:
        with a_broker() as bootstrap:
            admin = AdminClient({"bootstrap.servers": bootstrap})
            made = admin.create_topics([NewTopic(each, 2, 1) for each in TOPICS])
            for each in made.values():
                each.result(60)
            output = run(jar, jars / "run", bootstrap=bootstrap, until="State transition from REBALANCING to RUNNING")
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")
    assert "State transition from REBALANCING to RUNNING" in output
