"""A plain consumer of librdkafka: ``python -m tests.lab.integration.plain_member TOPICS name=value...``.

Standard input tells it what to do: ``subscribe TOPICS`` (comma-separated), ``stall`` (it stops polling). It leaves the
group when its input ends.
"""

import sys
import time
from queue import Empty, SimpleQueue
from threading import Thread

from confluent_kafka import Consumer


def main(topics: str, *settings: str) -> None:
    consumer = Consumer(dict(each.split("=", 1) for each in settings))
    consumer.subscribe(topics.split(","))
    commands: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            commands.put(line.strip())
        commands.put("end")

    Thread(target=listen, daemon=True).start()
    stalls = False
    while True:
        try:
            word, _, value = commands.get_nowait().partition(" ")
        except Empty:
            word = ""
        if word == "end":
            break
        if word == "subscribe":
            consumer.subscribe(value.split(","))
        stalls = stalls or word == "stall"
        time.sleep(0.2) if stalls else consumer.poll(0.2)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
