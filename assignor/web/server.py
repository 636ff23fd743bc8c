"""Serve the files of a site on loopback: these and nothing else, from memory."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from streams_assignor.web.build import CONTENT_SECURITY_POLICY

LOOPBACK: Final = "127.0.0.1"
INDEX: Final = "index.html"
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".xz": "application/x-xz",
    ".zip": "application/zip",
}
"""Browsers compile WebAssembly while it loads, and run modules, only with the right type."""
HEADERS: Final = {
    "Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Kept, and asked for again: another version is seen at once, and the same one is not sent twice.
    "Cache-Control": "no-cache",
}


def media_type(name: str) -> str:
    """Return the type of a file.

    >>> media_type("pyodide/pyodide.asm.wasm")
    'application/wasm'
    """
    return TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, files: Mapping[str, bytes], tags: Mapping[str, str], *args: Any) -> None:
        self._files, self._tags = files, tags
        super().__init__(*args)

    def do_GET(self) -> None:
        name = unquote(urlsplit(self.path).path).removeprefix("/") or INDEX
        content = self._files.get(name)
        if content is None:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"not found\n")
        elif self.headers.get("If-None-Match") == self._tags[name]:
            self._answer(HTTPStatus.NOT_MODIFIED, media_type(name), b"", self._tags[name])
        else:
            self._answer(HTTPStatus.OK, media_type(name), content, self._tags[name])

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, type_: str, content: bytes, tag: str = "") -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", type_)
        if tag:
            self.send_header("ETag", tag)
        if status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: the terminal is for the address."""


class QuietServer(ThreadingHTTPServer):
    """A server that ends with its process, and says nothing of clients that go away."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that its client has closed: a browser does so with each page that it leaves."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def site_server(files: Mapping[str, bytes], port: int = 0) -> ThreadingHTTPServer:
    """Return a server of a site that listens on loopback; port 0 is one that the kernel chooses."""
    tags = {name: f'"{hashlib.sha256(content).hexdigest()[:32]}"' for name, content in files.items()}
    return QuietServer((LOOPBACK, port), partial(_Handler, files, tags))
