"""The names of ``from assignor import ...``, and how each adapter and mypy name the mistakes of a service."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import streams_assignor
from streams_assignor import (
    ConfigException,
    StreamsAssignor,
    StreamsConfig,
    Subtopology,
    TaskRebalanceListener,
    Topology,
    UsageError,
)
from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.clients.aiokafka import StreamsPartitionAssignor as AiokafkaAssignor
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.kafka_python import StreamsPartitionAssignor as KafkaPythonAssignor

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
from streams_assignor import Subtopology, TaskRebalanceListener, Topology
from streams_assignor.clients import aiokafka, confluent, kafka_python

class Billing(TaskRebalanceListener):
    def {callback}(self, tasks: object) -> None: ...
    def on_tasks_revoked(self, tasks: object) -> None: ...
    def on_tasks_lost(self, tasks: object) -> None: ...

{call}
"""
CALLS = {
    "kafka-python": 'kafka_python.StreamsPartitionAssignor({topology}, {{"{key}": 1}}, listener=Billing())',
    "aiokafka": 'aiokafka.StreamsPartitionAssignor({topology}, {{"{key}": 1}}, listener=Billing())',
    "confluent": """confluent.StreamsConsumer(
    {{"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0, "{key}": 1}},
    {topology},
    listener=Billing(),
)""",
}
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
    pytest.param(
        {"topology": 'Topology(Subtopology(sources=["orders"]))'},
        'Argument 1 to "Topology" has incompatible type "Subtopology"; expected "Iterable[Subtopology]"',
        "expected several subtopologies, got a Subtopology: use Topology.of(Subtopology(sources=[...]), ...)",
        id="one-subtopology",
    ),
    pytest.param(
        {"topology": "Topology.of(Subtopology(sources=7))"},
        'Argument "sources" to "Subtopology" has incompatible type "int"; expected "Iterable[str]"',
        "expected a list of topic names, got a int",
        id="sources",
    ),
]


def test_every_public_name_exists() -> None:
    assert set(streams_assignor.__all__) == PUBLIC == set(streams_assignor._MODULES)
    for name in PUBLIC:
        assert name == getattr(streams_assignor, name).__name__
    with pytest.raises(AttributeError, match="no attribute 'moon'"):
        _ = streams_assignor.moon


def test_every_public_name_is_documented() -> None:
    reference = (ROOT / "docs/reference/api.md").read_text()
    listed = reference.partition("from streams_assignor import (")[2].partition(")")[0]

    assert {name.strip() for name in listed.split(",") if name.strip()} == PUBLIC


def test_every_error_has_the_documented_base() -> None:
    errors = [
        each
        for name in PUBLIC
        if isinstance(each := getattr(streams_assignor, name), type) and issubclass(each, Exception)
    ]

    assert {"ConfigException", "FatalError", "StreamsAssignorError", "UsageError"} == {each.__name__ for each in errors}
    assert all(issubclass(each, streams_assignor.StreamsAssignorError) for each in errors)


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


def service(library: str, **mistake: str) -> str:
    """The source of a service with one mistake, or with none."""
    values = {**RIGHT, **mistake}
    return SERVICE.format(call=CALLS[library].format(**values), **values)


@pytest.fixture(name="checked", scope="module")
def fixture_checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The output of mypy for the right services and for each with one mistake, by file."""
    folder = tmp_path_factory.mktemp("services")
    mistakes: dict[str, dict[str, str]] = {"right": {}, **{str(each.id): each.values[0] for each in MISTAKES}}
    names = {f"{library}-{name}": (library, mistake) for library in CALLS for name, mistake in mistakes.items()}
    for name, (library, mistake) in names.items():
        (folder / f"{name}.py").write_text(service(library, **mistake))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "setup.cfg", "--cache-dir", ROOT / ".mypy_cache"]
        + ["--num-workers", "0"]  # a busy machine starts none of them in the time that mypy allows
        + [folder / f"{name}.py" for name in names],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert not done.stderr
    return {name: "\n".join(line for line in done.stdout.splitlines() if f"/{name}.py" in line) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("library", CALLS)
def test_a_right_service_passes_mypy(checked: dict[str, str], library: str) -> None:
    assert not checked[f"{library}-right"]


@pytest.mark.slow
@pytest.mark.parametrize("library", CALLS)
@pytest.mark.parametrize(("name", "by_mypy"), [(each.id, each.values[1]) for each in MISTAKES])
def test_mypy_names_the_mistake(checked: dict[str, str], library: str, name: str, by_mypy: str) -> None:
    if (library, name) == ("confluent", "configuration"):
        assert not checked[f"{library}-{name}"]  # librdkafka's keys are open: only the run knows them
    else:
        assert by_mypy in checked[f"{library}-{name}"]


@pytest.mark.parametrize("library", CALLS)
@pytest.mark.parametrize(("mistake", "_", "at_run_time"), MISTAKES)
def test_the_error_names_the_mistake(library: str, mistake: dict[str, str], _: str, at_run_time: str) -> None:
    with pytest.raises((UsageError, ConfigException)) as error:
        exec(service(library, **mistake), {})
    if library == "confluent" and "key" in mistake:
        at_run_time = 'No such configuration property: "num.standby.replica": did you mean num.standby.replicas '
    assert str(error.value).startswith(at_run_time)


def test_a_listener_without_a_callback_cannot_be_made() -> None:
    class Billing(TaskRebalanceListener):
        """Implements nothing."""

    with pytest.raises(TypeError, match=r"abstract methods? .*on_tasks_assigned.*on_tasks_lost.*on_tasks_revoked"):
        Billing()  # type: ignore[abstract]


def test_python_m_is_the_console_script():
    from streams_assignor import __main__
    from streams_assignor.cli.main import main

    assert __main__.main is main
