"""A real ``kafka-storage format`` without a version, beside the model's default level."""

import re
import subprocess
from pathlib import Path

import pytest

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import catalog_of
from streams_assignor.upgrade.cluster.features.metadata_log import format_meta_properties
from tests.lab.integration.feature_checks import need_brokers
from tests.lab.integration.kafka_jars import class_path, jvm
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = pytest.mark.java

# A FeatureLevelRecord (frame version 1, type 12, version 0) in a snapshot: name, level, no tagged fields.
FEATURE_LEVEL = re.compile(rb"\x01\x0c\x00.([a-z.]+)(..)\x00", re.DOTALL)


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_m13_a_real_format_without_a_version_writes_the_default_levels(release: str, tmp_path: Path) -> None:
    need_brokers(release)
    catalog = catalog_of(release.rpartition(".")[0])
    (name,) = format_meta_properties(catalog).values()
    metadata = catalog.parse_level(METADATA_VERSION, name)
    # kraft.version is not a FeatureLevelRecord, and a level 0 is not written.
    others = {
        each: level for each, level in catalog.default_levels(metadata).items() if level and each != "kraft.version"
    }

    output, snapshot = formatted(release, tmp_path)

    assert f"with metadata.version {name}." in output
    levels = {each.decode(): int.from_bytes(level) for each, level in FEATURE_LEVEL.findall(snapshot)}
    assert {METADATA_VERSION: metadata} | others == levels


def formatted(release: str, folder: Path) -> tuple[str, bytes]:
    """The output of the tool, and the snapshot that it leaves."""
    properties = folder / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs={folder / 'data'}\n"  # nothing listens
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
    )
    java = jvm(class_path(f"org.apache.kafka:kafka_2.13:{release}"), "128m", "warn")
    command = [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout, (folder / "data" / "bootstrap.checkpoint").read_bytes()
