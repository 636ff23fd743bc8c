"""Texts of ``application.server``, and what Kafka's jars find in them.

``python -m tests.upgrade.end_points`` writes ``tests/vectors/end_points.jsonl``: a text, then what `JARS` found in it,
in their order: [host, port], null for none or "refused".
"""

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tests.java_oracle import Oracle

JARS = ("2.8.2", "3.9.2", "4.3.1", "4.4.0")
FILE = Path(__file__).parents[1] / "vectors/end_points.jsonl"
_BEFORE = ("", "http://", "PLAINTEXT://", "my_scheme-1.0%://", "://", "//", "user@", "a b ", "é", "x[", "\n", "\u2028")
_HOSTS = ("host", "", "::1", "[::1]", "[::1", "::1]", "[]", "a_b.c-d%2", "10.0.0.1", "hôst", "a]b", "[[a]]", "a:1")
_PORTS = (
    ":8080",
    ":0",
    ":65536",
    ":2147483647",
    ":2147483648",
    ":007",
    ":",
    "",
    ":-1",
    ":+1",
    ":8 ",
    ":٣",
    ":80/",
    ":1]",
)
_PIECES = (
    "a",
    "9",
    "_",
    ".",
    "%",
    "-",
    ":",
    "[",
    "]",
    "/",
    "://",
    "@",
    " ",
    "\t",
    "\r",
    "\x85",
    "\u2029",
    "é",
    "\ud800",
    "😀",
    "80",
)


def systematic() -> list[str]:
    """Every part of an end point beside every other, one at a time."""
    some = {before + host + port for before, host, port in product(_BEFORE, _HOSTS, _PORTS)}
    plain = [_BEFORE[0], _HOSTS[0], _PORTS[0]]
    short = {"".join(each) for each in product(_BEFORE, _HOSTS, _PORTS) if sum(map(str.__ne__, each, plain)) <= 1}
    return sorted(short | {"", " ", "\x00", " host:1", "host:1 ", "http://host", "a://b://c:1"}) + sorted(some - short)


def drawn(number: int) -> list[str]:
    """Texts of the characters that mean something, drawn with a fixed seed."""
    random = Random(38)
    return [
        "".join(random.choices(_PIECES, k=random.randrange(12))) + random.choice(("", ":80")) for _ in range(number)
    ]


def ask(release: str, texts: Iterable[str]) -> list[Any]:
    """The findings of the jar of a release in each text."""
    with Oracle(release, "EndPointOracle") as oracle:
        return [_found(answer) for answer in oracle.ask({"text": text} for text in texts)]


def _found(answer: dict[str, Any]) -> Any:
    return "refused" if "error" in answer else [answer["host"], answer["port"]] if answer else None


def main() -> None:
    """Write the vectors."""
    texts = systematic()[:200]
    rows = zip(texts, *(ask(release, texts) for release in JARS), strict=True)
    FILE.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
