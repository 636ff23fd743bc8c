"""``streams-assignor plan --brokers``."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.cli.plan.brokers import plan_brokers
from streams_assignor.formats.display import DisplayOptions
from tests.each import for_each


def run(*arguments):
    return CliRunner().invoke(cli, ("plan", *arguments))


def test_it_prints_the_steps_with_their_way_back_and_their_source():
    result = run("--brokers", "2.0.1", "2.8.2")

    assert 0 == result.exit_code
    assert result.output.startswith("brokers with ZooKeeper, 2.0.1 to 2.8.2: 2 rolls\n\n1. set inter.broker")
    assert (
        "   way back:   open: bounce every broker to 2.0.1 again\n   source:     upgrade notes of 2.8" in result.output
    )
    assert result.output.splitlines()[-3].startswith("note: ")
    assert result.output.splitlines()[-1].startswith(
        "checked: protocol versions, feature levels, ZooKeeper and KRaft, what each step raises, Kafka's upgrade notes "
        "after 2.0.1 up to 2.8.2 (4 facts for operators), "
    )


def test_a_name_that_says_kraft_needs_no_mode():
    result = run("--brokers", "3.7.x.kraft", "4.1.x.kraft")

    assert result.output.startswith("brokers in KRaft mode, 3.7 to 4.1: 1 roll\n")
    assert "note: Amazon's build of Kafka 3.7, whose own changes are not known; the first release" in result.output


def test_a_patch_level_that_is_not_known_has_the_bugs_of_the_first_release_of_its_line():
    result = run("--brokers", "3.4", "3.6.9", "--zookeeper")

    assert "note: 3.6.9 is not in the table of this version; the first release of the line counts\n" in result.output
    assert "KAFKA-15653" in result.output
    assert "KAFKA-15653" not in run("--brokers", "3.4", "3.6.2", "--zookeeper").output


def test_a_number_of_confluent_platform_is_refused_even_with_assume():
    result = run("--brokers", "7.6", "8.0", "--assume", "4.3", "--kraft")

    assert (2, True) == (result.exit_code, "for Confluent Platform write cp-7.6 (Kafka 3.6)" in result.output)


def test_one_roll_is_one():
    assert run("--brokers", "4.2", "4.3").output.startswith("brokers in KRaft mode, 4.2 to 4.3: 1 roll\n")


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_without_a_way_the_exit_status_is_1(as_json):
    result = run("--brokers", "4.3", "4.2", *as_json)

    assert 1 == result.exit_code
    assert "4.3-IV0 changed the records" in result.output
    assert "4.3 to 4.2: no way" in result.output


@pytest.mark.parametrize(("mode", "steps"), [("--zookeeper", 6), ("--kraft", 3)])
def test_it_asks_for_the_mode_of_a_release_that_has_both(mode, steps):
    found = json.loads(run("--brokers", "3.9", "4.3", mode, "--json").output)

    assert (mode.removeprefix("--"), steps) == (found["mode"], len(found["steps"]))


def test_the_level_in_use_shortens_the_way():
    assert 0 == run("--brokers", "4.3", "4.2", "--level", "4.2").exit_code


def test_a_level_that_was_never_another_one_needs_no_snapshot():
    asked = ("--brokers", "4.2.1", "4.1.2", "--level", "4.1-IV1", "--json")
    steps = json.loads(run(*asked).output)["steps"]

    assert [0, 0, 1] == [step["rolls"] for step in steps]
    assert "streams.version=0" in steps[0]["do"]
    assert "snapshot" in steps[1]["do"]
    assert [1] == [step["rolls"] for step in json.loads(run(*asked, "--level-unchanged").output)["steps"]]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--brokers", "2.9", "4.3"), "unknown release of brokers '2.9'; known are 0.8.2 to "),
        (("--brokers", "2.8", "4.3", "--level", "x"), "Version x is not a valid version"),
        (("--brokers", "3.9", "4.3"), "say which"),
        (("--brokers", "2.8", "4.3", "--offline"), "--offline is for a Streams group"),
        (("1.1", "2.0", "--kraft"), "need --brokers"),
        (("1.1", "2.0", "--level", "2.0"), "need --brokers"),
        (("1.1", "2.0", "--level-unchanged"), "need --brokers"),
    ],
)
def test_a_wrong_argument_gives_one_error_line(arguments, error):
    result = run(*arguments)

    assert 2 == result.exit_code
    assert error in result.output
    assert "Traceback" not in result.output


def test_the_plan_of_a_group_names_its_bridge_release():
    assert run("2.3.1", "4.3.1").output.startswith(
        "2.3.1 to 4.3.1: safe for the metadata: three rolling bounces, through 3.9.2; "
    )


NO_OPTIONS = {"assume": None, "zookeeper": False, "kraft": False, "level": None, "level_unchanged": False}
SERVER = """\
broker.id=1
zookeeper.connect=zk:2181
inter.broker.protocol.version=2.8
log.segment.bytes=1000
ssl.keystore.password=s3cr3t
listeners=SSL://:9093
"""


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(SERVER)
    return str(path)


def test_settings_that_stop_a_node_are_named_and_no_value_of_a_secret_is(server):
    result = run("--brokers", "2.8", "4.3", "--config", server)

    assert (1, False) == (result.exit_code, "s3cr3t" in result.output)
    first, *_ = result.output.splitlines()
    assert first.endswith(" to 4.3: unsafe: nodes do not start with the settings of --config, see below")
    assert "- refused: line 4: log.segment.bytes: Invalid value 1000" in result.output
    assert "zookeeper.connect: brokers of 4.3 do not have it and ignore it" in result.output
    assert f"the settings of {server}; not checked: dynamic settings (kafka-configs" in result.output


def test_the_files_say_the_mode_and_the_protocol(server):
    found = json.loads(run("--brokers", "3.6", "3.9", "--config", server, "--json").output)

    assert ("zookeeper", "2.8") == (found["mode"], found["steps"][0]["settings"]["inter.broker.protocol.version"])
    assert (server, 0) == (found["configuration"]["file"], found["configuration"]["left_out"])
    assert {"log.segment.bytes", "broker.id"} <= {setting["key"] for setting in found["configuration"]["settings"]}
    assert "log.segment.bytes" in run("--brokers", "3.9", "4.3", "--config", server, "-o", "markdown").output


def test_a_mode_and_a_level_that_are_given_win_over_the_files(server):
    found = json.loads(run("--brokers", "3.6", "3.9", "--kraft", "--level", "3.5", "--config", server, "--json").output)

    assert "kraft" == found["mode"]
    assert 0 == run("--brokers", "3.9.0", "3.9.2", "--zookeeper", "--config", server).exit_code


def test_settings_of_a_release_before_the_table_are_refused(server):
    result = run("--brokers", "1.0", "2.8", "--config", server)

    assert (2, True) == (result.exit_code, "--config of brokers needs releases from 2.0 on" in result.output)


@pytest.mark.parametrize(
    ("lines", "is_left_out"),
    [("listeners=PLAINTEXT://:9092", True), ("listeners=SASL_SSL://:9092", False), ("num.partitions=1", True)],
)
def test_a_terminal_gets_no_default_of_tls_that_no_listener_asks_for(tmp_path, lines, is_left_out):
    path = tmp_path / "server.properties"
    path.write_text(f"zookeeper.connect=z\n{lines}\n")
    brief, full = (
        " ".join(plan_brokers(("2.2", "2.5"), [path], **NO_OPTIONS).lines(view))
        for view in (DisplayOptions(columns=120, rows=99), DisplayOptions())
    )

    assert " ssl." in full
    assert is_left_out == (" ssl." not in brief)


NODE = "node.id=1\nprocess.roles=broker\ncontroller.listener.names=C\n"
CLIENT = "bootstrap.servers=a:1\nssl.keystore.location=/x\nzookeeper.connect=z\nlisteners=http://:8083\n"
STRIMZI = "apiVersion: kafka.strimzi.io/v1beta2\nkind: {}\nspec:\n  {}"
LIST = "kind: List\nitems:\n- apiVersion: kafka.strimzi.io/v1\n  kind: {}\n  spec:\n    {}\n"
COMPOSE = "services:\n  kafka:\n    image: kafka\n    {}\n"
NOTHING = "cannot be told: {} shows no setting of a broker"


@for_each(
    [
        # the files (the last folder of a path is given instead of its files), the end of the first line, the status
        ({"server.properties": NODE}, "1 roll", 0),
        ({"empty.properties": ""}, NOTHING, 3),
        ({"a.yaml": "a: 1"}, NOTHING, 3),
        ({"Dockerfile": "FROM kafka\nENV KAFKA_LOG4J_OPTS=-Da=b"}, NOTHING, 3),
        ({"a.toml": "a = 1"}, NOTHING, 3),
        ({"client.properties": CLIENT}, NOTHING, 3),
        ({"server.properties": NODE + CLIENT}, "1 roll", 0),
        ({"app.env": "KAFKA_BOOTSTRAP_SERVERS=a:1\nKAFKA_SSL_KEYSTORE_LOCATION=/x"}, NOTHING, 3),
        ({"app.env": "KAFKA_SSL_KEYSTORE_LOCATION=/x"}, NOTHING, 3),
        ({"kafka.yaml": STRIMZI.format("Kafka", "kafka: {version: 3.9.0}")}, NOTHING, 3),
        ({"kafka.yaml": STRIMZI.format("Kafka", "kafka: {config: {num.partitions: 3}}")}, "1 roll", 0),
        ({"topic.yaml": STRIMZI.format("KafkaTopic", "config: {min.insync.replicas: 2}")}, NOTHING, 3),
        ({"topics.yaml": LIST.format("KafkaTopic", "config: {min.insync.replicas: 2}")}, NOTHING, 3),
        ({"kafka.yaml": LIST.format("Kafka", "kafka: {config: {min.insync.replicas: 2}}")}, "1 roll", 0),
        ({"compose.yaml": COMPOSE.format("restart: always")}, NOTHING, 3),
        ({"compose.yaml": COMPOSE.format("environment: {KAFKA_NODE_ID: 1}")}, "1 roll", 0),
        (
            {"compose.yaml": COMPOSE.format("environment: {KAFKA_NODE_ID: 1}\n    env_file: node.env")},
            "cannot be told: {} line 5 takes variables from: services.kafka.env_file",
            3,
        ),
        ({"node.env": "KAFKA_NODE_ID=1", "compose.yaml": COMPOSE.format("env_file: ./node.env")}, "1 roll", 0),
        ({"node.conf": NODE}, "cannot be told: {0} is not read: HOCON; {0} shows no setting of a broker", 3),
        ({"start.sh": NODE}, "cannot be told: {} is not read: a script or a program", 3),
        ({"server.properties": NODE, "a.yaml": "a: 1"}, NOTHING, 3),
        ({"server.properties": NODE, "a.yaml": "a: see server.properties"}, NOTHING, 3),
        ({"config/server.properties": NODE, "config/connect.properties": CLIENT}, "1 roll", 0),
        ({"config/a.properties": "", "config/b.properties": CLIENT}, NOTHING.format("{0}/a.properties") + "; ", 3),
        ({"server.properties": "log.segment.bytes=1", "a.yaml": ""}, "nodes do not start", 1),
    ]
)
def test_without_a_setting_of_a_broker_it_cannot_be_told(case):
    texts, end, status = case
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        given = [str(path) for path in dict.fromkeys(Path(folder, name.partition("/")[0]) for name in texts)]
        asked = ("--brokers", "3.9", "4.3", "--kraft", *(word for path in given for word in ("--config", path)))
        as_text, as_json, as_runbook = (run(*asked, "-o", form) for form in ("text", "json", "markdown"))

    first, found = as_text.output.splitlines()[0], json.loads(as_json.output)
    verdict = {0: "safe", 1: "unsafe", 3: "unknown"}[status]
    assert end.format(given[-1]) in first
    assert [status] * 3 == [result.exit_code for result in (as_text, as_json, as_runbook)]
    assert (verdict, bool(status)) == (found["verdict"], bool(found["reasons"]))
    assert first == found["headline"] == as_runbook.output.replace("\\", "").splitlines()[2]
    assert bool(status) == ("Settle before the first step" in as_runbook.output)


def test_what_is_not_set_in_a_file_of_something_else_has_no_defaults(tmp_path):
    path = tmp_path / "values.yaml"
    path.write_text("replicas: 3\n")
    found = json.loads(run("--brokers", "2.2", "2.5", "--config", str(path), "--json").output)

    assert [] == found["configuration"]["settings"]
    assert "your configuration" in found["not_checked"]


@pytest.mark.parametrize(("level", "is_warned"), [("", True), ("    metadataVersion: 3.8-IV0\n", False)])
def test_strimzi_raises_the_level_by_itself_unless_the_resource_has_it(tmp_path, level, is_warned):
    path = tmp_path / "kafka.yaml"
    path.write_text(f"apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nspec:\n  kafka:\n{level}    version: 3.9.0\n")
    result = run("--brokers", "3.9", "4.3", "--kraft", "--config", str(path))

    assert is_warned == ("note: set spec.kafka.metadataVersion" in result.output)
    assert is_warned == ("metadata.version stays 3.9-IV0 meanwhile" in result.output)


@pytest.mark.parametrize("version", ["${IBP}", "3.4"])
def test_a_protocol_version_that_files_do_not_tell_is_asked_for(tmp_path, version):
    """The plan set that of the release, which an older cluster does not use yet; one that it does not know, too."""
    path = tmp_path / "server.properties"
    path.write_text(f"broker.id=1\nzookeeper.connect=zk:1\ninter.broker.protocol.version={version}\n")
    arguments = ("--brokers", "2.8", "3.4", "--config", str(path))
    result = run(*arguments)

    assert result.output.splitlines()[0].endswith(
        f"cannot be told: {path} tells no inter.broker.protocol.version that nodes of 2.8 have, give --level"
    )
    assert (3, 0) == (result.exit_code, run(*arguments, "--level", "2.6").exit_code)


def test_a_class_of_another_make_can_keep_nodes_from_starting(tmp_path):
    """An authorizer delegated to a class that 3.0 has no more, and the plan ended with 0."""
    path = tmp_path / "server.properties"
    path.write_text("zookeeper.connect=z\nauthorizer.class.name=io.strimzi.KeycloakRBACAuthorizer\n")
    result = run("--brokers", "2.8.1", "3.0.0", "--zookeeper", "--config", str(path))

    assert result.output.splitlines()[0].endswith("cannot be told: authorizer.class.name names a class of another make")
    assert "authorizer.class.name: a class of another make: take the release of it that is made for" in result.output
    assert 3 == result.exit_code
