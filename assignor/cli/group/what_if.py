"""``group what-if NAME STEP``: the forecast of a step as text and as plain values."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve

from streams_assignor.cli._exit_status import CommandFailed, WrongUsage, exit_unless
from streams_assignor.formats.block_yaml import to_yaml
from streams_assignor.formats.progress import step
from streams_assignor.formats.text import count, format_bytes, format_seconds, sanitize
from streams_assignor.groups import InspectedGroup
from streams_assignor.groups.described_group import STREAMS
from streams_assignor.upgrade.config_keys import CONFIG_KEYS
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.streams_config import StreamsConfig

if TYPE_CHECKING:
    from streams_assignor.groups.offsets import ChangelogSizes
    from streams_assignor.spark_sim.forecast import Cost, CostRange, Forecast, Operation, Outcome, RestartOrder

_ROWS: Final = 20
"""Lines of one list; all of them are in the JSON."""
_OF_MEMBERS: Final = ("application.server", "client.rack", "group.instance.id", "upgrade.from")
"""Keys that the group shows, or that a step sets."""


def read_operation(text: str) -> Operation:
    """Read a step; a text that is none ends the command."""
    from streams_assignor.spark_sim.forecast import parse_operation

    try:
        return parse_operation(text)
    except UpgradeError as error:
        raise click.BadParameter(str(error), param_hint="what-if") from error


def read_config(path: Path | None) -> StreamsConfig:
    """Read the settings of the members that decide where tasks go; the defaults without a file."""
    from streams_assignor.cli.plan.application_settings import read_settings
    from streams_assignor.upgrade.application.setting_files import is_placeholder, setting_of

    if path is None:
        return StreamsConfig()
    try:
        values = read_settings(path).values
        known = {key: setting_of(values, key) for key in CONFIG_KEYS.keys() - {*_OF_MEMBERS, "client.tag.*"}}
        tags = {key: value for key, value in values.items() if key.startswith("client.tag.")}
        given = {key: value for key, value in {**known, **tags}.items() if value and not is_placeholder(value)}
        return StreamsConfig.of(given)
    except UpgradeError as error:
        raise WrongUsage(f"{path}: {error}") from error


def session_timeout_of(given_s: float | None, path: Path | None) -> float | None:
    """Return the seconds of ``--session-timeout``, or else of ``session.timeout.ms`` in the settings of the members."""
    from streams_assignor.cli.plan.application_settings import read_settings
    from streams_assignor.upgrade.application.setting_files import setting_of

    text = setting_of(read_settings(path).values, "session.timeout.ms") if path and given_s is None else None
    return int(text) / 1000 if text and text.isdecimal() else given_s


def show_forecast(
    group: InspectedGroup,
    changelogs: ChangelogSizes,
    operation: Operation,
    config: StreamsConfig,
    form: str,
    *,
    ephemeral: bool,
    session_timeout_s: float | None,
) -> None:
    """Print what a step does; status 1 if there is no forecast, or if something goes wrong in it."""
    from streams_assignor.spark_sim.forecast import (
        forecast,
        forecast_streams_group,
        observe,
        restart_order,
        streams_restart_order,
    )

    options: dict[str, Any] = {
        "now_ms": int(1000 * time.time()),
        "ephemeral": ephemeral,
        "session_timeout_s": session_timeout_s,
    }
    played = {
        **options,
        "on_played": lambda number: step(f"playing what the group does not show ({number:,} possibilities)"),
    }
    try:
        is_streams = group.described.type == STREAMS
        observed = None if is_streams else observe(group, config, changelogs=changelogs)
        play: Callable[[Operation], Forecast] = (
            partial(forecast, observed, **played)
            if observed
            else partial(forecast_streams_group, group, ephemeral=ephemeral)
        )
        if operation.is_for_all:
            find: Callable[..., RestartOrder] = (
                partial(restart_order, observed, **options)
                if observed
                else partial(streams_restart_order, group, ephemeral=ephemeral)
            )
            order = find(operation, on_played=lambda number: step(f"playing restarts ({number:,} so far)"))
            lines, document, is_safe = order_lines(order), order.as_json(), order.is_safe
        else:
            found = play(operation)
            # Whether an instance is back in time nobody knows before.
            late = play(evolve(operation, after_session=True)) if operation.returns else None
            lines = forecast_lines(found, late)
            document = found.as_json() | {"after_session": [each.as_json() for each in late.outcomes] if late else None}
            is_safe = found.is_safe and (late is None or late.is_safe)
    except UpgradeError as error:
        raise CommandFailed(f"no forecast: {error}") from error
    if form == "table":
        for line in lines:
            click.echo(sanitize(line))
    else:
        click.echo(_WRITERS[form](document), nl=False)
    exit_unless(is_safe)


def _to_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


_WRITERS: Final = {"json": _to_json, "yaml": to_yaml}
FORMS: Final = ("table", *_WRITERS)


def forecast_lines(found: Forecast, late: Forecast | None = None) -> Iterator[str]:
    """Write a forecast: each outcome with what it depends on, and what was assumed.

    Args:
        found: The forecast.
        late: The outcome of an instance that is back only after the sessions of its members.
    """
    size = f"{count(found.processes, 'instance')}, {count(found.tasks, 'task')}"
    yield f"{found.group}: {found.operation} ({size})" + (
        f": {len(found.outcomes)} outcomes are possible" if len(found.outcomes) > 1 else ""
    )
    yield from _outcome_lines(found.outcomes)
    if late and late.outcomes != found.outcomes:  # they are equal of a member that leaves when it is stopped
        yield ""
        number = len(late.outcomes)
        of_several = f"{number} outcomes are possible" if number > 1 else "one outcome is possible"
        yield f"if it is back only after the sessions of its members: {of_several}"
        yield from _outcome_lines(late.outcomes)
    yield ""
    yield from (f"assumed: {text}" for text in found.assumptions)


def _outcome_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    several = len(outcomes) > 1
    possibilities = {possibility for outcome in outcomes for possibility in outcome.when}
    assignors = {possibility.task_assignor for possibility in possibilities}
    protocols = {possibility.rebalance_protocol for possibility in possibilities}
    for outcome in outcomes:
        yield ""
        if several and outcome.when:
            when = _when(outcome, with_assignors=len(assignors) > 1, with_protocols=len(protocols) > 1)
            yield f"{when}{_by_process_id(outcome, outcomes)}:"
        yield _summary(outcome)
        yield from _details(outcome)


def _summary(outcome: Outcome) -> str:
    """Write an outcome in one line.

    The least: no rebalance, no move.
    """
    parts = [
        count(outcome.rebalances, "rebalance") if outcome.rebalances else "no rebalance",
        moves_text(outcome.moves, sum(row.target is not None for row in outcome.moved)),
    ]
    if outcome.restored:
        offsets = [row.offsets for row in outcome.restored if row.offsets is not None]
        sizes = [row.bytes for row in outcome.restored if row.bytes is not None]
        parts.append(
            _state(len(outcome.restored), sum(offsets) if any(offsets) else None, sum(sizes) if sizes else None)
        )
    if outcome.unowned_s:
        longest = format_seconds(max(outcome.unowned_s.values()))
        parts.append(f"{count(len(outcome.unowned_s), 'task')} without an owner for up to {longest}")
    return ", ".join(parts)


def moves_text(moves: int, elsewhere: int) -> str:
    """Write how often tasks move, and how many have another owner in the end: one may move and return.

    >>> moves_text(8, 0)
    '8 moves, every task back where it was'
    """
    if not moves:
        return "no move"
    others = f"{count(elsewhere, 'task')} with another owner" if elsewhere else "every task back where it was"
    return f"{count(moves, 'move')}{f', {others}' if moves > elsewhere else ''}"


def _details(outcome: Outcome) -> Iterator[str]:
    yield from (f"- UNSAFE: {text}" for text in outcome.violations)
    if outcome.probes_in_vain:
        yield "- a probing rebalance follows in each probing.rebalance.interval.ms, and moves nothing"
    elif not outcome.at_rest:
        yield f"- tasks still warm up after {count(outcome.rebalances, 'rebalance')}; those that follow were not played"
    moved = [f"- {row.task} moves from {row.origin} to {row.target or 'nobody'}" for row in outcome.moved]
    yield from _first(moved)
    restored = [
        f"- {row.process} restores {row.task}{_in_brackets(row.offsets, row.bytes)}" for row in outcome.restored
    ]
    yield from _first(restored)


def _state(stores: int, offsets: int | None, size: int | None) -> str:
    known = _in_brackets(offsets, size) or " (how far is not known)"
    return f"{count(stores, 'store')} to restore{known}"


def _in_brackets(offsets: int | None, size: int | None) -> str:
    parts = [
        *([f"at least {offsets:,} offsets"] if offsets else []),
        *([f"about {format_bytes(size)}"] if size is not None else []),
    ]
    return f" ({', '.join(parts)})" if parts else ""


def order_lines(found: RestartOrder) -> Iterator[str]:
    """Write an order of restarts: each with what it costs, how it was found, and what was assumed."""
    which = "the cheapest order" if found.is_exact else "a cheap order; a cheaper one may exist"
    size = f"{count(len(found.restarts), 'instance')}, {count(found.tasks, 'task')}"
    yield f"{found.group}: {found.operation} ({size}): {which}"
    yield ""
    for number, (process, cost) in enumerate(found.restarts, start=1):
        yield f"{number}. {process}: {_range(cost)}"
    yield ""
    yield from (f"- UNSAFE: {text}" for text in found.violations)
    yield f"together: {_range(found.cost)}"
    if found.after_session != found.cost:
        yield f"if each is back only after the sessions of its members: {_range(found.after_session)}"
    yield f"every order: at least {_cost(found.at_least)}"
    leader = f"for {found.leader} as the leader, " if found.leader else ""
    yield f"found {leader}with {count(found.plays, 'restart')} played"
    if len(found.leaders) > 1:
        yield f"the leader may be {_any(found.leaders)}: the costs are those of all, with each next leader"
    yield ""
    yield from (f"assumed: {text}" for text in found.assumptions)


def _range(cost: CostRange) -> str:
    least, most = cost.least, cost.most
    changes = sorted({least.leader_changes, most.leader_changes})
    leaders = f", {' to '.join(map(str, changes))} changes of the leader" if any(changes) else ""
    costs = "; or, with another leader, protocol or member id, ".join(dict.fromkeys([_cost(least), _cost(most)]))
    return f"{costs}{leaders.replace(', 1 changes', ', 1 change')}"


def _cost(cost: Cost) -> str:
    parts = [
        count(cost.rebalances, "rebalance") if cost.rebalances else "no rebalance",
        count(cost.moves, "move") if cost.moves else "no move",
    ]
    if cost.stores:
        parts.append(_state(cost.stores, cost.offsets or None, cost.bytes or None))
    return ", ".join(parts)


def _first(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_ROWS]
    if len(lines) > _ROWS:
        yield f"- ... and {len(lines) - _ROWS} more (-o json has all)"


def _when(outcome: Outcome, *, with_assignors: bool, with_protocols: bool) -> str:
    """Write on what an outcome depends: who leads before and afterwards, with which task assignor and protocol."""
    staying: dict[str, None] = {}
    following: dict[str, list[str]] = {}
    for possibility in outcome.when:
        leader = possibility.leader
        if with_assignors and possibility.task_assignor:
            leader = f"{leader} with the task assignor {possibility.task_assignor}"
        if possibility.next_leader is None:
            staying[leader] = None
        else:
            following.setdefault(leader, []).append(possibility.next_leader)
    parts = [
        *([f"{_any([*staying])} leads"] if staying else []),
        *(f"{leader} leads and then {_any(then)}" for leader, then in following.items()),
    ]
    protocols = {possibility.rebalance_protocol for possibility in outcome.when}
    with_protocol = f", {protocols.pop()}" if with_protocols and len(protocols) == 1 else ""
    return f"if {_any(parts)}{with_protocol}"


def _by_process_id(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """Say that something else decides, too, if a possibility ends in several ways."""
    others = {possibility for other in outcomes if other is not outcome for possibility in other.when}
    return ", by the order of the new process id" if others.intersection(outcome.when) else ""


def _any(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
