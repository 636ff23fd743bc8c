"""Tables and diagrams that stand in the pages but come from the code: `python docs/tables.py` writes them anew.

They are checked in, because code hosts show the pages too, and `tests/test_docs.py` fails when one is stale.  A block
is what stands between ``<!-- from the code: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Any, Final

import click
from attrs import evolve, fields

from assignor.cli import cli
from assignor.eras import ERAS
from assignor.member_process import KINDS
from probing.diagram import mermaid
from probing.events import Content, MemberState, Verdict
from probing.follow_up import Reason
from probing.rules import BY_NAME, G0, KIP_268, TODAY, RuleSet, Speaks, Transitions
from spark_sim import guide_page, schema
from spark_sim.known import history
from subscription_codec import consumer_protocol, layout, quirks
from subscription_codec._lists import List
from subscription_codec._wire import Array, Struct
from upgrade.features.dialects import DIALECTS, POINTS, Code
from upgrade.matrix import FROM_LINES, TO_LINES, Plan, cells, documented_plan, upgrade_from_value
from upgrade.releases import PINNED_VERSIONS, RELEASES, Release, release_named

DOCS: Final = Path(__file__).parent
PACKAGES: Final = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")
NOT_THERE: Final = "–"
FEATURE_TESTS: Final = ("tests/upgrade", "tests/integration", "tests/assignor", "tests/spark_sim")
PARTS_BESIDE_JAVA: Final = ("topologies", "upgrades", "eager", "future")
_NAMED_BY_ROW: Final = re.compile(r"def test_([a-z])(\d+)_(\w+)")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def layouts(versions: Mapping[int, layout.Layout]) -> str:
    """Show a message: a row per field and type, a column per version with the field's place on the wire."""
    places = {
        version: {(field.kafka_name, field.wire.name): place for place, field in enumerate(row, 1)}
        for version, row in versions.items()
    }
    known = {(field.kafka_name, field.wire.name): field.name for row in versions.values() for field in row}
    rows = [
        [f"`{name}`", f"`{ours}`", wire, *(found.get((name, wire), NOT_THERE) for found in places.values())]
        for (name, wire), ours in known.items()
    ]
    return table(("field", "in Python", "type", *(f"v{version}" for version in versions)), rows)


def types() -> str:
    """List the structures that fields are made of."""
    found: dict[str, Struct[Any]] = {}

    def collect(wire: Any) -> None:
        if isinstance(wire, List):
            collect(wire.inner)
        elif isinstance(wire, Array):
            collect(wire.item)
        elif isinstance(wire, Struct):
            found[wire.name] = wire
            for _, member in wire.members:
                collect(member)

    for versions in (layout.SUBSCRIPTION, layout.ASSIGNMENT, consumer_protocol.SUBSCRIPTION):
        for row in versions.values():
            for field in row:
                collect(field.wire)
    rows = [
        (f"`{name}`", ", ".join(f"`{member}` {wire.name}" for member, wire in struct.members))
        for name, struct in found.items()
    ]
    return table(("structure", "is"), rows)


def quirk_rows() -> str:
    """List what single releases write that their version does not say."""
    rows = [(f"{_number(each.first)} up to, not including, {_number(each.until)}", each.what) for each in quirks.QUIRKS]
    return table(("releases", "quirk"), rows)


def _number(release: Iterable[int]) -> str:
    return ".".join(map(str, release))


def leaders() -> str:
    """Show how the leader of each generation answers."""
    rows = []
    for rules in BY_NAME.values():
        leader = rules.leader
        while_probing = (leader.version_for_future, leader.content_for_future, leader.others_while_probing)
        probing = map(word, while_probing) if leader.reads_future else ["dies"] * len(while_probing)
        rows.append((f"`{rules.name}`", rules.source, word(leader.version), word(leader.supported), *probing))
    probing_head = ("used, to the future", "content, to the future", "content, to the others")
    return table(("rules", "where", "used", "supported", *probing_head), rows)


def words(enum: Iterable[Any]) -> str:
    """Say what the members of an enumeration mean."""
    return table(("word", "means"), [(word(member), member.value) for member in enum])


def word(member: Any) -> str:
    """Write an enumeration's member as prose does."""
    return str(member.name).lower().replace("_", " ")


def members() -> str:
    """Show every transition of every generation; the same cell in two columns means the same behaviour."""
    columns: dict[str, Transitions] = {"before 2.0": G0.member.transitions}
    columns |= {f"`{rules.name}`": rules.member.transitions for rules in BY_NAME.values() if rules.leader.reads_future}
    rows = [
        [word(state), word(verdict), *(_cell(column, state, verdict) for column in columns.values())]
        for state, verdict in product(MemberState, Verdict)
        if any((state, verdict) in column for column in columns.values())
    ]
    return table(("state", "answer", *columns), rows)


def _cell(transitions: Transitions, state: MemberState, verdict: Verdict) -> str:
    if (state, verdict) not in transitions:
        return "dies"
    after, actions = transitions[state, verdict]
    moved = "" if after is state else f" → {word(after)}"
    return ", ".join(map(word, actions)) + moved


def diagram(rules: RuleSet) -> str:
    """Draw a member's states."""
    return f"```mermaid\n{mermaid(rules)}\n```"


def releases() -> str:
    """List the releases; neighbours that behave alike share a row."""

    def alike(release: Release) -> object:
        return release.line, evolve(release, name="")

    rows = []
    for _, group in groupby(RELEASES.values(), key=alike):
        found = list(group)
        first, last = found[0], found[-1]
        names = f"`{first}`" if first is last else f"`{first}` to `{last}`"
        protocols = " or ".join(reversed(first.rebalance_protocols))
        about = (first.latest_version, f"`{first.rules}`", protocols, first.task_assignor)
        rows.append((names, *about, _accepted(first.upgrade_from), first.note))
    head = ("release", "latest version", "rules", "protocol", "task assignor", "`upgrade.from`", "note")
    return table(head, rows)


def _accepted(values: Sequence[str]) -> str:
    """Name the first and the last: there are no gaps."""
    if not values:
        return "not known, ignored"
    return " to ".join(f"`{value}`" for value in dict.fromkeys((values[0], values[-1])))


def pinned() -> str:
    """Show which version each value of ``upgrade.from`` makes a member send."""
    rows = [(f"`{value}`", version) for value, version in PINNED_VERSIONS.items()]
    return table(("`upgrade.from`", "version sent"), rows)


def matrix() -> str:
    """Show the documented plan for each of the KIP's 28 cells."""
    found = {(origin.line, target.name): _plan(origin, target) for origin, target in cells()}
    targets = {line: next(name for _, name in found if release_named(name).line == line) for line in TO_LINES}
    rows = [[f"**{line}**", *(found.get((line, targets[to]), "") for to in TO_LINES)] for line in FROM_LINES]
    return table(("from \\ to", *TO_LINES), rows)


def _plan(origin: Release, target: Release) -> str:
    if documented_plan(origin, target) is Plan.TWO_BOUNCES:
        return f"2, `{upgrade_from_value(origin, target)}`"
    return "1, probing" if origin.latest_version < target.latest_version else "1"


def eras() -> str:
    """Say what each era does with tasks, only what has changed since the one before."""
    rows, before = [], None
    for era in ERAS:
        said = (
            f"consumer protocol {era.envelope}" + (", cooperative" if era.cooperates else ", eager"),
            f"below version 7 a member names its tasks: {era.names.value}",
            "stateless tasks have standbys too" if era.standbys_without_state else "standbys of stateful tasks only",
            "balanced by lag" if era.balances else "sticky",
            f"dealt to members `{era.deal.__name__}`",
            f"a standby of a task that is withheld: {era.interim.value}",
        )
        changes = said if before is None else [each for each in said if each not in before]
        rows.append((_number(era.since), "; ".join(changes)))
        before = said
    return table(("from", "what"), rows)


def events() -> str:
    """List what a member process prints."""
    rows = []
    for kind, event in KINDS.items():
        keys = [f"`{attribute.metadata.get('key', attribute.name)}`" for attribute in fields(event)]
        rows.append((f"`{kind}`", ", ".join(keys), (event.__doc__ or "").partition("\n")[0]))
    return table(("`event`", "further keys", "means"), rows)


def options(*path: str) -> str:
    """List the options of a command."""
    command: Any = cli
    for name in path:
        command = command.get_command(click.Context(command), name)
    found = [each for each in command.params if isinstance(each, click.Option)]
    rows = [(f"`{', '.join(each.opts)}`", _default(each), each.help or "") for each in found]
    return table(("option", "default", ""), rows)


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    return f"`{option.default}`" if option.show_default else ""


def dialects() -> str:
    """Show what the dialects of the feature system differ in."""
    rows = [
        (rows, what, *(_said(getattr(dialect, point)) for dialect in DIALECTS))
        for point, (rows, what) in POINTS.items()
    ]
    return table(("row", "point", *(dialect.name for dialect in DIALECTS)), rows)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Code):
        return f"{value.name} {value.value or '(no number)'}"
    if isinstance(value, Mapping):
        return ", ".join(f"{code} {word(kind)}" for code, kind in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(getattr(value, "value", value))


def requirements() -> str:
    """List the tests of each row of the requirements; a test's name begins with its row."""
    found: dict[tuple[str, int], list[str]] = {}
    for path in sorted(path for folder in FEATURE_TESTS for path in (DOCS.parent / folder).rglob("test_*.py")):
        link = path.relative_to(DOCS.parent).as_posix()
        for letter, number, name in _NAMED_BY_ROW.findall(path.read_text(encoding="utf-8")):
            test = f"[{name.replace('_', ' ')}](../../{link})"
            found.setdefault((letter.upper(), int(number)), []).append(test)
    rows = [(f"{letter}{number}", "<br>".join(found[letter, number])) for letter, number in sorted(found)]
    return table(("row", "tests"), rows)


def file_map() -> str:
    """List the files of the packages with the first sentence of each."""
    rows = []
    for package in PACKAGES:
        for path in sorted((DOCS.parent / package).rglob("*.py")):
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            if said:
                name = path.relative_to(DOCS.parent).as_posix()
                rows.append((f"[`{name}`](../{name})", " ".join(said.partition("\n\n")[0].split())))
    return table(("file", "what"), rows)


def beside_every_release() -> str:
    """Show what came of the runs beside each release; a run may be there for two brokers."""
    kept = [found for found in _runs() if found["part"] == "every release"]
    brokers = list(dict.fromkeys(found["column"] for found in kept))
    by_release: dict[str, dict[str, Any]] = {}
    for found in kept:
        by_release.setdefault(found["row"], {})[found["column"]] = found
    rows = []
    for release, runs in by_release.items():
        first = next(iter(runs.values()))
        setting = re.search(r"python\S*(upgrade\.from=[0-9.]+)", first["line"])
        ours = (f"`{setting[1]}`" if setting else "", _sent(first, "java"), _sent(first, "python"))
        rows.append((release, *ours, first["generations"], *(_both_roles(runs.get(broker)) for broker in brokers)))
    return table(("Kafka Streams", "ours with", "Java sent", "ours sent", "generations", *brokers), rows)


def _both_roles(found: Mapping[str, Any] | None) -> str:
    """Say who led whenever both were there, and how many tasks Java and ours had."""
    if found is None:
        return NOT_THERE
    if found["outcome"]:
        return f"**fails**: {found['outcome']}"
    steps = zip(found["leaders"], found["owned"], strict=True)
    told = [f"{_side(leader)} {tasks['java']} + {tasks['python']}" for leader, tasks in steps if len(tasks) > 1]
    return "; ".join(told)


def _side(name: str) -> str:
    return "ours" if name.startswith("python") else "Java"


def beside_java(part: str) -> str:
    """Show what came of the other runs of a part."""
    rows = []
    for found in (found for found in _runs() if found["part"] == part):
        names = found["sent"]
        java, ours = (sorted(name for name in names if name.startswith(kind)) for kind in ("java", "python"))
        sent = ("<br>".join(_sent(found, name) for name in group) for group in (java, ours))
        led = map(_side, found["leaders"])
        leaders = ", ".join(f"{name} {len(list(steps))}" for name, steps in groupby(led))
        outcome = f"**fails**: {found['outcome'][:115]}" if found["outcome"] else "all well"
        records = f"{found['records']}, {found['by_python']}"
        rows.append((found["row"], found["column"], *sent, leaders, found["generations"], records, outcome))
    versions = ("Java sent", "ours sent")
    return table(("what", "run", *versions, "steps led", "generations", "records, by ours", "outcome"), rows)


def _runs() -> list[dict[str, Any]]:
    """Return what the runs beside Java have left."""
    return list(json.loads((DOCS / "reference" / "java-peers.json").read_text(encoding="utf-8")).values())


def _sent(found: Mapping[str, Any], name: str) -> str:
    """List the versions that a member sent, one after the other: used/supported as far as it says so."""
    return ", ".join(found["sent"].get(name, []))


def kept_matrix() -> dict[str, Any]:
    """Read what was kept of the sweep over all releases."""
    kept: dict[str, Any] = json.loads((DOCS / "reference" / "upgrade-matrix.json").read_text(encoding="utf-8"))
    return kept


def upgrade_matrix() -> str:
    """Show the least safe way from every release to every other."""
    return table(*guide_page.matrix_rows(kept_matrix()))


def broken_by_one_bounce() -> str:
    """Show what single bounces without configuration break."""
    rows = [(each["property"], each["pairs"], f"`{each['example']}`") for each in kept_matrix()["broken"]]
    return table(("property", "pairs", "shortest example"), rows)


def differences_from_guides() -> str:
    """Show where the sweep says something else than Kafka's guides, and why."""
    head = ("pairs", "from", "to", "for example", "documented", "derived", "why")
    return table(head, guide_page.difference_rows(kept_matrix()))


def extent_of_matrix() -> str:
    """Say how much was explored."""
    kept = kept_matrix()
    faults = ", ".join(f"{name} {value}" for name, value in kept["faults"].items() if name != "patient")
    operator = "patient" if kept["faults"]["patient"] else "impatient"
    rows = [
        ("releases, pairs", f"{len(kept['releases'])}, {len(kept['releases']) * (len(kept['releases']) - 1):,}"),
        ("upgrades (a pair and a plan)", f"{kept['upgrades']:,}"),
        ("members; most faults in a schedule; operator", f"{kept['members']}; {faults}; {operator}"),
        ("states, transitions, of all upgrades", f"{kept['states']:,}, {kept['transitions']:,}"),
        ("schedules, of all upgrades", kept["schedules"]),
    ]
    return table(("", ""), rows)


def kafka_bugs() -> str:
    """Show where Kafka's bugs were found again, and where not."""
    kept = json.loads((DOCS / "reference" / "kafka-bugs.json").read_text(encoding="utf-8"))
    return table(history.HEAD, history.rows(kept))


COMMANDS: Final = (
    *("userdata decode", "userdata explain", "assign", "plan"),
    *("replay", "sweep", "report", "member", "bounce"),
)
"""Commands whose options are listed; the others have the same ones."""

BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "subscription": lambda: layouts(layout.SUBSCRIPTION),
    "assignment": lambda: layouts(layout.ASSIGNMENT),
    "consumer protocol subscription": lambda: layouts(consumer_protocol.SUBSCRIPTION),
    "consumer protocol assignment": lambda: layouts(consumer_protocol.ASSIGNMENT),
    "types": types,
    "quirks": quirk_rows,
    "leaders": leaders,
    "numbers": lambda: words(Speaks),
    "contents": lambda: words(Content),
    "states": lambda: words(MemberState),
    "verdicts": lambda: words(Verdict),
    "members": members,
    "diagram of today": lambda: diagram(TODAY),
    "diagram of kip-268": lambda: diagram(KIP_268),
    "releases": releases,
    "pinned versions": pinned,
    "matrix": matrix,
    "columns": schema.markdown,
    "events": events,
    "eras": eras,
    "follow-ups": lambda: words(Reason),
    "dialects": dialects,
    "requirements": requirements,
    "beside every release": beside_every_release,
    **{f"beside Java: {part}": partial(beside_java, part) for part in PARTS_BESIDE_JAVA},
    "upgrade matrix": upgrade_matrix,
    "what one bounce breaks": broken_by_one_bounce,
    "differences from the guides": differences_from_guides,
    "extent of the matrix": extent_of_matrix,
    "kafka bugs": kafka_bugs,
    "file map": file_map,
    **{f"options of {command}": partial(options, *command.split()) for command in COMMANDS},
}
_BLOCK: Final = re.compile(r"(<!-- from the code: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fresh(page: str) -> str:
    """Return a page with all its blocks written anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n\n{found[3]}", page)


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        path.write_text(fresh(text), encoding="utf-8")
