"""Static members that return as an older release: within their session the coordinator gives them what they had.

A static member (KIP-345) that starts again in a stable group gets its last assignment, without a rebalance. Its version
is that which all members spoke; an older release may not read it, and fails.
"""

from __future__ import annotations

from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.gates import GateResult, RollWatch, failed, passed, waiting
from streams_assignor.upgrade.roll.group_observation import GroupObservation
from streams_assignor.upgrade.roll.plan import START, STOP, InstanceConfig
from streams_assignor.upgrade.roll.state import RollState


def keeps_unreadable_assignment(seen: GroupObservation, instance: str, config: InstanceConfig) -> bool:
    """Whether an instance that starts now as a configuration gets an assignment that its release cannot read.

    While the group is not stable this is not known, and assumed if members are static and their version is not shown.
    """
    if seen.epochs or not any(member.is_static for member in seen.of(instance)):
        return False
    sent = [member.used_version for member in seen.members]
    return any(version is None or version > config.resolved.release.supported_version for version in sent)


def static_gate(state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the next command may start its instance: not before the session of a static member has timed out."""
    assert state.round
    assert state.next_command
    (instance, verb), config = state.next_command, state.round.config
    if verb == STOP or not _lowers(state) or not any(member.is_static for member in seen.of(instance)):
        return None
    if not keeps_unreadable_assignment(seen, instance, config):
        return passed("static", f"{config} reads what {instance} was assigned")
    text = f"{instance} is a static member: started now as {config} it gets its last assignment, which it cannot read"
    expected = f"{instance} is no member any more: stopped, and its session has timed out"
    if verb == START:
        return waiting("static", DeviationKind.STATIC_MEMBER, text, expected, instances=(instance,))
    return failed("static", DeviationKind.STATIC_MEMBER, text, expected, instance)


def _lowers(state: RollState) -> bool:
    """Whether a release of a round reads less than another one that may have been running."""
    assert state.round
    configs = (*state.configs.values(), state.round.before)
    wanted = state.round.config.resolved.release.supported_version
    return any(config.resolved.release.supported_version > wanted for config in configs)
