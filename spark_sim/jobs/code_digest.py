"""The digest of the code that computes: results of other code are never taken over, and workers get this one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Final

OUR_PACKAGE: Final = "streams_assignor"


def digest_of(lines: Iterable[str]) -> str:
    """Return a short hash of some lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def python_sources(package: str) -> Iterator[tuple[str, bytes]]:
    """Yield the Python files of a package by their path in it, sorted; none if it is not installed.

    In a checkout parts of ours are symbolic links. ``Path.rglob`` does not follow them.
    """
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        for name in sorted(glob("**/*.py", root_dir=root, recursive=True)):  # noqa: PTH207
            yield f"{package}/{name}", (root / name).read_bytes()


@cache
def code_digest() -> str:
    """Return the digest of the source of our package: other code never shares a unit with this one."""
    return digest_of(f"{name} {hashlib.sha256(source).hexdigest()}" for name, source in python_sources(OUR_PACKAGE))
