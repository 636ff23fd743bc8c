"""The codec vectors on the jars of a release: whether its codec still reads and writes what the others do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.codec import decode_assignment, decode_subscription
from streams_assignor.upgrade.upgrade_from import line_number
from tests.java_oracle import Oracle, as_java_keeps_it
from tests.subscription_codec.java_view import as_java_shows_it

VECTORS: Final = Path(__file__).parents[2] / "vectors" / "codec.jsonl"
_DECODE: Final = {"subscription": decode_subscription, "assignment": decode_assignment}
_OUT_OF_MEMORY: Final = "java.lang.OutOfMemoryError"  # depends on the heap
Row = Mapping[str, Any]


@frozen
class CodecAnswers:
    """What the jar did with the vectors of the nearest release that has some."""

    vectors_of: str
    decoded: int = 0
    """Valid bytes that it decodes to our fields, and encodes to bytes that we decode to the same."""
    unlike_ours: tuple[str, ...] = ()
    """Valid bytes that it reads or writes otherwise."""
    malformed: int = 0
    """Malformed bytes that it treats like the release of the vectors."""
    newly: Mapping[str, int] = field(factory=dict)
    """Other outcomes of malformed bytes, and how often: ``accepted, now java.lang.X``."""


def check_codec(release: str, supported_version: int) -> CodecAnswers:
    """Ask the jars of a release about every vector of the newest release up to it."""
    rows = [json.loads(line) for line in VECTORS.open()]
    made_by = max((row["jar"] for row in rows if line_number(row["jar"]) <= line_number(release)), key=line_number)
    known = [row for row in rows if row["jar"] == made_by and "hex" in row and row["version"] <= supported_version]
    with Oracle(release) as oracle:
        valid = [row for row in known if "fields" in row]
        unlike = tuple(_unlike(oracle, valid))
        malformed = [row for row in known if {"malformed", "error", "decoded"} & row.keys() and "fields" not in row]
        newly = Counter(_outcomes(oracle, [row for row in malformed if "results" not in row]))
    same = newly.pop("", 0)
    return CodecAnswers(made_by, len(valid) - len(unlike), unlike, same, dict(newly))


def _unlike(oracle: Oracle, rows: list[Row]) -> Iterator[str]:
    """Name the rows that the jar reads or writes differently from us."""
    for kind, decode in _DECODE.items():
        chosen = [row for row in rows if row["kind"] == kind]
        all_encoded = [bytes.fromhex(row["hex"]) for row in chosen]
        answers = zip(oracle.decode(kind, all_encoded), oracle.reencode(kind, all_encoded), strict=True)
        for row, encoded, (read, written) in zip(chosen, all_encoded, answers, strict=True):
            ours = as_java_keeps_it(as_java_shows_it(decode(encoded)))
            again = written.get("hex") and as_java_keeps_it(as_java_shows_it(decode(bytes.fromhex(written["hex"]))))
            theirs = as_java_keeps_it(read.get("fields", {}))
            if not theirs or again != ours or any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys()):
                yield f"{kind} of version {row['version']}: {row['hex'][:80]}"


def _outcomes(oracle: Oracle, rows: list[Row]) -> Iterator[str]:
    """For each malformed row, what is new about its outcome; empty if it is that of the vectors."""
    questions = [{"op": "decode", "kind": row["kind"], "hex": row["hex"]} for row in rows]
    for row, answer in zip(rows, oracle.ask(questions), strict=True):
        before, now = row.get("error", "accepted"), answer.get("error", "accepted")
        yield "" if before == now or _OUT_OF_MEMORY in (before, now) else f"{row['kind']}: {before}, now {now}"
