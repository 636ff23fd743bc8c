"""The image of ``Containerfile``: its commands without Python, beside a broker in a container."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.integration.applications import TASKS, Application
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.containers import engine
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.operator_image import build
from tests.lab.integration.subprocesses import wait_until
from tests.peers_required import not_applicable

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(name="image", scope="module")
def fixture_image() -> str:
    try:
        engine()
    except Unavailable as missing:
        not_applicable(f"{missing}; python -m tests.lab.integration.engine brings one")
    return build()


def shown(image: str, *arguments: str, folder: Path | None = None) -> str:
    """Standard output of a command in the image; ``ContainerError`` for another status than 0."""
    shared = {"volumes": {str(folder): {"bind": "/work", "mode": "rw"}}} if folder else {}
    user = f"{os.getuid()}:{os.getgid()}" if folder else None
    output: bytes = engine().containers.run(
        image, list(arguments), network_mode="host", remove=True, stderr=False, user=user, **shared
    )
    return output.decode()


def test_it_is_not_root_and_has_no_pip(image: str) -> None:
    configured = engine().images.get(image).attrs["Config"]

    assert "65532:65532" == configured["User"]
    assert ["streams-assignor"] == configured["Entrypoint"]
    found = engine().containers.run(
        image, ["-c", "import importlib.util; print(importlib.util.find_spec('pip'))"], entrypoint="python", remove=True
    )
    assert b"None\n" == found


def test_its_plan_is_that_of_the_command(image: str) -> None:
    arguments = ("plan", "2.8", "4.3", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "streams_assignor", *arguments], capture_output=True, text=True, timeout=120
    )

    assert json.loads(done.stdout) == json.loads(shown(image, *arguments))


def test_it_describes_and_audits_a_live_group(image: str, tmp_path: Path) -> None:
    out = tmp_path / "work"
    out.mkdir()
    with Cluster(tmp_path / "cluster") as cluster:
        cluster.start(1, settings={"group.initial.rebalance.delay.ms": "0"})
        application = Application(cluster.brokers)
        with application.python() as member:
            wait_until(lambda: member.tasks == TASKS, member)
            group = json.loads(
                shown(image, "group", application.name, "--bootstrap-servers", cluster.brokers, "--json")
            )
            audit = ("audit", "--bootstrap-servers", cluster.brokers, "--master", "processes", "--out", "results")
            shown(image, *audit, folder=out)
            assert 0 == member.stop()

    assert ("Stable", [[11, sorted(TASKS)]]) == (
        group["state"],
        [[found["used_version"], found["active"]] for found in group["members"]],
    )
    found = json.loads((out / "results" / "audit.json").read_text())
    assert [application.name] == [row["group"] for row in found["groups"]]
    assert os.getuid() == (out / "results" / "audit.json").stat().st_uid
