"""Tables that are computed when they are read are those that a sweep stores."""

import pickle

import pytest
from pyspark.sql.datasource import EqualTo

from streams_assignor import spark_sim
from streams_assignor.spark_sim.sweep.spark._data_source import RollingBounces
from streams_assignor.spark_sim.sweep.suites import broker_suite, pair_suite, upgrades_between
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.computed import OptionError, TableRequest
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.spark_sim.sweep.work_units import SweepConfig, default_config
from streams_assignor.upgrade.plans import all_upgrades

PAIR = {"from": "1.1", "to": "2.0", "members": "2"}
WRONG = [
    ({"matrix": "kip"}, "expected matrix to be one of kip-268, all, brokers, history, streams, roll, got 'kip'"),
    ({"table": "Runs"}, "expected table to be one of kinds, runs, counterexamples, deviations, upgrades, got 'Runs'"),
    (
        {"memory": "1g"},
        "expected the options matrix, from, to, plan, upgrade.from, members, table, pushFilters, got memory",
    ),
    ({"from": "1.1"}, "an upgrade has the options from and to: to is missing"),
    ({"matrix": "all", "plan": "offline"}, "matrix names all upgrades: leave out plan"),
    ({"matrix": "history", "members": "4"}, "matrix history defines its members: leave out members"),
    ({"members": "many"}, "expected members from 1 to 1000 (5 and fewer are explored, more are sampled), got 'many'"),
    ({"members": "0"}, "got '0'"),
    ({**PAIR, "plan": "three"}, "expected plan to be one of one_bounce, two_bounces, offline, got 'three'"),
    ({**PAIR, "from": "9.9"}, "unknown release '9.9'"),
    ({**PAIR, "upgrade.from": "2"}, "does not start with upgrade.from=2"),
]


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    """Slices of one kind, so that there are some."""
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.COST_OF_A_TASK", 1)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Two pairs of releases, with deviations: kinds share units."""
    folder = tmp_path_factory.mktemp("stored")
    run_sweep(SUITE, folder)
    return LocalTables(folder)


SUITE = pair_suite(
    [*upgrades_between("1.1", "2.0"), *upgrades_between("2.0", "2.1")],
    SweepConfig(members=2, wait_for_quiescence=True, runs=3, deviations=True),
)


LARGE = {"kinds", "runs", "counterexamples", "deviations"}
"""Tables that are computed for ten seconds."""


def ordered(rows):
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else []) for name in TABLES]
)
def test_slices_have_the_rows_of_a_sweep(swept, name):
    slices = pickle.loads(pickle.dumps(TableRequest(TABLES[name], lambda: SUITE).slices()))

    assert (len(slices) == 1) == (name == "upgrades")
    assert ordered(swept.read(name)) == ordered(row for part in slices for row in part.rows())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["upgrades", "kinds"])
def test_slices_of_brokers_have_the_rows_of_a_sweep(tmp_path, name):
    suite = broker_suite([("4.1", "4.2")], nodes=1, faults=0)
    run_sweep(suite, tmp_path)

    found = [row for part in TableRequest(TABLES[name], lambda: suite).slices() for row in part.rows()]

    assert ordered(LocalTables(tmp_path).read(name)) == ordered(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LARGE))
def test_only_what_a_wanted_kind_needs_is_computed(swept, name):
    request = TableRequest(TABLES[name], lambda: SUITE)
    kinds = sorted({row["kind_id"] for row in swept.read("upgrades")})
    all_units = {key for part in request.slices() for key, _ in part.units}
    for wanted in kinds:
        slices = request.slices(lambda kind, wanted=wanted: kind == wanted)
        rows = [row for part in slices for row in part.rows() if row["kind_id"] == wanted]

        assert ordered(rows) == ordered(row for row in swept.read(name) if row["kind_id"] == wanted)
        assert {key for part in slices for key, _ in part.units} < all_units


@pytest.mark.slow
def test_a_filter_on_the_kind_is_taken_from_spark():
    reader = RollingBounces(PAIR | {"table": "kinds", "pushFilters": "true"}).reader(None)
    slices = reader.partitions()
    kinds = {row["kind_id"] for part in slices for batch in reader.read(part) for row in batch.to_pylist()}
    wanted, verdict = EqualTo(("kind_id",), min(kinds)), EqualTo(("verdict",), "safe")
    left = list(reader.pushFilters([wanted, verdict]))
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]

    assert left == [verdict]
    assert len(reader.partitions()) < len(slices)
    assert {min(kinds)} == {row["kind_id"] for row in rows}


def test_options_name_a_sweep():
    pair = TableRequest.parse(PAIR | {"PLAN": "two_bounces", "upgrade.from": "1.1", "Table": "kinds"})

    assert ("kinds", ["two_bounces"]) == (pair.table.name, [each.plan.value for each in pair.suite.cells])
    assert pair.suite.units[0].packed_cell.members == 2
    assert 84 == len(TableRequest.parse({}).suite.cells)
    assert 4 == TableRequest.parse({"members": "4"}).suite.units[0].packed_cell.members
    assert "brokers" == TableRequest.parse({"matrix": "brokers"}).suite.kind


@pytest.mark.slow
def test_all_is_every_pair_of_releases():
    assert len(all_upgrades()) == len(TableRequest.parse({"matrix": "all"}).suite.cells)


def test_larger_groups_are_sampled_without_deviations():
    assert not default_config("kip-268", 9).deviations
    assert 9 == TableRequest.parse({"members": "9"}).suite.units[0].batch.members


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_option_is_one_sentence(options, message):
    with pytest.raises(OptionError) as raised:
        TableRequest.parse(options)

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture(autouse=True)
    def _registered(self, spark):
        spark_sim.register(spark)

    @pytest.mark.parametrize("name", TABLES)
    def test_a_table_is_read_with_its_schema(self, spark, name):
        frame = spark.read.format("rolling_bounces").options(**PAIR, table=name).load()
        expected = TableRequest.parse(PAIR | {"table": name})

        assert frame.schema == spark.createDataFrame([], expected.table.ddl()).schema
        rows = [row for part in expected.slices() for row in part.rows()]
        assert ordered(rows) == ordered(row for batch in frame.toArrow().to_batches() for row in batch.to_pylist())

    def test_sql_reads_it_too(self, spark):
        for name in ("upgrades", "kinds"):
            upgrade = "`from` '1.1', `to` '2.0', plan 'two_bounces', upgrade.from '1.1', members '2'"
            options = f"options ({upgrade}, table '{name}')"
            spark.sql(f"create or replace temporary view {name} using rolling_bounces {options}")
        (row,) = spark.sql("select upgrade_from, verdict from upgrades join kinds using (kind_id)").collect()

        assert ("1.1", "safe") == (row["upgrade_from"], row["verdict"])

    def test_a_wrong_option_is_named_by_the_error_of_spark(self, spark):
        with pytest.raises(Exception, match=r"OptionError: expected matrix to be one of .*, got 'kip'"):
            spark.read.format("rolling_bounces").option("matrix", "kip").load()
