"""The assignment that a built-in task assignor works on, and the reason for each of its decisions.

Processes and tasks are numbers here, in the order in which Kafka visits them: comparing two is cheap, and Kafka prefers
the smaller number.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from enum import Enum
from uuid import UUID

from attrs import define, field

from streams_assignor.codec import TaskId
from streams_assignor.task_assignors.application_state import ApplicationState, KafkaStreamsState
from streams_assignor.task_assignors.task_assignment import KafkaStreamsAssignment, TaskAssignment


class AssignmentReason(Enum):
    """Why a task is where it is; ``{other}`` is the other client that has to do with it."""

    # The sticky and the fallback-prior assignor.
    KEPT = "was active here"
    STANDBY_TAKES_OVER = "was a standby here, and no process has it active any longer"
    OTHER_OWNER_OVERLOADED = "was active here too, and {other} has more than its share"
    STANDBY_OF_OVERLOADED = "was a standby here, and {other} has more than its share"
    LEAST_LOADED = "no process that had it may get it; the fewest tasks per member are here"
    MOVED_FROM_OVERLOADED = "{other} has more than its share; the fewest tasks per member are here"
    STANDBY_KEPT = "was a standby here"
    PREVIOUS_ACTIVE_KEPT = "was active here, so its state is still here"
    # The high-availability assignor.
    ROUND_ROBIN = "tasks are dealt to the clients in turn"
    BALANCED = "came from {other}, which had more tasks per member"
    CAUGHT_UP_STANDBY = "caught up and a standby, so it is active here until {other} has caught up"
    CAUGHT_UP = "the least loaded client that has caught up; active here until {other} has caught up"
    LEAST_LAG = "no process has caught up, and the lag is smallest here; active here until {other} has caught up"
    STATELESS = "has no state, so it is where the fewest active tasks per member are"
    STANDBY = "the least loaded client without it"
    RACK_AWARE = "came from {other}, so that less is read across racks"
    DIFFERENT_TAGS = "the least loaded client whose tags differ from those of the other copies"
    WARM_UP = "is to be active here, and catches up until then; {other} has it in the meantime"
    STANDBY_CAUGHT_UP = "the least loaded client that has caught up; a standby until {other} has caught up"
    STANDBY_LEAST_LAG = "no other process has caught up, and the lag is smaller here than at {other}"
    STANDBY_WARM_UP = "is to be a standby here, and catches up until then; {other} has one in the meantime"


RecordReason = Callable[[int, int, AssignmentReason, int | None], None]
"""Called where it is decided, with a task, the process that gets it, why, and the other process in it."""
ReasonLog = dict[tuple[int, int], tuple[AssignmentReason, int | None]]
"""The last reason for each task and process."""
ReasonTexts = MutableMapping[tuple[TaskId, UUID], str]
"""Why a process has a task, in words."""


@define(eq=False)
class PartialAssignment:
    """The tasks assigned so far. Processes and tasks are numbers: their positions in ``processes`` and ``tasks``."""

    processes: Sequence[KafkaStreamsState]
    tasks: Sequence[TaskId]
    capacity: list[int]
    """The number of members of each process."""
    task_count: list[int]
    """The number of tasks of each process so far."""
    active: list[int]
    """The process of each active task; -1 until it is assigned."""
    standbys: list[set[int]]
    """The processes of the standbys of each task."""
    reasons: ReasonLog | None = field(default=None)
    """The last reason for each task and process; None if reasons are not recorded."""

    @classmethod
    def of(
        cls, processes: Sequence[KafkaStreamsState], tasks: Sequence[TaskId], record_reasons: bool
    ) -> PartialAssignment:
        """Return an assignment in which no task is assigned."""
        return cls(
            processes,
            tasks,
            capacity=[process.num_processing_threads for process in processes],
            task_count=[0] * len(processes),
            active=[-1] * len(tasks),
            standbys=[set() for _ in tasks],
            reasons={} if record_reasons else None,
        )

    def has(self, process: int, task: int) -> bool:
        """Whether a process has a task, active or as a standby."""
        return self.active[task] == process or process in self.standbys[task]

    def load(self, process: int) -> float:
        """Tasks per member, counting only those that are assigned here."""
        return self.task_count[process] / self.capacity[process]

    def record(self, task: int, process: int, why: AssignmentReason, other: int | None = None) -> None:
        """Remember why a task is assigned to a process; ``other`` is the second process of the reason."""
        if self.reasons is not None:
            self.reasons[task, process] = why, other

    def render_reasons(self, texts: ReasonTexts, suffix: Callable[[int, int], str] | None = None) -> None:
        """Add the reasons of all assigned tasks to ``texts``, each followed by ``suffix(process, task)``."""
        for (task, process), (why, other) in (self.reasons or {}).items():
            if self.has(process, task):
                name = None if other is None else self.processes[other].process_id
                text = why.value.format(other=name) + (suffix(process, task) if suffix else "")
                texts[self.tasks[task], self.processes[process].process_id] = text


def task_assignment(state: ApplicationState, *parts: PartialAssignment, follow_up: bool = False) -> TaskAssignment:
    """Combine assignments of different tasks to the same processes; without any, nobody has tasks.

    If ``follow_up``, the leader's process asks for another rebalance after the configured interval.
    """
    processes = parts[0].processes if parts else state.sorted_processes
    active: list[list[TaskId]] = [[] for _ in processes]
    standby: list[list[TaskId]] = [[] for _ in processes]
    for part in parts:
        for task, owner, others in zip(part.tasks, part.active, part.standbys, strict=True):
            active[owner].append(task)
            for other in others:
                standby[other].append(task)
    ids = [process.process_id for process in processes]
    interval = state.configs.probing_rebalance_interval_ms if follow_up else None
    asking = state.leader_process_id or next(iter(ids), None)
    return TaskAssignment(
        {
            process: KafkaStreamsAssignment(process, mine, others, interval if process == asking else None)
            for process, mine, others in zip(ids, active, standby, strict=True)
        }
    )
