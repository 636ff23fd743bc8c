"""Calls of C that wait, and Ctrl-C."""

import signal
import threading

import pytest

from streams_assignor.clients.interrupts import interruptible


def test_a_call_returns_its_result_or_raises_its_error():
    assert interruptible(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)


def test_ctrl_c_ends_the_wait_and_not_the_call():
    """A lookup through librdkafka ended with its time limit, however long that is."""
    begun, ended, may_end = threading.Event(), threading.Event(), threading.Event()

    def call():
        begun.set()
        assert may_end.wait(60)
        ended.set()

    def interrupt():
        assert begun.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(call)
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(60)
