"""The releases of kafka-streams that Maven's registry lists, beside those of the table."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from attrs import frozen

from streams_assignor.upgrade.releases import RELEASES
from streams_assignor.upgrade.upgrade_from import line_number
from tests.lab.integration.kafka_jars import Unavailable, program

_GET = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
_MAVEN_SECONDS = 300
_RELEASE = re.compile(r"[0-9]+(\.[0-9]+)+")


@frozen
class Difference:
    """How the table differs from the list of the registry; both sorted."""

    missing: tuple[str, ...]
    """Published, but not in the table."""
    unpublished: tuple[str, ...]
    """In the table as published, but not in the list."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.unpublished)

    def __str__(self) -> str:
        lines = [f"not in the table: {name}" for name in self.missing]
        lines += [f"in the table, but not published: {name}" for name in self.unpublished]
        return "\n".join(lines)


def published_releases(artifact: str = "kafka-streams") -> tuple[str, ...]:
    """List what the registry that Maven is set up for has, oldest first; release candidates are left out.

    Raises:
        Unavailable: There is no Maven, or it cannot reach a registry.
    """
    maven = program("mvn")
    # An empty repository of its own: Maven asks for the list of versions once a day only.
    with tempfile.TemporaryDirectory(prefix="kafka-streams-versions-") as folder:
        settings = [
            f"-Dartifact=org.apache.kafka:{artifact}:LATEST",
            "-Dtransitive=false",
            f"-Dmaven.repo.local={folder}",
        ]
        command = [maven, "-B", "-q", "-Dstyle.color=never", _GET, *settings]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_MAVEN_SECONDS)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not answer within {_MAVEN_SECONDS} s") from None
        lists = [path.read_text() for path in Path(folder).glob(f"org/apache/kafka/{artifact}/maven-metadata-*.xml")]
    if not lists:
        why = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it does not say why")
        raise Unavailable(f"Maven has no list of versions (is there a network?): {why[:300]}")
    return tuple(sorted({name for text in lists for name in versions_of(text)}, key=line_number))


def versions_of(metadata: str) -> list[str]:
    """Read the releases in a ``maven-metadata.xml``.

    >>> versions_of("<versions><version>4.2.2</version><version>4.3.0-rc1</version></versions>")
    ['4.2.2']
    """
    names = [element.text or "" for element in ElementTree.fromstring(metadata).iter("version")]
    return [name for name in names if _RELEASE.fullmatch(name)]


def difference(published: Iterable[str]) -> Difference:
    """Compare a list of releases with the table.

    >>> difference([*(name for name, release in RELEASES.items() if release.is_released), "9.9.0"]).missing
    ('9.9.0',)
    """
    known = {name for name, release in RELEASES.items() if release.is_released}
    listed = set(published)
    return Difference(_sorted(listed - known), _sorted(known - listed))


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=line_number))
