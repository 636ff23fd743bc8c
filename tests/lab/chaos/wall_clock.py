"""Wall clocks that can be made to jump, one for each process: `wall_clock.c`, preloaded."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from tests.lab.integration.kafka_jars import cache_folder

_SOURCE = Path(__file__).with_suffix(".c")
_OFF = struct.Struct("q")  # nanoseconds


class NoClocks(Exception):
    """This machine does not let us have clocks of our own; the message says why."""


@frozen
class WallClock:
    """The wall clock of whatever is started in its environment, until it is over."""

    _library: Path
    _file: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {"LD_PRELOAD": str(self._library), "WALL_CLOCK": str(self._file)}

    def jump(self, seconds: float) -> None:
        """From now on it is that far off."""
        with self._file.open("r+b") as file:
            file.write(_OFF.pack(int(seconds * 1e9)))


def wall_clock(file: Path) -> WallClock:
    """Make a clock that is right; `NoClocks` without Linux or a C compiler."""
    built = library()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_OFF.pack(0))
    return WallClock(built, file)


def library() -> Path:
    """Compile what is preloaded, if that has not been done yet; `NoClocks`."""
    built = cache_folder() / f"wall_clock_{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]}.so"
    if not built.exists():
        compiler = shutil.which("cc")
        if not compiler:
            raise NoClocks("no C compiler (install gcc)")
        with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
            made = Path(scratch, "wall_clock.so")
            command = [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(made), str(_SOURCE), "-ldl"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise NoClocks(f"no clocks for this machine: {' '.join(done.stderr.split())[:200]}")
            with suppress(OSError):  # another run was faster
                made.rename(built)
    return built
