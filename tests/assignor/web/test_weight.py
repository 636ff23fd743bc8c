"""The cost of a visit of the page."""

import re

import pytest

from streams_assignor.web.build import _is_needed, _unzip, code_files, pyodide_files
from tests.assignor.web.measure import transfer
from tests.assignor.web.packages import LOCK, code_of, fetched, stdlib_of

pytestmark = pytest.mark.slow


def test_all_files_of_the_site_are_at_most_8_mb(files):
    assert transfer(files) <= 8_000_000


def test_a_first_plan_loads_compiled_modules(files):
    code, stdlib = code_of(files), stdlib_of(files)

    assert {
        "streams_assignor/cli/plan/command.pyc",
        "click/core.pyc",
        "streams_assignor/upgrade/planner.pyc",
    } <= code.keys()
    assert {"typing.pyc", "asyncio/tasks.pyc", "tarfile.pyc", "pyodide/code.pyc"} <= stdlib.keys()
    assert not [name for name in (*code, *stdlib) if f"{name}c" in code.keys() | stdlib.keys()]


def imported(source, indent=""):
    """The names of modules that a source imports; with an indent also within functions."""
    for line in re.findall(rf"^{indent}import (.+)", source, re.MULTILINE):
        yield from (word.split()[0] for word in line.split(","))
    yield from re.findall(rf"^{indent}from (\w[\w.]*) import", source, re.MULTILINE)


def test_nothing_imports_what_is_left_out_of_the_standard_library():
    stdlib = _unzip(pyodide_files(fetched(LOCK), LOCK)["pyodide/python_stdlib.zip"])
    modules = {name: name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in stdlib}
    left_out = {module for name, module in modules.items() if not _is_needed(name)}
    frozen = {"importlib._bootstrap", "importlib._bootstrap_external"}
    own = {name: content for name, content in code_files().items() if name.startswith("streams_assignor/")}
    sources = [(name, text, r" *") for name, text in own.items() if name.endswith(".py")]
    sources += [(name, text, "") for name, text in stdlib.items() if name.endswith(".py") and _is_needed(name)]

    assert {"pdb", "unittest.mock"} <= left_out
    assert [] == [
        (name, module)
        for name, text, indent in sources
        for module in imported(text.decode(), indent)
        if module in left_out - frozen
    ]
