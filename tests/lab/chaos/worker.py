"""A worker of a chaos run: one member of the group, as a process. ``python -m tests.lab.chaos.worker SETTINGS``.

It tells each record that it has processed before it commits. Orders come on standard input: ``slow SECONDS`` makes its
assignments take that long from then on, ``pace SECONDS`` is the pause of a slow reader after each record. ``heap``
makes it collect its garbage and tell the size of its heap, ``trim`` also return what is free to the system. It ends
with its input or with SIGTERM.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import logging
import os
import signal
import sys
import threading
import time
from importlib import import_module

from streams_assignor.observability.event_fields import json_line
from streams_assignor.observability.events import AssignmentReceived, Event, JoinSent, MemberFailed, MemberStopped
from tests.lab.chaos.worker_events import PLAIN, SLOW_READER, EventLine, WorkerSettings, assigning, heap

WORKER_MODULES = {
    "kafka-python": "tests.lab.chaos.workers.kafka_python",
    "confluent": "tests.lab.chaos.workers.confluent",
    "exactly-once": "tests.lab.chaos.workers.exactly_once",
    "aiokafka": "tests.lab.chaos.workers.aiokafka",
    "per-record": "tests.lab.chaos.workers.per_record",
    f"kafka-python{PLAIN}": "tests.lab.chaos.workers.kafka_python",
    f"aiokafka{PLAIN}": "tests.lab.chaos.workers.aiokafka",
    SLOW_READER: "tests.lab.chaos.workers.per_record",
}
"""The worker of each kind: a module with a function ``run(settings, surroundings)``."""
OF_STREAMS_GROUPS = {"confluent", "exactly-once", "per-record", SLOW_READER}
"""The workers that can be members of a streams group: a ``StreamsConsumer`` each."""


class WorkerContext:
    """What a worker hears and says."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.pace = 0.0
        self._slow = 0.0

    def emit(self, event: Event | EventLine) -> None:
        """One write for each line: a process that is killed leaves whole lines only."""
        now = time.time()
        line = json.dumps({**event, "time": now}) if isinstance(event, dict) else json_line(event, now)
        if line is not None:
            os.write(1, f"{line}\n".encode())

    def observe(self, event: Event) -> None:
        """Emit what an assignor reports of its rebalances; ``main`` emits how the worker ends."""
        if isinstance(event, JoinSent | AssignmentReceived):
            self.emit(event)

    def read_commands(self) -> None:
        """Follow orders until there are none any more."""
        for line in sys.stdin:
            match line.split():
                case ["slow", seconds]:
                    self._slow = float(seconds)
                case ["pace", seconds]:
                    self.pace = float(seconds)
                case ["heap" | "trim" as order]:
                    gc.collect()
                    if order == "trim":
                        ctypes.CDLL(None).malloc_trim(0)
                    self.emit(heap(sys.getallocatedblocks()))
                case _:
                    raise ValueError(f"expected slow SECONDS, pace SECONDS, heap or trim, got {line!r}")
        self.stopping.set()

    def before_assignment(self) -> None:
        """A leader calls it before it assigns."""
        seconds = self._slow
        self.emit(assigning(seconds))
        time.sleep(seconds)


def main(settings: WorkerSettings) -> int:
    worker_context = WorkerContext()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker_context.stopping.set())
    faulthandler.register(signal.SIGUSR1)  # where is it? kill -USR1, then look into its log
    logging.basicConfig(level=os.environ.get("CHAOS_LOG", "CRITICAL"), format="%(asctime)s %(name)s %(message)s")
    threading.Thread(target=worker_context.read_commands, daemon=True).start()
    try:
        import_module(WORKER_MODULES[settings.kind]).run(settings, worker_context)
    except Exception as error:
        logging.getLogger().critical("it fails", exc_info=True)
        worker_context.emit(MemberFailed(error))
        return 1
    worker_context.emit(MemberStopped("told to"))
    return 0


if __name__ == "__main__":
    sys.exit(main(WorkerSettings(**json.loads(sys.argv[1]))))
