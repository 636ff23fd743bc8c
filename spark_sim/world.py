"""A simulated group: processes that drive the real assignor, a coordinator between them, one scenario to run.

What ships is what is simulated: each process has its own ``StreamsPartitionAssignor``, and real encoded bytes travel
between them. Everything is in the order of the scenario; there is no clock, no thread and no randomness.
Eager members have given up their tasks when they join; cooperative ones (KIP-429) keep them until they learn, each at
its own time, that they have to give them up. Everybody's state is always as far as the changelog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Final
from uuid import UUID

from attrs import define, field

from assignor import FatalError, StreamsPartitionAssignor, Subtopology, Topology
from assignor.cluster import Cluster
from assignor.member import Received
from probing import Rejoining
from probing.follow_up import Reason
from spark_sim.coordinator import CompletedJoin, Coordinator, Phase
from spark_sim.history import Event, tasks_text
from spark_sim.properties import ENDLESS, Violation, always, eventually
from spark_sim.scenario import MODES, Instance, Scenario, Step
from subscription_codec import TaskId, TopicPartition

TOPOLOGY: Final = Topology.of(Subtopology(sources=("data",), changelogs=("counts-changelog",)))
PARTITIONS: Final = {"data": 6}
MOST_REBALANCES: Final = 20
"""More rebalances than this after one step count as endless: a healthy step needs at most a handful."""


@define(eq=False)
class Process:
    """One running instance with one member. It dies in the ``doomed_in``-th rebalance from now (0: it does not)."""

    name: str
    instance: Instance
    assignor: StreamsPartitionAssignor
    member_id: str | None = None
    alive: bool = True
    doomed_in: int = 0
    wants_to_join: bool = True
    owned: frozenset[TaskId] = frozenset()
    received: int | None = None
    sendable: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sendable = self.assignor.used_version

    @property
    def cooperative(self) -> bool:
        """Whether it keeps its tasks while it rejoins."""
        return self.assignor.member.cooperative

    def fork(self) -> Process:
        """Return an independent copy; what an assignor remembers is a value, so a shallow copy of it is enough."""
        twin = copy(self)
        twin.assignor = copy(self.assignor)
        return twin


class World:
    """Runs one scenario: make it, call ``run``, read ``violations``, ``events`` and the counters."""

    def __init__(
        self, scenario: Scenario, topology: Topology = TOPOLOGY, partitions: Mapping[str, int] = PARTITIONS
    ) -> None:
        self.scenario = scenario
        self.topology = topology
        self.cluster = Cluster(partitions=partitions, offsets=dict.fromkeys(_changelogs(topology, partitions), 0))
        self.tasks = frozenset(topology.tasks(partitions))
        self.now = 0
        self.coordinator = Coordinator()
        self.processes: dict[str, Process] = {}
        self.events: list[Event] = []
        self.violations: list[Violation] = []
        self.probes = 0
        self.most_rebalances = 0
        self._incarnations = 0

    def run(self) -> World:
        """Play the whole scenario, to the end even after a violation; return this world."""
        self.begin()
        for step in self.scenario.steps:
            self.play(step)
        return self.finish()

    def begin(self) -> World:
        """Start the members of the scenario together."""
        for name, instance in self.scenario.members:
            self._start(name, instance)
        self._settle()
        return self

    def finish(self) -> World:
        """Judge the group as it stands now."""
        self._report(eventually(self))
        return self

    def fork(self) -> World:
        """Return an independent copy, so that schedules with the same beginning play it only once."""
        twin = copy(self)
        twin.coordinator = self.coordinator.fork()
        twin.processes = {name: process.fork() for name, process in self.processes.items()}
        twin.events = self.events.copy()
        twin.violations = self.violations.copy()
        return twin

    @property
    def living(self) -> Iterator[Process]:
        """Processes that run, in the order in which they last started."""
        return (process for process in self.processes.values() if process.alive)

    # -- steps ---------------------------------------------------------------------------------------------------

    def play(self, step: Step) -> None:
        """Play one step and let the group come to rest."""
        match step.verb:
            case "elect":
                self.coordinator.elects_newest = step.mode == "newest"
            case "bounce":
                for name, instance in step.members:
                    self._stop(name, "stopped", leave=step.mode == "leave")
                    if step.mode != "fast":
                        self._settle()
                    self._start(name, instance)
                    self._settle()
            case "start":
                for name, instance in step.members:
                    self._start(name, instance)
                self._settle()
            case "stop":
                for name, _ in step.members:
                    self._stop(name, "stopped", leave=step.mode == "leave")
                self._settle()
            case "crash" if step.mode:
                for name, _ in step.members:
                    self.processes[name].doomed_in = MODES["crash"].index(step.mode) + 1
            case "crash":
                for name, _ in step.members:
                    self._stop(name, "crashed")
                self._settle()

    def _start(self, name: str, instance: Instance | None) -> None:
        before = self.processes.pop(name, None)
        if before is not None and before.alive:
            self._stop_process(before, "stopped")
        instance = instance or (before.instance if before else dict(self.scenario.members)[name])
        self._incarnations += 1
        assignor = StreamsPartitionAssignor(
            self.topology,
            instance.config(),
            process_id=UUID(int=self._incarnations),
            release=instance.release,
            stored=before.assignor.member.stored if before else (),
        )
        self.processes[name] = Process(name, instance, assignor)
        self._note("started", name, str(instance))

    def _stop(self, name: str, kind: str, *, leave: bool = False) -> None:
        process = self.processes.get(name)
        if process is not None and process.alive:
            self._stop_process(process, kind, leave=leave)

    def _stop_process(self, process: Process, kind: str, *, leave: bool = False) -> None:
        process.alive = False
        process.owned = frozenset()
        self._note(kind, process.name)
        if leave and process.member_id is not None:
            self.coordinator.leave(process.member_id)
            self._note("left", process.name)

    def _die(self, process: Process, error: FatalError) -> None:
        process.alive = False
        process.owned = frozenset()
        self._note("died", process.name, str(error))
        self._report([Violation.of_death(process.name, error)])

    # -- rebalancing ---------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Let time pass until nobody wants to join and nobody in the group is gone."""
        rebalances = 0
        while rebalances < MOST_REBALANCES:
            if self.coordinator.phase is Phase.PREPARING or any(process.wants_to_join for process in self.living):
                self._rebalance()
                rebalances += 1
            elif not self._let_sessions_expire():
                break
        else:
            self._report([Violation(ENDLESS, "", f"more than {MOST_REBALANCES} rebalances after one step")])
        self.most_rebalances = max(self.most_rebalances, rebalances)

    def _let_sessions_expire(self) -> bool:
        """Wait for the session timeout if a member is gone; say whether one was."""
        alive = {process.member_id for process in self.living}
        if alive.issuperset(self.coordinator.members):
            return False
        self.now += self.coordinator.session_timeout_ms
        for member_id in alive:
            if member_id is not None:
                self.coordinator.heartbeat(member_id, self.now)
        for member_id in self.coordinator.expire(self.now):
            self._note("expired", member_id.rpartition("-")[0])
        return True

    def _rebalance(self) -> None:
        self._join_all()
        if self.coordinator.waits_for:
            self._let_sessions_expire()
        joined = self.coordinator.complete_join()
        if joined is None:
            return
        members = self._members()
        for process in members.values():
            process.doomed_in -= 1
            if process.doomed_in == 0:
                self._stop_process(process, "crashed")
        answers = self._answers(joined, members[joined.leader])
        if answers is None:
            self._let_sessions_expire()
            return
        for member_id, process in members.items():
            if process.alive:
                self._deliver(process, answers[member_id])
                if any(each.cooperative for each in members.values()):
                    self._report_new(always(self))
        self._report_new(always(self))

    def _join_all(self) -> None:
        for process in list(self.living):
            if not process.cooperative:
                process.owned = frozenset()
            process.wants_to_join = False
            try:
                blob = process.assignor.subscription(sums=dict.fromkeys(process.assignor.member.stored, 0))
            except FatalError as error:
                self._die(process, error)
                continue
            process.member_id = self.coordinator.join(process.name, process.member_id, blob, self.now)
            self._note("joined", process.name, process.assignor.used_version, process.assignor.latest_version)

    def _members(self) -> dict[str, Process]:
        """Return who is in the current generation; all of them are running, as the rest was waited for."""
        by_id = {process.member_id: process for process in self.living}
        return {member_id: by_id[member_id] for member_id in self.coordinator.members}

    def _answers(self, joined: CompletedJoin, leader: Process) -> dict[str, bytes] | None:
        """Let the leader assign; None if it is dead or dies of it."""
        if not leader.alive:
            return None
        self._note("leads", leader.name, len(joined.subscriptions))
        try:
            answers = leader.assignor.assign(self.cluster, joined.subscriptions)
        except FatalError as error:
            self._die(leader, error)
            return None
        self.coordinator.sync(joined.leader, joined.generation)
        return answers

    def _deliver(self, process: Process, blob: bytes) -> None:
        sent = process.assignor.used_version
        try:
            received = process.assignor.on_assignment(blob)
        except FatalError as error:
            self._die(process, error)
            return
        revoked = process.owned - received.active.keys() if process.cooperative else frozenset()
        process.owned = frozenset(received.active)
        process.received = received.version
        self.probes += 3 <= received.version < sent
        versions = (received.version, received.supported)
        if received.dropped:
            self._note("dropped", process.name, *versions)
        else:
            self._note("assigned", process.name, *versions, tasks_text(received.active), tasks_text(received.standby))
        if revoked:
            self._note("revoked", process.name, tasks_text(revoked))
            process.wants_to_join = True
        self._follow_up(process, received)

    def _follow_up(self, process: Process, received: Received) -> None:
        """Let a member rejoin at once if it has to; one that shall later, to look for warm-ups, need not here."""
        if received.rejoin is None:
            return
        process.wants_to_join = True
        how = received.rejoin.name.lower().replace("_", " ")
        if received.follow_up is Reason.VERSION:
            self._note("rejoins", process.name, process.assignor.used_version, how)
        else:
            self._note("follows", process.name, received.follow_up.value if received.follow_up else "-", how)
        if received.rejoin is Rejoining.LEAVE_AND_JOIN and process.member_id is not None:
            self.coordinator.leave(process.member_id)
            process.member_id = None
            if process.cooperative:  # to unsubscribe is to give up everything
                process.owned = frozenset()
                process.assignor.lost()

    # -- keeping record ------------------------------------------------------------------------------------------

    def _note(self, kind: str, member: str, *values: object) -> None:
        self.events.append(Event(self.now, self.coordinator.generation, kind, member, values))

    def _report_new(self, violations: list[Violation]) -> None:
        self._report([violation for violation in violations if violation not in self.violations])

    def _report(self, violations: list[Violation]) -> None:
        for violation in violations:
            self._note("violation", violation.member or "-", violation.property, violation.text)
        self.violations += violations


def _changelogs(topology: Topology, partitions: Mapping[str, int]) -> Iterator[TopicPartition]:
    """All changelog partitions that exist."""
    for topic in {topic for each in topology.subtopologies for topic in each.changelogs}:
        yield from (TopicPartition(topic, partition) for partition in range(partitions.get(topic, 0)))
