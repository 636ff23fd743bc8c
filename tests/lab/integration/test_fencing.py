"""Members that another one has replaced, or may have replaced, deliver no record: on a real broker."""

import os
import signal
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.lab.integration.applications import Application
from tests.lab.integration.subprocesses import Subprocess, wait_until
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("suspended_member.py")
READERS = with_matrix(
    ["poll(0)", "poll(1000)", "for", "getone", "getmany", "async for"],
    ["poll(0)", "getmany"],
    "a further way to read of the same adapter",
)


class Reader(Subprocess):
    """A member of one of the two adapters: see its program."""

    def __init__(self, broker: str, application: Application, reader: str, instance: str = "", stops: int = 0) -> None:
        arguments = [reader, broker, application.name, application.source, instance, str(stops)]
        super().__init__(f"the member with {reader}", [sys.executable, str(PROGRAM), *arguments])

    def printed(self, word: str) -> bool:
        return any(line.split()[:1] == [word] for line in self.lines)

    def resume(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)


@pytest.mark.parametrize("reader", READERS)
def test_a_fenced_static_member_raises_from_every_poll(application: Application, broker: str, reader: str) -> None:
    """FENCED_INSTANCE_ID: kafka-python read on and aiokafka fenced the other member in turn."""
    application.send(2000)
    with Reader(broker, application, reader, "one") as first:
        wait_until(lambda: first.printed("record"), first)
        with Reader(broker, application, reader, "one") as second:
            wait_until(lambda: first.printed("closed"), second)
            errors = [line for line in first.lines if line.startswith("failed")]
            assert 2 == len(errors), first.lines[-5:]
            assert all(line.startswith("failed FatalError FencedInstanceIdException: ") for line in errors)
            after = first.lines[first.lines.index(errors[0]) :]
            assert [*errors, f"lost {' '.join(tasks(first))}", "closed"] == after
            read = len(second.lines)
            wait_until(lambda: len(second.lines) > read + 10, second)
            assert not second.printed("failed")


def tasks(reader: Reader) -> list[str]:
    return next(line.split()[1:] for line in reversed(reader.lines) if line.startswith("assigned"))


@pytest.mark.parametrize("reader", READERS)
def test_a_member_that_was_suspended_reads_nothing_before_it_knows(
    application: Application, broker: str, reader: str
) -> None:
    """After a pause beyond the session timeout the group has removed it, and it has many records in its buffer."""
    application.send(2000)
    admin = AdminClient({"bootstrap.servers": broker})
    with Reader(broker, application, reader, stops=20) as member:
        wait_until(lambda: member.printed("stopped"), member)
        wait_until(lambda: not admin.describe_consumer_groups([application.name])[application.name].result().members)
        member.resume()
        stopped = member.lines.index("stopped")
        wait_until(lambda: "record" in member.lines[stopped:], member)
        after = [line.split()[0] for line in member.lines[stopped + 1 :]]
        assert ["lost", "assigned", "record"] == after[:3]
