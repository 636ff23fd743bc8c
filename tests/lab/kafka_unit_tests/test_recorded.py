"""What is recorded of Kafka's own unit tests fits the tables, without running any."""

from tests.lab.kafka_unit_tests.measure import all_suites, recorded, recorded_rows
from tests.lab.kafka_unit_tests.suites import LISTED, listed


def test_every_test_class_is_recorded():
    assert {(bridge.name, suite, release) for bridge, suite, release in all_suites()} == set(recorded_rows())


def test_every_test_class_reaches_python():
    assert [] == [row.key for row in recorded_rows().values() if not (row.canary and row.calls)]


def test_every_failure_is_listed():
    failed = {(row["bridge"], row["suite"], test) for row in recorded()["rows"] for test in row["listed"]}

    assert [] == [each for each in failed if not listed(*each)]
    assert [] == [row.key for row in recorded_rows().values() if row.total - row.passed != len(_reasons(row.key))]


def test_every_listed_test_has_failed():
    failed = {(row["bridge"], row["suite"], test) for row in recorded()["rows"] for test in row["listed"]}
    names = {(bridge, suite, name) for bridge, suite, test in failed for name in (test, test.partition("[")[0])}

    assert [] == [(*key, test) for key, tests in LISTED.items() for test in tests if (*key, test) not in names]


def test_every_test_class_passes_with_kafkas_own_classes():
    controls = recorded()["controls"]
    for _, suite, release in all_suites():
        control = controls[release]["suites"][suite]

        assert control["total"] == control["passed"] > 0
        assert {control["total"]} == {row.total for row in recorded_rows().values() if row.key[1:] == (suite, release)}


def _reasons(key):
    return next(row["listed"] for row in recorded()["rows"] if (row["bridge"], row["suite"], row["release"]) == key)
