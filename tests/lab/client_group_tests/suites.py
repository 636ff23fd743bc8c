"""Which tests of which client library run, and which of them fail with our assignor."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from attrs import field, frozen

from tests.lab.client_group_tests.sources import Repository, Source, SourceDistribution
from tests.lab.integration.kafka_jars import Unavailable


@frozen
class Library:
    """The tests of one release of a client library."""

    name: str
    release: str
    source: Source
    tests: str
    """The folder of tests in the source."""
    folder: str
    """The name of that folder where it is unpacked."""
    plugin: str
    """A module in ``plugins/``."""
    suites: tuple[str, ...]
    """Files, or single tests, that concern groups."""
    options: tuple[str, ...] = ()
    added: Mapping[str, str] = field(factory=dict)
    """Files that its tests import, and the source lacks."""
    listed: Mapping[str, str] = field(factory=dict)
    """Tests that pass with the library's own assignor and fail with ours, each with the reason."""

    def check_installed(self) -> None:
        """Raise ``Unavailable`` if another release of the library is installed than the one of these tests."""
        try:
            found = version(self.name)
        except PackageNotFoundError:
            found = "none"
        if found != self.release:
            raise Unavailable(f"expected {self.name} {self.release}, found {found} (install the release of the tests)")


_SERVICE: Final = '''\
"""Stands in for a file of kafka-python that its source distribution lacks. The broker is external."""


class ExternalService:
    def __init__(self, host, port):
        pass


class SpawnedService:
    pass
'''
KAFKA_PYTHON: Final = Library(
    name="kafka-python",
    release="3.0.12",
    source=SourceDistribution("kafka-python", "3.0.12"),
    tests="kafka_python-3.0.12/test",
    folder="test",
    plugin="kafka_python_tests",
    suites=(
        "integration/test_consumer_integration.py",
        "integration/test_admin_integration.py::test_describe_group_exists",
        "integration/test_admin_integration.py::test_delete_groups",
        "integration/test_admin_integration.py::test_delete_groups_with_errors",
    ),
    added={"__init__.py": "", "service.py": _SERVICE},
)
AIOKAFKA: Final = Library(
    name="aiokafka",
    release="0.14.0",
    source=Repository(
        "aiokafka",
        "0.14.0",
        "https://github.com/aio-libs/aiokafka.git",
        "v0.14.0",
        "672947afe85c91b7d953f0259e69837a711d3246",
        "STREAMS_ASSIGNOR_AIOKAFKA_REPOSITORY",
    ),
    tests="tests",
    folder="theirs",  # `tests` is the name of the package of this file
    plugin="aiokafka_tests",
    suites=("test_consumer.py", "test_coordinator.py", "test_pep492.py", "test_transactional_consumer.py"),
    options=("--no-pull", "--docker-image=broker:2.13_3.9.2"),
)
LIBRARIES: Final = (KAFKA_PYTHON, AIOKAFKA)
