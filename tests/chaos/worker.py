"""A worker of a chaos run: one member of the group, as a process. ``python -m tests.chaos.worker SETTINGS``.

It tells each record that it has processed before it commits. Orders come on standard input: ``slow SECONDS`` makes its
assignments take that long from then on. It ends with its input or with SIGTERM.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import signal
import sys
import threading
import time
from importlib import import_module

from assignor.member_process import Failed, Stopped, to_line
from tests.chaos.events import Assigning, Event, WorkerSettings

KINDS = {
    "kafka-python": "tests.chaos.workers.kafka_python",
    "confluent": "tests.chaos.workers.confluent",
    "exactly-once": "tests.chaos.workers.exactly_once",
}
"""The worker of each kind: a module with a function ``run(settings, surroundings)``."""


class Surroundings:
    """What a worker hears and says."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._slow = 0.0

    def tell(self, event: Event) -> None:
        """One write for each line: a process that is killed leaves whole lines only."""
        os.write(1, f"{to_line(event, time.time())}\n".encode())

    def listen(self) -> None:
        """Follow orders until there are none any more."""
        for line in sys.stdin:
            order, value = line.split()
            assert order == "slow"
            self._slow = float(value)
        self.stopping.set()

    def assigning(self) -> None:
        """A leader calls it before it assigns."""
        seconds = self._slow
        self.tell(Assigning(seconds))
        time.sleep(seconds)


def main(settings: WorkerSettings) -> int:
    surroundings = Surroundings()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: surroundings.stopping.set())
    faulthandler.register(signal.SIGUSR1)  # where is it? kill -USR1, then look into its log
    logging.basicConfig(level=os.environ.get("CHAOS_LOG", "CRITICAL"), format="%(asctime)s %(name)s %(message)s")
    threading.Thread(target=surroundings.listen, daemon=True).start()
    try:
        import_module(KINDS[settings.kind]).run(settings, surroundings)
    except Exception as error:
        logging.getLogger().critical("it fails", exc_info=True)
        surroundings.tell(Failed(f"{type(error).__name__}: {error}"))
        return 1
    surroundings.tell(Stopped("told to"))
    return 0


if __name__ == "__main__":
    sys.exit(main(WorkerSettings(**json.loads(sys.argv[1]))))
