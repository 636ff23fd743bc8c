"""``plan --app`` on an archive of a hundred megabytes: how long it reads, and how much memory it takes.

    python -m tests.lab.bench.bench_application

The archive is made of 23 libraries from Maven in the form of Spring Boot: 100 MB of jars with 50,000 classes, almost
all compressed code, and spring-kafka beside them. A jar of natives would be read faster. Needs Maven.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final
from zipfile import ZIP_STORED, ZipFile

from streams_assignor.upgrade.application.code_report import judge_code
from streams_assignor.upgrade.releases import RELEASES
from tests.lab.integration.kafka_jars import cache_folder
from tests.lab.releases.artifacts import Artifact, copy_artifacts

LIBRARIES: Final = (
    "com.fasterxml.jackson.core:jackson-databind:2.10.5.1",
    "com.google.guava:guava:33.4.8-jre",
    "net.bytebuddy:byte-buddy:1.15.4",
    "org.apache.commons:commons-math3:3.6.1",
    "org.apache.curator:curator-client:5.2.0",
    "org.apache.hadoop.thirdparty:hadoop-shaded-guava:1.5.0",
    "org.apache.hadoop.thirdparty:hadoop-shaded-protobuf_3_25:1.5.0",
    "org.apache.hadoop:hadoop-client-api:3.5.0",
    "org.apache.hadoop:hadoop-common:3.5.0",
    "org.apache.hadoop:hadoop-hdfs-client:3.5.0",
    "org.apache.hadoop:hadoop-hdfs:3.5.0",
    "org.apache.hadoop:hadoop-mapreduce-client-core:3.5.0",
    "org.apache.hadoop:hadoop-yarn-api:3.5.0",
    "org.apache.hadoop:hadoop-yarn-common:3.5.0",
    "org.apache.hadoop:hadoop-yarn-server-common:3.5.0",
    "org.apache.hadoop:hadoop-yarn-server-resourcemanager:3.5.0",
    "org.apache.logging.log4j:log4j-core:2.25.4",
    "org.bouncycastle:bcprov-jdk18on:1.82",
    "org.eclipse.persistence:org.eclipse.persistence.core:2.7.14",
    "org.junit.platform:junit-platform-console-standalone:1.13.1",
    "org.scala-lang:scala-library:2.13.18",
    "org.scala-lang:scala-reflect:2.13.17",
    "org.springframework.kafka:spring-kafka:2.7.14",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
)
ROUNDS: Final = 3


def main() -> None:
    """Print the CPU seconds of each round, and the peak of memory; each round has a process of its own."""
    if len(sys.argv) == 2:
        _measure(Path(sys.argv[1]))
        return
    folder = cache_folder() / "linkage"
    wanted = [Artifact(*each.split(":")) for each in LIBRARIES]
    copy_artifacts(wanted, folder)
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch, "orders-1.0.jar")
        with ZipFile(archive, "w", ZIP_STORED) as jar:
            for each in wanted:
                jar.write(folder / each.file_name, f"BOOT-INF/lib/{each.file_name}")
        print(f"{archive.stat().st_size:,} bytes")
        for _ in range(ROUNDS):
            subprocess.run([sys.executable, "-m", "tests.lab.bench.bench_application", str(archive)], check=True)


def _measure(archive: Path) -> None:
    started = time.process_time()
    found = judge_code([archive], RELEASES["2.8.2"], RELEASES["4.4.0"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = time.process_time() - started
    print(f"{found.seen:,} classes, {len(found.linkage.new_problems)} lost: {took:.2f} s of CPU, {peak / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
