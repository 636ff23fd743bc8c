"""The page and the command line give the same JSON: random pairs of releases, and sets of files."""

import json
import os
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from streams_assignor.cli.in_browser import releases
from streams_assignor.cli.main import cli
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

pytestmark = pytest.mark.slow

PAIRS, SETS = 200, 20
TOPOLOGIES = sorted((Path(__file__).parents[2] / "upgrade" / "topologies").glob("*.txt"))
SETTINGS = (
    "processing.guarantee=exactly_once",
    "processing.guarantee=exactly_once_v2",
    "upgrade.from=2.3",
    "default.key.serde=org.apache.kafka.common.serialization.Serdes$StringSerde",
    "auto.include.jmx.reporter=false",
    "retries=-5",
    "num.standby.replicas=x",
    "consumer.session.timeout.ms=10000",
    "spring.kafka.streams.properties.topology.optimization=all",
    "unknown.key=\\u00fc",
    "application.id=orders",
)
CLASSES = (
    "processor/PartitionGrouper",
    "StreamsBuilder",
    "processor/internals/StreamThread",
    "kstream/TransformerSupplier",
    "errors/BrokerNotFoundException",
)


def file_set(random, folder):
    """Some of configuration, code and topology, as a person would drop them."""
    folder.mkdir()
    kinds = random.sample(["properties", "json", "jar", "class", "topology"], random.randint(1, 3))
    files = []
    lines = random.sample(SETTINGS, random.randint(1, 6))
    if "properties" in kinds:
        files.append(("--config", "a.properties", "\n".join(lines).encode()))
    elif "json" in kinds:
        files.append(("--config", "a.json", json.dumps(dict(each.split("=", 1) for each in lines)).encode()))
    classes = random.sample(CLASSES, random.randint(1, 4))
    written = ClassBytes("com/example/Orders")
    for each in classes:
        written = written.makes(f"org/apache/kafka/streams/{each}")
    if "jar" in kinds:
        files.append(("--app", "orders.jar", jar({"com/example/Orders.class": written.bytes(), "x": b"y"})))
    if "class" in kinds:
        files.append(("--app", "Orders.class", written.bytes()))
    if "topology" in kinds:
        files.append(("--topology", "topology.txt", random.choice(TOPOLOGIES).read_bytes()))
    for _, name, content in files:
        (folder / name).write_bytes(content)
    return [(option, name) for option, name, _ in files]


def test_the_json_of_the_page_is_that_of_the_command_line(page, tmp_path):
    random = Random(20261126)
    names = releases()
    sets = {tmp_path / str(number): file_set(random, tmp_path / str(number)) for number in range(SETS)}
    differing, failed = [], 0
    for number in range(PAIRS):
        origin, target = random.sample(names, 2)
        folder = list(sets)[number % SETS] if number >= PAIRS // 2 else None
        if number == 0 or folder:
            page.open()
            page.until(lambda: not page.one("#working").is_displayed())
        if folder:
            page.choose("upgrade", *(folder / name for _, name in sets[folder]))
            page.until(lambda: len(sets[folder]) == len(page.all(".chosen li")))  # noqa: B023  # called at once
        page.go(f"#upgrade?from={origin}&to={target}")
        os.chdir(folder or tmp_path)
        options = [word for option in sets.get(folder, ()) for word in option]
        result = CliRunner().invoke(cli, ["plan", *options, "--json", origin, target])
        if not result.stdout:
            failed += 1
            same = result.stderr.splitlines()[-1].partition(": ")[2] in page.text("upgrade")
        else:
            same = result.stdout == page.hidden_text("#json pre")
        differing += [] if same else [(origin, target, options)]

    assert [] == differing
    assert failed < PAIRS // 10


@pytest.fixture(autouse=True)
def stay():
    before = Path.cwd()
    yield
    os.chdir(before)
