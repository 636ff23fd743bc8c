"""Filters that Spark hands to a data source (Spark 4.1 and later): what they are about, and which rows they keep.

Spark 4.1 to 4.3.0 keep what is read of a loaded DataFrame with its filters, and read the same for another query on it:
``f.where("a = 1").count()`` and then ``f.count()`` give the same number, also if the source leaves the filter to Spark
and has only left out partitions. No source can avoid it: it is not asked again. So filters are taken where a Spark
keeps them to their query, and otherwise only if the option ``pushFilters`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import eq
from typing import Any, Final

from attrs import frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.upgrade.errors import quote_input

OPTION: Final = "pushFilters"
PUSH_FILTERS: Final = "spark.sql.python.filterPushdown.enabled"
"""The setting by which Spark hands filters to data sources; without it Spark refuses a data source that takes them.
Before 4.1 Spark has no such setting, and hands none."""
_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "EqualTo": eq,
    "In": lambda value, values: value is not None and value in values,
    "IsNotNull": lambda value, _: value is not None,
    "StringStartsWith": lambda value, start: value is not None and value.startswith(start),
}
"""Spark's class of a filter -> whether it keeps a value; of null no comparison is true."""


class FilterOptionError(StreamsAssignorError, ValueError):
    """The option is neither true nor false."""


@frozen
class RowFilter:
    """Filters of which a row has to pass all. It is pickled."""

    tests: Sequence[tuple[str, str, Any]] = ()
    """Column, name of the test, and what the value of the column is compared with."""

    def keeps(self, row: Mapping[str, Any], columns: Collection[str] | None = None) -> bool:
        """Whether a row passes, by all columns or by those that are given."""
        return all(
            _TESTS[name](row[column], value)
            for column, name, value in self.tests
            if columns is None or column in columns
        )


KEEPS_ALL: Final = RowFilter()


def take_filters(filters: Iterable[Any], columns: Collection[str]) -> tuple[RowFilter, list[Any]]:
    """Return the filters about some columns as one, and those that are left to Spark."""
    taken, left = [], []
    for one in filters:
        name = type(one).__name__
        path: tuple[str, ...] = getattr(one, "attribute", ())
        if name in _TESTS and len(path) == 1 and path[0] in columns and getattr(one, "value", "") is not None:
            taken.append((path[0], name, getattr(one, "value", None)))
        else:
            left.append(one)
    return RowFilter(tuple(taken)), left


def kept_rows(rows: Iterable[dict[str, Any]], kept: RowFilter) -> Iterator[dict[str, Any]]:
    """Yield the rows that pass."""
    return filter(kept.keeps, rows) if kept.tests else iter(rows)


def takes_filters(options: Mapping[str, str], reader: type) -> bool:
    """Return whether a reader takes filters.

    Args:
        options: Those of the data source, of which one may say it.
        reader: Spark's class of a reader: one that also takes limits keeps filters to their query.

    Raises:
        FilterOptionError: The option is neither true nor false.
    """
    given = next((value for name, value in options.items() if name.lower() == OPTION.lower()), None)
    if given is None:
        return hasattr(reader, "pushLimit")
    if given.lower() not in ("true", "false"):
        raise FilterOptionError(f"expected {OPTION} to be true or false, got {quote_input(given)}")
    return given.lower() == "true"
