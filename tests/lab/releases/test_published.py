"""The table beside a list of published releases; the list of the registry itself with ``-m java``."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

from streams_assignor.upgrade.releases import RELEASES
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.releases import published
from tests.lab.releases.__main__ import main
from tests.lab.releases.published import difference, published_releases

ROOT = Path(__file__).parents[3]
KNOWN = [name for name, release in RELEASES.items() if release.is_released]


def test_a_list_with_the_releases_of_the_table_has_no_difference():
    assert not difference(KNOWN)


def test_a_new_release_and_one_that_was_withdrawn_are_named():
    differs = difference([*KNOWN[1:], "4.10.0", "4.9.0"])

    assert differs
    assert ["not in the table: 4.9.0", "not in the table: 4.10.0", f"in the table, but not published: {KNOWN[0]}"] == (
        str(differs).splitlines()
    )


def test_a_release_that_was_never_published_need_not_be_listed():
    assert "0.10.1.2" in RELEASES
    assert "0.10.1.2" not in KNOWN


def test_a_missing_maven_is_unavailable_and_not_a_difference(monkeypatch):
    monkeypatch.setattr(published, "program", lambda _: "false")

    with pytest.raises(Unavailable, match="no list of versions"):
        published_releases()


@pytest.mark.java
def test_the_registry_lists_the_releases_of_the_table():
    """New releases fail the scheduled check and not this test, so that a change is judged by what it changes."""
    try:
        listed = published_releases()
    except Unavailable as missing:
        pytest.skip(f"no list of releases: {missing}")

    assert () == difference(listed).unpublished


def test_the_scheduled_check_runs_an_environment_of_tox():
    workflow = (ROOT / ".github/workflows/kafka-releases.yml").read_text()
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")

    environment, command = re.search(r"run: tox -e (\w+) -- (\w+)", workflow).groups()

    assert configuration[f"testenv:{environment}"]["commands"].startswith("python -m tests.lab.releases")
    assert command in main.commands
    assert "cron:" in workflow
