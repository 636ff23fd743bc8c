"""The rules of KIP-268's text between members of different client libraries on a real broker."""

from contextlib import closing

import pytest

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.observability.events import AssignmentReceived, Event, JoinSent, RejoinRequested
from tests.lab.integration.applications import Application, settle
from tests.lab.integration.subprocesses import PythonMember, wait_until
from tests.lab.integration.test_aiokafka import AiokafkaMember

pytestmark = [pytest.mark.broker, pytest.mark.slow]

OLD, NEW = "kip-268", "kip-268-next"


def probes(member: PythonMember) -> list[tuple[int, int, str]]:
    return [
        (event["version"], event["supported"], event["content"])
        for event in member.events
        if event["event"] == "probed"
    ]


def negotiation(member: PythonMember) -> list[object]:
    """What it sent, whether its assignment had tasks for it, and how it rejoined, without repetitions."""
    facts = [
        event["used"]
        if event["event"] == "subscribed"
        else event["dropped"]
        if event["event"] == "assigned"
        else event["how"]
        for event in member.events
        if event["event"] in ("subscribed", "assigned", "rejoin")
    ]
    return [fact for at, fact in enumerate(facts) if not at or fact != facts[at - 1]]


@pytest.mark.parametrize("leads", ["kafka-python", "aiokafka"])
def test_a_member_of_another_library_goes_down_to_the_version_of_its_leader(
    application: Application, broker: str, leads: str
) -> None:
    def started(library: str, release: str) -> PythonMember:
        if library == "aiokafka":
            return AiokafkaMember(application, broker, release=release)
        return application.python(release=release)

    follows = "aiokafka" if leads == "kafka-python" else "kafka-python"
    with started(leads, OLD) as leader:
        settle(leader)
        with started(follows, NEW) as follower:
            settle(leader, follower)

            assert [(3, 3, "empty")] == probes(leader)
            assert [4, True, "leave_and_join", 3, False] == negotiation(follower)
            assert 0 == follower.stop()
        assert 0 == leader.stop()


def test_so_does_one_of_confluent_kafka(application: Application, broker: str) -> None:
    topology = Topology.of(
        Subtopology(sources=[application.source], changelogs=[f"{application.name}-store-changelog"])
    )
    settings = {"bootstrap.servers": broker, "group.id": application.name, "log_level": 0}
    events: list[Event] = []
    with application.python(release=OLD) as leader:
        settle(leader)
        with closing(StreamsConsumer(settings, topology, release=NEW, admin=False, observer=events.append)) as follower:

            def both_have_tasks() -> bool:
                follower.poll(0.1)
                return bool(follower.assignment() and leader.tasks)

            wait_until(both_have_tasks, leader)
        assert 0 == leader.stop()

    assert (3, 3, "empty") in probes(leader)
    assert [4, 3] == list(dict.fromkeys(event.used_version for event in events if isinstance(event, JoinSent)))
    assert [True, False] == [event.tasks_dropped for event in events if isinstance(event, AssignmentReceived)][:2]
    assert any(event.leaves_group for event in events if isinstance(event, RejoinRequested))
