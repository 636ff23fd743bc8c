"""Scenarios of one upgrade, written for another."""

import pytest

from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.search.release_roles import ROLES, Recast
from streams_assignor.spark_sim.sweep.traces import group_steps, recast_rows, trace, trace_rows
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import release_named


def upgrade(origin, target, value=None):
    return Upgrade(release_named(origin), release_named(target), Plan.TWO_BOUNCES, value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A@1.1.1 | bounce A>2.0.1,upgrade.from=1.1", "A@1.0.2 | bounce A>2.1.1,upgrade.from=1.0"),
        ("A@1.1.1 | with partitions=2 | bounce fast A>3.0.2", "A@1.0.2 | with partitions=2 | bounce fast A>3.0.2"),
        ("A@1.1.1 | hold | late A", "A@1.0.2 | hold | late A"),
        ("", ""),
    ],
)
def test_only_what_has_a_role_is_replaced(line, expected):
    assert expected == Recast(upgrade("1.1", "2.0", "1.1"), upgrade("1.0", "2.1", "1.0")).line(line)


def test_a_message_that_looks_like_a_release_stays_as_it_is():
    """Names were replaced by patterns: a version that is written like a release became the release of another cell."""
    found = UpgradeResult(upgrade("2.0", "3.0"), property="p", message="sends 2.0.1", example="A@2.0.1")
    other = found.for_upgrade(upgrade("2.1", "3.1"))

    assert ("sends 2.0.1", "A@2.1.1") == (other.message, other.example)


def test_a_trace_names_roles_in_steps_meanings_and_events():
    scenario = Scenario.parse("A@1.1.1 B@1.1.1 | bounce A>2.0.1,upgrade.from=1.1")
    shown = Recast(upgrade("1.1", "2.0", "1.1"), ROLES).scenario(scenario)
    rows = recast_rows(trace_rows(trace(scenario).steps), scenario, shown)
    steps, text = group_steps(rows), str(rows)

    assert [shown.head, *map(str, shown.steps), "the end"] == [each.step for each in steps]
    assert {ROLES.origin.name, f"{ROLES.target.name},upgrade.from={ROLES.upgrade_from}"} == {
        event.values[0] for each in steps for event in each.events if event.kind == "started"
    }
    assert not any(name in text for name in ("1.1.1", "2.0.1", "=1.1"))
