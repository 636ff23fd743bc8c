"""One member as an operating-system process: start it, read its events, stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import IO, Any, Final

from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.observability.event_fields import parse_line
from streams_assignor.upgrade.cluster.client.command_config import COMMAND_CONFIG_VARIABLE

EventLine = Mapping[str, Any]
"""A parsed line of ``streams-assignor member``: ``event``, ``time`` and the keys of ``event_fields.LINE_KEYS``."""

_STOP_TIMEOUT_SECONDS: Final = 10.0


class MemberProcess:
    """A running member process.

    Args:
        command: starts ``streams-assignor member``; the settings are appended.
        settings: of the member.
        on_event: called on a thread with each event line, and with None when the process has ended. A line that is not
            an event is passed on as a ``failed`` event.
    """

    def __init__(
        self, command: Sequence[str], settings: MemberSettings, on_event: Callable[[EventLine | None], None]
    ) -> None:
        self._on_event = on_event
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._process = subprocess.Popen(
            [*command, *settings.command_line_arguments()],
            # However this process ends, its end of the pipe closes, and then the member stops.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            # The settings alone say how to connect: a file for another cluster may be in the environment.
            env={name: value for name, value in os.environ.items() if name != COMMAND_CONFIG_VARIABLE},
            start_new_session=True,  # else Ctrl-C would reach the members directly
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def stop(self) -> None:
        """Request a clean stop."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait until the process has ended; kill it after 10 seconds."""
        try:
            self._process.wait(_STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdin
        self._process.stdin.close()

    def exit_description(self) -> str:
        """Return the exit status and the last line of standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return " ".join([f"exit status {self._process.wait()}", *[line for line in lines if line.strip()][-1:]])

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._on_event(parse_line(line))
                except ValueError as error:
                    self._on_event({"event": "failed", "error": str(error)})
        self._process.wait()
        self._on_event(None)
