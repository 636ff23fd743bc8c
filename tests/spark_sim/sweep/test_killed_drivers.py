"""Drivers of a cluster and of a Connect server that are killed: the same command resumes, with identical exports."""

import pytest

from tests.spark_sim.sweep import drivers
from tests.spark_sim.sweep.spark_cluster import cluster, connect_server

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.matrix(reason="a cluster and a Connect server; test_sweep.py kills and resumes on processes"),
]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    drivers.run("sweep", *drivers.SMALL, "--master", "processes", "--out", folder)
    return {name: (folder / name).read_bytes() for name in drivers.EXPORTS}


def killed_and_resumed(out, *how, environment=None):
    command = ("sweep", *drivers.SMALL, "--out", out, *how)
    drivers.kill_in_the_middle(*command, environment=environment)
    printed = drivers.run(*command, environment=environment)

    assert f"of {drivers.UNITS} units are finished" in printed
    return {name: (out / name).read_bytes() for name in drivers.EXPORTS}


def test_a_killed_driver_of_a_cluster_is_resumed(undisturbed, tmp_path):
    with cluster(tmp_path / "cluster") as started:
        found = killed_and_resumed(tmp_path / "out", "--master", started.url, *drivers.LIGHT)

    assert undisturbed == found


def test_a_killed_client_of_spark_connect_is_resumed(undisturbed, tmp_path):
    """The server may go on with the jobs of the killed client; the client has no Java."""
    pytest.importorskip("grpc")
    with connect_server(tmp_path / "server") as address:
        found = killed_and_resumed(
            tmp_path / "out", "--remote", address, environment={"JAVA_HOME": str(tmp_path / "none")}
        )

    assert undisturbed == found
