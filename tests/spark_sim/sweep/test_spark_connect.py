"""A sweep over Spark Connect, with a real server and nothing of the JVM in the client."""

import subprocess
import sys
from pathlib import Path

import pytest

from streams_assignor.spark_sim.sweep.spark.java import find_java
from streams_assignor.spark_sim.sweep.spark.session import LOOPBACK
from streams_assignor.spark_sim.sweep.suites import broker_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from tests.spark_sim.sweep.drivers import light_site

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
PAIR = ("4.1", "4.2")
CLIENT = """
import sys
from streams_assignor import spark_sim
from pyspark.sql import SparkSession
from streams_assignor.spark_sim.sweep.suites import broker_suite

spark = SparkSession.builder.remote("local[2]").getOrCreate()
found = streams_assignor.spark_sim.sweep(spark, broker_suite([("4.1", "4.2")], nodes=1, faults=0), out=sys.argv[1])
joined = found["upgrades"].join(found["kinds"], "kind_id")
print("joined", joined.count(), type(spark).__module__)
streams_assignor.spark_sim.register(spark)
read = spark.read.format("rolling_bounces").options(**{"from": "1.1", "to": "2.0", "members": "1", "table": "kinds"})
print("computed", sorted(row["verdict"] for row in read.load().collect()))
spark.stop()
"""


def test_a_sweep_over_spark_connect_writes_the_tables_of_plain_processes(tmp_path):
    """Its own process: one with a session of the other sort cannot have this one."""
    pytest.importorskip("grpc")
    suite = broker_suite([PAIR], nodes=1, faults=0)
    run_sweep(suite, tmp_path / "processes")
    variables = {"JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, (tmp_path / "connect").as_uri()],
        cwd=ROOT,
        env=environment | variables | light_site(tmp_path),
        capture_output=True,
        text=True,
    )

    assert 0 == done.returncode, done.stderr[-3000:]
    assert f"joined {len(suite.cells)} pyspark.sql.connect.session" in done.stdout
    assert "computed ['safe', 'safe', 'safe']" in done.stdout
    for name in TABLES:
        stored = [sorted(map(repr, LocalTables(tmp_path / each).read(name))) for each in ("processes", "connect")]
        assert stored[0] == stored[1]
