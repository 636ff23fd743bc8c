"""Whether instances live on after they have joined: a member that has died is counted until its session times out.

A commit of its own, or a probe of the operator, shows that a member lives now. A stable group that counts it shows only
that it lived one session ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.gates import GateResult, RollWatch, failed, passed, shortened, waiting
from streams_assignor.upgrade.roll.group_observation import (
    AT_REST,
    LOOP_JOINS,
    CountedMembers,
    GroupObservation,
    MemberSeen,
)
from streams_assignor.upgrade.roll.journal import MembersJoined
from streams_assignor.upgrade.roll.state import RollState


@frozen
class MemberLife:
    """How long a member has lived for sure."""

    since: float
    """The first look at a stable group that showed it."""
    until: float
    """It has lived until then."""

    @property
    def seconds(self) -> float:
        """How long it has lived for sure after it was first seen."""
        return self.until - self.since


@frozen(kw_only=True)
class GroupLife:
    """The memory of members over steps, until an operator has answered."""

    answers: int
    """How many answers there were."""
    in_step: bool = False
    """Whether a step was under way."""
    counted: CountedMembers = field(factory=CountedMembers)
    lives: Mapping[str, MemberLife] = field(factory=dict, hash=False)
    """By member id, of those that are counted."""
    committed: Mapping[str, tuple[str, int]] = field(factory=dict, hash=False)
    """The owner of each partition, and what was committed of it, when offsets were read last."""
    committed_at: float = 0.0
    """When that was."""
    known: Mapping[str, frozenset[str]] = field(factory=dict, hash=False)
    """The member ids that each instance had when it was whole first, since its last command."""
    joined: Mapping[str, frozenset[str]] = field(factory=dict, hash=False)
    """The other ones that it has had since then; of the instances of a step, all since their commands."""
    was_away: bool = False
    """Whether a coordinator did not answer, or another one has taken over, since the last step has passed."""

    def lives_after(self, watch: RollWatch, member_id: str) -> bool:
        """Whether a member has certainly lived since the phase began: for one of before, since the commands ended."""
        life = self.lives.get(member_id)
        return life is not None and life.until > watch.began

    def replaced(self, seen: GroupObservation, instance: str) -> bool:
        """Whether an instance has members that it did not have when it was known first."""
        return instance in self.known and not seen.incarnations(instance) <= self.known[instance]


def follow(state: RollState, life: GroupLife | None, seen: GroupObservation) -> GroupLife:
    """Return what is remembered of members after a look."""
    then = {name: frozenset(ids) for name, ids in state.members.items()}
    if life is None or life.answers != state.answers:
        joined = {name: frozenset(ids) for name, ids in state.joined.items()}
        life = GroupLife(answers=state.answers, known=then, joined=joined)
    if life.in_step and state.step is None:  # the step has passed
        life = evolve(life, known=then, was_away=False)
    touched = state.step.instances if state.step else ()
    joined = dict(life.joined)
    for name in state.plan.names:
        if name in touched and not state.commands_ended:
            joined.pop(name, None)
            continue
        ids = seen.incarnations(name) - life.known.get(name, frozenset())
        if name in touched and state.step:
            ids -= frozenset(state.step.before.get(name, ()))
        if ids and (name in touched or name in life.known or name in joined):
            joined[name] = joined.get(name, frozenset()) | ids
    known = {name: ids for name, ids in life.known.items() if name not in touched}
    if seen.is_stable:
        there = {name: seen.incarnations(name) for name in state.plan.names if name not in touched}
        known = {name: ids for name, ids in there.items() if len(ids) >= state.plan.members_of(name)} | known
    life = evolve(
        life,
        in_step=state.step is not None,
        known=known,
        joined=joined,
        was_away=life.was_away or _is_away(life, seen),
    )
    return _with_lives(state, life, seen)


def _is_away(life: GroupLife, seen: GroupObservation) -> bool:
    moved = life.counted.coordinator and seen.coordinator and seen.coordinator != life.counted.coordinator
    return not seen.state or seen.coordinator_was_away or bool(moved)


def _with_lives(state: RollState, life: GroupLife, seen: GroupObservation) -> GroupLife:
    if not seen.is_stable:
        return evolve(life, counted=life.counted.unsettled())
    ids = frozenset(member.member_id for member in seen.members)
    counted = life.counted.after(ids, seen.coordinator, seen.seconds, was_away=seen.coordinator_was_away)
    # A member that is counted for longer than a session has sent a heartbeat within the last one.
    heartbeat = seen.seconds - state.plan.limits.session_timeout_s
    committing = dict.fromkeys(_committing(life, seen), life.committed_at)
    lives: dict[str, MemberLife] = {}
    for member in seen.members:
        before = life.lives.get(member.member_id) or MemberLife(seen.seconds, seen.seconds)
        is_ready = (seen.ready or {}).get(member.instance) == ""
        proofs = (before.until, committing.get(member.member_id, 0.0), seen.seconds if is_ready else 0.0)
        lives[member.member_id] = evolve(before, until=max(*proofs, heartbeat if heartbeat > counted.since else 0.0))
    life = evolve(life, counted=counted, lives=lives)
    if seen.offsets is None:
        return life
    committed = {name: (each.owner, each.committed or 0) for name, each in seen.offsets.items()}
    return evolve(life, committed=committed, committed_at=seen.seconds)


def _committing(life: GroupLife, seen: GroupObservation) -> Iterator[str]:
    """Yield the member ids that have committed since offsets were read last."""
    for partition, each in (seen.offsets or {}).items():
        owner, committed = life.committed.get(partition, ("", 0))
        if owner == each.owner and each.committed not in (None, committed):
            yield owner


def joins(state: RollState, watch: RollWatch) -> MembersJoined | None:
    """Return what the journal does not have yet of instances that have joined more than once."""
    names = {name for name, ids in watch.lasting.joined.items() if len(ids) > state.plan.members_of(name)}
    joined = {name: tuple(sorted(watch.lasting.joined[name])) for name in sorted(names)}
    return MembersJoined(joined=joined) if joined != state.joined and joined else None


# -- gates ------------------------------------------------------------------------------------------------------------


def no_crash_loop(state: RollState, watch: RollWatch, _seen: GroupObservation) -> GateResult | None:
    """Whether no instance has joined again and again since its command, over all steps."""
    for instance, ids in watch.lasting.joined.items():
        usual = state.plan.members_of(instance)
        if len(ids) >= LOOP_JOINS * usual:
            text = f"{instance} has joined {len(ids)} times with {usual} member{'s' * (usual != 1)}"
            return failed("crash-loop", DeviationKind.CRASH_LOOP, text, "members that stay", instance)
    return None


def not_replaced(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the instances that roll has restarted are still the same ones, beside those of the step.

    If all others were replaced, and looks have shown that a coordinator was away meanwhile, then it was for longer than
    their sessions. Without such a witness they have failed.
    """
    if not seen.state or state.has_nobody:
        return None
    new, others = replaced_instances(state, watch, seen), _untouched(state)
    restarted = [name for name in new if name in state.restarted]
    is_outage = len(new) == len(others) and watch.lasting.was_away
    if not restarted or is_outage:
        return passed("replaced", f"{shortened(new)} with other member ids than before" if new else "the same members")
    text = f"{shortened(restarted)}: other member ids than when the step of the instance had passed"
    return failed("replaced", DeviationKind.MEMBER_REPLACED, text, "instances that live on", *restarted)


def replaced_instances(state: RollState, watch: RollWatch, seen: GroupObservation) -> tuple[str, ...]:
    """Return the instances beside those of the step that have other members than before."""
    return tuple(name for name in _untouched(state) if watch.lasting.replaced(seen, name))


def _untouched(state: RollState) -> tuple[str, ...]:
    return tuple(name for name in state.running if not state.step or name not in state.step.instances)


def is_ready(state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the probe of the operator says that the instances of the step are ready."""
    if state.is_stopping or seen.ready is None:
        return None
    if closed := {name: why for name, why in seen.ready.items() if why}:
        text = "; ".join(f"{name} is not ready: {why}" for name, why in closed.items())
        return waiting("ready", DeviationKind.NOT_READY, text, "a probe with status 0", instances=(*closed,))
    return passed("ready", f"{shortened(tuple(seen.ready))} ready")


def lives_on(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the instances of a step have lived for the soak time since they joined; after a round, all for a session.

    It waits for nothing but time: an instance that does not live on, other gates name.
    """
    soak_s, session_s = state.plan.limits.soak_s, state.plan.limits.session_timeout_s
    if not soak_s or state.is_stopping:
        return None
    if not seen.is_stable:
        return waiting("alive", None, AT_REST)
    lives: Mapping[str, MemberLife] = watch.lasting.lives
    if state.step is None:
        earliest = min((life.until for life in lives.values()), default=watch.began)
        left = max(session_s - watch.waited(seen), watch.began - earliest)
        if left <= 0:
            return passed("alive", f"every instance lived on for {session_s:g} s")
        text = f"whether every instance lives on for {session_s:g} s: {max(left, 1.0):.0f} s left"
        return waiting("alive", None, text, left_s=max(left, 1.0))
    members = _of_step(state, seen)
    if not members:
        return waiting("alive", None, AT_REST)
    shortest = min((lives[member.member_id] for member in members), key=lambda life: life.seconds)
    if shortest.seconds >= soak_s:
        return passed("alive", f"{shortened(state.step.instances)} lived for at least {shortest.seconds:.0f} s")
    text = f"{shortened(state.step.instances)} joined: known to live for {shortest.seconds:.0f} s of {soak_s:g}"
    left = max(1.0, shortest.since + soak_s + session_s - seen.seconds)
    return waiting("alive", None, text, left_s=left)


def _of_step(state: RollState, seen: GroupObservation) -> tuple[MemberSeen, ...]:
    assert state.step
    before = state.step.counted(member.member_id for member in seen.members)
    return tuple(member for name in state.step.instances for member in seen.of(name) if member.member_id not in before)
