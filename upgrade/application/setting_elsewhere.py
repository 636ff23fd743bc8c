"""Settings that are in no file of settings: in a document inside a value, variables, and the options of Java.

And the keys with which a file says that settings are kept elsewhere: whatever is not read there may set any key.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from streams_assignor.upgrade.application.setting_forms import HAS_OPTIONS, Entry
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE

ENVIRONMENT: Final = "environment"
COMMAND_LINE: Final = "command line"
_VARIABLE: Final = re.compile(r"(?:.*[.\]])?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)", re.DOTALL)
"""A name in capitals, at the end of a path in a manifest."""
_DOCUMENT: Final = re.compile(r"(?:.*[./])?([\w-]+\.(?:properties|ya?ml|json|toml|conf|xml|env))", re.DOTALL)
"""A key that is the name of a file, as in a ConfigMap."""
_JSON_OF_SPRING: Final = frozenset({"SPRING_APPLICATION_JSON", "spring.application.json"})
_OPTION: Final = re.compile(r"""(?:^|[\s,"'\[])(?:-D|--?)([A-Za-z][\w.\[\]-]*)=("[^"]*"|'[^']*'|[^\s"'\]]*)""")
_AGENT: Final = re.compile(r"-javaagent:[^\s\"',=\]]+")
_INJECTED: Final = re.compile(r".*/(?:inject-java|java-lib\.(?:version|custom-image))")
"""Annotations by which Kubernetes adds an agent: OpenTelemetry's and Datadog's."""
_QUOTED: Final = re.compile(r"\A([\"'])(.*)\1\Z", re.DOTALL)
_OF_SHELL: Final = re.compile(r"(?<![\w$\\])\$([A-Za-z_]\w*)")
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
        (r".*\benv_file(\b.*)?|environmentfile", "takes variables from"),
        (r".*\.extends\.file", "imports"),
        (r"resources|bases|components|patches(strategicmerge)?(\[\d+\]\.path)?", "imports"),
        (r"(configmap|secret)generator\[\d+\]\.(files|envs?)", "takes variables from"),
        (r"include(optional)?", "imports"),
    )
)
"""Keys that say where else settings are. A variable of the environment has the same name in capitals."""


_OF_SPRING: Final = re.compile(r"(?:application|bootstrap)(?:-.*)?\.(?:properties|ya?ml)")


@frozen
class Embedded:
    """A document that is the value of a key."""

    name: str
    text: str
    line: int
    """Of its key."""
    is_variable: bool = False
    place: str = ""
    """Files that Spring Boot combines have one."""


def variable_name(key: str) -> str:
    """Return the variable of the environment that a key names; empty if it names none.

    >>> variable_name("spec.template.spec.containers[0].env.JAVA_OPTS"), variable_name("acks")
    ('JAVA_OPTS', '')
    """
    match = _VARIABLE.fullmatch(key)
    return match[1] if match else ""


def decoded(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries with the text of each value that a Secret of Kubernetes has in Base64."""
    listed = list(entries)
    secrets = {
        (entry.document, f"{entry.key.removesuffix('kind')}data.")
        for entry in listed
        if entry.key.endswith("kind") and entry.value == "Secret"
    }
    return [
        evolve(entry, value=_of_base_64(entry.value or ""))
        if any(entry.document == document and entry.key.startswith(prefix) for document, prefix in secrets)
        else entry
        for entry in listed
    ]


def _of_base_64(value: str) -> str:
    try:
        return b64decode("".join(value.split()), validate=True).decode()
    except ValueError:
        return UNKNOWN_VALUE


def deployed(entry: Entry) -> Iterator[Entry | Embedded]:
    """Yield the entry, or what its value has inside; variables and options with the container that has them."""
    value = entry.value or ""
    variable = variable_name(entry.key)
    list_of_variables = entry.key.removesuffix(variable).rstrip(".") if variable else entry.key
    place = _place(list_of_variables.rpartition(".")[0], entry.document)
    if (match := _DOCUMENT.fullmatch(entry.key)) and "\n" in value:
        folder = entry.key.removesuffix(match[1]).rstrip("./")
        own = _place(folder if _OF_SPRING.fullmatch(match[1]) else entry.key, entry.document)
        yield Embedded(match[1], value, entry.line, place=own)
        return
    name = variable or entry.key
    if name in _JSON_OF_SPRING:
        yield Embedded("variable.json", value, entry.line - 1, is_variable=True, place=place)
        return
    unset = UNKNOWN_VALUE if variable else None  # a variable without a value is that of the machine
    if variable or HAS_OPTIONS.fullmatch(name):
        value = _OF_SHELL.sub(r"${\1}", _QUOTED.sub(r"\2", value))
    yield evolve(entry, key=name, value=unset if entry.value is None else value, place=place if variable else "")
    if HAS_OPTIONS.fullmatch(name):
        for match in _OPTION.finditer(value):
            yield Entry(match[1], match[2].strip("\"'"), entry.line, is_name=True, is_variable=True, place=place)


def _place(path: str, document: int) -> str:
    return f"{path}{f' of document {document + 1}' if document else ''}".lstrip()


def elsewhere(entries: Iterable[Entry], given: Sequence[str]) -> Iterator[str]:
    """Yield what a file says of settings in places that are not among the given files, as the end of a sentence."""
    for entry, words in _kept_elsewhere(entries):
        if not _are_given(entry.value or "", given):
            yield f"{f'line {entry.line} ' if entry.line else ''}{words}: {entry.key}"


def agents(entry: Entry) -> Iterator[str]:
    """Yield by which words of an entry Java gets an agent, as the end of a sentence.

    >>> list(agents(Entry("JAVA_TOOL_OPTIONS", "-Xmx1g -javaagent:/otel.jar=a=b", 3)))
    ['line 3 has -javaagent:/otel.jar']
    """
    if _INJECTED.fullmatch(entry.key):
        yield f"line {entry.line} has {entry.key.rpartition('.annotations.')[2]}"
    yield from (f"line {entry.line} has {option}" for option in _AGENT.findall(entry.value or ""))


def takes_from(entries: Iterable[Entry], given: Sequence[str]) -> bool:
    """Whether a file says that settings are in given files."""
    return any(_are_given(entry.value or "", given) for entry, _ in _kept_elsewhere(entries))


def _kept_elsewhere(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
    for entry in entries:
        key = entry.key.lower().replace("_", ".") if variable_name(entry.key) else entry.key
        words = next((words for pattern, words in _KEPT if pattern.fullmatch(key)), None)
        is_off = key.endswith("enabled") and entry.value == "false"
        if words and not is_off:
            yield entry, words


def _are_given(value: str, given: Sequence[str]) -> bool:
    """Whether each file that a value lists is given."""
    names = {part for name in given for part in name.replace("\\", "/").split("/")[-2:]}
    places = [re.split(r"[:/=]", place.strip())[-1] for place in re.split(r"[,;]", value)]
    return all(place in names for place in places)
