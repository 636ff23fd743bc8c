"""Runs cases, and keeps what came of them."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from tests.lab.kafka_system_tests.cases import CASES, Case
from tests.lab.kafka_system_tests.processors import SystemTestFailed
from tests.lab.kafka_system_tests.system import System

RECORDED: Final = Path(__file__).with_name("results.json")
JAVA, PYTHON = SIDES = ("java", "python")


@frozen
class Result:
    """What came of a case, with Java only or with a member of ours."""

    outcome: str
    """Empty if all lines came."""
    awaited: int
    """The number of lines that were awaited and came."""
    generations: int
    """The highest generation that a member joined."""
    led: int
    """How many of them our member led."""
    seconds: float


def run(case: Case, side: str, logs: Path | None = None) -> Result:
    """Run a case; write the lines of all processes to a folder if one is given."""
    began = time.monotonic()
    python = case.python if side == PYTHON else None
    with tempfile.TemporaryDirectory(prefix="kafka-system-test-") as folder:
        system = System(
            case.release,
            Path(folder),
            seed=case.test,
            python=python,
            brokers=case.brokers,
            isolated=case.isolated,
        )
        outcome = ""
        try:
            with system:
                case.steps(system, **case.parameters)
        except (SystemTestFailed, AssertionError) as failed:
            outcome = str(failed)[:1000]
        if logs:
            _write_logs(system, logs / f"{case.name}, {side}".replace(" ", "-").replace(",", ""))
    joined = [number for each in system.processors for number in each.generations]
    return Result(
        outcome=outcome,
        awaited=sum(each.awaited for each in system.processors),
        generations=max(joined, default=0),
        led=sum(len(each.found("^led generation")) for each in system.processors),
        seconds=round(time.monotonic() - began, 1),
    )


def _write_logs(system: System, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for each in (*system.processors, *system.others):
        (folder / f"{each.name}.log").write_text("\n".join(each.lines), encoding="utf-8")


def recorded() -> dict[str, Any]:
    """What is checked in, by the names of cases."""
    return json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}


def record(case: Case, side: str, result: Result) -> None:
    """Keep a result, in the order of the cases."""
    kept = recorded()
    facts = {"file": case.file, "test": case.test, "release": case.release, "parameters": dict(case.parameters)}
    own = {**kept.get(case.name, {}), **facts, "classes": list(case.classes), side: asdict(result)}
    kept[case.name] = own
    ordered = {name: kept[name] for name in CASES if name in kept}
    RECORDED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
