"""Runs the tests of a client library in a pytest of their own, in a temporary folder, on a real broker."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.lab.client_group_tests.sources import unpack
from tests.lab.client_group_tests.suites import Library
from tests.lab.integration.clusters import OLDER, Cluster
from tests.lab.integration.kafka_jars import class_path, java

PLUGINS: Final = Path(__file__).parent / "plugins"
_SETTINGS: Final = {
    "num.partitions": "2",  # aiokafka's tests count on it
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}
_TEST_SECONDS: Final = 300
_RUN_SECONDS: Final = 3600  # all of them on a busy machine


@frozen
class TestResult:
    """One test of a library."""

    __test__ = False  # pytest would collect it

    test: str
    """The file, class and method."""
    outcome: str
    """``passed``, ``failed`` or ``skipped``."""
    calls: int
    """The number of calls to our assignor."""
    why: str

    @property
    def suite(self) -> str:
        """The file."""
        return self.test.partition("::")[0]


def check_broker() -> None:
    """Raise ``Unavailable`` if there is no Java or Maven for a broker."""
    java(), class_path(f"org.apache.kafka:kafka_2.13:{OLDER}")


@contextmanager
def _broker() -> Iterator[str]:
    """The address of a new broker: topics and groups have the same names in each run of some tests."""
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder, Cluster(Path(folder)) as cluster:
        cluster.start(1, OLDER, settings=_SETTINGS)
        yield cluster.brokers


def run(library: Library, mode: str, only: Sequence[str] = ()) -> list[TestResult]:
    """Run the tests of a library in a mode of ``plugins/group_tests.py``; ``only`` names some of them."""
    with tempfile.TemporaryDirectory() as folder, _broker() as broker:
        root, found = Path(folder), Path(folder, "results.jsonl")
        unpack(library.source, library.tests, root / library.folder, library.added)
        Path(root, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        tests = [f"{library.folder}/{each}" for each in only or library.suites]
        plugins = ["-p", "group_tests", "-p", library.plugin, "-p", "no:cacheprovider", "-p", "no:xdist"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *plugins, *library.options, f"--timeout={_TEST_SECONDS}", *tests],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": str(PLUGINS),
                "PYTEST_ADDOPTS": "",  # an option of our plug-ins is unknown there
                "GROUP_TESTS_MODE": mode,
                "GROUP_TESTS_RESULTS": str(found),
                "GROUP_TESTS_BROKER": broker,
                "KAFKA_ROOT": folder,  # their fixture wants a folder even for a broker that is there
                "KAFKA_URI": f"kafka://{broker}",
                "KAFKA_VERSION": OLDER,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_RUN_SECONDS,
        )
        assert found.exists(), done.stdout[-3000:]
        return [TestResult(**json.loads(line)) for line in found.read_text(encoding="utf-8").splitlines()]
