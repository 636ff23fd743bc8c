"""The packed model of groups of any size, with any number of faults, as ``spark_sim.search.views`` explores it.

The actions, tables and properties are those of the exact search (``Encoding``). Two things differ. Each orphaned id is
a process of its own, so that any number of crashes leaves finitely many process states; a group has any number of
``ABSENT`` processes, which are nothing until an id takes their place. And a group is known in part only: what else may
be in it is any multiset of processes of certain kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Final, NamedTuple

from attrs import evolve, frozen

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed._cell import FaultBudget, UpgradeCell
from streams_assignor.spark_sim.packed.actions import ActionRow, PackedAction
from streams_assignor.spark_sim.packed.encoding import SECOND_OWNER, Encoding
from streams_assignor.spark_sim.packed.equivalence import BehaviourClass
from streams_assignor.spark_sim.packed.process_state import ABSENT, COMPLETING, PackedProcessState
from streams_assignor.spark_sim.packed.tables.memo import Interner, Memo
from streams_assignor.spark_sim.packed.termination import check_rebalances
from streams_assignor.spark_sim.packed.view import (
    GROUP_FIELD_BITS,
    IN_SOME_ROUND,
    NEVER_TERMINAL,
    PHASE,
    ROLLED_BACK,
    OperatorView,
    PackedGroupView,
    StateSummary,
    saturate,
    tallies_of,
)
from streams_assignor.spark_sim.search.views import MAX_PARTS, ActionEffect, Processes, Views, close, members

ANY_NUMBER: Final = FaultBudget(1, 1, 1)
"""The faults of groups of any size: taking one does not use it up."""
_KEPT_FIELDS: Final = PHASE * 3 | ROLLED_BACK


class Shared(NamedTuple):
    """The state that all processes of a group share."""

    group_fields: int
    subscriptions: int
    """The subscriptions of this generation, one bit each: those that its leader reads or has read."""
    leader: int
    """The process that leads; an absent one if none does."""


class Kind(NamedTuple):
    """The facts about a process that does not act which the rules read."""

    tallies: int
    subscriptions: int
    """One bit for each that the leader reads of it."""


class Unseen(NamedTuple):
    """The facts about processes that are not seen which the rules can tell apart."""

    tallies: int
    """A number for the tallies of all multisets of them."""
    subscriptions: int
    """The subscriptions of which one of them may be the last holder."""


class Situation(NamedTuple):
    """All that decides what may happen to a part of a group."""

    actor: int
    """A number for the steps that the one that acts may take."""
    leader: int
    """A number for those of the leader."""
    held: int
    """The subscriptions of these two that processes hold which do not act."""
    held_unseen: int
    """Those that only processes that are not seen may hold."""


class _FoundViolation(Exception):
    """A property does not hold in a part of a group."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class _Step(NamedTuple):
    """An action of a process, as its group sees it."""

    add: int
    prepares: bool
    elects: bool
    after: tuple[int, ...]
    """The process after it, and the ids that it has left."""
    bits: int
    """The subscriptions of these."""
    lost: int
    """The subscriptions that the process had before and these have not."""


def any_size_class(cell: UpgradeCell) -> BehaviourClass:
    """Return the class of a cell whose members all start, whatever their number and the faults are."""
    members = max(2, len(set(cell.instance_sequences)))
    return BehaviourClass.of(evolve(cell, members=members, faults=ANY_NUMBER, may_miss_responses=True))


class AnySize:
    """The groups of a cell, whatever their size."""

    def __init__(self, cell: UpgradeCell) -> None:
        self.cell: Final = any_size_class(cell).cell
        if len({sequence[0] for sequence in cell.instance_sequences}) > 1:
            raise ValueError("expected a group whose members are alike at first")
        self.encoding: Final = Encoding(self.cell)
        self.absent: Final = self.encoding.state_number(PackedProcessState(0, 0, ABSENT))
        self._states = self.encoding.process_states.values
        self.tallies: Memo[int, int] = Memo(
            lambda number: saturate(tallies_of(self._states[number]) >> GROUP_FIELD_BITS)
        )
        self._saturated: Memo[int, int] = Memo(saturate)
        self._split: Memo[int, tuple[int, ...]] = Memo(self._split_ids)
        self._leads: Memo[int, bool] = Memo(self.leads)
        self._sums = Interner[frozenset[int]]()
        self._sums_of: Memo[frozenset[int], int] = Memo(lambda tallies: self._sums.of(_sums(tallies)))
        self._view_numbers = Interner[tuple[frozenset[PackedGroupView], frozenset[OperatorView]]]()
        self._views = Memo(self._possible_views)
        self._step_numbers = Interner[tuple[_Step, ...]]()
        self._steps = Memo(self._possible_steps)
        self._elected: Memo[int, list[int]] = Memo(
            lambda number: [elected for _, elected in self.encoding.elections[number]]
        )

    # -- processes ---------------------------------------------------------------------------------------------------

    def conflate(self, processes: Processes) -> Unseen:
        """Return all that the rules can tell of any number of processes, each of which is one of these."""
        subscriptions = 0
        for number in processes:
            subscriptions |= self.encoding.subscription_bits[number]
        return Unseen(self._sums_of[frozenset(map(self.tallies.__getitem__, processes))], subscriptions)

    def _instance(self, number: int) -> int:
        """Return the number of the instance as which a process runs; -1 if it is absent."""
        state = self._states[number]
        return -1 if state.status == ABSENT else self.encoding.instance_of(state)

    def split(self, number: int) -> tuple[int, ...]:
        """Return a process without the ids that it has left, and each of these."""
        return self._split[number]

    def _split_ids(self, number: int) -> tuple[int, ...]:
        state = self._states[number]
        if not state.orphaned_ids or state == PackedProcessState(0, 0, ABSENT, orphaned_ids=state.orphaned_ids[:1]):
            return (number,)
        parts = [state._replace(orphaned_ids=())]
        parts += [PackedProcessState(0, 0, ABSENT, orphaned_ids=(orphan,)) for orphan in state.orphaned_ids]
        return tuple(map(self.encoding.state_number, parts))

    def leads(self, number: int) -> bool:
        """Whether a process, or an id that one has left, leads."""
        state = self._states[number]
        return state.leads or any(orphan.leads for orphan in state.orphaned_ids)

    def kind(self, process: int) -> Kind:
        """Return all that the rules ask of a process that does not act."""
        return Kind(self.tallies[process], self.encoding.subscription_bits[process])

    # -- the model ---------------------------------------------------------------------------------------------------

    def initial_parts(self, size: int) -> Iterator[tuple[Shared, Processes]]:
        """Yield parts of the settled group, whatever each member is started as later."""
        initial = self.encoding.initial_states()
        settled = sorted({number for states, _ in initial for number in states})
        for leader in filter(self._leads.__getitem__, settled):
            others = [number for number in (self.absent, *settled) if not self._leads[number]]
            for part in combinations_with_replacement(others, size):
                yield Shared(initial[0][1], 0, leader), part

    def situation(self, shared: Shared, actor: int, few: Processes, last: Kind, unseen: Unseen) -> Situation:
        """Return all that decides what may happen to a part of a group."""
        bits, leader = self.encoding.subscription_bits, shared.leader
        held, tallies = last.subscriptions, last.tallies + self.tallies[leader] + self.tallies[actor]
        for number in few:
            tallies += self.tallies[number]
            held |= bits[number]
        views = self._views[shared.group_fields, self._saturated[tallies], unseen.tallies]
        may_go = bits[actor] | bits[leader]
        return Situation(
            self._steps[views, actor], self._steps[views, leader], held & may_go, unseen.subscriptions & may_go & ~held
        )

    def post(self, shared: Shared, actor: int, situation: Situation) -> Iterator[ActionEffect[Shared]]:
        """Yield the effects of all actions of an actor and the leader; ``_FoundViolation``: a property is violated."""
        for steps, other in ((situation.actor, shared.leader), (situation.leader, actor)):
            for step in self._step_numbers.values[steps]:
                yield from self._effects(shared, step, other, situation, leader_acts=other == actor)
        if shared.group_fields & 3 == COMPLETING * PHASE:
            yield from self._lead(shared, actor)

    def _effects(
        self, shared: Shared, step: _Step, other: int, situation: Situation, *, leader_acts: bool
    ) -> Iterator[ActionEffect[Shared]]:
        """Yield what a step makes of the group; ``other`` is the leader, or the actor if the leader acts."""
        fields = (shared.group_fields + step.add) & _KEPT_FIELDS | shared.group_fields & ~_KEPT_FIELDS
        image: Callable[[int], int] | None = None
        before = [shared.subscriptions]
        if step.prepares:
            image, before = self.encoding.join_pending_state.__getitem__, [0]
            other = image(other)
        elif lost := step.lost & ~(situation.held | self.encoding.subscription_bits[other]):
            before = _without(shared.subscriptions, lost, situation.held_unseen)
        leader = next(filter(self._leads.__getitem__, step.after), self.absent if leader_acts else other)
        others = tuple(number for number in step.after if number != leader)
        for subscriptions in before:
            for after in self._elected[other] if step.elects else [leader]:
                yield ActionEffect(Shared(fields, subscriptions | step.bits, after), others, image)

    def _lead(self, shared: Shared, actor: int) -> Iterator[ActionEffect[Shared]]:
        instance = self.encoding.leader_instances[shared.leader]
        if instance < 0:
            return
        results = self.encoding.leader_table[instance, shared.subscriptions]
        if isinstance(results, Violation):
            raise _FoundViolation(results)
        if self.encoding.checks_single_owner and self.encoding.may_have_second_owner([shared.leader, actor]):
            raise _FoundViolation(SECOND_OWNER)
        after = Shared(shared.group_fields + PHASE, shared.subscriptions, results[shared.leader])
        yield ActionEffect(after, (), results.__getitem__)

    # -- what may be beside the processes that are seen --------------------------------------------------------------

    def summaries(self, fields: int, tallies: int, unseen: int) -> set[StateSummary]:
        """Return the summaries of groups with processes that have these tallies, and others (``Unseen.tallies``)."""
        sums = {self._saturated[tallies + others] for others in self._sums.values[unseen]}
        # A group has a process that is not absent, and so one in some round.
        return {self.encoding.summary_of(bits << GROUP_FIELD_BITS | fields) for bits in sums if bits & IN_SOME_ROUND}

    def _possible_views(self, key: tuple[int, int, int]) -> int:
        views = [summary.view for summary in self.summaries(*key)]
        group, operator = (frozenset(half) for half in zip(*views, strict=True)) if views else (frozenset(),) * 2
        return self._view_numbers.of((group, operator))

    def _possible_steps(self, key: tuple[int, int]) -> int:
        """Return a number for what a process may do in any of some views."""
        views, number = key
        steps = dict[_Step, None]()
        for view in (view for half in self._view_numbers.values[views] for view in half):
            row: ActionRow = self.encoding.half_rows[view, number]
            # Nothing is left of a generation when the group is empty, as if the first that joins prepared a rebalance.
            begins = isinstance(view, PackedGroupView) and not view.member_ids
            for _, violation in row.failures:
                raise _FoundViolation(violation)
            for actions, elects in ((row.actions, False), (row.elections, True)):
                steps.update(dict.fromkeys(self._step(action, elects, begins) for action in actions))
        return self._step_numbers.of(tuple(sorted(steps)))

    def _step(self, action: PackedAction, elects: bool, begins: bool) -> _Step:
        after, bits = self.split(action.after), self.encoding.subscription_bits
        held = 0
        for number in after:
            held |= bits[number]
        return _Step(action.add, action.prepares_rebalance or begins, elects, after, held, bits[action.before] & ~held)

    # -- what holds eventually ---------------------------------------------------------------------------------------

    def check_eventually(self, views: Views[Shared]) -> Violation | None:
        """Return what does not hold at the end of some schedule; None if all does.

        The search has to be complete: what is possible at the end depends on all that was found. A group in which a
        member has another version than the lowest of all has both, so they are seen together in some part.
        """
        table = self.encoding.protocol_table
        versions = {instance: table.initial_sent_version(instance) for instance in range(len(table.instances))}
        versions[-1] = max(versions.values())
        senders = self._subscriptions_by_instance()
        for shared, actor, few in views.expanded:
            seen = [number for number in (shared.leader, actor, *few) if number != self.absent]
            if any(self.tallies[number] & NEVER_TERMINAL for number in seen):
                continue
            for last in members(views.fitting(shared, (actor, *few))):
                processes = [*seen, last] if last != self.absent else seen
                if not processes or self.tallies[last] & NEVER_TERMINAL:
                    continue
                common = min(versions[self._instance(number)] for number in processes)
                unseen = members(views.fitting(shared, (actor, *few, last)))
                beside = [number for number in unseen if versions[self._instance(number)] >= common]
                # Whose subscription this generation has is still there: all members run as they did when they joined.
                sent = 0
                for number in (*processes, *beside):
                    sent |= senders[self._instance(number)]
                if shared.subscriptions & ~sent:
                    continue
                tallies = saturate(sum(map(self.tallies.__getitem__, processes)))
                quiescent = frozenset(
                    self.tallies[number] for number in beside if not self.tallies[number] & NEVER_TERMINAL
                )
                summaries = self.summaries(shared.group_fields, tallies, self._sums_of[quiescent])
                if any(summary.terminal for summary in summaries):
                    violation = self.encoding.check_eventually(processes)
                    if violation is not None:
                        return violation
        return None

    def _subscriptions_by_instance(self) -> dict[int, int]:
        table = self.encoding.protocol_table
        sent = dict.fromkeys(range(-1, len(table.instances)), 0)
        for number, state in enumerate(table.version_states.values):
            if isinstance(subscription := table.subscriptions[number], int):
                sent[state.instance] |= 1 << subscription
        return sent


def _without(subscriptions: int, lost: int, unseen: int) -> list[int]:
    """Return the subscriptions after a holder of some has gone: each may stay if one that is not seen holds it."""
    outcomes, bit = [subscriptions & ~lost], 1
    while bit <= (lost & unseen):
        if lost & unseen & bit:
            outcomes += [outcome | bit for outcome in outcomes]
        bit <<= 1
    return outcomes


def _sums(tallies: frozenset[int]) -> frozenset[int]:
    """Return the tallies of all multisets of processes that have these."""
    sums, waiting = {0}, [0]
    while waiting:
        before = waiting.pop()
        for one in tallies:
            if (after := saturate(before + one)) not in sums:
                sums.add(after)
                waiting.append(after)
    return frozenset(sums)


@frozen
class AnySizeResult:
    """The result for all groups of a cell, whatever their size and the number of faults."""

    k: int
    views: int = 0
    parts: int = 0
    violation: Violation | None = None
    """The properties that some part of a group violates; there may be no such group."""
    complete: bool = False

    @property
    def safe(self) -> bool:
        """Whether every property holds in groups of any size, with any number of faults."""
        return self.complete and not self.violation


def explore_any_size(cell: UpgradeCell, k: int, max_parts: int = MAX_PARTS) -> AnySizeResult:
    """Explore the groups of a cell with all sizes, as views of ``k`` processes."""
    model = AnySize(cell)
    try:
        views = close(model, k, max_parts)
    except _FoundViolation as found:
        return AnySizeResult(k, violation=found.violation)
    if views is None:
        return AnySizeResult(k)
    violation = check_rebalances(model.encoding) or model.check_eventually(views)
    return AnySizeResult(k, views.count, len(views.expanded), violation, True)
