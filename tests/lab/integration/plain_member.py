"""A plain consumer of librdkafka: ``python -m tests.lab.integration.plain_member TOPICS name=value...``.

Standard input tells it what to do: ``subscribe TOPICS`` (comma-separated), ``stall`` (it stops polling). It leaves the
group when its input ends, and ends with a fatal error.
"""

import sys
import time
from queue import Empty, SimpleQueue
from threading import Thread

from confluent_kafka import Consumer, KafkaException


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
        if stalls:
            time.sleep(0.2)
        elif not (message := consumer.poll(0.2)):
            continue
        elif not (error := message.error()):
            print("record", message.partition(), message.offset(), flush=True)
        elif error.code() == error._FATAL:
            raise KafkaException(error)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
