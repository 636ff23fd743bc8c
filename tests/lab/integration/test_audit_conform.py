"""``streams-assignor audit --conform`` on the segments of a broker, after rolling bounces of real Kafka Streams."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.codec.coordinator import RECORD_TYPES, decode_value, encode_value
from streams_assignor.spark_sim.audit.records import MARKER, read_records
from streams_assignor.spark_sim.audit.sources import segments_source
from tests.lab.integration.applications import Application, settle
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.subprocesses import JavaMember
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.java]
BOUNCES = {NEWEST: (("2.4.1", "3.9.2"), ("3.9.2", NEWEST)), OLDER: (("2.4.1", "3.9.2"),)}
"""By broker: one that changes the version of the metadata, and one that does not."""
INSTANCES = 2
METADATA = RECORD_TYPES[2]


@pytest.fixture(name="broker", scope="module", params=with_matrix(BOUNCES, [NEWEST], "the same on an older broker"))
def fixture_broker(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(name="segments", scope="module")
def fixture_segments(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("bounced")
    with ExitStack() as stack:
        try:
            for release in {release for pair in BOUNCES[broker] for release in pair}:
                counting(release)
            cluster = stack.enter_context(Cluster(folder))
            cluster.start(1, broker, settings={"offsets.topic.num.partitions": "2"})
        except Unavailable as missing:
            pytest.skip(f"no real broker or Kafka Streams: {missing}")
        for origin, target in BOUNCES[broker]:
            bounce(cluster.brokers, folder / origin, origin, target)
        yield folder / "1" / "data"


def bounce(brokers: str, state: Path, origin: str, target: str) -> None:
    application = Application(brokers)
    with ExitStack() as stack:
        running: list[tuple[ExitStack, JavaMember]] = []

        def start(number: int, release: str) -> tuple[ExitStack, JavaMember]:
            own = stack.enter_context(ExitStack())
            return own, own.enter_context(application.java(release, state / str(number)))

        for number in range(INSTANCES):
            running.append(start(number, origin))
            settle(*(member for _, member in running))
        for number in range(INSTANCES):
            running[number][0].close()
            running[number] = start(number, target)
            settle(*(member for _, member in running))


def audit(out: Path, *arguments: object) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    done = CliRunner().invoke(cli, ["audit", *map(str, arguments), "--out", str(out), "--conform", "--json"])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)["conformance"], pq.read_table(out / "conformance").to_pylist()


def assigned_twice(segments: Path, group: str, number: int, dump: Path) -> Path:
    """A dump in which the second member of a generation has the assignment of the first one."""
    with dump.open("w") as lines:
        for row in read_records(segments_source(segments)):
            value = row["value"]
            if row["kind"] == METADATA.name and row["group"] == group and value is not None:
                fields = decode_value(METADATA, value).fields
                if fields["generation"] == number:
                    one, other = fields["members"][:2]
                    other["assignment"] = one["assignment"]
                    value = encode_value(METADATA, int.from_bytes(value[:2], "big"), fields)
            if row["kind"] != MARKER and row["key"] is not None:
                record = {name: row[name] for name in ("partition", "offset", "timestamp")}
                record |= {"key": row["key"].hex(), "value": None if value is None else value.hex()}
                lines.write(json.dumps(record) + "\n")
    return dump


@pytest.mark.parametrize("master", ["processes", "local[2]"])
def test_real_rolling_bounces_conform(broker: str, segments: Path, tmp_path: Path, master: str) -> None:
    number = len(BOUNCES[broker])
    status, summary, rows = audit(tmp_path / "out", "--segments", segments, "--master", master)

    assert (0, [True] * number) == (status, [row["conforms"] for row in rows]), rows
    assert (number, number, 0) == (summary["bounces"], summary["comparable"], summary["differ"])
    assert all(row["subscriptions"] and row["assignments"] for row in rows)


def test_a_changed_history_differs_at_that_generation(segments: Path, tmp_path: Path) -> None:
    _, _, rows = audit(tmp_path / "real", "--segments", segments)

    for number, bounce in enumerate(rows):
        changed = bounce["last_generation"]
        dump = assigned_twice(segments, bounce["group"], changed, tmp_path / f"{number}.jsonl")
        status, summary, again = audit(tmp_path / f"{number}", "--dump", dump, "--group", bounce["group"])
        assert (1, 1, changed) == (status, summary["differ"], summary["first_difference"]["differs_in"]), again
