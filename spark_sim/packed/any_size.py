"""The packed model of groups of any size, with any number of faults, as ``spark_sim.search.views`` explores it.

The actions, tables and properties are those of the exact search (``Encoding``). Two things differ. Each orphaned id is
a process of its own, so that any number of crashes leaves finitely many process states; a group has any number of
``ABSENT`` processes, which are nothing until an id takes their place. And a group is known in part only: what else may
be in it is any multiset of processes of certain kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Final, NamedTuple

from attrs import evolve, frozen

from spark_sim.model.violations import Violation
from spark_sim.packed._cell import FaultBudget, UpgradeCell
from spark_sim.packed._process_state import ABSENT, COMPLETING, PackedProcessState
from spark_sim.packed.actions import ActionRow, PackedAction
from spark_sim.packed.encoding import Encoding
from spark_sim.packed.tables.memo import Interner, Memo
from spark_sim.packed.termination import rebalancing_ends
from spark_sim.packed.view import (
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
from spark_sim.search.views import MAX_PARTS, Processes, Views, close

ANY_NUMBER: Final = FaultBudget(1, 1, 1)
"""The faults of groups of any size: taking one does not use it up."""
_KEPT_FIELDS: Final = PHASE * 3 | ROLLED_BACK


class Shared(NamedTuple):
    """What all processes of a group share."""

    group_fields: int
    subscriptions: int
    """The subscriptions of this generation, one bit each: those that its leader reads or has read."""
    leader: int
    """The process that leads; an absent one if none does."""


class Unseen(NamedTuple):
    """What the rules can tell of processes that are not seen."""

    tallies: int
    """A number for the tallies of all multisets of them."""
    subscriptions: int
    """The subscriptions of which one of them may be the last holder."""


class FoundViolation(Exception):
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


class AnySize:
    """The groups of a cell, whatever their size: its members and fault budget do not matter."""

    def __init__(self, cell: UpgradeCell) -> None:
        self.cell: Final = evolve(cell, members=max(2, len(set(cell.instance_sequences))), faults=ANY_NUMBER)
        if len({sequence[0] for sequence in cell.instance_sequences}) > 1:
            raise ValueError("expected a group whose members are alike at first")
        self.encoding: Final = Encoding(self.cell)
        self.absent: Final = self.encoding.state_number(PackedProcessState(0, 0, ABSENT))
        self.may_have_second_owner = False
        """Whether a leader may assign tasks that a member keeps."""
        self._states = self.encoding.process_states.values
        self.tallies: Memo[int, int] = Memo(
            lambda number: saturate(tallies_of(self._states[number]) >> GROUP_FIELD_BITS)
        )
        self._split: Memo[int, tuple[int, ...]] = Memo(self._split_ids)
        self._leads = Memo(self._is_leader)
        self._sums = Interner[frozenset[int]]()
        self._sums_of: Memo[frozenset[int], int] = Memo(lambda tallies: self._sums.of(_sums(tallies)))
        self._view_numbers = Interner[tuple[frozenset[PackedGroupView], frozenset[OperatorView]]]()
        self._views = Memo(self._possible_views)
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

    def _is_leader(self, number: int) -> bool:
        state = self._states[number]
        return state.leads or any(orphan.leads for orphan in state.orphaned_ids)

    def part(self, fields: int, subscriptions: int, processes: list[int]) -> tuple[Shared, list[int]]:
        """Return these processes as what is shared, and the others."""
        leader = next(filter(self._leads.__getitem__, processes), self.absent)
        others = [*processes, self.absent] if leader == self.absent else processes.copy()
        others.remove(leader)
        return Shared(fields, subscriptions, leader), others

    # -- the model ---------------------------------------------------------------------------------------------------

    def initial_parts(self, size: int) -> Iterator[tuple[Shared, Processes]]:
        """Yield parts of the settled group, whatever each member is started as later."""
        initial = self.encoding.initial_states()
        settled = sorted({number for states, _ in initial for number in states})
        for leader in filter(self._leads.__getitem__, settled):
            others = [number for number in (self.absent, *settled) if not self._leads[number]]
            for part in combinations_with_replacement(others, size):
                yield Shared(initial[0][1], 0, leader), part

    def post(self, shared: Shared, seen: Processes, unseen: Unseen) -> Iterator[tuple[Shared, list[int]]]:
        """Yield what each action makes of a part and its leader; ``FoundViolation`` if one violates a property."""
        fields, processes = shared.group_fields, [*seen, shared.leader]
        tallies = saturate(sum(map(self.tallies.__getitem__, processes)))
        views = self._views[fields, tallies, unseen.tallies]
        for number in dict.fromkeys(processes):
            rest = processes.copy()
            rest.remove(number)
            for step in self._steps[views, number]:
                yield from self._after(shared, rest, step, unseen)
        if fields & 3 == COMPLETING * PHASE:
            yield from self._lead(shared, processes)

    def _after(
        self, shared: Shared, rest: list[int], step: _Step, unseen: Unseen
    ) -> Iterator[tuple[Shared, list[int]]]:
        fields = (shared.group_fields + step.add) & _KEPT_FIELDS | self._all_faults(shared.group_fields)
        if step.prepares:
            rest = [self.encoding.join_pending_state[number] for number in rest]
            before = [0]
        else:
            before = self._subscriptions_without(step.lost, shared.subscriptions, rest, unseen)
        after = [*rest, *step.after]
        for subscriptions in before:
            if not step.elects:
                yield self.part(fields, subscriptions | step.bits, after)
                continue
            for place, number in enumerate(after):
                for elected in self._elected[number]:
                    yield self.part(fields, subscriptions | step.bits, [*after[:place], elected, *after[place + 1 :]])

    @staticmethod
    def _all_faults(fields: int) -> int:
        return fields & ~_KEPT_FIELDS

    def _subscriptions_without(self, lost: int, bits: int, rest: list[int], unseen: Unseen) -> list[int]:
        """Return the subscriptions after a holder of some has gone: each may have stayed if another may hold it."""
        for number in rest:
            lost &= ~self.encoding.subscription_bits[number]
        outcomes, others, bit = [bits & ~lost], unseen.subscriptions & lost, 1
        while bit <= others:
            if others & bit:
                outcomes += [outcome | bit for outcome in outcomes]
            bit <<= 1
        return outcomes

    def _lead(self, shared: Shared, processes: list[int]) -> Iterator[tuple[Shared, list[int]]]:
        instance = self.encoding.leader_instances[shared.leader]
        if instance < 0:
            return
        results = self.encoding.leader_table[instance, shared.subscriptions]
        if isinstance(results, Violation):
            raise FoundViolation(results)
        if self.encoding.checks_single_owner and self.encoding.may_have_second_owner([*processes]):
            self.may_have_second_owner = True
        after = [results[number] for number in processes]
        yield self.part(shared.group_fields + PHASE, shared.subscriptions, after)

    # -- what may be beside the processes that are seen --------------------------------------------------------------

    def summaries(self, fields: int, tallies: int, unseen: int) -> set[StateSummary]:
        """Return the summaries of groups with processes that have these tallies, and others (``Unseen.tallies``)."""
        sums = {saturate(tallies + others) for others in self._sums.values[unseen]}
        # A group has a process that is not absent, and so one in some round.
        return {self.encoding.summary_of(bits << GROUP_FIELD_BITS | fields) for bits in sums if bits & IN_SOME_ROUND}

    def _possible_views(self, key: tuple[int, int, int]) -> int:
        views = [summary.view for summary in self.summaries(*key)]
        group, operator = (frozenset(half) for half in zip(*views, strict=True)) if views else (frozenset(),) * 2
        return self._view_numbers.of((group, operator))

    def _possible_steps(self, key: tuple[int, int]) -> list[_Step]:
        """Return what a process may do in any of some views."""
        views, number = key
        steps = dict[_Step, None]()
        for view in (view for half in self._view_numbers.values[views] for view in half):
            row: ActionRow = self.encoding.half_rows[view, number]
            for _, violation in row.failures:
                raise FoundViolation(violation)
            for actions, elects in ((row.actions, False), (row.elections, True)):
                steps.update(dict.fromkeys(self._step(action, elects) for action in actions))
        return list(steps)

    def _step(self, action: PackedAction, elects: bool) -> _Step:
        after, bits = self.split(action.after), self.encoding.subscription_bits
        held = 0
        for number in after:
            held |= bits[number]
        return _Step(action.add, action.prepares_rebalance, elects, after, held, bits[action.before] & ~held)

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
        for shared, seen in views.parts:
            tallies = saturate(sum(map(self.tallies.__getitem__, (*seen, shared.leader))))
            processes = [number for number in (*seen, shared.leader) if self._instance(number) >= 0]
            if not processes or tallies & NEVER_TERMINAL:
                continue
            common = min(versions[self._instance(number)] for number in processes)
            beside = [n for n in views.beside(shared, seen) if versions[self._instance(n)] >= common]
            # Whose subscription this generation has is still there: all members run as they did when they joined.
            sent = 0
            for number in (*processes, *beside):
                sent |= senders[self._instance(number)]
            if shared.subscriptions & ~sent:
                continue
            quiescent = frozenset(self.tallies[n] for n in beside if not self.tallies[n] & NEVER_TERMINAL)
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
    """What is known of the groups of a cell, whatever their size and the number of faults."""

    k: int
    views: int = 0
    parts: int = 0
    violation: Violation | None = None
    """What does not hold in some part of a group; there may be no such group."""
    complete: bool = False
    rebalancing_ends: bool = False
    may_have_second_owner: bool = False

    @property
    def safe(self) -> bool:
        """Whether every property holds in groups of any size, with any number of faults."""
        return self.complete and self.rebalancing_ends and not (self.violation or self.may_have_second_owner)


def explore_any_size(cell: UpgradeCell, k: int, max_parts: int = MAX_PARTS) -> AnySizeResult:
    """Explore the groups of a cell with all sizes, as views of ``k`` processes."""
    model = AnySize(cell)
    try:
        views = close(model, k, max_parts)
    except FoundViolation as found:
        return AnySizeResult(k, violation=found.violation)
    if views is None:
        return AnySizeResult(k)
    violation = model.check_eventually(views)
    return AnySizeResult(
        k, views.count, len(views.parts), violation, True, rebalancing_ends(model.encoding), model.may_have_second_owner
    )
