"""From ZooKeeper to KRaft, on a release that has both: four steps, and the way back after each.

Source: operations guide of 3.9, "ZooKeeper to KRaft Migration" and "Reverting to ZooKeeper mode During the Migration".
Not tried out here; the guide has the settings in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from upgrade.brokers.advice import BrokerStep, Verdict, WayBack
from upgrade.brokers.config import IBP, ROLES
from upgrade.brokers.versions import BrokerRelease

MIGRATION: Final = "zookeeper.metadata.migration.enable"
_SOURCE: Final = "operations guide of 3.9, ZooKeeper to KRaft Migration"
_RESTORE: Final = "take the controllers away, delete /controller and /migration in ZooKeeper quickly"


def migration_steps(bridge: BrokerRelease) -> Iterator[BrokerStep]:
    """Yield the steps of a cluster whose brokers all run ``bridge`` and speak its newest version."""
    line = bridge.line
    yield BrokerStep(
        do=f"start a quorum of KRaft controllers of {bridge}, with the cluster's id, ids of their own, "
        f"metadata.version {bridge.newest}, {MIGRATION}=true and the connection to ZooKeeper",
        why="they will take the metadata over",
        if_skipped="there is nobody to migrate to",
        release=bridge.name,
        settings={IBP: line},
        rolls=0,
        way_back=WayBack(Verdict.OPEN, "take the controllers away"),
        source=_SOURCE,
    )
    yield BrokerStep(
        do=f"give every broker {MIGRATION}=true and the controllers' addresses, bounce them, one by one, and wait for "
        'the controller to log "Completed migration of metadata from Zookeeper to KRaft"',
        why=f"the controllers load the metadata once the last broker is ready; {IBP} must not change meanwhile",
        if_skipped="the migration does not begin",
        release=bridge.name,
        settings={IBP: line, MIGRATION: "true"},
        way_back=WayBack(Verdict.OPEN, f"{_RESTORE}, remove the new settings, and bounce the brokers"),
        source=_SOURCE,
    )
    yield BrokerStep(
        do=f"make every broker a KRaft broker ({ROLES}=broker, node.id for broker.id, no {IBP}, nothing of ZooKeeper, "
        "StandardAuthorizer for AclAuthorizer), and bounce them, one by one",
        why="brokers read their metadata from the controllers, who still write to ZooKeeper as well",
        if_skipped="the migration cannot be finished",
        release=bridge.name,
        settings={ROLES: "broker"},
        way_back=WayBack(
            Verdict.OPEN,
            f"bounce every broker back to ZooKeeper with {MIGRATION}=true, {_RESTORE}, remove the new settings, and "
            "bounce them again",
        ),
        source=_SOURCE,
    )
    yield BrokerStep(
        do=f"after a week or two, remove {MIGRATION} and ZooKeeper from every controller, and bounce the controllers",
        why="nothing is written to ZooKeeper any more, so brokers without it can come",
        if_skipped="a release without ZooKeeper does not know the setting, and the migration never ends",
        release=bridge.name,
        settings={ROLES: "broker"},
        rolls=0,
        way_back=WayBack(Verdict.CLOSED, "a finished migration cannot be reverted"),
        source=_SOURCE,
    )
