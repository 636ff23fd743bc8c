"""The migration of a cluster from ZooKeeper to KRaft: four steps, each with its way back.

Source: operations guide of 3.9, "ZooKeeper to KRaft Migration" and "Reverting to ZooKeeper mode During the Migration".
``tests/lab/integration/test_broker_migration.py`` runs it with real nodes. The guide lists the settings in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams_assignor.upgrade.cluster.brokers.config import IBP, ROLES
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease
from streams_assignor.upgrade.cluster.brokers.steps import BrokerStep, DowngradePath, DowngradeVerdict

MIGRATION: Final = "zookeeper.metadata.migration.enable"
MIGRATED: Final = "Completed migration of metadata from ZooKeeper to KRaft"
"""Java: ``KRaftMigrationDriver``; the guide writes Zookeeper."""
_SOURCE: Final = "operations guide of 3.9, ZooKeeper to KRaft Migration; seen with 3.9.2 and 4.3.1"
_REVERT_CONTROLLERS: Final = "take the controllers away, delete /controller and /migration in ZooKeeper quickly"


def migration_steps(bridge: BrokerRelease) -> Iterator[BrokerStep]:
    """Yield the steps of a cluster whose brokers all run ``bridge`` and speak its newest version."""

    def step(
        do: str,
        why: str,
        if_skipped: str,
        way_back: str,
        settings: dict[str, str],
        *,
        rolls: int = 1,
        verdict: DowngradeVerdict = DowngradeVerdict.OPEN,
    ) -> BrokerStep:
        return BrokerStep(
            do=do,
            why=why,
            if_skipped=if_skipped,
            release=bridge.name,
            settings=settings,
            rolls=rolls,
            way_back=DowngradePath(verdict, way_back),
            source=_SOURCE,
        )

    yield step(
        f"start a quorum of KRaft controllers of {bridge}, with the cluster's id, ids of their own, "
        f"metadata.version {bridge.newest}, {MIGRATION}=true and the connection to ZooKeeper",
        "they will take the metadata over",
        "there are no controllers to migrate to",
        "take the controllers away",
        {IBP: bridge.line},
        rolls=0,
    )
    yield step(
        f"give every broker {MIGRATION}=true and the controllers' addresses, bounce them, one by one, and wait for "
        f'the controller to log "{MIGRATED}"',
        f"the controllers load the metadata once the last broker is ready; {IBP} must not change meanwhile",
        "the migration does not begin",
        f"{_REVERT_CONTROLLERS}, remove the new settings, and bounce the brokers",
        {IBP: bridge.line, MIGRATION: "true"},
    )
    yield step(
        f"make every broker a KRaft broker ({ROLES}=broker, node.id for broker.id, no {IBP}, nothing of ZooKeeper, "
        "StandardAuthorizer for AclAuthorizer), and bounce them, one by one",
        "brokers read their metadata from the controllers, which still write to ZooKeeper as well",
        "the migration cannot be finished",
        f"bounce every broker back to ZooKeeper with {MIGRATION}=true, {_REVERT_CONTROLLERS}, remove the new settings, "
        "and bounce them again",
        {ROLES: "broker"},
    )
    yield step(
        f"after a week or two, remove {MIGRATION} and ZooKeeper from every controller, and bounce the controllers",
        "nothing is written to ZooKeeper any more, so brokers without it can join",
        "a release without ZooKeeper starts and ignores the setting: the migration never ends",
        "a finished migration cannot be reverted",
        {ROLES: "broker"},
        rolls=0,
        verdict=DowngradeVerdict.CLOSED,
    )
