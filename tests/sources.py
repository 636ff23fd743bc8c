"""The modules of the five packages, each parsed once in a process."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return tuple(ast.walk(tree(path)))
