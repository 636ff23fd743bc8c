"""A simulated group: members that drive the real assignor, a coordinator between them, one scenario to run.

What ships is what is simulated: each member has its own ``StreamsPartitionAssignor``, and real encoded bytes travel
between them. The world goes on by *moves* (``join A``, ``lead A``, ``take A``, ...), of which each is atomic; there is
no clock, no thread and no randomness. A coarse step is one thing that happens, and after it all moves that are left, in
one order (``resting``). Eager members have given up their tasks when they join; cooperative ones (KIP-429) keep them
until they learn, each at its own time, that they have to give them up.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from uuid import UUID

from attrs import evolve

from assignor import FatalError, Received
from assignor.cluster import Cluster
from probing import Rejoining
from probing.follow_up import Reason
from spark_sim import copies, moves, resting
from spark_sim.coordinator import SESSION_TIMEOUT_MS, Coordinator
from spark_sim.history import Event, tasks_text
from spark_sim.properties import SOFT, Violation, after_answer, as_told, eventually
from spark_sim.scenario import Instance, Move, Scenario, Step
from spark_sim.steps import play
from spark_sim.threads import Thread
from subscription_codec import TaskId


class World:
    """Runs one scenario: make it, call ``run``, read ``violations``, ``remarks``, ``events`` and the counters."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.shape = scenario.shape
        self.cluster = Cluster(partitions=self.shape.topics, offsets=self.shape.ends)
        self.now = 0
        self.held = False
        self.shutdown_wanted = False
        self.coordinator = Coordinator()
        self.threads: dict[str, Thread] = {}
        self.events: list[Event] = []
        self.violations: list[Violation] = []
        self.remarks: list[Violation] = []
        self.probes = 0
        self.most_rebalances = 0
        self.restored: dict[str, frozenset[TaskId]] = {}
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
            self.start(name, instance)
        resting.settle(self)
        return self

    def play(self, step: Step) -> None:
        """Play one step and, unless all is held, let the group come to rest."""
        play(self, step)

    def finish(self) -> World:
        """Judge the group as it stands now; what is true *eventually* only if nothing is left to be done."""
        if not (self.held and any(move.verb != "late" for move in self.moves())):
            self.report(eventually(self))
        return self

    def fork(self) -> World:
        """Return an independent copy, so that schedules with the same beginning play it only once."""
        twin = copy(self)
        twin.coordinator = self.coordinator.fork()
        twin.threads = {name: thread.fork() for name, thread in self.threads.items()}
        twin.events = self.events.copy()
        twin.violations = self.violations.copy()
        twin.remarks = self.remarks.copy()
        twin.restored = self.restored.copy()
        return twin

    @property
    def living(self) -> Iterator[Thread]:
        """Members that run, in the order in which they last started."""
        return (thread for thread in self.threads.values() if thread.alive)

    @property
    def generation(self) -> list[Thread]:
        """Members that run and are in the group, in the order in which they joined first."""
        by_id = {thread.member_id: thread for thread in self.living}
        return [by_id[member_id] for member_id in self.coordinator.members if member_id in by_id]

    @property
    def leader_balances(self) -> bool:
        """Whether the leader looks at how far copies are (KIP-441)."""
        leads = (thread for thread in self.threads.values() if thread.member_id == self.coordinator.leader)
        return any(thread.assignor.member.era.balances for thread in leads)

    def crew(self, thread: Thread) -> list[Thread]:
        """Return all threads of a member's process."""
        return [self.threads[name] for name in self.shape.members_of(thread.process)]

    @property
    def gone(self) -> list[str]:
        """Member ids in the group that nobody owns who runs, oldest first."""
        alive = {thread.member_id for thread in self.living}
        return [member_id for member_id in self.coordinator.members if member_id not in alive]

    # -- moves ---------------------------------------------------------------------------------------------------

    def moves(self) -> tuple[Move, ...]:
        """List what can happen now without anybody's doing (a rebalance timeout, ``late``, among it)."""
        return moves.possible(self)

    def obstacle(self, move: Move) -> str:
        """Say why a move cannot be made now; "" if it can."""
        return moves.obstacle(self, move)

    def make(self, move: Move) -> None:
        """Make one move; ``ScenarioError`` if it cannot be made now."""
        moves.make(self, move)

    # -- processes -----------------------------------------------------------------------------------------------

    def start(self, process: str, instance: Instance | None = None) -> None:
        """Start a process, as what it was last if nothing else is said."""
        names = self.shape.members_of(process)
        before = [self.threads[name] for name in names if name in self.threads]
        self.stop(process, "stopped")
        instance = instance or (before[0].instance if before else dict(self.scenario.members)[process])
        stored = frozenset().union(*(thread.stored for thread in before))
        self._incarnations += 1
        for name in names:
            self.threads.pop(name, None)
            self.threads[name] = Thread.started(
                name, process, instance, self.shape, UUID(int=self._incarnations), stored
            )
            stored = frozenset()  # the first one looks after it
        self.note("started", process, str(instance))

    def stop(self, process: str, kind: str, *, leave: bool = False) -> None:
        """End a process if it runs; ``kind`` of the event says how."""
        running = [thread for thread in self.living if thread.process == process]
        for thread in running:
            thread.end()
        if running:
            self.note(kind, process)
        for thread in running if leave else ():
            if thread.member_id is not None:
                self.coordinator.remove(thread.member_id)
                self.note("left", thread.name)
        if leave:
            self.complete()

    def runs(self, process: str) -> bool:
        """Whether a process has a member that runs."""
        return any(thread.process == process for thread in self.living)

    def doom(self, process: str, rebalances: int) -> None:
        """Let a process crash in the so manieth rebalance from now, between JoinGroup and SyncGroup."""
        for name in self.shape.members_of(process):
            self.threads[name].doomed_in = rebalances

    def _die(self, thread: Thread, error: FatalError, *, answered: bool = True) -> None:
        """End a member; that it ends because it was told to is no harm."""
        thread.end()
        thread.ended = as_told(error)
        self.note("ended" if thread.ended else "died", thread.name, str(error))
        if not thread.ended:
            self.report([Violation.of_death(thread.name, error, answered=answered)])

    # -- what moves do -------------------------------------------------------------------------------------------

    def join(self, thread: Thread) -> None:
        """JoinGroup. Who is given the running generation back has asked for nothing, as far as the group knows."""
        if not thread.cooperative:
            thread.owned = frozenset()
        thread.wants_to_join = False
        try:
            blob = thread.assignor.subscription(sums=copies.sums(self, thread))
        except FatalError as error:
            self._die(thread, error)
            return
        thread.member_id = self.coordinator.join(thread.name, thread.member_id, blob, thread.instance_id)
        self.note("joined", thread.name, thread.assignor.used_version, thread.assignor.latest_version)
        if thread.member_id in self.coordinator.untaken:
            self.note("unheard", thread.name)
        else:
            thread.waits = None

    def complete(self) -> bool:
        """Begin a generation if everybody has joined, and let those crash in it who shall; say whether it began."""
        if not self.coordinator.complete_join():
            return False
        for thread in self.generation:
            thread.doomed_in -= 1
            if thread.doomed_in == 0 and thread.alive:
                self.stop(thread.process, "crashed")
        return True

    def lead(self, thread: Thread) -> None:
        """Assign and SyncGroup; or die of it."""
        group = self.coordinator
        subscriptions = group.subscriptions
        self.note("leads", thread.name, len(subscriptions))
        cluster = evolve(self.cluster, now_ms=self.now) if self.shape.lag else self.cluster
        try:
            answers = thread.assignor.assign(cluster, subscriptions)
        except FatalError as error:
            self._die(thread, error)
            return
        self.answered(thread, answers)

    def answered(self, leader: Thread, answers: dict[str, bytes]) -> None:
        """Hand the leader's answers to the group."""
        assert leader.member_id is not None
        self.coordinator.sync(leader.member_id, self.coordinator.generation, answers)

    def take(self, thread: Thread) -> None:
        """Take the answer of SyncGroup, or die of it. LeaveGroup, if it comes to that, is ``leave_to_rejoin``."""
        assert thread.member_id is not None
        sent, before = thread.assignor.used_version, thread.assignor.member
        blob = self.coordinator.take(thread.member_id)
        try:
            received = thread.assignor.on_assignment(blob)
        except FatalError as error:
            self._die(thread, error, answered=bool(blob))
            return
        self.report(after_answer(self, thread, before, received))
        revoked = thread.owned - received.active.keys() if thread.cooperative else frozenset()
        thread.owned = frozenset(received.active)
        thread.held = thread.owned.union(received.standby)
        thread.received = received.version
        self.probes += 3 <= received.version < sent
        versions = (received.version, received.supported)
        if received.dropped:
            self.note("dropped", thread.name, *versions)
        else:
            self.note("assigned", thread.name, *versions, tasks_text(received.active), tasks_text(received.standby))
        if revoked:
            self.note("revoked", thread.name, tasks_text(revoked))
            thread.wants_to_join = True
        self._follow_up(thread, received)

    def _follow_up(self, thread: Thread, received: Received) -> None:
        """Let a member rejoin at once if it has to, or later, to see whether warm-ups are done."""
        later = received.rejoin_at_ms
        thread.looks_again_at = later if later is not None and later > self.now else None
        if received.rejoin is None:
            return
        thread.wants_to_join = True
        thread.waits = received.follow_up
        how = received.rejoin.name.lower().replace("_", " ")
        if received.follow_up is Reason.VERSION:
            self.note("rejoins", thread.name, thread.assignor.used_version, how)
        else:
            self.note("follows", thread.name, received.follow_up.value if received.follow_up else "-", how)
        if received.rejoin is Rejoining.LEAVE_AND_JOIN:
            thread.leaves = True

    def leave_to_rejoin(self, thread: Thread) -> None:
        """Unsubscribe, as members up to 2.5 do before they rejoin. A static one tells nobody (KIP-345)."""
        if not thread.leaves:
            return
        thread.leaves = False
        if thread.member_id is not None and thread.instance_id is None:
            self.coordinator.remove(thread.member_id)
        self._lose(thread)

    def expire(self, member_ids: list[str]) -> None:
        """Let the session timeout pass for members that are gone."""
        self.now += SESSION_TIMEOUT_MS
        for member_id in member_ids:
            self.coordinator.remove(member_id)
            self.note("expired", member_id.rpartition("-")[0])

    def be_late(self, thread: Thread) -> None:
        """Let the rebalance timeout pass for a member that has not joined: it has lost everything."""
        assert thread.member_id is not None
        self.coordinator.remove(thread.member_id)
        self.note("late", thread.name)
        self._lose(thread)
        thread.assignor.lost()
        thread.wants_to_join = True

    @staticmethod
    def _lose(thread: Thread) -> None:
        """Unsubscribe: give up everything. An eager member still knows what it was."""
        thread.member_id = None
        thread.owned = frozenset()
        if thread.cooperative:
            thread.assignor.lost()

    # -- keeping record ------------------------------------------------------------------------------------------

    def note(self, kind: str, member: str, *values: object) -> None:
        """Write down what happened."""
        self.events.append(Event(self.now, self.coordinator.generation, kind, member, values))

    def report(self, found: list[Violation]) -> None:
        """Write down what does not hold, each thing once; what is only a waste is a remark."""
        for violation in found:
            kept = self.remarks if violation.property in SOFT else self.violations
            if violation not in kept:
                kind = "remark" if violation.property in SOFT else "violation"
                self.note(kind, violation.member or "-", violation.property, violation.text)
                kept.append(violation)
