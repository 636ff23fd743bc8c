"""A member's used version: which one it sends, and what an answer of the leader makes of it.

Rule 1: everything that changes the version a member sends is in ``rules.MemberRules.transitions``.
Rule 2: this file knows numbers and events. It has never met a byte or a client.

A member starts optimistically with its latest version ("an instance does not know what version the leader understands
and (optimistically) sends a Subscription with the latest version Y", KIP-268), or pinned by ``upgrade.from``. Each
assignment is put into one of a few words (``verdict``), and state and word together find the row of the table.
Java: ``StreamsPartitionAssignor.maybeUpdateSubscriptionVersion``, ``validateMetadataVersions``.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve, field, frozen

from probing.errors import LocalProtocolError, RemoteProtocolError
from probing.events import Action, AssignmentReceived, AssignorError, MemberState, Verdict
from probing.rules import MemberRules, OnError
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION

_KEEPS_THE_VERSION: Final = frozenset({Verdict.OLD, Verdict.SAME, Verdict.ABOVE})
_BELIEVES_ANYTHING: Final = MemberState.OVERSHOT


@frozen
class MemberVersion:
    """The version a member sends (``used``) and the newest it could send (``latest``). A value: nothing changes it."""

    rules: MemberRules = field(hash=False)
    latest: int
    used: int
    state: MemberState

    @classmethod
    def started(cls, rules: MemberRules, latest: int, pinned: int | None = None) -> MemberVersion:
        """Begin as a fresh process does: with the latest version, or with the one that ``upgrade.from`` pins.

        >>> from probing.rules import TODAY
        >>> MemberVersion.started(TODAY.member, 3, pinned=2).state.name
        'PINNED'
        """
        if pinned is None or pinned == latest:
            return cls(rules, latest, latest, MemberState.LATEST)
        if not 1 <= pinned < min(latest, EARLIEST_PROBEABLE_VERSION):
            raise LocalProtocolError(f"cannot be pinned to version {pinned}", "IllegalArgumentException")
        return cls(rules, latest, pinned, MemberState.PINNED)

    def version_to_send(self) -> int:
        """Return the used version for the next subscription; fails if a leader has pushed us beyond our latest."""
        if self.state is MemberState.OVERSHOT:
            message = f"version must be between 1 and {self.latest}; was: {self.used}"
            raise LocalProtocolError(message, "IllegalArgumentException")
        return self.used

    def receive(self, event: AssignmentReceived) -> tuple[MemberVersion, tuple[Action, ...]]:
        """Return the member after ``event`` and what it has to do; ``RemoteProtocolError`` if the answer is illegal.

        An error code comes before everything else: the versions beside it are the leader's own.
        """
        if event.error_code and self.rules.other_error is not None:
            return self, self._refused(event.error_code, self.rules.other_error)
        word = verdict(self.used, self.latest, event)
        if (self.state, word) not in self.rules.transitions:
            message = f"sent version {self.used} (latest {self.latest}), got version {event.version} (supported "
            kafka = self.rules.answered_above if word is Verdict.ABOVE else "TaskAssignmentException"
            raise RemoteProtocolError(f"{message}{event.supported}): {word.value}", kafka)
        state, actions = self.rules.transitions[self.state, word]
        told = event.supported if state is _BELIEVES_ANYTHING else min(event.supported, self.latest)
        used = self.used if word in _KEEPS_THE_VERSION else told
        after = self if (used, state) == (self.used, self.state) else evolve(self, used=used, state=state)
        return after, _settled(actions, event.completes)

    def _refused(self, code: int, other: OnError) -> tuple[Action, ...]:
        reaction = self.rules.errors.get(code, other)
        if reaction.throws:
            name = f" ({AssignorError(code).name})" if code in set(AssignorError) else ""
            raise RemoteProtocolError(f"the leader sent error code {code}{name}", reaction.throws)
        return reaction.actions


def verdict(used: int, latest: int, event: AssignmentReceived) -> Verdict:
    """Say in one word what an assignment means to a member that sent ``used`` and could send ``latest``.

    >>> verdict(4, 4, AssignmentReceived(version=3, supported=3))
    <Verdict.LOWER: 'a lower version, and the group supports no more than a lower one'>
    """
    version, supported = event.version, event.supported
    if version > used:
        return Verdict.ABOVE
    if version < EARLIEST_PROBEABLE_VERSION:
        return Verdict.OLD
    if supported < version:
        message = f"got an assignment of version {version} that claims to support only {supported}"
        raise RemoteProtocolError(message, "TaskAssignmentException")
    if supported > used:
        return Verdict.BEYOND if supported > latest else Verdict.HIGHEST if supported == latest else Verdict.HIGHER
    if version == used:
        return Verdict.SAME
    return Verdict.BEHIND if supported == used else Verdict.LOWER


def _settled(actions: tuple[Action, ...], completes: bool) -> tuple[Action, ...]:
    """Decide the conditional action; what remains is unconditional."""
    if Action.REJOIN_TO_COMPLETE not in actions:
        return actions
    kept = tuple(action for action in actions if action is not Action.REJOIN_TO_COMPLETE)
    return (*kept, Action.REJOIN) if completes else kept
