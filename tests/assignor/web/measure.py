"""Print the figures of the page for the benchmarks: ``python -m tests.assignor.web.measure``.

It needs npm, Chromium and its driver. Times are from opening the page to the finished answer.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import threading
import time
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from streams_assignor.web.build import fetch_pyodide, site
from streams_assignor.web.server import site_server
from tests.assignor.web.conftest import Page
from tests.assignor.web.packages import LOCK
from tests.browser import open_browser
from tests.lab.bench import audit_segments
from tests.upgrade.application.class_bytes import ClassBytes

_COMMITS_PER_MEGABYTE = 15_600
PLAN = "#upgrade?from=2.8&to=4.3"


class Clock:
    """Wall time, and the CPU time of a browser with all of its processes: a busy machine changes only the first."""

    def __init__(self, root):
        self._root = root

    def _cpu(self):
        stats = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended
                fields = path.read_text().rpartition(")")[2].split()
                stats[int(path.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
        family = {self._root}
        for _ in range(6):
            family |= {pid for pid, (parent, _) in stats.items() if parent in family}
        return sum(stats[pid][1] for pid in family if pid in stats) / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def timed(self, what, megabytes=0):
        begin, used = time.monotonic(), self._cpu()
        yield
        seconds, used = time.monotonic() - begin, self._cpu() - used
        speed = f", {megabytes / seconds:.2f} MB/s, {megabytes / used:.2f} MB per CPU s" if megabytes else ""
        print(f"{what}: {seconds:.2f} s, CPU {used:.2f} s{speed}", flush=True)


def transfer(files):
    """Bytes of the files that a visit needs, each gzipped as web servers do it, or as it is if that is smaller."""
    visited = (content for name, content in files.items() if name not in {"site.json"})
    return sum(min(len(content), len(gzip.compress(content, 9))) for content in visited)


def large_jar(path, megabytes=50, classes=20_000):
    """A fat jar: classes that refer to Kafka, and resources that nothing compresses."""
    random = Random(1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(classes):
            written = ClassBytes(f"com/example/C{number}").makes("org/apache/kafka/streams/processor/PartitionGrouper")
            archive.writestr(f"com/example/C{number}.class", written.bytes() + b"")
        while path.stat().st_size < megabytes * 1_000_000:
            archive.writestr(f"data/{random.random()}.bin", random.randbytes(1_000_000), zipfile.ZIP_STORED)


def commits(folder, megabytes):
    """A segment of commits of a thousand groups, as those of ``bench_audit``; return its bytes."""
    audit_segments.write(folder, audit_segments.commits(1_000), megabytes * _COMMITS_PER_MEGABYTE)
    return sum(path.stat().st_size for path in folder.rglob("*.log"))


def main(megabytes: int = 20) -> None:
    files = site(fetch_pyodide(LOCK))
    print(f"transfer of all files: {transfer(files) / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as name, site_server(files) as server:
        folder = Path(name)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open_browser() as browser:
            page = Page(browser, f"http://127.0.0.1:{server.server_port}")
            clock = Clock(browser.service.process.pid)
            for what in ("first visit", "from the cache", "from the cache", "from the cache", "from the cache"):
                with clock.timed(f"plan, {what}"):
                    page.open(PLAN).wait("upgrade")
            with clock.timed("another plan"):
                page.go("#upgrade?from=3.3&to=4.1")
            with clock.timed("replay"):
                page.go("#replay?scenario=A%402.0%20B%402.0%20C%402.0%20%7C%20bounce%20A%3E2.3%20B%3E2.3%20C%3E2.3")
            with clock.timed("matrix of lines"):
                page.go("#matrix")
            with clock.timed("matrix of all releases"):
                page.go("#matrix?all=1")
            page.go(PLAN)
            large_jar(folder / "large.jar")
            size = (folder / "large.jar").stat().st_size / 1e6
            page.choose("upgrade", folder / "large.jar")
            with clock.timed(
                f"plan with a jar of {(folder / 'large.jar').stat().st_size / 1e6:.0f} MB, 20,000 classes"
            ):
                page.submit("upgrade").wait("upgrade")
            size = commits(folder / "segments", megabytes) / 1e6
            page.open("#audit").choose_folder("audit", folder / "segments")
            page.until(lambda: page.all("#audit .chosen li"))
            with clock.timed(f"audit of {size:.0f} MB of commits", size):
                page.submit("audit").wait("audit")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
