"""The leader's decision: from the versions it heard to the versions (and the kind of content) it answers with.

Numbers in, numbers out. Java: ``StreamsPartitionAssignor.assign`` and ``computeNewAssignment`` /
``versionProbingAssignment``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from probing.errors import RemoteProtocolError
from probing.events import AssignorError, Check, Content
from probing.rules import LeaderRules, Speaks
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION, UNKNOWN_VERSION

ANSWERED_WITH: Final[Mapping[Check, AssignorError]] = {
    Check.VERSIONS: AssignorError.ASSIGNMENT_ERROR,
    Check.SHUTDOWN: AssignorError.SHUTDOWN_REQUESTED,
    Check.TOPICS: AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA,
}
_CARRIES_ERRORS: Final = 4
"""The first assignment version with an error code; without it a leader leaves out the tasks of missing topics."""
_CARRIES_WISHES: Final = 9
"""The first subscription version with an error code."""
_ANSWERED_SINCE: Final[Mapping[Check, int]] = {Check.TOPICS: _CARRIES_ERRORS, Check.SHUTDOWN: _CARRIES_WISHES}


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


def decide(rules: LeaderRules, latest: int, heard: Mapping[str, Heard], found: Collection[Check] = ()) -> Decision:
    """Decide as a leader whose latest version is ``latest`` and who follows ``rules``.

    ``found`` is what else is wrong with the group. A leader that looks for it answers everybody with nothing but an
    error code, in its own latest version: members that do not have that version cannot read it, in Kafka as here.

    Raises ``RemoteProtocolError`` where Kafka's leader thread dies: a version it cannot read, a supported version below
    the used one (2.5 and later), or (up to 2.6) a member from the future beside one that cannot probe.

    >>> from probing.rules import KIP_268
    >>> decide(KIP_268.leader, 3, {"old": Heard(3, 3), "new": Heard(4, 4)}).answers["new"]
    Answer(version=3, supported=3, content=<Content.EMPTY: 'no tasks, only the two version numbers'>, error_code=0)
    """
    future = frozenset(member for member, versions in heard.items() if versions.used > latest)
    known = [versions for member, versions in heard.items() if member not in future]
    _validate(rules, latest, heard.values())
    mixed = bool(future) and min((versions.used for versions in known), default=latest) < EARLIEST_PROBEABLE_VERSION
    for check in rules.checks:
        if mixed if check is Check.VERSIONS else check in found and latest >= _ANSWERED_SINCE[check]:
            return _refusal(rules, latest, heard, future, check)
    said = _said(latest, known, heard.values())
    regular = Answer(
        said[rules.version], said[rules.supported], rules.others_while_probing if future else Content.REGULAR
    )
    for_future = Answer(said[rules.version_for_future], said[rules.supported], rules.content_for_future)
    completes = regular.version < latest == said[Speaks.LOWEST_SUPPORTED]
    return Decision({member: for_future if member in future else regular for member in heard}, future, completes)


def _validate(rules: LeaderRules, latest: int, everyone: Iterable[Heard]) -> None:
    """Die of what cannot be read."""
    for versions in everyone:
        if versions.used > latest and not rules.reads_future:
            message = f"unable to decode subscription data: version={versions.used}"
            raise RemoteProtocolError(message, "TaskAssignmentException")
        if rules.validates_from is None or latest < rules.validates_from:
            continue
        if versions.supported < versions.used >= EARLIEST_PROBEABLE_VERSION:
            message = f"a member sent version {versions.used} and claims to support only {versions.supported}"
            raise RemoteProtocolError(message, "IllegalArgumentException")


def _said(latest: int, known: Sequence[Heard], everyone: Iterable[Heard]) -> Mapping[Speaks, int]:
    """Compute the numbers a leader may answer with; each is at most its own latest."""
    return {
        Speaks.OWN_LATEST: latest,
        Speaks.LOWEST_USED_KNOWN: min([latest, *(versions.used for versions in known)]),
        Speaks.LOWEST_USED: min([latest, *(versions.used for versions in everyone)]),
        Speaks.LOWEST_SUPPORTED_KNOWN: min([latest, *(versions.supported for versions in known)]),
        Speaks.LOWEST_SUPPORTED: min([latest, *(versions.supported for versions in everyone)]),
    }


def assignment_error(rules: LeaderRules, latest: int, members: Iterable[str]) -> Decision | None:
    """Tell everybody that the leader could not assign; None if leaders of these rules die of it instead (up to 2.6)."""
    if not rules.answers_errors or latest < _CARRIES_ERRORS:
        return None
    return _told(latest, members, AssignorError.ASSIGNMENT_ERROR)


def _refusal(
    rules: LeaderRules, latest: int, heard: Mapping[str, Heard], future: frozenset[str], check: Check
) -> Decision:
    """Answer a group that cannot be assigned to, or die of it. Java: ``errorAssignment``."""
    if check is Check.VERSIONS and assignment_error(rules, latest, heard) is None:
        message = f"a member sent a version above {latest} and another one below {EARLIEST_PROBEABLE_VERSION}"
        raise RemoteProtocolError(message, "IllegalStateException")
    told = heard if rules.tells_future else [member for member in heard if member not in future]
    return _told(latest, told, ANSWERED_WITH[check], future)


def _told(latest: int, members: Iterable[str], error: AssignorError, future: frozenset[str] = frozenset()) -> Decision:
    return Decision(dict.fromkeys(members, Answer(latest, latest, Content.ERROR, error)), future)
