"""A Spark session on this machine, for the tests of one file."""

import pytest

from spark_sim.pipeline.spark.session import spark_session


@pytest.fixture(scope="module")
def spark():
    with spark_session("local[2]", print) as session:
        yield session
