"""Tables and their columns: Arrow schemas, Spark's DDL, checks of rows and the documentation derive from them.

A class whose instances are rows declares each column once, as a field (``column``); ``row_of`` makes the row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from attrs import NOTHING, field, fields, frozen

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
_COLUMN: Final = "column"
NO_COLUMN: Final[Mapping[str, Any]] = {_COLUMN: None}
"""The metadata of a field of a row's class that is no column of its table."""


@frozen
class Column:
    """One column of a table, or one field of a struct in it."""

    name: str
    type: str | tuple[Column, ...]
    """``string``, ``bigint``, ``double``, ``boolean``, ``binary``, ``array<...>``, or the fields of an array of
    structs."""
    comment: str
    is_nullable: bool = False

    @property
    def sql(self) -> str:
        """The type in Spark SQL."""
        if isinstance(self.type, str):
            return self.type.upper()
        return f"ARRAY<STRUCT<{', '.join(column.ddl(': ') for column in self.type)}>>"

    def ddl(self, separator: str = " ") -> str:
        """Return the column as Spark SQL defines it."""
        null = "" if self.is_nullable else " NOT NULL"
        comment = self.comment.replace("'", "\\'")
        return f"`{self.name}`{separator}{self.sql}{null} COMMENT '{comment}'"

    @property
    def documented_type(self) -> str:
        """The type in the documentation."""
        return (self.type if isinstance(self.type, str) else "array<struct>") + " or null" * self.is_nullable


@frozen
class Table:
    """A table with its columns, as code, schema and documentation know it."""

    name: str
    comment: str
    key: tuple[str, ...]
    """The columns that are distinct in every row."""
    columns: tuple[Column, ...]

    def ddl(self) -> str:
        """Return the schema as Spark SQL reads it."""
        return ", ".join(column.ddl() for column in self.columns)

    def arrow(self) -> pa.Schema:
        """Return the schema as Arrow has it; a comment is metadata of its field."""
        import pyarrow as pa

        return pa.schema(list(map(_arrow_field, self.columns)))

    def batches(self, rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[pa.RecordBatch]:
        """Yield rows as Arrow has them, at most ``size`` at a time."""
        import pyarrow as pa

        remaining, schema = iter(rows), self.arrow()
        while chunk := list(islice(remaining, size)):
            yield pa.RecordBatch.from_pylist(chunk, schema=schema)

    def row(self, values: Mapping[str, Any]) -> Row:
        """Return a row with all columns; one that is not given is null.

        Raises:
            TypeError: A column is not given and cannot be null, or a value has no column: Arrow would drop it silently.
        """
        return _checked_row(self.name, self.columns, values)

    def markdown(self) -> str:
        """Return the tables of columns for the documentation; each array of structs has one of its own."""
        head = f"`{self.name}`: {self.comment} Key: {', '.join(f'`{name}`' for name in self.key)}."
        parts = [head, _markdown(self.columns)]
        waiting = list(self.columns)
        while waiting:
            column = waiting.pop(0)
            if isinstance(column.type, tuple):
                parts.append(f"An element of `{column.name}`:\n\n{_markdown(column.type)}")
                waiting += column.type
        return "\n\n".join(parts)


def _checked_row(where: str, columns: tuple[Column, ...], values: Mapping[str, Any]) -> Row:
    if unknown := sorted(values.keys() - {column.name for column in columns}):
        raise TypeError(f"the table {where} has no column {', '.join(unknown)}")
    if lacking := [column.name for column in columns if not column.is_nullable and values.get(column.name) is None]:
        raise TypeError(f"a row of the table {where} lacks {', '.join(lacking)}")
    for column in columns:
        if isinstance(column.type, tuple):
            for element in values[column.name]:
                _checked_row(f"{where}.{column.name}", column.type, element)
    return {column.name: values.get(column.name) for column in columns}


def _markdown(columns: Iterable[Column]) -> str:
    rows = [f"| `{column.name}` | {column.documented_type} | {column.comment} |" for column in columns]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])


def _arrow_field(column: Column) -> pa.Field:
    import pyarrow as pa

    return pa.field(column.name, _arrow_type(column.type), column.is_nullable, {"comment": column.comment})


def _arrow_type(type_: str | tuple[Column, ...]) -> pa.DataType:
    import pyarrow as pa

    if isinstance(type_, tuple):
        return pa.list_(pa.struct(list(map(_arrow_field, type_))))
    if type_.startswith("array<"):
        return pa.list_(_arrow_type(type_.removeprefix("array<").removesuffix(">")))
    return {
        "string": pa.string(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
    }[type_]


def columns_of(*lines: tuple[str, str | tuple[Column, ...], str]) -> tuple[Column, ...]:
    """Return columns; a ``?`` behind the name allows null."""
    return tuple(Column(name.rstrip("?"), type_, comment, name.endswith("?")) for name, type_, comment in lines)


# -- classes whose instances are rows --------------------------------------------------------------------------------


@frozen
class _FieldColumn:
    """The metadata of a field about its column."""

    type: str
    comment: str
    is_nullable: bool
    write: Callable[[Any], Any] | None
    read: Callable[[Any], Any] | None


def column(
    type_: str,
    comment: str,
    *,
    default: Any = NOTHING,
    is_nullable: bool | None = None,
    write: Callable[[Any], Any] | None = None,
    read: Callable[[Any], Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **field_options: Any,
) -> Any:
    """Make a field that is a column of the same name.

    Args:
        type_: See ``Column.type``.
        comment: Its meaning.
        default: Of the field.
        is_nullable: Whether it may be null; by default if the field's default is None.
        write: Makes the value of the column of that of the field, if they differ.
        read: Makes the value of the field again.
        metadata: Further metadata of the field.
        field_options: Further options of ``attrs.field``.
    """
    nullable = default is None if is_nullable is None else is_nullable
    declared = _FieldColumn(type_, comment, nullable, write, read)
    return field(default=default, metadata={**(metadata or {}), _COLUMN: declared}, **field_options)


def field_columns(row_type: type) -> tuple[Column, ...]:
    """Return the columns of a class, in the order of its fields.

    Raises:
        TypeError: A field says neither that it is a column nor that it is none.
    """
    return tuple(
        Column(name, declared.type, declared.comment, declared.is_nullable)
        for name, declared in _declared(row_type).items()
    )


def _declared(row_type: type) -> dict[str, _FieldColumn]:
    declared = {}
    for member in fields(row_type):
        if _COLUMN not in member.metadata:
            raise TypeError(f"expected {row_type.__name__}.{member.name} to be a column() or to have NO_COLUMN")
        if member.metadata[_COLUMN] is not None:
            declared[member.name] = member.metadata[_COLUMN]
    return declared


def row_of(instance: Any, names: Collection[str] | None = None) -> Row:
    """Return the columns of an instance, or those with these names."""
    return {
        name: column.write(getattr(instance, name)) if column.write else getattr(instance, name)
        for name, column in _declared(type(instance)).items()
        if names is None or name in names
    }


def values_of(row_type: type, row: Mapping[str, Any], names: Collection[str] | None = None) -> dict[str, Any]:
    """Return the fields of an instance from the columns of its row, or from those with these names.

    Raises:
        KeyError: The row lacks a column.
    """
    return {
        name: column.read(row[name]) if column.read else row[name]
        for name, column in _declared(row_type).items()
        if names is None or name in names
    }
