"""What is recorded: the list of mutants with their outcomes, and the reviews of those that change nothing.

Unfinished runs are kept beside it, outside of the repository.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

SEED: Final = 268
PACKAGES: Final = (
    "subscription_codec",
    "probing",
    "assignor/protocol",
    "assignor/task_assignors",
    "assignor/task_assignor",
    "assignor/groups",
    "assignor/clients/confluent/streams_protocol",
    "spark_sim/streams_groups",
    "upgrade/application",
    "upgrade/roll",
)
SAMPLE: Final = 300
"""How many mutants of each package run if nothing else is said."""
REQUIRED: Final = 0.95
ROOT: Final = Path(__file__).parents[3]
RECORDED: Final = Path(__file__).with_name("results.json")
_EQUIVALENT: Final = Path(__file__).with_name("equivalent.json")


def read() -> dict[str, Any]:
    """Return the recorded run of each package."""
    recorded: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    return recorded


def write(recorded: Mapping[str, Any]) -> None:
    """Record the runs, a line for each mutant."""
    runs = ",\n".join(map(_text_of_run, recorded.items()))
    RECORDED.write_text(f"{{\n{runs}\n}}\n", encoding="utf-8")


def equivalents() -> list[dict[str, str]]:
    """Return the reviewed mutants: nothing that a caller can see depends on the change, for the ``reason``."""
    rows: list[dict[str, str]] = json.loads(_EQUIVALENT.read_text(encoding="utf-8"))
    return rows


def counts(mutants: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Return how many mutants there are of each kind, and the share of killed ones among those not equivalent."""
    kinds = Counter(each["outcome"] for each in mutants)
    share = kinds["killed"] / ((kinds["killed"] + kinds["survived"]) or 1)
    return {kind: kinds[kind] for kind in ("killed", "equivalent", "survived")} | {"share": round(share, 4)}


class Kept:
    """The results so far, a line for each. Other sources of the package, or another seed, have other results."""

    def __init__(self, folder: Path, root: Path, package: str, seed: int) -> None:
        sources = sha256()
        for module in sorted((root / package).rglob("*.py")):
            sources.update(module.read_bytes())
        self._path = path = folder / f"{package.replace('/', '-')}-{seed}-{sources.hexdigest()[:10]}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.by_mutant: dict[str, dict[str, Any]] = {each["mutant"]: each for each in map(json.loads, lines)}

    def add(self, result: dict[str, Any]) -> None:
        """Write one result at once."""
        self.by_mutant[result["mutant"]] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            print(json.dumps(result), file=file)


def _text_of_run(item: tuple[str, Any]) -> str:
    package, run = item
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in run.items() if key != "mutants")
    lines = ",\n".join(f"   {json.dumps(each, ensure_ascii=False)}" for each in run["mutants"])
    return f' {json.dumps(package)}: {{{head}, "mutants": [\n{lines}\n ]}}'
