"""``streams-assignor member``: one small real member of a group."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

import click

from streams_assignor.cli.params import BOOTSTRAP_SERVERS, COMMAND_CONFIG, cluster_settings, complete_release
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.upgrade import OURS, UpgradeError
from streams_assignor.upgrade.extras import require

if TYPE_CHECKING:
    from streams_assignor.observability.events import Event

MEMBER_COMMAND: Final = (sys.executable, "-m", "streams_assignor.cli.member")
"""Starts a member in a process of its own; options follow."""


@click.command(cls=StrictCommand)
@BOOTSTRAP_SERVERS
@COMMAND_CONFIG
@click.option("--group", required=True, help="The consumer group (Kafka: application.id).")
@click.option("--topic", multiple=True, required=True, help="A source topic; may be repeated.")
@click.option(
    "--release",
    default=OURS.name,
    show_default=True,
    metavar="NAME",
    shell_complete=complete_release,
    help="The release whose behaviour to imitate.",
)
@click.option("--upgrade-from", metavar="VERSION", help="Kafka's upgrade.from: the release before the upgrade.")
@click.option("--standbys", type=click.IntRange(0), default=0, show_default=True, help="Kafka's num.standby.replicas.")
@click.option("--application-server", default="", metavar="HOST:PORT", help="Kafka's application.server.")
@click.option("--session-timeout-ms", type=click.IntRange(1000), default=10_000, show_default=True)
@click.option(
    "--api-version",
    metavar="N.N",
    callback=lambda _context, _parameter, value: _checked_version(value),
    help="Skip the broker version check; the embedded cluster needs 2.3.",
)
@click.pass_context
def member(
    context: click.Context, /, bootstrap_servers: str | None, command_config: Path | None, **options: Any
) -> None:
    """Run one member of a group, and print its events.

    Processes records at least once, commits after processing, and prints one JSON event per line: started,
    subscribed, assigned, processed, revoked, rejoin, failed, stopped. SIGTERM and SIGINT stop it with status 0, and so
    does the end of its standard input if that is a pipe (its parent has ended); a failure gives status 1.

    \b
    Examples:
      streams-assignor member --bootstrap-servers localhost:9092 --group billing --topic orders
      streams-assignor member --bootstrap-servers localhost:9092 --group billing --topic orders --upgrade-from 1.1
      streams-assignor member --command-config client.properties --group billing --topic orders
    """  # noqa: D301 - click reads the backspace character
    require("kafka")
    from streams_assignor.demo import member  # takes a second, and only this command needs it

    servers, _ = cluster_settings(context, bootstrap_servers, command_config)
    settings = MemberSettings(bootstrap_servers=servers, command_config=command_config, **options)
    stopping = Flag()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    _stop_at_end_of_input(stopping)
    try:
        succeeded = member.run_member(settings, _EventPrinter(stopping), stopping)
    except UpgradeError as error:
        raise click.UsageError(str(error)) from error
    sys.exit(0 if succeeded else 1)


class _EventPrinter:
    """Prints whole lines from any thread; a closed pipe stops the member."""

    def __init__(self, stopping: Flag) -> None:
        from streams_assignor.observability.event_fields import json_line

        self._json_line = json_line
        self._stopping = stopping
        self._lock = Lock()

    def __call__(self, event: Event) -> None:
        line = self._json_line(event, round(time.time(), 3))
        if line is None:
            return
        with self._lock:
            try:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            except BrokenPipeError:
                self._stopping.set()
                # Else Python would fail to flush the buffer at exit, with a message.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop_at_end_of_input(stopping: Flag) -> None:
    mode = os.fstat(0).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):

        def wait() -> None:
            while os.read(0, 4096):
                pass
            stopping.set()

        Thread(target=wait, daemon=True).start()


def _checked_version(value: str | None) -> str | None:
    if value is not None and not all(part.isdecimal() for part in value.split(".")):
        raise click.BadParameter(f"{value!r} is not a version such as 2.3")
    return value


if __name__ == "__main__":
    member()
