"""The recipes of docs/reference/tables.md give what the results give, in every reader that is installed."""

import re
from pathlib import Path

import pytest

from spark_sim.pipeline.suites import upgrade_suite
from spark_sim.pipeline.sweep import run_sweep
from spark_sim.pipeline.tables.schema import TABLES
from spark_sim.pipeline.work_units import SweepConfig
from upgrade.plans import kip_268_plans
from upgrade.releases import release_named

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "tables.md"
RECIPES = dict(re.findall(r"<!-- recipe: (\S+) -->\n```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
UPGRADES = tuple(
    plan for origin in ("1.1", "2.0") for plan in kip_268_plans(release_named(origin), release_named("2.0"))
)
CONFIG = SweepConfig(members=2, wait_for_quiescence=True, runs=1, deviations=True)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes") / "out"
    return folder, run_sweep(upgrade_suite("recipes", UPGRADES, CONFIG), folder).results


@pytest.fixture(scope="module")
def expected(swept):
    """The answers, made of the results and not of the tables."""
    _, results = swept
    one_bounce = [each for each in results if each.upgrade.plan.value == "one_bounce" and each.holds]
    broken = [(each, each.deviations.get("never_removed")) for each in results]
    unsafe = [each.upgrade.target.name for each in results if each.verdict == "unsafe"]
    return {
        "safe-one-bounce": sorted((each.upgrade.origin.name, each.verdict) for each in one_bounce),
        "never-removed": [
            (each.upgrade.origin.name, each.upgrade.target.name, found.violated, found.example)
            for each, found in broken
            if found and found.verdict == "unsafe"
        ],
        "breaks-most": [
            (name, unsafe.count(name)) for name in sorted(set(unsafe), key=lambda n: (-unsafe.count(n), n))
        ],
    }


def test_the_recipes_have_something_to_find(expected):
    assert RECIPES.keys() == expected.keys()
    assert expected["breaks-most"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_in_duckdb(swept, expected, name):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"create view {table} as select * from '{swept[0]}/{table}/*.parquet'")

    assert expected[name] == connection.execute(RECIPES[name]).fetchall()


@pytest.mark.spark
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_in_spark_sql(spark, swept, expected, name):
    for table in TABLES:
        spark.read.parquet(f"{swept[0]}/{table}").createOrReplaceTempView(table)

    assert expected[name] == [tuple(row) for row in spark.sql(RECIPES[name]).collect()]


def test_the_recipe_in_pandas(swept, expected):
    pandas = pytest.importorskip("pandas")
    upgrades, kinds = (pandas.read_parquet(swept[0] / name) for name in ("upgrades", "kinds"))
    joined = upgrades.merge(kinds, on="kind_id")

    counted = joined[joined.verdict == "unsafe"].groupby("to_release").size().sort_values(ascending=False)

    assert expected["breaks-most"] == list(counted.items())
