"""The output of ``plan --json``, with one name in place of each text: no writer of a page can miss a key of today's."""

import json
from typing import Any

from click.testing import CliRunner

from streams_assignor.cli.main import cli

_PLANS = (("2.8", "4.3"), ("4.2", "4.3", "--to-protocol", "streams"))


def named_plan(name: str) -> dict[str, Any]:
    """Return the plan of a group that changes releases and protocol, all whose texts are the name."""
    printed = [CliRunner().invoke(cli, ["plan", *arguments, "--json"]).stdout for arguments in _PLANS]
    return {key: _named(value, name) for text in printed for key, value in json.loads(text).items()}


def _named(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _named(inner, name) for key, inner in value.items()}
    return (
        [_named(inner, name) for inner in value]
        if isinstance(value, list)
        else name
        if isinstance(value, str)
        else value
    )
