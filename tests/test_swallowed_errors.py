"""Each place where an error is swallowed has a reason, in ``swallowed_errors.toml``."""

import ast
import re
import tomllib
from collections import Counter

from tests.sources import ROOT, SOURCES, tree

LENIENT_CALLS = re.compile(r"(.+\.)?(suppress|r?glob)|os\.walk")
"""``glob`` and ``os.walk`` leave out folders that cannot be read."""
ERROR_OPTIONS = {"ignore_errors", "onerror"}


def swallows(node):
    """Whether an error can end here: nothing is raised, and the exception is not even looked at."""
    if isinstance(node, ast.ExceptHandler):
        inside = list(ast.walk(node))
        names = {each.id for each in inside if isinstance(each, ast.Name)}
        return node.name not in names and not any(isinstance(each, ast.Raise) for each in inside)
    if not isinstance(node, ast.Call):
        return False
    options = {each.arg for each in node.keywords} & ERROR_OPTIONS
    return "ignore_errors" in options or (LENIENT_CALLS.fullmatch(ast.unparse(node.func)) is not None and not options)


def places(node, name):
    for child in ast.iter_child_nodes(node):
        scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if swallows(child):
            yield name
        yield from places(child, f"{name}.{child.name}" if scope else name)


def test_each_place_where_an_error_is_swallowed_has_a_reason():
    found = Counter(place for file in SOURCES for place in places(tree(file), file.stem))
    reasons = tomllib.loads((ROOT / "tests" / "swallowed_errors.toml").read_text(encoding="utf-8"))
    decided = Counter(place for reason in reasons.values() for place in reason["places"])

    assert {"without a reason": found - decided, "gone": decided - found} == {"without a reason": {}, "gone": {}}
