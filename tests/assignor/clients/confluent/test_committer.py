"""Commits are merged behind the one in flight, and every one is answered in order."""

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from typing import Any

import kafka
import pytest
from confluent_kafka import KafkaError, Message

from streams_assignor.clients.confluent import _record_buffer
from streams_assignor.clients.confluent._committer import Answered, Committer
from streams_assignor.clients.confluent._record_buffer import Offsets, PartitionKey, RecordBuffer, next_offsets

LOST = kafka.errors.CommitFailedError("lost")


def record(partition: int, offset: int, *, error: KafkaError | None = None, size: int = 100) -> Message:
    return Message(topic="data", partition=partition, offset=offset, error=error, value=bytes(size))


class Group:
    """The requests, until they are answered."""

    def __init__(self) -> None:
        self.buffer = RecordBuffer(100_000, dict)
        self.sent: list[dict[int, int]] = []
        self.failures: list[BaseException] = []
        self.answer: Callable[[BaseException | None], None] = lambda _: None
        self.allowed: Callable[[], bool] = lambda: True
        self.accepts_now = False
        self.sent_now: list[float] = []
        self.committer = Committer(self.buffer, self.send, self._send_now, self.failures.append)

    def send(self, offsets: Offsets, answered: Any, allowed: Any) -> None:
        self.sent.append({number: offset for (_, number), (offset, _) in offsets.items()})
        self.answer, self.allowed = answered, allowed

    def _send_now(self, _offsets: Offsets, seconds: float) -> bool:
        self.sent_now.append(seconds)
        return self.accepts_now

    def read(self, *records: tuple[int, int]) -> list[Message]:
        """Fetch a batch, and return all of it."""
        messages = [record(*each) for each in records]
        self.fetch(*messages)
        self.buffer.take(len(messages), [])
        return messages

    def fetch(self, *messages: Message) -> None:
        self.buffer.receive(lambda *_: messages, len(messages), 0)
        self.buffer.fill()
        self.buffer.fit_batch()


def storing(answers: list[Any]) -> Answered:
    def answered(commits: Sequence[Offsets], error: BaseException | None) -> None:
        answers.extend(({n: offset for (_, n), (offset, _) in offsets.items()}, error) for offsets in commits)

    return answered


@pytest.fixture(name="group")
def fixture_group() -> Group:
    made = Group()
    made.buffer.start_counting()
    return made


def test_commits_behind_one_in_flight_are_one_request(group: Group) -> None:
    for offset in range(100):
        group.read((0, offset))
        group.committer.commit_returned()
    assert [{0: 1}] == group.sent

    group.answer(None)
    assert [{0: 1}, {0: 100}] == group.sent
    group.answer(None)
    assert [{0: 1}, {0: 100}] == group.sent


def test_every_commit_is_answered_in_order_with_its_own_offsets(group: Group) -> None:
    answers: list[Any] = []
    for number in (0, 1, 0):
        group.read((number, len(answers) + 10))
        group.committer.commit_returned(storing(answers))
    group.committer.commit({("data", 2): (7, "")}, storing(answers))
    assert [] == answers

    group.answer(None)
    assert [({0: 11}, None)] == answers
    assert {0: 11, 1: 11, 2: 7} == group.sent[-1]
    group.answer(LOST)
    assert [({0: 11}, None), ({1: 11}, LOST), ({0: 11}, LOST), ({2: 7}, LOST)] == answers


def test_commits_with_the_same_answer_are_answered_in_one_call(group: Group) -> None:
    """A loop that commits each record with `on_commit` had a third of the speed of a plain consumer."""
    calls: list[tuple[list[Offsets], BaseException | None]] = []

    def answered(commits: Sequence[Offsets], error: BaseException | None) -> None:
        calls.append(([*commits], error))

    group.read((0, 10))
    group.committer.commit_returned(answered)
    for offset in range(11, 13):  # a batch each
        group.read((0, offset), (1, offset))
        group.committer.commit_returned(answered)
    group.committer.commit({("data", 2): (7, "")}, answered)
    group.read((0, 13))
    group.committer.commit_returned(answered)
    group.committer.commit_returned(answered)

    group.answer(None)
    assert {0: 14, 1: 13, 2: 7} == group.sent[-1]
    group.answer(LOST)
    everything = {("data", 0): (14, ""), ("data", 1): (13, "")}
    assert [
        ([{("data", 0): (11, "")}], None),
        (
            [
                {("data", 0): (12, ""), ("data", 1): (12, "")},
                {("data", 0): (13, ""), ("data", 1): (13, "")},
                {("data", 2): (7, "")},
                {("data", 0): (14, "")},
                everything,
            ],
            LOST,
        ),
    ] == calls


def test_commits_that_nothing_waits_for_are_kept_as_one(group: Group) -> None:
    """A broker that does not answer for a minute costs no memory."""
    group.committer.commit({("data", 9): (1, "")})
    for offset in range(100):
        group.read((0, offset))
        group.committer.commit_returned()
        group.committer.commit({("data", 1): (offset, "")})
    waiting = [each.offsets for each in group.committer._waiting]
    assert [[{("data", 0): (100, ""), ("data", 1): (99, "")}]] == waiting


def test_a_commit_looks_at_each_returned_record_once_and_at_no_other(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`commit()` walked everything that was buffered: 123 records per second."""
    looked_at: list[Message] = []

    def look_at(messages: Collection[Message]) -> dict[PartitionKey, int]:
        looked_at.extend(messages)
        return next_offsets(messages)

    messages = [record(0, offset) for offset in range(500)]
    group.fetch(*messages)
    monkeypatch.setattr(_record_buffer, "next_offsets", look_at)
    for _ in range(100):
        group.buffer.take(1, [])
        group.committer.commit_returned()
        group.answer(None)

    assert messages[:100] == looked_at
    assert {0: 100} == group.sent[-1]


def test_a_commit_has_the_records_returned_when_it_was_called(group: Group) -> None:
    """The request is made later, when the user has received more."""
    group.committer.commit({("data", 9): (1, "")})
    group.fetch(*(record(0, offset) for offset in range(4)))
    group.buffer.take(2, [])
    group.committer.commit_returned()
    group.buffer.take(2, [])
    group.read((0, 4))
    group.answer(None)

    assert {0: 2} == group.sent[-1]


def test_what_was_not_committed_is_part_of_the_next_commit(group: Group) -> None:
    group.read((0, 5))
    group.committer.commit_returned()
    group.answer(LOST)
    assert [LOST] == group.failures
    group.read((1, 6))
    group.committer.commit_returned()

    assert {0: 6, 1: 7} == group.sent[-1]


def test_a_commit_of_nothing_new_commits_all_again(group: Group) -> None:
    answers: list[Any] = []
    group.committer.commit_returned(storing(answers))
    assert [] == group.sent
    group.read((0, 5))
    for _ in range(2):
        group.committer.commit_returned(storing(answers))
        group.answer(None)

    assert [{0: 6}, {0: 6}] == group.sent
    assert 2 == len(answers)


def test_no_commit_outlives_the_ownership(group: Group) -> None:
    """It could overwrite what the next owner has committed."""
    answers: list[Any] = []
    group.read((0, 5))
    group.committer.commit_returned(storing(answers))
    late, still_allowed = group.answer, group.allowed
    group.read((0, 6))
    group.committer.commit_returned(storing(answers))
    assert still_allowed()
    group.committer.finish(0, LOST)

    assert [({0: 6}, LOST), ({0: 7}, LOST)] == answers
    assert not still_allowed()
    late(None)
    assert 1 == len(group.sent)
    assert 2 == len(answers)
    group.committer.commit({("data", 1): (3, "")})
    assert {1: 3} == group.sent[-1]


def test_a_synchronous_commit_retries_until_the_rebalance_has_ended(group: Group) -> None:
    errors: list[BaseException | None] = [
        kafka.errors.RebalanceInProgressError(),
        kafka.errors.NotCoordinatorError(),
        None,
    ]

    def send(_offsets: Offsets, answered: Any, _allowed: Any) -> None:
        answered(errors.pop(0))

    committer = Committer(group.buffer, send, lambda *_: False, group.failures.append)
    committer.commit_and_wait({("data", 0): (1, "")}, 10, lambda: False)
    assert [] == errors

    for refusal, given_up in ((LOST, False), (kafka.errors.RebalanceInProgressError(), True)):
        errors.append(refusal)
        with pytest.raises(type(refusal)):
            committer.commit_and_wait({("data", 0): (1, "")}, 10, lambda given_up=given_up: given_up)  # type: ignore[misc]


def test_a_synchronous_commit_is_first_tried_on_the_calling_thread(group: Group) -> None:
    group.accepts_now = True
    group.committer.commit_and_wait({("data", 0): (1, "")}, 8, lambda: False)
    assert ([2.0], []) == (group.sent_now, group.sent)

    group.committer.commit({("data", 1): (1, "")})  # one at a time: behind one in flight it waits
    with pytest.raises(kafka.errors.KafkaTimeoutError):
        group.committer.commit_and_wait({("data", 0): (2, "")}, 0, lambda: False)
    assert ([2.0], [{1: 1}]) == (group.sent_now, group.sent)
    group.answer(None)
    assert {0: 2} == group.sent[-1]


def test_commits_wait_for_the_one_on_the_calling_thread(group: Group) -> None:
    def sending(*_: object) -> bool:
        group.read((0, 5))
        committer.commit_returned()
        assert [] == group.sent
        return True

    committer = Committer(group.buffer, group.send, sending, group.failures.append)
    committer.commit_and_wait({("data", 1): (1, "")}, 8, lambda: False)
    assert [{0: 6}] == group.sent


@pytest.mark.parametrize("accepted", [True, False])
def test_a_commit_on_the_calling_thread_does_not_outlive_the_ownership(group: Group, accepted: bool) -> None:
    """`close` from another thread gives it up; it is not sent again."""

    def sending(*_: object) -> bool:
        committer.finish(0, LOST)
        return accepted

    committer = Committer(group.buffer, group.send, sending, group.failures.append)
    lost = pytest.raises(kafka.errors.CommitFailedError)
    with nullcontext() if accepted else lost:
        committer.commit_and_wait({("data", 1): (1, "")}, 8, lambda: False)
    assert ([], []) == (group.sent, group.failures)


def test_a_synchronous_commit_without_an_answer_times_out(group: Group) -> None:
    with pytest.raises(kafka.errors.KafkaTimeoutError):
        group.committer.commit_and_wait({("data", 0): (1, "")}, 0, lambda: False)


def test_errors_are_no_records(group: Group) -> None:
    group.fetch(record(0, 5), record(0, 6, error=KafkaError(KafkaError._PARTITION_EOF)))
    group.buffer.take(2, [])

    assert {("data", 0): (6, "")} == group.committer.uncommitted()


def test_a_batch_of_large_records_is_small() -> None:
    """Each batch had 500 records of any size."""

    group = Group()
    group.fetch(record(0, 0, size=400_000))
    assert 2 == group.buffer.batch_size
    group.buffer.take(1, [])
    group.read((0, 1))
    assert 500 == group.buffer.batch_size
    assert 7 == RecordBuffer(7, dict).batch_size
