"""The recipes of docs/reference/tables.md give what the results give, in every reader that is installed."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.spark_sim.sweep.suites import upgrade_suite, upgrades_between
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.spark_sim.sweep.work_units import DeviationUnit, SweepConfig

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "tables.md"
TEXT = PAGE.read_text(encoding="utf-8")
RECIPES, IN_PANDAS = (
    dict(re.findall(rf"<!-- recipe: (\S+) -->\n```{language}\n(.*?)```", TEXT, re.DOTALL))
    for language in ("sql", "python")
)
UPGRADES = (
    *(plan for origin in ("1.1", "2.4", "3.9") for plan in upgrades_between(origin, "4.3")),
    *upgrades_between("1.1", "2.0"),
    *upgrades_between("0.10.0", "2.0", "two_bounces", "1.1"),
)
CONFIG = SweepConfig(members=2, wait_for_quiescence=True, runs=1, deviations=True)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The recipes ask for one deviation only; the others take a minute."""
    folder, suite = tmp_path_factory.mktemp("recipes") / "out", upgrade_suite("recipes", UPGRADES, CONFIG)
    asked = [unit for unit in suite.units if not isinstance(unit, DeviationUnit) or unit.key.endswith("never_removed")]
    return folder, run_sweep(evolve(suite, units=tuple(asked)), folder).results


@pytest.fixture(scope="module")
def expected(swept):
    """The answers, made of the results and not of the tables."""
    _, results = swept
    one_bounce = [each for each in results if each.upgrade.plan.value == "one_bounce" and each.holds]
    broken = [(each, each.deviations.get("never_removed")) for each in results]
    unsafe = [each.upgrade.target.name for each in results if each.verdict == "unsafe"]
    return {
        "safe-one-bounce": [
            (each.upgrade.origin.name, each.upgrade.target.name, each.verdict)
            for each in one_bounce
            if each.upgrade.target.line == "4.3"
        ],
        "never-removed": [
            (
                *(each.upgrade.origin.name, each.upgrade.target.name, each.upgrade.upgrade_from),
                *(each.verdict, found.property, found.example),
            )
            for each, found in broken
            if found and found.verdict == "unsafe"
        ],
        "breaks-most": [
            (name, unsafe.count(name)) for name in sorted(set(unsafe), key=lambda n: (-unsafe.count(n), n))
        ],
    }


def test_the_recipes_have_something_to_find(expected):
    assert RECIPES.keys() == IN_PANDAS.keys() == expected.keys()
    assert [("2.4.1", "4.3.1", "safe-if"), ("3.9.2", "4.3.1", "safe")] == expected["safe-one-bounce"]
    assert [("0.10.0.1", "2.0.1", "1.1")] == [row[:3] for row in expected["never-removed"]]
    assert [("2.0.1", 2), ("4.3.1", 2)] == expected["breaks-most"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_in_duckdb(swept, expected, name):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"create view {table} as select * from '{swept[0]}/{table}/*.parquet'")

    assert expected[name] == connection.execute(RECIPES[name]).fetchall()


@pytest.mark.spark
class TestOnSpark:
    @pytest.mark.parametrize("name", RECIPES)
    def test_a_recipe_in_spark_sql(self, spark, swept, expected, name):
        for table in TABLES:
            spark.read.parquet(f"{swept[0]}/{table}").createOrReplaceTempView(table)

        assert expected[name] == [tuple(row) for row in spark.sql(RECIPES[name]).collect()]


@pytest.mark.parametrize("name", IN_PANDAS)
def test_a_recipe_in_pandas(swept, expected, name):
    pandas = pytest.importorskip("pandas")
    names = {table: pandas.read_parquet(swept[0] / table) for table in TABLES}

    exec(IN_PANDAS[name], names)  # the page is ours

    assert expected[name] == list(names["answer"].itertuples(index=False, name=None))
