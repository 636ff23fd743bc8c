"""A page for the browser: one file of HTML that needs no network, and runs nothing but its own script.

All pages have the same frame, colours and policy. The contents of a page are data, which its script draws with elements
and text nodes: no name in the data becomes markup. Scripts are modules beside this file, which the page of
``streams-assignor web`` loads as they are, and which stand in one script here.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any, Final

SHARED: Final = Path(__file__).parent / "pages"
"""The modules and styles that several pages have."""
_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "\./([\w.-]+)";\n', re.MULTILINE)
_JSON_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}
"""Characters that could end a script or begin another one, as JSON writes it."""
_STYLES: Final = ("base.css", "trace.css")


def page_parts(
    title: str,
    script: str,
    blocks: Iterable[str],
    *,
    heading: str,
    lead: str,
    origin: str,
    style: str = "",
) -> Iterator[str]:
    """Yield a page, piece by piece, so that its data need not be in memory.

    Args:
        title: The title in the tab, which marks the file as ours.
        script: The text of the module that draws the page; what it imports is put before it.
        blocks: The data: elements that ``json_block`` and ``gzip_block`` return.
        heading: The first line.
        lead: The text below it.
        origin: The program that made the page.
        style: Rules of this page alone.
    """
    styles = "".join([*((SHARED / name).read_text("utf-8") for name in _STYLES), style])
    code = bundle(script)
    policy = content_security_policy(code, styles)
    texts = {"title": title, "heading": heading, "lead": lead, "origin": origin, "policy": policy}
    escaped = {name: html.escape(text) for name, text in texts.items()}
    before, _, after = (SHARED / "page.html").read_text("utf-8").partition("$blocks")
    yield Template(before).substitute(escaped, style=styles)
    yield from blocks
    yield Template(after).substitute(script=code)


def content_security_policy(script: str, style: str) -> str:
    """Return the policy of a page: this script and these styles, by their digests, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def bundle(script: str) -> str:
    """Return a module with all that it imports, each once, and each before its first use."""
    texts: dict[str, str] = {}

    def add(text: str) -> None:
        for name in _IMPORT.findall(text):
            if name not in texts:
                imported = (SHARED / name).read_text("utf-8")
                add(imported)
                texts[name] = imported

    add(script)
    return "".join(_IMPORT.sub("", text) for text in (*texts.values(), script))


def json_block(name: str, value: Any) -> str:
    r"""Return the element of a value, for ``JSON.parse``.

    >>> print(json_block("data", "</script><b>&"), end="")
    <script type="application/json" id="data">"\u003c/script\u003e\u003cb\u003e\u0026"</script>
    """
    text = json.dumps(value, separators=(",", ":")).translate(_JSON_ESCAPES)
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def gzip_block(attributes: str, texts: Iterable[str]) -> str:
    """Return the element of a text that is packed: its characters mean nothing to HTML."""
    return f'<script type="application/gzip" {attributes}>{packed(texts)}</script>\n'


def packed(texts: Iterable[str]) -> str:
    """Return texts, gzipped in base64."""
    sink = BytesIO()
    with gzip.GzipFile(fileobj=sink, mode="wb", compresslevel=6, mtime=0) as file:
        for text in texts:
            file.write(text.encode())
    return base64.b64encode(sink.getbuffer()).decode()
