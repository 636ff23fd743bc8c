"""What came of Kafka's system tests, with Java only and with a member of this project."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from blocks.markdown import ROOT, table


def in_short() -> str:
    """Count the cases of each test and release."""
    counts: dict[tuple[str, str, str], list[int]] = {}
    for each in _recorded().values():
        total = counts.setdefault((each["file"], each["test"], each["release"]), [0] * 6)
        for at, side in ((0, "java"), (2, "python")):
            if side in each:
                total[at] += 1
                total[at + 1] += not each[side]["outcome"]
        total[4] += each.get("python", {}).get("led", 0)
        total[5] += each.get("python", {}).get("generations", 0)
    rows = [
        (file, f"`{test}`", release, *found[:4], f"{found[4]} of {found[5]}")
        for (file, test, release), found in counts.items()
    ]
    head = (
        "file",
        "test",
        "Kafka",
        "with Java only",
        "passed",
        "with one of ours",
        "passed",
        "generations led by ours",
    )
    return table(head, rows)


def each_case() -> str:
    """List the cases, with the number of lines that came and the seconds."""
    return table(
        ("case", "with Java only", "with one of ours", "led by ours"),
        [(name, _outcome(each, "java"), _outcome(each, "python"), _led(each)) for name, each in _recorded().items()],
    )


def _outcome(case: Mapping[str, Any], side: str) -> str:
    if side not in case:
        return "not run"
    found = case[side]
    return f"**fails**: {found['outcome'][:115]}" if found["outcome"] else f"{found['awaited']} lines"


def _led(case: Mapping[str, Any]) -> str:
    return f"{case['python']['led']} of {case['python']['generations']}" if "python" in case else ""


def _recorded() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((ROOT / "tests/lab/kafka_system_tests/results.json").read_text(encoding="utf-8"))
    return kept


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "kafka's system tests in short": in_short,
    "kafka's system tests": each_case,
}
