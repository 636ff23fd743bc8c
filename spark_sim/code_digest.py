"""The digest of the code that computes: results of other code are never taken over, and workers get this one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

OUR_PACKAGES: Final = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")


def digest_of(lines: Iterable[str]) -> str:
    """Return a short hash of some lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@cache
def code_digest() -> str:
    """Return the digest of the source of our packages: other code never shares a unit with this one."""
    roots = [Path(spec.origin).parent for name in OUR_PACKAGES if (spec := find_spec(name)) and spec.origin]
    sources = [(file.relative_to(root.parent), file) for root in roots for file in sorted(root.rglob("*.py"))]
    return digest_of(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for name, file in sources)
