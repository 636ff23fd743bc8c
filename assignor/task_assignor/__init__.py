"""The interface of task assignors (KIP-924): an application state goes in, a task assignment comes out.

A task assignor is any object with ``assign``; the leader calls it once per rebalance. It only has values and pure
functions to work with. ``testing`` checks that it does what a task assignor has to do.
Java: package ``org.apache.kafka.streams.processor.assignment`` (3.8 and later), with its names in Python's spelling.
"""

from __future__ import annotations

from typing import Protocol

from streams_assignor.config import AssignmentConfigs as AssignmentConfigs
from streams_assignor.task_assignor._utils import default_standby_assignment as default_standby_assignment
from streams_assignor.task_assignor._utils import identity_assignment as identity_assignment
from streams_assignor.task_assignor._utils import optimize_rack_aware_active_tasks as optimize_rack_aware_active_tasks
from streams_assignor.task_assignor._utils import optimize_rack_aware_standby_tasks as optimize_rack_aware_standby_tasks
from streams_assignor.task_assignor._utils import rack_aware_disabled_reason as rack_aware_disabled_reason
from streams_assignor.task_assignors.application_state import ApplicationState as ApplicationState
from streams_assignor.task_assignors.application_state import KafkaStreamsState as KafkaStreamsState
from streams_assignor.task_assignors.application_state import TaskInfo as TaskInfo
from streams_assignor.task_assignors.built_in import BUILT_IN as BUILT_IN
from streams_assignor.task_assignors.built_in import FALLBACK_PRIOR as FALLBACK_PRIOR
from streams_assignor.task_assignors.built_in import HIGH_AVAILABILITY as HIGH_AVAILABILITY
from streams_assignor.task_assignors.built_in import STICKY as STICKY
from streams_assignor.task_assignors.built_in import BuiltInTaskAssignor as BuiltInTaskAssignor
from streams_assignor.task_assignors.task_assignment import IMMEDIATELY_FATAL as IMMEDIATELY_FATAL
from streams_assignor.task_assignors.task_assignment import ActiveAndStandbyError as ActiveAndStandbyError
from streams_assignor.task_assignors.task_assignment import AssignmentError as AssignmentError
from streams_assignor.task_assignors.task_assignment import KafkaStreamsAssignment as KafkaStreamsAssignment
from streams_assignor.task_assignors.task_assignment import TaskAssignment as TaskAssignment
from streams_assignor.task_assignors.task_assignment import ValidationResult as ValidationResult
from streams_assignor.task_assignors.task_assignment import validate as validate


class TaskAssignor(Protocol):
    """Assigns tasks to processes.

    Equal states must get equal assignments, whatever the order of their parts: the leader changes, and every leader has
    an assignor of its own.
    """

    def assign(self, state: ApplicationState, /) -> TaskAssignment:
        """Return the assignment of all processes, and leave ``state`` unchanged."""
        ...
