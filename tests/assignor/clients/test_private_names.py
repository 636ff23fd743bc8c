"""Private names of the client libraries are used in the modules ``_private_api`` and ``_private_connection`` alone."""

import ast
import re
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from types import ModuleType

import pytest

from streams_assignor.clients._library_names import instances_have
from streams_assignor.clients.aiokafka import _private_api as aiokafka
from streams_assignor.clients.kafka_python import _private_api as kafka_python

CLIENTS = Path(__file__).parents[3] / "assignor" / "clients"
MODULES = [path for path in sorted(CLIENTS.rglob("*.py")) if not path.name.startswith("_private_")]


def private_attributes(source: str) -> Iterator[str]:
    """Attributes with an underscore of anything but ``self``; librdkafka's error codes are public."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "KafkaError")):
                continue
            case ast.Attribute(attr=name) if name.startswith("_") and not name.startswith("__"):
                yield ast.unparse(node)


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(CLIENTS).as_posix())
def test_a_module_uses_no_private_attribute(path: Path) -> None:
    assert [] == list(private_attributes(path.read_text()))


@pytest.mark.parametrize(
    "module",
    [
        "aiokafka/_private_answers",
        "aiokafka/_private_api",
        "kafka_python/_private_api",
        "kafka_python/_private_connection",
    ],
)
def test_the_list_has_every_private_attribute(module: str) -> None:
    source = (CLIENTS / f"{module}.py").read_text()
    tables = re.findall(r"_NAMES: Final = (\(.*?\n\))", source, re.DOTALL)
    listed = [name for table in tables for name in ast.literal_eval(table)]
    used = {each.rpartition(".")[2] for each in private_attributes(source)}

    assert used
    assert set() == used - {part for name in listed for part in name.split(".")}
    assert [] == [name for name in listed if name.rpartition(".")[2] not in source]


def test_a_private_attribute_is_found() -> None:
    assert ["consumer._coordinator"] == list(private_attributes("consumer._coordinator.heartbeat(self._consumer)"))


def test_a_constructor_that_is_wrapped_counts() -> None:
    """A tracing tool that wrapped the coordinator's constructor made `bind` refuse a tested release.

    Found with aiokafka's own tests (docs/reference/client-group-tests.md).
    """

    class Coordinator:
        def __init__(self) -> None:
            self.generation = 0

    constructor = Coordinator.__init__

    @wraps(constructor)
    def traced(self: Coordinator) -> None:
        constructor(self)

    Coordinator.__init__ = traced

    assert instances_have(Coordinator, "generation")
    assert not instances_have(Coordinator, "member_id")


@pytest.mark.parametrize(("library", "private_api"), [("kafka-python", kafka_python), ("aiokafka", aiokafka)])
def test_the_metadata_and_tox_have_the_tested_range(library: str, private_api: ModuleType) -> None:
    lowest, newest = private_api.TESTED_VERSIONS.split(" to ")
    setup = (CLIENTS.parents[1] / "setup.cfg").read_text()

    assert f"    {library}>={lowest},<" in setup
    assert f"    lowest: {library}=={lowest}\n" in setup
    assert f"    newest: {library}=={newest}\n" in setup
