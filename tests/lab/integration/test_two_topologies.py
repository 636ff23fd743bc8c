"""A new topology is rolled out under a running group of real members: which side fails, and what `group` says."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.groups.rejoin import RejoinCause
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.group_log import Generation, generations
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.peers import Group
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS
from tests.lab.integration.topologies import PARTITIONS

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]
RELEASE = "3.9.2"


@pytest.fixture(name="group")
def fixture_group(tmp_path: Path) -> Iterator[Group]:
    with ExitStack() as stack:
        try:
            brokers = broker_of(RELEASE, tmp_path / "broker", stack)
        except Unavailable as missing:
            pytest.skip(f"no broker: {missing}")
        group = stack.enter_context(Group(brokers, "stateful", tmp_path))
        admin, more = AdminClient({"bootstrap.servers": brokers}), f"{group.topics.source}-more"
        admin.create_topics([NewTopic(more, PARTITIONS)])[more].result(TIMEOUT_SECONDS)
        yield group


def in_vain(group: Group) -> list[Generation]:
    """The generations in which a member cannot take its assignment."""
    return [
        each
        for each in generations(group.brokers, group.topics.application)
        if any(RejoinCause.NOT_SUBSCRIBED in seat.rejoin_causes for seat in each.members)
    ]


@pytest.mark.parametrize(("old", "release"), [("java-old", RELEASE), ("python-old", "streams-assignor")])
def test_old_members_under_a_new_leader_rejoin_in_vain_and_ours_backs_off(group: Group, old: str, release: str) -> None:
    group.start(old, release)
    group.settle()
    group.start("java-new", RELEASE, shape="wider")
    group.settle()
    group.check_that_no_member_rejoins()  # the old topology leads: all is quiet
    assert [] == in_vain(group)

    group.count()
    group.stop(old)
    group.settle()
    group.start(old, release)

    group.eventually(lambda: len(in_vain(group)) > 5, lambda: "the old member takes its assignment")
    assert "java-new" == in_vain(group)[-1].leading
    if old.startswith("python"):
        ours = group.members[old]
        group.eventually(
            lambda: any("rejoin_delayed reason=not_subscribed" in line for line in ours.lines),
            lambda: "it does not wait",
        )
    for name in list(group.members):  # a member that rejoins all the time takes long to close
        group.kill(name)
