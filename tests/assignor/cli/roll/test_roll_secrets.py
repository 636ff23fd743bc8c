"""No secret of what commands print is in the journal, in the report, or on the screen."""

import base64
import shlex
import sys

import pytest

from streams_assignor.cli.roll._secrets import without_secrets
from streams_assignor.groups.describe.kafka_python import group_lookup
from tests.assignor.cli.roll.simulated import SimulatedCluster
from tests.each import for_each

SECRET = "hunter2-Zq8"
JAAS = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="{SECRET}";'
JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9."
KEY = "-----BEGIN PRIVATE KEY-----\nhunter2-Zq8\nabc=\n-----END PRIVATE KEY-----"
PRINTED = {
    "sasl.jaas.config": f"sasl.jaas.config={JAAS}",
    "sasl.jaas.config, escaped": f"sasl.jaas.config={JAAS}".replace(SECRET, rf"a\" {SECRET}"),
    "sasl.jaas.config in JSON": '{"sasl.jaas.config": "'
    + JAAS.replace(SECRET, f"a {SECRET}").replace('"', '\\"')
    + '"}',
    "a setting": f"ssl.keystore.password={SECRET}",
    "a quotation that is cut": f"password='{SECRET}",
    "quoted": f"db_password: 'a {SECRET}' x",
    "Ruby": f":password => '{SECRET}'",
    "JSON": f'{{"access_token": "{SECRET}", "x": 1}}',
    "a manifest": f"- name: DB_PASSWORD\n  value: {SECRET}",
    "a manifest in JSON": f'{{"name":"DB_PASSWORD","value":"{SECRET}"}}',
    "XML": f"<keyStorePassword>{SECRET}</keyStorePassword>",
    "an option": f"+ deploy --db-password {SECRET} --now",
    "an option with =": f"deploy --token={SECRET}",
    "curl": f"+ curl -u me:{SECRET} https://host/",
    "sshpass": f"sshpass -p {SECRET} ssh host",
    "a header": f"Authorization: Bearer {SECRET}",
    "basic": f"authorization: Basic {SECRET}",
    "a token of OAuth": f"got bearer {SECRET}{SECRET}",
    "a URI": f"postgres://me:{SECRET}@host/db",
    "a passphrase": f"passphrase: {SECRET}",
    "AWS": f"aws_secret_access_key = {SECRET}",
    "a private key": KEY,
    "a private key that is cut": KEY.partition("abc")[0],
    "the environment": f"the value is {SECRET}",
    "the environment in base64": base64.b64encode(SECRET.encode()).decode(),
}


@for_each(
    ["://", "?key", "-password", "password ", "<a.password", "password: , ", "--password\t", "token.", "authorization"]
)
def test_a_long_output_is_read_once(unit):
    """A command that printed 64 KB of such texts held roll up for a minute, in which its lock was lost."""
    assert SECRET not in without_secrets(f"{unit * 10_000}\npassword={SECRET}")


@for_each(['password=\\"', 'password="', "<", "password", "--a", "-----BEGIN "])
def test_so_is_one_text_without_an_end(unit):
    assert SECRET not in without_secrets(unit + "\\" * 60_000 + f"\npassword={SECRET}")


OF_KNOWN_FORMS = [
    *("AKIA" + "Q8" * 8, "ASIA" + "Q8" * 8, "AIza" + "Zq8" * 11 + "Zq", "ya29." + "Zq8_" * 8),
    *("ghp_" + "Zq8" * 12, "ghs_" + "Zq8" * 12, "github_pat_" + "Zq8" * 12, "glpat-" + "Zq8" * 7),
    *("xoxb-" + "Zq8-" * 5, "https://hooks.slack.com/services/T0/Zq8", "sk_live_" + "Zq8" * 8, "sk-proj-" + "Zq8" * 8),
    *("npm_" + "Zq8" * 12, "pypi-" + "Zq8" * 8, "hvs." + "Zq8" * 8, "dckr_pat_" + "Zq8" * 8, "dapi" + "0a" * 16),
    *("hf_" + "Zq8" * 11, "SG." + "Zq8" * 7 + "." + "Zq8" * 7, "AGE-SECRET-KEY-1" + "Q8" * 20, "dop_v1_" + "0a" * 32),
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nZq8\n-----END PGP PRIVATE KEY BLOCK-----",
]


@pytest.mark.parametrize("token", OF_KNOWN_FORMS)
@pytest.mark.parametrize("around", ["{}", "the key is {}, ok", '["{}"]', "x={};y"])
def test_a_token_of_a_known_form_is_hidden_without_a_name(token, around):
    hidden = without_secrets(around.format(token))

    assert "[hidden]" in hidden
    assert not any(part in hidden for part in ("Zq8", "Q8Q8", "0a0a")), hidden


@pytest.mark.parametrize("text", ["pod-1 has restarted", "task-12 sk-1", "sha256:0a0a0a", "glob-x", "npm_config_x"])
def test_a_word_that_only_begins_like_a_token_stays(text):
    assert text == without_secrets(text)


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_probably_a_secret_is_hidden(monkeypatch, name):
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET if name.startswith("the environment") else "x")
    hidden = without_secrets(PRINTED[name])

    assert "[hidden]" in hidden
    assert "hunter2" not in hidden
    assert "Zq8" not in hidden
    assert base64.b64encode(SECRET.encode()).decode() not in hidden


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MYSQL_PWD", SECRET),
        ("DB_PASS", SECRET),
        ("KAFKA_OPTS", f"-Djavax.net.ssl.keyStorePassword={SECRET} -Dx=1"),
        ("CONNECT_SASL_JAAS_CONFIG", JAAS),
        ("CLIENT", f"sasl.jaas.config={JAAS}"),
        ("DATABASE", f"postgres://me:{SECRET}@host/db"),
    ],
)
def test_a_secret_of_the_environment_is_hidden_wherever_it_is_printed(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)

    assert "it was [hidden]!" == without_secrets(f"it was {SECRET}!")


def test_output_that_only_looks_like_names_takes_no_time():
    assert "token" in without_secrets("token" * 10_000)


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "password authentication failed",
        "instance pod-1: image app:4.3.1, port 8080, user me",
        "token bucket",
        "/home/me",
        JWT[:9],
    ],
)
def test_other_output_stays(monkeypatch, text):
    monkeypatch.setenv("PWD", "/home/me")

    assert text == without_secrets(text)


def test_no_secret_is_in_journal_report_or_output(tmp_path, monkeypatch):
    """The password is also that of --command-config, and of a variable; the command fails, so its output is shown."""
    cluster = SimulatedCluster(tmp_path)
    monkeypatch.setattr(group_lookup, "GroupLookup", cluster.lookup)
    monkeypatch.setenv("APP_PASSWORD", "s3cret-of-the-app")
    config = tmp_path / "client.properties"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={JAAS}\n")
    code = "import os, sys; print(open(sys.argv[1]).read(), os.environ, sys.argv[2]); raise SystemExit(3)"
    command = shlex.join([sys.executable, "-I", "-c", code, str(config), "\n".join(PRINTED.values())])

    for more in ((), ("--json", "--answer", "again")):
        done = cluster.roll("--yes", "--command-config", config, *more, command=command)
        assert 3 == done.exit_code, done.output
        assert "[hidden]" in cluster.journal.read_text()
        for text in (done.output, cluster.journal.read_text(), cluster.report.read_text()):
            assert not [each for each in (SECRET, "hunter2", "s3cret-of-the-app") if each in text], text
