"""Commands with secrets in their configuration, and brokers that repeat them: no secret is printed.

    pytest -m exhaustive tests/lab/integration/test_secrets_of_commands.py -s

No broker is needed: the one that repeats a password in its error is a server of a few answers.
"""

import base64
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.integration.command_runs import run_once
from tests.upgrade.cluster.client.server import API_VERSIONS, Server, recorded
from tests.upgrade.cluster.client.test_command_config import CERTIFICATE

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(3600)]

SECRET = "hunter2-Zq8"
QUOTED = f'"{SECRET}\\ \u00e9'
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
COMMANDS = {
    "group": ["group", "billing", "--timeout", "1"],
    "group list": ["group", "list", "--timeout", "1", "-o", "json"],
    "features describe": ["features", "describe", "--timeout", "1"],
    "features upgrade": ["features", "upgrade", "--release-version", "4.3", "--timeout", "1", "--json"],
    "audit": ["audit", "--out", "{out}"],
    "roll": ["roll", "billing", "--to", "4.3", "--by-hand", "--yes", "--journal", "{out}"],
    "roll without a lock": ["roll", "billing", "--to", "4.3", "--by-hand", "--no-lock"],
    "roll of brokers": ["roll", "--brokers", "--to", "4.3.1", "--by-hand", "--yes", "--json", "--no-lock"],
}


def login(mechanism, module, password, protocol="SASL_PLAINTEXT"):
    jaas = f'{module} username="me" password="{password}";'
    return f"security.protocol={protocol}\nsasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"


CONFIGURATIONS = {
    "PLAIN": login("PLAIN", PLAIN, SECRET),
    "SCRAM": login("SCRAM-SHA-512", SCRAM, SECRET),
    "PLAIN, quoted": login("PLAIN", PLAIN, rf"\\\"{SECRET}\\\\ \u00e9"),
    "TLS to a server without it": login("PLAIN", PLAIN, SECRET, "SASL_SSL"),
    "another login module": login("PLAIN", f"org.example.{SECRET} required", SECRET),
    "no user": f'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} password="{SECRET}";',
    "a line that is broken": login("PLAIN", PLAIN, SECRET).replace(" password", "\npassword"),
    "a key that is misspelt": login("PLAIN", PLAIN, SECRET).replace("jaas.config", "jaas.confg"),
    "a password as a key": f"{SECRET}\nssl.{SECRET}=1\n",
    "a password as a value": f"security.protocol={SECRET}\n",
    "a password as a mechanism": f"security.protocol=SASL_SSL\nsasl.mechanism={SECRET}\n",
    "a password as a time": f"request.timeout.ms={SECRET}\n",
    "a password as a server": f"bootstrap.servers={SECRET}\n",
    "a password of a key": "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={pem}\n"
    f"ssl.key.password={SECRET}\nssl.endpoint.identification.algorithm=\n",
}


class Repeating(Server):
    """A broker whose authenticator writes what it was given into its errors, as text and in base64."""

    def __init__(self, password):
        self.password = password
        super().__init__({API_VERSIONS: recorded("broker 4.3.1 features")})

    def answer(self, key, version, body):
        if key == API_VERSIONS:
            return super().answer(key, version, body)
        if key == SASL_HANDSHAKE:
            mechanisms = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
            names = b"".join(len(each).to_bytes(2, "big") + each.encode() for each in mechanisms)
            return bytes(2) + len(mechanisms).to_bytes(4, "big") + names
        given = body.decode("utf-8", "replace")
        text = f"wrong password {given!r} {given} of {self.password}".encode()
        if version < 2:
            return (58).to_bytes(2, "big") + len(text).to_bytes(2, "big") + text + bytes(4) + bytes(8 * version)
        size = len(text) + 1
        varint = bytes((size & 0x7F | 0x80, size >> 7)) if size > 0x7F else bytes((size,))
        return b"\0" + (58).to_bytes(2, "big") + varint + text + b"\x01" + bytes(8) + b"\0"


SPELLINGS = [SECRET, SECRET.encode().hex(), base64.b64encode(SECRET.encode()).decode(), "hunter2"]


def test_no_secret_is_printed(tmp_path):
    (tmp_path / "me.pem").write_text(CERTIFICATE)
    files = {}
    for number, (name, text) in enumerate(CONFIGURATIONS.items()):
        files[name] = tmp_path / f"{number}.properties"
        files[name].write_text(text.replace("{pem}", str(tmp_path / "me.pem")), encoding="latin-1")

    def run(case):
        command, configuration = case
        folder = tmp_path / re.sub(r"\W+", "-", " ".join(case))
        with Repeating(QUOTED if configuration == "PLAIN, quoted" else SECRET) as broker:
            arguments = [each.format(out=folder / "audit") for each in COMMANDS[command]]
            where = ["--bootstrap-server", broker.address, "--command-config", str(files[configuration])]
            return run_once([*arguments, *where], folder), sorted({key for key, _, _ in broker.asked})

    cases = [(command, configuration) for command in COMMANDS for configuration in CONFIGURATIONS]
    with ThreadPoolExecutor(8) as threads:
        runs = dict(zip(cases, threads.map(run, cases), strict=True))
    for case, (found, asked) in runs.items():
        output = found.stdout + found.stderr
        assert not [each for each in SPELLINGS if each in output], (case, output)
        assert "Traceback" not in output, (case, output)
        assert found.status in {1, 2}, (case, found)
        assert case[1] != "PLAIN" or SASL_AUTHENTICATE in asked, (case, "the password was not sent", output)
    statuses = Counter(found.status for found, _ in runs.values())
    received = sum(SASL_AUTHENTICATE in asked for _, asked in runs.values())
    print(f"{len(runs)} runs, no secret printed; statuses {dict(statuses)}; {received} sent the broker a password")
