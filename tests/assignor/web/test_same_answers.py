"""The page and the command line give the same JSON: random pairs of releases, with and without files."""

import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from streams_assignor.cli.in_browser import releases
from streams_assignor.cli.main import cli
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

pytestmark = pytest.mark.slow

SETS, PAIRS = 20, 5
"""Of files; of releases without files, and with each set."""
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


def test_the_json_of_the_page_is_that_of_the_command_line(page, tmp_path, monkeypatch):
    random, differing = Random(20261126), []
    page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")  # once: a start takes as long as thirty plans
    for number in range(SETS):
        folder = tmp_path / str(number)
        files = file_set(random, folder)
        monkeypatch.chdir(folder)
        differing += differences(page, random, ())
        page.changed("upgrade", lambda: page.choose("upgrade", *(folder / name for _, name in files)))  # noqa: B023
        differing += differences(page, random, files)
        for _, name in files:
            page.changed("upgrade", page.one(f"[aria-label='remove {name}']").click)

    assert [] == differing


def differences(page, random, files):
    """Yield the arguments of the command line whose answer is not that of the page."""
    for _ in range(PAIRS):
        origin, target = random.sample(releases(), 2)
        arguments = ["plan", *(word for option in files for word in option), "--json", origin, target]
        page.go(f"#upgrade?from={origin}&to={target}")
        if CliRunner().invoke(cli, arguments).stdout != page.hidden_text("#json pre"):
            yield arguments
