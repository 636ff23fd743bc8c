"""The program itself: its options, the events it prints, the columns it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import click

from blocks.markdown import table
from streams_assignor.cli.assign import CONFIGURATION
from streams_assignor.cli.main import cli
from streams_assignor.observability.event_fields import EVENT_FIELDS
from streams_assignor.observability.events import JoinReason
from streams_assignor.observability.metrics import METRICS
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.upgrade.config_keys import CONFIG_KEYS, ConfigKey

COMMANDS: Final = (
    *("userdata decode", "userdata explain", "assign", "plan", "release"),
    *("replay", "sweep", "report", "member", "bounce"),
)
"""Commands whose options are listed; the others have the same ones."""


def options(*path: str) -> str:
    """List the options of a command by their current names; older names are aliases."""
    command: Any = cli
    for name in path:
        command = command.get_command(click.Context(command), name)
    found = [each for each in command.params if isinstance(each, click.Option)]
    rows = [(f"`{each.opts[0]}`", _default(each), each.help or "") for each in found]
    return table(("option", "default", ""), rows)


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    return f"`{option.default}`" if option.show_default else ""


def events() -> str:
    """List what a member process prints."""
    rows = []
    for event, written in EVENT_FIELDS.items():
        if written.line:
            keys = [f"`{field.key}`" for field in written.fields if field.key]
            rows.append(
                (f"`{written.line}`", ", ".join(keys), written.meaning or (event.__doc__ or "").partition("\n")[0])
            )
    return table(("`event`", "further keys", "means"), rows)


def limits() -> str:
    """List the limits of each command, as its help has them."""
    found = cli.limits
    return table(("command", "limits"), [(f"`{name}`", text[:1].upper() + text[1:]) for name, text in found.items()])


def configuration() -> str:
    """List the configuration keys of a member."""
    rows = [(f"`{key.name}`", _type(key), _value(key.default), key.documentation) for key in CONFIG_KEYS.values()]
    return table(("key", "type", "default", "meaning"), rows)


def assign_configuration() -> str:
    """List the keys of a group of ``assign`` that stand for a configuration."""
    rows = [
        (f"`{name}`", _value(CONFIG_KEYS[key].default), f"`{key}`: {CONFIG_KEYS[key].documentation}")
        for name, key in CONFIGURATION.items()
    ]
    return table(("key of a group", "default", "meaning"), rows)


def metrics() -> str:
    """List the metrics of a member."""
    rows = [
        (
            f"`{each.name}`",
            each.kind.value,
            each.unit,
            ", ".join(f"`{name}`" for name in each.attributes),
            each.description,
            each.jmx_name,
        )
        for each in METRICS
    ]
    return table(("metric", "kind", "unit", "attributes", "meaning", "in Kafka"), rows)


def reasons() -> str:
    """List why a member joins."""
    return table(("reason", ""), [(f"`{each.name.lower()}`", each.value) for each in (*JoinReason, *FollowUpReason)])


def _type(key: ConfigKey) -> str:
    return f"{key.type.value}, at least {key.minimum}" if key.is_number and key.minimum > 0 else key.type.value


def _value(default: object) -> str:
    return "none" if default in (None, "", (), {}, "none") else f"`{default}`"


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "configuration of a member": configuration,
    "configuration of assign": assign_configuration,
    "columns": lambda: "\n\n".join(each.markdown() for each in TABLES.values()),
    "events": events,
    "limits": limits,
    "metrics": metrics,
    "reasons of joins": reasons,
    **{f"options of {command}": partial(options, *command.split()) for command in COMMANDS},
}
