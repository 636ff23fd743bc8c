"""The commands of an operator: templates whose words are replaced, and a process without a shell.

A template is cut into words once, as a shell cuts it, and then placeholders are replaced inside the words. So a name is
never read as more than a part of one word; a value that another program could read as an option or as code is refused.

The output of a command goes through a pipe to a process of its own, which keeps its end. So no command fills a
disk, none waits for a reader, and none loses its output when roll is killed: what it leaves running may go on printing.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from attrs import frozen

from streams_assignor.cli.roll._secrets import without_secrets
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.roll.plan import RollPlan

_NAMES: Final = ("instance", "release", "upgrade_from", "round", "group", "empty_state")
_KNOWN: Final = r"(?:instance|release|upgrade[_.-]?from|round|group|empty[_.-]?state)"
_PLACEHOLDER: Final = re.compile(rf"(?<![${{%#])\{{({'|'.join(_NAMES)})\}}(?!\}})")
_LIKE_ONE: Final = re.compile(
    rf"""(?xi)
    (?<!\$) [%\#]? \{{+ \s* [a-z_][\w.:!-]* \s* \}}+      # in braces; what a shell replaces is ${{NAME}}
    | \$ \{{ [^}}]*? \b {_KNOWN} \b [^}}]* \}} | \$ \(? \s* {_KNOWN} \b
    | % \( \s* \w+ \s* \) [sdr]
    | < \s* {_KNOWN} \s* > | % {_KNOWN} %"""
)
"""Spellings that somebody may have taken for a placeholder."""
_HARMLESS: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Names that no shell, and no program that reads options, paths or settings, takes for more than a name."""
_PREFIX: Final = "ROLL_"
_TAIL_BYTES: Final = 1 << 16
_KEPT_CHARACTERS: Final = 2_000
"""Much less than what is read: a secret that is cut is not recognized."""
_POLL_SECONDS: Final = 0.05
_KILL_SECONDS: Final = 10.0
_READER: Final = f"""
import os, sys
mark, tail = bytes.fromhex(sys.argv[1]), b""
while text := os.read(0, {_TAIL_BYTES}):
    before, end, _ = (tail + text).partition(mark)
    tail = before[-{_TAIL_BYTES}:]
    if end:
        open(1, "wb").write(tail)
        break
while os.read(0, {_TAIL_BYTES}):
    pass
"""
"""Keeps the end of its input, and prints it when it reads the mark; then it reads on for what is left running."""
_MARK_BYTES: Final = 16
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
            if unknown := _LIKE_ONE.search(_PLACEHOLDER.sub("", word)):
                known = ", ".join(f"{{{name}}}" for name in _NAMES)
                raise TemplateError(f"unknown placeholder {unknown[0]}: expected {known}")
        return cls(words)

    def check(self, name: str, values: Sequence[str]) -> None:
        """Refuse values of a placeholder that a program could read as more; they are in the environment, too."""
        bad = [value for value in values if not _HARMLESS.fullmatch(value)]
        if bad and any(found[1] == name for word in self.words for found in _PLACEHOLDER.finditer(word)):
            instead = "give --instances FILE with other names, or " if name == "instance" else ""
            raise TemplateError(
                f"expected letters, digits, _, . and -, and the first none of the last two, for {{{name}}}, got "
                f"{bad[0]!r}: {instead}use the variable {_PREFIX}{name.upper()}"
            )

    def argv(self, values: Mapping[str, str]) -> list[str]:
        """Return the words with the values; ``TemplateError`` if one could be read as more than a name."""
        for name, value in values.items():
            self.check(name, [value] if value else [])
        return [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self.words]


def check_values(templates: Iterable[CommandTemplate], plan: RollPlan) -> None:
    """Refuse a plan whose names or values a command could read as more: a new one, and one of a journal."""
    configs = [config for each in plan.rounds for config in (each.config, each.before)]
    values = {
        "instance": plan.names,
        "group": (plan.name,),
        "release": [config.release.partition("~")[0] for config in configs],
        "upgrade_from": [config.upgrade_from for config in configs if config.upgrade_from],
    }
    for template in templates:
        for name, given in values.items():
            template.check(name, given)


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
    *,
    leaves_others: bool = True,
) -> CommandResult:
    """Run a command, with the values as variables of its environment, in a session of its own: Ctrl-C is not for it.

    Args:
        template: The command.
        values: Those of its placeholders.
        timeout_s: How long it may take.
        wait: Waits until it is looked again whether it has ended.
        leaves_others: Whether the processes that it has started may go on: those of a probe would be more each time.
    """
    argv, started = template.argv(values), time.monotonic()
    environment = {**os.environ, **{f"{_PREFIX}{key.upper()}": value for key, value in values.items()}}
    with _printed() as (pipe, printed):
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=pipe,
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
        if not leaves_others:
            _end(process)
        status = KILLED if note else process.returncode
        return CommandResult(status, (printed() + note).strip(), round(time.monotonic() - started, 1))


@contextmanager
def _printed() -> Iterator[tuple[int, Callable[[], str]]]:
    """Yield a pipe for the output of a command, and what returns the end of what was printed, without secrets."""
    mark = os.urandom(_MARK_BYTES)
    reader = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _READER, mark.hex()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert reader.stdin
    assert reader.stdout
    pipe, kept = reader.stdin, reader.stdout

    def printed() -> str:
        with suppress(BrokenPipeError):  # somebody has killed it
            os.write(pipe.fileno(), mark)
        text = kept.read().decode(errors="replace").strip()
        return without_secrets(text)[-_KEPT_CHARACTERS:]

    try:
        yield pipe.fileno(), printed
    finally:
        pipe.close()
        kept.close()
        # It ends with the last process that may print.
        threading.Thread(target=reader.wait, daemon=True).start()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(_KILL_SECONDS)
