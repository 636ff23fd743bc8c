"""Settings that are in no file of settings: in a document inside a value, variables, and the options of Java.

And the keys with which a file says that settings are kept elsewhere: whatever is not read there may set any key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from streams_assignor.upgrade.application.setting_forms import Entry

ENVIRONMENT: Final = "environment"
COMMAND_LINE: Final = "command line"
_VARIABLE: Final = re.compile(r"(?:.*[.\]])?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)", re.DOTALL)
"""A name in capitals, at the end of a path in a manifest."""
_DOCUMENT: Final = re.compile(r"(?:.*[./])?([\w-]+\.(?:properties|ya?ml|json|toml|conf|xml|env))", re.DOTALL)
"""A key that is the name of a file, as in a ConfigMap."""
_JSON_OF_SPRING: Final = frozenset({"SPRING_APPLICATION_JSON", "spring.application.json"})
_OPTION: Final = re.compile(r"""(?:^|[\s,"'\[])(?:-D|--)([A-Za-z][\w.\[\]-]*)=("[^"]*"|'[^']*'|[^\s,"'\]]*)""")
_HAS_OPTIONS: Final = re.compile(r".*(?:OPTS|OPTIONS|ARGS|args|command|CMD|ENTRYPOINT|entrypoint)", re.DOTALL)
_KEPT: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"spring\.config\.(import|location|additional-?location|name)(\[\d+\])?", "imports"),
        (r"(quarkus|smallrye)\.config\.(locations|sources.*)", "imports"),
        (r"micronaut\.config\.files", "imports"),
        (
            r"spring\.cloud\.(config|consul|vault|zookeeper|kubernetes|azure|gcp|nacos|bootstrap)\..*",
            "has a store of settings",
        ),
        (r"(micronaut\.config-?client|consul\.client|vault\.client)\..*", "has a store of settings"),
        (
            r"quarkus\.(consul-?config|vault|spring-?cloud-?config|config-?map|kubernetes-?config)\..*",
            "has a store of settings",
        ),
        (r".*\benv_?from\b.*", "takes variables from another object"),
        (r".*\benv_file(\b.*)?", "takes variables from"),
    )
)
"""Keys that say where else settings are. A variable of the environment has the same name in capitals."""


@frozen
class Embedded:
    """A document that is the value of a key."""

    name: str
    text: str
    line: int
    """Of its key."""
    is_variable: bool = False


def variable_name(key: str) -> str:
    """Return the variable of the environment that a key names; empty if it names none.

    >>> variable_name("spec.template.spec.containers[0].env.JAVA_OPTS"), variable_name("acks")
    ('JAVA_OPTS', '')
    """
    match = _VARIABLE.fullmatch(key)
    return match[1] if match else ""


def deployed(entry: Entry) -> Iterator[Entry | Embedded]:
    """Yield the entry, or what its value has inside."""
    value = entry.value or ""
    name = variable_name(entry.key) or entry.key
    if (match := _DOCUMENT.fullmatch(entry.key)) and "\n" in value:
        yield Embedded(match[1], value, entry.line)
        return
    if name in _JSON_OF_SPRING:
        yield Embedded("variable.json", value, entry.line - 1, is_variable=True)
        return
    yield evolve(entry, key=name)
    if _HAS_OPTIONS.fullmatch(name):
        for match in _OPTION.finditer(value):
            yield Entry(match[1], match[2].strip("\"'"), entry.line, is_name=True, is_variable=True)


def elsewhere(entries: Iterable[Entry], given: Sequence[str]) -> Iterator[str]:
    """Yield what a file says of settings in places that are not among the given files, as the end of a sentence."""
    names = {name.replace("\\", "/").rpartition("/")[2] for name in given}
    for entry in entries:
        key = entry.key.lower().replace("_", ".") if variable_name(entry.key) else entry.key
        words = next((words for pattern, words in _KEPT if pattern.fullmatch(key)), None)
        is_off = key.endswith("enabled") and entry.value == "false"
        if words and not is_off and not _are_given(entry.value or "", names):
            yield f"{f'line {entry.line} ' if entry.line else ''}{words}: {entry.key}"


def _are_given(value: str, names: set[str]) -> bool:
    """Whether each file that a value lists is among those with these names."""
    places = [place.strip().rpartition(":")[2].rpartition("/")[2] for place in re.split(r"[,;]", value)]
    return all(place in names for place in places)
