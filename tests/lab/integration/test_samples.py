"""The loops of the documentation, as they stand there, while members join, leave and are killed."""

import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until

pytestmark = pytest.mark.broker
PAGES = Path(__file__).parents[3] / "docs" / "how-to"
PARTITIONS = 6
_FIRST = """
import os, sys, threading


def report(value):
    print("read", value.decode(), flush=True)


threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
"""
"""It ends with us."""


def sample(page: str, heading: str) -> str:
    """The first block of Python below a heading."""
    section = (PAGES / page).read_text().partition(f"{heading}\n")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found, f"{page} has no Python below {heading}"
    return found[1]


def with_kafka_python() -> str:
    text = sample("plugging-in.md", "## kafka-python")
    return text.replace("        ...\n", "        for record in records:\n            report(record.value)\n")


def with_aiokafka() -> str:
    first = sample("plugging-in.md", "## kafka-python").partition("streams = ")[0]
    second = sample("plugging-in.md", "## aiokafka")
    loop = second.replace("            ...\n", "            report(record.value)\n")
    return f"{first}\n{loop}\nimport asyncio\nasyncio.run(main())\n"


def with_confluent() -> str:
    text = sample("confluent.md", "# confluent-kafka")
    return text.replace("        ...\n", "        report(message.value())\n")


class Service:
    """The topics of a sample, what was sent to them, and the processes that run it."""

    def __init__(self, broker: str, text: str) -> None:
        self._broker, name = broker, uuid4().hex[:8]
        self._topics = {each: f"{each}-{name}" for each in ("orders", "customers")}
        names = {**self._topics, "billing": f"billing-{name}", "localhost:9092": broker}
        for old, new in names.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        text = text.replace(
            "enable_auto_commit=False,", "enable_auto_commit=False, session_timeout_ms=6000, heartbeat_interval_ms=500,"
        )
        text = text.replace('"auto.offset.reset"', '"session.timeout.ms": 6000, "auto.offset.reset"')
        self._program = _FIRST + text
        self.sent = 0
        admin = AdminClient({"bootstrap.servers": broker})
        made = admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in self._topics.values()])
        for future in made.values():
            future.result(TIMEOUT_SECONDS)

    def start(self, name: str) -> Subprocess:
        return Subprocess(name, [sys.executable, "-c", self._program])

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send a record to one partition after the other until the block ends."""
        done = Event()
        thread = Thread(target=self._send, args=(done,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _send(self, done: Event) -> None:
        producer = Producer({"bootstrap.servers": self._broker})
        while not done.wait(0.01):
            producer.produce(self._topics["orders"], str(self.sent).encode(), partition=self.sent % PARTITIONS)
            self.sent += 1
        assert producer.flush(TIMEOUT_SECONDS) == 0


def read(*members: Subprocess) -> Counter[int]:
    """How often each record was read."""
    return Counter(int(line.split()[1]) for each in members for line in [*each.lines] if line.startswith("read "))


@pytest.mark.parametrize("text", [with_kafka_python, with_aiokafka, with_confluent])
def test_a_loop_of_the_documentation_goes_on_and_loses_nothing(broker: str, text: Callable[[], str]) -> None:
    """The one of kafka-python ended with RebalanceInProgressError, status 1, when another member joined."""
    service = Service(broker, text())
    with ExitStack() as stack:
        with service.sending():
            first, second = (stack.enter_context(service.start(name)) for name in ("first", "second"))
            wait_until(lambda: all(read(each) for each in (first, second)), first, second)
            third = stack.enter_context(service.start("third"))
            wait_until(lambda: bool(read(third)), first, second, third)
            second.signal(signal.SIGINT)
            wait_until(lambda: second.ended, first, third)
            fourth = stack.enter_context(service.start("fourth"))
            wait_until(lambda: bool(read(fourth)), first, third, fourth)
            third.signal(signal.SIGKILL)
            wait_until(lambda: third.ended, first, fourth)
            at = service.sent
            wait_until(lambda: max(read(first, fourth)) > at, first, fourth)
        everybody = first, second, third, fourth
        wait_until(lambda: len(read(*everybody)) == service.sent, first, fourth)
        times = read(*everybody)

    doubled = sum(times.values()) - len(times)
    print(f"{service.sent} records sent, {service.sent - len(times)} lost, {doubled} doubled")
    assert set(times) == set(range(service.sent))
    assert doubled < service.sent
