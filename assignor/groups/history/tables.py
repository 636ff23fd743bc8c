"""The tables of an audit: their names, columns and comments, written down once.

A row is a dict. Times are milliseconds since 1970. Types are those of ``spark_sim.sweep.tables.schema``, which
derives Arrow's and Spark's schemas and the documentation from them; a ``?`` behind a name allows null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, Union

Row = dict[str, Any]
AuditColumn: TypeAlias = tuple[str, Union[str, tuple["AuditColumn", ...]], str]  # noqa: UP007  # a string has no |
"""Name, type and comment; instead of a type, the fields of the structs of which the column has an array."""
ASSUMED_SESSION_MS: Final = 45_000
"""Kafka's default for groups that are not classic: the timeout is in their configuration, and in no record."""


def valid_text(text: str) -> str:
    """Return text that can be written: the codec keeps bytes that are not UTF-8 as surrogates."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class AuditTable(NamedTuple):
    """A table of an audit."""

    name: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[AuditColumn, ...]


_GROUP: Final = ("group", "string", "name of the group")
_NUMBER: Final = ("generation", "bigint", "number of the generation; the epoch of a group that is not classic")
_PARTITION: Final = ("partition", "bigint", "number of the partition")

GENERATIONS: Final = AuditTable(
    "generations",
    "each completed rebalance.",
    ("group", "offset"),
    (
        _GROUP,
        ("type", "string", "classic, consumer (KIP-848), streams (KIP-1071) or share (KIP-932)"),
        _NUMBER,
        ("offset", "bigint", "offset of the record in __consumer_offsets"),
        ("time", "bigint", "when the rebalance was complete"),
        ("until?", "bigint", "when the next generation was complete; null for the last one"),
        (
            "duration_ms?",
            "bigint",
            "from the last member's join to the assignment, null where records lack the first; in groups that are not"
            " classic from the epoch until all members had come to its target assignment, null if they had not",
        ),
        (
            "assignment_ms?",
            "bigint",
            "from the epoch to its target assignment; null if there is none, and in classic groups",
        ),
        (
            "pending",
            "array<string>",
            "names of the members that had not come to the target assignment when the next epoch began",
        ),
        ("skipped", "bigint", "generations before this one that left no record: they did not complete"),
        (
            "state",
            "string",
            "Stable or Empty; in groups that are not classic also NotReady, Assigning or Reconciling, at the end of the"
            " epoch",
        ),
        ("protocol_type", "string", "type of the protocol, for example consumer"),
        ("protocol", "string", "name of the assignor; stream for Kafka Streams"),
        ("leader", "string", "member id of the leader; empty in groups that are not classic"),
        ("members", "bigint", "number of members"),
        ("joined", "array<string>", "names of the members that are new"),
        ("gone", "array<string>", "names of the members that are not there any more"),
        ("cause", "string", "why it came about; docs/reference/audit.md has the rules"),
        ("confidence", "string", "certain, likely or unknown"),
        ("detail", "string", "the members and values that the cause is about"),
        ("used_versions", "array<bigint>", "distinct used versions of the members' userdata"),
        ("supported_versions", "array<bigint>", "distinct supported versions of the members' userdata"),
        ("probing", "boolean", "whether a member has to change its version and rejoins at once"),
        ("rejoins", "bigint", "members that this assignment makes rejoin at once"),
        ("next_rebalance_ms?", "bigint", "when the leader scheduled a probing rebalance; null: it did not"),
        ("tasks", "bigint", "active tasks, or partitions if the group has no tasks"),
        ("tasks_moved", "bigint", "tasks with another owner than their last one"),
        ("tasks_moved_without_state", "bigint", "of these, tasks of which the new owner reported no state"),
        ("tasks_revoked", "bigint", "tasks that had an owner and have none in this generation"),
        ("record_bytes", "bigint", "size of the record; the broker limits it (max.message.bytes)"),
    ),
)
MEMBERS: Final = AuditTable(
    "members",
    "each member, from its first generation to its last.",
    ("group", "member_id", "first_generation"),
    (
        _GROUP,
        ("member_id", "string", "member id"),
        ("name", "string", "short name in other tables"),
        ("client_id", "string", "client.id of its consumer"),
        ("host", "string", "address that the broker saw"),
        ("instance_id?", "string", "group.instance.id; null for a dynamic member"),
        ("process_id?", "string", "process id in the userdata of Kafka Streams, or of a member of KIP-1071"),
        ("rack?", "string", "client.rack of its consumer"),
        ("end_point", "string", "application.server; empty if it is not set"),
        ("topology_epoch?", "bigint", "epoch of its topology (KIP-1071)"),
        ("is_classic?", "boolean", "whether it speaks the classic protocol in a group of KIP-848; null elsewhere"),
        ("first_generation", "bigint", "first generation with it"),
        ("last_generation", "bigint", "last generation with it"),
        ("first_time", "bigint", "when its first generation was complete"),
        ("last_time?", "bigint", "when the first generation without it was complete; null: it is in the last one"),
        ("began", "string", "joined, restarted or present (in the first record of the group)"),
        ("ended", "string", "left, timed-out, gone (one of the two), restarted or present"),
        ("used_version?", "bigint", "its last used version"),
        ("supported_version?", "bigint", "its last supported version"),
        (
            "versions",
            (
                ("from_generation", "bigint", "first generation to which it sent these versions"),
                ("from_time", "bigint", "when that generation was complete"),
                ("used_version?", "bigint", "used version of its userdata"),
                ("supported_version?", "bigint", "supported version of its userdata; null before version 3 of it"),
            ),
            "versions over time, each until the next; empty without userdata of Kafka Streams",
        ),
        ("releases?", "string", "releases of Kafka Streams that send such bytes"),
        ("topics", "array<string>", "topics of its last subscription"),
    ),
)
TASKS: Final = AuditTable(
    "tasks",
    "who had each task, over time; intervals without an owner or with two; what members wait for.",
    ("group", "task", "role", "member_id", "from_generation", "from_time"),
    (
        _GROUP,
        ("task", "string", "task (0_3), or partition (orders-3) if the group has no tasks"),
        (
            "role",
            "string",
            "active, standby, unowned (no member had it) or owned-twice; in groups that are not classic also warm-up,"
            " and of each role awaited (in the target assignment, and the member does not have it yet) and to-revoke"
            " (it is to give it up): awaited, awaited-standby and so on",
        ),
        ("member_id", "string", "member id of the owner; empty for unowned, all owners for owned-twice"),
        ("member", "string", "its short name"),
        ("from_generation", "bigint", "first generation of the interval"),
        ("from_time", "bigint", "when that generation was complete; in groups that are not classic, when it began"),
        ("until_time?", "bigint", "when it ended; null: it is in the last generation"),
    ),
)
COMMITS: Final = AuditTable(
    "commits",
    "the offset commits of a partition during a generation.",
    ("group", "topic", "partition", "first_record"),
    (
        _GROUP,
        ("generation?", "bigint", "the last generation before them; null if none is in the records"),
        ("topic", "string", "topic"),
        _PARTITION,
        ("first_record", "bigint", "offset of the first one in __consumer_offsets"),
        ("commits", "bigint", "number of commits"),
        ("first_time", "bigint", "when the first one was written"),
        ("last_time", "bigint", "when the last one was written"),
        ("first_offset", "bigint", "offset of the first one"),
        ("last_offset", "bigint", "offset of the last one"),
        ("longest_gap_ms", "bigint", "longest time between two of them, and since those before"),
        ("moved_back", "bigint", "commits of a lower offset than the one before"),
        ("deleted", "bigint", "tombstones: the offset expired or was deleted"),
    ),
)
FINDINGS: Final = AuditTable(
    "findings",
    "what needs attention.",
    ("group", "code", "from_time"),
    (
        _GROUP,
        ("code", "string", "kind of the finding; docs/reference/audit.md lists them"),
        ("severity", "string", "problem or notice"),
        ("text", "string", "the finding in one sentence"),
        ("members", "array<string>", "names of the members that it is about"),
        ("generation", "bigint", "generation in which it was found first"),
        ("from_time", "bigint", "since when"),
        ("until_time?", "bigint", "until when; null: until the last record"),
    ),
)
AUDIT_TABLES: Final[Mapping[str, AuditTable]] = {
    table.name: table for table in (GENERATIONS, MEMBERS, TASKS, COMMITS, FINDINGS)
}


Begun = tuple[str, int, int]
"""The short name of a member, and the number and the time of the generation with which an interval begins."""


def task_row(group: str, interval: tuple[str, str, str], begun: Begun, until: int | None) -> Row:
    """Return a row of ``tasks``; ``interval`` is a task, a role and a member id."""
    task, role, owner = interval
    member, generation, time = begun
    return {
        "group": group,
        "task": task,
        "role": role,
        "member_id": owner,
        "member": member,
        "from_generation": generation,
        "from_time": time,
        "until_time": until,
    }
