"""What a group loses when it changes to the streams protocol, and what ends its members: brokers and Java members."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams_assignor.upgrade.streams_protocol import Reliance
from streams_assignor.upgrade.streams_protocol.requirements import RELIANCES
from tests.lab.integration.applications import settle
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.migrations import RELEASES, STREAMS, Site
from tests.lab.integration.subprocesses import JavaMember, wait_until
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

CLASSIC_SESSION, STREAMS_SESSION = 6, 45
"""Seconds: the setting of the members, and the default of the brokers."""
DELAYS = {"group.initial.rebalance.delay.ms": "0", "group.streams.initial.rebalance.delay.ms": "0"}
OLDEST_LEVEL = "4.3-IV0"
QUOTED = RELIANCES[Reliance.BROKER_DOWNGRADE].symptom.split('"')[1]
STATIC = {**STREAMS, "group.instance.id": "one"}


@contextmanager
def site_of(release: str, folder: Path, metadata: str | None = None, **settings: str) -> Iterator[tuple[Site, Cluster]]:
    """A cluster of one broker and an application; both are of one release."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    with Cluster(folder, metadata=OLDEST_LEVEL) as cluster:
        try:
            counting(release)
            cluster.start(1, release, settings=DELAYS | settings, metadata=metadata)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams {release}: {missing}")
        yield Site(cluster, release, folder), cluster


@pytest.mark.parametrize("release", with_matrix(RELEASES, [NEWEST], "the same with another release"))
def test_the_timeout_of_the_members_gives_way_to_that_of_the_brokers(release: str, tmp_path: Path) -> None:
    """A member that is killed is noticed after the session timeout: no sooner, which a slow machine cannot change.

    A classic member that is closed stays in the group as long; a streams member leaves at once.
    """
    with site_of(release, tmp_path) as (site, cluster):
        seconds = {}
        with site.members("classic") as (first, second):
            seconds["classic closed"] = moved(first, second, kill=False)
            with site.member("classic3") as third:
                settle(first, third)
                seconds["classic killed"] = moved(first, third, kill=True)
        wait_until(lambda: site.lookup.group(site.application.name).state == "Empty")
        with site.members("streams", **STREAMS) as (first, second):
            seconds["streams closed"] = moved(first, second, kill=False)
            assert left(cluster, site)
            with site.member("streams3", **STREAMS) as third:
                settle(first, third)
                seconds["streams killed"] = moved(first, third, kill=True)
        print(f"release {release}, seconds: {seconds}")

    assert CLASSIC_SESSION <= seconds["classic killed"] + 1
    assert CLASSIC_SESSION <= seconds["classic closed"] + 1
    assert STREAMS_SESSION <= seconds["streams killed"] + 5.5, "the last heartbeat may be as old as their interval"


def test_the_limits_of_the_brokers_are_read(tmp_path: Path) -> None:
    """The printed line has the timeout of the members, which these brokers accept."""
    limit = {"group.streams.min.session.timeout.ms": "1000"}
    with site_of(NEWEST, tmp_path, **limit) as (site, _):
        _, plan = site.plan("streams")
        (line,) = (step["commands"][0] for step in plan["steps"] if step["do"].startswith("set the group"))

        assert f"streams.session.timeout.ms={1000 * CLASSIC_SESSION}," in line
        assert "Completed updating config" in site.execute(line)


def moved(stays: JavaMember, goes: JavaMember, *, kill: bool) -> float:
    """End a member and return after how many seconds the other one has all tasks."""
    began = time.monotonic()
    if kill:
        goes.signal(signal.SIGKILL)
    else:
        goes.stop()
    settle(stays)
    return round(time.monotonic() - began, 1)


def left(cluster: Cluster, site: Site) -> bool:
    """Whether the broker says that a member left, which it does not say of one whose session has ended."""
    text = f"[GroupId {site.application.name}]"
    return any(text in line and "left the streams group" in line for line in cluster.node(1).lines)


def test_a_static_streams_member_ends_when_its_broker_goes_back_before_4_4(tmp_path: Path) -> None:
    """A static member of 4.4.0 ends with ``INVALID_REQUEST``; without its instance id it starts again."""
    with site_of("4.4.0", tmp_path, OLDEST_LEVEL) as (site, cluster):
        with site.member("static", **STATIC) as member:
            settle(member)
            site.count(5)
            cluster.stop(1)
            broker = cluster.start(1, NEWEST, settings=DELAYS)
            wait_until(lambda: member.ended, broker)
            assert any(f"InvalidRequestException: {QUOTED}" in line for line in member.lines), member.lines
        with site.member("dynamic", **STREAMS) as member:
            settle(member)
            site.count(5)
        failure = site.failure("again", **STATIC)
        assert f"InvalidRequestException: {QUOTED}" in failure


@pytest.mark.parametrize("release", with_matrix(RELEASES, [NEWEST], "the same with another release"))
def test_members_fail_if_the_brokers_leave_the_protocol_out(release: str, tmp_path: Path) -> None:
    """``streams.version`` is 1, and ``group.coordinator.rebalance.protocols`` lacks ``streams``."""
    with site_of(release, tmp_path, **{"group.coordinator.rebalance.protocols": "classic,consumer"}) as (site, _):
        failure = site.failure("member", **STREAMS)

    assert "UnsupportedVersionException" in failure, failure
