"""Events to observe, each with what does not matter filled in."""

from typing import Any

from assignor.observing import Assigned, Cause, Moved
from assignor.task_listener import Changes, Tasks
from subscription_codec import TaskId


def tasks(*numbers: int) -> Tasks:
    return {TaskId(0, number): frozenset() for number in numbers}


def an_assignment(**known: Any) -> Assigned:
    usual = {"cause": Cause.ASKED, "generation": 3, "leads": False, "version": 11, "supported": 11}
    return Assigned(**{**usual, "active": tasks(), "standby": tasks(), "dropped": False, **known})


def moved(**changes: Tasks) -> Moved:
    return Moved(Changes(**changes))
