"""What is recorded of the group tests of client libraries fits the tables, without running any."""

from tests.lab.client_group_tests.measure import recorded, recorded_rows
from tests.lab.client_group_tests.suites import LIBRARIES


def test_every_file_is_recorded():
    files = {(library.name, suite.partition("::")[0]) for library in LIBRARIES for suite in library.suites}

    assert files == {row.key for row in recorded_rows()}


def test_every_failure_is_listed_and_every_listed_test_has_failed():
    for library in LIBRARIES:
        kept = recorded()[library.name]
        rows = [row for row in recorded_rows() if row.library == library.name]

        assert kept["listed"] == dict(library.listed)
        assert len(kept["listed"]) == sum(row.control - row.passed for row in rows)
        assert len(kept["control"]) == sum(row.total - row.control for row in rows)


def test_every_library_reaches_the_assignor():
    for library in LIBRARIES:
        kept = recorded()[library.name]
        rows = [row for row in recorded_rows() if row.library == library.name]

        assert len(kept["reaching"]) == sum(row.canary for row in rows) > 0
        assert sum(row.calls for row in rows) > 0


def test_the_recorded_release_is_that_of_the_tests():
    assert {library.name: library.release for library in LIBRARIES} == {
        name: each["release"] for name, each in recorded().items()
    }
