"""The recipes for `roll`: their command lines are those of today, and their scripts do what the pages say.

`test_kubernetes_page.py` has the manifests, `lab/integration/test_roll_recipes.py` a real systemd and a real Ansible.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from streams_assignor.cli.roll.command import roll
from streams_assignor.cli.roll.commands import CommandTemplate
from streams_assignor.cli.roll.instances import read_instances

yaml = pytest.importorskip("yaml", reason="extra `yaml`")

HOW_TO = Path(__file__).parents[1] / "docs/how-to"
LINES = [
    pytest.param(line, id=f"{page.stem} {number}")
    for page in (HOW_TO / "kubernetes.md", HOW_TO / "systemd.md")
    for number, line in enumerate(re.findall(r"^streams-assignor roll (.+)$", page.read_text(), re.MULTILINE), 1)
]
# Instead of systemctl: it writes its arguments, and what the drop-in file has then.
SYSTEMCTL = """\
#!/bin/sh
echo "$@" >> "$UNITS/calls"
cat "$UNITS"/billing.service.d/*.conf >> "$UNITS/calls"
[ "$1" != reset-failed ]
"""


@pytest.mark.parametrize("line", LINES)
def test_the_command_line_of_a_recipe_has_todays_options_placeholders_and_files(line, monkeypatch):
    monkeypatch.chdir(HOW_TO)
    parameters = roll.make_context("roll", shlex.split(line)).params
    words = CommandTemplate.parse(parameters["restart"]).words

    assert {"{instance}", "{release}", "{upgrade_from}"} == set(re.findall(r"\{\w+\}", " ".join(words)))
    CommandTemplate(words).check("instance", list(read_instances(parameters["instances_file"]).shown))
    assert all(Path(word).exists() for word in words if "/" in word and not word.startswith("/"))


def test_each_kind_has_a_command_line():
    assert ["kubernetes 1", "kubernetes 2", "systemd 1", "systemd 2"] == [each.id for each in LINES]


@pytest.mark.parametrize(
    "script", ["kubernetes/restart-pod.sh", "kubernetes/restart-deployment.sh", "systemd/billing-release"]
)
def test_a_script_is_one_of_sh_and_can_be_called(script):
    path = HOW_TO / script
    done = subprocess.run(["sh", "-n", path], capture_output=True, text=True, timeout=60, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert os.access(path, os.X_OK)


def release(folder, *arguments):
    """Run the script of a host that has 2.8.2 and 4.3.1; return its result and the calls of systemctl."""
    systemctl, units = folder / "systemctl", folder / "units"
    systemctl.write_text(SYSTEMCTL)
    systemctl.chmod(0o755)
    for name in ("units", "kafka-2.8.2", "kafka-4.3.1"):
        (folder / name).mkdir(exist_ok=True)
    settings = {"SYSTEMCTL": str(systemctl), "UNITS": str(units), "LIBRARIES": f"{folder}/kafka-"}
    done = subprocess.run(
        [HOW_TO / "systemd/billing-release", *arguments],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    calls = units / "calls"
    return done, calls.read_text().splitlines() if calls.exists() else []


def test_the_unit_is_restarted_after_systemd_has_read_release_and_upgrade_from(tmp_path):
    drop_in = ["[Service]", "Environment=KAFKA_RELEASE=4.3.1", "Environment=UPGRADE_FROM=2.8"]
    done, calls = release(tmp_path, "4.3.1", "2.8")

    assert 0 == done.returncode, done.stderr
    assert [
        *("daemon-reload", *drop_in),
        *("reset-failed billing.service", *drop_in),
        *("restart billing.service", *drop_in),
    ] == calls


@pytest.mark.parametrize("upgrade_from", [(), ("",)])
def test_the_second_round_leaves_no_upgrade_from(tmp_path, upgrade_from):
    release(tmp_path, "4.3.1", "2.8")
    _, calls = release(tmp_path, "4.3.1", *upgrade_from)

    assert ["restart billing.service", "[Service]", "Environment=KAFKA_RELEASE=4.3.1"] == calls[-3:]


@pytest.mark.parametrize("arguments", [("4.0.9",), ("4.3.1;reboot",), ("4.3.1", "2.8\nEnvironment=X=1")])
def test_nothing_is_touched_for_what_is_no_release_of_the_host(tmp_path, arguments):
    done, calls = release(tmp_path, *arguments)

    assert done.returncode
    assert done.stderr.startswith("billing-release: ")
    assert [] == calls
    assert not (tmp_path / "units/billing.service.d").exists()


def test_the_unit_stops_before_the_session_times_out_and_ends_a_crash_loop():
    unit = (HOW_TO / "systemd/billing.service").read_text()

    assert 45 > int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1])
    assert "StartLimitBurst=5" in unit
    assert "UPGRADE_FROM=" not in unit


def test_the_playbook_restarts_one_host_that_it_has_checked_first():
    checks, restart = yaml.safe_load((HOW_TO / "ansible/restart.yml").read_text())

    assert "instance in groups.billing" == checks["tasks"][0]["ansible.builtin.assert"]["that"]
    assert "{{ instance | default('none') }}" == restart["hosts"]
    assert {"daemon_reload": True, "state": "restarted"}.items() <= restart["tasks"][-1][
        "ansible.builtin.systemd_service"
    ].items()


def test_playbook_and_script_write_the_same_drop_in_file():
    _, restart = yaml.safe_load((HOW_TO / "ansible/restart.yml").read_text())
    (content,) = [
        task["ansible.builtin.copy"]["content"] for task in restart["tasks"] if "ansible.builtin.copy" in task
    ]

    assert [
        "[Service]",
        "Environment=KAFKA_RELEASE={{ release }}",
        "{% if upgrade_from %}",
        "Environment=UPGRADE_FROM={{ upgrade_from }}",
        "{% endif %}",
    ] == content.splitlines()
