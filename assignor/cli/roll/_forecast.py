"""The expectation of a step: the forecast of ``group what-if``, as a value of the roll."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from streams_assignor.cli.roll.instances import InstanceNames, processes_of
from streams_assignor.groups import InspectedGroup
from streams_assignor.groups.described_group import STREAMS
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.extras import MissingExtraError
from streams_assignor.upgrade.roll.engine import BeginStep
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.plan import InstanceConfig, RoundAction
from streams_assignor.upgrade.streams_config import StreamsConfig

if TYPE_CHECKING:
    from streams_assignor.spark_sim.forecast import Forecast, Operation, Outcome


def expectation_of(
    step: BeginStep,
    group: InspectedGroup | None,
    names: InstanceNames,
    running: Mapping[str, InstanceConfig],
    config: StreamsConfig,
    *,
    ephemeral: bool = False,
    session_timeout_s: float | None = None,
    after_session: bool = False,
) -> Expectation:
    """Return the forecast of a step; without one, why there is none.

    Args:
        step: The step.
        group: The last look; None: it has not shown the group.
        names: The names of the instances.
        running: The configuration of each instance, as far as the journal has it.
        config: The configuration of the members.
        ephemeral: As of ``spark_sim.forecast.forecast``.
        session_timeout_s: As of ``spark_sim.forecast.forecast``.
        after_session: Whether the instances certainly return after the sessions of their members have timed out;
            else both ways are played.
    """
    if why := _why_not(step, group):
        return Expectation(why_none=why)
    assert group
    processes = [processes_of(group.members, names, instance) for instance in step.instances]
    for instance, ids in zip(step.instances, processes, strict=True):
        if len(ids) != 1:
            return Expectation(why_none=f"{instance} is {len(ids)} processes of the group")
    which = ",".join(process_id for (process_id,) in processes)
    try:
        return _forecast(
            step,
            group,
            names,
            running,
            which,
            config,
            ephemeral=ephemeral,
            session_timeout_s=session_timeout_s,
            after_session=after_session,
        )
    except (UpgradeError, MissingExtraError) as error:
        return Expectation(why_none=str(error))


def _why_not(step: BeginStep, group: InspectedGroup | None) -> str:
    if step.round.action is not RoundAction.RESTART:
        return "the group is stopped and started as a whole"
    return "" if group else "the group is not described"


def _forecast(
    step: BeginStep,
    group: InspectedGroup,
    names: InstanceNames,
    running: Mapping[str, InstanceConfig],
    which: str,
    config: StreamsConfig,
    *,
    ephemeral: bool,
    session_timeout_s: float | None,
    after_session: bool,
) -> Expectation:
    from streams_assignor.spark_sim.forecast import Operation as Step
    from streams_assignor.spark_sim.forecast import forecast, forecast_streams_group, observe
    from streams_assignor.spark_sim.forecast.observation import observed_processes
    from streams_assignor.spark_sim.forecast.operations import UPGRADE
    from streams_assignor.spark_sim.model.scenario import Instance

    instance = Instance.of(step.round.config.resolved)
    instance.config()  # raises what a member of that release raises
    by_process = {process.name: names.of(process.threads[0].described) for process in observed_processes(group)}
    known = None
    if running.keys() >= {*by_process.values()}:
        known = {name: Instance.of(running[runs].resolved) for name, runs in by_process.items()}
    options: dict[str, Any] = {"session_timeout_s": session_timeout_s, "ephemeral": ephemeral, "known": known}
    play: Callable[[Operation], Forecast] = (
        partial(forecast_streams_group, group, ephemeral=ephemeral)
        if group.described.type == STREAMS
        else partial(forecast, observe(group, config), now_ms=int(1000 * time.time()), **options)
    )
    outcomes: dict[ExpectedOutcome, None] = {}
    assumed: tuple[str, ...] = ()
    for is_late in (True,) if after_session else (False, True):
        found = play(Step(UPGRADE, which, instance, is_late))
        assumed = assumed or found.assumptions
        for outcome in found.outcomes:
            expected = _expected(outcome, by_process)
            if expected not in outcomes:  # that of a member that leaves does not depend on its session
                outcomes[evolve(expected, after_session=is_late)] = None
    return Expectation(outcomes=tuple(outcomes), assumed=assumed)


def _expected(outcome: Outcome, by_process: Mapping[str, str]) -> ExpectedOutcome:
    """Return an outcome with the names of a roll."""
    return ExpectedOutcome(
        versions=outcome.versions,
        rebalances=outcome.rebalances,
        moved={str(row.task): by_process.get(row.target or "", row.target or "") for row in outcome.moved},
        moves=outcome.moves,
        unowned_s=max(outcome.unowned_s.values(), default=0.0),
        violations=outcome.violations,
    )
