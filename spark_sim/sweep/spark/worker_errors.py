"""Errors of a data source, which Spark shows with the text that its Python worker formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from streams_assignor.codec import StreamsAssignorError

_HIDE_TRACEBACK: Final = "SPARK_HIDE_TRACEBACK"


@contextmanager
def one_line() -> Iterator[None]:
    """Show an error of ours as the one line that it is, also as text of Java.

    Spark's worker reads the variable when it formats the error, and ends: no other error is shown in another way.
    """
    try:
        yield
    except StreamsAssignorError:
        os.environ[_HIDE_TRACEBACK] = "1"
        raise
