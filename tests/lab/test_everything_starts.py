"""Each tool of the laboratories starts, and what it names is there: a moved file is noticed the same day."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("assignor", "docs", "probing", "spark_sim", "subscription_codec", "tests", "upgrade")
TOOLS = sorted(
    path
    for path in (ROOT / "tests").rglob("*.py")
    if 'if __name__ == "__main__"' in path.read_text() and not path.name.startswith("test_")
)
LIBRARIES_OF_ITS_OWN = {"tests/lab/mutation/__main__.py": "libcst", "tests/lab/fuzz/fuzz_codec.py": "atheris"}
"""Tools that have an environment of their own, and what they need of it."""
ELSEWHERE = {
    "docs/changelog.d/codec-explain.md": "an example of a name",
    "docs/changelog.d/topic.md": "an example of a name",
    "docs/getting-started/upgrade.md": "Kafka's repository",
    "docs/streams/upgrade-guide.md": "Kafka's repository",
}
_PATH = (ast.BinOp, ast.Div, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Load, ast.Call)


def module_of(path: Path) -> ModuleType:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def named_paths(tree: ast.AST, names: dict[str, object]) -> Iterator[tuple[int, Path]]:
    """Yield the line and the value of each ``FOLDER / "name.suffix"`` whose parts are known when a module is loaded."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_plain(node)):
            continue
        try:
            value = eval(compile(ast.Expression(node), "a tool", "eval"), dict(names))
        except (NameError, AttributeError, TypeError):
            continue
        if isinstance(value, Path) and value.suffix and ROOT in value.parent.parents:
            yield node.lineno, value


def _is_plain(node: ast.AST) -> bool:
    return all(
        isinstance(each, _PATH) and (not isinstance(each, ast.Call) or ast.unparse(each.func) == "Path")
        for each in ast.walk(node)
    )


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", TOOLS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_tool_can_be_loaded_and_the_files_that_it_names_are_there(path):
    if library := LIBRARIES_OF_ITS_OWN.get(str(path.relative_to(ROOT))):
        pytest.importorskip(library)
    names = vars(module_of(path))

    assert [
        f"line {line}: {value.relative_to(ROOT)}"
        for line, value in named_paths(ast.parse(path.read_text()), names)
        if not value.exists()
    ] == []


def test_a_moved_source_is_found():
    tree = ast.parse('compile_java([HERE / "java/Gone.java", HERE.parent / "java_oracle.py", unknown / "a.java"])')

    found = {value.name: value.exists() for _, value in named_paths(tree, {"HERE": ROOT / "tests/lab"})}

    assert found == {"Gone.java": False, "java_oracle.py": True}


def mentioned(text: str) -> set[str]:
    """Return the files and the modules of this tree that a text names.

    >>> sorted(mentioned("see docs/design.md, tests/lab/bench/*.py and ``python -m tests.nightly``"))
    ['docs/design.md', 'tests/nightly.py']
    """
    files = set(
        re.findall(rf"(?<![\w/.<{{-])(?:{'|'.join(PACKAGES)})/[\w/.-]+\.(?:py|md|toml|jsonl?|java|go|sh)\b", text)
    )
    modules = re.findall(r"python -m (tests[\w.]*\w)", text)
    return files | {_file_of(module) for module in modules}


def _file_of(module: str) -> str:
    name = module.replace(".", "/")
    return f"{name}.py" if (ROOT / f"{name}.py").exists() else f"{name}/__main__.py"


TEXTS = sorted(
    path
    for package in PACKAGES
    for suffix in ("md", "py")
    for path in (ROOT / package).rglob(f"*.{suffix}")
    if "_build" not in path.parts and path != Path(__file__)
)


@pytest.mark.unmeasured
@pytest.mark.parametrize("package", PACKAGES)
def test_the_files_that_a_comment_a_docstring_or_a_page_names_are_there(package):
    gone = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in TEXTS
        if path.is_relative_to(ROOT / package)
        for name in mentioned(path.read_text())
        if name not in ELSEWHERE and not ((ROOT / name).exists() or (ROOT / "tests" / name).exists())
    }

    assert gone == set()
