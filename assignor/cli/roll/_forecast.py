"""What is expected of a step: the forecast of ``group NAME --what-if``, as a value of the roll."""

from __future__ import annotations

import time

from assignor.cli.roll._instances import InstanceNames, processes_of
from assignor.groups import InspectedGroup
from upgrade.errors import UpgradeError
from upgrade.extras import MissingExtraError
from upgrade.releases import resolve_release
from upgrade.roll.engine import BeginStep
from upgrade.roll.expectation import Expectation, ExpectedOutcome
from upgrade.roll.plan import RoundAction
from upgrade.streams_config import StreamsConfig


def expectation_of(
    step: BeginStep,
    group: InspectedGroup | None,
    names: InstanceNames,
    config: StreamsConfig,
    *,
    ephemeral: bool = False,
    session_timeout_s: float | None = None,
    after_session: bool = False,
) -> Expectation:
    """Return the forecast of a step; without one, why there is none."""
    if why := _why_not(step, group):
        return Expectation(why_none=why)
    assert group
    processes = processes_of(group.members, names, step.instances[0])
    if len(processes) != 1:
        return Expectation(why_none=f"{step.instances[0]} is {len(processes)} processes of the group")
    try:
        return _forecast(
            step,
            group,
            names,
            processes[0],
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
    if len(step.instances) != 1:
        return f"a batch of {len(step.instances)} instances is restarted at a time"
    return "" if group else "the group is not described"


def _forecast(
    step: BeginStep,
    group: InspectedGroup,
    names: InstanceNames,
    process: str,
    config: StreamsConfig,
    *,
    ephemeral: bool,
    session_timeout_s: float | None,
    after_session: bool,
) -> Expectation:
    from spark_sim.forecast import Operation, forecast, observe
    from spark_sim.forecast.operations import UPGRADE
    from spark_sim.model.scenario import Instance

    wanted = step.round.config
    instance = Instance(resolve_release(wanted.release).release, wanted.upgrade_from)
    instance.config()  # raises what a member of that release raises
    observed = observe(group, config)
    found = forecast(
        observed,
        Operation(UPGRADE, process, instance, after_session),
        now_ms=int(1000 * time.time()),
        session_timeout_s=session_timeout_s,
        ephemeral=ephemeral,
    )
    by_process = {process.name: names.of(process.threads[0].described) for process in observed.processes}
    return Expectation(
        outcomes=tuple(
            ExpectedOutcome(
                versions=outcome.versions,
                rebalances=outcome.rebalances,
                moved={str(row.task): by_process.get(row.target or "", row.target or "") for row in outcome.moved},
                unowned_s=max(outcome.unowned_s.values(), default=0.0),
                violations=outcome.violations,
            )
            for outcome in found.outcomes
        ),
        assumed=found.assumptions,
    )
