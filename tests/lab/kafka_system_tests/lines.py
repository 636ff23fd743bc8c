"""The lines that Kafka's tests wait for, printed by a member of this project.

Those of the log of Kafka Streams say the same as an event of `observability`, those of Kafka's client the same
as a line of the log of kafka-python.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType
from typing import Final

from streams_assignor.observability import events
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.protocol.member import ReceivedAssignment
from tests.lab.kafka_system_tests.applications import Application

_REBALANCING, _RUNNING = "REBALANCING", "RUNNING"
_OF_CLIENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Discovered coordinator": "Discovered group coordinator",
        "Connection failed": "Connection to node could not be established. Node may not be available.",
    }
)
"""Kafka's line, by the beginning of kafka-python's."""


def print_line(line: str) -> None:
    print(line, flush=True)


class ClientLog(logging.Handler):
    """Prints what kafka-python logs in the words of Kafka's client."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        logger = logging.getLogger("kafka")
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        for ours, theirs in _OF_CLIENT.items():
            if str(record.msg).startswith(ours):
                print_line(theirs)


class LogLines:
    """Prints the lines of Kafka Streams' log that Kafka's tests wait for."""

    def __init__(self) -> None:
        self._sent = 0

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.JoinSent():
                self._sent = event.used_version
            case events.AssignmentReceived():
                print_line(
                    f"Successfully joined group with generation Generation{{generationId={event.generation}, "
                    f"memberId='{event.member_id}', protocol='stream'}}"
                )
                if event.is_leader:
                    print_line(f"led generation {event.generation}")
                if event.follow_up is FollowUpReason.VERSION:
                    self._version_changed(event)
                if event.follow_up:
                    print_line(f"Triggering the followup rebalance scheduled for {event.follow_up.value}")
            case events.MemberFailed():
                print_line(f"failed: {event.exception_name}: {event.error}")

    def _version_changed(self, event: events.AssignmentReceived) -> None:
        sent, got, supported = self._sent, event.group_version, event.group_supported_version
        if got < sent:
            print_line(
                f"Sent a version {sent} subscription and got version {got} assignment back (successful version "
                f"probing). Downgrade subscription metadata to commonly supported version {supported} and trigger new "
                "rebalance."
            )
        else:
            print_line(
                f"Sent a version {sent} subscription and group's latest commonly supported version is {supported} "
                "(successful version probing and end of rolling upgrade). Upgrading subscription metadata version to "
                f"{supported} for next rebalance."
            )


class ProcessState:
    """The state of a process: RUNNING when all its threads have taken their tasks."""

    def __init__(self, application: Application, threads: int) -> None:
        self._application = application
        self._threads = threads
        self._taken: dict[int, ReceivedAssignment] = {}
        self._state = _REBALANCING
        self._lock = Lock()

    def on_rebalancing(self, thread: int) -> None:
        """A thread joins."""
        with self._lock:
            if self._taken.pop(thread, None):
                self._state = _REBALANCING

    def on_running(self, thread: int, taken: ReceivedAssignment) -> None:
        """A thread has taken its tasks; the last one of them makes the process RUNNING."""
        with self._lock:
            self._taken[thread] = taken
            if len(self._taken) == self._threads and self._state == _REBALANCING:
                self._state = _RUNNING
                self._print()

    def _print(self) -> None:
        print_line(f"State transition from {_REBALANCING} to {_RUNNING}")
        active = [inputs for taken in self._taken.values() for inputs in taken.active.values()]
        values = {
            "active": len(active),
            "standby": sum(len(taken.standby) for taken in self._taken.values()),
            "partitions": ",".join(f"{topic}-{number}" for inputs in active for topic, number in inputs),
        }
        for line in filter(None, (self._application.running, self._application.tasks)):
            print_line(line.format(**values))
