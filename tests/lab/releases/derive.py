"""One release beside the one before it: its row, its codec, the code of its assignor."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import fields, frozen

from streams_assignor.spark_sim.streams_groups.rules import RULES
from streams_assignor.upgrade.group_configurations import KEEPS_TOPOLOGY
from streams_assignor.upgrade.release_behaviour import ReleaseBehaviour
from streams_assignor.upgrade.releases import RELEASES
from streams_assignor.upgrade.upgrade_from import line_number
from tests.lab.releases.bytecode import ClassChange, Methods, class_changes, disassemble
from tests.lab.releases.codec import CodecAnswers, check_codec
from tests.lab.releases.facts import (
    Columns,
    TableDifference,
    ask_jars,
    before,
    columns_of,
    derived_row,
    differences,
    jar_of,
    keeps_topology,
    row_source,
)


@frozen
class Derivation:
    """What the jars of a release say, and what the table says."""

    release: str
    columns: Columns
    """Those that the jars decide."""
    row: ReleaseBehaviour
    """With the columns of the release before for all others."""
    changes: tuple[ClassChange, ...]
    codec: CodecAnswers
    keeps_topology: bool | None = None
    """Whether its brokers refuse another topology of a streams group; None before there were any, or not read."""

    @property
    def differences(self) -> list[TableDifference]:
        """Where the table is wrong."""
        return differences(self.release, self.columns)

    @property
    def agrees(self) -> bool:
        """Whether the tables have the release, with these columns, and its codec reads and writes like ours."""
        has_rows = self.release in RELEASES and self.has_rules and self.has_kept_topology
        return has_rows and not self.differences and not self.codec.unlike_ours

    @property
    def has_rules(self) -> bool:
        """Whether the coordinator of its streams groups is simulated; true before there were any."""
        return self.release in RULES or not _has_streams_groups(self.release)

    @property
    def has_kept_topology(self) -> bool:
        """Whether ``KEEPS_TOPOLOGY`` says of its brokers what their class says."""
        return self.keeps_topology is KEEPS_TOPOLOGY.get(self.release)


def derive(release: str) -> Derivation:
    """Derive a row; three Java processes, one after the other.

    Raises:
        Unavailable: There is no Java, or Maven does not get the jars.
    """
    columns = columns_of(ask_jars(release))
    older = before(release)
    changes = class_changes(_assigning_classes(older), _assigning_classes(release), (older, release))
    codec = check_codec(release, columns["supported_version"])
    kept = keeps_topology(release) if _has_streams_groups(release) else None
    return Derivation(release, columns, derived_row(release, columns), tuple(changes), codec, kept)


def _assigning_classes(release: str) -> dict[str, Methods]:
    artifacts = ["kafka-streams", "kafka-group-coordinator"] if _has_streams_groups(release) else ["kafka-streams"]
    return {name: methods for artifact in artifacts for name, methods in disassemble(jar_of(artifact, release)).items()}


def _has_streams_groups(release: str) -> bool:
    return line_number(release) >= (4, 1)


def as_text(found: Derivation) -> str:
    """Describe a derivation for a maintainer."""
    return "\n".join(_lines(found))


def _lines(found: Derivation) -> Iterator[str]:
    older = before(found.release)
    yield f"kafka-streams {found.release}, beside {older}"
    yield "\nderived from the jars:"
    for name, value in found.columns.items():
        yield f"  {name:26} {', '.join(map(str, value)) or 'none' if isinstance(value, tuple) else value}"
    kept = [each.name for each in fields(ReleaseBehaviour) if each.name not in {*found.columns, "since"}]
    yield f"\nnot derived, taken from {older}; the changed methods decide whether that is right:"
    yield f"  {', '.join(kept)}"
    yield f"\nassigning classes that differ from {older}: {len(found.changes) or 'none'}"
    yield from (f"  {change.name}{_members(change)}" for change in found.changes)
    yield f"\ncodec, on the vectors of {found.codec.vectors_of}:"
    yield f"  {found.codec.decoded} valid: read and written like ours; {len(found.codec.unlike_ours)} not"
    yield from (f"    {row}" for row in found.codec.unlike_ours[:10])
    yield f"  {found.codec.malformed} malformed: treated as {found.codec.vectors_of} treats them"
    yield from (f"  {count} malformed {outcome}" for outcome, count in found.codec.newly.items())
    source = row_source(found.release, found.row)
    yield f"\nentry of _CHANGES: {source or f'none, it behaves like {older} in every column'}"
    if found.release not in RELEASES:
        yield f"table: {found.release} is missing; extend its line in _KAFKA_RELEASES of upgrade/releases.py"
    if not found.has_rules:
        yield f"table: {found.release} is missing in RULES of spark_sim/streams_groups/rules.py"
    if not found.has_kept_topology:
        yield (
            f"table: KEEPS_TOPOLOGY of upgrade/group_configurations.py has {KEEPS_TOPOLOGY.get(found.release)} for "
            f"{found.release}, GroupMetadataManager {found.keeps_topology}"
        )
    yield from (f"table differs in {difference}" for difference in found.differences)
    if found.agrees:
        yield f"table: agrees with the jars of {found.release}"


def _members(change: ClassChange) -> str:
    if change.only_in:
        return f" (only in {change.only_in})"
    return "".join(f"\n    {short(member)}" for member in change.members)


def short(signature: str) -> str:
    """Leave the packages and the modifiers out of a signature.

    >>> short("private static java.util.Map<java.lang.Integer, int> f(java.io.Closeable) throws java.io.IOException;")
    'Map<Integer, int> f(Closeable)'
    """
    plain = re.sub(r"(?:\w+\.)+(?=\w)", "", signature.removesuffix(";"))
    return re.sub(r"\b(?:public|private|protected|static|final|synchronized) | throws .*", "", plain)
