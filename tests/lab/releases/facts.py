"""What the jars of a release state, as columns of ``upgrade.release_behaviour``, beside the row of the table."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from attrs import asdict, fields, frozen

from streams_assignor.upgrade.config_types import EndPointFormat, parse_end_point
from streams_assignor.upgrade.errors import ConfigException
from streams_assignor.upgrade.release_behaviour import (
    BOTH,
    COOPERATIVE,
    EAGER,
    RebalanceProtocol,
    ReleaseBehaviour,
    TaskAssignorName,
    behaviour_of,
)
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES
from streams_assignor.upgrade.upgrade_from import line_number
from tests.lab.integration.kafka_jars import class_path, java, jvm

PROGRAM: Final = Path(__file__).parent / "java" / "ReleaseFacts.java"
Facts = Mapping[str, Sequence[str]]
"""The values of each name that the program printed."""
Columns = Mapping[str, Any]
"""Columns of ``ReleaseBehaviour`` by name."""

_REFUSAL = b"Topology updates are not supported yet."
_STRATEGY = "RACK_AWARE_ASSIGNMENT_STRATEGY_"
_LEAVES: Final[Mapping[bool, Columns]] = {True: {"leaves_on_close": False}, False: {}}
_ASSIGNORS: Final[tuple[tuple[str, TaskAssignorName], ...]] = (
    ("HighAvailabilityTaskAssignor", "high-availability"),
    ("StickyTaskAssignor", "sticky"),
)


@frozen
class TableDifference:
    """A column in which the jars and the table differ."""

    column: str
    in_jars: Any
    in_table: Any

    def __str__(self) -> str:
        return f"{self.column}: the jars have {self.in_jars!r}, the table has {self.in_table!r}"


def ask_jars(release: str) -> Facts:
    """Run the program on the jars of a release.

    Raises:
        Unavailable: There is no Java or no such jar.
    """
    java()
    command = [*jvm(class_path(f"org.apache.kafka:kafka-streams:{release}"), "256m", "off"), str(PROGRAM)]
    lines = [line for line, known in NEWEST_OF_LINE.items() if known.kafka_name]
    values = dict.fromkeys((*lines, release.rpartition(".")[0]))
    done = subprocess.run([*command, *values], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{PROGRAM.name} failed on {release}: {(done.stdout + done.stderr)[-1500:]}")
    return parse_facts(done.stdout)


def parse_facts(output: str) -> Facts:
    """Read the lines of the program.

    >>> parse_facts("latest 11\\nupgrade.from 2.4\\nupgrade.from 2.5\\n")["upgrade.from"]
    ['2.4', '2.5']
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for line in output.splitlines():
        name, _, value = line.partition(" ")
        found[name].append(value)
    return dict(found)


def columns_of(facts: Facts) -> Columns:
    """Return the columns that facts imply; a column that they do not decide is left out."""
    constants = dict(constant.partition(" ")[::2] for constant in facts.get("constant", ()))
    strategies = {value for name, value in constants.items() if name.startswith(_STRATEGY)}
    protocols: tuple[RebalanceProtocol, ...] = _protocols(facts.get("protocol", ()))
    overrides = facts.get("overrides", ("",))[0]
    return {
        "supported_version": int(facts["latest"][0]),
        "upgrade_from": tuple(facts.get("upgrade.from", ())),
        "rebalance_protocols": protocols,
        "task_assignor": next(
            (ours for theirs, ours in _ASSIGNORS if theirs in facts.get("assignor", ())), "cost-based"
        ),
        "consumer_protocol_version": int(facts["envelope"][0]),
        "client_tags": "RACK_AWARE_ASSIGNMENT_TAGS_CONFIG" in constants,
        "rack_strategies": tuple(sorted(strategies & {"min_traffic", "balance_subtopology"}, reverse=True)),
        # 4.2 and later have no such override; the default of CloseOptions, to remain in the group, is in KafkaStreams.
        **_LEAVES["internal.leave.group.on.close" in overrides],
        **_end_point_format(facts.get("end.point", ())),
    }


def _end_point_format(answers: Iterable[str]) -> Columns:
    """Return the column of the format that accepts and refuses the same addresses; None in it if there is none."""
    accepted = {address: word == "accepted" for word, _, address in (each.partition(" ") for each in answers)}
    alike = (form for form in EndPointFormat if accepted == {each: _accepts(form, each) for each in accepted})
    return {"end_point_format": next(alike, None)} if accepted else {}


def _accepts(form: EndPointFormat, address: str) -> bool:
    try:
        parse_end_point(address, form)
    except ConfigException:
        return False
    return True


def _protocols(offered: Iterable[str]) -> tuple[RebalanceProtocol, ...]:
    """Return the protocols of the values that start; a release that no longer chooses is cooperative."""
    found = set(offered)
    if "EAGER" not in found:
        return COOPERATIVE
    return BOTH if "COOPERATIVE" in found else EAGER


def derived_row(release: str, columns: Columns) -> ReleaseBehaviour:
    """Return the row that columns imply: all others are those of the release before."""
    kept = {
        each.name: getattr(behaviour_of(line_number(before(release))), each.name) for each in fields(ReleaseBehaviour)
    }
    return ReleaseBehaviour(**(kept | dict(columns) | {"since": line_number(release)}))


def differences(release: str, columns: Columns) -> list[TableDifference]:
    """List the columns in which the table differs, for a release that the table has or would guess."""
    row = behaviour_of(line_number(release))
    return [
        TableDifference(name, value, getattr(row, name))
        for name, value in columns.items()
        if value != getattr(row, name)
    ]


def before(release: str) -> str:
    """Return the newest release of the table that is older.

    >>> before("4.2.2"), before("4.3.0"), before("2.0.9")
    ('4.2.1', '4.2.2', '2.0.1')
    """
    number = line_number(release)
    older = [each for each in RELEASES.values() if each.is_released and each.number < number]
    if not older:
        raise ValueError(f"expected a release after {next(iter(RELEASES))}, got {release}")
    return max(older, key=lambda each: each.number).name


def after(release: str) -> str | None:
    """Return the oldest release of the table that is newer; None after the newest.

    >>> after("4.2.1"), after("4.9.1")
    ('4.2.2', None)
    """
    number = line_number(release)
    newer = [each for each in RELEASES.values() if each.is_released and each.number > number]
    return min(newer, key=lambda each: each.number).name if newer else None


def row_source(release: str, row: ReleaseBehaviour) -> str:
    """Return the entry of ``_CHANGES`` that leads from the release before to a row; empty if nothing changes.

    >>> row_source("4.2.2", behaviour_of((4, 2, 2)))
    ''
    """
    old, new = asdict(behaviour_of(line_number(before(release)))), asdict(row)
    changes = {
        name: value for name, value in new.items() if name not in {"since", "upgrade_from"} and value != old[name]
    }
    accepts = tuple(value for value in row.upgrade_from if value not in old["upgrade_from"])
    rejects = tuple(value for value in old["upgrade_from"] if value not in row.upgrade_from)
    changes |= {name: values for name, values in (("accepts", accepts), ("rejects", rejects)) if values}
    literals = ", ".join(f"{name!r}: {_literal(value)}" for name, value in changes.items())
    return f"({line_number(release)}, {{{literals}}})," if changes else ""


def _literal(value: Any) -> str:
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)


def keeps_topology(release: str) -> bool:
    """Whether the coordinator of a release refuses another topology of a streams group, as its class says.

    A class without the text is to be read: the rule can have another text.
    """
    with ZipFile(jar_of("kafka-group-coordinator", release)) as jar:
        return _REFUSAL in jar.read("org/apache/kafka/coordinator/group/GroupMetadataManager.class")


def jar_of(artifact: str, release: str) -> Path:
    """Return the jar of an artifact of Kafka itself."""
    paths = map(Path, class_path(f"org.apache.kafka:{artifact}:{release}").split(os.pathsep))
    return next(path for path in paths if path.name == f"{artifact}-{release}.jar")
