"""``group`` and ``features`` on a broker with TLS, SASL and ACLs: a missing permission gives one clear line."""

import json
import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, TopicPartition

from streams_assignor.cli.features.command import features
from streams_assignor.cli.group.command import group
from streams_assignor.cli.member import MEMBER_COMMAND
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from tests.lab.integration.clusters import ToolOutput
from tests.lab.integration.secure_cluster import KEY_PASSWORD, PASSWORD, SecureCluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = [pytest.mark.broker, pytest.mark.slow]

WRONG = "wrong-and-secret"
BY = ("group", "features")
MESSAGES = {
    "a wrong password": "SASL",
    "a broker that cannot be trusted": "CERTIFICATE_VERIFY_FAILED",
    "a broker of another authority": "CERTIFICATE_VERIFY_FAILED",
    "another name than the certificate's": "Hostname mismatch",
    "no certificate": "bad certificate",
    "a certificate of another authority": "certificate unknown",
    "no TLS": r"is the security protocol right\?",
    "a right that is missing": "GROUP_AUTHORIZATION_FAILED|needs ALTER permission",
}


@pytest.fixture(name="name", scope="module")
def fixture_name(secure: SecureCluster) -> str:
    """A group that is there."""
    name = f"{secure.application.name}-seen"
    consumer = Consumer({"bootstrap.servers": secure.open, "group.id": name})
    consumer.commit(offsets=[TopicPartition(secure.application.source, 0, 0)], asynchronous=False)
    consumer.close()
    return name


def command(by: str, name: str) -> list[str]:
    if by == "features":
        return ["features", "upgrade", "--feature", "metadata.version=26", "--dry-run", "--json"]
    return ["group", name, "--json"]


def output(settings: dict[str, str], by: str, name: str, folder: Path, *, seconds: int = TIMEOUT_SECONDS) -> ToolOutput:
    file = written(settings, folder)
    words = [*command(by, name), "--command-config", str(file), "--timeout", str(seconds)]
    result = CliRunner().invoke(features if by == "features" else group, words[1:])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return ToolOutput(result.exit_code, result.stdout, result.stderr)


def written(settings: dict[str, str], folder: Path) -> Path:
    file = folder / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


def without(settings: dict[str, str], prefix: str) -> dict[str, str]:
    return {key: value for key, value in settings.items() if not key.startswith(prefix)}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("login", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "certificate"])
def test_an_authorized_user_sees_the_group(
    secure: SecureCluster, name: str, login: str, by: str, tmp_path: Path
) -> None:
    settings = secure.java_certificate() if login == "certificate" else secure.java_login("anna", mechanism=login)
    found = output(settings, by, name, tmp_path)

    assert (0, "") == (found.status, found.err)
    reported = json.loads(found.out)
    if by == "features":
        assert [None] == [each["error"] for each in reported["results"]]
    else:
        assert (name, "Empty") == (reported["group"], reported["state"])
    assert no_secret_in(found)


@pytest.mark.parametrize("login", ["SCRAM-SHA-512", "certificate"])
def test_a_member_joins_with_the_settings_of_the_same_file(secure: SecureCluster, login: str, tmp_path: Path) -> None:
    settings = secure.java_certificate() if login == "certificate" else secure.java_login("anna", mechanism=login)
    words = ["--group", f"{secure.application.name}-member-{login}", "--topic", secure.application.source]
    command = [*MEMBER_COMMAND, "--command-config", str(written(settings, tmp_path)), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as member:
        seen = []
        for line in member.stdout or ():
            seen.append(json.loads(line))
            if seen[-1]["event"] in ("assigned", "failed"):
                member.terminate()
        status = member.wait(TIMEOUT_SECONDS)

    assert (0, "stopped") == (status, seen[-1]["event"]), seen
    assert "assigned" in [each["event"] for each in seen]
    assert PASSWORD not in str(seen)


def test_a_member_with_a_wrong_password_fails_with_the_reason(secure: SecureCluster, tmp_path: Path) -> None:
    file = written(secure.java_login("anna", WRONG), tmp_path)
    command = [*MEMBER_COMMAND, "--command-config", str(file), "--group", "g", "--topic", secure.application.source]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    last = json.loads(done.stdout.splitlines()[-1])

    assert (1, "failed", "") == (done.returncode, last["event"], done.stderr)
    assert WRONG not in done.stdout


def refused(secure: SecureCluster) -> dict[str, dict[str, str]]:
    anna, dora = secure.java_login("anna"), secure.java_certificate()
    return {
        "a wrong password": secure.java_login("anna", WRONG),
        "a broker that cannot be trusted": without(anna, "ssl.truststore"),
        "a broker of another authority": anna | {"ssl.truststore.location": secure.file("stranger-ca")},
        "another name than the certificate's": anna
        | {"bootstrap.servers": secure.secure.replace("127.0.0.1", "localhost")},
        "no certificate": without(dora, "ssl.key"),
        "a certificate of another authority": secure.java_certificate("stranger"),
        "no TLS": {"bootstrap.servers": secure.secure},
        "a right that is missing": secure.java_login("bert"),
    }


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("why", MESSAGES)
def test_a_refusal_is_one_line(secure: SecureCluster, name: str, why: str, by: str, tmp_path: Path) -> None:
    found = output(refused(secure)[why], by, name, tmp_path)

    assert (1, 1) == (found.status, len(found.err.splitlines())), found
    assert re.search(MESSAGES[why], found.err + found.out, re.IGNORECASE), found
    assert by == "features" or not found.out
    assert no_secret_in(found)


def test_groups_that_may_be_listed_and_not_described(secure: SecureCluster, name: str, tmp_path: Path) -> None:
    """They were stable without members and without problems, with status 0."""
    consumer = Consumer({"bootstrap.servers": secure.open, "group.id": f"{name}-live"})
    consumer.subscribe([secure.application.source])
    try:
        while not consumer.assignment():
            consumer.poll(1)
        file = written(secure.java_login("emil"), tmp_path)
        words = ["--all", "--command-config", str(file), "--json", "--check"]
        done = CliRunner().invoke(group, words)
    finally:
        consumer.close()

    found = {each["group"]: each for each in json.loads(done.stdout)}
    assert 1 == done.exit_code
    assert ("Stable", ["not-described"]) == (
        found[f"{name}-live"]["state"],
        [finding["code"] for finding in found[f"{name}-live"]["findings"] if finding["kind"] == "problem"],
    )
    assert found[f"{name}-live"]["error"].startswith("GROUP_AUTHORIZATION_FAILED")


def no_secret_in(found: ToolOutput) -> bool:
    return not any(secret in found.out + found.err for secret in (PASSWORD, KEY_PASSWORD, WRONG))


@pytest.mark.parametrize("by", BY)
def test_a_key_that_cannot_be_opened_is_named(secure: SecureCluster, name: str, by: str, tmp_path: Path) -> None:
    for settings in (secure.java_certificate(password=WRONG), without(secure.java_certificate(), "ssl.key.password")):
        found = output(settings, by, name, tmp_path)

        assert (1 if by == "features" else 2) == found.status
        assert "ssl.keystore.location: expected key and certificate in PEM" in found.err
        assert no_secret_in(found)


def test_no_password_prompt_on_a_terminal(secure: SecureCluster, name: str, tmp_path: Path) -> None:
    """OpenSSL would, and wait for ever."""
    file = written(without(secure.java_certificate(), "ssl.key.password"), tmp_path)
    mine, terminal = pty.openpty()
    try:
        script = "from streams_assignor.cli.main import main; main()"
        words = [*command("group", name), "--command-config", str(file)]
        done = subprocess.run(
            ["setsid", "--ctty", "--wait", sys.executable, "-c", script, *words],
            stdin=terminal,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    finally:
        os.close(terminal)
        os.close(mine)

    assert 2 == done.returncode
    assert "ssl.keystore.location" in done.stderr


def test_no_log_has_the_password(secure: SecureCluster, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """From Python nothing silences kafka-python."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="kafka")
    config = CommandConfig.of(secure.java_login("anna", mechanism="PLAIN"))
    lookup = GroupLookup(secure.secure, config.settings)

    assert name == lookup.group(name).name
    assert "SaslAuthenticate" in caplog.text  # else this would prove nothing
    assert PASSWORD not in caplog.text + repr(lookup) + repr(config.settings)
