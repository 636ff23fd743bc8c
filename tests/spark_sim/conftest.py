"""A Spark session, and a real browser for the pages."""

import pytest

from streams_assignor.spark_sim.model.member import clear_memo
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from tests.browser import open_browser


@pytest.fixture(autouse=True)
def mutants_leave_nothing(request):
    """Forget what members of a changed code answered: they are asked by value, so later tests would be told it too."""
    yield
    if "monkeypatch" in request.fixturenames:
        clear_memo()


@pytest.fixture(scope="module")
def spark():
    """The session of the tests of a file."""
    with spark_session("local[2]", print) as session:
        yield session


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser
