"""The faults of a command instead of its work."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from attrs import evolve

from streams_assignor.spark_sim.rolls.state import RollModelState
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.plan import RESTART, STOP, InstanceConfig

_JOINS = 4
"""So often an instance starts that fails again and again."""


class CommandFault(enum.Enum):
    """How a command does something else than it is to do."""

    NOT_RETURNED = "does not return"
    OLD_RELEASE = "returns as it was"
    NO_UPGRADE_FROM = "returns without upgrade.from"
    WRONG_UPGRADE_FROM = "returns with another upgrade.from"
    UNTOUCHED = "is not restarted"
    DIES = "returns, joins, and dies"
    CRASH_LOOP = "fails and starts again and again"
    COMMAND_FAILED = "is not restarted, and the command fails"
    ROLL_ENDS_BEFORE = "is not restarted, as roll ends"
    ROLL_ENDS_AFTER = "is restarted, and roll ends before it is noted"


def faulty(state: RollModelState, command: engine.RunCommand) -> Iterator[tuple[CommandFault, RollModelState]]:
    """Yield what may happen when a command is run, and the state after it."""
    process, group, config = command.instance, state.group, command.round.config
    yield CommandFault.ROLL_ENDS_BEFORE, state.resumed()
    yield CommandFault.ROLL_ENDS_AFTER, state.at(group.after(command.verb, process, config)).resumed()
    yield CommandFault.COMMAND_FAILED, state.noted(command, status=1)
    yield CommandFault.UNTOUCHED, state.noted(command)
    if command.verb == STOP:
        return
    yield CommandFault.NOT_RETURNED, state.at(group.after(STOP, process, config)).noted(command)
    others = {
        CommandFault.OLD_RELEASE: group.ran_last(process),
        CommandFault.NO_UPGRADE_FROM: InstanceConfig(config.release),
        CommandFault.WRONG_UPGRADE_FROM: _another_value(config),
    }
    for fault, other in others.items():
        if other is not None and other != config:
            yield fault, state.at(group.after(RESTART, process, other)).noted(command)
    joined = group.after(command.verb, process, config).settled()
    yield CommandFault.DIES, evolve(state.at(joined.without(process)).noted(command), died=state.died | {process})
    looping = state
    for _ in range(_JOINS):
        looping = looping.at(looping.group.after(RESTART, process, config))
    yield CommandFault.CRASH_LOOP, looping.noted(command)


def _another_value(config: InstanceConfig) -> InstanceConfig | None:
    """Return the same with a value of ``upgrade.from`` that makes a member send another version or be eager."""
    release = config.resolved.release

    def meaning(value: str | None) -> tuple[int | None, str]:
        return release.pinned_version(value), release.rebalance_protocol(value)

    others = (
        value for value in release.upgrade_from if meaning(value) not in (meaning(config.upgrade_from), meaning(None))
    )
    value = next(others, None)
    return InstanceConfig(config.release, value) if value and release.startup_outcome(value).exception is None else None
