"""Counts work instead of time: the calls of Python and C functions, and the bytes that some of them get."""

import sys

from streams_assignor.codec.errors import StreamsAssignorError


def work(function, *arguments):
    """Return how many calls a function makes, with all that it calls; what it refuses counts, too."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*arguments)
    except StreamsAssignorError:
        pass
    finally:
        sys.setprofile(before)
    return calls


def growth(read, make, size):
    """Return how much more work twice the input is: 2 if it is linear, 4 if it is quadratic."""
    small, large = make(size), make(2 * size)
    work(read, make(1))  # what is loaded once
    return work(read, large) / work(read, small)
