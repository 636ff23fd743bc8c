"""Storages on this machine, each a process of its own: S3 (moto) and HDFS (Hadoop's MiniDFSCluster)."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Thread

from streams_assignor.spark_sim.sweep.spark.session import LOOPBACK
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


class FailingStore:
    """S3 (moto) in this process: from one change on, it answers every request with an error, or hangs up."""

    def __init__(self, bucket):
        if find_spec("moto") is None:
            raise Unavailable("no moto (pip install 'streams-assignor[stores]')")
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        logging.getLogger("werkzeug").setLevel("ERROR")
        from werkzeug.serving import make_server

        self._store = DomainDispatcherApplication(create_backend_app)
        self._fault, self._first, self._changes = "", 0, 0
        self._server = make_server(LOOPBACK, 0, self, threaded=True)
        Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://{LOOPBACK}:{self._server.port}"
        urllib.request.urlopen(urllib.request.Request(f"{self.address}/{bucket}", method="PUT"), timeout=60).close()

    def __call__(self, environment, start):
        self._changes += environment["REQUEST_METHOD"] in {"PUT", "POST", "DELETE"}
        if not self._fault or self._changes < self._first:
            return self._store(environment, start)
        if self._fault == "hangs up":
            environment["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionError
        start("500 Internal Server Error", [("Content-Type", "application/xml")])
        return [b"<Error><Code>InternalError</Code><Message>an internal error</Message></Error>"]

    @contextmanager
    def failing(self, fault, first):
        """Fail from this change on, meanwhile."""
        self._fault, self._first, self._changes = fault, first, 0
        try:
            yield
        finally:
            self._fault = ""

    def close(self):
        self._server.shutdown()
        self._server.server_close()


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


def put_into_hdfs(folder, uri, scratch):
    """Copy what is in a local folder to a new folder in HDFS; its shell wants files of settings, if only empty ones."""
    for name in ("core-site.xml", "hdfs-site.xml"):
        (scratch / name).write_text("<configuration/>")
    jars = os.pathsep.join([str(scratch), *map(class_path, MINICLUSTER)])
    for command in (["-mkdir", "-p", uri], ["-put", *map(str, folder.iterdir()), uri]):
        shell = [java(), "-Xmx256m", "-cp", jars, "org.apache.hadoop.fs.FsShell", *command]
        done = subprocess.run(shell, capture_output=True, text=True, timeout=SECONDS_TO_START)
        assert done.returncode == 0, done.stderr


@contextmanager
def _until_the_end(command, **how):
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **how) as process:
        try:
            yield process
        finally:
            process.kill()
