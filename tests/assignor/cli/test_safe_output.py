"""No control character of a text from outside reaches the terminal, whatever command prints it and however."""

import io
import json
import logging
import re
import sys
from pathlib import Path

import click
import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from streams_assignor.cli.lazy_group import run_script
from streams_assignor.cli.main import cli
from streams_assignor.formats.console import SafeConsole
from streams_assignor.formats.text import SafeStream

ROOT = Path(__file__).parents[3]
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08\u202e"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
TOPOLOGY = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [{evil}orders])
      --> sums
    Processor: sums (stores: [{evil}sums])
      --> none
      <-- KSTREAM-SOURCE-0000000000
"""


class Terminal(io.StringIO):
    encoding = "utf-8"
    errors = "strict"

    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, command: click.Command, *arguments: object) -> str:
    """The output of a command on a terminal."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "argv", ["streams-assignor", *map(str, arguments)])
    with pytest.raises(SystemExit):
        run_script(command)
    return terminal.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_plan_escapes_what_topologies_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str) -> None:
    """It cleared the screen and set the title of the window."""
    monkeypatch.setenv("TERM", "dumb")  # no colour of ours
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(TOPOLOGY.replace("{evil}", EVIL[:-4]))
    after.write_text(TOPOLOGY.replace("{evil}", "new-"))

    found = printed(monkeypatch, cli, "plan", "2.8", "4.0", "-o", form, "--topologies", before, after)

    assert not CONTROLS.search(found)
    assert "owned" in found


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--dump", "s3://AKIA:hunter2@b/x", "--out", "x"],
        ["audit", "--segments", "s3://AKIA:hun ter2@b/x", "--out", "x"],
        ["audit", "--segments", "nothing://b/x?secret_key=hunter2", "--out", "x"],
        ["audit", "--bootstrap-servers", "b:1", "--follow", "--out", "x", "--master", "sc://h:1/;token=hunter2"],
        ["sweep", "--matrix", "kip-268", "--out", "s3a://k:hunter2@b/x", "--master", "processes"],
        ["sweep", "--matrix", "kip-268", "--out", "x", "--conf", "hadoop.fs.s3a.secret.key=hunter2"],
        ["report", "s3a://k:hunter2@b/x", "--master", "processes"],
    ],
)
def test_no_error_shows_the_credentials_of_a_uri(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """PyArrow takes a password in a URI, and Spark Connect a token; errors repeated them, and so did audit.json."""
    found = printed(monkeypatch, cli, *arguments)

    assert "rror: " in found
    assert not re.search("hunter2|ter2", found)


@pytest.mark.parametrize("columns", ["0", "1"])
def test_a_terminal_without_a_width_still_shows_all(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """COLUMNS=0 left nothing of the output, with status 0."""
    monkeypatch.setenv("COLUMNS", columns)

    assert "safe" in printed(monkeypatch, cli, "replay", "A@1.1 B@1.1 | stop A")


def test_an_argument_that_is_not_utf_8_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results could not be written to such a path, which was a traceback after the work."""
    found = printed(monkeypatch, cli, "audit", "--segments", "x", "--out", "d\udcfc")

    assert "expected arguments in UTF-8, got b'd\\xfc'" in found


def test_streams_that_the_shell_has_closed_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were tracebacks, of ``conform - <&-`` and ``member ... >&-``."""
    found = []

    @click.command
    def uses_streams() -> None:
        found.append((sys.stdin.buffer.read(), sys.stdin.isatty(), sys.stdout.isatty()))
        sys.stdout.write("to nobody")
        sys.stderr.write("to nobody")

    monkeypatch.setattr(sys, "argv", ["streams-assignor"])
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as ended:
        run_script(uses_streams)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()

    assert (0, [(b"", False, False)]) == (ended.value.code, found)


@click.command
def noisy() -> None:
    click.echo(EVIL)
    click.echo(EVIL, err=True)
    print(EVIL)
    logging.getLogger("noisy").addHandler(logging.StreamHandler())
    logging.getLogger("noisy").error(EVIL)
    console = SafeConsole(width=500)
    table = Table(EVIL, title=Text(EVIL))
    table.add_row(EVIL)
    console.print(table, EVIL, Text(EVIL), markup=False)
    with console.status(EVIL):
        print(EVIL)
    raise click.ClickException(EVIL)


def test_every_way_to_print_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    found = printed(monkeypatch, noisy)

    assert not CONTROLS.search(found)
    assert 10 <= found.count("owned")


def test_styles_and_live_displays_still_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")

    @click.command
    def coloured() -> None:
        console = SafeConsole(width=80)
        with console.status("waiting"):
            print("beside it")
        console.print("red", style="red")

    found = printed(monkeypatch, coloured)

    assert "\x1b[31mred\x1b[0m" in found
    assert r"\u001b" not in found


def test_json_with_control_characters_stays_json() -> None:
    terminal = Terminal()
    SafeStream(terminal).write(json.dumps({"name": EVIL}, ensure_ascii=False))

    assert {"name": EVIL} == json.loads(terminal.getvalue())
    assert not CONTROLS.search(terminal.getvalue())


def test_no_command_has_another_console() -> None:
    paths = [path for package in ("assignor", "spark_sim", "upgrade") for path in ROOT.glob(f"{package}/**/*.py")]
    others = [path.name for path in paths if re.search(r"(?<!Safe)\bConsole\(", path.read_text())]

    assert issubclass(SafeConsole, Console)
    assert [] == others
