"""An option that takes one value is refused if it is given twice: none is silently the last one.

``features`` reads a command line as Kafka's tool does, whose last value counts (``features/test_command_lines.py``).
"""

import click
import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli

_SEVERAL = {
    ("audit", "--conf"),
    ("audit", "--group"),
    ("conform", "--conf"),
    ("group", "--restarted"),
    ("member", "--topic"),
    ("plan", "--app"),
    ("plan", "--config"),
    ("plan", "--from-app"),
    ("plan", "--to-app"),
    ("plan", "--topology"),
    ("plan", "--library"),
    ("plan", "--own"),
    ("plan", "--source-root"),
    ("report", "--conf"),
    ("sweep", "--conf"),
}
"""The options that take several values."""


def _commands(command, path=()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), (*path, name))
    yield path, command


COMMANDS = [(path, command) for path, command in _commands(cli) if path[:1] != ("features",)]
OPTIONS = [
    (path, option)
    for path, command in COMMANDS
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and not option.count
]
SINGLE = [(path, option) for path, option in OPTIONS if not option.multiple]


def run(path, *arguments):
    return CliRunner().invoke(cli, [*path, *arguments])


def test_these_options_take_several_values():
    assert _SEVERAL == {(" ".join(path), option.opts[0]) for path, option in OPTIONS if option.multiple}


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("path", "option"), SINGLE, ids=[f"{'-'.join(path)}{max(option.opts, key=len)}" for path, option in SINGLE]
)
def test_a_second_value_is_refused(path, option):
    name = max(option.opts, key=len)
    value = option.type.choices[0] if isinstance(option.type, click.Choice) else "1"
    given = [name, *[value] * option.nargs]
    result = run(path, *given, *given)

    assert 2 == result.exit_code
    assert f"expected {name} once, got 2 times" in result.output
    assert "Traceback" not in result.output


def test_options_that_exclude_each_other_are_refused():
    assert "expected --output or --json once, got 2 times" in run(["plan"], "-o", "yaml", "--json").output


def test_the_same_flag_twice_says_the_same():
    assert 0 == run(["plan", "2.8", "3.9"], "--json", "--json").exit_code
