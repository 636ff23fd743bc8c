"""The cheapest order of restarts, and bytes of state, of a live group on a real broker: as the command shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from click.testing import CliRunner

from streams_assignor.cli.group.command import group as group_command
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from tests.lab.integration.clusters import OLDER
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.peers import Group
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS
from tests.lab.integration.test_forecast import look

pytestmark = [pytest.mark.broker, pytest.mark.slow]
NAMES = ("python-a", "python-b", "python-c")


@pytest.fixture(scope="module", name="group")
def fixture_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("restart-order")
    with ExitStack() as stack:
        try:
            brokers = broker_of(OLDER, folder / "broker", stack)
        except Unavailable as missing:
            pytest.skip(f"no broker: {missing}")
        group = stack.enter_context(Group(brokers, "persistent", folder, 6))
        for name in NAMES:
            group.start(name, "streams-assignor", **{"num.standby.replicas": "1"})
        group.eventually(lambda: len(look(group).members) == len(NAMES), lambda: "not all members are there")
        group.settle()
        group.check_that_no_member_rejoins()
        group.count()
        yield group


def ask(group: Group, *arguments: str) -> str:
    done = CliRunner().invoke(
        group_command, [group.topics.application, "--bootstrap-servers", group.brokers, *arguments]
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_broker_tells_what_changelogs_hold(group: Group) -> None:
    known = GroupLookup(group.brokers, {}, TIMEOUT_SECONDS).changelog_sizes(group.topics.application)

    assert known.failures == ()
    assert {(log.topic, log.partition) for log in known.sizes} == {(group.topics.changelog, n) for n in range(6)}
    assert {*known.begins.values()} == {0}
    assert all(known.sizes[log] > 0 for log, end in known.ends.items() if end)
    assert any(known.ends.values())


def test_an_instance_without_its_state_restores_bytes(group: Group) -> None:
    found = json.loads(ask(group, "--what-if", "restart python-b", "--state", "ephemeral", "--json"))
    rows = [row for outcome in found["outcomes"] for row in outcome["restored"]]

    assert rows
    assert all(row["bytes"] is not None for row in rows)
    assert any(row["bytes"] for row in rows)


def test_the_cheapest_order_of_a_live_group_is_exact(group: Group) -> None:
    found = json.loads(ask(group, "--what-if", "restart all", "--json"))

    assert found["is_cheapest"]
    assert {row["process"].partition(" ")[0] for row in found["order"]} == {*NAMES}
    assert found["at_least"]["rebalances"] <= found["cost"]["least"]["rebalances"]
    assert "the cheapest order" in ask(group, "--what-if", "restart all")
