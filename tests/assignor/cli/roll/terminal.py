"""The command on a real pseudo terminal, with a simulated group; ``python -m`` this module is what runs there."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[4]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SECONDS = 240


class Terminal:
    """The command in a session of its own, whose terminal this is.

    Args:
        folder: Of the journal, and of the simulated cluster.
        arguments: Those of ``roll`` behind the ones that every run has.
        columns: The width of the terminal.
        command: The command that restarts an instance; by default one that does it.
    """

    def __init__(self, folder, *arguments, columns=80, command=""):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, str(folder), command, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.raw = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        if self.master >= 0:
            os.close(self.master)

    @property
    def text(self):
        """The output, without colours and movements of the cursor."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def until(self, text):
        """Read until a text was printed."""
        deadline = time.monotonic() + SECONDS
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            assert self._read(), f"the end, without {text!r}: {self.text}"

    def type(self, text):
        """Press keys; ``\\x03`` is Ctrl-C, ``\\x04`` Ctrl-D."""
        os.write(self.master, text.encode())

    def hang_up(self):
        """Close the terminal, as when a connection is lost: the kernel sends SIGHUP."""
        os.close(self.master)
        self.master = -1

    def end_by(self, number):
        """Send a signal, again if nothing follows; return the exit status.

        One that comes between a prompt and its ``read`` Python only notes, and reads on.
        """
        self.process.send_signal(number)
        while not select.select([self.master], [], [], SECONDS / 10)[0]:
            self.process.send_signal(number)
        return self.end()

    def end(self):
        """Read until the end; return the exit status."""
        deadline = time.monotonic() + SECONDS
        while self.master >= 0 and self._read():
            assert time.monotonic() < deadline, self.text
        return self.process.wait(SECONDS)

    def _read(self):
        ready, _, _ = select.select([self.master], [], [], SECONDS)
        assert ready, self.text
        try:
            more = os.read(self.master, 1 << 16)
        except OSError:  # EIO: no process has the terminal open
            return False
        self.raw += more.decode(errors="replace")
        return bool(more)


def main():
    """Run ``roll`` on a simulated group, as the console script does."""
    from streams_assignor.cli.main import main as console_script
    from streams_assignor.groups.describe.kafka_python import group_lookup
    from tests.assignor.cli.roll.simulated import SimulatedCluster

    folder, command, *arguments = sys.argv[1:]
    cluster = SimulatedCluster(Path(folder))
    group_lookup.GroupLookup = cluster.lookup
    sys.argv[1:] = ["roll", *cluster.words(command or None), *arguments]
    console_script()


if __name__ == "__main__":
    main()
