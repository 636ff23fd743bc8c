"""S1 of `streams_groups.searches` on real brokers: two members of Java own a task, without any fault."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.integration.applications import TASKS
from tests.lab.integration.migrations import RELEASES, STREAMS
from tests.lab.integration.subprocesses import JavaMember, wait_until
from tests.lab.integration.test_streams_migration import site_of
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.4.0"], "the same with another release"))
def test_a_member_that_creates_its_tasks_for_longer_than_a_heartbeat_interval_has_those_of_another(
    release: str, tmp_path: Path
) -> None:
    """Its heartbeat has no tasks yet, and the broker takes them for revoked: the second member gets three of six."""
    until = tmp_path / "until"
    held = {**STREAMS, "shape": "held", "until": str(until)}
    interval = {"group.streams.heartbeat.interval.ms": "15000"}  # the second member joins within it
    with site_of(release, tmp_path, **interval) as (site, _), ExitStack() as stack:
        members = [stack.enter_context(site.member(name, **held)) for name in ("one", "two")]
        wait_until(lambda: all(map(created, members)), *members)
        current = [
            {str(task) for task in member.broker_assignment.current.active}
            for member in site.lookup.group(site.application.name).members
        ]
        until.touch()
        wait_until(lambda: sum(map(created, members)) >= len(TASKS) + min(map(len, current)), *members)

    print(f"{release}: {sorted(map(created, members))} tasks were created, the broker shows {current}")
    assert set() == set.intersection(*current)


def created(member: JavaMember) -> int:
    return member.lines.count("creates")
