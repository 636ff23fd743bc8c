"""A real Kafka broker, from wherever this machine can get one."""

import os
import random
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm, program
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until

IMAGE = os.environ.get("STREAMS_ASSIGNOR_KAFKA_IMAGE", "confluentinc/cp-kafka:8.3.2")
RELEASE = "3.9.2"  # the last release that also understands the oldest clients
_CONTAINER_SECONDS = TIMEOUT_SECONDS
_signs: list[socket.socket] = []  # see `free_ports`
UNTIL_END_OF_INPUT = [
    "sh",
    "-c",
    # A JVM whose shutdown hook waits for a broker that has gone ends by force, also if no test is there to see to it.
    '"$@" & child=$!; cat > /dev/null; kill $child; '
    "{ sleep ${GRACE_SECONDS:-60}; kill -9 $child; } > /dev/null 2>&1 & wait $child; status=$?; kill $!; exit $status",
    "sh",
]
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={folder}/data
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
initial.broker.registration.timeout.ms=240000
group.min.session.timeout.ms=1000
log.cleaner.enable=false
"""


@contextmanager
def a_broker() -> Iterator[str]:
    """Its bootstrap address; `Unavailable` if there is no way to have one."""
    with ExitStack() as stack:
        try:
            bootstrap = stack.enter_context(_container())
        except Unavailable as no_container:
            try:
                bootstrap = stack.enter_context(_from_jars())
            except Unavailable as no_jars:
                raise Unavailable(f"{no_container}; {no_jars}") from None
        yield bootstrap


@contextmanager
def _container() -> Iterator[str]:
    from docker.errors import DockerException
    from requests.exceptions import RequestException  # the engine's client is built on it
    from testcontainers.community.kafka import KafkaContainer
    from testcontainers.core.exceptions import ContainerStartException

    problems = (DockerException, RequestException, ContainerStartException, TimeoutError, RuntimeError)
    try:
        container = KafkaContainer(IMAGE).with_kraft()
    except problems as error:
        raise Unavailable(f"no container engine answers (install Docker; {_words(error)})") from None
    try:
        try:
            container.start(timeout=_CONTAINER_SECONDS)
        except problems as error:
            why = f"no container of {IMAGE} starts ({_words(error)})"
            warnings.warn(why, stacklevel=1)  # there is an engine, so the caller counts on it
            raise Unavailable(why) from None
        yield container.get_bootstrap_server()
    finally:
        with suppress(*problems):
            container.stop()


@contextmanager
def _from_jars() -> Iterator[str]:
    java(), program("mvn")
    jars = class_path(f"org.apache.kafka:kafka_2.13:{RELEASE}")
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        properties = Path(folder, "server.properties")
        port, controller = free_ports(2)
        properties.write_text(PROPERTIES.format(port=port, controller=controller, folder=folder))
        storage = [*jvm(jars, "128m", "warn"), "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ"]
        done = subprocess.run(
            [*storage, "-c", str(properties)], capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
        assert 0 == done.returncode, done.stdout + done.stderr
        command = [*UNTIL_END_OF_INPUT, *jvm(jars, "384m", "info"), "kafka.Kafka", str(properties)]
        with Subprocess("the broker", command) as broker:
            wait_until(lambda: any("Kafka Server started" in line for line in broker.lines), broker)
            yield f"127.0.0.1:{port}"


def free_ports(number: int) -> list[int]:
    """Ports below those that outgoing connections take, so no connection takes them in between.

    Nor does a test in another process: until this one ends, it keeps the UDP ports of the same numbers as a sign.
    """
    found: list[int] = []
    while len(found) < number:
        port, sign = random.randrange(20_000, 30_000), socket.socket(type=socket.SOCK_DGRAM)
        try:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
            sign.bind(("127.0.0.1", port))
        except OSError:
            sign.close()
        else:
            found.append(port)
            _signs.append(sign)
    return found


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
