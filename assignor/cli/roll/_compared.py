"""The result of a step beside its forecast: each decision that looks have shown, computed again from what was sent.

A broker shows the last generation only. So those that were superseded between two looks are not compared, and after a
crash neither are those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import define, field, frozen

from streams_assignor.cli.roll.instances import InstanceNames, processes_of
from streams_assignor.groups import InspectedGroup, InspectedMember
from streams_assignor.groups.described_group import STABLE, DescribedGroup
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.plans import Round
from streams_assignor.upgrade.releases import OURS
from streams_assignor.upgrade.roll.expectation import CountedRebalances
from streams_assignor.upgrade.roll.plan import InstanceConfig
from streams_assignor.upgrade.roll.state import RollState, StepInProgress
from streams_assignor.upgrade.streams_config import StreamsConfig

_MOST_GENERATIONS: Final = 5
"""Kept of a step: the last ones. In a large group each takes seconds to be computed again."""
NO_REBALANCE: Final = "the group has not rebalanced"


@define(eq=False)
class SeenGenerations:
    """The generations that looks have shown since a step began."""

    names: InstanceNames
    before: DescribedGroup | None = None
    """The group when the step began; None: roll was called again since."""
    groups: tuple[DescribedGroup, ...] = ()
    _last: InspectedGroup | None = None
    _owners: dict[str, str] = field(factory=dict)
    """Task => the instance that had it last."""
    _numbers: tuple[int | None, int | None] = (None, None)
    """Of the generation before the step, and of the last one."""
    _seen: int = 0
    _moves: int = 0

    def begin(self, before: InspectedGroup | None) -> None:
        """Begin a step."""
        self.before, self.groups = before.described if before else None, ()
        self._last, self._seen, self._moves, self._owners = before, 0, 0, {}
        number = generation_number(before) if before else None
        self._numbers = number, number
        if before:
            self._take_owners(before)

    def add(self, group: InspectedGroup | None) -> None:
        """Add what a look has shown, if it is a generation that the look before has not shown."""
        if group is None or group.described.state != STABLE or not group.is_streams:
            return
        known = self.groups[-1] if self.groups else self.before
        if known is None or _messages(known) != _messages(group.described):
            self.groups = (*self.groups, group.described)[-_MOST_GENERATIONS:]
            if self._last is None or not _only_static_members_returned(self._last, group):
                self._seen += self._last is not None
                self._numbers = self._numbers[0], generation_number(group)
            self._last = group
            self._moves += self._take_owners(group)

    def _take_owners(self, group: InspectedGroup) -> int:
        """Note who has which task; return how many have got another instance."""
        moves = 0
        for member in group.members:
            owner = self.names.of(member.described)
            for task in map(str, member.assignment.active):
                moves += self._owners.get(task, owner) != owner
                self._owners[task] = owner
        return moves

    @property
    def counted(self) -> CountedRebalances:
        """The rebalances since the step began, as far as the looks have shown them."""
        before, now = self._numbers
        number = None if before is None or now is None else now - before
        are_counted = number is not None and number >= self._seen
        rebalances = number if number is not None and are_counted else self._seen
        return CountedRebalances(
            rebalances=rebalances,
            moves=self._moves,
            are_counted=are_counted,
            are_seen=are_counted and rebalances == self._seen,
        )


def generation_number(group: InspectedGroup) -> int | None:
    """Return the number of a generation: members say in which one they were before. None: no member says it.

    They do since 3.4, but those that have joined for the first time.
    """
    last = max((member.subscription.generation for member in group.members), default=-1)
    return last + 1 if last >= 0 else None


def _messages(group: DescribedGroup) -> frozenset[tuple[str, bytes, bytes]]:
    return frozenset((each.member_id, each.subscription, each.assignment) for each in group.members)


@frozen
class ComputedAgain:
    """A decision beside the one that is computed again, with the names of the roll."""

    leaders: tuple[str, ...] = ()
    """The instances that decide so if they lead."""
    difference: str = ""
    unknown: str = ""
    by_process: bool = False

    @property
    def is_same(self) -> bool | None:
        """Whether it is the same; None: that is not known."""
        return None if self.unknown else bool(self.leaders)


@frozen(kw_only=True)
class StepComparison:
    """A step that has passed, and what its looks have shown."""

    state: RollState
    step: StepInProgress
    before: InspectedGroup | None
    """The group when the step began, as far as it is known."""
    groups: tuple[InspectedGroup, ...]
    """The generations since."""
    counted: CountedRebalances
    names: InstanceNames
    config: StreamsConfig
    ephemeral: bool
    """The assumption of the forecast: whether an instance that starts has no state of before."""

    def as_json(self, moved: Mapping[str, str]) -> Mapping[str, Any]:
        """Return what follows, as plain values for the journal; ``moved`` are the new owners after the step."""
        compared = [*self._computed_again()]
        last = compared[-1] if compared else ComputedAgain(unknown=NO_REBALANCE)
        outcomes = self.step.expectation.outcomes
        found = [outcome for outcome in outcomes if dict(outcome.moved) == moved and self.counted.fits(outcome)]
        return {
            "rebalances": self.counted.rebalances,
            "moves": self.counted.moves,
            "rebalances_counted": self.counted.are_counted,
            "moves_counted": self.counted.are_seen,
            "as_forecast": bool(found) if outcomes else None,
            "after_session": bool(found) and all(outcome.after_session for outcome in found),
            "generations_seen": len(compared),
            "as_computed": last.is_same,
            "superseded_as_computed": [each.is_same for each in compared[:-1]],
            "leaders": list(last.leaders),
            "difference": last.difference,
            "threads_compared": not last.by_process,
            "unknown": last.unknown,
            "drift": self._drift(),
            "assumptions_broken": [*self._broken_assumptions()],
        }

    @property
    def finds_state(self) -> bool | None:
        """Whether the instances of the step have found their state directories; None: nothing shows it.

        They keep their process ids there, since 2.6.2, 2.7.1 and 2.8.0, if a store is on disk.
        """
        return next((is_kept for _, is_kept in self._kept_ids()), None)

    def _computed_again(self) -> Iterator[ComputedAgain]:
        from streams_assignor.spark_sim.forecast import observe
        from streams_assignor.spark_sim.forecast.recomputation import recompute
        from streams_assignor.spark_sim.model.scenario import Instance

        groups, stateful = self.groups, self._stateful
        decided = [
            group
            for before, group in zip((self.before, *groups), groups, strict=False)
            if self._is_of_step(group) and not (before and _only_static_members_returned(before, group))
        ]
        for group in decided:
            try:
                last = observe(decided[-1], self.config, stateful)
                observed = last if group is decided[-1] else last.in_generation(group)
                instances = {each.name: self.names.of(each.threads[0].described) for each in observed.processes}
                found = recompute(
                    observed, {each.name: Instance.of(self._runs(each.threads[0])) for each in observed.processes}
                )
            except UpgradeError as error:
                yield ComputedAgain(unknown=str(error))
            else:
                leaders = dict.fromkeys(instances[leader] for leader in found.leaders)
                yield ComputedAgain(tuple(leaders), found.difference, found.unknown, found.by_process)

    @property
    def _stateful(self) -> frozenset[int]:
        """The subtopologies of which a member has reported state, in any generation of the step."""
        from streams_assignor.spark_sim.forecast.observation import reported_subtopologies

        groups = (*filter(None, [self.before]), *self.groups)
        return frozenset(number for group in groups for number in reported_subtopologies(group.members))

    def _is_of_step(self, group: InspectedGroup) -> bool:
        """Whether an instance of the step has returned, or gone: roll that was called again may see what was before."""
        return self.before is not None or not all(
            any(self._is_old(member) for member in group.members if self.names.of(member.described) == instance)
            for instance in self.step.instances
        )

    def _is_old(self, member: InspectedMember) -> bool:
        """Whether a member of an instance of the step is one of before."""
        return member.described.member_id in self.step.before.get(self.names.of(member.described), ())

    def _runs(self, member: InspectedMember) -> Round:
        """Return what a member runs; in a batch some may not be restarted yet."""
        config = self.state.configs.get(self.names.of(member.described))
        if config is None:
            raise UpgradeError(f"{member.label} is no instance of the plan: its release is not known")
        if self.state.round and self._is_old(member):
            config = self.state.round.before
        return config.resolved

    def _drift(self) -> int | None:
        from streams_assignor.spark_sim.forecast.recomputation import offset_drift

        if self.before is None:
            return None
        drifts = (offset_drift(self.before, group) for group in self.groups)
        return max((drift for drift in drifts if drift is not None), default=None)

    # -- what a forecast assumes -----------------------------------------------------------------------------------

    def _broken_assumptions(self) -> Iterator[str]:
        for instance, is_kept in self._kept_ids():
            if is_kept is self.ephemeral:
                has, option = ("kept its", "persistent") if is_kept else ("another", "ephemeral")
                found = "it has found its state directory" if is_kept else "it has found no state directory"
                yield f"{instance} has {has} process id: {found} (--state {option})"
        if self.state.round is None or self.state.round.before.resolved.release.leaves_on_close:
            return  # then the others do not wait for it
        if any(outcome.after_session for outcome in self.step.expectation.outcomes):
            return  # this way was forecast, too
        for instance in self.step.instances:
            if any(not processes_of(group.members, self.names, instance) for group in self.groups):
                yield f"the group has rebalanced without {instance}: its session timed out before it was back"

    def _kept_ids(self) -> Iterator[tuple[str, bool]]:
        """Yield the instances that can keep their process ids, and whether they have."""
        if not (self.before and self.groups and self._stateful and self.state.round):
            return
        if not (_keeps_process_id(self.state.round.before) and _keeps_process_id(self.state.round.config)):
            return
        for instance in self.step.instances:
            before, after = (
                processes_of(group.members, self.names, instance) for group in (self.before, self.groups[-1])
            )
            if before and after:
                yield instance, before == after


def _keeps_process_id(config: InstanceConfig) -> bool:
    """Whether a process that has stores on disk keeps its process id there; our own have no such directory."""
    release = config.resolved.release
    return release.behaviour.keeps_process_id and release != OURS


def _only_static_members_returned(before: InspectedGroup, after: InspectedGroup) -> bool:
    """Whether static members have returned, for which a coordinator keeps the assignments: nobody has decided."""
    ids = [{each.member_id: each.group_instance_id for each in group.described.members} for group in (before, after)]
    changed = ids[0].items() ^ ids[1].items()
    return bool(changed) and all(instance_id for _, instance_id in changed) and _assigned(before) == _assigned(after)


def _assigned(group: InspectedGroup) -> Mapping[str, bytes]:
    return {each.group_instance_id or each.member_id: each.assignment for each in group.described.members}
