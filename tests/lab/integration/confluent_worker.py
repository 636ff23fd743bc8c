"""A process with a ``StreamsConsumer``: prints what happens to it, one line each, and ends with its standard input.

``joins``, ``joined GENERATION``, ``begins PARTITION SECONDS``, ``owns TASK...``, ``revoked ...``, ``lost ...``,
``read PARTITION OFFSET``, ``committed PARTITION OFFSET SECONDS``, ``refused CODE`` (a commit), ``died ERROR``.
The seconds are those of the machine (``time.monotonic()``), so they say what was first, also between processes.
With an output topic it copies each record to it, exactly once: ``open`` in the middle of each transaction; it may be
the command line names the one in which it is suspended (SIGSTOP).
"""

import json
import os
import signal
import sys
import time
from threading import Event, Thread

from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.observability.events import AssignmentReceived, JoinSent
from streams_assignor.rebalance_listener import PartitionsByTask, TaskRebalanceListener

COMMIT_SECONDS = 0.2
IN_TRANSACTION_SECONDS = 0.1
TIMEOUT_SECONDS = 240  # seconds


def print_line(*words: object) -> None:
    """In one piece, as there are two threads."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def observe(event: object) -> None:
    match event:
        case JoinSent():
            print_line("joins")
        case AssignmentReceived(generation=generation):
            print_line("joined", generation)


class ReportingListener(TaskRebalanceListener):
    def __init__(self) -> None:
        self.consumer: StreamsConsumer | None = None
        self.tasks: set[str] = set()

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
        self.tasks |= set(map(str, tasks))
        for task in tasks:
            print_line("begins", task.partition, time.monotonic())
        print_line("owns", *sorted(self.tasks))

    def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:
        if self.consumer is not None:
            commit(self.consumer)
        self._gone("revoked", tasks)

    def on_tasks_lost(self, tasks: PartitionsByTask) -> None:
        self._gone("lost", tasks)

    def offset_sums(self) -> dict[object, int]:
        return {}

    def _gone(self, what: str, tasks: PartitionsByTask) -> None:
        self.tasks -= set(map(str, tasks))
        print_line(what, *sorted(map(str, tasks)))
        print_line("owns", *sorted(self.tasks))


def commit(consumer: StreamsConsumer) -> None:
    try:
        for partition in consumer.commit(asynchronous=False) or ():
            print_line("committed", partition.partition, partition.offset, time.monotonic())
    except KafkaException as error:
        if error.args[0].name() != "_NO_OFFSET":
            print_line("refused", error.args[0].name())


def read_and_commit(consumer: StreamsConsumer, stopping: Event) -> None:
    due = time.monotonic()
    while not stopping.is_set():
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            print_line("read", message.partition(), message.offset())
        if time.monotonic() > due:
            commit(consumer)
            due = time.monotonic() + COMMIT_SECONDS


def copy_exactly_once(
    consumer: StreamsConsumer, stopping: Event, producer: Producer, output: str, sleeps_in: int | None
) -> None:
    producer.init_transactions(TIMEOUT_SECONDS)
    opened = 0
    while not stopping.is_set():
        messages = [message for message in consumer.consume(50, 0.1) if not message.error()]
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(output, message.value(), key=f"{message.partition()}:{message.offset()}")
        producer.flush(TIMEOUT_SECONDS)
        print_line("open", len(messages))
        opened += 1
        if opened == sleeps_in:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(IN_TRANSACTION_SECONDS)
        try:
            producer.send_offsets_to_transaction(next_offsets(messages), consumer.consumer_group_metadata())
            producer.commit_transaction(TIMEOUT_SECONDS)
        except KafkaException as error:
            print_line("refused", error.args[0].name())
            producer.abort_transaction(TIMEOUT_SECONDS)
            reset_to_committed(consumer, messages)


def next_offsets(messages: list[Message]) -> list[TopicPartition]:
    ends = {(message.topic(), message.partition()): message.offset() + 1 for message in messages}
    return [TopicPartition(*name, offset) for name, offset in ends.items()]


def reset_to_committed(consumer: StreamsConsumer, messages: list[Message]) -> None:
    """Where the transaction began, unless others have that partition by now."""
    starts: dict[tuple[str, int], int] = {}
    for message in messages:
        starts.setdefault((message.topic(), message.partition()), message.offset())
    mine = {(partition.topic, partition.partition) for partition in consumer.assignment()}
    for name, offset in starts.items():
        if name in mine:
            consumer.seek(TopicPartition(*name, offset))


def main() -> None:
    given = json.loads(sys.argv[1])
    topology = Topology.of(Subtopology(sources=[given["source"]], changelogs=given.get("changelogs", ())))
    stopping = Event()
    Thread(target=lambda: (sys.stdin.read(), stopping.set()), daemon=True).start()
    listener = ReportingListener()
    try:
        with StreamsConsumer(given["config"], topology, listener=listener, observer=observe) as consumer:
            if output := given.get("output"):
                producer = Producer(
                    {
                        "bootstrap.servers": given["config"]["bootstrap.servers"],
                        "transactional.id": given["transactional_id"],
                        "transaction.timeout.ms": 2000 * TIMEOUT_SECONDS,  # the broker is not to end what sleeps
                    }
                )
                copy_exactly_once(consumer, stopping, producer, output, given["sleeps_in"])
            else:
                listener.consumer = consumer
                read_and_commit(consumer, stopping)
    except (FatalError, KafkaException) as error:
        print_line("died", error)
        sys.exit(1)
    print_line("ended")


if __name__ == "__main__":
    main()
