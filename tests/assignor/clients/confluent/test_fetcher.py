"""Where a member begins to read."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition

from streams_assignor.clients.confluent import _record_buffer
from streams_assignor.clients.confluent._fetcher import RecordFetcher, partition_key
from streams_assignor.clients.confluent._record_buffer import PartitionKey, RecordBuffer, message_partition
from streams_assignor.codec import TaskId
from streams_assignor.codec import TopicPartition as Partition
from streams_assignor.rebalance_listener import NoOpListener, TaskRebalanceListener
from tests.assignor.clients.confluent.test_interrupts import Librdkafka, made_message

TASKS = {TaskId(0, number): frozenset({Partition("data", number)}) for number in (0, 1)}
UNSTABLE = KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT)


class Consumer:
    """As much of a ``confluent_kafka.Consumer`` as is asked for."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.says: list[Any] = []
        self.reads: dict[tuple[str, int], int] = {}
        self.paused: set[tuple[str, int]] = set()

    def committed(self, partitions: Iterable[TopicPartition], timeout: float) -> list[Any]:
        assert timeout > 0
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [
            SimpleNamespace(
                topic=each.topic,
                partition=each.partition,
                offset=-1001 if isinstance(answer[each.partition], KafkaError) else answer[each.partition],
                error=answer[each.partition] if isinstance(answer[each.partition], KafkaError) else None,
            )
            for each in partitions
        ]

    def incremental_assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.reads.update({partition_key(each): each.offset for each in partitions})

    def incremental_unassign(self, partitions: Iterable[TopicPartition]) -> None:
        for each in partitions:
            del self.reads[partition_key(each)]

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self.paused.update(map(partition_key, partitions))

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return partitions

    def consume(self, number: int, _timeout: float) -> list[Any]:
        said, self.says = self.says[:number], self.says[number:]
        return said

    def poll(self, _timeout: float) -> Any:
        return self.says.pop(0) if self.says else None


def records(*answers: Any, listener: TaskRebalanceListener | None = None) -> tuple[RecordFetcher, Consumer]:
    """Records of a member whose group answers so when it is asked what it has committed."""
    made = RecordFetcher(
        {"group.id": "g", "auto.offset.reset": "earliest"},
        listener or NoOpListener(),
        before_revocation=lambda: None,
        finish_commits=lambda **_: None,
    )
    made.consumer.close()
    consumer = Consumer(*answers)
    made.consumer = consumer  # type: ignore[misc,assignment]
    return made, consumer


@pytest.mark.parametrize(
    "refusal", [KafkaException(UNSTABLE), KafkaException(KafkaError(KafkaError._TIMED_OUT)), {0: UNSTABLE, 1: UNSTABLE}]
)
def test_offsets_in_an_unfinished_transaction_are_waited_for(refusal: Any) -> None:
    """Left to librdkafka, two partitions began at offset 0 and 6,573 records came twice, with exactly-once."""
    reading, consumer = records(refusal, refusal, {0: 3284, 1: 3289})

    reading.on_tasks_assigned(TASKS)
    assert {} == consumer.reads
    reading.fetch(0)
    assert {} == consumer.reads
    reading.fetch(0)
    assert {("data", 0): 3284, ("data", 1): 3289} == consumer.reads


def test_a_poll_that_waits_for_offsets_is_no_progress() -> None:
    """A member polled for ever beside a coordinator that did not tell them, and kept its tasks."""
    reading, _ = records(KafkaException(UNSTABLE), {0: 7, 1: UNSTABLE}, {1: 8})
    reading.on_tasks_assigned(TASKS)
    before = reading.progress()
    assert (
        "the committed offsets of data-0 and 1 more were not told (UNSTABLE_OFFSET_COMMIT)" == reading.unknown_offsets()
    )

    reading.fetch(0)
    assert before == reading.progress()
    assert "the committed offsets of data-1 were not told (UNSTABLE_OFFSET_COMMIT)" == reading.unknown_offsets()
    reading.consume(1, 0, [])
    reading.fetch(0)
    assert before != reading.progress()
    assert "" == reading.unknown_offsets()


def test_one_partition_does_not_wait_for_another() -> None:
    reading, consumer = records({0: 7, 1: UNSTABLE}, {1: 8})

    reading.on_tasks_assigned(TASKS)
    assert {("data", 0): 7} == consumer.reads
    reading.consume(1, 0, [])
    assert {("data", 0): 7, ("data", 1): 8} == consumer.reads


@pytest.mark.parametrize("by", ["fetch", "consume"])
@pytest.mark.parametrize(
    "code",
    [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED],
)
def test_a_refusal_of_committed_offsets_is_raised(code: int, by: str) -> None:
    """The partition was never read, and nothing said so."""
    refused = {0: 7, 1: KafkaError(code)}
    reading, consumer = records(refused, refused, KafkaException(KafkaError(code)), {1: 8})
    reading.on_tasks_assigned(TASKS)

    for _ in range(2):
        with pytest.raises(KafkaException) as raised:
            reading.fetch(0) if by == "fetch" else reading.consume(1, 0, [])
        assert code == raised.value.args[0].code()

    reading.fetch(0)
    assert {("data", 0): 7, ("data", 1): 8} == consumer.reads


def test_where_nothing_is_committed_auto_offset_reset_decides() -> None:
    reading, consumer = records({0: 7, 1: -1001})

    reading.on_tasks_assigned(TASKS)

    assert {("data", 0): 7, ("data", 1): OFFSET_BEGINNING} == consumer.reads


def test_a_seek_skips_the_lookup_of_committed_offsets() -> None:
    class Seeking(NoOpListener):
        def on_tasks_assigned(self, tasks: Any) -> None:  # noqa: ARG002
            reading.seek(TopicPartition("data", 1, 5))
            reading.pause([TopicPartition("data", 1)])

    reading, consumer = records({0: UNSTABLE}, listener=Seeking())

    reading.on_tasks_assigned(TASKS)

    assert {("data", 1): 5} == consumer.reads
    assert {("data", 1)} == consumer.paused


@pytest.mark.parametrize("by", ["poll", "consume"])
def test_errors_of_the_group_are_no_records(by: str) -> None:
    """It could come out of ``poll`` before the ``FatalError`` that says the same."""
    denied, gone = (
        made_message(error=KafkaError(code))
        for code in (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError._ALL_BROKERS_DOWN)
    )
    reading, consumer = records()
    consumer.says = [denied, gone]
    read: list[Message] = []

    with_poll(reading, read) if by == "poll" else reading.consume(2, 0, read)
    assert [gone] == read


def with_poll(reading: RecordFetcher, read: list[Message]) -> None:
    for _ in range(2):
        reading.fetch(0)
        reading.buffer.take(1, read)


def test_a_record_before_an_error_of_the_group_is_returned() -> None:
    record, denied = made_message(value=b"x"), made_message(error=KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    reading, consumer = records()
    consumer.says = [record, denied]
    read = [earlier := made_message(value=b"y")]

    reading.consume(2, 0, read)
    assert [earlier, record] == read


def test_a_partition_revoked_before_it_was_read_is_dropped() -> None:
    reading, consumer = records({0: 7, 1: UNSTABLE})

    reading.on_tasks_assigned(TASKS)
    reading.on_tasks_lost(TASKS)
    reading.fetch(0)

    assert {} == consumer.reads
    assert {} == reading.tasks


def counted(buffer: RecordBuffer) -> dict[PartitionKey, int]:
    """The next offset of each partition, as the next commit has them."""
    with buffer.lock:
        (found,) = buffer.changes([buffer.end])
    return {name: offset for name, (offset, _) in found.items()}


def ends(messages: list[Message]) -> dict[PartitionKey, int]:
    return {message_partition(each): (each.offset() or 0) + 1 for each in messages}


def reading() -> RecordFetcher:
    made, _ = records()
    made.consumer = Librdkafka()  # type: ignore[misc,assignment]
    made.on_tasks_assigned(TASKS)
    made.buffer.start_counting()
    counted(made.buffer)
    return made


def test_a_commit_of_a_whole_batch_has_the_offsets_of_its_records_without_looking_at_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, found = reading(), list[Message]()
    made.consume(7, 0, found)
    monkeypatch.setattr(_record_buffer, "message_partition", None)

    assert ends(found) == counted(made.buffer)


@pytest.mark.parametrize("sizes", [(1, 2, 4), (3, 3, 3), (10_000, 5), (5, 10_000, 1)])
def test_commits_behind_each_batch_have_the_offsets_of_their_records(sizes: tuple[int, ...]) -> None:
    made = reading()
    for size in sizes:
        found: list[Message] = []
        made.consume(size, 0, found)
        if found:
            assert ends(found) == counted(made.buffer)


def test_a_commit_in_the_middle_of_a_batch_has_what_was_returned() -> None:
    made, found = reading(), list[Message]()
    made.consume(4, 0, found)
    made.buffer.put_back(found[2:])
    counted(made.buffer)  # reports the partitions that were put back
    again: list[Message] = []
    made.consume(1, 0, again)

    assert [found[2].offset()] == [each.offset() for each in again]
    assert ends(again) == counted(made.buffer)


def test_a_commit_that_waits_is_of_what_was_returned_before_it() -> None:
    made, first, waiting = reading(), list[Message](), list[dict[PartitionKey, int]]()
    made.consume(3, 0, first)
    made.buffer.before_change = lambda: waiting.append(counted(made.buffer))
    made.consume(3, 0, [])

    assert [ends(first)] == waiting


def test_a_partition_that_was_moved_and_not_read_is_in_no_commit() -> None:
    made, found = reading(), list[Message]()
    made.consume(4, 0, found)
    counted(made.buffer)
    made.seek(TopicPartition("data", 1, 0))
    more: list[Message] = []
    made.consume(1, 0, more)

    assert ends(more).keys() == counted(made.buffer).keys()
