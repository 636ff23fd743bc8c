"""Write what was derived of a release into the tables, and list what a person has to review."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import BOOTSTRAPS, CATALOGS
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES
from tests.lab.releases.derive import Derivation
from tests.lab.releases.facts import row_source
from tests.lab.releases.levels import JarLevels, level_differences, parse_levels

ROOT: Final = Path(__file__).parents[3]
RELEASES_FILE: Final = Path("upgrade/releases.py")
BEHAVIOUR_FILE: Final = Path("upgrade/release_behaviour.py")
LEVELS_FILE: Final = Path("upgrade/cluster/features/levels_of_releases.py")
STORED_LEVELS: Final = Path("tests/vectors/features/levels_of_releases.json")
TABLES: Final = (RELEASES_FILE, BEHAVIOUR_FILE, LEVELS_FILE, STORED_LEVELS)


class Misplaced(Exception):
    """A table does not look as expected, so nothing can be inserted."""


def adopt(found: Derivation, levels: list[str], root: Path = ROOT) -> None:
    """Extend the tables below ``root`` by a release; ``levels`` are the lines of ``FeatureLevels.java``.

    Raises:
        Misplaced: The place in a table was not found; the tables before it are changed.
    """
    if found.release not in RELEASES:
        _edit(root / RELEASES_FILE, with_release, found.release)
    if found.differences:
        _edit(root / BEHAVIOUR_FILE, with_row, row_source(found.release, found.row))
    _edit(root / LEVELS_FILE, with_levels, found.release, levels)
    stored = json.loads((root / STORED_LEVELS).read_text())
    line = found.release.rpartition(".")[0]
    kept = {name: rows for name, rows in stored.items() if name.rpartition(".")[0] != line}
    kept[found.release] = [row for row in levels if " test." not in row and " unit.test." not in row]
    (root / STORED_LEVELS).write_text(json.dumps(kept, indent=0) + "\n")
    python = [str(root / each) for each in TABLES if each.suffix == ".py"]
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *python], check=True, timeout=60)


def _edit(path: Path, change: object, *arguments: object) -> None:
    path.write_text(change(path.read_text(), *arguments))  # type: ignore[operator]  # one of the functions below


def with_release(source: str, release: str) -> str:
    """Extend ``_KAFKA_RELEASES``: the row of the line, or a new one after the last.

    >>> with_release('    *("4.2.0-2", "4.3.0"),\\n)', "4.3.1"), with_release('    *("4.3.0-1"),\\n)', "4.4.0")
    ('    *("4.2.0-2", "4.3.0-1"),\\n)', '    *("4.3.0-1", "4.4.0"),\\n)')
    """
    line, _, patch = release.rpartition(".")
    if patch != "0":
        return _replaced(source, rf'"{re.escape(line)}\.0(-\d+)?"', f'"{line}.0-{patch}"')
    return _replaced(source, r'("[0-9.]+\.0(?:-\d+)?")(\),\n\))', rf'\1, "{release}"\2')


def with_row(source: str, row: str) -> str:
    """Append an entry to ``_CHANGES``.

    >>> with_row('    ((4, 3), {}),\\n)\\n\\n_KAFKA_6054_FIX', "((4, 4, 0), {'accepts': ('4.3',)}),")
    "    ((4, 3), {}),\\n    ((4, 4), {'accepts': ('4.3',)}),\\n)\\n\\n_KAFKA_6054_FIX"
    """
    line = re.sub(r"^\(\((\d+), (\d+), 0\), ", r"((\1, \2), ", row)
    return _replaced(source, r"(\n\)\n\n_KAFKA_6054_FIX)", rf"\n    {line}\1")


def with_levels(source: str, release: str, lines: list[str]) -> str:
    """Replace the row of a line in ``_LINES``, or append one, and append new released levels of metadata.version."""
    jars = parse_levels(lines)
    line = release.rpartition(".")[0]
    if line in CATALOGS and not level_differences(jars, CATALOGS[line]):
        return source.replace(f'"{CATALOGS[line].release}": (', f'"{release}": (')
    others = {name: highest for name, (_, highest) in jars.supported.items() if name != METADATA_VERSION}
    unreleased = tuple((number, name, changed) for number, name, changed, released in jars.metadata if not released)
    row = f'    "{release}": ({jars.supported[METADATA_VERSION][1]}, {others}, {unreleased}),'
    if line in CATALOGS:
        source = _replaced(source, rf'    "{re.escape(CATALOGS[line].release)}": \(.*\),', row)
    else:
        source = _replaced(source, r'(\n\}\n"""The newest release of each line)', rf"\n{row}\1")
    released_rows = source.partition("_RELEASED_METADATA_LEVELS")[2].partition('"""The released levels')[0]
    for number, name, changed, released in jars.metadata:
        if released and f'({number}, "{name}", ' not in released_rows:
            new = f'    ({number}, "{name}", {changed}),\n'
            source = _replaced(source, r'(\)\n"""The released levels of metadata)', rf"{new}\1")
    for name, theirs in _bootstraps(jars).items():
        known = BOOTSTRAPS.get(name, ())
        if len(theirs) > len(known) and theirs[: len(known)] == known:
            row = f'    "{name}": {theirs},'
            pattern = rf'    "{re.escape(name)}": \(.*\),' if known else r'(?<=\n)(?=\}\n"""The other features)'
            source = _replaced(source, pattern, row if known else f"{row}\n")
    return source


def _bootstraps(jars: JarLevels) -> dict[str, tuple[int, ...]]:
    return {
        name: tuple(each for level, each in sorted(found.items()) if 0 < level <= jars.supported[name][1])
        for name, found in jars.bootstraps.items()
    }


def _replaced(source: str, pattern: str, replacement: str) -> str:
    changed, count = re.subn(pattern, replacement, source, count=1)
    if not count:
        raise Misplaced(f"expected a text that matches {pattern!r} in the table")
    return changed


def review(found: Derivation, levels: list[str]) -> Iterator[str]:
    """Say what is left for a person after the tables were extended."""
    line = found.release.rpartition(".")[0]
    jars = parse_levels(levels)
    if found.changes:
        yield f"read the {len(found.changes)} classes above: does a rule, an assignor or the codec change?"
    if found.codec.unlike_ours or found.codec.newly:
        yield "decide about the vectors above that have another outcome"
    for name, theirs in _bootstraps(jars).items():
        known = BOOTSTRAPS.get(name, ())
        common = min(len(known), len(theirs))
        if known[:common] != theirs[:common]:
            yield f"{LEVELS_FILE}: BOOTSTRAPS of {name} is {theirs} in the jars"
        if not known:
            yield f"{name} is new: upgrade/cluster/brokers/kraft.py, _USERS"
    if line not in NEWEST_OF_LINE:
        yield f"read Kafka's upgrade guide of Streams for {line}: rows of upgrade/hazards/_table.py"
        yield f"read the upgrade notes of the brokers for {line}: rows of upgrade/cluster/brokers/_upgrade_notes.py"
        yield "upgrade/release_names.py, if Confluent Platform has a line with it"
    yield "python -m tests.lab.releases tool"
    yield f"python -m tests.lab.releases derive {found.release} --bounce --captures tests/captures"
    yield "streams-assignor sweep --matrix all --out DIR; python docs/upgrade_matrix.py DIR; python docs/tables.py"
    yield "a fragment in docs/changelog.d/, then the tests"
