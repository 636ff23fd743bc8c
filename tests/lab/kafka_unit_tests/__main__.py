"""Kafka's own unit tests judge this project: prints one line for each test class, release and bridge.

    python -m tests.lab.kafka_unit_tests                  bridges, canaries and the quick controls: about three minutes
    python -m tests.lab.kafka_unit_tests --controls       all controls: about fifteen minutes
    python -m tests.lab.kafka_unit_tests --bridge leader  one bridge, its canary and its controls
    python -m tests.lab.kafka_unit_tests --write          also writes tests/lab/kafka_unit_tests/results.json

Needs Java 17 and Maven. After ``--write``: ``python docs/tables.py``.
"""

import argparse
import sys

from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.kafka_unit_tests.measure import Runs, record
from tests.lab.kafka_unit_tests.suites import BRIDGES

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controls", action="store_true", help="run the slow controls, too")
    parser.add_argument("--write", action="store_true", help="record all counts")
    names = [bridge.name for bridge in BRIDGES]
    parser.add_argument("--bridge", choices=names, action="append", help="run this bridge only (repeatable)")
    options = parser.parse_args()
    bridges = [bridge for bridge in BRIDGES if bridge.name in (options.bridge or names)]
    try:
        with Runs(bridges, slow_controls=options.controls) as runs:
            print("bridge, test class, release: total, passed, canary, calls")
            unexpected = []
            for bridge, suite, release in runs.suites:
                measured = runs.measured(bridge, suite, release)
                row = measured.row
                print(
                    f"{bridge.name}, {suite}, {release}: {row.total}, {row.passed}, {row.canary}, {row.calls}",
                    flush=True,
                )
                unexpected += [f"{suite}, {release}: {each}" for each in measured.unexpected]
            for release in runs.releases:
                for suite in runs.controls(release):
                    results = runs.control(suite, release)
                    failed = [each for each in results if each.outcome != "passed"]
                    print(f"control, {suite}, {release}: {len(results)}, {len(results) - len(failed)}", flush=True)
                    unexpected += [f"control, {suite}, {release}: {each.test}: {each.why}" for each in failed]
            if options.write:
                record(runs)
    except Unavailable as missing:
        sys.exit(f"Kafka's tests cannot run: {missing}")
    print(*unexpected, sep="\n")
    sys.exit(bool(unexpected))
