"""A pytest plug-in with the fixture ``mock_cluster``. pytest loads it by itself (entry point ``pytest11``).

    @pytest.mark.mock_cluster(topics={"orders": 3})
    def test_it_adds_up_all_orders(mock_cluster):
        settings = {"bootstrap.servers": mock_cluster.bootstrap_servers}

It imports nothing but pytest until a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from streams_assignor.clients.mock_cluster import MockCluster

_MARKER: Final = "mock_cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, which ``--strict-markers`` asks for."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(brokers=1, *, topics={{}}, ...): the arguments of MockCluster for the fixture mock_cluster",
    )


@pytest.fixture
def mock_cluster(request: pytest.FixtureRequest) -> Iterator[MockCluster]:
    """A running Kafka cluster inside this process, new for each test; the marker ``mock_cluster`` has its arguments."""
    from streams_assignor.clients.mock_cluster import MockCluster, MockClusterError

    marker = request.node.get_closest_marker(_MARKER)
    args, kwargs = (marker.args, marker.kwargs) if marker else ((), {})
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(MockCluster(*args, **kwargs))
        except (MockClusterError, TypeError) as error:
            pytest.fail(f"mock_cluster: {error}", pytrace=False)
        yield cluster
