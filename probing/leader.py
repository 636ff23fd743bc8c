"""The leader's decision: from the versions it heard to the versions (and the kind of content) it answers with.

Numbers in, numbers out. Java: ``StreamsPartitionAssignor.assign`` and ``computeNewAssignment`` /
``versionProbingAssignment``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from probing.errors import RemoteProtocolError
from probing.events import Content
from probing.rules import LeaderRules, Speaks
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION, UNKNOWN_VERSION

ASSIGNMENT_ERROR: Final = 3
"""Error code of an assignment that the leader could not make (2.7 and later)."""
_CARRIES_ERRORS: Final = 4
"""The first assignment version with an error code."""


@frozen
class Heard:
    """The versions one member sent: used, and latest supported (-1 below version 3)."""

    used: int
    supported: int = UNKNOWN_VERSION


@frozen
class Answer:
    """What one member gets: both version numbers and the kind of content."""

    version: int
    supported: int
    content: Content = Content.REGULAR
    error_code: int = 0


@frozen
class Decision:
    """A leader's answers by member id, and which members came from the future (``probing`` if any did).

    ``completes``: everybody, the leader included, could speak the leader's latest, but somebody still sent less.
    """

    answers: Mapping[str, Answer]
    future: frozenset[str] = frozenset()
    completes: bool = False

    @property
    def probing(self) -> bool:
        """Whether this rebalance is a version probing one."""
        return bool(self.future)


def decide(rules: LeaderRules, latest: int, heard: Mapping[str, Heard]) -> Decision:
    """Decide as a leader whose latest version is ``latest`` and who follows ``rules``.

    Raises ``RemoteProtocolError`` where Kafka's leader thread dies: a version it cannot read, or (up to 2.6) a
    member from the future beside one that cannot probe.

    >>> from probing.rules import KIP_268
    >>> decide(KIP_268.leader, 3, {"old": Heard(3, 3), "new": Heard(4, 4)}).answers["new"]
    Answer(version=3, supported=3, content=<Content.EMPTY: 'no tasks, only the two version numbers'>, error_code=0)
    """
    future = frozenset(member for member, versions in heard.items() if versions.used > latest)
    known = [versions for member, versions in heard.items() if member not in future]
    if future and not rules.reads_future:
        newest = max(heard[member].used for member in future)
        message = f"unable to decode subscription data: version={newest}"
        raise RemoteProtocolError(message, "TaskAssignmentException")
    if future and min((versions.used for versions in known), default=latest) < EARLIEST_PROBEABLE_VERSION:
        return _refusal(rules, latest, heard, future)
    said = _said(latest, known, heard.values())
    regular = Answer(
        said[rules.version], said[rules.supported], rules.others_while_probing if future else Content.REGULAR
    )
    for_future = Answer(said[rules.version_for_future], said[rules.supported], rules.content_for_future)
    completes = regular.version < latest == said[Speaks.LOWEST_SUPPORTED]
    return Decision({member: for_future if member in future else regular for member in heard}, future, completes)


def _said(latest: int, known: Sequence[Heard], everyone: Iterable[Heard]) -> Mapping[Speaks, int]:
    """Compute the numbers a leader may answer with; each is at most its own latest."""
    return {
        Speaks.OWN_LATEST: latest,
        Speaks.LOWEST_USED_KNOWN: min([latest, *(versions.used for versions in known)]),
        Speaks.LOWEST_USED: min([latest, *(versions.used for versions in everyone)]),
        Speaks.LOWEST_SUPPORTED_KNOWN: min([latest, *(versions.supported for versions in known)]),
        Speaks.LOWEST_SUPPORTED: min([latest, *(versions.supported for versions in everyone)]),
    }


def _refusal(rules: LeaderRules, latest: int, heard: Mapping[str, Heard], future: frozenset[str]) -> Decision:
    """Answer a group that no rule covers: "future" members beside members that cannot be probed."""
    message = f"a member sent a version above {latest} and another one below {EARLIEST_PROBEABLE_VERSION}"
    if not rules.answers_errors or latest < _CARRIES_ERRORS:
        raise RemoteProtocolError(message, "IllegalStateException")
    error = Answer(latest, latest, Content.ERROR, ASSIGNMENT_ERROR)
    return Decision(dict.fromkeys(heard, error), future)
