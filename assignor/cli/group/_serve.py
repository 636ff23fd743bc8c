"""``group list --serve PORT``: an exporter for Prometheus, which looks at an interval, whoever asks.

Requests get the text of the last look, so a cluster is asked by one look at a time however many there are. After a look
that failed no group has a sample: an old number would look like a new one.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import Any, Final

import click
from attrs import define, field

from streams_assignor.cli.group.watch import Look, error_text, looks
from streams_assignor.formats.openmetrics import Gauge, exposition
from streams_assignor.formats.text import sanitize
from streams_assignor.groups.offsets import GroupsOverTime, group_gauges
from streams_assignor.web.server import QuietServer

SERVE_SECONDS: Final = 30.0
"""Between the beginnings of two looks, unless ``--interval`` says another time."""
_OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_PLAIN: Final = "text/plain; charset=utf-8"
_REQUEST_SECONDS: Final = 10.0
_LATE_LOOKS: Final = 3
_Answer = tuple[HTTPStatus, str, str]
"""The status, the type and the text."""


@define(eq=False)
class Exporter:
    """The metrics and the health of the last look."""

    interval: float
    """Seconds between the beginnings of two looks."""
    clock: Callable[[], float] = time.monotonic
    _over_time: GroupsOverTime = field(factory=GroupsOverTime)
    _text: str = exposition([])
    _problem: str = "no look yet"
    _ended: float = 0.0

    def update(self, look: Look, seconds: float) -> str:
        """Note a look that took so long; return what is wrong with it, empty if nothing is."""
        now = self.clock()
        problem = error_text(look.error) if look.error else "; ".join(look.failures)
        own = {
            "up": (float(look.is_complete), "Whether the last look saw all groups."),
            "look_seconds": (round(seconds, 3), "How long it took."),
            "look_timestamp_seconds": (round(time.time(), 3), "When it ended."),
        }
        gauges = [Gauge(f"streams_assignor_{name}", text, [({}, value)]) for name, (value, text) in own.items()]
        if not look.error:
            gauges += group_gauges(look.groups, self._over_time.update(look.groups, now))
        self._text, self._problem, self._ended = exposition(gauges), problem, now
        return problem

    def answer(self, path: str) -> _Answer:
        """Return the answer to a request."""
        match path.partition("?")[0]:
            case "/metrics":
                return HTTPStatus.OK, _OPENMETRICS, self._text
            case "/health":
                age = self.clock() - self._ended
                late = "" if age <= _LATE_LOOKS * self.interval else f"the last look ended {age:.0f} seconds ago"
                why = self._problem or late
                return HTTPStatus.SERVICE_UNAVAILABLE if why else HTTPStatus.OK, _PLAIN, f"{sanitize(why) or 'ok'}\n"
        return HTTPStatus.NOT_FOUND, _PLAIN, "expected /metrics or /health\n"


class _Handler(BaseHTTPRequestHandler):
    timeout = _REQUEST_SECONDS

    def __init__(self, exporter: Exporter, *args: Any) -> None:
        self._exporter = exporter
        super().__init__(*args)

    def do_GET(self) -> None:
        status, kind, text = self._exporter.answer(self.path)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print no line for a request."""


class _Server6(QuietServer):
    address_family = socket.AF_INET6


def serve(look: Callable[[], Look], address: tuple[str, int], interval: float) -> None:
    """Serve metrics until Ctrl-C; ``ClickException`` if the address cannot be had."""
    exporter = Exporter(interval)
    host, port = address
    try:
        server = (_Server6 if ":" in host else QuietServer)(address, partial(_Handler, exporter))
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    Thread(target=server.serve_forever, daemon=True).start()
    click.echo(f"http://{host}:{server.server_port}/metrics, until Ctrl-C", err=True)
    before = ""
    with suppress(KeyboardInterrupt):  # the regular end
        for seconds, current in looks(partial(_timed, look), interval):
            problem = exporter.update(current, seconds)
            if problem != before:
                click.echo(f"note: {sanitize(problem)}" if problem else "note: the cluster answers again", err=True)
            before = problem


def _timed(look: Callable[[], Look]) -> tuple[float, Look]:
    begun = time.monotonic()
    current = look()
    return time.monotonic() - begun, current
