"""A simulated group that is rolled: what a look at it shows, what commands do to it, and what a step would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import product
from typing import Final

from attrs import evolve

from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.groups.member import decode_members
from streams_assignor.groups.member_seen import member_seen
from streams_assignor.spark_sim.model.coordinator import GroupPhase
from streams_assignor.spark_sim.model.processes import start_process, stop_process
from streams_assignor.spark_sim.model.scenario import Instance, Scenario
from streams_assignor.spark_sim.model.settle import is_warming_up, progress, settle
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.group_observation import GroupObservation, MemberSeen
from streams_assignor.upgrade.roll.plan import RESTART, START, STOP, InstanceConfig

_STATES: Final[Mapping[GroupPhase, str]] = {
    GroupPhase.EMPTY: "Empty",
    GroupPhase.PREPARING_REBALANCE: "PreparingRebalance",
    GroupPhase.COMPLETING_REBALANCE: "CompletingRebalance",
    GroupPhase.STABLE: "Stable",
}


class RolledGroup(Simulation):
    """A group whose processes are restarted by commands. A state of a search: it is forked before it changes."""

    @classmethod
    def started(cls, names: Iterable[str], config: InstanceConfig, workload: Workload) -> RolledGroup:
        """Return a group of processes that run the same, at rest."""
        instance = Instance.of(config.resolved)
        return cls(Scenario(tuple((name, instance) for name in names), (), workload)).begin()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing happens any more by itself."""
        has_joined = all(not member.rejoin_needed for member in self.running_members)
        phase = self.coordinator.phase
        idle = phase is GroupPhase.STABLE and not self.coordinator.pending_sync_responses
        is_over = has_joined and not self.orphaned_ids and not is_warming_up(self)
        return is_over and (idle or phase is GroupPhase.EMPTY)

    def settled(self) -> RolledGroup:
        """Return the group at rest."""
        twin = self.fork()
        settle(twin)
        return twin

    def progressed(self) -> RolledGroup:
        """Return the group after the next thing that happens by itself."""
        twin = self.fork()
        progress(twin)
        return twin

    def runs(self, process: str) -> InstanceConfig | None:
        """Return what a process runs; None if none of its threads does."""
        return self.ran_last(process) if self.is_process_running(process) else None

    def ran_last(self, process: str) -> InstanceConfig:
        """Return what a process runs, or has run."""
        first, *_ = self.workload.member_names(process)
        return config_of(self.members[first].instance)

    def sends(self, member_id: str) -> int | None:
        """Return the version that a member sends first; None if it does not run any more."""
        found = (member for member in self.running_members if member.member_id == member_id)
        return next((_first_version(config_of(member.instance)) for member in found), None)

    def is_whole(self, process: str) -> bool:
        """Whether every thread of a process runs."""
        return all(self.members[name].running for name in self.workload.member_names(process))

    # -- commands and faults -----------------------------------------------------------------------------------------

    def after(self, verb: str, process: str, config: InstanceConfig) -> RolledGroup:  # type: ignore[override]  # not of steps
        """Return the group after a command has restarted, stopped or started a process, before anybody reacts."""
        twin = self.fork()
        if verb != START:
            stop_process(twin, process, "stopped", leave=twin.ran_last(process).resolved.release.leaves_on_close)
        if verb != STOP:
            start_process(twin, process, Instance.of(config.resolved))
        return twin

    def without(self, process: str) -> RolledGroup:
        """Return the group after a process has crashed."""
        twin = self.fork()
        stop_process(twin, process, "crashed")
        return twin

    def without_thread(self, process: str) -> RolledGroup:
        """Return the group after the last thread of a process has failed, and the others go on."""
        twin = self.fork()
        *_, last = self.workload.member_names(process)
        twin.members[last].terminate()
        return twin

    # -- looking -----------------------------------------------------------------------------------------------------

    def look(self, seconds: float, *, sees_leader: bool) -> GroupObservation:
        """Return what a description of the group shows."""
        group = self.coordinator
        state = _STATES[group.phase]
        return GroupObservation(
            seconds=seconds,
            state=state,
            members=tuple(self._described(shows=state == "Stable")),
            offsets={},
            leader=self.leader if sees_leader else None,
        )

    def _described(self, *, shows: bool) -> Iterator[MemberSeen]:
        assignments = self.coordinator.assignments
        for member_id, subscription in self.coordinator.subscriptions.items():
            member = self.members[member_id.rpartition("-")[0]]
            described = DescribedGroupMember(
                member_id=member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.process,
                subscription=subscription if shows else b"",
                assignment=assignments.get(member_id, b"") if shows else b"",
            )
            yield _member_seen(described, streams=shows)

    # -- foresight ---------------------------------------------------------------------------------------------------

    def expected_of(
        self, processes: Sequence[str], config: InstanceConfig, *, sees_leader: bool, is_away: bool = False
    ) -> Expectation:
        """Return the outcomes of a restart: with each member that may lead, and each that may be the next to do so.

        Several processes return at a time, or one after the other.

        Args:
            processes: The restarted instances.
            config: Their configuration then.
            sees_leader: Whether the leader is known.
            is_away: Whether they start after their sessions have timed out.
        """
        running = [member.name for member in self.running_members]
        leaders = [None] if sees_leader or not running else running
        batches = dict.fromkeys([(tuple(processes),), tuple((process,) for process in processes)])
        outcomes: dict[tuple[tuple[int, ...], tuple[str, ...]], None] = {}
        for leader, next_leader, batch in product(leaders, running, batches):
            outcomes[self._restarted(batch, config, leader, next_leader, is_away=is_away)] = None
        return Expectation(
            outcomes=tuple(ExpectedOutcome(versions=versions, violations=texts) for versions, texts in outcomes)
        )

    def _restarted(
        self,
        batches: Iterable[Iterable[str]],
        config: InstanceConfig,
        leader: str | None,
        next_leader: str,
        *,
        is_away: bool,
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        twin = self.settled()
        before = len(twin.violations)
        if leader is not None:
            twin.coordinator.leader = twin.members[leader].member_id or twin.coordinator.leader
        twin.coordinator.election_rule = next_leader
        for batch in batches:
            if is_away:
                twin = reduce(lambda group, process: group.after(STOP, process, config), batch, twin).settled()
            twin = reduce(lambda group, process: group.after(RESTART, process, config), batch, twin).settled()
        twin.finish()
        versions = tuple(sorted({member.assignor.used_version for member in twin.running_members}))
        return versions, tuple(map(text_of, twin.violations[before:]))


def text_of(violation: Violation) -> str:
    """Write a violation."""
    return f"{violation.property} ({violation.text})"


def is_shown_as(config: InstanceConfig, version: int | None) -> bool:
    """Whether the metadata of a configuration is that of a member that sends a version first, or has gone."""
    return version in (None, _first_version(config))


def _first_version(config: InstanceConfig) -> int:
    release = config.resolved.release
    return release.pinned_version(config.upgrade_from) or release.supported_version


def config_of(instance: Instance) -> InstanceConfig:
    """Return what a process runs as roll names it."""
    return InstanceConfig(str(instance.release), instance.upgrade_from)


@lru_cache(maxsize=1 << 12)
def _member_seen(member: DescribedGroupMember, *, streams: bool) -> MemberSeen:
    """Return a member as a live roll sees it; its label has no number of its id, in which states would differ."""
    (inspected,) = decode_members([member], streams=streams)
    return evolve(member_seen(inspected, member.client_id), label=member.client_id)
