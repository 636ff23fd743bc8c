"""Storages on this machine, each a process of its own: S3 (moto) and HDFS (Hadoop's MiniDFSCluster)."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec

from spark_sim.sweep.spark.session import LOOPBACK
from tests.lab.integration.kafka_jars import Unavailable, class_path, java

HADOOP = "3.5.0"
"""The version that Spark 4.3.0 contains."""
MINICLUSTER = (
    f"org.apache.hadoop:hadoop-minicluster:{HADOOP}",
    "org.junit.jupiter:junit-jupiter-api:5.13.4",
    "org.mockito:mockito-core:4.11.0",
)
"""Its classes for tests use the other two without declaring them."""
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
MOTO = """
import logging, sys
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel("ERROR")
server = ThreadedMotoServer(sys.argv[1], 0, verbose=False)
server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
SECONDS_TO_START = 120


def s3_settings(address):
    """Return Spark's settings for ``s3a:`` on a server; on the driver's class path, because these jars are 690 MB."""
    jars = class_path(f"org.apache.hadoop:hadoop-aws:{HADOOP}").split(os.pathsep)
    return {
        "spark.driver.extraClassPath": os.pathsep.join(each for each in jars if "slf4j" not in each),
        "spark.hadoop.fs.s3a.endpoint": address,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


@contextmanager
def s3_store(bucket):
    """Start moto with an empty bucket; yield its address."""
    if find_spec("moto") is None:
        raise Unavailable("no moto (pip install 'streams-assignor[stores]')")
    with _until_the_end([sys.executable, "-c", MOTO, LOOPBACK], stdout=subprocess.PIPE) as process:
        address = "http://{}:{}".format(*process.stdout.readline().split())
        urllib.request.urlopen(urllib.request.Request(f"{address}/{bucket}", method="PUT"), timeout=60).close()
        yield address


@contextmanager
def hdfs_store(folder):
    """Start HDFS with one data node; yield its URI."""
    jars = os.pathsep.join(map(class_path, MINICLUSTER))
    details = folder / "details.json"
    options = ("-nomr", "-format", "-datanodes", "1", "-nnport", "0", "-nnhttpport", "0", "-writeDetails", str(details))
    light = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dtest.build.data={folder / 'data'}")
    main = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
    command, log = [java(), *light, "-cp", jars, main, *options], folder / "hdfs.log"
    with (
        log.open("wb") as stream,
        _until_the_end(command, cwd=folder, stdout=stream, stderr=stream) as process,
    ):
        until = time.monotonic() + SECONDS_TO_START
        while not details.exists() or not details.read_text():
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.1)
        yield f"hdfs://{LOOPBACK}:{json.loads(details.read_text())['namenode_port']}"


@contextmanager
def _until_the_end(command, **how):
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **how) as process:
        try:
            yield process
        finally:
            process.kill()
