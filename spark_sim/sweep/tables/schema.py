"""The schema of the tables of a sweep: names, types, comments and keys, written down once.

Arrow schemas, Spark's DDL, the checks of what is read and the documentation are derived from ``TABLES``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

if TYPE_CHECKING:
    import pyarrow as pa


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
        return f"ARRAY<STRUCT<{', '.join(each.ddl(': ') for each in self.type)}>>"

    def ddl(self, separator: str = " ") -> str:
        """Return the column as Spark SQL defines it."""
        null = "" if self.is_nullable else " NOT NULL"
        return f"`{self.name}`{separator}{self.sql}{null} COMMENT '{self.comment}'"

    @property
    def documented_type(self) -> str:
        """The type in the documentation."""
        return (self.type if isinstance(self.type, str) else "array<struct>") + " or null" * self.is_nullable


@frozen
class Table:
    """One table."""

    name: str
    comment: str
    key: tuple[str, ...]
    """The columns that are distinct in every row."""
    columns: tuple[Column, ...]

    def ddl(self) -> str:
        """Return the schema as Spark SQL reads it."""
        return ", ".join(each.ddl() for each in self.columns)

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

    def markdown(self) -> str:
        """Return the tables of columns for the documentation; each array of structs has one of its own."""
        head = f"`{self.name}`: {self.comment} Key: {', '.join(f'`{each}`' for each in self.key)}."
        parts = [head, _markdown(self.columns)]
        waiting = list(self.columns)
        while waiting:
            column = waiting.pop(0)
            if isinstance(column.type, tuple):
                parts.append(f"An element of `{column.name}`:\n\n{_markdown(column.type)}")
                waiting += column.type
        return "\n\n".join(parts)


def _markdown(columns: Iterable[Column]) -> str:
    rows = [f"| `{each.name}` | {each.documented_type} | {each.comment} |" for each in columns]
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


KIND_ID: Final = (
    "kind_id",
    "string",
    "the kind: digest of the computing code, the parameters and the behaviour",
)
UNIT_KEY: Final = (
    "unit_key",
    "string",
    "the work unit: its name, and the digest of the computing code and of its parameters",
)
_PROPERTY: Final = ("property?", "string", "first property that is violated")
_MESSAGE: Final = ("message?", "string", "what was observed instead, and at which member")
_EXPLORED: Final = (
    ("states?", "bigint", "explored states, up to symmetry; null if no process starts"),
    ("transitions", "bigint", "explored transitions"),
    (
        "schedules?",
        "string",
        "exact number of schedules, as text because of its many digits; null if endless",
    ),
    ("schedules_log10?", "double", "its decimal logarithm"),
)

RUN_COLUMNS: Final = columns_of(
    ("origin", "string", "release that every member ran before"),
    ("target", "string", "release that every member is brought to"),
    ("plan", "string", "one_bounce, two_bounces or offline"),
    ("upgrade_from?", "string", "upgrade.from of the first bounce"),
    UNIT_KEY,
    ("scenario", "string", "the schedule, as one line: streams-assignor replay explains it"),
    ("verdict", "string", "safe, unsafe (a property was violated) or error (the simulation itself failed)"),
    _PROPERTY,
    _MESSAGE,
    ("generations", "bigint", "generations that the group went through"),
    ("max_rebalances", "bigint", "most rebalances after one step"),
    ("probes", "bigint", "times that a member was answered with a lower version by version probing (KIP-268)"),
    (
        "moved",
        "bigint",
        "how often a task is given to another process than had it last, all generations together",
    ),
    ("unowned_task_ms", "bigint", "simulated time for which a task has no owner, of all tasks together"),
    ("member_bytes", "bigint", "the most that a member sends and gets in one generation"),
    ("group_bytes", "bigint", "the same of all members together, which a broker keeps in one record"),
    ("digest", "string", "hash of the whole history: the same scenario always gives the same"),
)
"""The fields of ``runs.Run``."""

_EVENT: Final = columns_of(
    ("at", "bigint", "simulated time in ms; 0 for brokers"),
    ("generation", "bigint", "generation of the group; 0 for brokers"),
    ("subject", "string", "the member or node"),
    ("kind", "string", "the kind of the event"),
    ("text", "string", "the event in words"),
    ("values", "string", "the values of the event, as a JSON list"),
)
_TRACE: Final = columns_of(
    ("step", "string", "the step, as in the scenario"),
    ("meaning", "string", "the step in words"),
    ("events", _EVENT, "what happened, in order"),
)

UNITS: Final = Table(
    "units",
    "The finished work, one row for each work unit, of which the other tables are made. A unit that was computed twice "
    "has two equal rows.",
    ("unit_key",),
    columns_of(
        UNIT_KEY,
        ("sweep_id", "string", "digest of what is swept, and how"),
        ("sweep", "string", "what is swept, and how, as JSON"),
        ("result", "string", "the result of the unit, as JSON"),
        ("runs", RUN_COLUMNS, "the runs of simulated members"),
        ("trace", _TRACE, "the trace of the counterexample; empty without one"),
    ),
)
UPGRADES: Final = Table(
    "upgrades",
    "One row for each upgrade of the matrix (or search for a known bug), with the kind that has its result.",
    ("position",),
    columns_of(
        ("position", "bigint", "place in the matrix, from 0"),
        ("suite", "string", "upgrades (of Streams groups), brokers or regressions (--matrix history)"),
        ("from", "string", "the release before, as matrix.json names it"),
        ("to", "string", "the release after, as matrix.json names it"),
        ("from_release", "string", "release before the upgrade"),
        ("to_release", "string", "release after the upgrade"),
        ("plan?", "string", "one_bounce, two_bounces or offline; of brokers the name of the plan"),
        ("upgrade_from?", "string", "upgrade.from of the first bounce"),
        ("documented", "boolean", "whether it is the plan of Kafka documentation"),
        KIND_ID,
        ("dialect?", "string", "brokers: the protocol of feature versions"),
        ("nodes?", "array<string>", "brokers: the nodes of the cluster"),
        ("faults?", "bigint", "brokers: the most faults in one schedule"),
        ("bug?", "string", "regressions: the bug"),
        ("instances?", "array<string>", "regressions: what each member runs, from the first release to the last"),
        ("affected?", "boolean", "regressions: whether Kafka has the bug there"),
    ),
)
KINDS: Final = Table(
    "kinds",
    "One row for each kind: upgrades that differ only in the names of their releases have one kind.",
    ("kind_id",),
    columns_of(
        KIND_ID,
        ("verdict", "string", "safe, safe-if (under the conditions), unsafe, unknown (too many states) or error"),
        ("conditions", "array<string>", "what the topology must not have for safe-if"),
        _PROPERTY,
        _MESSAGE,
        *_EXPLORED,
        ("position", "bigint", "an upgrade of the kind: its releases are those of the counterexamples"),
        ("members?", "bigint", "bound: members of the group"),
        ("crashes?", "bigint", "bound: most crashes in one schedule"),
        ("rebalance_timeouts?", "bigint", "bound: most missed rebalance timeouts in one schedule"),
        ("spurious_joins?", "bigint", "bound: most rejoins without a reason in one schedule"),
        ("wait_for_quiescence?", "boolean", "bound: whether the operator waits until the group has settled"),
        ("runs", "bigint", "runs of simulated members, which are rows of the table runs"),
        ("violations", "bigint", "violating runs; of brokers violating states"),
        ("probes?", "bigint", "answers with a lower version (version probing), in all runs"),
        ("max_rebalances?", "bigint", "most rebalances between two steps"),
        ("moved_tasks?", "bigint", "most of all runs: tasks with another owner"),
        ("unowned_task_ms?", "bigint", "most of all runs: simulated time for which tasks have no owner"),
        ("member_bytes?", "bigint", "most of all runs: metadata of one member in one generation"),
        ("group_bytes?", "bigint", "most of all runs: metadata of the group in one generation"),
        ("schedule_classes?", "array<string>", "classes of the sampled schedules"),
        ("possible_schedule_classes?", "bigint", "how many classes there are; 0 if nothing was sampled"),
        ("terminal_states?", "bigint", "brokers: states in which nothing is left to do"),
        ("completed?", "bigint", "brokers: terminal states in which the plan is complete"),
        ("refused_requests?", "bigint", "brokers: refused updates of features"),
        ("rejected_nodes?", "bigint", "brokers: nodes whose registration was rejected"),
        ("stalled_example?", "string", "brokers: a scenario in which the plan is not completed"),
        ("confirmed?", "boolean", "regressions: whether simulated members replay the example"),
    ),
)
RUNS: Final = Table(
    "runs",
    "One row for each run of simulated members, with real bytes. Kinds that share an exploration share its runs.",
    ("kind_id", "unit_key", "scenario"),
    (*columns_of(KIND_ID), *RUN_COLUMNS),
)
COUNTEREXAMPLES: Final = Table(
    "counterexamples",
    "One row for each shortest violating scenario.",
    ("kind_id", "deviation"),
    columns_of(
        KIND_ID,
        ("deviation?", "string", "how the operator deviates from the plan; null if the plan is followed"),
        _PROPERTY,
        _MESSAGE,
        ("scenario", "string", "the scenario, as one line: streams-assignor replay explains it"),
        ("trace", _TRACE, "the scenario step by step"),
    ),
)
DEVIATIONS: Final = Table(
    "deviations",
    "One row for each operator who does not follow the plan.",
    ("kind_id", "deviation"),
    columns_of(
        KIND_ID,
        ("deviation", "string", "interrupted, rolled_back, mistaken or never_removed"),
        ("verdict", "string", "safe, safe-if, unsafe, unknown or error; the verdict of the plan does not depend on it"),
        _PROPERTY,
        _MESSAGE,
        *_EXPLORED,
    ),
)
TABLES: Final[Mapping[str, Table]] = {each.name: each for each in (KINDS, RUNS, COUNTEREXAMPLES, DEVIATIONS, UPGRADES)}
"""The tables of a finished sweep, in the order in which they are written."""
