"""Every value of ``upgrade.from`` as Kafka's own configuration takes it."""

import subprocess
from pathlib import Path

import pytest

from streams_assignor.upgrade.release_behaviour import UPGRADE_FROM
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.upgrade_from import StartupOutcome
from tests.lab.integration.kafka_jars import Unavailable, class_path, jvm

PROGRAM = Path(__file__).parent / "java/UpgradeFrom.java"
LATEST = 99  # what the program calls the latest version, whatever the release

pytestmark = [pytest.mark.java, pytest.mark.slow]


def asked(release):
    """``{value: [word, word, ...]}`` from the jars of a release."""
    try:
        command = jvm(class_path(f"org.apache.kafka:kafka-streams:{release}"), "256m", "off")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {release}: {missing}")
    done = subprocess.run([*command, str(PROGRAM), *UPGRADE_FROM], capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stdout + done.stderr
    return {line.split()[0]: line.split(" ", 3)[1:] for line in done.stdout.splitlines() if line[0].isdigit()}


ALWAYS = ["2.0.1", "2.8.2", "3.9.2", "4.3.1"]
WHERE_SOMETHING_CHANGED = [
    *("1.1.1", "2.4.1", "3.2.3", "3.3.2", "3.4.1", "3.5.1", "3.5.2", "3.6.1"),
    *("3.6.2", "3.7.2", "3.8.1", "4.0.2", "4.1.2", "4.2.1"),
]


@pytest.mark.parametrize(
    "name", [*ALWAYS, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in WHERE_SOMETHING_CHANGED)]
)
def test_a_release_takes_the_values_as_the_table_says(name):
    release = release_named(name)
    outcomes = asked(name)

    assert set(UPGRADE_FROM) == set(outcomes)
    for value, (first, *rest) in outcomes.items():
        outcome = release.startup_outcome(value)
        if first == "OK":
            version, protocol = rest
            assert StartupOutcome.STARTS is outcome.outcome
            assert version in {"-", str(release.pinned_version(value) or LATEST)}
            assert protocol in {"-", release.rebalance_protocol(value).upper()}
        else:
            assert (outcome.exception, outcome.text) == (first, " ".join(rest)), value
