"""What Kafka's own codec takes on the JVM: a yardstick for ours, on the very same bytes.

    python -m tests.lab.bench.jvm_codec

Takes about a minute and a half. The numbers are of one machine at one moment; compare only within one run.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import class_path, java

RELEASE = "4.3.1"
TIMES = ("encode_ns", "build_encode_ns", "decode_ns", "decode_read_ns")
_SOURCE = Path(__file__).parent / "java/CodecTiming.java"


def timings() -> list[dict[str, Any]]:
    """``what``, ``size``, ``bytes``, ``hex`` and the `TIMES` of each message; `Unavailable` without Java or the jars.

    The words are explained in `CodecTiming`.
    """
    java()  # before Maven is asked for a lot
    jars = class_path(f"org.apache.kafka:kafka-streams:{RELEASE}")
    with tempfile.TemporaryDirectory(prefix="codec-timing-") as classes:
        compile_java([_SOURCE], classes, jars)
        # Not the small Java of the tests: that one stops at the first of its two compilers.
        command = [java(), "-Xms1g", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp"]
        done = subprocess.run(
            [*command, f"{classes}{os.pathsep}{jars}", "CodecTiming"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    print(f"microseconds, kafka-streams {RELEASE}")
    print(f"{'message':<20}{'bytes':>9}", *(f"{name.removesuffix('_ns'):>13}" for name in TIMES), sep="")
    for line in timings():
        times = (f"{line[name] / 1000:>13.2f}" for name in TIMES)
        print(f"{line['what']:<14}{line['size']:>6}{line['bytes']:>9}", *times, sep="")


if __name__ == "__main__":
    main()
