"""``streams-assignor web``: options, messages and exit statuses."""

import socket
import threading
import urllib.request
import webbrowser
from functools import cache, partial

import pytest
from click.testing import CliRunner

from streams_assignor.cli import web as web_command
from streams_assignor.cli.main import cli
from streams_assignor.web import build
from streams_assignor.web.build import BuildError, PyodideLock, read_site, site
from tests.assignor.web.packages import made_up, made_up_compiler

one_package = cache(made_up)
built = cache(partial(site, compiler=made_up_compiler))
"""A site takes a second."""


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """The made-up package as a file, which is the pinned one."""
    content, lock = one_package()
    monkeypatch.setattr(PyodideLock, "read", classmethod(lambda _: lock))
    monkeypatch.setattr(web_command, "site", built)
    monkeypatch.setattr(build, "COMPRESSION", 0)
    path = tmp_path / "pyodide.tgz"
    path.write_bytes(content)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, ["web", *map(str, arguments)])


def test_a_folder_is_built_and_named(package, tmp_path):
    result = run("--pyodide", package, "--out", tmp_path / "site")

    assert 0 == result.exit_code, result.output
    assert f"{len(read_site(tmp_path / 'site'))} files, " in result.output
    assert result.output.endswith(f" MB, are in {tmp_path / 'site'}\n")


def test_another_package_is_one_line(package, tmp_path):
    package.write_bytes(b"other")
    result = run("--pyodide", package, "--out", tmp_path / "site")

    assert 1 == result.exit_code
    assert result.output.startswith("Error: expected pyodide@")
    assert not (tmp_path / "site").exists()


def test_what_npm_cannot_do_is_one_line(monkeypatch, tmp_path):
    def fails(_):
        raise BuildError("expected npm")

    monkeypatch.setattr(web_command, "fetch_pyodide", fails)
    result = run("--out", tmp_path / "site")

    assert (1, "Error: expected npm\n") == (result.exit_code, result.output)


def test_what_is_built_is_not_built_again(package, tmp_path):
    run("--pyodide", package, "--out", tmp_path / "site")

    assert 2 == run("--site", tmp_path / "site", "--out", tmp_path / "other").exit_code
    assert "expected a folder of streams-assignor web --out" in run("--site", tmp_path, "--no-browser").output


def test_a_port_that_is_taken_is_one_line(package, tmp_path):
    run("--pyodide", package, "--out", tmp_path / "site")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--site", tmp_path / "site", "--port", port)

    assert (1, f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n") == (
        result.exit_code,
        result.output,
    )


@pytest.mark.parametrize(("options", "opened"), [((), True), (("--no-browser",), False)])
def test_it_serves_on_loopback_and_opens_a_browser(package, tmp_path, monkeypatch, options, opened):
    addresses, served = [], []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or False)
    real = web_command.site_server

    def once(*arguments):
        """A server that is asked for one file, and ends."""
        server = real(*arguments)

        def serve():
            threading.Thread(target=type(server).serve_forever, args=(server,), daemon=True).start()
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/app.mjs") as response:
                served.append(response.read())
            server.shutdown()

        server.serve_forever = serve
        return server

    monkeypatch.setattr(web_command, "site_server", once)
    run("--pyodide", package, "--out", tmp_path / "site")
    result = run("--site", tmp_path / "site", *options)

    assert 0 == result.exit_code, result.output
    assert [read_site(tmp_path / "site")["app.mjs"]] == served
    assert result.output.startswith("serving http://127.0.0.1:")
    assert opened == (len(addresses) == 1)
    assert opened == ("there is no browser here: open the address in one" in result.output)
