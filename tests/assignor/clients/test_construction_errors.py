"""Mistakes that an adapter reports when it is made: one sentence with the remedy, and nothing secret."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from kafka import KafkaConsumer
from kafka.errors import KafkaConfigurationError

from streams_assignor import ConfigException, StreamsAssignorError, Subtopology, Topology, UsageError
from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.clients.aiokafka import AiokafkaAdmin
from streams_assignor.clients.aiokafka import StreamsPartitionAssignor as AiokafkaAssignor
from streams_assignor.clients.confluent import StreamsConsumer, _consumer
from streams_assignor.clients.confluent._settings import ConsumerSettings
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.clients.kafka_python import StreamsPartitionAssignor as KafkaPythonAssignor
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.errors import MissingExtraError
from streams_assignor.upgrade import UnknownRelease
from streams_assignor.upgrade.extras import importing

ROOT = Path(__file__).parents[3]
TOPOLOGY = Topology.of(Subtopology(sources=["orders"]), Subtopology(sources=["refunds"]))
NOWHERE = "127.0.0.1:1"
BASE = {"bootstrap.servers": NOWHERE, "group.id": "billing", "log_level": 0}
PLAIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "anna"}
LOGIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "anna"}
SECRET = "hush-hush-4711"
NO_TEXT = "as text for the SASL mechanism PLAIN, got"
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
try:
    {statement}
except Exception as error:
    from streams_assignor.errors import MissingExtraError
    assert isinstance(error, MissingExtraError) and isinstance(error, ImportError), repr(error)
    print(error)
"""


# -- a library that is not installed ----------------------------------------------------------------------------------


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("module", "statement", "message"),
    [
        (
            "kafka",
            "from streams_assignor.clients.confluent import StreamsConsumer",
            "kafka-python is not installed: pip install 'streams-assignor[confluent]'",
        ),
        (
            "confluent_kafka",
            "from streams_assignor.clients import confluent; confluent.StreamsConsumer",
            "confluent-kafka is not installed: pip install 'streams-assignor[confluent]'",
        ),
        (
            "confluent_kafka",
            "from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic",
            "confluent-kafka is not installed: pip install 'streams-assignor[confluent]'",
        ),
        (
            "kafka",
            "from streams_assignor.clients import kafka_python",
            "kafka-python is not installed: pip install 'streams-assignor[kafka-python]'",
        ),
        (
            "aiokafka",
            "from streams_assignor.clients import aiokafka",
            "aiokafka is not installed: pip install 'streams-assignor[aiokafka]'",
        ),
        (
            "prometheus_client",
            "from streams_assignor.observability import prometheus",
            "prometheus-client is not installed: pip install 'streams-assignor[prometheus]'",
        ),
        (
            "opentelemetry",
            "from streams_assignor.observability import opentelemetry",
            "opentelemetry-api is not installed: pip install 'streams-assignor[opentelemetry]'",
        ),
        (
            "kafka",
            "from streams_assignor.clients import confluent, aiokafka; "
            "import streams_assignor.groups.describe.confluent.offsets_topic",
            "",
        ),
    ],
)
def test_a_missing_library_names_its_extra(module: str, statement: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(module=module, statement=statement)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (message, "") == (done.stdout.strip(), done.stderr)


@pytest.mark.parametrize("message", ["No module named 'kafka.net.manager'", "cannot import name 'Manager'"])
def test_a_library_that_moved_a_name_names_its_release(message: str) -> None:
    """kafka-python 3.1 moves modules: an ImportError of a private module told nobody what to install."""
    kind = ModuleNotFoundError if message.startswith("No module") else ImportError
    with pytest.raises(MissingExtraError) as raised, importing("kafka", "confluent_kafka"):
        raise kind(message, name="kafka.net.manager")

    installed = version("kafka-python")
    expected = f"kafka-python {installed} is not supported ({message}): pip install 'streams-assignor[confluent]'"
    assert expected == str(raised.value)


# -- the configuration of a StreamsConsumer ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"session.timeout.ms": 3000},
            "Invalid value 3000 for configuration session.timeout.ms: expected more than heartbeat.interval.ms, which "
            "is 3000; set heartbeat.interval.ms to 1000, a third of the session timeout, or less",
        ),
        (
            {"main.consumer.session_timeout_ms": 6000, "heartbeat.interval.ms": 9000},
            "Invalid value 6000 for configuration session.timeout.ms: expected more than heartbeat.interval.ms, which "
            "is 9000; set heartbeat.interval.ms to 2000, a third of the session timeout, or less",
        ),
        ({**PLAIN}, f"expected sasl.password {NO_TEXT} none: set it"),
        ({**PLAIN, "sasl.password": None}, f"expected sasl.password {NO_TEXT} none: set it"),
        (
            {**PLAIN, "sasl.password": 4711},
            f"expected sasl.password {NO_TEXT} a value of type int: put it in quotes",
        ),
        (
            {**PLAIN, "sasl.password": SECRET, "sasl.username": None},
            f"expected sasl.username {NO_TEXT} none: set it",
        ),
        (
            {f"main.consumer.{name}": value for name, value in {**LOGIN, "sasl_plain_password": 4711}.items()},
            f"expected main.consumer.sasl_plain_password {NO_TEXT} a value of type int: put it in quotes",
        ),
        (
            {"main.consumer.sasl_plain_pasword": SECRET},
            "expected settings of KafkaConsumer after main.consumer., "
            "got sasl_plain_pasword (did you mean sasl_plain_password?)",
        ),
        (
            {"main.consumer.session_timeout_ms": "9000"},
            "Invalid value '9000' for configuration main.consumer.session_timeout_ms: Not a number",
        ),
        (
            {"num.standby.replica": 1},
            'No such configuration property: "num.standby.replica": '
            "did you mean num.standby.replicas instead of num.standby.replica?",
        ),
        ({1: 2}, "expected a dictionary of configuration keys, got 1 as one of them"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(config: dict[Any, Any], message: str) -> None:
    with pytest.raises(ConfigException) as error:
        StreamsConsumer({**BASE, **config}, TOPOLOGY, admin=False)
    assert message == str(error.value)


@pytest.mark.parametrize(("config", "kind"), [(None, "NoneType"), ([], "list")])
def test_a_configuration_that_is_no_dictionary_is_refused(config: Any, kind: str) -> None:
    with pytest.raises(ConfigException, match=f"expected a dictionary of configuration keys, got a {kind}"):
        StreamsConsumer(config, TOPOLOGY)


def test_a_key_password_that_is_no_text_is_refused(tmp_path: Path) -> None:
    key = {"security.protocol": "SSL", "ssl.certificate.location": str(tmp_path), "ssl.key.password": 4711}
    with pytest.raises(ConfigException, match=r"expected ssl\.key\.password as text, got a value of type int"):
        ConsumerSettings.of({**BASE, **key})


def test_a_list_as_topology_is_refused_before_any_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_consumer, "RecordFetcher", None)
    with pytest.raises(UsageError, match="expected a Topology, got a list: use"):
        StreamsConsumer(BASE, ["orders"])  # type: ignore[arg-type]


# -- a consumer of the user -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [KafkaPythonAssignor, AiokafkaAssignor], ids=["kafka-python", "aiokafka"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["orders"],), "expected a Topology, got a list: use Topology.of(Subtopology(sources=[...]), ...)"),
        (
            (TOPOLOGY, {"num.standby.replica": 1}),
            "unknown configuration ['num.standby.replica'] (did you mean num.standby.replicas?); known are ",
        ),
        (
            (TOPOLOGY, ["num.standby.replicas"]),
            "expected a StreamsConfig or a dictionary of Kafka's dotted names, got a list",
        ),
    ],
)
def test_an_argument_that_cannot_work_is_refused(
    make: Callable[..., ClientAdapter], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises((UsageError, ConfigException)) as error:
        make(*arguments)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("release", "message"),
    [("kip-286", "did you mean kip-268?"), (11, "expected a release or its name, as 'kip-268', got 11")],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda release: KafkaPythonAssignor(TOPOLOGY, release=release),
        lambda release: AiokafkaAssignor(TOPOLOGY, release=release),
        lambda release: StreamsConsumer(BASE, TOPOLOGY, release=release, admin=False),
    ],
    ids=["kafka-python", "aiokafka", "confluent-kafka"],
)
def test_a_release_that_there_is_not_is_refused(make: Callable[[Any], object], release: Any, message: str) -> None:
    with pytest.raises(UnknownRelease) as error:
        make(release)

    assert message in str(error.value)


def kafka_python_consumer(streams: KafkaPythonAssignor, **settings: Any) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=NOWHERE,
        group_id="billing",
        api_version=(2, 3),
        auto_offset_reset="earliest",
        partition_assignment_strategy=[streams],
        **settings,
    )


def test_kafka_python_itself_refuses_a_session_shorter_than_a_heartbeat() -> None:
    with pytest.raises(KafkaConfigurationError, match="Heartbeat interval must be lower than the session timeout"):
        kafka_python_consumer(KafkaPythonAssignor(TOPOLOGY), session_timeout_ms=3000)


@pytest.mark.parametrize(("password", "got"), [(None, "none: set it"), (4711, "a value of type int: put it in quotes")])
def test_bind_refuses_a_password_that_is_no_text(password: object, got: str) -> None:
    streams = KafkaPythonAssignor(TOPOLOGY)
    consumer = kafka_python_consumer(streams, **LOGIN, sasl_plain_password=password)
    try:
        with pytest.raises(ConfigException) as error:
            streams.bind(consumer)
    finally:
        consumer.close()
    assert f"expected sasl_plain_password {NO_TEXT} {got}" == str(error.value)


def aiokafka_error(**settings: Any) -> str:
    """``bind`` of aiokafka refuses these."""

    async def bind() -> None:
        streams = AiokafkaAssignor(TOPOLOGY)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=NOWHERE,
            group_id="billing",
            auto_offset_reset="earliest",
            partition_assignment_strategy=[streams],
            **settings,
        )
        try:
            streams.bind(consumer)
        finally:
            await consumer.stop()

    with pytest.raises(ConfigException) as error:
        asyncio.run(bind())
    return str(error.value)


def test_bind_refuses_what_aiokafka_accepts() -> None:
    """aiokafka would log in again and again, and its session would end before the first heartbeat."""
    assert (
        "Invalid value 3000 for configuration session_timeout_ms: expected more than heartbeat_interval_ms, which is "
        "3000; set heartbeat_interval_ms to 1000, a third of the session timeout, or less"
    ) == aiokafka_error(session_timeout_ms=3000)
    assert f"expected sasl_plain_password {NO_TEXT} a value of type int: put it in quotes" == aiokafka_error(
        **LOGIN, sasl_plain_password=4711
    )


# -- admin clients ----------------------------------------------------------------------------------------------------


def kafka_python_admin(**settings: Any) -> KafkaPythonAdmin:
    return KafkaPythonAdmin("billing", bootstrap_servers=NOWHERE, **settings)


def aiokafka_admin(**settings: Any) -> AiokafkaAdmin:
    async def make() -> AiokafkaAdmin:
        admin = AiokafkaAdmin("billing", bootstrap_servers=NOWHERE, replication_factor=1, **settings)
        await admin.close()
        return admin

    return asyncio.run(make())


@pytest.mark.parametrize("make", [kafka_python_admin, aiokafka_admin])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sasl_plain_pasword": SECRET}, "got sasl_plain_pasword (did you mean sasl_plain_password?)"),
        (LOGIN, f"expected sasl_plain_password {NO_TEXT} none: set it"),
        (
            {**LOGIN, "sasl_plain_password": 4711},
            f"expected sasl_plain_password {NO_TEXT} a value of type int: put it in quotes",
        ),
    ],
    ids=["misspelt", "none", "number"],
)
def test_an_admin_refuses_settings_that_cannot_work(
    make: Callable[..., object], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(StreamsAssignorError) as error:
        make(**settings)
    assert str(error.value).endswith(message)
    assert SECRET not in str(error.value)


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_no_secret_is_shown_by_settings_errors_and_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    member_only = {f"main.consumer.{name}": SECRET for name in ("sasl_plain_password", "ssl_password")}
    found = ConsumerSettings.of({**BASE, **PLAIN, "sasl.password": SECRET, **member_only})
    admin = kafka_python_admin(**LOGIN, sasl_plain_password=SECRET, bootstrap_timeout_ms=1)
    with pytest.raises(StreamsAssignorError) as error:
        admin.partition_counts(["orders"])
    logging.getLogger("kafka.net.connection").debug("Send: %r", b"\x00anna\x00" + SECRET.encode())
    shown = [repr(found), repr(found.member_settings), repr(found.admin_settings), repr(vars(admin)), repr(error.value)]

    assert SECRET == found.member_settings["sasl_plain_password"] == found.member_settings["ssl_password"]
    assert SECRET == found.admin_settings["sasl_plain_password"]
    assert not [text for text in [*shown, caplog.text] if SECRET in text]


# -- a source topic that the cluster does not have --------------------------------------------------------------------


class Leader(ClientAdapter):
    """A member that runs what it is to call later when told so."""

    def _prepare(self) -> None:
        self.later: list[Callable[[], None]] = []

    def rejoin(self) -> None: ...

    def leave_and_join(self) -> None: ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds
        self.later.append(call)

    def assign(self, *topics: str, complete: bool) -> None:
        subscriptions = {"a": self.subscription(TOPOLOGY.source_topics)}
        counts = dict.fromkeys(topics, 1)
        self.perform_assignment(ClusterSnapshot(partitions=counts, topics_complete=complete), subscriptions)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


WARNING = (
    "the cluster does not have refunds, which the topology names as a source: its tasks are not assigned; "
    "create the topic, or correct its name"
)


def test_a_leader_with_an_admin_warns_of_a_source_topic_that_does_not_exist(caplog: pytest.LogCaptureFixture) -> None:
    leader = Leader(TOPOLOGY)
    leader.assign("orders", "refunds", complete=True)
    assert [] == warnings(caplog)
    leader.assign("orders", complete=True)
    assert [WARNING] == warnings(caplog)


def test_a_leader_without_an_admin_warns_if_its_client_does_not_find_the_topic(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client looks up its topics after it has joined, and rejoins then."""
    leader = Leader(TOPOLOGY)
    leader.assign("orders", complete=False)
    leader.assign("orders", "refunds", complete=False)
    leader.later[0]()
    assert [] == warnings(caplog)
    leader.assign("orders", complete=False)
    leader.later[1]()
    assert [WARNING] == warnings(caplog)


def test_a_follower_does_not_warn_of_what_it_saw_as_leader(caplog: pytest.LogCaptureFixture) -> None:
    leader = Leader(TOPOLOGY)
    leader.assign("orders", complete=False)
    leader.subscription(TOPOLOGY.source_topics)
    leader.later[0]()
    assert [] == warnings(caplog)


def test_a_missing_module_of_another_library_is_not_renamed():
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as raised, importing("kafka", "confluent_kafka"):
        import no_such_module  # noqa: F401 - it does not exist

    assert not isinstance(raised.value, MissingExtraError)
