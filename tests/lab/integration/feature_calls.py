"""Command lines for Kafka's feature tool and ours: what each says, both have to say.

``BROKER`` and ``CONTROLLER`` stand for the addresses of the listeners. The cluster begins at metadata.version 25.
"""

import shlex
from collections.abc import Iterator

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS, NEWEST_CATALOG

_OF_THE_COMMAND_LINE = """
--bootstrap-server BROKER
--bootstrap-server BROKER --bootstrap-controller CONTROLLER describe
--bootstrap-controller CONTROLLER --bootstrap-server BROKER describe
describe
--bootstrap-server BROKER nope
--bootstrap-server BROKER describe --nope
--bootstrap-server BROKER describe --nope a
--bootstrap-server BROKER describe extra
--bootstrap-server BROKER describe extra extra
--bootstrap-server BROKER describe --node-id x
--bootstrap-server BROKER describe --node-id ""
--bootstrap-server BROKER describe --node-id 2147483648
--bootstrap-server BROKER describe --node-id -1
--bootstrap-server BROKER describe --node-id
--bootstrap-server BROKER upgrade --unsafe
--bootstrap-server BROKER upgrade --feature
--bootstrap-server
upgrade --feature metadata.version
"""

_DESCRIBE = """
--bootstrap-server BROKER describe
--bootstrap-controller CONTROLLER describe
--bootstrap-server BROKER describe --node-id 1
--bootstrap-server BROKER describe --node-id +1
--bootstrap-controller CONTROLLER describe --node-id 1
--bootstrap-controller BROKER describe
--bootstrap-server CONTROLLER describe
--bootstrap-server CONTROLLER describe --node-id 1
"""

_UPGRADE = """
--bootstrap-server BROKER upgrade
--bootstrap-server BROKER upgrade --metadata 4.0
--bootstrap-server BROKER upgrade --metadata 4.1-IV1
--bootstrap-server BROKER upgrade --metadata nope
--bootstrap-server BROKER upgrade --metadata 3.0-IV1
--bootstrap-server BROKER upgrade --metadata 4.0 --dry-run
--bootstrap-server BROKER upgrade --metadata 4.4-IV0 --dry-run
--bootstrap-server BROKER upgrade --metadata 4.4-IV0
--bootstrap-server BROKER upgrade --metadata 4.1-IV0 --feature metadata.version=26
--bootstrap-server BROKER upgrade --metadata 4.1-IV1 --feature share.version=1
--bootstrap-server BROKER upgrade --release-version 4.1-IV0 --dry-run
--bootstrap-server BROKER upgrade --release-version 4.2 --dry-run
--bootstrap-server BROKER upgrade --release-version 3.3 --dry-run
--bootstrap-server BROKER upgrade --release-version 9.9
--bootstrap-server BROKER upgrade --release-version 4.1-IV0 --feature a=1
--bootstrap-server BROKER upgrade --release-version 4.1-IV0 --metadata 4.0
--bootstrap-server BROKER upgrade --metadata 4.1 --release-version 4.1 --feature x
--bootstrap-server BROKER upgrade --feature metadata.version
--bootstrap-server BROKER upgrade --feature metadata.version=x
--bootstrap-server BROKER upgrade --feature metadata.version=99999
--bootstrap-server BROKER upgrade --feature metadata.version=26
--bootstrap-server BROKER upgrade --feature metadata.version=26 --dry-run
--bootstrap-server BROKER upgrade --feature metadata.version=+26 --dry-run
--bootstrap-server BROKER upgrade --feature "metadata.version = 26" --dry-run
--bootstrap-server BROKER upgrade --feature =26 --dry-run
--bootstrap-server BROKER upgrade --feature metadata.version=26 --feature metadata.version=26
--bootstrap-server BROKER upgrade --feature metadata.version=0
--bootstrap-server BROKER upgrade --feature metadata.version=-1
--bootstrap-server BROKER upgrade --feature metadata.version=24
--bootstrap-server BROKER upgrade --feature metadata.version=99
--bootstrap-server BROKER upgrade --feature nope=1
--bootstrap-server BROKER upgrade --feature "a  =1"
--bootstrap-server BROKER upgrade --feature metadata.version=26 --feature share.version=1 --feature nope=1
--bootstrap-server BROKER upgrade --feature metadata.version=26 --feature share.version=1 --feature nope=1 --dry-run
--bootstrap-server BROKER upgrade --feature share.version=1 --feature metadata.version=30 --dry-run
--bootstrap-server BROKER upgrade --feature eligible.leader.replicas.version=1
--bootstrap-server CONTROLLER upgrade --feature metadata.version=26 --dry-run
--bootstrap-controller BROKER upgrade --feature metadata.version=26 --dry-run
--bootstrap-controller CONTROLLER upgrade --feature metadata.version=26 --dry-run
--bootstrap-controller CONTROLLER upgrade --feature metadata.version=26
"""

_DOWNGRADE = """
--bootstrap-server BROKER downgrade
--bootstrap-server BROKER downgrade --feature metadata.version=22 --dry-run
--bootstrap-server BROKER downgrade --feature metadata.version=22
--bootstrap-server BROKER downgrade --feature metadata.version=22 --unsafe
--bootstrap-server BROKER downgrade --feature metadata.version=22 --unsafe --dry-run
--bootstrap-server BROKER downgrade --feature metadata.version=24 --unsafe --dry-run
--bootstrap-server BROKER downgrade --feature metadata.version=24 --unsafe
--bootstrap-server BROKER downgrade --feature metadata.version=24
--bootstrap-server BROKER downgrade --feature metadata.version=25
--bootstrap-server BROKER downgrade --feature metadata.version=26
--bootstrap-server BROKER downgrade --feature metadata.version=7
--bootstrap-server BROKER downgrade --feature transaction.version=-1
--bootstrap-server BROKER downgrade --feature transaction.version=0
--bootstrap-server BROKER downgrade --feature metadata.version=25 --feature transaction.version=1
--bootstrap-server BROKER downgrade --metadata 4.0-IV2 --dry-run
--bootstrap-server BROKER downgrade --metadata 4.0-IV2
--bootstrap-server BROKER downgrade --metadata 9.9
--bootstrap-server BROKER downgrade --release-version 3.9-IV0 --dry-run
--bootstrap-server BROKER downgrade --release-version 4.0-IV1
--bootstrap-server BROKER downgrade --release-version 4.0-IV2 --unsafe --dry-run
--bootstrap-server BROKER downgrade --release-version 9.9
--bootstrap-controller CONTROLLER downgrade --feature metadata.version=24
"""

_DISABLE = """
--bootstrap-server BROKER disable
--bootstrap-server BROKER disable --feature transaction.version --dry-run
--bootstrap-server BROKER disable --feature transaction.version
--bootstrap-server BROKER disable --feature transaction.version --unsafe
--bootstrap-server BROKER disable --feature transaction.version --feature transaction.version
--bootstrap-server BROKER disable --feature transaction.version --feature share.version
--bootstrap-server BROKER disable --feature eligible.leader.replicas.version --unsafe
--bootstrap-server BROKER disable --feature metadata.version --unsafe --dry-run
--bootstrap-server BROKER disable --feature metadata.version
--bootstrap-server BROKER disable --feature transaction.version=2
--bootstrap-server BROKER disable --feature nope
--bootstrap-server BROKER disable --feature ""
--bootstrap-server BROKER disable --feature " "
"""

_VERSION_MAPPING = """
version-mapping
--bootstrap-server 127.0.0.1:1 version-mapping
--bootstrap-server nonsense version-mapping
--bootstrap-server BROKER version-mapping --release-version 3.9-IV0
version-mapping --release-version 3.9
version-mapping --release-version=4.0
version-mapping --release-version 3.3
version-mapping --release-version 3.3-IV3
version-mapping --release-version 4.0.1
version-mapping --release-version 4.0.1-IV1
version-mapping --release-version 4.0-IV1.7
version-mapping --release-version 4.4-IV0
version-mapping --release-version 4.4
version-mapping --release-version 3.0
version-mapping --release-version 3.3-IV0
version-mapping --release-version 4
version-mapping --release-version 4.
version-mapping --release-version 4.0.
version-mapping --release-version 4.0-iv1
version-mapping --release-version 4.0-IV1-SNAPSHOT
version-mapping --release-version " 4.0"
version-mapping --release-version ""
version-mapping --release-version nope
"""

_FEATURE_DEPENDENCIES = """
feature-dependencies
feature-dependencies --feature eligible.leader.replicas.version=1
feature-dependencies --feature eligible.leader.replicas.version=0
feature-dependencies --feature transaction.version=2 --feature metadata.version=25 --feature group.version=1
feature-dependencies --feature kraft.version=1
feature-dependencies --feature kraft.version=0 --feature "kraft.version= 1" --feature kraft.version=
feature-dependencies --feature nope=1
feature-dependencies --feature nope=99
feature-dependencies --feature metadata.version=31
feature-dependencies --feature metadata.version=99
feature-dependencies --feature metadata.version=6
feature-dependencies --feature transaction.version=7
feature-dependencies --feature transaction.version=-1
feature-dependencies --feature transaction.version=-0
feature-dependencies --feature transaction.version=2 --feature transaction.version=7
feature-dependencies --feature transaction.version=0x1
feature-dependencies --feature transaction.version=1_0
feature-dependencies --feature transaction.version=٢
feature-dependencies --feature transaction.version=32768
feature-dependencies --feature transaction.version=2=1
feature-dependencies --feature =
feature-dependencies --feature ""
feature-dependencies --feature test.feature.version=1
feature-dependencies --feature unit.test.feature.version.7=1
"""

_PREFIXES = """
--bootstrap-s BROKER desc
--bootstrap-c CONTROLLER des --node=1
--bootstrap-server BROKER describe --
--bootstrap-server BROKER u --feat metadata.version=26 --dry
--bootstrap-server BROKER upg --f metadata.version=26
--bootstrap-server BROKER upg --rel 4.1-IV0 --d
--bootstrap-server BROKER upgrade --meta=4.1-IV1
--bootstrap-server BROKER do --feat metadata.version=24 --un --dry
--bootstrap-c CONTROLLER dis --feat transaction.version
"""

# kraft.version cannot be set back to 0.
_LAST = """
--bootstrap-server BROKER upgrade --release-version 4.0
--bootstrap-controller CONTROLLER upgrade --release-version 4.2
--bootstrap-server BROKER downgrade --release-version 4.0-IV2
--bootstrap-server BROKER downgrade --release-version 3.9-IV0 --dry-run
--bootstrap-server BROKER disable --feature kraft.version
"""


def _calls(*blocks: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(line)) for block in blocks for line in block.strip().splitlines())


CALLS = _calls(
    *(
        _OF_THE_COMMAND_LINE,
        _DESCRIBE,
        _UPGRADE,
        _DOWNGRADE,
        _DISABLE,
        _VERSION_MAPPING,
        _FEATURE_DEPENDENCIES,
        _PREFIXES,
    )
)
LAST_CALLS = _calls(_LAST)


def _without_a_cluster() -> Iterator[str]:
    """Every level and release line there is, and those around the newest."""
    names = [level.name for level in NEWEST_CATALOG.levels[METADATA_VERSION]]
    newest = [f"{name}{more}" for name in (names[-1], NEWEST_CATALOG.release) for more in ("", ".1", "-IV9")]
    for release in (*names, *CATALOGS, *(each.release for each in CATALOGS.values()), *newest):
        yield f"version-mapping --release-version {release}"
    for feature, levels in NEWEST_CATALOG.levels.items():
        for number in range(-1, levels[-1].number + 2):
            yield f"feature-dependencies --feature {feature}={number}"


def _on_the_newest_broker() -> Iterator[str]:
    """The levels that the release before lacks, and one more; all dry runs, as some cannot be lowered again."""
    before, newest = [*CATALOGS.values()][-2:]
    yield "--bootstrap-server BROKER describe"
    yield "--bootstrap-controller CONTROLLER describe"
    for feature, levels in newest.levels.items():
        first = before.supported_range(feature)[1] if feature in before.features else 0
        for number in range(first, levels[-1].number + 2):
            yield f"--bootstrap-server BROKER upgrade --feature {feature}={number} --dry-run"
            yield f"--bootstrap-server BROKER downgrade --feature {feature}={number} --dry-run"
    for level in newest.levels[METADATA_VERSION]:
        if level.number >= before.latest_production.number:
            yield f"--bootstrap-server BROKER upgrade --release-version {level.name} --dry-run"
            yield f"--bootstrap-controller CONTROLLER upgrade --metadata {level.name} --dry-run"


CALLS_WITHOUT_CLUSTER = _calls("\n".join(_without_a_cluster()))
NEWEST_CALLS = _calls("\n".join(_on_the_newest_broker()))
