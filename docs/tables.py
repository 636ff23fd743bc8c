"""Write the pages' tables and diagrams that come from the code anew: `python docs/tables.py`.

They are checked in, because code hosts show the pages too, and `tests/test_docs.py` fails when one is stale.  A block
is what stands between ``<!-- from the code: NAME -->`` and ``<!-- end -->``; `blocks` has the function of each name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

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
_BLOCK: Final = re.compile(r"(<!-- from the code: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fresh(page: str) -> str:
    """Return a page with all its blocks written anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n\n{found[3]}", page)


if __name__ == "__main__":
    for path in (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        path.write_text(fresh(text), encoding="utf-8")
