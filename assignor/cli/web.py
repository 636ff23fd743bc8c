"""``streams-assignor web``: the tool as a web page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from streams_assignor.cli._exit_status import CommandFailed, WrongUsage
from streams_assignor.cli._files import same_file
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.web.build import (
    BuildError,
    PyodideLock,
    fetch_pyodide,
    read_site,
    require_own_site,
    site,
    write_site,
)
from streams_assignor.web.server import site_server


@click.command(cls=StrictCommand)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Build the static files into DIR, or as an archive FILE.zip, and end. Any web server may serve them.",
)
@click.option(
    "--site",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Serve what --out has built; it needs neither npm nor network.",
)
@click.option(
    "--pyodide",
    "package",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The package of npm as a file; without it npm fetches it.",
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, show_default="one that is free", help="Port on 127.0.0.1."
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
def web(out: Path | None, folder: Path | None, package: Path | None, port: int, *, browser: bool) -> None:
    """Plan, replay, decode and audit in a web page. Files stay in the browser: nothing is uploaded.

    The page runs this code with a Python that is compiled to WebAssembly (Pyodide). Building it needs Node.js
    and, once, the network; npm keeps the package. Serving needs neither. Ctrl-C ends the server.

    \b
    Examples:
      streams-assignor web
      streams-assignor web --out site
      streams-assignor web --out streams-assignor-web.zip
      streams-assignor web --site site --port 8080 --no-browser
    """  # noqa: D301 - click reads the backspace character
    if folder and (out or package):
        raise WrongUsage("--site serves what is built: it excludes --out and --pyodide")
    if out and package and same_file(out, package):
        raise WrongUsage(f"expected another file for --out than that of --pyodide, got {out} for both")
    try:
        if out:
            require_own_site(out)
        files = read_site(folder) if folder else _built(package)
        if out:
            write_site(files, out)
            click.echo(f"{len(files)} files, {sum(map(len, files.values())) / 1e6:.1f} MB, are in {out}")
            return
    except BuildError as error:
        raise CommandFailed(str(error)) from None
    try:
        server = site_server(files, port)
    except OSError as error:
        raise CommandFailed(f"cannot listen on 127.0.0.1:{port}: {error.strerror}") from None
    with server:
        address = f"http://127.0.0.1:{server.server_port}/"
        step("")
        click.echo(f"serving {address} until Ctrl-C")
        if browser and not webbrowser.open(address):
            click.echo("there is no browser here: open the address in one", err=True)
        server.serve_forever()


def _built(package: Path | None) -> dict[str, bytes]:
    lock = PyodideLock.read()
    step(f"fetching {lock.spec}")
    content = package.read_bytes() if package else fetch_pyodide(lock)
    step("building the site")
    return site(content, lock)
