from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.integration.applications import Application
from tests.lab.integration.brokers import a_broker
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.secure_cluster import SecureCluster, secure_cluster
from tests.lab.integration.subprocesses import JavaMember, JavaStreams


@pytest.fixture(name="broker", scope="session")
def fixture_broker() -> Iterator[str]:
    """Bootstrap address of a real broker."""
    with ExitStack() as stack:
        try:
            address = stack.enter_context(a_broker())
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")
        yield address


@pytest.fixture(name="secure", scope="session")
def fixture_secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    """A real broker with TLS, SASL and ACLs."""
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(secure_cluster(tmp_path_factory.mktemp("secure")))
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")
        yield cluster


@pytest.fixture(name="application")
def fixture_application(broker: str) -> Application:
    return Application(broker)


@pytest.fixture(name="java_streams")
def fixture_java_streams(application: Application, tmp_path: Path) -> Iterator[JavaStreams]:
    """Starts Kafka Streams, of a given release, as a member of the application."""
    with ExitStack() as stack:

        def start(release: str) -> JavaMember:
            try:
                counting(release)
            except Unavailable as missing:
                pytest.skip(f"no Kafka Streams {release}: {missing}")
            return stack.enter_context(application.java(release, tmp_path / "state"))

        yield start
