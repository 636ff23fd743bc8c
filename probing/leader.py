"""The leader's version decision: from the members' versions to the versions and the content of the answers.

Numbers in, numbers out. Java: ``StreamsPartitionAssignor.assign`` and ``computeNewAssignment`` /
``versionProbingAssignment``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from streams_assignor.codec.versions import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_ASSIGNMENT_WITH_ERROR_CODE,
    FIRST_SUBSCRIPTION_WITH_ERROR_CODE,
    UNKNOWN_VERSION,
)
from streams_assignor.probing._errors import RemoteProtocolError
from streams_assignor.probing.model import AssignmentContent, AssignorError, Precondition
from streams_assignor.probing.rules import LeaderRules, VersionSource

_ERROR_CODES: Final[Mapping[Precondition, AssignorError]] = {
    Precondition.VERSIONS: AssignorError.ASSIGNMENT_ERROR,
    Precondition.SHUTDOWN: AssignorError.SHUTDOWN_REQUESTED,
    Precondition.TOPICS: AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA,
}
_CHECKED_SINCE: Final[Mapping[Precondition, int]] = {
    Precondition.TOPICS: FIRST_ASSIGNMENT_WITH_ERROR_CODE,
    Precondition.SHUTDOWN: FIRST_SUBSCRIPTION_WITH_ERROR_CODE,
}
"""The leader's first supported version with an error code for the precondition. Before version 4 a leader leaves out
the tasks of missing topics."""


@frozen
class MemberVersions:
    """The two version numbers of one member's subscription."""

    used_version: int
    supported_version: int = UNKNOWN_VERSION
    """-1 for a used version below 3."""


@frozen
class VersionAnswer:
    """The two version numbers and the kind of content of one member's assignment."""

    version: int
    supported_version: int
    content: AssignmentContent = AssignmentContent.REGULAR
    error_code: int = 0


@frozen
class VersionDecision:
    """A leader's answers to all members of the group."""

    answers: Mapping[str, VersionAnswer]
    """The answers by member id."""
    future_members: frozenset[str] = frozenset()
    """The members whose used version is above the leader's supported version."""
    completes_upgrade: bool = False
    """All members, including the leader, support the leader's latest version, but a lower version is still in use."""

    @property
    def probing(self) -> bool:
        """Whether this rebalance is a version probing rebalance."""
        return bool(self.future_members)


def decide(
    rules: LeaderRules,
    supported_version: int,
    members: Mapping[str, MemberVersions],
    failed_preconditions: Collection[Precondition] = (),
) -> VersionDecision:
    """Return the answers of a leader that follows ``rules``.

    If a precondition fails, all answers have an error code instead of tasks, in the leader's own latest version.
    Members that do not support that version cannot read the answer, in Kafka as here.

    Args:
        rules: The leader half of a rule set.
        supported_version: The latest version that the leader supports.
        members: The versions of all members, by member id.
        failed_preconditions: ``TOPICS`` and ``SHUTDOWN``, if they apply; ``VERSIONS`` follows from ``members``.

    Raises:
        RemoteProtocolError: Kafka's leader throws here: it cannot read a version, a supported version is below the used
            one (2.5 and later), or a future member is in a group with a member below version 3 (up to 2.6).

    >>> from streams_assignor.probing.rules import KIP_268
    >>> members = {"old": MemberVersions(3, 3), "new": MemberVersions(4, 4)}
    >>> answer = decide(KIP_268.leader, 3, members).answers["new"]
    >>> answer.version, answer.supported_version, answer.content.name
    (3, 3, 'EMPTY')
    """
    future = frozenset(member for member, versions in members.items() if versions.used_version > supported_version)
    known_members = [versions for member, versions in members.items() if member not in future]
    _check_decodable(rules, supported_version, members.values())
    failed = set(failed_preconditions) - {Precondition.VERSIONS}
    if (
        future
        and min((versions.used_version for versions in known_members), default=supported_version)
        < EARLIEST_PROBEABLE_VERSION
    ):
        failed.add(Precondition.VERSIONS)
    for check in rules.preconditions:
        if check in failed and supported_version >= _CHECKED_SINCE.get(check, 0):
            return _error_decision(rules, supported_version, members, future, check)
    candidates = _candidate_versions(supported_version, known_members, members.values())
    supported = candidates[rules.supported_version]
    regular = VersionAnswer(
        candidates[rules.version], supported, rules.content_while_probing if future else AssignmentContent.REGULAR
    )
    for_future = VersionAnswer(candidates[rules.version_for_future], supported, rules.content_for_future)
    completes = regular.version < supported_version == candidates[VersionSource.LOWEST_SUPPORTED]
    return VersionDecision(
        {member: for_future if member in future else regular for member in members}, future, completes
    )


def _check_decodable(rules: LeaderRules, supported_version: int, members: Iterable[MemberVersions]) -> None:
    """Raise ``RemoteProtocolError`` for versions that the leader cannot read."""
    for versions in members:
        if versions.used_version > supported_version and not rules.decodes_future:
            message = f"unable to decode subscription data: version={versions.used_version}"
            raise RemoteProtocolError(message, "TaskAssignmentException")
        if rules.validates_supported_since is None or supported_version < rules.validates_supported_since:
            continue
        if versions.supported_version < versions.used_version >= EARLIEST_PROBEABLE_VERSION:
            message = (
                f"a member sent version {versions.used_version} and claims to support only {versions.supported_version}"
            )
            raise RemoteProtocolError(message, "IllegalArgumentException")


def _candidate_versions(
    supported_version: int, known_members: Sequence[MemberVersions], members: Iterable[MemberVersions]
) -> Mapping[VersionSource, int]:
    """Return the version of each source; each is at most the leader's supported version."""
    own = supported_version
    return {
        VersionSource.OWN_SUPPORTED: own,
        VersionSource.LOWEST_USED_KNOWN: min([own, *(versions.used_version for versions in known_members)]),
        VersionSource.LOWEST_USED: min([own, *(versions.used_version for versions in members)]),
        VersionSource.LOWEST_SUPPORTED_KNOWN: min([own, *(versions.supported_version for versions in known_members)]),
        VersionSource.LOWEST_SUPPORTED: min([own, *(versions.supported_version for versions in members)]),
    }


def assignment_error(rules: LeaderRules, supported_version: int, members: Iterable[str]) -> VersionDecision | None:
    """Return the answers of a leader that could not assign; None if its rules have no error code for it (up to 2.6)."""
    if not rules.answers_errors or supported_version < FIRST_ASSIGNMENT_WITH_ERROR_CODE:
        return None
    return _answer_with_error(supported_version, members, AssignorError.ASSIGNMENT_ERROR)


def _error_decision(
    rules: LeaderRules,
    supported_version: int,
    members: Mapping[str, MemberVersions],
    future_members: frozenset[str],
    check: Precondition,
) -> VersionDecision:
    """Return the answers to a group that fails a precondition, or raise if the rules have none.

    Java: ``errorAssignment``.
    """
    if check is Precondition.VERSIONS and assignment_error(rules, supported_version, members) is None:
        message = (
            f"a member sent a version above {supported_version} and another one below {EARLIEST_PROBEABLE_VERSION}"
        )
        raise RemoteProtocolError(message, "IllegalStateException")
    answered = [member for member in members if rules.answers_future_members or member not in future_members]
    return _answer_with_error(supported_version, answered, _ERROR_CODES[check], future_members)


def _answer_with_error(
    supported_version: int, members: Iterable[str], error: AssignorError, future_members: frozenset[str] = frozenset()
) -> VersionDecision:
    return VersionDecision(
        dict.fromkeys(members, VersionAnswer(supported_version, supported_version, AssignmentContent.ERROR, error)),
        future_members,
    )
