"""The house rules of setup.cfg, and that breaking one is noticed: a check that cannot fail checks nothing."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")


def imported_modules(source: str) -> set[str]:
    """Every module a file imports, wherever the import stands."""
    modules = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), level=0):
                modules.add(module)
    return modules


@pytest.mark.parametrize("path", sorted(ROOT.glob("subscription_codec/**/*.py")), ids=lambda path: path.name)
def test_the_codec_needs_only_the_standard_library_and_never_struct(path):
    allowed = sys.stdlib_module_names - {"struct", "_struct"} | {"subscription_codec"}

    assert set() == {name for name in imported_modules(path.read_text()) if name.partition(".")[0] not in allowed}


# Files of a small tree with the same five packages, the line put in one of them, and the contract it breaks.
TREE = [f"{package}/__init__.py" for package in PACKAGES] + [
    "assignor/cli.py",
    "assignor/member.py",
    "assignor/clients/__init__.py",
    "assignor/clients/confluent.py",
    "spark_sim/waves.py",
]
VIOLATIONS = [
    ("subscription_codec/__init__.py", "import probing", "Imports point downwards only"),
    ("probing/__init__.py", "import upgrade", "Imports point downwards only"),
    ("upgrade/__init__.py", "def late():\n    import spark_sim.sweep", "Imports point downwards only"),
    ("subscription_codec/__init__.py", "from struct import unpack", "The codec writes its bytes itself"),
    ("subscription_codec/__init__.py", "import attrs", "The codec writes its bytes itself"),
    ("assignor/member.py", "from kafka.errors import KafkaError", "A client library is imported only by its adapter"),
    ("spark_sim/__init__.py", "import aiokafka", "A client library is imported only by its adapter"),
    ("spark_sim/__init__.py", "from pyspark.sql import Row", "PySpark stays in the waves and the session"),
    ("upgrade/__init__.py", "import rich.table", "Only what talks to a person knows the terminal"),
]
LAWFUL = [
    ("assignor/cli.py", "import click"),
    ("assignor/clients/confluent.py", "import confluent_kafka"),
    ("spark_sim/waves.py", "import pyspark.sql\nimport assignor.member"),
    ("probing/__init__.py", "import subscription_codec"),
]


def lint_imports(root: Path, *lines: tuple[str, str]) -> str:
    for file in TREE:
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).touch()
    for file, line in lines:
        (root / file).write_text(line + "\n")
    (root / "setup.cfg").write_text((ROOT / "setup.cfg").read_text())
    # `python -c` looks into the working directory first, so the small tree hides the real packages.
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("file", "line", "contract"), VIOLATIONS, ids=[line for _, line, _ in VIOLATIONS])
def test_a_forbidden_import_breaks_its_contract(tmp_path, file, line, contract):
    said = lint_imports(tmp_path, (file, line))

    assert [contract] == re.findall(r"^(.+) BROKEN$", said, re.MULTILINE), said


def test_the_imports_each_file_is_there_for_break_nothing(tmp_path):
    said = lint_imports(tmp_path, *LAWFUL)

    assert "Contracts: 5 kept, 0 broken." in said, said


HELP = """
import atexit, sys
from assignor.cli import main

atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["streams-assignor", "--help"]
main()
"""


def test_the_command_line_says_what_it_can_do_without_loading_it():
    done = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True)
    heavy = {"aiokafka", "attr", "confluent_kafka", "jinja2", "kafka", "pyspark", "rich", "spark_sim"}
    heavy |= {"assignor.leader", "probing", "subscription_codec", "upgrade"}

    assert 0 == done.returncode, done.stderr
    assert "sweep" in done.stdout
    assert set() == heavy & set(done.stderr.split())


def test_what_is_loaded_late_is_what_it_says():
    import assignor

    assert sorted(assignor.__all__) == sorted(assignor._HOMES)
    assert assignor.__all__ == [getattr(assignor, name).__name__ for name in assignor.__all__]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = assignor.Nothing


def test_ci_runs_the_test_command_of_the_readme():
    readme = (ROOT / "README.md").read_text()
    commands = [
        block for block in re.findall(r"^```sh\n(.+?)\n```$", readme, re.DOTALL | re.MULTILINE) if "tox" in block
    ]

    assert 1 == len(commands), commands
    assert f"({commands[0]})" in (ROOT / ".ci" / "run").read_text()


def test_ci_can_be_started():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_tell_type_checkers_that_they_are_typed(package):
    assert (ROOT / package / "py.typed").exists()


def test_a_test_file_that_cannot_be_imported_fails_the_run(tmp_path):
    """With --doctest-ignore-import-errors such a file was once skipped, and its tests with it."""
    (tmp_path / "test_broken.py").write_text("import no_such_module\n\n\ndef test_nothing():\n    pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        str(ROOT / "setup.cfg"),
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode not in {0, 5}, done.stdout
