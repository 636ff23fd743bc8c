"""A cluster with TLS, SCRAM and ACLs on a second listener, and users for it; certificates by the JDK's keytool."""

import subprocess
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.integration.children import PATIENCE
from tests.integration.clusters import Cluster
from tests.integration.kafka_jars import program

_STORE_PASSWORD = "only-for-a-test"
_ITERATIONS = 4096
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
GROUP, TOPIC = ResourceType.GROUP, ResourceType.TOPIC


def certify(folder: Path) -> Path:
    """Make the broker's key store, ``store.p12``, and return the certificate that clients are to trust."""
    store = ["-keystore", str(folder / "store.p12"), "-storetype", "PKCS12", "-storepass", _STORE_PASSWORD]
    certificate = folder / "broker.pem"
    made = [
        "-alias",
        "broker",
        "-dname",
        "CN=127.0.0.1",
        "-keyalg",
        "RSA",
        "-ext",
        "san=ip:127.0.0.1",
        "-validity",
        "2",
    ]
    for arguments in (
        ["-genkeypair", *made, *store],
        ["-exportcert", "-rfc", "-alias", "broker", "-file", str(certificate), *store],
    ):
        done = subprocess.run([program("keytool"), *arguments], capture_output=True, text=True, timeout=60)
        assert 0 == done.returncode, done.stdout + done.stderr
    return certificate


def secured(cluster: Cluster, port: int, folder: Path) -> dict[str, str]:
    """Everybody on the first listener may do everything, as the broker itself; on the other one nobody, but by ACLs."""
    listener = "listener.name.secure"
    return {
        "listeners": f"PLAINTEXT://{cluster.broker(1)},CONTROLLER://{cluster.controller(1)},SECURE://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        f"{listener}.ssl.keystore.location": str(folder / "store.p12"),
        f"{listener}.ssl.keystore.type": "PKCS12",
        f"{listener}.ssl.keystore.password": _STORE_PASSWORD,
        f"{listener}.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        f"{listener}.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }


def add_user(admin: AdminClient, user: str, password: str) -> None:
    """Let a user log in."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    wanted = UserScramCredentialUpsertion(user, info, password.encode())
    for future in admin.alter_user_scram_credentials([wanted]).values():
        future.result(PATIENCE)


def allow(admin: AdminClient, user: str, kind: ResourceType, prefix: str, *operations: AclOperation) -> None:
    """Let a user do something with all groups or topics whose names begin so."""
    wanted = [
        AclBinding(kind, prefix, ResourcePatternType.PREFIXED, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for operation in operations
    ]
    for future in admin.create_acls(wanted).values():
        future.result(PATIENCE)


def login(user: str, password: str, port: int, certificate: Path) -> dict[str, str]:
    """The settings of a client, in librdkafka's words."""
    return {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": password,
        "ssl.ca.location": str(certificate),
    }
