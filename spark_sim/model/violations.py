"""Violations of a simulated group's properties: the properties' names, and what a run reports.

A property holds *always* (checked at every message), *eventually* (checked at quiescence) or *sometimes* (somewhere in
a cell). The third kind keeps an experiment honest: a probing cell without any probe has shown nothing.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from streams_assignor import FatalError
from streams_assignor.codec import DecodeError

SINGLE_OWNER: Final = "always: no task is owned twice in a generation"
READABLE_VERSION: Final = "always: no member receives a version it cannot read"
NO_MEMBER_FAILS: Final = "always: no member fails"
EVERY_MEMBER_ASSIGNED: Final = "always: the leader answers every member"
TASK_PARTITIONS_MATCH: Final = "always: a task is assigned with its own partitions"
NO_UNREQUESTED_STANDBY: Final = "always: no process gets a standby that is not configured"
CAUGHT_UP_OWNER: Final = "always: a task moves to a caught-up process if there is one"
EVERY_TASK_OWNED: Final = "eventually: every task is owned"
COMMON_VERSION_REACHED: Final = "eventually: all members use the highest commonly supported version"
REBALANCE_REQUEST_HONORED: Final = "eventually: a requested rebalance happens"
SHUTDOWN_COMPLETES: Final = "eventually: all members shut down after a shutdown request"
REBALANCING_TERMINATES: Final = "eventually: rebalancing ends"
VERSION_PROBED: Final = "sometimes: a member is probed"
ADVISORY_PROPERTIES: Final = frozenset({NO_UNREQUESTED_STANDBY, CAUGHT_UP_OWNER})
"""Properties whose violation is a remark: the run is wasteful or slow, not unsafe."""

SHUTDOWN_ERRORS: Final = frozenset(
    {"INCOMPLETE_SOURCE_TOPIC_METADATA", "MissingSourceTopicException", "SHUTDOWN_REQUESTED"}
)
"""Errors with which a member shuts down because an assignment's error code requests it."""


@frozen
class Violation:
    """A property that does not hold in a run."""

    property: str
    """One of the names in this module."""
    member: str
    """The member at which it was observed; "" for the group."""
    text: str
    """The observation, without the member."""
    code: str = ""
    """``FatalError.code`` of a member's failure; "" for other violations."""

    def __str__(self) -> str:
        return f"{self.member}: {self.text}" if self.member else self.text

    @classmethod
    def of_fatal_error(cls, member: str, error: FatalError, *, assignment_received: bool = True) -> Violation:
        """Return the violation that a member's failure is.

        A missing assignment, an unreadable version and any other failure violate different properties.
        """
        if not assignment_received:
            return cls(EVERY_MEMBER_ASSIGNED, member, "the leader has left it out, and it cannot read nothing")
        unreadable = isinstance(error.__cause__, DecodeError)
        return cls(READABLE_VERSION if unreadable else NO_MEMBER_FAILS, member, str(error), error.code)


def is_requested_shutdown(error: FatalError) -> bool:
    """Whether a fatal error is a shutdown that an error code requests, and so no violation."""
    return error.kafka_exception in SHUTDOWN_ERRORS
