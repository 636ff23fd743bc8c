"""The commands of an operator: templates whose words are replaced, and a process without a shell.

A template is cut into words once, as a shell cuts it, and then placeholders are replaced inside the words. So a name is
never read as more than a part of one word; a name that another program could read as an option or as code is refused.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from attrs import frozen

from assignor.cli.roll._secrets import without_secrets
from upgrade.errors import UpgradeError

_PLACEHOLDER: Final = re.compile(r"\{(instance|release|upgrade_from|round|group)\}")
_LIKE_ONE: Final = re.compile(r"\{([a-z_]+)\}")
_HARMLESS: Final = re.compile(r"[A-Za-z0-9_%+=:,./@][A-Za-z0-9_%+=:,./@-]*")
"""What no shell, and no program that reads options, takes for more than a text."""
_PREFIX: Final = "ROLL_"
_TAIL_BYTES: Final = 1 << 16
_KEPT_CHARACTERS: Final = 2_000
"""Much less than what is read: a secret that is cut is not recognized."""
_POLL_SECONDS: Final = 0.05
_KILL_SECONDS: Final = 10.0
KILLED: Final = 124
"""The exit status of a command that took too long, as of ``timeout``."""
NOT_FOUND: Final = 127


class TemplateError(UpgradeError):
    """A command template that cannot be used."""


@frozen
class CommandTemplate:
    """A command with placeholders."""

    words: tuple[str, ...]
    again_if: str = ""
    """A text of its output after which it may be run again, because it has done nothing and comes too early."""

    @classmethod
    def parse(cls, text: str) -> CommandTemplate:
        """Cut a template into words; ``TemplateError`` if a quotation mark is missing or a placeholder is unknown."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise TemplateError(f"expected a command, got {text!r}: {error}") from error
        if not words:
            raise TemplateError("expected a command, got nothing")
        for word in words:
            for name in _LIKE_ONE.findall(_PLACEHOLDER.sub("", word)):
                known = "{instance}, {release}, {upgrade_from}, {round} or {group}"
                raise TemplateError(f"unknown placeholder {{{name}}}: expected {known}")
        return cls(words)

    def check(self, instances: Sequence[str]) -> None:
        """Refuse names that a program could read as more than a name; they are in the environment, too."""
        bad = [name for name in instances if not _HARMLESS.fullmatch(name)]
        if bad and "{instance}" in "".join(self.words):
            raise TemplateError(
                f"expected names of letters, digits and _%+=:,./@- for {{instance}}, got {bad[0]!r}: give --instances "
                f"FILE with other names, or use the variable {_PREFIX}INSTANCE"
            )

    def argv(self, values: Mapping[str, str]) -> list[str]:
        """Return the words with the values."""
        return [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self.words]


@frozen
class CommandResult:
    """How a command ended."""

    status: int
    output: str
    """The end of what it printed, without secrets."""
    seconds: float


def run_command(
    template: CommandTemplate,
    values: Mapping[str, str],
    timeout_s: float,
    wait: Callable[[float], object] = time.sleep,
) -> CommandResult:
    """Run a command, with the values as variables of its environment, in a session of its own: Ctrl-C is not for it."""
    started = time.monotonic()
    environment = {**os.environ, **{f"{_PREFIX}{key.upper()}": value for key, value in values.items()}}
    # A file, and no pipe: what the command leaves running may hold it open.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                template.argv(values),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return CommandResult(NOT_FOUND, without_secrets(f"{template.words[0]} cannot be started: {error}"), 0.0)
        note = ""
        while process.poll() is None:
            if time.monotonic() - started > timeout_s:
                note = f"\nended after {timeout_s:g} s"
                _end(process)
                break
            wait(_POLL_SECONDS)
        status = KILLED if note else process.returncode
        return CommandResult(status, _kept(output) + note, round(time.monotonic() - started, 1))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(_KILL_SECONDS)


def _kept(output: IO[bytes]) -> str:
    """Return the end of what a command has printed, without secrets."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL_BYTES))
    text = output.read(_TAIL_BYTES).decode(errors="replace").strip()
    return without_secrets(text)[-_KEPT_CHARACTERS:]
