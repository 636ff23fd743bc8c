"""A worker of a chaos run: one member of the group, as a process. ``python -m tests.chaos.worker SETTINGS``.

It tells each record that it has processed before it commits. Orders come on standard input: ``slow SECONDS`` makes its
assignments take that long, ``clock SECONDS`` puts its wall clock that far off, each from then on. It ends with its
input or with SIGTERM.
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


class WallClock:
    """Python's wall clock, made to jump; clocks that only go on stay right, as they do when NTP sets the time."""

    def __init__(self) -> None:
        self.off = 0.0
        true, true_ns = time.time, time.time_ns
        time.time = lambda: true() + self.off
        time.time_ns = lambda: true_ns() + int(self.off * 1e9)


class Surroundings:
    """What a worker hears and says."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._slow = 0.0
        self._clock = WallClock()  # before a client is imported

    def tell(self, event: Event) -> None:
        """One write for each line: a process that is killed leaves whole lines only."""
        os.write(1, f"{to_line(event, time.time())}\n".encode())

    def listen(self) -> None:
        """Follow orders until there are none any more."""
        for line in sys.stdin:
            order, value = line.split()
            match order:
                case "slow":
                    self._slow = float(value)
                case "clock":
                    self._clock.off = float(value)
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
