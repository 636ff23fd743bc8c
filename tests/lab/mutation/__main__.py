"""Mutation testing: changes one place of a package at a time and runs the package's tests until one fails.

    python -m tests.lab.mutation                                300 mutants of each package: less than three hours
    python -m tests.lab.mutation --package probing --sample 40  the first 40 of the package's list
    python -m tests.lab.mutation --again                        what survived before, for example after more tests
    python -m tests.lab.mutation --write                        also writes tests/lab/mutation/results.json

The list of a package is all its mutants, shuffled with the seed. Results are kept in `mutants/`: a second run goes on
where the first one ended. After ``--write``: ``python docs/tables.py``. Needs the libraries of `tox -e mutants`.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tests.lab.mutation.measure import Measurement
from tests.lab.mutation.record import PACKAGES, ROOT, SAMPLE, SEED, Kept, counts, equivalents, read, write

_WORK = ROOT / "mutants"


def main() -> None:
    """Run what the options say; the status is 1 if a mutant survived that is not reviewed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", action="append", choices=PACKAGES, help="all without it")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each package")
    parser.add_argument("--again", action="store_true", help="run what survived once more")
    parser.add_argument("--write", action="store_true", help="record the results")
    options = parser.parse_args()
    recorded, unreviewed = read(), 0
    for package in options.package or PACKAGES:
        kept = Kept(_WORK, ROOT, package, options.seed)
        with Measurement(ROOT, _WORK / "tree", package, kept) as measured:
            results = measured.results(options.seed, options.sample, again=options.again)
        recorded[package] = run = _run(results, options.seed, measured.total)
        print(f"{package}: {run['counts']} of {measured.total}", flush=True)
        for each in run["mutants"]:
            if each["outcome"] == "survived":
                print(f"    {each['mutant']} {each['in']}: {each['change']}", flush=True)
        unreviewed += run["counts"]["survived"]
        if options.write:
            write({each: recorded[each] for each in PACKAGES if each in recorded})
    sys.exit(bool(unreviewed))


def _run(results: Sequence[Mapping[str, str]], seed: int, total: int) -> dict[str, Any]:
    reviewed = {each["mutant"] for each in equivalents()}
    mutants = [{key: each[key] for key in ("mutant", "in", "change", "outcome")} for each in results]
    for each in mutants:
        if each["outcome"] == "survived" and each["mutant"] in reviewed:
            each["outcome"] = "equivalent"
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    return {"seed": seed, "date": date, "of": total, "counts": counts(mutants), "mutants": mutants}


if __name__ == "__main__":
    main()
