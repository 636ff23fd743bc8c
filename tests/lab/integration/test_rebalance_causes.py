"""Causes of an audit beside the logs of real brokers and members; groups to which nothing happens have no findings."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.integration.clusters import NEWEST, OLDER
from tests.lab.integration.healthy_groups import observe
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.rebalance_causes import play

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.exhaustive]
HEALTHY_SECONDS = 300


@pytest.mark.parametrize("release", [NEWEST, OLDER])
def test_causes_are_right_or_unknown(release: str, tmp_path: Path) -> None:
    try:
        found = play(release, tmp_path)
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")
    counts = Counter(each["verdict"] for each in found)

    assert counts["right"] + counts["wrong"] >= 90
    assert counts["right"] >= 0.95 * (counts["right"] + counts["wrong"]), [
        each for each in found if each["verdict"] == "wrong"
    ]
    assert counts["unknown"] <= 0.2 * (counts["right"] + counts["wrong"] + counts["unknown"])


def test_healthy_groups_have_no_findings(tmp_path: Path) -> None:
    with ExitStack() as stack:
        try:
            found, rebalances = observe(NEWEST, HEALTHY_SECONDS, tmp_path, stack)
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")

    assert found == []
    assert rebalances > 5
