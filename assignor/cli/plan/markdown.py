"""``plan -o markdown``: a plan as a runbook with check boxes, from the plain values of ``plan --json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streams_assignor.cli.plan.code_texts import remedy_text
from streams_assignor.formats.page import json_block, page_parts
from streams_assignor.formats.text import as_markdown, as_markdown_code, count, sanitize, without_controls

_CODE: Final = "commands"
_STEP_FACTS: Final = {"why": "why", "if_skipped": "if skipped", "source": "source"}


def runbook(plain: Mapping[str, Any]) -> str:
    """Return the runbook of a plan; ``plain`` is what ``plan --json`` prints, for a group or for brokers.

    >>> step = {"do": "bounce it", "why": "it is old", "if_skipped": "it stays old"}
    >>> plain = {"from": "2.8.2", "to": "3.0.2", "headline": "2.8.2 to 3.0.2: safe", "steps": [step]}
    >>> runbook(plain).splitlines()[2:5]
    ['2.8.2 to 3.0.2: safe', '', '- [ ] **1.** bounce it']
    """
    return "\n".join(_lines(_escaped(plain))).rstrip()


def plan_title(plain: Mapping[str, Any]) -> str:
    """Name the releases of a plan; that of plain consumers has none."""
    return f"Upgrade from {plain['from']} to {plain['to']}" if plain["from"] else "Change of a group of plain consumers"


def _escaped(value: Any, key: str = "") -> Any:
    """Return plain values whose texts are Markdown: names of files, settings and members are anybody's."""
    if isinstance(value, str):
        return as_markdown_code(value) if key == _CODE else as_markdown(value)
    if isinstance(value, Mapping):
        return {name: _escaped(inner, name) for name, inner in value.items()}
    return [_escaped(inner, key) for inner in value] if isinstance(value, (list, tuple)) else value


def _lines(plain: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {plan_title(plain)}{_protocols(plain)}"
    yield ""
    yield from (plain["headline"], "")
    yield from _list(
        "Settle before the first step",
        (sanitize(f"- [ ] {reason}") for key in ("blocked", "reasons") for reason in plain.get(key, ())),
    )
    yield from _before(plain)
    yield from _list("Libraries to raise", map(_raised, plain.get("application", {}).get("raised", ())))
    yield from _list("Lines to change", _lines_to_change(plain.get("missing", ())))
    yield from _list("Linkage only: the compiler may refuse more", _refused(plain.get("application")))
    yield from _list("Settings to change", _settings(plain.get("configuration", {}).get("settings", ())))
    for number, step in enumerate(plain["steps"], 1):
        yield f"- [ ] **{number}.** {step['do']}"
        yield from (f"  - run: {command}" for command in step.get(_CODE, ()))
        yield from (f"  - {label}: {step[key]}" for key, label in _STEP_FACTS.items() if step.get(key))
        if back := step.get("way_back"):
            yield f"  - way back: {back['verdict']}: {back['how']}"
    if plain.get("alternative"):
        yield from ("", plain["alternative"])
    yield from _section("Settings of the members", _settings_of_protocol(plain))
    yield from _section("What survives", map(_survival, plain.get("survives", ())))
    yield from _section("The live group", _live_group(plain.get("live_group")))
    yield from _hazards(plain)
    notes = [note for key in ("patch_levels", "notes", "warnings") for note in plain.get(key, ())]
    yield from _section("Notes", (f"- {note}" for note in notes))
    yield from _section("Checked", (f"- {item}" for item in plain.get("checked", ())))
    yield from _section("Not checked", (f"- [ ] {item}" for item in plain.get("not_checked", ())))


def _hazards(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield the hazards, or with the files of an application three sections of them."""
    hazards = plain.get("hazards", ())
    if "concerns" not in plain:
        yield from _section("Hazards beyond the metadata", map(_hazard, hazards))
        return
    new = [hazard for hazard in hazards if not hazard["in_both"]]
    split = {answer: [hazard for hazard in new if hazard["concerns"] == answer] for answer in plain["concerns"]}
    yield from _section("Hazards that concern you", (_judged(hazard, "shown by", "because") for hazard in split["yes"]))
    unknown = (_judged(hazard, "decided by", "decided_by") for hazard in split["unknown"])
    yield from _section("Hazards of which the files cannot tell", unknown)
    no = (sanitize(f"- {hazard['applies_to']}: {'; '.join(hazard['because'])}") for hazard in split["no"])
    yield from _section("Hazards that do not concern you", no)
    of_both = (hazard for hazard in hazards if hazard["in_both"] and hazard["concerns"] != "no")
    yield from _section("Known bugs of both releases", map(_hazard, of_both))


def _judged(hazard: Mapping[str, Any], label: str, key: str) -> str:
    first, *lines = _hazard(hazard).splitlines()
    return "\n".join((first, sanitize(f"  - {label}: {'; '.join(hazard[key])}"), *lines))


def _protocols(plain: Mapping[str, Any]) -> str:
    """Name the protocols of a plan that changes them."""
    return f", {plain['from_protocol']} to {plain['to_protocol']} protocol" if "to_protocol" in plain else ""


def _before(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield what must hold before a change of the protocol, and what was seen of the live group."""
    required = plain.get("requirements", ())
    yield from _list("What must hold", map(_need, required))
    yield from _list("The live group", (f"- {check['level']}: {check['text']}" for check in plain.get("preflight", ())))


def _live_group(group: Mapping[str, Any] | None) -> Iterator[str]:
    if group is None:
        return
    yield sanitize(
        f"- group {group['group']}: {group['type']}, {group['state']}; {count(len(group['members']), 'member')}"
    )
    for member in group["members"]:
        static = f", static {member['group_instance_id']}" if member["group_instance_id"] else ""
        release = member["releases"] or f"release cannot be told: {member['problem']}"
        yield sanitize(f"- member {member['label']}: {release}{static}")
    yield from (
        sanitize(f"- broker {broker['broker']}: {broker['release'] or 'release not known'}")
        for broker in group["brokers"]
    )


def _settings(findings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each finding that is not fine; what several clients have in common is one."""
    clients: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding["status"] != "fine":
            line = (f"line {finding['line']}",) if finding["line"] is not None else ()
            place = ", ".join((*line, *finding["conditions"]))
            clients.setdefault(
                (f"{finding['status']}: {place and f'{place}: '}{finding['key']}", finding["text"]), []
            ).append(finding["config"])
    for (what, text), configs in clients.items():
        names = ", ".join(config for config in configs if config not in {None, "streams"})
        yield sanitize(f"- [ ] {what}{names and f' ({names})'}: {text}")


def _raised(library: Mapping[str, Any]) -> str:
    lacks = library["lacks"]
    return sanitize(f"- [ ] {library['text']}: {count(len(lacks), 'reference')} that TO lacks, such as {lacks[0]}")


def _refused(application: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what is known of it, or that nothing is."""
    if application:
        for text in application["refused_by_compilers"] or ["build with the new release to see"]:
            yield sanitize(f"- [ ] {text}")


def _lines_to_change(problems: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what own classes refer to and the release lacks, with each line and what to call instead."""
    for problem in problems:
        own = [referrer for referrer in problem["referred_by"] if not referrer["library"]]
        if own:
            since = "" if problem["new"] else "; missing in FROM, too"
            where = ", ".join(place for referrer in own for place in _places(referrer))
            yield sanitize(f"- [ ] {problem['error']}: {problem['text']}: {problem['reason']}{since}; {where}")
            if remedy := remedy_text(problem):
                yield sanitize(f"  - {remedy}")


def _places(referrer: Mapping[str, Any]) -> list[str]:
    """Return the lines of a class; the class alone if the compiler left its lines out."""
    return [
        f"{place['class']}, {place['method']} ({place['file']} line {place['line']})"
        for place in referrer.get("places", ())
        if place["file"] and place["line"]
    ] or [referrer["class"]]


def _need(requirement: Mapping[str, Any]) -> str:
    because = "; ".join(requirement["because"])
    if requirement["status"] == "met":
        return sanitize(f"- [x] {requirement['condition']}{because and f' ({because})'}")
    open_by = "; ".join(filter(None, (because, *requirement["decided_by"])))
    shown = f"shown by: {because}" if requirement["status"] == "blocked" else f"decided by: {open_by}"
    first = f"- [ ] {requirement['status']}: {requirement['condition']}; else {requirement['symptom']}"
    return "\n".join(map(sanitize, (first, f"  - {shown}", f"  - remedy: {requirement['remedy']}")))


def _settings_of_protocol(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield what becomes of the settings that a change of the protocol makes ineffective."""
    for setting in plain.get("settings", ()):
        value = "its value" if setting["applied"] is None else setting["applied"]
        place = setting["where"] and f" ({setting['where']})"
        yield sanitize(f"- {setting['setting']}{place or ''}: {setting['group_configuration']}={value} replaces it")
    for setting in plain.get("removed", ()):
        yield sanitize(f"- [ ] remove {setting['setting']} ({setting['where']}): {setting['consequence']}")
    for setting in plain.get("ignored", ()):
        yield sanitize(f"- {setting['setting']} ({setting['where']}): nothing replaces it: {setting['consequence']}")


def _survival(row: Mapping[str, Any]) -> str:
    return f"- {row['what']}: {'yes' if row['survives'] else 'no'}: {row['how']} ({row['evidence']})"


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a titled list before the steps, or nothing if it is empty."""
    if items := list(lines):
        yield from (f"{title}:", "", *items, "")


def _hazard(hazard: Mapping[str, Any]) -> str:
    return (
        f"- [ ] {hazard['applies_to']}: {hazard['symptom']}\n  - severity: {hazard['severity']}\n"
        f"  - remedy: {hazard['remedy']}\n  - source: {hazard['source']}; {hazard['evidence']}"
    )


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a section, or nothing if it has no lines."""
    if items := list(lines):
        yield from ("", f"## {title}", "", *items)


# -- the page ----------------------------------------------------------------------------------------------------------


_SCRIPT: Final = """import { fill, pageData } from "./dom.mjs";
import { planParts, showHazard } from "./plan.mjs";
fill(planParts(pageData()));
const show = () => showHazard(location.hash.replace("#hazard-", ""));
addEventListener("hashchange", show);
show();
"""


def plan_page(plain: Mapping[str, Any]) -> str:
    """Return the page of a plan, for a group or for brokers; it has the runbook and the JSON as well."""
    data = {"stdout": json.dumps(plain, indent=2, ensure_ascii=False), "stderr": "", "runbook": runbook(plain)}
    parts = page_parts(
        "Upgrade plan",
        _SCRIPT,
        [json_block("data", data)],
        heading=without_controls(plan_title(plain)),
        lead="What is checked here stays in this window, and is sent nowhere.",
        origin="Made by streams-assignor plan.",
    )
    return "".join(parts).rstrip()
