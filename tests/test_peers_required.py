"""A skipped test of a real peer fails if the peers are required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers_required import VARIABLE

ROOT = Path(__file__).parent.parent
# The reasons are as in tests of this project: what is missing, and the remedy.
PROJECT = """\
import pytest
from tests.peers_required import not_applicable

@pytest.fixture
def broker():
    pytest.skip("no broker (install Java)")

@pytest.mark.broker
def test_fixture(broker): ...

@pytest.mark.java
def test_body():
    pytest.skip("no jars (install Maven)")

@pytest.mark.java
@pytest.mark.skip(reason="not today")
def test_mark(): ...

@pytest.mark.java
@pytest.mark.parametrize("release", [])
def test_no_parameters(release): ...

@pytest.mark.java
def test_design():
    not_applicable("2.0 has no such field")

@pytest.mark.java
@pytest.mark.xfail(reason="known")
def test_known():
    assert False

@pytest.mark.java
def test_peer(): ...

def test_other():
    pytest.skip("no browser")
"""
MARKERS = "[pytest]\nmarkers =\n    java\n    broker\n"


def ran(arguments, folder=ROOT, **environment):
    given = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "JAVA_", VARIABLE))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**given, "PYTHONPATH": str(ROOT), **environment},
    )


def outcomes(output):
    """The outcome of each test, from the summary's ``PASSED file::name``."""
    words = (line.split() for line in output.splitlines() if "::" in line)
    return {line[1].partition("::")[2]: line[0] for line in words if line[0].isupper()}


@pytest.fixture(name="project")
def fixture_project(tmp_path):
    (tmp_path / "pytest.ini").write_text(MARKERS)
    (tmp_path / "test_project.py").write_text(PROJECT)
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_library')\n")
    return tmp_path


def test_required_peers_fail_where_they_were_skipped(project):
    arguments = ["-p", "tests.peers_required", "-p", "xdist", "-n", "1", "--continue-on-collection-errors"]

    done = ran(arguments, project, **{VARIABLE: "1"})

    assert 1 == done.returncode, done.stdout
    found = outcomes(done.stdout)
    assert {"test_known": "XFAIL", "test_peer": "PASSED"} == {
        n: o for n, o in found.items() if o in ("XFAIL", "PASSED")
    }
    failed = {"test_body", "test_fixture", "test_mark", "test_no_parameters[NOTSET]"}
    assert failed == {name for name, outcome in found.items() if outcome in ("FAILED", "ERROR")}
    assert "2 skipped" in done.stdout  # test_design, test_other
    for reason in ("no broker (install Java)", "no jars (install Maven)", "not today", "could not import 'no_such_lib"):
        assert f"this was skipped: {reason}" in done.stdout


@pytest.mark.slow
def test_peers_that_are_not_required_may_be_skipped(project):
    done = ran(["-p", "tests.peers_required"], project, **{VARIABLE: "0"})

    assert 0 == done.returncode, done.stdout
    assert "1 passed, 7 skipped, 1 xfailed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "status"), [({}, 0), ({VARIABLE: "1"}, 1)])
def test_the_tests_of_this_project_follow_the_switch(tmp_path, environment, status):
    """A real test with Kafka's jars, on a machine without Maven and without a cache."""
    chosen = ["-m", "java", "tests/upgrade/test_upgrade_from_java.py"]

    done = ran(chosen, PATH=str(tmp_path), STREAMS_ASSIGNOR_CACHE=str(tmp_path), **environment)

    assert status == done.returncode, done.stdout
    assert "(install Maven and a JDK, 17 or later)" in done.stdout
