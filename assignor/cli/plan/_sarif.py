"""``plan -o sarif``: the findings about an application as SARIF 2.1.0, which annotates a pull request.

From the plain values of ``plan --json``, as the runbook. Findings that concern nobody, or that cannot be told, are left
out.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from attrs import field, frozen

from streams_assignor.cli.plan.code_texts import remedy_text
from streams_assignor.formats.text import count, sanitize
from streams_assignor.upgrade.verdict import Verdict

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_ABOUT: Final = "https://kafka.apache.org/documentation/streams/upgrade-guide"
"""Kafka's guide, of which the plan is made for one application."""
_MOST_NAMED: Final = 20
_ERROR: Final = "error"
_WARNING: Final = "warning"
_NOTE: Final = "note"
_LANGUAGES: Final = frozenset({".java", ".kt", ".scala", ".groovy"})
_SETTINGS: Final[Mapping[str, tuple[str, str]]] = {
    "refused": (_ERROR, "a setting with which the new release does not start"),
    "required": (_ERROR, "a setting without which the new release does not start"),
    "needs a system property": (_WARNING, "a setting that needs a system property of Java"),
    "removed": (_WARNING, "a setting that the new release ignores"),
    "no effect": (_NOTE, "a setting that Kafka Streams overrides"),
    "deprecated": (_NOTE, "a setting that is deprecated"),
}
"""The level of each status that is reported, and what its rule is about."""
_SEVERITIES: Final[Mapping[str, str]] = {"stops": _ERROR, "loses": _ERROR, "waits": _WARNING, "changes": _NOTE}
_PLACE: Final = re.compile(r"(?P<file>.+?) line (?P<line>\d+)\b")


@frozen
class _Finding:
    """One result."""

    rule: str
    """Stays the same when texts change."""
    about: str
    level: str
    text: str
    file: str
    line: int = 1
    """GitHub asks for a line; of a class file, and of what is not set, it is the first."""
    class_name: str = ""
    fingerprint: tuple[str, ...] = field(default=())
    """The key that tells it apart from others of its rule, at any place."""

    def as_json(self, rules: list[str]) -> dict[str, Any]:
        """Return the result; ``rules`` are the ids of the rules in the order of the tool."""
        result: dict[str, Any] = {
            "ruleId": self.rule,
            "ruleIndex": rules.index(self.rule),
            "level": self.level,
            "message": {"text": sanitize(self.text)},
            "partialFingerprints": {"finding/v1": _digest((self.rule, *(self.fingerprint or (self.text,))))},
        }
        if self.file:
            artifact = {"uri": _uri(self.file)}
            location: dict[str, Any] = {
                "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": self.line}}
            }
            if self.class_name:
                location["logicalLocations"] = [{"fullyQualifiedName": sanitize(self.class_name), "kind": "type"}]
            result["locations"] = [location]
        return result


def sarif(plain: Mapping[str, Any], source_roots: Sequence[Path] = ()) -> str:
    r"""Return the findings of a plan.

    Args:
        plain: The object of ``plan --json`` for a Streams group.
        source_roots: Folders with the sources of the application's own classes; without them a finding about a class
            stands at the class file or jar.

    >>> json.loads(sarif({"from": "2.8.2", "to": "3.0.2", "verdict": "safe"}))["runs"][0]["results"]
    []
    """
    findings = list(dict.fromkeys(_findings(plain, _Sources(source_roots))))
    rules = {finding.rule: finding for finding in findings}
    ids = sorted(rules)
    driver = {
        "name": "streams-assignor",
        "informationUri": _ABOUT,
        "version": version("streams-assignor"),
        "rules": [_rule(rules[rule]) for rule in ids],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "streams-assignor/plan/"},
        "columnKind": "unicodeCodePoints",
        "results": [finding.as_json(ids) for finding in findings],
        "properties": {key: plain[key] for key in ("from", "to", "verdict")},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(finding: _Finding) -> dict[str, Any]:
    text = {"text": finding.about}
    return {"id": finding.rule, "shortDescription": text, "fullDescription": text, "help": text}


class _Sources:
    """The source files of an application."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._files: defaultdict[str, list[Path]] = defaultdict(list)
        for root in roots:
            for path in sorted(root.rglob("*")):
                if path.suffix in _LANGUAGES:
                    self._files[path.name].append(path)

    def find(self, class_name: str, file: str) -> str:
        """Return the source file of a class: that in the folder of its package, or the only one of this name."""
        package = class_name.rpartition(".")[0].replace(".", "/")
        paths = self._files[file]
        fitting = [path for path in paths if path.parent.as_posix().endswith(f"/{package}")] or paths
        return str(fitting[0]) if len(fitting) == 1 else ""


def _findings(plain: Mapping[str, Any], sources: _Sources) -> Iterator[_Finding]:
    file = _main_file(plain)
    for reason in plain.get("blocked", ()):
        yield _Finding("plan-blocked", "a step of the plan must not be made", _ERROR, reason, file)
    if plain["verdict"] == Verdict.UNKNOWN.value and (names := plain.get("undecided")):
        about = "hazards that can stop members or lose data, and that nothing rules out"
        text = f"not proven: {count(len(names), 'hazard')} not ruled out: {', '.join(names)}"
        yield _Finding("plan-not-proven", about, _WARNING, text, file)
    configuration = plain.get("configuration", {"file": "", "settings": ()})
    for setting in configuration["settings"]:
        if setting["status"] in _SETTINGS:
            yield _of_setting(setting, configuration["file"])
    yield from _of_defaults(configuration)
    yield from _of_protocol(plain, file)
    for problem in plain.get("missing", ()):
        yield from _of_code(problem, plain["application"]["paths"], sources)
    for library in plain.get("application", {}).get("raised", ()):
        yield _of_library(library, plain["application"]["paths"])
    yield from _of_compiler(plain.get("application"))
    for hazard in plain.get("hazards", ()):
        if hazard.get("concerns") == "yes" and not hazard["in_both"]:
            yield _of_hazard(hazard, configuration["file"], file)


def _of_protocol(plain: Mapping[str, Any], file: str) -> Iterator[_Finding]:
    """Yield what stands in the way of a change of the protocol, and the settings that have no effect afterwards."""
    for requirement in plain.get("requirements", ()):
        if requirement["status"] == "blocked":
            because = "; ".join(requirement["because"])
            text = f"expected: {requirement['condition']}; else {requirement['symptom']}; {because}"
            about = f"a change of the protocol needs: {requirement['condition']}"
            rule = f"protocol-{requirement['name']}"
            yield _Finding(rule, about, _ERROR, text, *_place(because, file), fingerprint=(requirement["name"],))
    for check in plain.get("preflight", ()):
        if check["level"] == "blocked":
            about = "the live group or its brokers block the change of the protocol"
            yield _Finding("protocol-live-group", about, _ERROR, check["text"], file, fingerprint=(check["name"],))
    about = "a setting that has no effect after the change of the protocol"
    for setting in plain.get("settings", ()):
        if setting["where"]:
            text = f"{setting['setting']}: {setting['group_configuration']} of the group replaces it"
            place = _place(setting["where"], file)
            yield _Finding("protocol-setting-moves", about, _NOTE, text, *place, fingerprint=(setting["setting"],))
    for setting in plain.get("ignored", ()):
        text = f"{setting['setting']}: nothing replaces it: {setting['consequence']}"
        place = _place(setting["where"], file)
        yield _Finding("protocol-setting-ignored", about, _WARNING, text, *place, fingerprint=(setting["setting"],))


def _place(text: str, file: str) -> tuple[str, int]:
    """Return the file and the line that a text names, else the file that stands for the application."""
    match = _PLACE.match(text)
    return (match["file"], int(match["line"])) if match else (file, 1)


def _main_file(plain: Mapping[str, Any]) -> str:
    """Return the file that stands for the application: its settings, else its code, else none."""
    paths: list[str] = plain.get("application", {}).get("paths", [])
    return str(plain.get("configuration", {}).get("file") or next(iter(paths), ""))


def _of_setting(setting: Mapping[str, Any], file: str) -> _Finding:
    level, about = _SETTINGS[setting["status"]]
    config = setting["config"]
    client = f" ({config})" if config not in {None, "streams"} else ""
    conditions = f" ({', '.join(setting['conditions'])})" if setting["conditions"] else ""
    text = f"{setting['key']}{client}{conditions}: {setting['text']}"
    rule = f"setting-{setting['status'].replace(' ', '-')}"
    fingerprint = (setting["key"], config or "", *setting["conditions"])
    return _Finding(rule, about, level, text, setting["file"] or file, setting["line"] or 1, fingerprint=fingerprint)


def _of_defaults(configuration: Mapping[str, Any]) -> Iterator[_Finding]:
    """Yield one note about all settings that are not set and have another default."""
    changed = [setting for setting in configuration["settings"] if setting["status"] == "default changed"]
    if changed:
        names = sorted({setting["key"] for setting in changed})
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        text = f"{count(len(names), 'setting')} with another default, not set: {', '.join(names[:_MOST_NAMED])}{more}"
        about = "settings that are not set and have another default"
        yield _Finding("setting-default-changed", about, _NOTE, text, configuration["file"], fingerprint=("defaults",))


def _of_code(problem: Mapping[str, Any], paths: list[str], sources: _Sources) -> Iterator[_Finding]:
    """Yield a finding for each line of an own class that refers to what is missing, or one for the class."""
    level = _ERROR if problem["new"] else _NOTE
    rule, about = f"code-{problem['error']}", f"code that raises {problem['error']} on the new release"
    remedy = remedy_text(problem)
    for referrer in problem["referred_by"]:
        if referrer["library"]:
            continue  # one finding for the library
        text = f"{problem['error']}: {problem['text']}: {problem['reason']}; {referrer['class']} refers to it"
        text = f"{text}; {remedy}" if remedy else text
        name = referrer["class"]
        artifact = _artifact(paths, f"{name.replace('.', '/')}.class")
        for number, place in enumerate(referrer.get("places") or [{"file": None, "line": None, "method": ""}]):
            source = sources.find(name, place["file"]) if place["file"] else ""
            where = (source, place["line"] or 1) if source else (artifact, 1)
            fingerprint = (problem["text"], name, place["method"], *([str(number)] if number else []))
            yield _Finding(rule, about, level, text, *where, name, fingerprint)


def _of_library(library: Mapping[str, Any], paths: list[str]) -> _Finding:
    name = f"{library['library']} {library['version'] or ''}".rstrip()
    lacks = library["lacks"]
    text = f"{name}: {count(len(lacks), 'reference')} that the new release lacks, such as {lacks[0]}; {library['text']}"
    jar = _artifact(paths, f"{library['library']}-{library['version']}.jar")
    about = "a library that refers to what the new release lacks"
    return _Finding("library-to-raise", about, _ERROR, text, jar, fingerprint=(library["library"],))


def _of_compiler(application: Mapping[str, Any] | None) -> Iterator[_Finding]:
    """Yield one note: linkage is not all that a compiler checks."""
    if application:
        known = application["refused_by_compilers"]
        text = "linkage only: the compiler may refuse more" + (f", such as {'; '.join(known)}" if known else "")
        about = "what only a compiler checks"
        yield _Finding("linkage-only", about, _NOTE, text, application["paths"][0], fingerprint=("compiler",))


def _artifact(paths: list[str], name: str) -> str:
    """Return the jar or the class file of this name, where it is a file; else the first path that was named."""
    files = (Path(path) / name for path in paths)
    return next((str(file) for file in files if file.is_file()), paths[0])


def _of_hazard(hazard: Mapping[str, Any], settings: str, file: str) -> _Finding:
    places = (_PLACE.match(text) for text in hazard["because"])
    match = next((place for place in places if place and place["file"] == settings), None)
    why = f"; {'; '.join(hazard['because'])}" if hazard["because"] else ""
    text = f"{hazard['applies_to']}: {hazard['symptom']}; remedy: {hazard['remedy']}{why}"
    return _Finding(
        f"hazard-{hazard['name']}",
        f"{hazard['applies_to']}: {hazard['symptom']}",
        _SEVERITIES[hazard["severity"]],
        text,
        file,
        int(match["line"]) if match else 1,
        fingerprint=(hazard["name"],),
    )


def _uri(path: str) -> str:
    """Return a path as a relative reference, or as a URI if it is not below the working directory.

    >>> _uri("src/main resources/a.yml"), _uri("/no/such")
    ('src/main%20resources/a.yml', 'file:///no/such')
    """
    location = Path(path)
    if location.is_absolute():
        if not location.is_relative_to(Path.cwd()):
            return location.as_uri()
        location = location.relative_to(Path.cwd())
    return quote(location.as_posix())


def _digest(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()
