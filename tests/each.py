"""Many small cases as one test: pytest takes 2 to 4 milliseconds of CPU for each test, more than such a case."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each_third(cases: Iterable[Any]) -> list[Any]:
    """The parameters of a test of which the gate takes each third one, and the nightly run takes all."""
    rows = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*row, marks=[pytest.mark.slow] * bool(place % 3)) for place, row in enumerate(rows)]


def each_measured(cases: Iterable[Any], measured: Callable[..., bool]) -> list[Any]:
    """The parameters of a test of which some have branches of their own; the others run untraced.

    >>> [len(row.marks) for row in each_measured([("a", 1), ("b", 2)], lambda name, _: name == "a")]
    [0, 1]
    """
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*row, marks=[] if measured(*row) else [pytest.mark.unmeasured]) for row in rows]


def for_each(cases: Iterable[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Run a test with each of the cases, and fail with all of those that failed, each with its case as a note.

    >>> @for_each([1, 0, 2, 0])
    ... def test_a_number_is_not_zero(number):
    ...     assert number
    >>> test_a_number_is_not_zero()
    Traceback (most recent call last):
    ExceptionGroup: 2 of 4 cases failed (2 sub-exceptions)
    """
    known = list(cases)
    assert known

    def decorate(test: Callable[[Any], None]) -> Callable[[], None]:
        def run() -> None:
            failed = []
            for case in known:
                try:
                    test(case)
                except Exception as error:
                    error.add_note(f"case: {case}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(known)} cases failed", failed)

        run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
        run.__module__ = test.__module__
        return run

    return decorate
