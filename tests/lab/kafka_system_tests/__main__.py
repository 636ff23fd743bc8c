"""Kafka's system tests of Streams with Kafka's own test classes, with Java only and with a member of this project.

    python -m tests.lab.kafka_system_tests                     all cases, both ways: hours
    python -m tests.lab.kafka_system_tests --only probing      those whose names have this part
    python -m tests.lab.kafka_system_tests --python            only with a member of this project
    python -m tests.lab.kafka_system_tests --java              only the controls
    python -m tests.lab.kafka_system_tests --write             also keeps what came of it

Needs Java 17 and Maven. After ``--write``: ``python docs/tables.py``.
"""

import argparse
import sys
from pathlib import Path

from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.kafka_system_tests.cases import CASES
from tests.lab.kafka_system_tests.measure import JAVA, PYTHON, record, recorded, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of a name; may be repeated")
    parser.add_argument("--python", action="store_true", help="without the controls")
    parser.add_argument("--java", action="store_true", help="only the controls")
    parser.add_argument("--missing", action="store_true", help="only what is not recorded as passed")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    parser.add_argument("--write", action="store_true", help="record what came of it")
    parser.add_argument("--logs", type=Path, help="a folder for the lines of all processes")
    options = parser.parse_args()
    chosen = [side for side, others in ((JAVA, options.python), (PYTHON, options.java)) if not others]
    failed = False
    for case in CASES.values():
        if options.only and not any(part in case.name for part in options.only):
            continue
        for side in chosen:
            if side == JAVA and case.python != 1:  # Java only: whichever processor was to be ours
                continue
            if options.missing and recorded().get(case.name, {}).get(side, {}).get("outcome") == "":
                continue
            if options.list:
                print(f"{case.name}, {side}")
                continue
            try:
                result = run(case, side, options.logs)
            except Unavailable as missing:
                sys.exit(f"Kafka's test classes cannot run: {missing}")
            failed |= bool(result.outcome)
            print(
                f"{result.outcome or 'ok'}: {case.name}, {side}: {result.awaited} lines, {result.led} of "
                f"{result.generations} generations led by ours, {result.seconds} s",
                flush=True,
            )
            if options.write:
                record(case, side, result)
    sys.exit(failed)
