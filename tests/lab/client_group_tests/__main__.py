"""The group tests of kafka-python and aiokafka judge our assignor: prints one line for each of their files.

    python -m tests.lab.client_group_tests --list               the libraries, and where their tests come from
    python -m tests.lab.client_group_tests                      controls, ours and canaries of all libraries
    python -m tests.lab.client_group_tests kafka-python         of one
    python -m tests.lab.client_group_tests --write              also writes tests/lab/client_group_tests/results.json

Needs Java 17 and Maven for a broker. After ``--write``: ``python docs/tables.py``.
"""

import argparse
import sys

from tests.lab.client_group_tests.measure import Measured, record
from tests.lab.client_group_tests.runner import check_broker
from tests.lab.client_group_tests.suites import LIBRARIES
from tests.lab.integration.kafka_jars import Unavailable

if __name__ == "__main__":
    by_name = {library.name: library for library in LIBRARIES}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="*", choices=[[], *by_name], help="all of them by default")
    parser.add_argument("--list", action="store_true", help="print what would run")
    parser.add_argument("--write", action="store_true", help="record all counts")
    options = parser.parse_args()
    chosen = [by_name[name] for name in options.library] or list(LIBRARIES)
    if options.list:
        for library in chosen:
            print(f"{library.name} {library.release}, {library.source.described}: {', '.join(library.suites)}")
        sys.exit()
    unexpected = []
    measured = []
    try:
        check_broker()
        print("library, file: total, control, passed, canary, calls")
        for library in chosen:
            library.check_installed()
            measured.append(found := Measured(library))
            for row in found.rows():
                counts = row.total, row.control, row.passed, row.canary, row.calls
                print(f"{row.library}, {row.suite}: {', '.join(map(str, counts))}", flush=True)
            unexpected += [f"{library.name}, {each}" for each in found.unexpected]
        if options.write:
            record(measured)
    except Unavailable as missing:
        sys.exit(f"the tests of the client libraries cannot run: {missing}")
    print(*unexpected, sep="\n")
    sys.exit(bool(unexpected))
