"""How a node of Kafka runs: in a container where there is an engine, otherwise as a process on Kafka's jars."""

import os
import random
import signal
import socket
import subprocess
from pathlib import Path

from tests.lab.integration import containers
from tests.lab.integration.kafka_jars import class_path, jvm
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess

UNTIL_END_OF_INPUT = [
    "sh",
    "-c",
    # A JVM whose shutdown hook waits for a broker that has gone ends by force, also if no test is there to see to it.
    '"$@" & child=$!; cat > /dev/null; kill $child; '
    "{ sleep ${GRACE_SECONDS:-60}; kill -9 $child; } > /dev/null 2>&1 & wait $child; status=$?; kill $!; exit $status",
    "sh",
]
_signs: list[socket.socket] = []  # see `free_ports`


class Process(Subprocess):
    """A node as a process: the shell of `UNTIL_END_OF_INPUT`, and Java."""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to both."""
        os.killpg(self._process.pid, number)  # it leads a group of its own


Node = Process | containers.Container


def start_node(name: str, release: str, properties: Path, shared: Path | None) -> Node:
    """Start a node with the settings of a file, in a container that shares a folder; None: as a process."""
    if shared and (image := containers.image(release)):
        return containers.Container(name, image, [containers.SERVER, str(properties)], shared)
    jars = class_path(_jar(release))
    return Process(name, [*UNTIL_END_OF_INPUT, *jvm(jars, "384m", "info"), "kafka.Kafka", str(properties)])


def format_storage(release: str, properties: Path, shared: Path | None, *arguments: str) -> None:
    """Run ``kafka-storage format`` for a node; `shared` as in `start_node`."""
    command = ["format", "-c", str(properties), *arguments]
    if shared and (image := containers.image(release)):
        tool = containers.Container("kafka-storage", image, [containers.STORAGE, *command], shared)
        assert 0 == tool.wait(), tool.lines
        return
    java = jvm(class_path(_jar(release)), "128m", "warn")
    done = subprocess.run(
        [*java, "kafka.tools.StorageTool", *command], capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert 0 == done.returncode, done.stdout + done.stderr


def _jar(release: str) -> str:
    return f"org.apache.kafka:kafka_2.13:{release}"


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
