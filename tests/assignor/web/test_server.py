"""The server of the page: loopback, the right types and headers, and no other file."""

import http.client
import threading

import pytest

from streams_assignor.web.server import HEADERS, LOOPBACK, media_type, site_server

FILES = {"index.html": b"<!doctype html>", "pyodide/a.wasm": b"\0asm", "a.mjs": b"export {}"}


@pytest.fixture
def ask():
    with site_server(FILES) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = http.client.HTTPConnection(LOOPBACK, server.server_port)

        def asked(path, method="GET", **headers):
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return response, response.read()

        yield asked
        connection.close()
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "content", "type_"),
    [
        ("/", FILES["index.html"], "text/html; charset=utf-8"),
        ("/a.mjs?x=1", FILES["a.mjs"], "text/javascript; charset=utf-8"),
        ("/pyodide/a.wasm", FILES["pyodide/a.wasm"], "application/wasm"),
    ],
)
def test_a_file_has_its_type_and_the_headers(ask, path, content, type_):
    response, body = ask(path)

    assert (200, content, type_) == (response.status, body, response.headers["Content-Type"])
    assert HEADERS.items() <= dict(response.headers.items()).items()


@pytest.mark.parametrize(
    "path", ["/../setup.cfg", "/%2e%2e/setup.cfg", "//etc/passwd", "/etc/passwd", "/pyodide", "/pyodide/"]
)
def test_nothing_else_is_there(ask, path):
    response, body = ask(path)

    assert (404, b"not found\n") == (response.status, body)
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_nothing_is_said_of_a_client_that_goes_away(capsys):
    with site_server(FILES) as server:
        for error in (BrokenPipeError, ConnectionResetError, ValueError):
            try:
                raise error
            except error:
                server.handle_error(None, ("h", 1))

    assert 1 == capsys.readouterr().err.count("Traceback")


def test_a_file_that_the_browser_has_is_not_sent_again(ask):
    tag = ask("/a.mjs")[0].headers["ETag"]
    response, body = ask("/a.mjs", **{"If-None-Match": tag})

    assert (304, b"") == (response.status, body)
    assert 200 == ask("/a.mjs", **{"If-None-Match": '"old"'})[0].status


def test_head_has_no_body(ask):
    response, body = ask("/a.mjs", "HEAD")

    assert (200, b"", str(len(FILES["a.mjs"]))) == (response.status, body, response.headers["Content-Length"])


def test_nothing_can_be_sent(ask):
    assert 501 == ask("/", "POST")[0].status


def test_an_unknown_type_is_not_guessed():
    assert "application/octet-stream" == media_type("LICENSE")


@pytest.mark.parametrize(
    ("error", "shown"), [(ConnectionResetError(104, "reset"), ""), (ValueError("odd"), "ValueError: odd")]
)
def test_a_browser_that_goes_away_is_no_error(capsys, error, shown):
    with site_server(FILES) as server:
        try:
            raise error
        except (OSError, ValueError):
            server.handle_error(None, ("127.0.0.1", 1))

    printed = capsys.readouterr().err
    assert (bool(shown), True) == (bool(printed), shown in printed)
