"""A signal handler raises, wherever Python may run one: no record is lost but the one in hand, and no callback."""

import dis
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle
from operator import itemgetter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from confluent_kafka import Message, TopicPartition

import streams_assignor.clients.confluent
from streams_assignor import Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer, _fetcher
from streams_assignor.clients.confluent._classic_membership import ClassicMembership
from streams_assignor.clients.interrupts import has_begun
from streams_assignor.codec import TaskId
from streams_assignor.codec import TopicPartition as Partition
from streams_assignor.rebalance_listener import NoOpListener

pytestmark = pytest.mark.chance  # they trace, so coverage would count nothing after them

OURS = str(Path(streams_assignor.clients.confluent.__file__).parent)
HANDLERS_RUN_AFTER = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD"}
NAMES = [("orders", 0), ("orders", 1)]
TASKS = {TaskId(0, number): frozenset({Partition(topic, number)}) for topic, number in NAMES}
EACH = 6
EVERY_RECORD = sorted((number, offset) for _, number in NAMES for offset in range(EACH))


class Interrupted(Exception):
    """The error of the handler."""


class Interrupt:
    """Raises at the n-th place where Python may run a signal handler while this folder's code runs."""

    def __init__(self, number: int) -> None:
        self.number, self.seen = number, 0
        self._opcodes: dict[FrameType, str] = {}

    def __enter__(self) -> "Interrupt":
        self._before = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    @property
    def has_raised(self) -> bool:
        return self.seen > self.number

    def _pass(self) -> None:
        self.seen += 1
        if self.seen == self.number + 1:
            raise Interrupted

    def _on_call(self, frame: FrameType, _event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        self._pass()
        return self._on_opcode

    def _on_opcode(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode":
            before = self._opcodes.get(frame)
            self._opcodes[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before in HANDLERS_RUN_AFTER:
                self._pass()
        return self._on_opcode


def made_message(**fields: Any) -> Message:
    """Make a message; skip the test where the library lets nobody else make one."""
    try:
        return Message(**fields)
    except TypeError:
        pytest.skip("this release of confluent-kafka makes messages only itself")


class Librdkafka:
    """As much of a ``Consumer`` as is asked for; each of its calls is one step, as one of C is."""

    def __init__(self) -> None:
        self.at: dict[tuple[str, int], int] = {}

    def committed(self, partitions: list[TopicPartition], **_: float) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition, 0) for each in partitions]

    def incremental_assign(self, partitions: Iterable[TopicPartition]) -> None:
        names = {(each.topic, each.partition): each.offset for each in partitions}
        assert not names.keys() & self.at.keys(), "librdkafka refuses what it has"
        self.at.update(names)

    def incremental_unassign(self, partitions: Iterable[TopicPartition]) -> None:
        for each in partitions:
            del self.at[(each.topic, each.partition)]

    def consume(self, number: int, _timeout: float) -> list[Message]:
        found = [self._next(name) for name in [*self.at] * number if self.at[name] < EACH]
        return found[:number] if len(found) <= number else self._give_back(found, number)

    def _give_back(self, found: list[Message], number: int) -> list[Message]:
        for message in found[number:]:
            name = message.topic() or "", message.partition() or 0
            self.at[name] = min(self.at[name], message.offset() or 0)
        return found[:number]

    def _next(self, name: tuple[str, int]) -> Message:
        self.at[name] += 1
        return made_message(topic=name[0], partition=name[1], offset=self.at[name] - 1, value=b"")

    def poll(self, _timeout: float) -> Message | None:
        return next(iter(self.consume(1, 0)), None)

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return [
            TopicPartition(each.topic, each.partition, self.at.get((each.topic, each.partition), -1001))
            for each in partitions
        ]

    def seek(self, partition: TopicPartition) -> None:
        self.at[partition.topic, partition.partition] = partition.offset

    def close(self) -> None:
        """Nothing to do."""


class Dropping(Librdkafka):
    """Runs the signal handler at the end of every other call, as it does, and drops the records of that call."""

    calls = 0

    def consume(self, number: int, _timeout: float) -> list[Message]:
        found = super().consume(number, 0)
        self.calls += 1
        if self.calls % 2:
            raise Interrupted
        return found


class Listener(NoOpListener):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_tasks_assigned(self, _: Any) -> None:
        self.calls.append("assigned")

    def on_tasks_revoked(self, _: Any) -> None:
        self.calls.append("revoked")


@pytest.fixture(name="consumer")
def fixture_consumer(monkeypatch: pytest.MonkeyPatch) -> Iterator[StreamsConsumer]:
    """A consumer without a group: the tests are its group."""
    monkeypatch.setattr(ClassicMembership, "start", lambda _: None)
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0, "error_cb": lambda _: None}
    small_batches = {"queued.min.messages": 5}
    consumer = StreamsConsumer(config | small_batches, Topology.of(Subtopology(sources=["orders"])), admin=False)
    yield consumer
    consumer._fetcher.close()
    consumer._note_closed()  # else it is abandoned while another test traces


def rebalance(consumer: StreamsConsumer, call: Callable[[], object]) -> Any:
    """Queue a call of the listener as the member does; return what tells the member that it has ended."""
    membership: Any = consumer._membership
    done = object()
    ended: list[object] = []
    membership._pending.add(done)
    membership._complete = ended.append
    membership.callbacks.append(partial(membership._run_and_wake, call, done))
    return ended


def begin(consumer: StreamsConsumer) -> None:
    consumer._session.begin(consumer._session.now())


def poll_one(consumer: StreamsConsumer) -> list[Message]:
    return [message] if (message := consumer.poll(0)) is not None else []


def every_interrupt(attempt: Callable[[Interrupt], None]) -> int:
    """Make the attempt with the interrupt at the first place, the second, until it is over before; return how many."""
    number = 0
    while True:
        interrupt = Interrupt(number)
        attempt(interrupt)
        if not interrupt.has_raised:
            return number
        number += 1


def in_turn(*reads: Callable[[StreamsConsumer], list[Message]]) -> Callable[[StreamsConsumer], list[Message]]:
    turns = cycle(reads)
    return lambda consumer: next(turns)(consumer)


READS = [
    (poll_one, 1),
    (lambda consumer: consumer.consume(4, 0), 0),
    (lambda consumer: consumer.consume(50, 0), 0),
    (in_turn(poll_one, lambda consumer: consumer.consume(2, 0)), 1),
]


@pytest.mark.parametrize(("read", "may_lose"), READS, ids=["poll", "consume", "consume-all", "in-turn"])
def test_an_exception_of_a_signal_handler_loses_at_most_the_record_in_hand(
    consumer: StreamsConsumer, read: Callable[[StreamsConsumer], list[Message]], may_lose: int
) -> None:
    """Up to 500 records were lost, and the next commit passed over them."""
    fetcher: Any = consumer._fetcher

    def attempt(interrupt: Interrupt) -> None:
        librdkafka = fetcher.consumer = Librdkafka()
        fetcher.on_tasks_assigned(TASKS)
        begin(consumer)
        found: list[Message] = []
        with interrupt:
            while sum(librdkafka.at.values()) < EACH * len(NAMES) or fetcher.buffer.ready or fetcher.buffer._received:
                try:
                    found += read(consumer)
                except Interrupted:
                    for (_, number), (offset, _) in consumer._committer.uncommitted().items():
                        assert offset <= may_lose + sum(message.partition() == number for message in found)
        fetcher.on_tasks_revoked(TASKS)
        places = sorted((message.partition(), message.offset()) for message in found)
        assert may_lose >= len(EVERY_RECORD) - len(places)
        assert sorted({*EVERY_RECORD} & {*places}) == places
        assert places == sorted(((message.partition(), message.offset()) for message in found), key=itemgetter(0))

    assert every_interrupt(attempt) > 50


@pytest.mark.parametrize("many", [100, 0], ids=["asks-for-positions", "looks-at-records"])
@pytest.mark.parametrize("read", [poll_one, lambda consumer: consumer.consume(4, 0)], ids=["poll", "consume"])
def test_what_librdkafka_drops_in_an_interrupted_call_is_read_again(
    consumer: StreamsConsumer,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[StreamsConsumer], list[Message]],
    many: int,
) -> None:
    """It was a batch of up to 500 records each time."""
    fetcher: Any = consumer._fetcher
    monkeypatch.setattr(_fetcher, "_MANY_PARTITIONS", many)
    librdkafka = fetcher.consumer = Dropping()
    fetcher.on_tasks_assigned(TASKS)
    begin(consumer)

    found: list[Message] = []
    while len(found) < len(EVERY_RECORD):
        with suppress(Interrupted):
            found += read(consumer)
    assert EVERY_RECORD == sorted((message.partition(), message.offset()) for message in found)
    assert librdkafka.calls >= 2


def test_an_exception_of_a_signal_handler_leaves_no_rebalance_half_done(consumer: StreamsConsumer) -> None:
    """A callback that was taken from the queue and not called yet was lost, and the group waited for it."""
    fetcher: Any = consumer._fetcher
    listener = fetcher._listener = Listener()

    def attempt(interrupt: Interrupt) -> None:
        librdkafka = fetcher.consumer = Librdkafka()
        listener.calls.clear()
        begin(consumer)
        with interrupt:
            for call, reads in ((fetcher.on_tasks_assigned, NAMES), (fetcher.on_tasks_revoked, [])):
                ended = rebalance(consumer, partial(call, TASKS))
                while not ended:
                    try:
                        consumer.poll(0)
                    except Interrupted:
                        continue
                try:
                    consumer.poll(0)
                except Interrupted:
                    consumer.poll(0)
                assert (sorted(reads), sorted(reads)) == (sorted(fetcher.tasks), sorted(librdkafka.at))
        assert {*listener.calls} <= {"assigned", "revoked"}
        assert not fetcher.buffer.ready

    assert every_interrupt(attempt) > 50


def test_a_call_has_begun_when_its_first_line_has() -> None:
    def call(_: object) -> None:
        raise Interrupted

    def trace_of(called: Callable[[], object], handler: Any = None) -> Any:
        before = sys.gettrace()
        try:
            sys.settrace(handler)
            called()
        except Interrupted as error:
            return error.__traceback__
        finally:
            sys.settrace(before)

    def raise_at_once(*_: object) -> None:
        raise Interrupted

    failing = partial(call, None)
    assert has_begun(failing, trace_of(failing))
    assert not has_begun(failing, trace_of(failing, raise_at_once))
    assert not has_begun(failing, trace_of(raise_at_once))
