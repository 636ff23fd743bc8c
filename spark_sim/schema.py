"""The columns of a sweep's rows, written down once: Parquet, JSON lines and the documentation take them from here."""

from __future__ import annotations

from typing import Final

from attrs import frozen


@frozen
class Column:
    """One column; ``sql`` is its Spark SQL type, ``meaning`` goes into the Parquet files as its comment."""

    name: str
    sql: str
    meaning: str
    nullable: bool = False


COLUMNS: Final = (
    Column("origin", "STRING", "release that every member ran before"),
    Column("target", "STRING", "release that every member is brought to"),
    Column("plan", "STRING", "one_bounce, two_bounces or offline"),
    Column("upgrade_from", "STRING", "upgrade.from of the first bounce", nullable=True),
    Column("slice", "STRING", "part of the sweep in which it ran; also the name of its file"),
    Column("scenario", "STRING", "what happened, as one line: streams-assignor replay explains it"),
    Column("verdict", "STRING", "safe, unsafe (a property was violated) or error (the simulation itself failed)"),
    Column("property", "STRING", "first property that was violated", nullable=True),
    Column("message", "STRING", "what was seen instead, and at which member", nullable=True),
    Column("generations", "INT", "generations that the group went through"),
    Column("max_rebalances", "INT", "most rebalances after one step"),
    Column("probes", "INT", "times that a member was answered with a lower version by version probing (KIP-268)"),
    Column("moved", "INT", "tasks that have another owner after a step than before it, all steps together"),
    Column("unowned_task_ms", "BIGINT", "simulated time for which nobody has a task, of all tasks together"),
    Column("member_bytes", "INT", "the most that a member sends and gets in one generation"),
    Column("group_bytes", "INT", "the same of all members together, which a broker keeps in one record"),
    Column("digest", "STRING", "hash of the whole history: the same scenario always gives the same"),
)


def ddl() -> str:
    """Return the schema of ``COLUMNS`` as Spark reads it.

    >>> ddl().partition(",")[0]
    "origin STRING NOT NULL COMMENT 'release that every member ran before'"
    """
    return ", ".join(
        f"{column.name} {column.sql}{'' if column.nullable else ' NOT NULL'} COMMENT '{column.meaning}'"
        for column in COLUMNS
    )


def markdown() -> str:
    """Return the table of columns for the documentation."""
    rows = [f"| `{c.name}` | {c.sql.lower()}{' or null' if c.nullable else ''} | {c.meaning} |" for c in COLUMNS]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])
