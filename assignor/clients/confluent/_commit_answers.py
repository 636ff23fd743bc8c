"""Commits in the words of confluent-kafka: the offsets that a call means, and the calls of ``on_commit``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from confluent_kafka import KafkaError, Message, TopicPartition

from streams_assignor.clients.confluent._errors import as_kafka_error
from streams_assignor.clients.confluent._fetcher import partition_key
from streams_assignor.clients.confluent._record_buffer import Offsets


class CommitAnswers:
    """Calls ``on_commit`` for each answered commit, on the user's thread.

    Args:
        on_commit: what the user has configured.
        callbacks: the calls that the next poll runs, in order.
    """

    def __init__(
        self,
        on_commit: Callable[[KafkaError | None, list[TopicPartition]], Any],
        callbacks: deque[Callable[[], None]],
    ) -> None:
        self._on_commit = on_commit
        self._callbacks = callbacks
        self._answers: deque[tuple[Iterator[Offsets], KafkaError | None]] = deque()

    def queue(self, commits: Sequence[Offsets], error: BaseException | None) -> None:
        """Call ``on_commit`` for each of these commits in the next poll; on the I/O thread."""
        self._answers.append((iter(commits), None if error is None else as_kafka_error(error)))
        if len(self._answers) == 1:  # otherwise a queued call takes these answers too
            self._callbacks.append(self._call_on_commits)

    def _call_on_commits(self) -> None:
        answers, on_commit = self._answers, self._on_commit
        try:
            while answers:  # a callback that polls runs this, too: each step takes what is the next one then
                commits, error = answers[0]
                if (committed := next(commits, None)) is None:
                    answers.popleft()
                else:
                    on_commit(error, topic_partitions(committed))
        finally:
            if answers:  # one has raised
                self._callbacks.appendleft(self._call_on_commits)


def next_offset(message: Message) -> Offsets:
    """Return the offset behind a record."""
    topic, number, offset = message.topic(), message.partition(), message.offset()
    if message.error() is not None or topic is None or number is None or offset is None:
        raise ValueError(f"expected a record to commit, got the error {message.error()}")
    return {(topic, number): (offset + 1, "")}


def offsets_of(partitions: Iterable[TopicPartition] | None) -> Offsets:
    """Return the offsets and metadata of partitions."""
    return {partition_key(partition): (partition.offset, partition.metadata or "") for partition in partitions or ()}


def topic_partitions(offsets: Offsets) -> list[TopicPartition]:
    """Return offsets as confluent-kafka does."""
    return [
        TopicPartition(*name, offset, metadata) if metadata else TopicPartition(*name, offset)
        for name, (offset, metadata) in offsets.items()
    ]
