"""Changes of behaviour that are in no guide, beside what Kafka's jars show of them."""

import re
from itertools import pairwise

from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.rocksdb import rocksdb_version
from streams_assignor.upgrade.hazards._behaviours import BEHAVIOURS
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES, release_named

PACKAGES = ("streams/processor/internals", "clients", "common/requests")
LINES = [release for release in NEWEST_OF_LINE.values() if release.is_released and release.number >= (0, 11)]
METHODS = {row.name: re.findall(r"(\w+)#(\w+)", row.detail) for row in BEHAVIOURS if row.name.startswith("agents-of-")}


def forms(release, owner, method):
    classes = (code_of(release).get(f"org/apache/kafka/{package}/{owner}") for package in PACKAGES)
    return {descriptor for found in classes if found for name, descriptor in found.members if name == method}


def test_methods_that_agents_instrument_changed_in_the_releases_of_the_rows_and_in_no_others():
    instrumented = {each for methods in METHODS.values() for each in methods}
    changed = {
        f"agents-of-{'.'.join(map(str, newer.number[:2]))}": {
            each for each in instrumented if forms(older, *each) != forms(newer, *each)
        }
        for older, newer in pairwise(LINES)
    }

    assert {name: set(methods) for name, methods in METHODS.items()} == {k: v for k, v in changed.items() if v}


def test_rows_of_rocksdb_name_the_versions_of_the_jars():
    rows = {row.name: row for row in BEHAVIOURS if row.name.startswith("rocksdb-of-")}

    for row in rows.values():
        new, old = row.detail.split(" instead of ")
        targets = [release for release in RELEASES.values() if release.is_released and release in row.targets]
        before = [release for release in RELEASES.values() if release.is_released and release in row.origins]
        assert rocksdb_version(targets[0]).startswith(f"{new}.")
        assert rocksdb_version(before[-1]).startswith(f"{old}.")
    assert rocksdb_version(release_named("4.4")).startswith("10.1.")
