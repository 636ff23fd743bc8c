"""Real KRaft clusters of several nodes and releases, at a given metadata.version; nodes come and go one by one."""

from __future__ import annotations

import base64
import signal
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from streams_assignor.upgrade.releases import NEWEST as NEWEST_RELEASE
from tests.lab.integration.kafka_jars import class_path, jvm
from tests.lab.integration.nodes import Node, format_storage, free_ports, start_node
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until

NEWEST = "4.3.1"  # the newest release with which all stored runs were made
OLDER = "3.9.2"  # the last one before it
TOOLS = Path(__file__).parent / "java" / "Tools.java"
_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
_BROKER, _CONTROLLER = "broker", "controller"
_READY = "Kafka Server started"
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_PROPERTIES = """\
process.roles={roles}
node.id={id}
{quorum}
controller.listener.names=CONTROLLER
listeners={listeners}
log.dirs={folder}/data
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.cleaner.enable=false
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=5000
initial.broker.registration.timeout.ms=240000
{more}
"""


class Cluster:
    """One cluster in a folder: `controllers` of them vote, and any node that is started may be a broker too.

    Nodes run in containers where there is an engine, as processes on Kafka's jars elsewhere. The first nodes, 1 to
    `controllers`, are the voters, whether they are started or not; `others` may come after them.
    """

    in_containers: ClassVar[bool] = True

    def __init__(
        self,
        folder: Path,
        metadata: str = "4.0-IV3",
        controllers: int = 1,
        others: int = 1,
        *,
        is_standalone: bool = False,
    ) -> None:
        """``is_standalone``: the quorum is dynamic, with node 1 alone (KIP-853, from 3.9 on)."""
        self._is_standalone = is_standalone
        self._folder = folder
        self._metadata = metadata
        nodes = range(1, controllers + others + 1)
        ports = free_ports(2 * len(nodes))
        self._ports = {node: ports[2 * node - 2 : 2 * node] for node in nodes}
        self._voters = range(1, controllers + 1)
        self._running: dict[int, Node] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for node in list(self._running):
                stack.callback(self.kill, node)

    @property
    def brokers(self) -> str:
        """Bootstrap address of node 1."""
        return self.broker(1)

    @property
    def controllers(self) -> str:
        """Bootstrap addresses of the voters."""
        return ",".join(self.controller(node) for node in self._voters)

    def node(self, node: int) -> Node:
        """A node that runs."""
        return self._running[node]

    def broker(self, node: int) -> str:
        return f"127.0.0.1:{self._ports[node][0]}"

    def controller(self, node: int) -> str:
        return f"127.0.0.1:{self._ports[node][1]}"

    def start(self, node: int, release: str = NEWEST, **how: Any) -> Node:
        """Start a node and return when it is ready."""
        child = self.launch(node, release, **how)
        self.wait(node)
        return child

    def launch(
        self,
        node: int,
        release: str = NEWEST,
        *,
        roles: str | None = None,
        settings: Mapping[str, str] = NO_SETTINGS,
        metadata: str | None = None,
    ) -> Node:
        """Start a node, with settings that win over those that all nodes have.

        A new node of `NEWEST` begins at the cluster's metadata.version, one of another release at `metadata`, or
        without it at the level of its release.
        """
        roles = roles or (f"{_BROKER},{_CONTROLLER}" if node in self._voters else _BROKER)
        folder = self._folder / str(node)
        folder.mkdir(parents=True, exist_ok=True)
        properties = folder / "server.properties"
        properties.write_text(self._properties(node, roles, folder, settings))
        shared = self._folder if self.in_containers else None
        if not (folder / "data").exists():
            level = metadata or (self._metadata if release == NEWEST else None)
            version = ["--release-version", level] if level else []
            version += ["--standalone"] if self._is_standalone else []
            format_storage(release, properties, shared, "-t", _ID, *version)
        name = f"node {node} ({release})"
        self._running[node] = start_node(name, release, properties, shared)
        return self._running[node]

    def wait(self, node: int, line: str = _READY) -> None:
        """Return as soon as a node has logged something."""
        child = self._running[node]
        wait_until(lambda: any(line in output for output in child.lines), child)

    def signal(self, node: int, number: signal.Signals) -> None:
        """Send a signal to a node: SIGSTOP freezes it, SIGCONT lets it go on."""
        self._running[node].signal(number)

    def stop(self, node: int) -> None:
        """Let a node end in its own time, as it would for an upgrade; the cluster still knows it."""
        self._running.pop(node).stop()

    def kill(self, node: int) -> None:
        """End a node at once; a broker without a majority of controllers would try for long to leave in peace."""
        with suppress(ProcessLookupError):
            self.signal(node, signal.SIGKILL)
        self._running.pop(node).stop()

    def _properties(self, node: int, roles: str, folder: Path, settings: Mapping[str, str]) -> str:
        listeners = {_BROKER: f"PLAINTEXT://{self.broker(node)}", _CONTROLLER: f"CONTROLLER://{self.controller(node)}"}
        voters = ",".join(f"{voter}@{self.controller(voter)}" for voter in self._voters)
        if self._is_standalone:
            quorum = f"controller.quorum.bootstrap.servers={self.controllers}"
        else:
            quorum = f"controller.quorum.voters={voters}"
        return _PROPERTIES.format(
            roles=roles,
            id=node,
            quorum=quorum,
            listeners=",".join(listeners[role] for role in roles.split(",")),
            folder=folder,
            more="\n".join(f"{key}={value}" for key, value in settings.items()),
        )


class ToolOutput(NamedTuple):
    """What a command line tool left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


class JavaTools:
    """Kafka's own tools of the newest release, in one JVM (`java/Tools.java`)."""

    def __init__(self) -> None:
        jars = class_path(f"org.apache.kafka:kafka-tools:{NEWEST_RELEASE}")
        self._process = subprocess.Popen(
            [*jvm(jars, "128m", "off"), str(TOOLS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(TIMEOUT_SECONDS)
        self._process.stdout.close()

    def features(self, *arguments: str) -> ToolOutput:
        """``kafka-features``"""
        return self.call("FeatureCommand", *arguments)

    def call(self, tool: str, *arguments: str) -> ToolOutput:
        """Call a tool of the package ``org.apache.kafka.tools``."""
        print("\x1f".join((tool, *arguments)), file=self._process.stdin, flush=True)
        status, *output, _ = self._process.stdout.readline().split(" ")
        return ToolOutput(int(status), *(base64.b64decode(text.removeprefix("=")).decode() for text in output))
