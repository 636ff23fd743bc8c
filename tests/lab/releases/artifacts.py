"""Jars and POMs of Kafka's releases, from the registry that Maven is set up for."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from attrs import frozen

from tests.lab.integration.kafka_jars import Unavailable, cache_folder, program

KAFKA: Final = "org.apache.kafka"
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>
<artifactId>tests</artifactId><version>1</version><packaging>pom</packaging><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
<configuration><outputDirectory>{}</outputDirectory><artifactItems>{}</artifactItems></configuration>
</plugin></plugins></build></project>
"""
_ITEM: Final = (
    "<artifactItem><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><type>{}</type></artifactItem>"
)
_SECONDS: Final = 1_800


@frozen(order=True)
class Artifact:
    """A file of the registry."""

    group: str
    name: str
    version: str
    type: str = "jar"

    @property
    def file_name(self) -> str:
        """The name of its copy."""
        return f"{self.name}-{self.version}.{self.type}"


def tables_folder() -> Path:
    """Return the folder where the files of Kafka are kept from one run to the next."""
    return cache_folder() / "application-tables"


def copy_artifacts(wanted: Iterable[Artifact], folder: Path) -> None:
    """Copy into a folder what it does not have yet, with one Maven.

    Raises:
        Unavailable: There is no Maven, or it does not get them.
    """
    missing = [each for each in wanted if not (folder / each.file_name).exists()]
    if not missing:
        return
    items = "".join(_ITEM.format(each.group, each.name, each.version, each.type) for each in missing)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        pom = Path(scratch, "pom.xml")
        pom.write_text(_POM.format(escape(str(folder)), items))
        command = [program("mvn"), "-B", "-q", "-Dstyle.color=never", "-f", str(pom), _COPY]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        why = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it does not say why")
        raise Unavailable(f"Maven does not get the files (is there a network?): {why[:300]}")
