"""Feature levels behind TLS, SCRAM and an authorizer: the client changes them, and Kafka's tool and ours agree."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.cluster.client.errors import FeatureUpdateFailed
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.features.rpc import FeatureUpdate, Listener, UpgradeType
from tests.lab.integration.clusters import JavaTools
from tests.lab.integration.feature_checks import EPOCH, SECONDS, java_tools, ours
from tests.lab.integration.secure_cluster import KEY_PASSWORD, SecureCluster
from tests.lab.integration.subprocesses import wait_until
from tests.lab.integration.test_security import refused, written

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

FEATURE = "transaction.version"
LOGINS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "certificate")
SHORT = {"default.api.timeout.ms": "8000", "request.timeout.ms": "4000"}
CALLS = {
    "describe": ("describe",),
    "dry run": ("upgrade", "--feature", f"{FEATURE}=2", "--dry-run"),
    "no such level": ("upgrade", "--feature", f"{FEATURE}=9"),
}


@pytest.fixture(name="tools", scope="module")
def fixture_tools() -> Iterator[JavaTools]:
    yield from java_tools()


def login_of(secure: SecureCluster, login: str) -> dict[str, str]:
    return secure.java_certificate() if login == "certificate" else secure.java_login("anna", mechanism=login)


def without_password(secure: SecureCluster, folder: Path) -> Path:
    """Return dora's key and certificate, the key in the clear: Java 17 cannot decrypt the keys of OpenSSL 3."""
    found = folder / "dora.pem"
    command = ["openssl", "pkey", "-in", secure.file("dora"), "-passin", f"pass:{KEY_PASSWORD}"]
    key = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    certificate = Path(secure.file("dora")).read_text().partition("-----BEGIN CERTIFICATE")
    found.write_text(key + "".join(certificate[1:]))
    return found


def client(settings: dict[str, str], folder: Path) -> FeatureClient:
    read = CommandConfig.read(written(settings, folder))
    return FeatureClient(settings["bootstrap.servers"], Listener.BROKER, read.settings, SECONDS)


@pytest.mark.parametrize("login", LOGINS)
def test_the_client_changes_a_level(secure: SecureCluster, login: str, tmp_path: Path) -> None:
    asked = client(login_of(secure, login), tmp_path)
    before = asked.describe().finalized[FEATURE]
    asked.update({FEATURE: FeatureUpdate(before - 1, UpgradeType.SAFE_DOWNGRADE)})
    wait_until(lambda: asked.describe().finalized[FEATURE] == before - 1)
    asked.update({FEATURE: FeatureUpdate(before)})
    wait_until(lambda: asked.describe().finalized[FEATURE] == before)


def test_a_user_without_the_right_changes_nothing(secure: SecureCluster, tmp_path: Path) -> None:
    asked = client(secure.java_login("bert"), tmp_path)
    before = asked.describe().finalized
    with pytest.raises(FeatureUpdateFailed) as refusal:
        asked.update({FEATURE: FeatureUpdate(1, UpgradeType.SAFE_DOWNGRADE)})

    assert "CLUSTER_AUTHORIZATION_FAILED" == refusal.value.results[FEATURE].name
    assert before == asked.describe().finalized


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("login", LOGINS)
def test_kafkas_tool_says_the_same(
    secure: SecureCluster, tools: JavaTools, login: str, call: str, tmp_path: Path
) -> None:
    settings = login_of(secure, login)
    if login == "certificate":
        settings |= {"ssl.keystore.location": str(without_password(secure, tmp_path))}
        del settings["ssl.key.password"]
    words = ("--bootstrap-server", settings["bootstrap.servers"], "--command-config")
    words = (*words, str(written(settings, tmp_path)), *CALLS[call])
    theirs, own = tools.features(*words), ours(*words)

    assert (theirs.status, EPOCH.sub("", theirs.out), theirs.err) == (own.status, EPOCH.sub("", own.out), own.err)


@pytest.mark.parametrize("why", ["a wrong password", "a broker of another authority", "no TLS", "no certificate"])
def test_what_kafkas_tool_cannot_read_ours_cannot_either(
    secure: SecureCluster, tools: JavaTools, why: str, tmp_path: Path
) -> None:
    """The messages differ: Java's has the names of its classes, ours is one line."""
    settings = refused(secure)[why] | SHORT
    words = ("--bootstrap-server", settings["bootstrap.servers"], "--command-config")
    words = (*words, str(written(settings, tmp_path)), "describe")
    theirs, own = tools.features(*words), ours(*words)

    assert (1, 1) == (theirs.status, own.status), (theirs, own)
    assert 1 == len(own.err.splitlines())
