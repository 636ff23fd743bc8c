"""A broker of the newest release behind TLS, SASL and ACLs: its certificates, its users, and how they log in.

Beside the open listener, where clients may do everything, there are `secure` (TLS, and every mechanism of SASL that
needs no other server) and `mutual` (TLS with a certificate of the client's own, whose name is then the user's).
"""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
from confluent_kafka import Producer
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

from tests.lab.integration.applications import PARTITIONS, Application
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.nodes import free_ports
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

PASSWORD = "rather-secret-4711"
KEY_PASSWORD = "key-secret-0815"
RECORDS = 60
LOGIN_MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
    "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule",
}
_SCRAM = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
_ITERATIONS = 4096
USERS = ("anna", "bert", "carl", "emil")


@frozen
class SecureCluster:
    """`anna`, and `dora` by her certificate, may do everything; `bert` not use the group, `carl` not read the topic.

    `emil` may list all groups and describe none.

    Rights are those to everything whose name begins with the application's.
    """

    application: Application
    open: str
    secure: str
    mutual: str
    folder: Path

    def file(self, name: str) -> str:
        """Certificates: `ca`, `dora` (her key is encrypted), and `stranger-ca`, `stranger`, which no broker trusts."""
        return str(self.folder / f"{name}.pem")

    def login(self, user: str, password: str = PASSWORD, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """The settings of a client, in librdkafka's words."""
        return {
            "bootstrap.servers": self.secure,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": self.file("ca"),
        }

    def java_login(self, user: str, password: str = PASSWORD, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """The same in Java's words."""
        module = f"org.apache.kafka.common.security.{LOGIN_MODULES[mechanism]}"
        return {
            "bootstrap.servers": self.secure,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.file("ca"),
        }

    def java_certificate(self, name: str = "dora", password: str = KEY_PASSWORD) -> dict[str, str]:
        """The settings of a client with a certificate, in Java's words."""
        return {
            "bootstrap.servers": self.mutual,
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.file("ca"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.file(name),
            "ssl.key.password": password,
        }


@contextmanager
def secure_cluster(folder: Path, **settings: str) -> Iterator[SecureCluster]:
    """Start it, with `RECORDS` records in the source topic; `Unavailable`."""
    certify(folder)
    secure, mutual = (f"127.0.0.1:{port}" for port in free_ports(2))
    with Cluster(folder) as cluster:  # its nodes read the certificates
        cluster.start(1, settings=_settings(cluster, secure, mutual, folder) | settings)
        found = SecureCluster(Application(cluster.brokers), cluster.brokers, secure, mutual, folder)
        _let_in(found)
        producer = Producer({"bootstrap.servers": cluster.brokers})
        for number in range(RECORDS):
            producer.produce(found.application.source, b"%d" % number, partition=number % PARTITIONS)
        assert 0 == producer.flush(TIMEOUT_SECONDS)
        yield found


def token(user: str, seconds: float) -> tuple[str, float]:
    """An unsigned token, which a broker accepts unless configured otherwise, and when it expires."""
    now = time.time()
    claims = {"sub": user, "iat": now - 1, "exp": now + seconds, "jti": f"{user}-{now}"}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, claims))
    return b".".join((*parts, b"")).decode(), now + seconds


# -- the broker ---------------------------------------------------------------------------------------------------


def _settings(cluster: Cluster, secure: str, mutual: str, folder: Path) -> dict[str, str]:
    listeners = {
        "PLAINTEXT": cluster.broker(1),
        "CONTROLLER": cluster.controller(1),
        "SECURE": secure,
        "MUTUAL": mutual,
    }
    of_secure = "listener.name.secure"
    options = {
        "PLAIN": "".join(f' user_{user}="{PASSWORD}"' for user in USERS),
        "OAUTHBEARER": ' unsecuredLoginStringClaim_sub="broker"',
    }
    logins = {
        f"{of_secure}.{mechanism.lower()}.sasl.jaas.config": (
            f"org.apache.kafka.common.security.{module} required{options.get(mechanism, '')};"
        )
        for mechanism, module in LOGIN_MODULES.items()
    }
    return {
        "listeners": ",".join(f"{name}://{address}" for name, address in listeners.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        f"{of_secure}.sasl.enabled.mechanisms": ",".join(LOGIN_MODULES),
        **logins,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
    }


def _let_in(cluster: SecureCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.open})
    wanted = [
        UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, _ITERATIONS), PASSWORD.encode())
        for user in USERS
        for mechanism in _SCRAM.values()
    ]
    for one in wanted:  # a request changes each user once
        for future in admin.alter_user_scram_credentials([one]).values():
            future.result(TIMEOUT_SECONDS)
    name = cluster.application.name
    read, describe, alter = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.ALTER
    for user in (*USERS, "CN=dora"):
        allow(admin, user, ResourceType.TOPIC, name, *([describe] if user == "carl" else [describe, read]))
        if user not in ("bert", "emil"):
            allow(admin, user, ResourceType.GROUP, name, read)
        if user in ("anna", "CN=dora"):
            allow(admin, user, ResourceType.BROKER, "kafka-cluster", alter, describe)
        if user == "emil":
            allow(admin, user, ResourceType.BROKER, "kafka-cluster", describe)


def allow(admin: AdminClient, user: str, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    """Allow a user something; with a prefix of names, "*" for all, or for the cluster."""
    is_prefix = kind is not ResourceType.BROKER and name != "*"
    pattern = ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL
    wanted = [
        AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for operation in operations
    ]
    for future in admin.create_acls(wanted).values():
        future.result(TIMEOUT_SECONDS)


# -- certificates -------------------------------------------------------------------------------------------------


def certify(folder: Path) -> None:
    """Make two authorities, and what they have signed: key and certificate in one file each, in PEM."""
    folder.mkdir(parents=True, exist_ok=True)
    for authority, signed in (("ca", ("broker", "dora")), ("stranger-ca", ("stranger",))):
        _certificate(folder, authority)
        for name in signed:
            _certificate(folder, name, authority)


def _certificate(folder: Path, name: str, authority: str | None = None) -> None:
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    common = "127.0.0.1" if name == "broker" else name
    encrypted = ["-passout", f"pass:{KEY_PASSWORD}"] if name in ("dora", "stranger") else ["-noenc"]
    signer = ["-CA", str(folder / f"{authority}.crt"), "-CAkey", str(folder / f"{authority}.key")]
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"),
        *("-subj", f"/CN={common}", "-addext", f"basicConstraints=critical,CA:{str(authority is None).upper()}"),
        *(["-addext", "subjectAltName=IP:127.0.0.1"] if name == "broker" else []),
        *("-keyout", str(key), "-out", str(certificate), *encrypted),
        *(signer if authority else []),
    )
    own = "" if authority is None else key.read_text()
    (folder / f"{name}.pem").write_text(own + certificate.read_text())


def _openssl(*arguments: str) -> None:
    found = shutil.which("openssl")
    if found is None:
        raise Unavailable("no 'openssl' on PATH (install OpenSSL 3)")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert 0 == done.returncode, done.stderr
