"""The scripts of the recipes for `roll`, run: a real systemd of a user, a real Ansible on it, and their checks."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"
SYSTEMD = "/usr/lib/systemd/systemd"
# A user's systemd of its own, in a namespace whose /run is empty: it asks whether the system was booted with systemd.
# Two pipes say when it is ready; it ends with the namespace.
IN_SYSTEMD = """\
set -eu
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
/usr/lib/systemd/systemd --user > "$HOME/systemd.log" 2>&1 &
manager=$!
trap 'kill $manager; wait' EXIT
tries=600
until systemctl --user is-system-running > /dev/null 2>&1; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { cat "$HOME/systemd.log"; exit 1; }
    sleep 0.1
done
systemctl --user daemon-reload
systemctl --user start billing.service
"$@"
"""
LIMIT_SECONDS = 240
needs_ansible = pytest.mark.skipif(find_spec("ansible") is None, reason="needs ansible-core and ansible-lint")
APPLICATION = """\
#!/bin/sh
echo "$KAFKA_RELEASE ${{UPGRADE_FROM-not set}} $2" >> {folder}/starts
systemd-notify --ready
exec sleep infinity
"""
ANSIBLE = HOW_TO / "ansible"


class Host:
    """A host with the unit of the recipe, whose application writes its environment and stays.

    It tells systemd when it has written: a start that returns, returns after that.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.units = folder / ".config/systemd/user"
        self.units.mkdir(parents=True)
        for release in ("2.8.2", "4.3.1"):
            (folder / f"kafka-{release}").mkdir()
        application = folder / "application"
        application.write_text(APPLICATION.format(folder=folder))
        application.chmod(0o755)
        unit = (HOW_TO / "systemd/billing.service").read_text()
        unit = unit.replace("User=billing\n", "").replace("/usr/bin/java", str(application))
        unit = unit.replace("[Service]\n", "[Service]\nType=notify\nNotifyAccess=all\n")
        (self.units / "billing.service").write_text(unit)

    def run(self, *commands: str) -> subprocess.CompletedProcess[str]:
        """Run commands where systemd runs this unit."""
        environment = os.environ | {
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": "/run/user/0",
            "SYSTEMCTL": "systemctl --user",
            "UNITS": str(self.units),
            "LIBRARIES": f"{self.folder}/kafka-",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
        }
        script = "; ".join(commands)
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_SYSTEMD, "sh", "sh", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    @property
    def starts(self) -> list[str]:
        """Release, upgrade.from and class path of each start."""
        return (self.folder / "starts").read_text().splitlines()

    def started(self, *releases: str) -> list[str]:
        """What `starts` has after starts with these releases, each with upgrade.from."""
        return [f"{each} /opt/billing/billing.jar:/opt/billing/kafka-{each.split()[0]}/*" for each in releases]


@pytest.fixture(name="host")
def fixture_host(tmp_path: Path) -> Host:
    if not (Path(SYSTEMD).exists() and shutil.which("unshare") and os.geteuid() == 0):
        pytest.skip("needs systemd, unshare and root")
    return Host(tmp_path)


RELEASE = str(HOW_TO / "systemd/billing-release")
ROUNDS = ("2.8.2 not set", "4.3.1 2.8", "4.3.1 not set")


def test_systemd_starts_the_instance_as_each_round_says(host: Host) -> None:
    done = host.run(f"{RELEASE} 4.3.1 2.8 && {RELEASE} 4.3.1 ''")

    assert 0 == done.returncode, done.stdout + done.stderr
    assert host.started(*ROUNDS) == host.starts


def test_an_instance_that_crashes_between_the_rounds_returns_as_it_was(host: Host) -> None:
    killed = "systemctl --user kill --signal KILL billing.service"
    returned = "until [ $(wc -l < $HOME/starts) = 3 ]; do sleep 0.1; done"
    done = host.run(f"{RELEASE} 4.3.1 2.8 && {killed} && {returned}")

    assert 0 == done.returncode, done.stdout + done.stderr
    assert host.started("2.8.2 not set", "4.3.1 2.8", "4.3.1 2.8") == host.starts


@pytest.mark.parametrize(("arguments", "why"), [("4.0.9", "there is no "), ("'4.3;x' 2.8", "expected a release")])
def test_a_release_that_is_not_there_stops_nothing(host: Host, arguments: str, why: str) -> None:
    done = host.run(f"{RELEASE} {arguments}")

    assert 0 != done.returncode
    assert why in done.stderr
    assert host.started("2.8.2 not set") == host.starts


def playbook(host: Host, *values: str) -> str:
    """The command line of the playbook for a host that is this one."""
    inventory = host.folder / "inventory.ini"
    local = f"[billing:vars]\nansible_connection=local\nansible_python_interpreter={sys.executable}\n"
    inventory.write_text((ANSIBLE / "inventory.ini").read_text() + local)
    paths = {"units": host.units, "libraries": f"{host.folder}/kafka-", "scope": "user", "ansible_become": "false"}
    given = [*values, *(f"{name}={value}" for name, value in paths.items())]
    ansible = Path(sys.executable).parent / "ansible-playbook"
    options = [word for value in given for word in ("-e", value)]
    return shlex.join([str(ansible), "-i", str(inventory), str(ANSIBLE / "restart.yml"), *options])


@needs_ansible
def test_ansible_starts_the_instance_as_each_round_says(host: Host) -> None:
    first = playbook(host, "instance=app-2", "release=4.3.1", "upgrade_from=2.8")
    second = playbook(host, "instance=app-2", "release=4.3.1", "upgrade_from=")
    done = host.run(f"{first} && {second}")

    assert 0 == done.returncode, done.stdout + done.stderr
    assert host.started(*ROUNDS) == host.starts


@needs_ansible
@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("instance=all", "release=4.3.1"), "expected an instance of"),
        (("instance=app-9", "release=4.3.1"), "expected an instance of"),
        (("instance=app-1", "release=4.3;x"), "expected a release"),
        (("instance=app-1", "release=4.0.9"), "there is no"),
    ],
)
def test_ansible_stops_nothing_that_it_cannot_start(host: Host, values: tuple[str, ...], why: str) -> None:
    done = host.run(playbook(host, *values, "upgrade_from="))

    assert 0 != done.returncode
    assert why in done.stdout
    assert host.started("2.8.2 not set") == host.starts


@needs_ansible
def test_ansible_accepts_the_syntax_and_ansible_lint_the_style(tmp_path: Path) -> None:
    environment = os.environ | {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in (
        ["ansible-playbook", "--syntax-check", "-i", "inventory.ini", "restart.yml"],
        ["ansible-lint", "--offline", "--strict", "restart.yml"],
    ):
        done = subprocess.run(
            command, cwd=ANSIBLE, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "billing.service"
    java = shutil.which("java") or shutil.which("true")
    unit.write_text((HOW_TO / "systemd/billing.service").read_text().replace("/usr/bin/java", str(java)))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )

    assert (0, "") == (done.returncode, done.stderr)
