"""Where a roll stands, replayed from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.expectation import Expectation
from streams_assignor.upgrade.roll.journal import (
    BackPlanned,
    CommandEnded,
    CommandIntended,
    DeviationFound,
    InstancesPlanned,
    JournalError,
    MembersJoined,
    OriginNamed,
    PlanRecorded,
    QuestionAnswered,
    RollEnded,
    RollRecord,
    RollResumed,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import (
    ALL_INSTANCES,
    BY_HAND,
    STOP,
    InstanceConfig,
    RollPlan,
    RollRound,
    RoundAction,
)

ABOUT_DONE: Final = "may-be-done"
"""Whether a group is to be restarted that may run the release already."""
ABOUT_PLAN: Final = "plan"
ABOUT_WAY_BACK: Final = "no-way-back"
ABOUT_NEEDS: Final = "needs"
"""Whether what a round needs, and no broker shows, holds."""
ABOUT_ORIGIN: Final = "origin"
"""The release that ran before: the way back leads there."""
ABOUT_FORECAST: Final = "unsafe-forecast"
ABOUT_OUTCOME: Final = "unknown-outcome"
ABOUT_DEVIATION: Final = "deviation"


@frozen(kw_only=True)
class StepInProgress:
    """A step that has begun and has not passed."""

    number: int
    instances: tuple[str, ...]
    before: Mapping[str, tuple[str, ...]] = field(hash=False)
    """Each instance before its commands, as ``RollObservation.incarnations``."""
    owners: Mapping[str, str] = field(hash=False)
    expectation: Expectation
    ended: Mapping[tuple[str, str], CommandEnded | None] = field(factory=dict, hash=False)
    """Instance and verb of each command that was intended -> how it ended; None: that is not known."""
    absent: frozenset[str] = frozenset()
    """On the way back, the instances whose turn comes later, and that were not there when it began."""
    unchecked: bool = False
    """Whether an operator goes on though the forecast is unsafe."""
    touched: frozenset[str] = frozenset()
    """The instances for which a command was intended, also those whose commands are run again."""
    seconds_before: float | None = 0.0
    """How long before roll was called again its first command was intended; None: not known."""

    def counted(self, member_ids: Iterable[str]) -> frozenset[str]:
        """Return which of these members are of before."""
        return frozenset(one for ids in self.before.values() for one in ids).intersection(member_ids)

    @property
    def is_untouched(self) -> bool:
        """Whether no command was intended."""
        return not self.touched


@frozen(kw_only=True)
class RollState:
    """Where a roll stands."""

    plan: RollPlan
    rounds: tuple[RollRound, ...]
    """Those that are to be done: forward, or back."""
    at: int = 0
    """The index of the round; ``len(rounds)`` after the last one."""
    configs: Mapping[str, InstanceConfig] = field(hash=False)
    """The configuration of each instance; while a command is under way, its next one."""
    stopped: frozenset[str] = frozenset()
    """The instances that were stopped and not started."""
    owners_before_stop: Mapping[str, str] = field(factory=dict, hash=False)
    """The instance of each task when the group was stopped: nobody has it until the group is started."""
    done: frozenset[str] = frozenset()
    """The instances that have passed in this round."""
    steps: int = 0
    """The number of the last step."""
    step: StepInProgress | None = None
    agreed: frozenset[str] = frozenset()
    """The questions about the whole plan to which an operator has agreed."""
    consents: frozenset[int] = frozenset()
    """The rounds that an operator has agreed to: without a way back, or with needs that no broker shows."""
    deviation: DeviationFound | None = None
    """The one that waits for an answer."""
    accepted: frozenset[tuple[int, DeviationKind, str, str]] = frozenset()
    """Deviations that an operator has accepted: step, kind, gate, and each instance that was named, or none."""
    patient: frozenset[tuple[int, DeviationKind]] = frozenset()
    """Deviations for which an operator waits."""
    members: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The member ids of each instance when the last step passed, until an operator was told of something else."""
    joined: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """As ``MembersJoined`` says, until a command of the instance, or an answer."""
    answers: int = 0
    """How often an operator has answered: what is remembered of looks before may have its reason in that."""
    waits: int = 0
    """How often looking began anew."""
    restarted: frozenset[str] = frozenset()
    """The instances of steps that have passed since the roll began, or turned back."""
    suspects: frozenset[str] = frozenset()
    """The instances of a step that was given up: they may run anything, or nothing, and return first."""
    wants: SafeOption | None = None
    """The wish of an operator that is not planned yet: back, or other instances."""
    is_going_back: bool = False
    is_paused: bool = False
    """Whether an operator has stopped here, until the command is called again."""
    outcome: str = ""

    @property
    def round(self) -> RollRound | None:
        """The round that is under way; None after the last one."""
        return self.rounds[self.at] if self.at < len(self.rounds) else None

    @property
    def confirmed(self) -> bool:
        """Whether an operator has agreed to the plan."""
        return ABOUT_PLAN in self.agreed

    @property
    def wants_back(self) -> bool:
        """Whether the way back is to be planned."""
        return self.wants is SafeOption.BACK

    @property
    def is_finished(self) -> bool:
        """Whether all rounds are done, forward or back."""
        return bool(self.outcome) and self.round is None

    @property
    def needs_empty_state(self) -> bool:
        """Whether the instances of this round have to start with empty state directories."""
        asked = self.rounds[max(0, self.at - 1) : self.at + 1]
        together = asked if self.round and self.round.action is RoundAction.START else asked[-1:]
        return any(each.needs_empty_state for each in together)

    @property
    def is_stopping(self) -> bool:
        """Whether instances are stopped, to be started later."""
        return self.round is not None and self.round.action is RoundAction.STOP

    @property
    def running(self) -> tuple[str, ...]:
        """The instances that have to be there: those of a step that starts them, too."""
        touched = self.step.instances if self.step else ()
        stopped = self.stopped.union(touched) if self.is_stopping else self.stopped.difference(touched)
        return tuple(name for name in self.plan.names if name not in stopped)

    @property
    def has_nobody(self) -> bool:
        """Whether no instance has to be there."""
        return not self.running

    @property
    def asked_together(self) -> tuple[int, ...]:
        """The rounds about which is asked before this one: who waits between a stop and a start waits for everybody."""
        stops = self.round is not None and self.round.action is RoundAction.STOP
        return tuple(range(self.at, min(self.at + 1 + stops, len(self.rounds))))

    @property
    def remaining(self) -> tuple[str, ...]:
        """The instances that this round has not touched, in order; those of a step that was given up come first."""
        is_once = self.round is not None and self.round.action is RoundAction.ONCE
        names = (ALL_INSTANCES,) if is_once else self.plan.names
        left = [name for name in names if name not in self.done]
        return tuple(sorted(left, key=lambda name: name not in self.suspects))

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """The commands of the step that is under way, in order: instance and verb."""
        if self.step is None or self.round is None:
            return ()
        return tuple((name, verb) for name in self.step.instances for verb in self.plan.verbs_of(self.round))

    @property
    def next_command(self) -> tuple[str, str] | None:
        """The first command of the step that was not intended."""
        ended = self.step.ended if self.step else {}
        return next((command for command in self.commands if command not in ended), None)

    @property
    def commands_ended(self) -> bool:
        """Whether all commands of the step that is under way have ended."""
        ended = self.step.ended if self.step else {}
        return bool(self.commands) and all(map(ended.get, self.commands))

    @property
    def begun_rounds(self) -> tuple[RollRound, ...]:
        """The rounds of which something was done, in order."""
        has_begun = bool(self.done) or bool(self.step and not self.step.is_untouched)
        return self.rounds[: max(self.at + has_begun, 0 if self.is_going_back else self.plan.begun)]

    @property
    def can_return(self) -> bool:
        """Whether the instances can be what they were: what was done once for all of them stays."""
        return all(begun.action is not RoundAction.ONCE for begun in self.begun_rounds)

    def after(self, record: RollRecord) -> RollState:
        """Return the state after a record."""
        return _after(record, self)


def replay(records: Iterable[RollRecord], source: str = "the journal") -> RollState:
    """Return the state after all records.

    Raises:
        JournalError: They do not begin with a plan, or do not follow from each other.
    """
    state: RollState | None = None
    for number, record in enumerate(records, 1):
        if isinstance(record, PlanRecorded) != (state is None):
            raise JournalError(f"{source}, line {number}: expected one plan, on the first line")
        state = begin(record.plan) if isinstance(record, PlanRecorded) else _checked(state, record, source, number)
    if state is None:
        raise JournalError(f"{source}: expected a plan, got nothing")
    return state


def _checked(state: RollState | None, record: RollRecord, source: str, number: int) -> RollState:
    assert state
    try:
        return state.after(record)
    except _Unexpected as error:
        raise JournalError(f"{source}, line {number}: {error}") from None


def begin(plan: RollPlan) -> RollState:
    """Return the state before anything was done."""
    furthest, before = plan.rounds[max(0, plan.begun - 1)].config, plan.rounds[0].before
    configs = {name: furthest if name in plan.bounced else before for name in plan.names}
    bounced = frozenset(plan.bounced)
    return RollState(plan=plan, rounds=plan.rounds, configs=configs, restarted=bounced, suspects=bounced)


class _Unexpected(ValueError):
    """A record that does not follow from the ones before it."""


@singledispatch
def _after(record: RollRecord, state: RollState) -> RollState:
    """Return the state after a record: a deviation waits for its answer.

    Who is told that an instance is gone starts it again, and calls roll again: that it was replaced is no news then.
    """
    assert isinstance(record, DeviationFound)
    members = state.members if record.kind is DeviationKind.MEMBER_REPLACED else {}
    return evolve(state, deviation=record, members=members)


@_after.register
def _resumed(record: RollResumed, state: RollState) -> RollState:
    # A torn line may have been an intent whose command has run; after a deviation comes an answer.
    if record.torn and state.step and state.next_command and not state.deviation:
        instance, verb = state.next_command
        state = state.after(CommandIntended(step=state.step.number, instance=instance, verb=verb))
    step = None if state.step and state.step.is_untouched else state.step
    if step:
        step = evolve(step, seconds_before=record.seconds)
        state = evolve(state, step=step)
    # The number of a step that was not touched is free again.
    return evolve(
        state,
        step=step,
        steps=state.steps - (step is not state.step),
        deviation=None,
        is_paused=False,
        waits=state.waits + 1,
    )


@_after.register
def _began(record: StepBegan, state: RollState) -> RollState:
    if state.step or state.round is None or not state.confirmed:
        raise _Unexpected(f"step {record.step} begins before the last one has passed, or before the plan was confirmed")
    step = StepInProgress(
        number=record.step,
        instances=record.instances,
        before=record.before,
        owners=record.owners or state.owners_before_stop,
        expectation=record.expectation,
        absent=frozenset(record.absent),
    )
    # A deviation without names, decided before, was one of the group as it was then.
    accepted = frozenset(one for one in state.accepted if one[0] != record.step or one[-1])
    patient = frozenset(one for one in state.patient if one[0] != record.step)
    return evolve(state, step=step, steps=record.step, accepted=accepted, patient=patient)


def _step(state: RollState, number: int, instance: str | None = None) -> StepInProgress:
    if state.step is None or state.step.number != number or instance not in (None, *state.step.instances):
        raise _Unexpected(f"step {number} has not begun, or not with {instance}")
    return state.step


@_after.register
def _intended(record: CommandIntended, state: RollState) -> RollState:
    step = _step(state, record.step, record.instance)
    configs = state.configs
    # An instance that was stopped to be restarted is no longer what it was.
    makes = record.verb != STOP or (state.round is not None and state.round.action is RoundAction.RESTART)
    if state.round and makes and record.instance in configs:
        configs = {**configs, record.instance: state.round.config}
    ended = {**step.ended, (record.instance, record.verb): None}
    before = {*step.before.get(record.instance, ()), *record.before}
    step = evolve(
        step,
        ended=ended,
        touched=step.touched | {record.instance},
        before={**step.before, record.instance: tuple(sorted(before))},
    )
    joined = {name: ids for name, ids in state.joined.items() if name != record.instance}
    return evolve(state, configs=configs, step=step, joined=joined)


@_after.register
def _joined(record: MembersJoined, state: RollState) -> RollState:
    return evolve(state, joined=record.joined)


@_after.register
def _ended_command(record: CommandEnded, state: RollState) -> RollState:
    step = _step(state, record.step, record.instance)
    if (record.instance, record.verb) not in step.ended:
        raise _Unexpected(f"{record.verb} {record.instance} ends, and was not intended")
    return evolve(state, step=evolve(step, ended={**step.ended, (record.instance, record.verb): record}))


@_after.register
def _passed(record: StepPassed, state: RollState) -> RollState:
    step = _step(state, record.step)
    passed = frozenset(step.instances)
    is_stop = state.round is not None and state.round.action is RoundAction.STOP
    stopped = state.stopped | passed if is_stop else state.stopped - passed
    return evolve(
        state,
        step=None,
        done=state.done | passed,
        stopped=stopped,
        owners_before_stop=step.owners if is_stop else {},
        restarted=state.restarted | passed,
        suspects=state.suspects - passed,
        members={name: ids for name, ids in {**state.members, **record.members}.items() if ids},
        waits=state.waits + 1,
    )


@_after.register
def _verified(record: RoundVerified, state: RollState) -> RollState:
    if record.round != state.at + 1 or state.remaining:
        raise _Unexpected(f"round {record.round} is verified before all of its instances have passed")
    return _enter(evolve(state, at=state.at + 1))


def _enter(state: RollState) -> RollState:
    """Return the state at the beginning of a round: instances that are what it makes them are done."""
    done = frozenset(name for name in state.configs if state.round and _is_there(state, state.round, name))
    return evolve(state, done=done, waits=state.waits + 1)


def _is_there(state: RollState, roll_round: RollRound, name: str) -> bool:
    if roll_round.action is RoundAction.ONCE:
        return False  # instances do not show whether it was done
    if roll_round.action is RoundAction.STOP:
        return name in state.stopped
    return name not in state.stopped and state.configs[name] == roll_round.config


@_after.register
def _answered(record: QuestionAnswered, state: RollState) -> RollState:
    gate = state.deviation.gate if state.deviation else ""
    state = evolve(state, deviation=None, waits=state.waits + 1, members={}, joined={}, answers=state.answers + 1)
    if record.option is SafeOption.STOP:
        return evolve(state, is_paused=True)
    if record.option is SafeOption.BACK:
        return evolve(state, wants=None if state.is_going_back else SafeOption.BACK)
    if record.option is SafeOption.REPLAN:
        return evolve(state, wants=SafeOption.REPLAN)
    if record.option is SafeOption.AGAIN:
        if state.step:
            return evolve(state, step=_again(state.step, record.instances))
        again = frozenset(record.instances)
        return evolve(state, done=state.done - again, suspects=state.suspects | again)
    if record.kind is not None:
        if record.option is SafeOption.WAIT:
            return evolve(state, patient=state.patient | {(record.step, record.kind)})
        # The answer is to this replacement alone: the next one is another event.
        is_event = record.kind is DeviationKind.MEMBER_REPLACED
        names = () if is_event else ("", *record.instances)
        return evolve(state, accepted=state.accepted.union((record.step, record.kind, gate, name) for name in names))
    if record.about == ABOUT_OUTCOME and state.step and record.option is SafeOption.CONTINUE:
        return evolve(state, step=_taken_as_ended(state.step))
    return _consented(record.about, state)


def _consented(about: str, state: RollState) -> RollState:
    if about in (ABOUT_DONE, ABOUT_PLAN):
        return evolve(state, agreed=state.agreed | {about})
    if about in (ABOUT_WAY_BACK, ABOUT_NEEDS):
        return evolve(state, consents=state.consents.union(state.asked_together))
    if about == ABOUT_FORECAST and state.step:
        return evolve(state, step=evolve(state.step, unchecked=True))
    return state


def _again(step: StepInProgress, instances: tuple[str, ...]) -> StepInProgress:
    """Forget the commands of instances, which then are run again."""
    kept = {key: end for key, end in step.ended.items() if key[0] not in (instances or step.instances)}
    return evolve(step, ended=kept, unchecked=True)


def _taken_as_ended(step: StepInProgress) -> StepInProgress:
    ended = {
        (instance, verb): end or CommandEnded(step=step.number, instance=instance, verb=verb, how=BY_HAND)
        for (instance, verb), end in step.ended.items()
    }
    return evolve(step, ended=ended)


@_after.register
def _origin(record: OriginNamed, state: RollState) -> RollState:
    named, rounds = record.plan, record.plan.rounds

    def renamed(config: InstanceConfig) -> InstanceConfig:
        return evolve(config, release=named.origin) if config.release == state.plan.origin else config

    configs = {name: renamed(config) for name, config in state.configs.items()}
    return evolve(state, plan=named, rounds=rounds, configs=configs)


@_after.register
def _replanned(record: InstancesPlanned, state: RollState) -> RollState:
    """Return the state with other instances: those that are new are restarted, those that are gone are forgotten."""
    names = {instance.name for instance in record.instances}

    def there(name: str | None) -> str | None:
        return name if name in names else None

    plan = evolve(
        state.plan,
        instances=record.instances,
        canary=there(state.plan.canary),
        leader=there(state.plan.leader),
        bounced=tuple(filter(there, state.plan.bounced)),
    )
    step = state.step
    if step:
        left = tuple(filter(there, step.instances))
        step = evolve(step, instances=left) if left else None
    return evolve(
        state,
        plan=plan,
        step=step,
        configs={name: config for name, config in {**state.configs, **record.configs}.items() if name in names},
        done=state.done & names,
        stopped=state.stopped & names,
        restarted=state.restarted & names,
        suspects=state.suspects & names,
        wants=None,
        waits=state.waits + 1,
    )


@_after.register
def _back(record: BackPlanned, state: RollState) -> RollState:
    touched = state.step.touched if state.step else frozenset[str]()
    stopping = state.round is not None and state.round.action is not RoundAction.RESTART
    # An instance whose stop or start has begun may be either: it counts as stopped, and is started.
    stopped = state.stopped | touched if stopping else state.stopped
    going_back = evolve(
        state,
        rounds=record.rounds,
        at=0,
        step=None,
        stopped=stopped,
        restarted=frozenset(),
        suspects=touched,
        wants=None,
        is_going_back=True,
        consents=frozenset(),
        outcome="",
    )
    return _enter(going_back)


@_after.register
def _ended(record: RollEnded, state: RollState) -> RollState:
    return evolve(state, outcome=record.outcome, wants=None, members={})
