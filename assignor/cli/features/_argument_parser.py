"""Kafka's reading of a command line, before click's: prefixes of names, ``--``, and errors in Kafka's order.

Kafka's parser is argparse4j 0.7.0. It reads from left to right: the first invalid word is the error, and ``--help``
wins over all that follows. A name may be any unique prefix. The options that Kafka's tool does not have are read too,
but never by a prefix, because a prefix is Kafka's.

The standard library's ``argparse`` reads prefixes as well. The texts of errors and their order, of which 191 command
lines are compared with Kafka's tool to the byte, would still be written here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NoReturn

import click
from attrs import Factory, define

from streams_assignor.cli.features.click_support import usage_error

_CHANGE: Final = ("--metadata", "--release-version", "--feature", "--dry-run")
_OPTIONS_OF_KAFKA: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("--command-config", "--bootstrap-server", "--bootstrap-controller"),
    "describe": ("--node-id",),
    "upgrade": _CHANGE,
    "downgrade": (*_CHANGE, "--unsafe"),
    "disable": ("--feature", "--unsafe", "--dry-run"),
    "version-mapping": ("--release-version",),
    "feature-dependencies": ("--feature",),
}
"""The options of each sub-command; the empty name stands for those before it."""
_HELP: Final = ("--help", "-h")
_BOOTSTRAP: Final = ("--bootstrap-server", "--bootstrap-controller")
_NEGATIVE_NUMBER: Final = re.compile(r"-[0-9]+")


def expand_command_line(tool: click.Group, words: Sequence[str]) -> list[str]:
    """Return the command line with whole names and ``--option=value``, or only the ``--help`` that it asks for.

    Raises:
        CommandFailure: Kafka's tool would refuse the command line; its text is the tool's.
    """
    reader = _Reader(tool, deque(words))
    while reader.rest:
        word = reader.rest.popleft()
        if reader.is_separated or not _is_option(word):
            reader.read_positional(word)
        elif word == "--":
            reader.is_separated = True
        elif reader.read_option(word) == "--help":
            return [*filter(None, [reader.command]), "--help"]
    reader.check_complete()
    return reader.expanded


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _NEGATIVE_NUMBER.fullmatch(word)


@define
class _Reader:
    """The words that are read and those that are left."""

    tool: click.Group
    rest: deque[str]
    command: str = ""
    """The sub-command; empty before it."""
    is_separated: bool = False
    """``--`` has been read: all that follows is positional."""
    expanded: list[str] = Factory(list)
    given: set[str] = Factory(set)
    """The options with a value that have been read."""

    @property
    def options(self) -> Mapping[str, click.Parameter]:
        """The options that are valid here."""
        parser = self.tool.commands[self.command] if self.command else self.tool
        return {name: param for param in parser.params for name in param.opts}

    def read_positional(self, word: str) -> None:
        """Read the sub-command; nothing else is positional."""
        if self.command or self.is_separated:
            _refuse_unrecognized([word, *self.rest])
        self.command = word if word in self.tool.commands else _of_prefix("command", word, self.tool.commands)
        if not self.command:
            names = ", ".join(f"'{name}'" for name in self.tool.commands)
            raise usage_error(f"invalid choice: '{word}' (choose from {names})")
        self.expanded.append(self.command)

    def read_option(self, word: str) -> str:
        """Read an option and its value; returns its whole name."""
        term, equals, value = word.partition("=")
        name = self._option_named(term)
        if not name and term.startswith("-h"):
            return "--help"  # letters that are joined to a flag are flags too, and help is the first
        if not name:
            _refuse_unrecognized([word])
        if name in _HELP or self.options[name].is_flag:  # type: ignore[attr-defined]  # all of them are options
            if equals:
                flag = "-h/--help" if name in _HELP else name
                raise usage_error(f"argument {flag}: ignore implicit argument '{value}'")
            self.expanded.append(name)
            return "--help" if name in _HELP else name
        self._store(name, value if equals else self._next_value(name))
        return name

    def _option_named(self, term: str) -> str:
        options = self.options
        if term in _HELP or (term in options and term.startswith("--")):
            return term
        if term in options:
            return options[term].opts[-1]
        return _of_prefix("option", term, (*_OPTIONS_OF_KAFKA[self.command], *_HELP))

    def _next_value(self, name: str) -> str:
        if not self.rest or _is_option(self.rest[0]):
            raise usage_error(f"argument {name}: expected one argument")
        return self.rest.popleft()

    def _store(self, name: str, value: str) -> None:
        for other in _BOOTSTRAP:
            if name in _BOOTSTRAP and other != name and other in self.given:
                raise usage_error(f"argument {name}: not allowed with argument {other}")
        option = self.options[name]
        option.type(value, option)
        self.given.add(name)
        self.expanded.append(f"{name}={value}")

    def check_complete(self) -> None:
        """Refuse a command line without a sub-command or a required option."""
        if not self.command:
            raise usage_error("too few arguments")
        for name, option in self.options.items():
            if option.required and name not in self.given:
                raise usage_error(f"argument {name} is required")


def _of_prefix(kind: str, prefix: str, names: Collection[str]) -> str:
    """Return the only name with this prefix, or an empty text."""
    matches = sorted(name for name in names if prefix and name.startswith(prefix))
    if len(matches) > 1:
        raise usage_error(f"ambiguous {kind}: {prefix} could match {', '.join(matches)}")
    return "".join(matches)


def _refuse_unrecognized(words: Iterable[str]) -> NoReturn:
    raise usage_error(f"unrecognized arguments: '{' '.join(words)}'")
