"""The forms of files in which settings are written, as entries: properties, JSON, YAML, TOML, Dockerfiles and others.

No error has a value: it may be a secret.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, pairwise, repeat
from typing import Any, Final, NoReturn
from xml.parsers import expat

from attrs import evolve, field, frozen

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE
from streams_assignor.upgrade.input_values import parse_property_lines, require_shallow

_SPRING_DOCUMENT: Final = re.compile(r"[#!]---[ \t\f]*")
"""The line between two documents of a properties file: Spring Boot 2.4 and later."""
_MAX_DEPTH: Final = 50
_MAX_VALUES: Final = 100_000
"""Values, names and lists in a document: aliases of YAML may stand for any number of them."""
MAX_YAML_BYTES: Final = 1 << 20
"""PyYAML reads some 600 kB in a second."""
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"(?P<is_key>\s*+:)?', re.DOTALL)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(?:=(.*))?", re.DOTALL)
"""A variable in a list, as in compose files: without a value it is that of the machine."""
HAS_OPTIONS: Final = re.compile(r".*(?:OPTS|OPTIONS|ARGS|args|command|CMD|ENTRYPOINT|entrypoint)", re.DOTALL)
"""The end of the path of a command line; its list is kept as lines, as options have commas."""
_INSTRUCTION: Final = re.compile(r"\s*(FROM|ARG|ENV|CMD|ENTRYPOINT)\s+(.*)", re.IGNORECASE | re.DOTALL)
_STAGE: Final = re.compile(r"(?<!\S)(?!--|(?i:as)\s)\S+")
_ARGUMENTS: Final = re.compile(r"""([A-Za-z_]\w*)(?:=("[^"]*"|'[^']*'|\S*))?""")
_ARGUMENT_USED: Final = re.compile(r"(?<!\\)\$(?:(\w+)|\{(\w+)\})")
_VARIABLES: Final = re.compile(r"""(?<!\w)([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|'[^']*'|\S*)""")


class MissingReader(UpgradeError):
    """A form that needs a package which is not installed."""


@frozen
class Entry:
    """A key of a file."""

    key: str
    value: str | None = field(repr=False)
    """None: null."""
    line: int
    document: int = 0
    """The place of its document in a file of several."""
    conditions: tuple[str, ...] = ()
    """When it is read: ``profile prod``; none: always."""
    file: str = ""
    """Empty: the only one."""
    is_name: bool = False
    """Whether a parser of documents says that the key is one: a line of properties that has gone wrong may be a
    password."""
    is_variable: bool = False
    """Whether it is from the environment or a command line, which a framework reads and Kafka does not."""
    place: str = ""
    """The container or the document of a manifest that has it; empty: the file itself."""


def parse_properties_file(text: str) -> Iterator[Entry]:
    """Yield the entries of Java properties; Spring Boot divides a file into documents by comments."""
    ends = [number for number, line in enumerate(_LINE_END.split(text), 1) if _SPRING_DOCUMENT.fullmatch(line)]
    for line, key, value in parse_property_lines(text):
        yield Entry(key, value, line, bisect(ends, line))


Object = tuple[tuple[str, int, Any], ...]
"""Names, their lines, and values: an ``Object``, a list, a text, or None."""


def flatten(value: Object | list[Any] | str | None, path: str = "", line: int = 1, depth: int = 0) -> Iterator[Entry]:
    """Yield the entries of a document: nested names with dots, lists with commas, or with numbers if they have objects.

    Raises:
        UpgradeError: It is not an object, or is nested too deeply.

    >>> [(each.key, each.value) for each in flatten((("a", 1, (("b", 2, ["1", "2"]),)), ("c.d", 3, "true")))]
    [('a.b', '1,2'), ('c.d', 'true')]
    """
    if depth > _MAX_DEPTH:
        raise UpgradeError(f"expected at most {_MAX_DEPTH} levels of settings, got more")
    if isinstance(value, tuple):
        for name, at, part in value:
            joint = "." if path and not name.startswith("[") else ""
            yield from flatten(part, f"{path}{joint}{name}", at, depth + 1)
    elif not path:
        raise UpgradeError(f"expected an object of settings, got {'a list' if isinstance(value, list) else 'a value'}")
    elif isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            variables = [_ASSIGNMENT.fullmatch(item) for item in value]
            if all(variables) and any("=" in item for item in value):
                given = ((match[1], match[2]) for match in variables if match)
                yield from (Entry(f"{path}.{name}", text, line, is_name=True) for name, text in given)
            else:
                yield Entry(path, ("\n" if HAS_OPTIONS.fullmatch(path) else ",").join(value), line, is_name=True)
            return
        for place, item in enumerate(value):
            name, named = _named_value(item)
            yield from flatten(named, f"{path}.{name}" if name else f"{path}[{place}]", line, depth + 1)
    else:
        yield Entry(path, value, line, is_name=True)


def _named_value(value: Object | list[Any] | str | None) -> tuple[str, Object | list[Any] | str | None]:
    """Return name and value of an object such as Kubernetes' ``{name: ACKS, value: all}``; else no name."""
    if isinstance(value, tuple):
        fields = {name: part for name, _, part in value}
        if fields.keys() in ({"name", "value"}, {"name", "valueFrom"}) and isinstance(fields["name"], str):
            return fields["name"], fields.get("value", UNKNOWN_VALUE)
    return "", value


def parse_json_file(text: str) -> Iterator[Entry]:
    """Yield the entries of a JSON document; its numbers stay as they are written."""
    try:
        require_shallow(text)
        parsed = json.loads(
            text, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=_refuse_constant
        )
        document = _with_lines(parsed, iter(_key_lines(text)))
    except json.JSONDecodeError as error:
        raise UpgradeError(f"expected JSON ({error.msg}) at line {error.lineno} column {error.colno}") from None
    yield from flatten(document)


def _refuse_constant(name: str) -> NoReturn:
    raise UpgradeError(f"expected JSON, got {name}, which is no number of JSON")


def _key_lines(text: str) -> list[int]:
    """List the line of each name in a JSON document, in the order of the text."""
    starts = [match.start() for match in _JSON_STRING.finditer(text) if match["is_key"]]
    return list(accumulate((text.count("\n", *pair) for pair in pairwise([0, *starts])), initial=1))[1:]


def _with_lines(value: Any, lines: Iterator[int]) -> Any:
    if isinstance(value, tuple):
        return tuple((name, next(lines), _with_lines(part, lines)) for name, part in value)
    if isinstance(value, list):
        return [_with_lines(part, lines) for part in value]
    return str(value).lower() if isinstance(value, bool) else value


def parse_yaml_file(text: str) -> Iterator[Entry]:
    """Yield the entries of the documents of a YAML file."""
    if len(text) > MAX_YAML_BYTES:
        raise UpgradeError(f"expected at most {MAX_YAML_BYTES:,} characters of YAML, got more")
    try:
        import yaml
    except ImportError:
        raise MissingReader("YAML needs PyYAML: pip install 'streams-assignor[yaml]'") from None
    visits = repeat(None, _MAX_VALUES)
    try:
        for place, node in enumerate(yaml.compose_all(text, yaml.SafeLoader)):
            document = _yaml_value(node, visits)
            if document not in (None, ""):  # an empty document
                yield from (evolve(entry, document=place) for entry in flatten(document))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        what = str(error.problem or "").partition("'")[0].strip()  # what is quoted is from the file
        raise UpgradeError(f"expected YAML ({what}){where}") from None
    except yaml.YAMLError:
        raise UpgradeError("expected YAML, got characters that it does not allow") from None
    except RecursionError:
        raise UpgradeError("expected YAML, got values that are nested too deeply") from None


def _yaml_value(node: Any, visits: Iterator[None]) -> Any:
    """Return a node as a value of ``flatten``; a node that an alias names is returned each time."""
    if next(visits, visits) is visits:
        raise UpgradeError(f"expected at most {_MAX_VALUES:,} values in YAML, got more: are there aliases in a circle?")
    if node.id == "sequence":
        return [_yaml_value(item, visits) for item in node.value]
    if node.id == "scalar":
        return _yaml_scalar(node.tag, node.value)
    merged: list[tuple[str, int, Any]] = []
    own: list[tuple[str, int, Any]] = []
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise UpgradeError(f"expected a name in line {line} of YAML, got a list or an object")
        if key.tag.endswith(":merge"):
            for mapping in value.value if value.id == "sequence" else [value]:
                if mapping.id != "mapping":
                    raise UpgradeError(f"expected an object to merge in line {line} of YAML, got a value or a list")
                merged += _yaml_value(mapping, visits)
        else:
            own.append((key.value, line, _yaml_value(value, visits)))
    names = {name for name, _, _ in own}
    return (*(item for item in merged if item[0] not in names), *own)


def _yaml_scalar(tag: str, text: str) -> str | None:
    """Return the text that a Java program gets of a value of YAML 1.1; a tag of one's own stands for an unknown value.

    >>> [_yaml_scalar(f"{_YAML_TAG}{name}", text) for name, text in (("bool", "Yes"), ("int", "0x10"), ("null", "~"))]
    ['true', '16', None]
    """
    kind = tag.removeprefix(_YAML_TAG)
    if kind == tag and tag != "!":
        return UNKNOWN_VALUE
    if kind == "bool":
        return str(text.lower() in {"true", "yes", "on"}).lower()
    if kind == "int" and (match := _OTHER_BASE.fullmatch(text.replace("_", ""))):
        return f"{match['sign']}{int(match[match.lastgroup or 0], _BASES[match.lastgroup or ''])}"
    return None if kind == "null" else text


_YAML_TAG: Final = "tag:yaml.org,2002:"
_OTHER_BASE: Final = re.compile(r"(?P<sign>[+-]?)0(?:x(?P<x>[0-9A-Fa-f]{1,30})|b(?P<b>[01]{1,90})|(?P<o>[0-7]{1,40}))")
_BASES: Final = {"x": 16, "b": 2, "o": 8}


def parse_toml_file(text: str) -> Iterator[Entry]:
    """Yield the entries of a TOML document; those inside a value of several lines have that of the value."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise UpgradeError("expected TOML") from None
    lines = _toml_lines(text)
    for entry in flatten(_toml_value(document)):
        path = _TOML_PLACE.sub("", entry.key)
        ends = (path[: match.start()] for match in reversed(list(re.finditer(r"\.|$", path))))
        yield evolve(entry, line=next((lines[end] for end in ends if end in lines), 0))


def _toml_lines(text: str) -> dict[str, int]:
    """Return the first line of each name that begins a line, by its path."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TOML_LINE.match(line):
            path = ".".join(part.strip("\"'") for part in _TOML_PART.findall(match["table"] or match["name"]))
            table = f"{path}." if match["table"] else table
            lines.setdefault(path if match["table"] else f"{table}{path}", number)
    return lines


_TOML_PART: Final = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_TOML_PATH: Final = rf"(?:{_TOML_PART.pattern})(?:\s*\.\s*(?:{_TOML_PART.pattern}))*"
_TOML_LINE: Final = re.compile(rf"\s*(?:\[\[?\s*(?P<table>{_TOML_PATH})\s*\]|(?P<name>{_TOML_PATH})\s*=)")
_TOML_PLACE: Final = re.compile(r"\[\d+\]")


def _toml_value(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, 0, _toml_value(part)) for name, part in value.items())
    if isinstance(value, list):
        return [_toml_value(part) for part in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_xml_file(text: str) -> Iterator[Entry]:
    """Yield the entries of Java's properties as XML; nothing of another document. Java: ``Properties.loadFromXML``.

    Raises:
        UpgradeError: It is not XML, or declares entities.
    """
    parser, path, found = expat.ParserCreate("UTF-8"), list[str](), list[Entry]()

    def start(name: str, attributes: Mapping[str, str]) -> None:
        path.append(name)
        if path == ["properties", "entry"] and "key" in attributes:
            found.append(Entry(attributes["key"], "", parser.CurrentLineNumber, is_name=True))

    def add(part: str) -> None:
        if path == ["properties", "entry"] and found:
            found[-1] = evolve(found[-1], value=f"{found[-1].value}{part}")

    def refuse_entity(*_: object) -> NoReturn:
        raise UpgradeError("expected XML without entities of its own, got one")

    parser.StartElementHandler, parser.CharacterDataHandler = start, add
    parser.EndElementHandler = lambda _: path.pop()
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(text.encode(errors="replace"), True)
    except expat.ExpatError as error:
        raise UpgradeError(f"expected XML ({expat.ErrorString(error.code)}) at line {error.lineno}") from None
    yield from found


def parse_dockerfile(text: str) -> Iterator[Entry]:
    """Yield the variables and the command line of the last stage of a Dockerfile, with those of its own base stages."""
    entries, arguments = list[Entry](), dict[str, str]()
    stages, outside = dict[str, tuple[list[Entry], dict[str, str]]](), arguments
    for number, name, rest in _instructions(text):
        if name == "FROM":
            base, *alias = _STAGE.findall(rest) or [""]
            below, known = stages.get(base.lower(), ([], {}))
            entries, arguments = [*below], {**known}
            stages[alias[-1].lower() if alias else ""] = entries, arguments
        elif name == "ARG":
            for argument, value in _ARGUMENTS.findall(rest):
                arguments[argument] = value.strip("\"'") or outside.get(argument, "")
        elif name == "ENV":
            variables = _VARIABLES.findall(rest) or [rest.partition(" ")[::2]]
            for key, value in variables:
                entries.append(Entry(key, _with_defaults(value.strip().strip("\"'"), arguments), number, is_name=True))
        else:
            entries[:] = (entry for entry in entries if entry.key != name)
            entries.append(Entry(name, rest, number, is_name=True))
    yield from entries


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name and the rest of those that decide about variables and commands."""
    listed = ((number, line) for number, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("#"))
    for number, line in listed:
        parts = [line]
        while parts[-1].rstrip().endswith("\\") and (following := next(listed, None)):
            parts[-1:] = [parts[-1].rstrip()[:-1], following[1]]
        if match := _INSTRUCTION.fullmatch(" ".join(parts)):
            yield number, match[1].upper(), match[2].strip()


def _with_defaults(value: str, arguments: Mapping[str, str]) -> str:
    """Return the value of a variable with the default of each argument of the build: ``$A`` as ``${A:default}``."""

    def placeholder(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return f"${{{name}:{arguments[name]}}}" if arguments.get(name) else match[0]

    return _ARGUMENT_USED.sub(placeholder, value)


@frozen
class Form:
    """A form of files."""

    words: str
    pattern: str
    """The pattern of its name in lower case, or of its suffix."""
    parse: Callable[[str], Iterator[Entry]]
    is_utf_8: bool = True
    is_read: bool = True
    """Otherwise any key may be set in it."""


PROPERTIES: Final = Form("properties", r".*", parse_properties_file, is_utf_8=False)
PROGRAM: Final = Form(
    "a script or a program",
    r".*\.(sh|bash|bat|cmd|ps1|service|tf|tfvars|hcl|groovy|gradle|kts|cue|jsonnet|py|rb|js|ts)|(proc|make|jenkins)file",
    parse_properties_file,
    is_utf_8=False,
    is_read=False,
)
"""The keys that it names are found."""
_XML: Final = Form("XML", r".*\.xml", parse_xml_file)
_FORMS: Final = (
    Form("JSON", r".*\.json", parse_json_file),
    Form("YAML", r".*\.ya?ml", parse_yaml_file),
    Form("TOML", r".*\.toml", parse_toml_file),
    Form("HOCON", r".*\.(conf|hocon)", lambda _text: iter(()), is_read=False),
    _XML,
    Form("a Dockerfile", r"(docker|container)file.*|.*\.(docker|container)file", parse_dockerfile),
    PROGRAM,
    PROPERTIES,
)


def form_of(name: str, text: str = "") -> Form:
    """Return the form of a file by its name, or by the beginning of its text.

    >>> [form_of(name).words for name in ("application.yml", "Dockerfile", "streams.properties")]
    ['YAML', 'a Dockerfile', 'properties']
    """
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    form = next(form for form in _FORMS if re.fullmatch(form.pattern, base, re.DOTALL))
    return _XML if form is PROPERTIES and text.lstrip().startswith("<") else form
