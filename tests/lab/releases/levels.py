"""The feature levels that the jars of a release have, beside the catalog of its line."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, FeatureCatalog
from tests.lab.integration.kafka_jars import class_path, java, jvm

FIRST_WITH_FEATURES: Final = (3, 3)
PROGRAM: Final = Path(__file__).parent / "java" / "FeatureLevels.java"
_FOR_TESTS = ("test.", "unit.test.")
Row = tuple[int, str, bool, bool]
"""A level of metadata.version: number, name, whether it changed the records, whether it is released."""


@frozen
class JarLevels:
    """What the program printed, without the features of Kafka's own tests."""

    metadata: tuple[Row, ...]
    bootstraps: dict[str, dict[int, int]] = field(hash=False)
    """The metadata.version at which new clusters have each level of the other features."""
    dependencies: dict[tuple[str, int], dict[str, int]] = field(hash=False)
    supported: dict[str, tuple[int, int]] = field(hash=False)
    """What a broker advertises; a feature that has only level 0 is not advertised."""


def ask_levels(release: str) -> list[str]:
    """Run the program on the jars of a release since 3.3.

    Raises:
        Unavailable: There is no Java or no such jar.
    """
    java()
    command = [*jvm(class_path(f"org.apache.kafka:kafka-server-common:{release}"), "256m", "off"), str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{PROGRAM.name} failed on {release}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout.splitlines()


def parse_levels(lines: Iterable[str]) -> JarLevels:
    """Read the lines of the program.

    >>> parse_levels(["metadata 7 3.3-IV3 true true", "supported metadata.version 1 7"]).metadata
    ((7, '3.3-IV3', True, True),)
    """
    metadata: list[Row] = []
    bootstraps: defaultdict[str, dict[int, int]] = defaultdict(dict)
    dependencies, supported = {}, {}
    for line in lines:
        kind, *words = line.split()
        if words[0].startswith(_FOR_TESTS):
            continue
        if kind == "metadata":
            number, name, changed, production = words
            metadata.append((int(number), name, changed == "true", production == "true"))
        elif kind == "feature":
            name, number, bootstrap, *needed = words
            bootstraps[name][int(number)] = int(bootstrap)
            if needed:
                pairs = (word.split("=") for word in needed)
                dependencies[name, int(number)] = {other: int(level) for other, level in pairs}
        else:
            name, lowest, highest = words
            supported[name] = (int(lowest), int(highest))
    return JarLevels(tuple(metadata), dict(bootstraps), dependencies, supported)


def level_differences(jars: JarLevels, catalog: FeatureCatalog) -> list[str]:
    """List where a catalog differs from the jars."""
    ours = {
        (each.number, each.name, each.did_metadata_change, each.is_production)
        for each in catalog.levels[METADATA_VERSION]
    }
    found = [
        f"{METADATA_VERSION} {row}: only {'the table has it' if row in ours else 'the jars have it'}"
        for row in sorted(ours ^ {*jars.metadata})
    ]
    known = {name: catalog.supported_range(name) for name in catalog.features}
    found += [
        f"{name}: the jars support {jars.supported.get(name)}, the table has {known.get(name)}"
        for name in sorted(known.keys() | jars.supported.keys())
        if known.get(name) != jars.supported.get(name)
    ]
    for level in (each for name, rows in catalog.levels.items() if name != METADATA_VERSION for each in rows):
        bootstrap = jars.bootstraps.get(level.feature, {}).get(level.number)
        theirs = bootstrap, jars.dependencies.get((level.feature, level.number), {})
        if (level.bootstrap_metadata_version, dict(level.dependencies)) != theirs:
            found.append(f"{level.feature} {level.number}: the jars have {theirs}")
    return found
