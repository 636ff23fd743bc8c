"""A container engine where none is installed: ``python -m tests.lab.integration.engine COMMAND ...`` brings one.

If an engine answers, the command just runs. Otherwise a private one is started for it: Debian's packages of Docker,
unpacked into the cache and not installed, in network and mount namespaces of their own, in which the command runs too.
Nothing of this machine changes, and nothing outside is reached: jars and wheels are fetched before, and images are
made, not pulled (``containers``, ``operator_image``). It needs Linux, root and apt-get.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from docker import DockerClient
from docker.errors import DockerException

from tests.lab.integration.containers import RELEASES, engine
from tests.lab.integration.kafka_jars import Unavailable, cache_folder, class_path, program
from tests.lab.integration.operator_image import download_wheels

_PACKAGES = ("docker.io", "containerd", "runc")
_START_SECONDS = 60
_COMMAND_SECONDS = 600


def run(command: Sequence[str]) -> int:
    """Run a command with an engine, and return its exit status; ``Unavailable``."""
    with suppress(Unavailable):
        engine()
        return subprocess.run(command, check=False).returncode
    download_wheels()
    for release in RELEASES:
        class_path(f"org.apache.kafka:kafka_2.13:{release}")
    with private_engine() as (socket, pid):
        environment = {"DOCKER_HOST": socket, "TESTCONTAINERS_RYUK_DISABLED": "true"}
        inside = ["nsenter", "--target", str(pid), "--net", *command]
        return subprocess.run(inside, env=os.environ | environment, check=False).returncode


@contextmanager
def private_engine() -> Iterator[tuple[str, int]]:
    """Start an engine; yield its address, and a process whose network is that of its containers."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Unavailable("a private container engine needs Linux and root")
    root = _unpacked()
    programs = f"{root}/usr/bin:{root}/usr/sbin:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="engine-") as scratch, Path(scratch, "log").open("wb") as log:
        socket, images = f"unix://{scratch}/socket", cache_folder() / "engine" / "images"
        daemon = ["dockerd", "--data-root", str(images), "--exec-root", f"{scratch}/exec", "--host", socket]
        daemon += ["--pidfile", f"{scratch}/pid", "--bridge=none", "--iptables=false", "--ip6tables=false"]
        daemon += ["--userland-proxy=false", "--exec-opt", "native.cgroupdriver=cgroupfs"]
        isolated = ["unshare", "--net", "--mount", "sh", "-c", 'ip link set lo up; exec "$0" "$@"', *daemon]
        started = subprocess.Popen(
            isolated, stdout=log, stderr=subprocess.STDOUT, env=os.environ | {"PATH": programs}, start_new_session=True
        )
        try:
            _wait_until_it_answers(socket, started, Path(scratch, "log"))
            yield socket, started.pid
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(_START_SECONDS)


def _unpacked() -> Path:
    """Return the folder with the unpacked packages."""
    root = cache_folder() / "engine" / "root"
    if not root.exists():
        root.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            apt = program("apt-get", "a private engine is made of Debian's packages")
            _checked([apt, "download", *_PACKAGES], scratch)
            for package in Path(scratch).glob("*.deb"):
                _checked(["dpkg-deb", "--extract", package.name, "root"], scratch)
            with suppress(OSError):  # another run was faster
                Path(scratch, "root").rename(root)
    return root


def _checked(command: Sequence[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_COMMAND_SECONDS)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)}: {done.stderr[-300:]}")


def _wait_until_it_answers(socket: str, daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while daemon.poll() is None and time.monotonic() < deadline:
        with suppress(DockerException):
            DockerClient(base_url=socket).ping()
            return
        time.sleep(0.1)
    raise Unavailable(f"the private container engine does not answer: {log.read_text(errors='replace')[-500:]}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python -m tests.lab.integration.engine COMMAND ...")
    try:
        sys.exit(run([shutil.which(sys.argv[1]) or sys.argv[1], *sys.argv[2:]]))
    except Unavailable as missing:
        sys.exit(f"no container engine: {missing}")
