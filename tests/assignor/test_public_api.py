"""The names of ``from assignor import ...``, and the messages of mypy and at run time for three common mistakes."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import assignor
from assignor import (
    ConfigException,
    StreamsAssignor,
    StreamsConfig,
    Subtopology,
    TaskRebalanceListener,
    Topology,
    UsageError,
)
from assignor.clients.adapter import ClientAdapter
from assignor.clients.aiokafka import StreamsPartitionAssignor as AiokafkaAssignor
from assignor.clients.confluent import StreamsConsumer
from assignor.clients.kafka_python import StreamsPartitionAssignor as KafkaPythonAssignor

ROOT = Path(__file__).parents[2]
PUBLIC = {
    "ClusterSnapshot",
    "ConfigException",
    "FatalError",
    "MetricsObserver",
    "ReceivedAssignment",
    "StreamsAssignor",
    "StreamsAssignorError",
    "StreamsConfig",
    "Subtopology",
    "TaskAssignor",
    "TaskId",
    "TaskRebalanceListener",
    "Topology",
    "TopicPartition",
    "UsageError",
    "combine_observers",
}
TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))
SERVICE = """\
from assignor import Subtopology, TaskRebalanceListener, Topology
from assignor.clients.kafka_python import StreamsPartitionAssignor

class Billing(TaskRebalanceListener):
    def {callback}(self, tasks: object) -> None: ...
    def on_tasks_revoked(self, tasks: object) -> None: ...
    def on_tasks_lost(self, tasks: object) -> None: ...

streams = StreamsPartitionAssignor({topology}, {{"{key}": 1}}, listener=Billing())
"""
RIGHT = {
    "callback": "on_tasks_assigned",
    "topology": 'Topology.of(Subtopology(sources=["orders"]))',
    "key": "num.standby.replicas",
}
MISTAKES = [
    pytest.param(
        {"callback": "on_task_assigned"},
        'Cannot instantiate abstract class "Billing" with abstract attribute "on_tasks_assigned"',
        "expected a callback of TaskRebalanceListener, got Billing.on_task_assigned; did you mean on_tasks_assigned?",
        id="callback",
    ),
    pytest.param(
        {"key": "num.standby.replica"},
        'incompatible type "dict[str, int]"; expected "StreamsConfig | StreamsSettings | None"',
        "unknown configuration ['num.standby.replica'] (did you mean num.standby.replicas?)",
        id="configuration",
    ),
    pytest.param(
        {"topology": '[Subtopology(sources=["orders"])]'},
        'has incompatible type "list[Subtopology]"; expected "Topology"',
        "expected a Topology, got a list: use Topology.of(Subtopology(sources=[...]), ...)",
        id="topology",
    ),
]


def test_every_public_name_exists() -> None:
    assert set(assignor.__all__) == PUBLIC == set(assignor._MODULES)
    for name in PUBLIC:
        assert name == getattr(assignor, name).__name__
    with pytest.raises(AttributeError, match="no attribute 'moon'"):
        _ = assignor.moon


def test_every_public_name_is_documented() -> None:
    reference = (ROOT / "docs/reference/api.md").read_text()
    listed = reference.partition("from assignor import (")[2].partition(")")[0]

    assert {name.strip() for name in listed.split(",") if name.strip()} == PUBLIC


def test_every_error_has_the_documented_base() -> None:
    errors = [
        each for name in PUBLIC if isinstance(each := getattr(assignor, name), type) and issubclass(each, Exception)
    ]

    assert {"ConfigException", "FatalError", "StreamsAssignorError", "UsageError"} == {each.__name__ for each in errors}
    assert all(issubclass(each, assignor.StreamsAssignorError) for each in errors)


def test_signatures_name_every_argument() -> None:
    for adapter in (ClientAdapter, KafkaPythonAssignor, AiokafkaAssignor, StreamsConsumer, StreamsAssignor):
        kinds = {each.kind for each in inspect.signature(adapter).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def test_the_arguments_of_a_consumer_are_those_of_its_adapter() -> None:
    consumer, adapter = (inspect.signature(each).parameters for each in (StreamsConsumer, ClientAdapter))

    assert consumer.keys() == adapter.keys()
    assert all(consumer[name].default == adapter[name].default for name in adapter if name not in ("config", "admin"))


def test_a_dictionary_serves_as_a_configuration() -> None:
    by_dictionary = KafkaPythonAssignor(TOPOLOGY, {"num.standby.replicas": 1, "upgrade.from": "2.3"})
    by_object = KafkaPythonAssignor(TOPOLOGY, StreamsConfig(num_standby_replicas=1, upgrade_from="2.3"))

    assert by_object.assignor.used_version == by_dictionary.assignor.used_version
    assert not by_dictionary.assignor.member.cooperative


@pytest.fixture(name="checked", scope="module")
def fixture_checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What mypy prints for the right service and for each with one mistake, by file."""
    folder = tmp_path_factory.mktemp("services")
    services = {"right": RIGHT, **{str(each.id): {**RIGHT, **each.values[0]} for each in MISTAKES}}
    for name, values in services.items():
        (folder / f"{name}.py").write_text(SERVICE.format(**values))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "setup.cfg", "--cache-dir", ROOT / ".mypy_cache"]
        + [folder / f"{name}.py" for name in services],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert not done.stderr
    return {name: "\n".join(line for line in done.stdout.splitlines() if f"{name}.py" in line) for name in services}


@pytest.mark.slow
def test_a_right_service_passes_mypy(checked: dict[str, str]) -> None:
    assert not checked["right"]


@pytest.mark.slow
@pytest.mark.parametrize(("mistake", "by_mypy", "_"), MISTAKES)
def test_mypy_names_the_mistake(
    checked: dict[str, str], request: pytest.FixtureRequest, mistake: dict[str, str], by_mypy: str, _: str
) -> None:
    assert by_mypy in checked[request.node.callspec.id], mistake


@pytest.mark.parametrize(("mistake", "_", "at_run_time"), MISTAKES)
def test_the_error_names_the_mistake(mistake: dict[str, str], _: str, at_run_time: str) -> None:
    with pytest.raises((UsageError, ConfigException)) as error:
        exec(SERVICE.format(**{**RIGHT, **mistake}), {})
    assert str(error.value).startswith(at_run_time)


def test_a_listener_without_a_callback_cannot_be_made() -> None:
    class Billing(TaskRebalanceListener):
        """Implements nothing."""

    with pytest.raises(TypeError, match=r"abstract methods? .*on_tasks_assigned.*on_tasks_lost.*on_tasks_revoked"):
        Billing()  # type: ignore[abstract]
