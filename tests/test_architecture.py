"""The house rules of setup.cfg, and that breaking one is noticed: a check that cannot fail checks nothing."""

import ast
import builtins
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests.sources import PACKAGES, ROOT, SOURCES, nodes, tree


def imported_modules(path: Path) -> set[str]:
    """Every module a file imports, wherever the import stands."""
    modules = set()
    for node in nodes(path):
        match node:
            case ast.Import(names=names):
                modules |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), level=0):
                modules.add(module)
    return modules


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("subscription_codec/**/*.py")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_codec_needs_only_the_standard_library_and_never_struct(path):
    allowed = sys.stdlib_module_names - {"struct", "_struct"}
    others = {name for name in imported_modules(path) if name.partition(".")[0] not in allowed}

    assert set() == {name for name in others if f"{name}.".partition("streams_assignor.codec.")[0]}


# The modules of the five folders, without their contents. A line is put in one of them; the contract that it breaks is
# named.
LINKS = ("src/streams_assignor", "assignor/codec", "assignor/probing", "assignor/upgrade", "assignor/spark_sim")
"""The package streams_assignor is made of the five folders by these links."""
TREE = [path.relative_to(ROOT) for path in SOURCES]
VIOLATIONS = [
    ("subscription_codec/__init__.py", "import streams_assignor.probing", "Imports point downwards only"),
    ("probing/__init__.py", "import streams_assignor.upgrade", "Imports point downwards only"),
    (
        "upgrade/__init__.py",
        "def late():\n    import streams_assignor.spark_sim.sweep.sweep",
        "Imports point downwards only",
    ),
    (
        "spark_sim/model/events.py",
        "import streams_assignor.spark_sim.search.bfs",
        "Inside spark_sim, imports point downwards only",
    ),
    ("spark_sim/sweep/report/html.py", "import streams_assignor.cli.main", "Imports point downwards only"),
    ("assignor/topology.py", "import streams_assignor.protocol.leader", "Imports point downwards only"),
    ("upgrade/errors.py", "import streams_assignor.upgrade.planner", "Inside upgrade, imports point downwards only"),
    ("subscription_codec/__init__.py", "from struct import unpack", "The codec writes its bytes itself"),
    ("subscription_codec/__init__.py", "import attrs", "The codec writes its bytes itself"),
    (
        "assignor/protocol/member.py",
        "from kafka.errors import KafkaError",
        "A client library is imported only by its adapter",
    ),
    (
        "assignor/observability/metrics.py",
        "import prometheus_client",
        "A client library is imported only by its adapter",
    ),
    ("spark_sim/__init__.py", "import aiokafka", "A client library is imported only by its adapter"),
    (
        "spark_sim/__init__.py",
        "from pyspark.sql import Row",
        "Only the Spark executor, its session and the data source import PySpark",
    ),
    ("assignor/groups/__init__.py", "import streams_assignor.cli.group.command", "Imports point downwards only"),
    ("assignor/clients/adapter.py", "import streams_assignor.upgrade.plans", "The core imports no tool of operators"),
    ("upgrade/__init__.py", "import rich.table", "Only command lines and reports use the terminal"),
]
LAWFUL = [
    ("assignor/cli/main.py", "import click"),
    ("assignor/clients/confluent/_fetcher.py", "import confluent_kafka"),
    ("spark_sim/sweep/spark/_data_source.py", "import pyspark.sql.datasource"),
    ("spark_sim/sweep/spark/executor.py", "import pyspark.sql\nimport streams_assignor.protocol.member"),
    ("probing/__init__.py", "import streams_assignor.codec"),
    ("assignor/observability/prometheus.py", "import prometheus_client"),
]


def lint_imports(root: Path, *lines: tuple[str, str]) -> str:
    for file in TREE:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    for file, line in lines:
        assert (root / file).exists(), file
        (root / file).write_text(line + "\n")
    (root / "src").mkdir()
    for link in LINKS:
        (root / link).symlink_to((ROOT / link).readlink())
    (root / "setup.cfg").write_text((ROOT / "setup.cfg").read_text())
    # PYTHONPATH comes before the installed package, so the small tree hides the real one.
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True).stdout


CONTRACTS = [contract for _, _, contract in VIOLATIONS]


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        pytest.param(*violation, id=violation[1], marks=[pytest.mark.slow] * (violation[2] in CONTRACTS[:place]))
        for place, violation in enumerate(VIOLATIONS)
    ],
)
def test_a_forbidden_import_breaks_its_contract(tmp_path, file, line, contract):
    output = lint_imports(tmp_path, (file, line))

    assert [contract] == re.findall(r"^(.+) BROKEN$", output, re.MULTILINE), output


def test_the_imports_each_file_is_there_for_break_nothing(tmp_path):
    output = lint_imports(tmp_path, *LAWFUL)

    assert "Contracts: 10 kept, 0 broken." in output, output


HELP = """
import atexit, sys
from streams_assignor.cli.main import main

atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["streams-assignor", "--help"]
main()
"""


def test_the_command_line_says_what_it_can_do_without_loading_it():
    done = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True)
    heavy = {"aiokafka", "attr", "confluent_kafka", "kafka", "pyspark", "rich"}
    heavy |= {
        "streams_assignor.spark_sim.advice",
        "streams_assignor.spark_sim.model",
        "streams_assignor.protocol.leader",
        "streams_assignor.codec",
        "streams_assignor.probing",
        "streams_assignor.upgrade",
    }

    assert 0 == done.returncode, done.stderr
    assert "sweep" in done.stdout
    assert set() == heavy & set(done.stderr.split())


AUDIT = """
import sys
import streams_assignor.cli.audit.command, streams_assignor.spark_sim.audit.job
from streams_assignor.cli._exit_status import one_line_errors

with one_line_errors():
    print(*sys.modules)
"""


def test_an_audit_loads_neither_spark_nor_the_simulator():
    done = subprocess.run([sys.executable, "-c", AUDIT], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {
        "pyspark",
        "streams_assignor.spark_sim.model.member",
        "streams_assignor.spark_sim.packed",
        "streams_assignor.spark_sim.sweep.spark.session",
    }

    assert set() == heavy & set(done.stdout.split())


LOADED = """
import json, sys
before = {*sys.modules}
__import__(sys.argv[1])
loaded = {name: module for name, module in sys.modules.items() if name not in before}
ours = {name: module for name, module in loaded.items() if name.partition(".")[0] == "streams_assignor"}
lines = sum(len(open(module.__file__, encoding="utf-8").readlines()) for module in ours.values())
print(json.dumps([lines, *sorted({name.partition(".")[0] for name in loaded})]))
"""


@pytest.mark.parametrize(
    ("module", "libraries", "lines"),
    [
        ("codec", set(), 3_600),
        ("streams_assignor", {"attr", "attrs"}, 12_500),
        ("streams_group", {"attr", "attrs"}, 7_500),
        ("clients.kafka_python", {"attr", "attrs", "kafka"}, 17_000),
        ("clients.aiokafka", {"attr", "attrs", "aiokafka"}, 15_500),
        ("clients.confluent._consumer", {"attr", "attrs", "confluent_kafka", "kafka"}, 22_000),
    ],
)
def test_a_service_loads_the_core_and_its_client_library(module, libraries, lines):
    """4,294 lines of hazards came with every member."""
    command = [sys.executable, "-c", LOADED, f"streams_assignor.{module}"]
    loaded, *names = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    known = {"aiokafka", "attr", "attrs", "click", "confluent_kafka", "kafka", "pyarrow", "pyspark", "rich", "yaml"}

    assert known & {*names} <= libraries
    assert loaded <= lines


def test_what_is_loaded_late_is_what_it_says():
    import streams_assignor

    assert sorted(streams_assignor.__all__) == sorted(streams_assignor._MODULES)
    assert streams_assignor.__all__ == [getattr(streams_assignor, name).__name__ for name in streams_assignor.__all__]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = streams_assignor.Nothing


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
        "-n0",
        "-c",
        str(ROOT / "setup.cfg"),
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode not in {0, 5}, done.stdout


def strongly_connected(graph: grimp.ImportGraph) -> list[list[str]]:
    """Tarjan's algorithm: the groups of modules that import each other in a circle."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in graph.find_modules_directly_imported_by(module):
            if imported not in index:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(graph.modules):
        if module not in index:
            visit(module)
    return found


@pytest.fixture(name="graph", scope="module")
def fixture_graph() -> grimp.ImportGraph:
    """All imports of the packages, those for type checkers included."""
    return grimp.build_graph("streams_assignor", cache_dir=None)


def test_no_modules_import_each_other_in_a_circle(graph):
    assert [] == strongly_connected(graph)


def test_a_circle_is_found():
    graph = grimp.ImportGraph()
    for importer, imported in [("a", "b"), ("b", "c"), ("c", "b")]:
        for module in (importer, imported):
            graph.add_module(module)
        graph.add_import(importer=importer, imported=imported)

    assert [["b", "c"]] == strongly_connected(graph)


FOLDERS = sorted({path.parent for path in TREE})


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_package_states_its_purpose(folder):
    documentation = ast.get_docstring(tree(ROOT / folder / "__init__.py")) or ""

    assert re.match(r"[A-Z`].+[.:]", documentation), documentation
    assert "TODO" not in documentation


def test_processes_are_started_only_where_it_is_known_how_they_end():
    """The workers of a killed audit stayed: each of these modules ends its children however their parent ends."""
    starters = {"multiprocessing", "concurrent.futures.process", "subprocess"}
    found = {str(path) for path in TREE if starters & imported_modules(ROOT / path)}
    pools = {str(path) for path in TREE if "ProcessPoolExecutor" in (ROOT / path).read_text()}

    assert found | pools == {
        "assignor/cli/roll/commands.py",  # the restart of an operator is to go on if roll is killed in the middle
        "assignor/demo/member_process.py",  # the member stops when its standard input ends
        "assignor/web/build.py",  # asks npm for one package, for at most ten minutes
        "spark_sim/sweep/spark/java.py",  # asks `java` for its version, for at most a minute
        "spark_sim/jobs/worker_pool.py",  # the worker exits when its parent does
    }


NOT_OF_THE_BASE_CLASS = {
    "FastPathMiss",  # never leaves the codec: the reference path decides
    "ConformanceError",  # an AssertionError, as of any test that fails
    "DamagedParquet",  # an OSError, as of any other file that cannot be read
}


def test_every_public_error_has_the_base_class():
    """The base class of all errors was none of 12 of them."""
    bases = {}
    for path in TREE:
        for node in nodes(ROOT / path):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}

    def ancestors(name):
        return {name}.union(*(ancestors(base) for base in bases.get(name, ())))

    builtin = {
        name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
    }
    errors = {name for name in bases if builtin & ancestors(name) and not name.startswith("_")}

    assert {name for name in errors if "StreamsAssignorError" not in ancestors(name)} == NOT_OF_THE_BASE_CLASS
