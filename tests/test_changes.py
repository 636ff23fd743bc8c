"""The list of changes in CONTRIBUTING names files that are there, and tables that these files define."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = re.findall(
    r"^\| (.+?) \| (.+) \|$",
    (ROOT / "CONTRIBUTING.md")
    .read_text()
    .partition("Twelve changes")[2]
    .partition("\n\n\n")[0]
    .partition("\nA bug")[0],
    re.MULTILINE,
)[1:]
FILES = [
    pytest.param(path, re.findall(r"`(\w+)`", names), id=f"{change[:20]}: {path}")
    for change, files in ROWS
    for path, names in re.findall(r"`([\w/]+/[\w./]*)`(?: \((`[^)]*`)\))?", files)
]


def test_the_list_has_twelve_changes_and_each_has_a_file():
    assert 12 == len(ROWS)
    assert all(re.search(r"`\w+/", files) for _, files in ROWS)


@pytest.mark.parametrize(("path", "names"), FILES)
def test_a_file_is_there_and_defines_its_tables(path, names):
    assert (ROOT / path).exists()
    assert [] == [name for name in names if not defines((ROOT / path).read_text(), name)]


def test_every_module_that_makes_hazards_is_in_the_list_or_its_table_is():
    (row,) = (files for change, files in ROWS if change == "a hazard")
    makers = [path for path in (ROOT / "upgrade").rglob("*.py") if "Hazard(\n" in path.read_text()]
    named = {path.relative_to(ROOT): (path.name, f"{path.stem.removeprefix('_')}.toml") for path in makers}
    assert [] == [path for path, names in named.items() if not any(f"{path.parent}/{name}`" in row for name in names)]


def defines(source, name):
    """Whether a module defines a name at its top."""
    return re.search(rf"^(?:class |def )?{name}\b.*(?:[=(:]|\()", source, re.MULTILINE)
