"""``plan --to-protocol``: the three forms of the output, the options, and the look at a live group."""

import json
from functools import partial
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from streams_assignor.cli.plan.live_group import live_group
from streams_assignor.codec import TaskId
from streams_assignor.codec.consumer_protocol import ConsumerAssignment, TopicPartitions, encode_consumer_assignment
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.groups import Assigned, BrokerAssignment, DescribedGroup, DescribedGroupMember, NoSuchGroup
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.upgrade.cluster.client import feature_client
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

TOPOLOGIES = Path(__file__).parents[2] / "upgrade" / "topologies"
ASSERTED = "static-members,pattern-subscriptions,named-topologies,warm-ups"
STREAMS = ("4.3", "4.3", "--to-protocol", "streams")
CONSUMER = ("--to-protocol", "consumer")
CLASSIC = ("4.3", "4.3", "--to-protocol", "classic")
MAXIMUM = "group.streams.max.session.timeout.ms"
EMPTY = DescribedGroup(name="billing", state="Empty", protocol_type="consumer")
LIVE = ("--group", "billing", "--bootstrap-servers", "h:1")


def run(*arguments):
    return CliRunner().invoke(plan, [str(each) for each in arguments])


def plain(*arguments):
    return json.loads(run(*arguments, "--json").output)


@pytest.fixture(name="cluster")
def fixture_cluster(monkeypatch):
    """A cluster that answers what a test puts into it."""
    shown = {"group": EMPTY, "level": 1, "limits": {1: {}}}

    def describe(_client):
        finalized = {"streams.version": shown["level"], "group.version": 1} if shown["level"] else {}
        return {1: FeatureMetadata(Listener.BROKER, 1, {"metadata.version": (7, 30)}, finalized)}

    def group(_lookup, _name):
        if isinstance(shown["group"], Exception):
            raise shown["group"]
        return shown["group"]

    monkeypatch.setattr(feature_client.FeatureClient, "describe_nodes", describe)
    monkeypatch.setattr(group_lookup.GroupLookup, "group", group)
    monkeypatch.setattr(group_lookup.GroupLookup, "group_settings", lambda _lookup: shown["limits"])
    return shown


@pytest.fixture(name="settings")
def fixture_settings(tmp_path):
    path = tmp_path / "members.properties"
    path.write_text("application.id=orders\nbootstrap.servers=h:9\nnum.standby.replicas=1\nsession.timeout.ms=9000\n")
    return path


def test_the_first_line_has_the_verdict():
    known = ("--without", ASSERTED, "--broker-release", "4.3")

    assert (
        "4.3.1 to 4.3.1, classic to streams protocol: safe-if: offline: stop everything, then start everything, "
        "if these hold: streams-version; of 9 the files cannot tell (4 can stop members)"
    ) == run(*STREAMS, *known).output.splitlines()[0]
    assert (
        "2.8.2 to 4.3.1, classic to streams protocol: unsafe: rolling upgrade first, then offline: stop everything, "
        "then start everything; blocked by kafka-20254"
    ) == run("2.8", *STREAMS[1:], "--broker-release", "4.2.0").output.splitlines()[0]
    assert run(*CLASSIC).output.startswith("4.3.1 to 4.3.1, streams to classic protocol: safe: offline")


@pytest.mark.parametrize(("broker", "status"), [("4.2.0", 1), ("4.2.1", 0)])
def test_the_exit_status_is_1_if_something_blocks(broker, status):
    assert status == run(*STREAMS, "--broker-release", broker).exit_code


def test_a_line_of_brokers_does_not_rule_the_bug_of_4_2_0_out():
    """Its newest release does not have it, and nobody said that all brokers run that one."""
    found = plain(*STREAMS, "--broker-release", "4.2")
    named = plain(*STREAMS, "--broker-release", "4.2.x")

    assert ["open", "open"] == [row["status"] for row in (found["requirements"][2], named["requirements"][2])]
    assert ["which patch release the brokers have"] == found["requirements"][2]["decided_by"]


def test_commands_have_the_names_and_values_of_the_members(settings):
    text = run(*STREAMS, "--config", settings).output

    assert (
        "   $ kafka-configs --bootstrap-server h:9 --alter --entity-type groups --entity-name orders --add-config "
        "streams.num.standby.replicas=1,streams.session.timeout.ms=45000"
    ) in text.splitlines()
    assert f"note: session.timeout.ms=9000 ({settings} line 4) is outside" in text


@pytest.mark.parametrize(
    ("limits", "applied", "limit"),
    [
        ({}, 45_000, "group.streams.min.session.timeout.ms"),
        ({"group.streams.min.session.timeout.ms": "1000", MAXIMUM: "9" * 5_000}, 9_000, None),
        (
            {"group.streams.max.session.timeout.ms": "8000", "group.streams.min.session.timeout.ms": "1000"},
            8_000,
            MAXIMUM,
        ),
    ],
)
def test_the_limits_are_those_of_the_brokers(cluster, settings, limits, applied, limit):
    cluster["limits"] = {1: {}, 2: limits, 3: {name: value for name, value in limits.items() if value != "8000"}}
    plan = plain(*STREAMS, *LIVE, "--config", settings)
    found = plan["settings"][1]

    assert (9_000, applied, limit) == (found["value"], found["applied"], found["limited_by"])


def test_each_broker_tells_each_limit_with_which_a_value_is_compared(cluster, settings):
    """A broker that told one limit counted as one that told all, and one without any configuration was not named."""
    minimum = MAXIMUM.replace("max", "min")
    every = {MAXIMUM: "60000", minimum: "6000", "group.streams.max.standby.replicas": "2"}
    run_live = partial(plain, *STREAMS, *LIVE, "--config", settings, "--without", ASSERTED)
    cluster["limits"] = {1: every, 2: every | {minimum: "of brokers"}, 3: {MAXIMUM: "60000"}, 4: {}}
    some = run_live()
    cluster["limits"] = {2: every}  # broker 1 is there
    one = run_live()
    cluster["limits"] = {1: every}
    known = run_live()

    found = [
        next((row["decided_by"] for row in each["requirements"] if row["name"] == "group-limits"), None)
        for each in (some, one, known)
    ]
    told = [
        f"{name}, which broker {{}} did not tell" for name in ("group.streams.max.standby.replicas", minimum, MAXIMUM)
    ]
    assert [
        [text.format(brokers) for text, brokers in zip(told, ("3, 4", "2, 3, 4", "4"), strict=True)],
        [text.format("1") for text in told],
        None,
    ] == found
    assert [True, True, False] == ["group-limits" in each["conditions"] for each in (some, one, known)]
    assert "unknown" == some["verdict"]


def test_the_text_names_what_survives_and_the_hazards():
    text = run("4.2", "4.3", *STREAMS[2:]).output

    assert "- committed offsets: yes: " in text
    assert "- warm-up tasks: no: " in text
    assert "hazards beyond the metadata:" in text


def test_a_topology_answers_two_requirements():
    found = plain(*STREAMS, "--topology", TOPOLOGIES / "plain-4.3.1.txt")

    assert {"pattern-subscriptions": "met"}.items() <= {
        each["name"]: each["status"] for each in found["requirements"]
    }.items()


@pytest.mark.usefixtures("cluster")
def test_the_runbook_has_boxes_for_requirements_and_commands():
    text = run(*STREAMS, *LIVE, "--broker-release", "4.3", "-o", "markdown").output

    assert text.startswith("# Upgrade from 4.3.1 to 4.3.1, classic to streams protocol\n")
    assert "- [x] every broker is of 4.2 or later" in text
    assert "- [ ] open: the application has no static members, or clients and brokers are of 4.4 or later; " in text
    assert "The live group:\n\n- ok: broker 1: features of 4.3" in text
    assert "  - run: `streams-assignor group wait billing empty --bootstrap-servers h:1`" in text
    assert "## What survives\n\n- committed offsets: yes: " in text


@pytest.mark.usefixtures("cluster")
def test_a_live_group_is_checked():
    found = plain(*STREAMS, *LIVE, "--without", ASSERTED)

    assert ("safe", ["ok"]) == (found["verdict"], sorted({each["level"] for each in found["preflight"]}))
    assert "- ok: the group is empty: it can change now" in run(*STREAMS, *LIVE).output


def test_a_live_group_of_another_type_blocks(cluster):
    cluster["group"] = DescribedGroup(name="billing", state="Stable", type="share")
    done = run(*STREAMS, *LIVE)

    assert (1, True) == (done.exit_code, done.output.splitlines()[0].endswith("blocked by group-type"))
    assert ["group-type"] == plain(*STREAMS, *LIVE)["conditions"]


def test_what_the_cluster_shows_also_judges_the_requirements(cluster):
    cluster["level"] = 0
    member = DescribedGroupMember(member_id="m", group_instance_id="one")
    cluster["group"] = DescribedGroup(name="billing", state="PreparingRebalance", members=(member,))
    found = plain(*STREAMS, *LIVE)

    assert ["streams.version", "static-members", "streams-version"] == found["conditions"]


def test_a_group_that_is_not_there_is_a_warning(cluster):
    cluster["group"] = NoSuchGroup("no group 'billing'")

    assert "- warning: there is no group billing" in run(*STREAMS, *LIVE).output


def test_a_cluster_that_does_not_answer_is_an_error(cluster):
    cluster["group"] = Unreachable("h:1: no answer")
    done = run(*STREAMS, *LIVE)

    assert (1, "Error: h:1: no answer\n") == (done.exit_code, done.stderr)


@pytest.mark.usefixtures("cluster")
def test_servers_come_from_the_settings_of_the_members(settings, tmp_path):
    config = tmp_path / "client.properties"
    config.write_text("client.id=plan\n")
    found = plain(*STREAMS, "--group", "billing", "--config", settings, "--command-config", config)

    assert f"--bootstrap-server h:9 --command-config {config} --alter" in found["steps"][0]["commands"][0]


def test_warm_ups_of_streams_groups_are_not_standbys():
    assigned = BrokerAssignment(current=Assigned(standby=(TaskId(0, 0),), warm_up=(TaskId(0, 1),)))
    member = DescribedGroupMember(member_id="m", broker_assignment=assigned)
    found = live_group(DescribedGroup(name="g", state="Stable", type="streams", members=(member,)), {})

    assert (1, 1, 1) == (len(found.members), found.standby_tasks, found.warm_ups)


@pytest.fixture(name="app")
def fixture_app(tmp_path):
    """A class that reads topics by a pattern, with its settings and a library."""
    pattern = "(Ljava/util/regex/Pattern;)Lorg/apache/kafka/streams/kstream/KStream;"
    own = ClassBytes("com/example/Orders").calls("org/apache/kafka/streams/StreamsBuilder", "stream", pattern)
    path = tmp_path / "orders.jar"
    path.write_bytes(jar({"com/example/Orders.class": own.bytes()}))
    return path


@pytest.fixture(name="static")
def fixture_static(tmp_path):
    path = tmp_path / "static.properties"
    path.write_text("num.standby.replicas=1\nconsumer.group.instance.id=one\nmax.warmup.replicas=4\n")
    return path


def test_files_show_what_blocks_and_what_concerns(app, static):
    lines = run(*STREAMS, "--config", static, "--app", app, "--broker-release", "4.3").output.splitlines()

    assert lines[0].endswith("blocked by static-members, pattern-subscriptions")
    for line in (
        f"    shown by: {static} line 2 sets group.instance.id",
        "    shown by: your class com.example.Orders refers to org.apache.kafka.streams.StreamsBuilder#stream(Pattern)",
        "hazards that concern you: 1; -v: what to do",
        "- waits: standby tasks, and brokers of 4.3: standby tasks move to processes that have more tasks than others",
        f"    shown by: {static} line 1 sets num.standby.replicas above 0; the brokers are of 4.3",
    ):
        assert line in lines
    assert any(line.startswith("cannot be told: ") for line in lines)
    assert any(f"note: max.warmup.replicas ({static} line 3) has no effect" in line for line in lines)
    assert any(line.startswith(f"code in {app}: 1 classes") for line in lines)
    assert ", your configuration, the references of your code; not checked: " in lines[-1]


def test_a_terminal_gets_one_line_for_each_open_requirement(app, static, monkeypatch):
    monkeypatch.setattr(DisplayOptions, "of_output", lambda verbose: DisplayOptions(verbose, columns=80, rows=50))
    lines = run(*STREAMS, "--config", static, "--app", app, "--broker-release", "4.3").output.splitlines()

    for line in (
        "- met: every broker is of 4.2 or later; no broker is of 4.2.0",
        "- open (--group): the feature streams.version is 1 or higher (streams-version)",
        "- blocked: the topology has no pattern of source topics; else members do not",
        "    remedy: name the topics, or stay on the classic protocol",
        "is lost: members, epochs or generations, and the assignment; static members;",
    ):
        assert line in lines


def test_json_has_the_split_and_the_settings(static):
    found = plain(*STREAMS, "--config", static, "--broker-release", "4.3")
    blocked = [row for row in found["requirements"] if row["status"] == "blocked"]

    assert ([f"{static} line 2 sets group.instance.id"], []) == (blocked[0]["because"], blocked[0]["decided_by"])
    assert sum(found["concerns"].values()) == len(found["hazards"])
    assert {"concerns", "because", "decided_by"} <= found["hazards"][0].keys()
    assert [("num.standby.replicas", f"{static} line 1")] == [
        (row["setting"], row["where"]) for row in found["settings"]
    ]
    assert [("max.warmup.replicas", f"{static} line 3")] == [(row["setting"], row["where"]) for row in found["ignored"]]


def test_the_runbook_has_the_split(static):
    text = run(*STREAMS, "--config", static, "-o", "markdown").output

    assert "- [ ] blocked: the application has no static members" in text
    assert f"\n  - shown by: {static} line 2 sets group.instance.id\n" in text
    assert "\n  - decided by: --broker-release or --group (the release of the brokers)\n" in text
    assert f"- num.standby.replicas ({static} line 1): streams.num.standby.replicas=1 replaces it" in text
    assert f"- max.warmup.replicas ({static} line 3): nothing replaces it: " in text
    assert "## Hazards of which the files cannot tell" in text
    assert "- [x] - [x]" not in text


def test_a_runbook_without_settings_names_the_configurations():
    text = run(*STREAMS, "-o", "markdown").output

    assert "- num.standby.replicas: streams.num.standby.replicas=its value replaces it" in text
    assert "## Hazards beyond the metadata" in text


@pytest.mark.usefixtures("cluster")
def test_sarif_has_what_blocks_and_the_settings_without_effect(cluster, static):
    cluster["group"] = DescribedGroup(name="billing", state="Stable", type="share")
    done = run(*STREAMS, *LIVE, "--config", static, "-o", "sarif")
    results = json.loads(done.output)["runs"][0]["results"]
    lines = {row["ruleId"]: row["locations"][0]["physicalLocation"]["region"]["startLine"] for row in results}

    assert 1 == done.exit_code
    assert {
        "protocol-static-members": 2,
        "protocol-live-group": 1,
        "protocol-setting-moves": 1,
        "protocol-setting-ignored": 3,
        "hazard-standbys-of-4.3": 1,
    } == lines


def test_settings_of_another_release_block(tmp_path):
    """Members of 4.4.0 refuse an end point that those of 4.3.1 take."""
    path = tmp_path / "members.properties"
    path.write_text("application.server=no-port\n")
    done = run("4.3", "4.4", *STREAMS[2:], "--config", path)

    assert (1, True) == (done.exit_code, "; members of 4.4.0 do not start with the configuration" in done.output)
    assert f"configuration {path}: 1 refused" in done.output


def test_the_upgrade_before_is_judged_too(tmp_path):
    path = tmp_path / "members.properties"
    path.write_text("processing.guarantee=exactly_once\n")
    found = plain("2.8", *STREAMS[1:], "--config", path)

    assert ["members of 4.3.1 do not start with the configuration, see below"] == found["blocked"]
    assert "refused" in {setting["status"] for setting in found["configuration"]["settings"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("4.3", "4.3", "--broker-release", "4.3"), "--broker-release needs --to-protocol"),
        (("4.2", "4.3", "--broker-release", "4.3"), "--broker-release needs --to-protocol"),
        (("4.2", "4.3", "--command-config", __file__), "--command-config needs --group"),
        ((*STREAMS, "--brokers"), "--to-protocol excludes"),
        ((*STREAMS, "--members", "3"), "--to-protocol excludes"),
        ((*STREAMS, "--group", "g"), "expected --bootstrap-servers"),
        ((*STREAMS, "--without", "regex"), "unknown feature 'regex'"),
        ((*STREAMS, "--broker-release", "9"), "unknown release '9'"),
        (("4.3", "4.3", *CONSUMER), "--to-protocol consumer is for consumers of any library"),
        ((*CONSUMER, "-o", "sarif"), "-o sarif is for a Streams group"),
        ((*CONSUMER, "--members", "3"), "--to-protocol excludes"),
        (("2.8", "3.9", *STREAMS[2:]), "needs a TO of Kafka Streams 4.2 or later"),
        ((*STREAMS, "--topology", __file__), "expected the text of Topology#describe()"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message):
    done = run(*arguments)

    assert (2, True) == (done.exit_code, message in done.stderr)


@pytest.mark.parametrize("known", [("--config", "members.properties"), LIVE])
@pytest.mark.usefixtures("cluster")
def test_a_requirement_that_files_or_a_group_leave_open_is_not_proven(settings, known):
    """It was safe under conditions, with exit status 0."""
    done = run(*STREAMS, *(settings if part == settings.name else part for part in known))

    assert (3, True) == (done.exit_code, " protocol: not proven: offline: " in done.output.splitlines()[0])
    assert ", if these hold: " in done.output.splitlines()[0]


def test_placeholders_are_no_names_of_groups_and_servers(tmp_path):
    path = tmp_path / "members.properties"
    path.write_text("application.id=${APP}\ngroup.id=${APP}\nbootstrap.servers=${SERVERS:h:9}\nupgrade.from=${OLD}\n")
    texts = [run(*plan, "--config", path).output for plan in (STREAMS, CONSUMER)]
    refused = [run(*plan, "--group", "g", "--config", path).stderr for plan in (STREAMS, CONSUMER, ("4.3",))]

    assert all("group wait GROUP " in text and "--bootstrap-servers HOST:PORT" in text for text in texts)
    assert f"note: {path} line 4 does not tell the value of upgrade.from" in texts[0]
    assert all("expected --bootstrap-servers" in text for text in refused)


def test_the_default_of_a_placeholder_is_no_sure_value(tmp_path):
    """It was printed like a value, and refused like one."""
    path = tmp_path / "members.properties"
    path.write_text("num.standby.replicas=${N:1}\nsession.timeout.ms=${S:soon}\n")
    text = run(*STREAMS, "--config", path).output

    assert "--add-config 'streams.num.standby.replicas=1,streams.session.timeout.ms=<session.timeout.ms>'" in text
    assert f"note: num.standby.replicas=1 ({path} line 1) is the default of a placeholder: if something else" in text
    assert f"note: {path} line 2 does not tell the value of session.timeout.ms: put it into the line" in text


def test_a_topology_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "topology.txt"
    file.write_bytes(b"\xff")

    assert "cannot read" in run(*STREAMS, "--topology", file).stderr


@pytest.mark.unmeasured
def test_what_the_files_leave_open_is_no_success(settings):
    """The upgrade before the change meets the same hazards as ``plan`` without ``--to-protocol``."""
    upgrade = ("2.8", "4.3", "--config", settings)
    change = (*upgrade, "--to-protocol", "streams", "--without", ASSERTED)
    found = plain(*change)

    assert found["undecided"]
    assert set(plain(*upgrade)["undecided"]) == set(found["undecided"])
    assert (3, "unknown") == (run(*change).exit_code, found["verdict"])
    assert any(note.startswith("exit status 3: the files do not rule out ") for note in found["notes"])
    assert "undecided" not in plain("2.8", "4.3", "--to-protocol", "streams")


@pytest.fixture(name="topologies")
def fixture_topologies(tmp_path):
    text = "Topologies:\n   Sub-topology: 0\n    Source: A (topics: [orders])\n      --> B\n"
    text += "    Processor: B (stores: [{}])\n"
    paths = []
    for name in ("Counts", "Counts, Extra"):
        paths.append(tmp_path / f"{len(paths)}.txt")
        paths[-1].write_text(text.format(name))
    return ("--topologies", *paths)


CLASSIC_GROUP = DescribedGroup(
    name="billing", state="Stable", type="classic", protocol_type="consumer", protocol="stream"
)
STREAMS_GROUP = DescribedGroup(name="billing", state="Stable", type="streams")
STOP, WAIT = "stop every member of {}, and wait until the group is empty", " empty "
START = "start every member as 4.4.0 with group.protocol={} and the new topology"
THROUGH_CLASSIC = [STOP, START.format("classic"), STOP, START.format("streams")]


@pytest.mark.parametrize(
    ("group", "releases", "protocol", "steps"),
    [
        (None, ("4.4", "4.4"), "streams", THROUGH_CLASSIC),
        (None, ("4.2.2", "4.4"), "streams", THROUGH_CLASSIC),
        (STREAMS_GROUP, ("4.4", "4.4"), "streams", THROUGH_CLASSIC),
        (CLASSIC_GROUP, ("4.4", "4.4"), "streams", [STOP, START.format("streams")]),
        (NoSuchGroup("none"), ("4.4", "4.4"), "streams", [STOP, START.format("streams")]),
        (STREAMS_GROUP, ("4.4", "4.4"), "classic", [STOP, START.format("classic")]),
        (None, ("2.8", "4.4"), "streams", [STOP, START.format("streams")]),
    ],
)
def test_a_streams_group_gets_a_new_topology_through_the_classic_protocol(
    cluster, topologies, group, releases, protocol, steps
):
    """Of 8,427 committed records none was processed again in that way with 4.4.0, all after the group was deleted."""
    cluster["group"] = group
    found = plain(*releases, "--to-protocol", protocol, *topologies, *(LIVE if group else ()))
    offline = [step for step in found["steps"] if step["do"].startswith(("stop every", "start every"))]

    assert [each.format("") for each in steps] == [
        STOP.format("") if step["do"].startswith("stop") else step["do"] for step in offline
    ]
    assert all(WAIT in step["commands"][0] for step in offline if step["do"].startswith("stop"))
    assert [False] == [row["survives"] for row in found["survives"] if "deleted instead" in row["what"]]
    assert ["Extra"] == found["topologies"]["empty_stores"]


def test_the_text_has_what_each_way_to_a_new_topology_keeps(topologies):
    text = run("4.4", "4.4", "--to-protocol", "streams", *topologies).output

    assert text.startswith("4.4.0 to 4.4.0, streams protocol: safe-if: offline: stop everything and start it twice")
    assert "- committed offsets, if the group is deleted instead: no: " in text
    assert "- committed offsets, stores and internal topics, with another application.id instead: no: " in text
    assert "topologies: store Extra starts empty" in text
    assert "while one of them leads" not in text


@pytest.mark.parametrize(("group", "protocol"), [(STREAMS_GROUP, "streams"), (CLASSIC_GROUP, "classic")])
def test_a_group_that_has_the_protocol_gets_no_steps(cluster, group, protocol):
    cluster["group"] = group
    done, found = (run("4.4", "4.4", "--to-protocol", protocol, *LIVE, *form) for form in ((), ("--json",)))

    assert (0, 0) == (done.exit_code, found.exit_code)
    assert (
        f", {protocol} protocol: safe: the group is a {protocol} group already, nothing" in done.output.splitlines()[0]
    )
    assert "what survives" not in done.output
    assert ([], [], []) == tuple(json.loads(found.output)[key] for key in ("steps", "requirements", "hazards"))


@pytest.mark.parametrize(
    ("group", "protocol", "releases", "further"),
    [
        (STREAMS_GROUP, "streams", ("4.3", "4.4"), "plan 4.3.1 4.4.0 --group billing\n"),
        (CLASSIC_GROUP, "classic", ("4.4", "4.4"), "plan 4.4.0 4.4.0 --group billing --topologies OLD NEW --offline"),
    ],
)
def test_what_else_changes_in_a_group_that_has_the_protocol_is_another_plan(
    cluster, topologies, group, protocol, releases, further
):
    cluster["group"] = group
    done = run(*releases, "--to-protocol", protocol, *LIVE, *(topologies if protocol == "classic" else ()))

    assert (2, True) == (done.exit_code, further in done.output)


@pytest.fixture(name="consumers")
def fixture_consumers(tmp_path):
    path = tmp_path / "consumer.properties"
    path.write_text("group.id=billing\nbootstrap.servers=h:9\npartition.assignment.strategy=range\n")
    return path


def test_the_plan_of_plain_consumers_has_every_form(consumers):
    text, page = run(*CONSUMER, "--config", consumers).output, run(*CONSUMER, "-o", "html").output
    runbook = run(*CONSUMER, "--config", consumers, "-o", "markdown", "--broker-release", "4.3").output
    short = run(*CONSUMER, "--config", consumers, "--offline", "--short").output

    assert text.startswith("classic to consumer protocol: not proven: online: one rolling bounce, member by member, if")
    assert (
        "   $ streams-assignor group wait billing stable --members NUMBER --bootstrap-servers h:9" in text.splitlines()
    )
    assert runbook.startswith("# Change of a group of plain consumers, classic to consumer protocol\n")
    assert f"- [ ] remove partition.assignment.strategy ({consumers} line 3): the brokers assign;" in runbook
    assert "Change of a group of plain consumers" in page
    assert "1. stop every member, and wait until the group is empty" in short.splitlines()


@pytest.mark.parametrize(
    ("userdata", "policy", "way"),
    [
        (
            b"",
            "bidirectional",
            "not proven: online: one rolling bounce, member by member, if these hold: client-release",
        ),
        (
            b"",
            "downgrade",
            "offline: stop everything, then start everything (group.consumer.migration.policy is downgrade)",
        ),
        (b"\0", "upgrade", "offline: stop everything, then start everything (assignments have userdata, KAFKA-18134)"),
    ],
)
def test_a_live_group_of_consumers_says_whether_its_members_change_online(cluster, userdata, policy, way):
    assignment = encode_consumer_assignment(ConsumerAssignment([TopicPartitions("orders", [0])], userdata))
    member = DescribedGroupMember(member_id="m", client_id="a", assignment=assignment)
    cluster["group"] = DescribedGroup(
        name="billing", state="Stable", protocol_type="consumer", protocol="range", members=(member,)
    )
    cluster["limits"] = {1: {"group.consumer.migration.policy": policy}}
    done = run(*CONSUMER, *LIVE)

    assert (3, True) == (done.exit_code, way in done.output.splitlines()[0])
    assert ("- warning: userdata in the assignments of m" in done.output) == bool(userdata)
    assert "and group.remote.assignor=range" in done.output


def test_members_of_consumers_that_are_still_classic_are_named(cluster):
    members = [
        DescribedGroupMember(member_id=name, client_id=name, broker_assignment=BrokerAssignment(is_classic=name == "a"))
        for name in "ab"
    ]
    cluster["group"] = DescribedGroup(name="billing", state="Stable", type="consumer", members=tuple(members))
    half = run(*CONSUMER, *LIVE).output
    cluster["group"] = evolve(cluster["group"], members=(members[1],))
    done = run(*CONSUMER, *LIVE)

    assert "- warning: members still classic: a" in half.splitlines()
    assert "classic to consumer protocol: safe: every member has it already, nothing to change" in done.output
    assert [] == plain(*CONSUMER, *LIVE)["steps"]


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"protocol_type": "consumer", "protocol": "stream"}, "billing run Kafka Streams, which refuses it"),
        ({"protocol_type": "connect"}, "billing is a group of connect, expected plain consumers"),
        ({"type": "share"}, "billing is a group of share, expected plain consumers"),
    ],
)
def test_a_group_without_plain_consumers_is_blocked(cluster, group, message):
    cluster["group"] = DescribedGroup(name="billing", state="Stable", **group)
    done = run(*CONSUMER, *LIVE)

    assert (1, True) == (done.exit_code, message in done.output)
    assert ["group-type"] == plain(*CONSUMER, *LIVE)["conditions"]


def test_consumers_that_are_not_there_are_a_warning(cluster):
    cluster["group"] = NoSuchGroup("no group 'billing'")

    assert "- warning: there is no group billing" in run(*CONSUMER, *LIVE).output
