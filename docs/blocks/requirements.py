"""The requirements of the four texts about feature versions, and the tests of each.

``REQUIREMENTS`` is the only list of rows. A test states its rows in its name: ``test_m10_m11_the_rest``. Only the tests
in ``TESTS`` count, because other tables have row numbers too (``test_b12_...`` is a bug of Kafka Streams).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from blocks.markdown import ROOT, table


class Requirement(NamedTuple):
    """A row: its number, and what the text requires in our words."""

    row: str
    statement: str


KIP_584: Final = "KIP-584"
OLDER: Final = "older diff of KIP-584"
KIP_778: Final = "KIP-778"
DRAFT: Final = "draft of persistent.metadata.version"

_TEXTS: Final[Mapping[str, str]] = {
    **dict.fromkeys("FUDABRTGP", KIP_584),
    "O": OLDER,
    **dict.fromkeys("MIQVW", KIP_778),
    "S": DRAFT,
}
"""The text of each letter."""

REQUIREMENTS: Final = (
    Requirement("F1", "a feature has a name and a version of 16 bits, at least 1; below 1 means deletion"),
    Requirement("F2", "a node supports a range from a lowest to a highest version, defined by its binary"),
    Requirement("F3", "a broker advertises its ranges in its ZooKeeper node, whose version becomes 5"),
    Requirement("F4", "`/features` has a version, a status, and for each feature a minimum and a maximum level"),
    Requirement("F5", "the epoch is the version of `/features`: one more for every write, one for the whole content"),
    Requirement("F6", "the controller writes the status: enabled from the migration IBP on, else disabled"),
    Requirement("F7", "bootstrap of a new cluster: enabled, every supported feature finalized"),
    Requirement("F8", "new binaries below the migration IBP: disabled and empty"),
    Requirement("F9", "then the migration IBP: enabled, and nothing finalized automatically"),
    Requirement("F10", "back below the migration IBP: disabled and emptied"),
    Requirement("F11", "otherwise the node is not written"),
    Requirement("F12", "the controller is the only writer; brokers watch and have copies"),
    Requirement("F13", "levels survive restarts and change without one"),
    Requirement("U1", "the request: a timeout, and for each feature a level and whether a lower one is allowed"),
    Requirement("U2", "it requires ALTER on the cluster"),
    Requirement("U3", "a node that is not the controller refuses it"),
    Requirement("U4", "each feature has a result; a malformed update has another code than one that cannot be applied"),
    Requirement("U5", "some updates of a request may succeed and others fail"),
    Requirement("U6", "an upgrade requires the level in the range of every live broker"),
    Requirement("U7", "a downgrade requires this, and that a lower level is allowed"),
    Requirement("U8", "a deletion requires only that a lower level is allowed"),
    Requirement("U9", "the current level is no update, and a downgrade to a higher level fails"),
    Requirement("U10", "a feature that was never finalized is added"),
    Requirement("U11", "a broker that lacks the feature makes the update fail"),
    Requirement("U12", "the controller may refuse certain downgrades by rules of its own"),
    Requirement("U13", "no request changes a minimum level"),
    Requirement("U14", "one request at a time"),
    Requirement("U15", "all checks, then one write, then the answer"),
    Requirement("U16", "what a client concludes from an error or from no answer"),
    Requirement("U17", "a result without an error: applied, with a new epoch, and brokers will observe it"),
    Requirement("U18", "whether a downgrade is safe is the operator's decision"),
    Requirement("D1", "deprecation raises a minimum level, with a release and never with a request"),
    Requirement("D2", "the controller persists the highest lowest version of any broker as the minimum level"),
    Requirement("D3", "KIP-778 removes the minimum level"),
    Requirement("D4", "the operator makes sure that no client uses a version before it is deprecated"),
    Requirement("A1", "ApiVersions has three optional tagged fields: supported, epoch, finalized"),
    Requirement("A2", "a broker answers from its copy, so an older epoch may follow a newer one"),
    Requirement("A3", "for a client the highest epoch wins"),
    Requirement("A4", "without an epoch the finalized features are unavailable"),
    Requirement("B1", "a broker checks the levels before it registers, and exits if it lacks one"),
    Requirement("B2", "it checks again whenever its watch fires"),
    Requirement("B3", "the check: every finalized level is supported; further features do not matter"),
    Requirement("B4", "below the migration IBP no broker checks or advertises and no controller finalizes"),
    Requirement("R1", "the race: a broker registers while a level that it lacks is finalized"),
    Requirement("R2", "the controller handles both in one thread: first the broker, and the update fails"),
    Requirement("R3", "first the update, and the controller skips the registration; the broker exits by its watch"),
    Requirement("T1", "the tool describes features, with minimum and maximum finalized levels"),
    Requirement("T2", "it raises all features to the levels that it knows"),
    Requirement("T3", "it lowers all features to the levels of its release"),
    Requirement("T4", "its command `update` mixes upgrades, downgrades and deletions"),
    Requirement("T5", "the admin client has calls to describe and to update, with a result for each feature"),
    Requirement("G1", "Streams use case: old brokers have group_coordinator 1, new ones 1 to 2"),
    Requirement("G2", "members change when the operator finalizes 2, not when brokers are rolled"),
    Requirement("G3", "only the leader asks, a random broker, about once a minute"),
    Requirement("G4", "on a raise it triggers a rebalance that carries the level to all members"),
    Requirement("G5", "members persist the level in their metadata"),
    Requirement("G6", "the highest level of any member wins over a stale broker; here once a broker confirms it"),
    Requirement("G7", "no member goes back"),
    Requirement("G8", "to lower the level under members that use it is unsupported"),
    Requirement("G9", "a gap of the text: no field for the level is named"),
    Requirement("P1", "phase 1: features are active after the second roll"),
    Requirement("P2", "phase 2: a double roll is still needed"),
    Requirement("P3", "phase 3: a finalized ibp-feature decides instead of the static IBP"),
    Requirement("P4", "phase 4: the static IBP is not advanced any more"),
    Requirement("P5", "only breaking changes raise a maximum, only deprecation raises a minimum"),
    Requirement("O1", "versions and levels have 64 bits"),
    Requirement("O2", "in the race the controller sends the broker no UpdateMetadataRequest; it exits by its watch"),
    Requirement("O3", "the code of the controller's release raises minimum levels directly"),
    Requirement("O4", "a broker with a further feature is no incompatibility"),
    Requirement("O5", "members persist a model of exactly-once, where KIP-584 has the flag"),
    Requirement("M1", "metadata.version exists in KRaft only, where the IBP is ignored"),
    Requirement("M2", "the request has three kinds of downgrade, and a dry run from version 1 on"),
    Requirement("M3", "controllers answer it too"),
    Requirement("M4", "a code for a downgrade that would lose metadata"),
    Requirement("M5", "the record of a level has a name and one number"),
    Requirement("M6", "a finalized feature is one level, without a minimum"),
    Requirement("M7", "without a kind no lower level is allowed, and nothing is a dry run"),
    Requirement("M8", "the tool has sub-commands; each that changes levels has a dry run"),
    Requirement("M9", "describe"),
    Requirement("M10", "upgrade, by metadata.version or by feature"),
    Requirement("M11", "downgrade, and --unsafe"),
    Requirement("M12", "disable is level 0"),
    Requirement("M13", "the format tool takes the first metadata.version, or a default of its release"),
    Requirement("I1", "a new active controller writes the value of its meta.properties if the log has none"),
    Requirement("I2", "without a value, as in a preview cluster: 1"),
    Requirement("I3", "never the highest supported level"),
    Requirement("Q1", "a majority of the controllers supports the level"),
    Requirement("Q2", "a broker that lacks a level is not registered and stays fenced"),
    Requirement("Q3", "a standby controller that reads a level it lacks terminates"),
    Requirement("Q4", "an active controller resigns and terminates"),
    Requirement("Q5", "a broker unregisters and terminates"),
    Requirement("V1", "first the software, then the level, online and any number of times"),
    Requirement("V2", "with a new level brokers renegotiate and clients reconnect"),
    Requirement("V3", "every new or incompatible record or request raises metadata.version"),
    Requirement("W1", "a downgrade is lossless if every version on the way is compatible"),
    Requirement("W2", "a lossless downgrade changes no record; its snapshot includes the lower level"),
    Requirement("W3", "a lossy downgrade is called unsafe; its snapshot has no newer record types and fields"),
    Requirement("W4", "the software goes back after every node has loaded that snapshot"),
    Requirement("W5", "a change writes a snapshot at the offset right before it, then new records, then publishes"),
    Requirement("W6", "a delta has only what changed"),
    Requirement("W7", "rejected: transitional levels, duplicate records, a final IBP"),
    Requirement("S1", "incompatible changes of stored metadata wait for persistent.metadata.version"),
    Requirement("S2", "compatible ones follow the inter-broker protocol at once"),
    Requirement("S3", "it takes the values of the other two configurations"),
    Requirement("S4", "its default is the message format, and a cluster without it works as before"),
    Requirement("S5", "the message format must not be higher"),
    Requirement("S6", "the path: the protocol, then the metadata, then the message format"),
    Requirement("S7", "a downgrade is possible until it is raised"),
    Requirement("S8", "in the roll, replicas keep what the leader wrote"),
    Requirement("S9", "no topic overrides it"),
    Requirement("S10", "a gap of the text: the sentence that introduces the path is cut off"),
)
"""Every requirement, in the order of the texts."""

TESTS: Final = (
    "tests/assignor/cli/features",
    "tests/upgrade/cluster",
    "tests/spark_sim/brokers",
    "tests/assignor/protocol/test_feature_levels.py",
    "tests/assignor/protocol/test_feature_levels_java.py",
    "tests/assignor/clients/test_feature_watch.py",
    "tests/lab/integration/test_carried_levels.py",
    "tests/lab/integration/test_features.py",
    "tests/lab/integration/test_feature_clusters.py",
)
"""The files and folders whose tests have these rows in their names."""

_NAMED_BY_ROW: Final = re.compile(r"^ *(?:async )?def test_((?:[a-z]\d+_)+)(\w+)", re.MULTILINE)


class NamedTest(NamedTuple):
    """A test that states a row in its name."""

    row: str
    name: str
    file: str


def named_tests(root: Path = ROOT) -> Iterator[NamedTest]:
    """Yield the tests that state a row, once for each row."""
    for given in map(root.joinpath, TESTS):
        for path in sorted(given.rglob("test_*.py")) if given.is_dir() else [given]:
            for rows, name in _NAMED_BY_ROW.findall(path.read_text(encoding="utf-8")):
                for row in rows.upper().rstrip("_").split("_"):
                    yield NamedTest(row, name, path.relative_to(root).as_posix())


def foreign_rows() -> list[NamedTest]:
    """Return the tests whose row is not a requirement."""
    known = {each.row for each in REQUIREMENTS}
    return [test for test in named_tests() if test.row not in known]


def missing_rows() -> list[str]:
    """Return the requirements without a test."""
    tested = {test.row for test in named_tests()}
    return [each.row for each in REQUIREMENTS if each.row not in tested]


def text_of(row: str) -> str:
    """Return the text that a row comes from."""
    return _TEXTS[row[0]]


def requirements() -> str:
    """List every requirement with its tests."""
    found: dict[str, list[str]] = {}
    for row, name, file in named_tests():
        found.setdefault(row, []).append(f"[{name.replace('_', ' ')}](../../{file})")
    rows = [
        (each.row, text_of(each.row), each.statement, "<br>".join(found.get(each.row, ["none"])))
        for each in REQUIREMENTS
    ]
    return table(("row", "text", "requires", "tests"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"requirements": requirements}
