"""``streams-assignor features`` with a recording client; tests/lab/integration has the real one."""

import builtins
import json
import subprocess
import sys
from types import MappingProxyType, SimpleNamespace

import pytest
from click.testing import CliRunner

from streams_assignor.cli.features import click_support
from streams_assignor.cli.features.command import features
from streams_assignor.formats.block_yaml import to_yaml
from streams_assignor.upgrade.cluster.client.errors import ApiError, FeatureUpdateFailed, Unreachable
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, Listener, UpgradeType
from streams_assignor.upgrade.extras import MissingExtraError
from streams_assignor.upgrade.releases import NEWEST

ERROR = ApiError(95, "INVALID_UPDATE_VERSION", "It cannot be.")
SUPPORTED = {METADATA_VERSION: (7, 30), "group.version": (0, 1)}
BROKER = ("--bootstrap-server", "a:1")


class Client:
    """In the place of `FeatureClient`."""

    epoch = 7
    finalized = MappingProxyType({METADATA_VERSION: 25})
    error = None

    def __init__(self, bootstrap, listener, settings, seconds):
        self.to = (bootstrap, listener, dict(settings), seconds)
        self.updated = None
        Client.last = self

    def describe(self, node=None):
        self.node = node
        if self.error:
            raise self.error
        return FeatureMetadata(Listener.BROKER, self.epoch, SUPPORTED, self.finalized)

    def update(self, updates, *, dry_run=False):
        self.updated = (dict(updates), dry_run)
        if self.error:
            raise self.error


@pytest.fixture(name="client", autouse=True)
def fixture_client(monkeypatch):
    """The class, for tests that change what it answers; `last` is the one that was made."""
    client = type("OneClient", (Client,), {})
    Client.last = None
    monkeypatch.setattr("streams_assignor.upgrade.cluster.client.feature_client.FeatureClient", client)
    return client


def run(*words, stdin=None):
    result = CliRunner().invoke(features, words, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return SimpleNamespace(status=result.exit_code, out=result.stdout, err=result.stderr)


@pytest.mark.parametrize(
    ("words", "to"),
    [
        ((*BROKER, "describe"), ("a:1", Listener.BROKER)),
        (("describe", *BROKER), ("a:1", Listener.BROKER)),
        (("--bootstrap-controller", "b:2", "describe"), ("b:2", Listener.CONTROLLER)),
        ((*BROKER, "describe", "--bootstrap-server", "c:3"), ("c:3", Listener.BROKER)),
    ],
)
def test_m8_the_cluster_may_stand_before_the_command_or_after_it(words, to):
    assert 0 == run(*words).status
    assert to == Client.last.to[:2]
    assert ({}, 60.0) == Client.last.to[2:]


def test_m8_a_file_says_how_to_connect(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\ndefault.api.timeout.ms=2500\nbootstrap.controllers=b:2\n")
    config = ("--command-config", str(file), "describe")

    assert 0 == run(*config).status
    assert ("b:2", Listener.CONTROLLER, {"security_protocol": "SSL"}, 2.5) == Client.last.to
    assert 0 == run(*BROKER, *config, "--timeout", "9").status
    assert ("a:1", Listener.BROKER, {"security_protocol": "SSL"}, 9) == Client.last.to


def test_m8_a_file_that_is_not_there(tmp_path):
    result = run(*BROKER, "--command-config", str(tmp_path / "none"), "describe")

    assert (1, "") == (result.status, result.out)
    assert "No such file or directory" in result.err


def test_m9_describe():
    result = run(*BROKER, "describe", "--node-id", "2")

    assert (0, "", 2) == (result.status, result.err, Client.last.node)
    assert ["group.version", METADATA_VERSION] == [line.split()[1] for line in result.out.splitlines()]


def test_m9_describe_as_json():
    found = json.loads(run("--json", *BROKER, "describe").out)

    assert ("broker", None, 7) == (found["listener"], found["node"], found["epoch"])
    assert {"level": 25, "name": "4.0-IV3"} == found["features"][1]["finalized"]


def test_m9_an_error_of_kafka_has_its_class(client):
    client.error = ERROR

    assert (
        "org.apache.kafka.common.errors.InvalidUpdateVersionException: It cannot be.\n" == run(*BROKER, "describe").err
    )


@pytest.mark.parametrize("words", [("describe",), ("upgrade", "--feature", "a=1"), ("upgrade", "--all")])
def test_an_unreachable_cluster_is_one_line(client, words):
    client.error = Unreachable("a:1: no answer")
    result = run(*BROKER, *words)

    assert (1, "", "a:1: no answer\n") == (result.status, result.out, result.err)


SAFE, UNSAFE = UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


@pytest.mark.parametrize(
    ("words", "update", "line"),
    [
        (("upgrade", "--feature", "a=1"), {"a": FeatureUpdate(1)}, "a was upgraded to 1."),
        (("downgrade", "--feature", "a=1"), {"a": FeatureUpdate(1, SAFE)}, "a was downgraded to 1."),
        (
            ("downgrade", "--feature", "a=1", "--unsafe", "--yes"),
            {"a": FeatureUpdate(1, UNSAFE)},
            "a was downgraded to 1.",
        ),
        (("disable", "--feature", "a"), {"a": FeatureUpdate(0, SAFE)}, "a was disabled."),
        (("disable", "--feature", "a", "--unsafe", "--yes"), {"a": FeatureUpdate(0, UNSAFE)}, "a was disabled."),
    ],
)
def test_m10_m11_m12_the_request_and_the_output(words, update, line):
    result = run(*BROKER, *words)

    assert (0, f"{line}\n", "") == (result.status, result.out, result.err)
    assert (update, False) == Client.last.updated
    tried = run(*BROKER, *words, "--dry-run")
    assert (0, f"{line.replace(' was ', ' can be ')}\n") == (tried.status, tried.out)
    assert (update, True) == Client.last.updated


def test_m10_a_failure_is_counted(client):
    client.error = FeatureUpdateFailed({"b": ERROR, "a": None})
    result = run(*BROKER, "upgrade", "--feature", "b=1", "--feature", "a=2")

    assert (1, "1 out of 2 operation(s) failed.\n") == (result.status, result.err)
    assert ["a was upgraded to 2.", "Could not upgrade b to 1. It cannot be."] == result.out.splitlines()


def test_m10_a_failure_as_json(client):
    client.error = FeatureUpdateFailed({"a": ERROR})
    result = run(*BROKER, "upgrade", "--feature", "a=1", "--json")

    assert (1, "1 out of 1 operation(s) failed.\n") == (result.status, result.err)
    assert "INVALID_UPDATE_VERSION" == json.loads(result.out)["results"][0]["error"]["name"]


def test_m10_metadata_is_deprecated():
    deprecated = " `metadata` flag is deprecated and may be removed in a future release."
    result = run(*BROKER, "upgrade", "--metadata", "4.0")
    assert [deprecated, "metadata.version was upgraded to 25."] == result.out.splitlines()
    result = run(*BROKER, "upgrade", "--metadata", "4.0", "--json")
    assert deprecated == result.err.rstrip()
    assert json.loads(result.out)


@pytest.mark.parametrize(
    "words", [("downgrade", "--feature", "a=1", "--unsafe"), ("disable", "--feature", "a", "--unsafe")]
)
def test_m11_without_a_terminal_nothing_unsafe_is_done_unasked(words):
    result = run(*BROKER, *words)

    assert (1, "", None) == (result.status, result.out, Client.last.updated)
    assert "may irreversibly destroy metadata, and there is no terminal to ask at: add --yes" in result.err


@pytest.mark.parametrize(("answer", "status", "sent"), [("y\n", 0, True), ("n\n", 1, False), ("\n", 1, False)])
def test_m11_at_a_terminal_a_person_decides(monkeypatch, answer, status, sent):
    monkeypatch.setattr(click_support, "_is_interactive", lambda: True)
    result = run(*BROKER, "downgrade", "--feature", "a=1", "--feature", "b=2", "--unsafe", stdin=answer)

    assert (status, sent) == (result.status, Client.last.updated is not None)
    assert "An unsafe downgrade to a=1, b=2 may irreversibly destroy metadata. Do it? [y/N]" in result.err
    assert sent or "Nothing was changed." in result.err


def test_m11_a_closed_input_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)

    assert not click_support._is_interactive()


def test_t2_upgrade_all():
    result = run(*BROKER, "upgrade", "--all", "--dry-run")

    assert 0 == result.status
    newest = NEWEST_CATALOG.latest_production.number
    levels = f"ExistingFinalizedMaxVersion: 25  NewFinalizedMaxVersion: {newest}"
    assert f"[Upgrade] Feature: metadata.version  {levels}  Result: OK" in result.out.splitlines()
    assert FeatureUpdate(1) == Client.last.updated[0]["group.version"]


def test_t3_downgrade_all(client):
    client.finalized = {METADATA_VERSION: 25, "group.version": 1}
    client.error = FeatureUpdateFailed({METADATA_VERSION: ERROR, "group.version": ERROR})
    client.describe = lambda self: FeatureMetadata(Listener.BROKER, 7, SUPPORTED, self.finalized)
    result = run(*BROKER, "downgrade", "--downgrade-all", "--as-release", "3.9.2")

    hint = " --all uses the levels of Kafka 3.9.2; --as-release names another release."
    assert (1, f"2 out of 2 operation(s) failed.{hint}\n") == (result.status, result.err)
    assert {"group.version": FeatureUpdate(0, SAFE), METADATA_VERSION: FeatureUpdate(21, SAFE)} == Client.last.updated[
        0
    ]
    assert ["   [Delete] Feature: group.version", "[Downgrade] Feature: metadata.version"] == [
        line.partition("  Existing")[0] for line in result.out.splitlines()
    ]


@pytest.mark.parametrize("release", ["4.2", "4.2.1", "v4.2", "cp-8.2"])
def test_t3_a_release_of_any_line_has_its_levels(release):
    result = run(*BROKER, "downgrade", "--all", "--as-release", release)

    assert (0, "Nothing to downgrade: no feature is above the levels of Kafka 4.2.2.\n") == (result.status, result.out)


@pytest.mark.parametrize("release", ["3.2", "9.9", "x"])
def test_t3_a_release_without_known_levels_is_refused(release):
    result = run(*BROKER, "downgrade", "--all", "--as-release", release)

    assert 1 == result.status
    assert f"expected a release of Kafka from 3.3 to {NEWEST.line}, got '{release}'" in result.err


def test_t3_nothing_to_do():
    result = run(*BROKER, "downgrade", "--all")
    nothing = f"Nothing to downgrade: no feature is above the levels of Kafka {NEWEST_CATALOG.release}.\n"
    assert (0, nothing) == (result.status, result.out)
    result = run(*BROKER, "downgrade", "--all", "--json")
    assert {"operation": "downgrade", "dryRun": False, "results": []} == json.loads(result.out)
    assert Client.last.updated is None


def test_t2_all_stands_alone():
    result = run(*BROKER, "upgrade", "--all", "--feature", "a=1")

    assert (1, "Can not specify `all` with other feature flags.\n") == (result.status, result.err)


def test_a4_all_needs_to_know_what_is_there(client):
    client.epoch = None
    result = run(*BROKER, "upgrade", "--all")

    assert (1, None) == (result.status, Client.last.updated)
    assert "The cluster did not report its finalized features" in result.err


OUTPUTS = {
    "describe": (*BROKER, "describe"),
    "upgrade": (*BROKER, "upgrade", "--feature", "group.version=1"),
    "upgrade --all": (*BROKER, "upgrade", "--all"),
    "disable": (*BROKER, "disable", "--feature", "group.version"),
    "version-mapping": ("version-mapping", "--release-version", "4.0"),
    "feature-dependencies": ("feature-dependencies", "--feature", "kraft.version=1"),
}


@pytest.mark.parametrize("words", OUTPUTS.values(), ids=OUTPUTS)
def test_each_command_has_the_same_output_in_json_and_yaml(words):
    found = json.loads(run(*words, "--json").out)

    for option in (("-o", "json"), ("--output", "json"), ("--output=json",), ("-o", "json", "--json")):
        assert found == json.loads(run(*words, *option).out) == json.loads(run(*option, *words).out)
    assert to_yaml(found) == run(*words, "-o", "yaml").out == run("-o", "yaml", *words, "--json").out
    assert run(*words).out == run(*words, "-o", "text").out != run(*words, "--json").out


def test_another_form_is_refused_with_those_that_there_are():
    result = run("version-mapping", "-o", "xml")

    assert (1, "") == (result.status, result.out)
    assert "'xml' is not one of 'text', 'json', 'yaml'" in result.err


def test_m10_version_mapping_and_dependencies_need_no_cluster():
    assert "metadata.version=25 (4.0)\n" in run("version-mapping", "--release-version", "4.0").out
    newest = NEWEST_CATALOG.latest_production.number
    assert newest == json.loads(run("version-mapping", "--json").out)["levels"][METADATA_VERSION]
    assert 0 == run("--bootstrap-server", "nonsense", "version-mapping").status
    name = "eligible.leader.replicas.version"
    wanted = ("feature-dependencies", "--feature", f"{name}=1")
    assert [f"{name}=1 requires:", "    metadata.version=23 (4.0-IV1)"] == run(*wanted).out.splitlines()
    row = {"feature": name, "level": 1, "requires": {METADATA_VERSION: 23}}
    assert {"features": [row]} == json.loads(run(*wanted, "--json").out)
    assert Client.last is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "too few arguments"),
        (("nope",), "invalid choice: 'nope' (choose from 'describe', 'upgrade', 'downgrade', 'disable', "),
        (("describe",), "You must specify either --bootstrap-controller or --bootstrap-server.."),
        ((*BROKER, "describe", "--nope", "a"), "unrecognized arguments: '--nope'."),
        ((*BROKER, "describe", "a", "b"), "unrecognized arguments: 'a b'."),
        ((*BROKER, "describe", "--node-id"), "argument --node-id: expected one argument."),
        ((*BROKER, "describe", "--node-id", "x"), "argument --node-id: could not convert 'x' to Integer"),
        (("feature-dependencies",), "argument --feature is required."),
        (
            ("--bootstrap-controller", "a:1,b", "describe"),
            "argument --bootstrap-controller: expected HOST:PORT,..., got 'b'.",
        ),
        (
            (*BROKER, "--bootstrap-controller", "b:2", "describe"),
            "argument --bootstrap-controller: not allowed with argument --bootstrap-server.",
        ),
        ((*BROKER, "--timeout", "0", "describe"), "Invalid value for '--timeout'"),
    ],
)
def test_m8_usage_errors_have_kafkas_texts(words, why):
    result = run(*words)

    assert (1, "") == (result.status, result.out)
    assert result.err.startswith(f"Command line error: {why}")
    assert result.err.endswith(". Type --help for help.")


def test_m9_a_node_has_no_negative_id():
    assert "Invalid node id -1: must be non-negative.\n" == run(*BROKER, "describe", "--node-id", "-1").err


def test_without_kafka_python_it_says_what_to_install(monkeypatch):
    def missing(name, *arguments, _import=builtins.__import__, **further):
        if name == "streams_assignor.upgrade.cluster.client.feature_client":
            raise MissingExtraError("kafka-python is not installed: pip install 'streams-assignor[kafka-python]'")
        return _import(name, *arguments, **further)

    monkeypatch.setattr(builtins, "__import__", missing)
    result = run(*BROKER, "describe")

    assert 1 == result.status
    assert result.err == "kafka-python is not installed: pip install 'streams-assignor[kafka-python]'\n"


def test_a_closed_output_is_no_error():
    """The script handles a broken pipe itself; it is an OSError, but no missing file."""
    with pytest.raises(BrokenPipeError), click_support._java_error_messages():
        raise BrokenPipeError


def test_t4_m8_sub_commands_replace_the_flags_of_kip_584():
    assert {"describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies"} == set(
        features.commands
    )
    assert 1 == run(*BROKER, "--describe").status
    assert 1 == run(*BROKER, "update", "--upgrade", "a:2", "--delete", "d").status


@pytest.mark.parametrize("command", [(), *((name,) for name in features.commands)])
def test_every_help_has_examples(command):
    result = run(*command, "--help")

    assert 0 == result.status
    assert "streams-assignor features " in result.out.partition("Example")[2]


@pytest.mark.unmeasured
def test_the_script_has_the_command():
    script = [sys.executable, "-c", "from streams_assignor.cli.main import main; main()", "features", "version-mapping"]
    done = subprocess.run([*script, "--release-version", "9.9"], capture_output=True, text=True, timeout=60)

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("Unknown metadata.version '9.9'. Supported metadata.version are: 3.3-IV3, ")


@pytest.mark.parametrize(
    ("arguments", "servers"),
    [
        ((), "e:1"),
        (BROKER, "a:1"),
        (("--command-config", "with"), "f:1"),
        (("--command-config", "without"), "e:1"),
    ],
)
def test_the_environment_counts_if_neither_options_nor_their_file_name_servers(
    client, tmp_path, monkeypatch, arguments, servers
):
    (tmp_path / "with").write_text("bootstrap.servers=f:1\n")
    (tmp_path / "without").write_text("client.id=x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "e:1")

    assert 0 == run(*arguments, "describe").status
    assert servers == client.last.to[0]


def test_the_file_of_settings_may_be_in_the_environment(client, tmp_path, monkeypatch):
    (tmp_path / "with").write_text("bootstrap.servers=f:1\nclient.id=x\n")
    monkeypatch.setenv("KAFKA_COMMAND_CONFIG", str(tmp_path / "with"))

    assert 0 == run("describe").status
    assert ("f:1", "x") == (client.last.to[0], client.last.to[2]["client_id"])


def test_servers_of_the_environment_are_checked(client, monkeypatch):
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "e")

    done = run("describe")
    assert (1, None) == (done.status, client.last)
    assert "Command line error: KAFKA_BOOTSTRAP_SERVERS: expected HOST:PORT,..., got 'e'" in done.err
