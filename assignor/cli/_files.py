"""Files that a command writes: each is another one than the others, and than those that it reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from streams_assignor.cli._exit_status import WrongUsage


def same_file(first: Path, second: Path) -> bool:
    """Whether two paths are one file: behind links, and by two names of it."""
    is_there = first.exists() and second.exists()
    return os.path.realpath(first) == os.path.realpath(second) or (is_there and first.samefile(second))


def refuse_same_files(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Raise wrong usage if a file would be written that is read, or written, by another option.

    Args:
        outputs: The files that are written, by their options; None: the option was not given.
        inputs: Those that are read.
    """
    paths = {option: path for option, path in {**outputs, **inputs}.items() if path is not None}
    for first, second in combinations(paths, 2):
        if first in outputs and same_file(paths[first], paths[second]):
            raise WrongUsage(
                f"expected different files, got {paths[first]} for {first} and {paths[second]} for {second}"
            )
