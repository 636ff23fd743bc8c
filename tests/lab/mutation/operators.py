"""Every place that may be changed, and what it becomes: mutmut's operators, without mutmut's copies of each function.

mutmut puts all variants of a function into its module and switches between them. Classes that are generated, pickled or
inspected do not survive that. Here a mutant is the module with one change; so tables and decorated functions count.
"""

import ast
import difflib
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

_NOT_EXECUTED = m.Annotation() | m.If(test=m.Name("TYPE_CHECKING")) | m.Expr(value=m.SimpleString())
"""Also not executed: what the configuration of coverage leaves out."""
_EXCLUDED = (
    m.FunctionDef(decorators=[m.Decorator(m.Name("overload"))])
    | m.Call(func=m.Name("assert_never"))
    | m.Raise(exc=m.Call(func=m.Name("AssertionError")))
)
_FOR_TOOLS = m.Assign(targets=[m.AssignTarget(m.Name("__all__"))]) | m.Call(
    func=m.OneOf(m.Name("cast"), m.Name("TypeVar"), m.Name("NewType"))
)
_SKIPPED = _NOT_EXECUTED | _EXCLUDED | _FOR_TOOLS
_MAY_BE_SKIPPED = (cst.Annotation, cst.If, cst.Expr, cst.FunctionDef, cst.Call, cst.Raise, cst.Assign)
_STRICT = m.Arg(keyword=m.Name("strict"))
"""An assertion: no input makes the lengths differ."""


class Site(NamedTuple):
    """A place in a file, and one thing that it may become."""

    path: str
    where: str  # the qualified name of the function or class; "" at the level of the module
    first_line: int
    last_line: int
    module: cst.Module
    old: cst.CSTNode
    new: cst.CSTNode


class Mutant(NamedTuple):
    """A module with one change. Its name does not depend on lines, so that a review lasts until the code changes."""

    name: str
    path: str
    where: str
    change: str
    lines: range
    source: str


def sites(root: Path, package: str) -> list[Site]:
    """Return all places of a package in a fixed order."""
    return [
        site
        for path in sorted((root / package).rglob("*.py"))
        for site in _of_module(str(path.relative_to(root)), path.read_text(encoding="utf-8"))
    ]


def mutant(site: Site) -> Mutant | None:
    """Make the change; None if the module means the same with it."""
    before = site.module.code
    after = site.module.deep_replace(site.old, site.new).code  # type: ignore[arg-type]
    try:
        if ast.dump(ast.parse(before)) == ast.dump(ast.parse(after)):
            return None
    except SyntaxError:
        return None
    change = _change(before, after)
    name = sha256(f"{site.path} {site.where} {change}".encode()).hexdigest()[:10]
    return Mutant(name, site.path, site.where, change, range(site.first_line, site.last_line + 1), after)


def _of_module(path: str, source: str) -> Iterator[Site]:
    wrapper = MetadataWrapper(cst.parse_module(source))
    visitor = _Visitor(partial(Site, path), wrapper.module)
    wrapper.visit(visitor)
    yield from visitor.sites


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, site: partial[Site], module: cst.Module) -> None:
        super().__init__()
        self.sites: list[Site] = []
        self._site = site
        self._module = module
        self._names: list[str] = []
        self._statements: list[int] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_skipped(node):
            return False
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            self._names.append(node.name.value)
        if isinstance(node, cst.BaseStatement):
            self._statements.append(self.get_metadata(PositionProvider, node).start.line)
        self.sites += self._changed(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if _is_skipped(original_node):
            return
        if isinstance(original_node, cst.ClassDef | cst.FunctionDef):
            self._names.pop()
        if isinstance(original_node, cst.BaseStatement):
            self._statements.pop()

    def _changed(self, node: cst.CSTNode) -> Iterator[Site]:
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                variants = [each for each in operator(node) if _keeps_strict(node, each)]
                # A text is looked at or not: upper and lower case would only count the same twice more.
                for new in variants[:1] if operator is operator_string else variants:
                    position = self.get_metadata(PositionProvider, node, None)
                    first = self._statements[-1] if self._statements else 1
                    last = position.end.line if position else first
                    yield self._site(".".join(self._names), first, last, self._module, node, new)


def _is_skipped(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Arg):
        return m.matches(node, _STRICT)
    return isinstance(node, _MAY_BE_SKIPPED) and m.matches(node, _SKIPPED)


def _keeps_strict(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    if not (isinstance(old, cst.Call) and isinstance(new, cst.Call)):
        return True
    return all(any(each is kept for kept in new.args) for each in old.args if m.matches(each, _STRICT))


def _change(before: str, after: str) -> str:
    """Write the lines that differ in one line, as "- old + new"."""
    parts: dict[str, list[str]] = {"-": [], "+": []}
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line[0] in parts:
            parts[line[0]].append(" ".join(line[2:].split()))
    return f"- {' '.join(parts['-'])} + {' '.join(parts['+'])}"
