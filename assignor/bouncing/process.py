"""One member as an operating-system process: started, listened to, stopped for certain."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from threading import Thread
from typing import IO, Final

from assignor.member_process import Event, Failed, MemberSettings, from_line

MEMBER_COMMAND: Final = (sys.executable, "-m", "assignor.cli.member")
_STOP_SECONDS: Final = 10.0


class MemberProcess:
    """One member as an operating-system process; its events go to `tell`, and None when it has ended."""

    def __init__(self, settings: MemberSettings, tell: Callable[[Event | None], None]) -> None:
        self._tell = tell
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._process = subprocess.Popen(
            [*MEMBER_COMMAND, *settings.arguments()],
            # Its end of this pipe closes however we end, and then the member stops.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # Ctrl-C is ours to hand on
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """Ask it to end."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait until it has ended; after a while it has no choice."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdin
        self._process.stdin.close()

    def last_words(self) -> str:
        """Return the exit status and the last line it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return " ".join([f"exit status {self._process.wait()}", *[line for line in lines if line.strip()][-1:]])

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._tell(from_line(line))
                except ValueError as error:
                    self._tell(Failed(str(error)))
        self._process.wait()
        self._tell(None)
