"""The differences between a roll of a group and a roll of brokers: the plan, how to look, and what is expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from attrs import frozen

from streams_assignor.cli.roll._driver import RollView
from streams_assignor.cli.roll._lock import cluster_lock
from streams_assignor.cli.roll._options import LiveTarget, RollOptions
from streams_assignor.upgrade.roll.engine import BeginStep
from streams_assignor.upgrade.roll.expectation import Expectation
from streams_assignor.upgrade.roll.gates import RollRules
from streams_assignor.upgrade.roll.journal import InstancesPlanned
from streams_assignor.upgrade.roll.plan import RollPlan
from streams_assignor.upgrade.roll.state import RollState


def _nothing(_state: RollState, _observed: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


@frozen
class RollLooks:
    """How to look at what is rolled, and what follows from the looks."""

    look: Callable[[], Any]
    expect: Callable[[BeginStep, RollState], Expectation]
    """Return what is expected of a step, after the last look."""
    replan: Callable[[RollState], InstancesPlanned | None]
    """Return the plan of the instances of now; None: the group is not stable."""
    compare: Callable[[RollState, Mapping[str, Any]], Mapping[str, Any]] = _nothing
    """Return what came of the step that has passed beside its forecast, of the looks since it began and the last."""


@frozen
class RollSubject:
    """The differences between a roll of a group and a roll of brokers."""

    kind: str
    """``group`` or ``brokers``."""
    targets: frozenset[str]
    """The names of the release that is to be reached."""
    plan: Callable[[RollView], RollPlan | None]
    """Derive the plan and show it; None: nothing is to be done."""
    rules: RollRules[Any]
    looking: Callable[[RollState], RollLooks]
    """Return how to look."""
    lock: Callable[[RollView], AbstractContextManager[Callable[[], None]]]
    cluster_id: Callable[[], str]
    """Return the id of the cluster; empty if its brokers do not say it."""
    named: Callable[[RollPlan], RollPlan] = lambda plan: plan
    """Return a plan whose origin was not known with that of ``--from``."""


def lock_of(options: RollOptions, target: LiveTarget, view: RollView) -> AbstractContextManager[Callable[[], None]]:
    """Return the lock of what is rolled."""
    return cluster_lock(options.group, target.servers, target.config.settings, target.lookup, view.note)
