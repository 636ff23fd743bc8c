"""A member's used version: the one in its subscriptions, and its changes by assignments.

Rule 1: only ``rules.MemberRules.transitions`` changes the used version.
Rule 2: this module knows numbers and events, no bytes and no clients.

A member starts with its latest version ("an instance does not know what version the leader understands and
(optimistically) sends a Subscription with the latest version Y", KIP-268), or with the one pinned by ``upgrade.from``.
``compare_versions`` classifies each assignment; the state and the result select the row of the table.
Java: ``StreamsPartitionAssignor.maybeUpdateSubscriptionVersion``, ``validateMetadataVersions``.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.codec.versions import EARLIEST_PROBEABLE_VERSION
from streams_assignor.probing._errors import LocalProtocolError, RemoteProtocolError
from streams_assignor.probing.model import Action, AssignorError, MemberState, ReceivedVersions, VersionComparison
from streams_assignor.probing.rules import ErrorReaction, MemberRules

_COMPARISONS_KEEPING_VERSION: Final = frozenset(
    {VersionComparison.OLD, VersionComparison.SAME, VersionComparison.ABOVE}
)


@frozen
class MemberVersion:
    """The immutable version state of one member."""

    rules: MemberRules = field(hash=False)
    supported_version: int
    """The latest version that it supports."""
    used_version: int
    """The version of its next subscription."""
    state: MemberState

    @classmethod
    def initial(cls, rules: MemberRules, supported_version: int, pinned_version: int | None = None) -> MemberVersion:
        """Return the state of a new member: its latest version is in use, or the one that ``upgrade.from`` pins.

        Raises ``LocalProtocolError`` if ``upgrade.from`` cannot pin this version.

        >>> from streams_assignor.probing.rules import CURRENT
        >>> MemberVersion.initial(CURRENT.member, 3, 2).state.name
        'PINNED'
        """
        if pinned_version is None or pinned_version == supported_version:
            return cls(rules, supported_version, supported_version, MemberState.LATEST)
        if not 1 <= pinned_version < min(supported_version, EARLIEST_PROBEABLE_VERSION):
            raise LocalProtocolError(f"cannot be pinned to version {pinned_version}", "IllegalArgumentException")
        return cls(rules, supported_version, pinned_version, MemberState.PINNED)

    def version_to_send(self) -> int:
        """Return the version of the next subscription; ``LocalProtocolError`` if it is not supported (``OVERSHOT``)."""
        if self.state is MemberState.OVERSHOT:
            message = f"version must be between 1 and {self.supported_version}; was: {self.used_version}"
            raise LocalProtocolError(message, "IllegalArgumentException")
        return self.used_version

    def on_assignment(self, event: ReceivedVersions) -> tuple[MemberVersion, tuple[Action, ...]]:
        """Return the member after an assignment, and the actions it must take.

        An error code takes precedence, because the versions of such an assignment are the leader's own.

        Raises:
            RemoteProtocolError: The assignment violates the rules, or Kafka's member throws for the error code.
        """
        if event.error_code and self.rules.default_error_reaction is not None:
            return self, self._on_error_code(event.error_code, self.rules.default_error_reaction)
        comparison = compare_versions(self.used_version, self.supported_version, event)
        if (self.state, comparison) not in self.rules.transitions:
            sent = f"sent version {self.used_version} (latest {self.supported_version})"
            got = f"got version {event.version} (supported {event.supported_version})"
            above = comparison is VersionComparison.ABOVE
            kafka = self.rules.exception_above_used if above else "TaskAssignmentException"
            raise RemoteProtocolError(f"{sent}, {got}: {comparison.value}", kafka)
        state, actions = self.rules.transitions[self.state, comparison]
        used = self.used_version
        if comparison not in _COMPARISONS_KEEPING_VERSION:
            used = event.supported_version
            if state is not MemberState.OVERSHOT:  # KAFKA-8649: nothing checks whether the version is supported
                used = min(used, self.supported_version)
        after = (
            self if (used, state) == (self.used_version, self.state) else evolve(self, used_version=used, state=state)
        )
        return after, _resolve_actions(actions, event.completes_upgrade)

    def _on_error_code(self, code: int, default: ErrorReaction) -> tuple[Action, ...]:
        reaction = self.rules.error_reactions.get(code, default)
        if reaction.throws:
            name = f" ({AssignorError(code).name})" if code in set(AssignorError) else ""
            raise RemoteProtocolError(f"the leader sent error code {code}{name}", reaction.throws)
        return reaction.actions


def compare_versions(used_version: int, supported_version: int, event: ReceivedVersions) -> VersionComparison:
    """Compare an assignment with the versions of the member that received it.

    Raises ``RemoteProtocolError`` if the supported version of the assignment is below its used version.

    >>> compare_versions(4, 4, ReceivedVersions(version=3, supported_version=3))
    <VersionComparison.LOWER: 'a lower version, and the group does not support the used version'>
    """
    version, supported = event.version, event.supported_version
    if version > used_version:
        return VersionComparison.ABOVE
    if version < EARLIEST_PROBEABLE_VERSION:
        return VersionComparison.OLD
    if supported < version:
        message = f"got an assignment of version {version} that claims to support only {supported}"
        raise RemoteProtocolError(message, "TaskAssignmentException")
    if supported > used_version:
        return (
            VersionComparison.BEYOND
            if supported > supported_version
            else VersionComparison.HIGHEST
            if supported == supported_version
            else VersionComparison.HIGHER
        )
    if version == used_version:
        return VersionComparison.SAME
    return VersionComparison.BEHIND if supported == used_version else VersionComparison.LOWER


def _resolve_actions(actions: tuple[Action, ...], completes_upgrade: bool) -> tuple[Action, ...]:
    """Replace the conditional action by the unconditional one, or remove it."""
    if Action.REJOIN_TO_COMPLETE not in actions:
        return actions
    kept = tuple(action for action in actions if action is not Action.REJOIN_TO_COMPLETE)
    return (*kept, Action.REJOIN) if completes_upgrade else kept
