"""Write the pages' tables and diagrams that come from the code anew: `python docs/tables.py`; print some: with names.

A block stands between ``<!-- from the code: NAME -->`` and ``<!-- end -->``, is checked in, and `tests/test_docs.py`
fails when it is stale.  Long tables are on the site only, in the place of a line ``Printed by `python docs/tables.py
"NAME"`.`` of the page (`conf.py`).  `blocks` has the function of each name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1]))

from blocks import (
    audit,
    client_group_tests,
    hazards,
    nightly,
    program,
    releases,
    requirements,
    roll,
    rules,
    runs,
    streams_protocol,
    system_tests,
    traceability,
    wire,
)
from blocks.markdown import DOCS

BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    name: block
    for part in (
        wire,
        rules,
        releases,
        hazards,
        streams_protocol,
        runs,
        system_tests,
        client_group_tests,
        nightly,
        program,
        requirements,
        traceability,
        audit,
        roll,
    )
    for name, block in part.BLOCKS.items()
}
DATED: Final = ("reference/benchmarks", "reference/verification")
_BLOCK: Final = re.compile(r"(<!-- from the code: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ON_THE_SITE: Final = re.compile(r'^Printed by `python docs/tables\.py "(.+)"`\.$', re.MULTILINE)


def fresh(page: str) -> str:
    """Return a page with all its blocks written anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n\n{found[3]}", page)


def names(page: str) -> set[str]:
    """Return the names of a page's blocks, checked in and of the site."""
    return {found[2] for found in _BLOCK.finditer(page)} | set(_ON_THE_SITE.findall(page))


def for_the_site(page: str, name: str = "") -> str:
    """Return a page with what only the site has: tables, and dates of runs on the pages about evidence."""
    return _ON_THE_SITE.sub(lambda found: BLOCKS[found[1]](), nightly.dated(page) if name in DATED else page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(BLOCKS[name]())
    for path in () if sys.argv[1:] else (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        path.write_text(fresh(text), encoding="utf-8")
