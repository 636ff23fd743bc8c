"""Task assignors of one's own, after KIP-924: the state of the application goes in, who gets which task comes out.

Values and pure functions only: an assignor is any object with ``assign``, called once per rebalance by the leader.
``assignor.testing`` checks whether it does what an assignor has to do. All names are in this module; they come from
``application_state`` (in), ``task_assignment`` (out) and ``task_assignment_utils`` (help).
Java: package ``org.apache.kafka.streams.processor.assignment`` (3.8 and later), with its names in Python's spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from attrs import field, frozen

from assignor import fallback_prior, high_availability, sticky
from assignor.application_state import ApplicationState as ApplicationState
from assignor.application_state import KafkaStreamsState as KafkaStreamsState
from assignor.application_state import TaskInfo as TaskInfo
from assignor.assignment_configs import AssignmentConfigs as AssignmentConfigs
from assignor.client_state import ClientState, in_order
from assignor.racks import Racks
from assignor.task_assignment import FATAL_AT_ONCE as FATAL_AT_ONCE
from assignor.task_assignment import AssignmentError as AssignmentError
from assignor.task_assignment import BothActiveAndStandby as BothActiveAndStandby
from assignor.task_assignment import KafkaStreamsAssignment as KafkaStreamsAssignment
from assignor.task_assignment import TaskAssignment as TaskAssignment
from assignor.task_assignment import Verdict as Verdict
from assignor.task_assignment import validate as validate
from assignor.task_assignment_utils import default_standby_assignment as default_standby_assignment
from assignor.task_assignment_utils import identity_assignment as identity_assignment
from assignor.task_assignment_utils import optimize_rack_aware_active_tasks as optimize_rack_aware_active_tasks
from assignor.task_assignment_utils import optimize_rack_aware_standby_tasks as optimize_rack_aware_standby_tasks
from assignor.task_assignment_utils import why_not_rack_aware as why_not_rack_aware


class TaskAssignor(Protocol):
    """Decides who gets which task.

    Equal states have to get equal answers, whatever the order of their parts: leaders come and go, and each of them
    has its own assignor.
    """

    def assign(self, state: ApplicationState, /) -> TaskAssignment:
        """Return what everybody gets; leave ``state`` as it is."""
        ...


@frozen
class BuiltIn:
    """A built-in assignor as one of these.

    Where it wants a follow-up rebalance, the first process is asked for it, after the configured interval (in Kafka
    the leader's own process is).
    """

    name: str
    _assign: Callable[[list[ClientState], ApplicationState], bool] = field(repr=False)

    def assign(self, state: ApplicationState, /) -> TaskAssignment:
        """Return what everybody gets; ``FatalError`` if lags are missing that it needs."""
        clients = in_order(state.client_states)
        follow_up = state.configs.probing_rebalance_interval_ms if self._assign(clients, state) else None
        return TaskAssignment.of(
            KafkaStreamsAssignment(client.process_id, client.active, client.standby, None if number else follow_up)
            for number, client in enumerate(clients)
        )


def _racks(state: ApplicationState) -> Racks | None:
    """Where everything is, if anybody wants to know."""
    return None if state.configs.rack_aware_assignment_strategy == "none" else state.racks()


def _sticky(clients: list[ClientState], state: ApplicationState) -> bool:
    configs = state.configs
    sticky.assign_tasks(
        clients, state.tasks, state.stateful, configs.num_standby_replicas, config=configs, racks=_racks(state)
    )
    return False


def _high_availability(clients: list[ClientState], state: ApplicationState) -> bool:
    return high_availability.assign_tasks(clients, state.tasks, state.stateful, state.configs, racks=_racks(state))


def _fallback_prior(clients: list[ClientState], state: ApplicationState) -> bool:
    return fallback_prior.assign_tasks(clients, state.tasks, state.stateful, state.configs.num_standby_replicas)


STICKY: Final = BuiltIn("sticky", _sticky)
"""``assignor.sticky``: tasks stay where they are as long as that is fair."""

HIGH_AVAILABILITY: Final = BuiltIn("high-availability", _high_availability)
"""``assignor.high_availability``: an even assignment in the end, a running one until then. Needs all lags."""

FALLBACK_PRIOR: Final = BuiltIn("fallback-prior", _fallback_prior)
"""``assignor.fallback_prior``: everybody goes on with what it had, and the group tries again soon."""

BUILT_IN: Final[Mapping[str, BuiltIn]] = {each.name: each for each in (STICKY, HIGH_AVAILABILITY, FALLBACK_PRIOR)}
"""The built-in assignors by name."""
