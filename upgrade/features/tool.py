"""What Kafka's feature tool makes of words and prints of answers: updates out of arguments, lines out of results.

Every text here is one that ``org.apache.kafka.tools.FeatureCommand`` 4.3.1 prints; where this reads more than that tool
does (names of levels for numbers, numbers for names), it says so.  The lines of ``--all`` are KIP-584's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import frozen

from upgrade.errors import UpgradeError
from upgrade.features.levels import INT16, METADATA, NEWEST, Catalog, version_key
from upgrade.features.rpc import Described, FeatureUpdate, Refused, UpgradeType

Updates = Mapping[str, FeatureUpdate]

DEPRECATED: Final = " `metadata` flag is deprecated and may be removed in a future release."


class ToolError(UpgradeError):
    """What the tool says and ends with, exit status 1."""


def metadata_level(text: str, catalog: Catalog = NEWEST) -> int:
    """Read a level of metadata.version: a name, a release (its newest level) or, unlike Java, a number.

    Names of levels that are not released yet count as well. Java: ``MetadataVersion.fromVersionString``.

    >>> metadata_level("4.0-IV1"), metadata_level("4.0"), metadata_level("25")
    (23, 25, 25)
    """
    known = catalog.levels[METADATA]
    numbers = {str(level.number): level.number for level in known} | {level.name: level.number for level in known}
    numbers |= {level.line: level.number for level in known if level.production}
    found = numbers.get(version_key(text))
    if found is None:
        names = ", ".join(level.name for level in known)
        raise ToolError(f"Unknown {METADATA} '{text}'. Supported {METADATA} are: {names}")
    return found


def feature_level(text: str, catalog: Catalog = NEWEST) -> tuple[str, int]:
    """Read ``feature=level``; unlike Java's, the level of metadata.version may be a name.

    >>> feature_level("transaction.version=2"), feature_level("metadata.version=4.0-IV1")
    (('transaction.version', 2), ('metadata.version', 23))
    """
    name, equals, level = text.partition("=")
    if not equals:
        raise ToolError(f"Can't parse feature=level string {text}: equals sign not found.")
    name, level = name.strip(), level.strip()
    found = number(level)
    if found is None and name == METADATA:
        with suppress(ToolError):
            found = metadata_level(level, catalog)
    if found is None:
        raise ToolError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, found


def number(text: str, among: range = INT16) -> int | None:
    """Read a number as Java's ``parseShort`` does, which takes the digits of any script; None if it is not one."""
    # Java takes neither blanks nor underscores, and Python refuses to read thousands of digits.
    if re.fullmatch(r"[+-]?\d{1,10}", text) and int(text) in among:
        return int(text)
    return None


@frozen
class Change:
    """What ``upgrade`` and ``downgrade`` are asked for; `updates` says what that is in levels."""

    verb: str
    type: UpgradeType
    metadata: str | None = None
    release: str | None = None
    features: Sequence[str] = ()

    def updates(self, catalog: Catalog = NEWEST) -> Updates:
        """Return the level that each feature is to have; `ToolError` for what Kafka's tool refuses by itself."""
        if self.release is not None:
            if self.metadata is not None or self.features:
                raise ToolError("Can not specify `release-version` with other feature flags.")
            return self._of_release(self.release, catalog)
        wanted = [] if self.metadata is None else [(METADATA, metadata_level(self.metadata, catalog))]
        wanted += [feature_level(each, catalog) for each in self.features]
        return _once(self.verb, [(name, FeatureUpdate(level, self.type)) for name, level in wanted])

    def _of_release(self, release: str, catalog: Catalog) -> Updates:
        levels = mapping(release, catalog)
        # Nothing is upgraded to 0.
        upgrading = self.type is UpgradeType.UPGRADE
        return {name: FeatureUpdate(level, self.type) for name, level in levels.items() if level or not upgrading}


def deletions(features: Sequence[str], how: UpgradeType) -> Updates:
    """Return the updates of ``disable``: every feature to level 0."""
    return _once("disable", [(feature, FeatureUpdate(0, how)) for feature in features])


def _once(verb: str, wanted: Sequence[tuple[str, FeatureUpdate]]) -> Updates:
    updates: dict[str, FeatureUpdate] = {}
    for name, update in wanted:
        if name in updates:
            raise ToolError(f"Feature {name} was specified more than once.")
        updates[name] = update
    if not updates:
        raise ToolError(f"You must specify at least one feature to {verb}")
    if not all(map(str.strip, updates)):
        raise ToolError("Provided feature can not be empty.")
    return updates


def describe_lines(described: Described, catalog: Catalog = NEWEST) -> Iterator[str]:
    """Write a line per feature, sorted by name; what is not finalised has level 0, an unknown epoch is ``-``."""
    for feature, (lowest, highest) in sorted(described.supported.items()):
        finalized = described.finalized.get(feature, 0)
        low, high, level = (catalog.name_of(feature, number) for number in (lowest, highest, finalized))
        epoch = "-" if described.epoch is None else described.epoch
        yield (
            f"Feature: {feature:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}  "
            f"FinalizedVersionLevel: {level:<15}  Epoch: {epoch}"
        )


def result_line(verb: str, feature: str, level: int, error: Refused | None, *, dry_run: bool) -> str:
    """Write what came of one update."""
    disabled = verb == "disable"
    if error:
        what = f"disable {feature}" if disabled else f"{verb} {feature} to {level}"
        return f"{'Can' if dry_run else 'Could'} not {what}. {error.message}"
    done = "disabled." if disabled else f"{verb}d to {level}."
    return f"{feature} {'can be' if dry_run else 'was'} {done}"


def describe_json(described: Described, node: int | None, catalog: Catalog = NEWEST) -> dict[str, Any]:
    """Return the same as plain values: levels as numbers with their names, null for an unknown epoch."""

    def level(feature: str, number: int) -> dict[str, object]:
        return {"level": number, "name": catalog.name_of(feature, number)}

    features = [
        {
            "feature": feature,
            "supportedMin": level(feature, lowest),
            "supportedMax": level(feature, highest),
            "finalized": level(feature, described.finalized.get(feature, 0)),
        }
        for feature, (lowest, highest) in sorted(described.supported.items())
    ]
    return {"listener": described.listener.value, "node": node, "epoch": described.epoch, "features": features}


def results_json(
    verb: str, updates: Updates, results: Mapping[str, Refused | None], *, dry_run: bool
) -> dict[str, object]:
    """Return what came of an update as plain values; a feature without an error has null there."""
    rows = [
        {"feature": feature, "level": updates[feature].level, "error": error.as_json() if error else None}
        for feature, error in sorted(results.items())
    ]
    return {"operation": verb, "dryRun": dry_run, "results": rows}


def mapping_lines(release: str, levels: Mapping[str, int]) -> Iterator[str]:
    """Write a line per feature of ``version-mapping``, metadata.version first, with the name that was given."""
    for feature, level in levels.items():
        yield f"{feature}={level} ({release})" if feature == METADATA else f"{feature}={level}"


def mapping(release: str, catalog: Catalog = NEWEST) -> Mapping[str, int]:
    """Return the level of every feature in a new cluster of a release."""
    metadata = metadata_level(release, catalog)
    return {METADATA: metadata, **catalog.defaults_for(metadata)}


def dependencies(feature: str, level: int, catalog: Catalog = NEWEST) -> Mapping[str, int]:
    """Return what has to be finalised for a level of a feature; `ToolError` if there is no such feature or level."""
    if feature != METADATA and feature not in catalog.features:
        raise ToolError(f"Unknown feature: {feature}")
    for each in catalog.levels[feature]:
        if each.number == level:
            return each.depends
    if feature == METADATA:
        raise ToolError(f"Unknown {METADATA} {level}")
    raise ToolError(f"No feature:{feature} with feature level {level}")


def dependency_lines(feature: str, level: int, needed: Mapping[str, int], catalog: Catalog = NEWEST) -> Iterator[str]:
    """Write what ``feature-dependencies`` says of one feature."""
    if not needed:
        yield f"{_with_name(feature, level, catalog)} has no dependencies."
        return
    yield f"{_with_name(feature, level, catalog)} requires:"
    for name, number in needed.items():
        yield f"    {_with_name(name, number, catalog)}"


def _with_name(feature: str, level: int, catalog: Catalog) -> str:
    return f"{feature}={level} ({catalog.name_of(feature, level)})" if feature == METADATA else f"{feature}={level}"


@frozen
class Step:
    """One change of ``--all``, as KIP-584 has them: Add, Upgrade, Downgrade or Delete."""

    kind: str
    feature: str
    existing: int
    new: int

    def line(self, result: str, width: int = 0) -> str:
        """Write it as the KIP does: no level is ``-``, the kinds stand flush right in ``width`` columns."""
        existing, new = (str(level) if level else "-" for level in (self.existing, self.new))
        return (
            f"{f'[{self.kind}]':>{width}} Feature: {self.feature}  ExistingFinalizedMaxVersion: {existing}  "
            f"NewFinalizedMaxVersion: {new}  Result: {result}"
        )


def upgrade_all(finalized: Mapping[str, int], catalog: Catalog = NEWEST) -> list[Step]:
    """KIP-584's upgrade-all: every feature up to the highest level that the catalog knows."""
    steps = []
    for feature in catalog.features:
        existing, new = finalized.get(feature, 0), catalog.supported(feature)[1]
        if new > existing:
            steps.append(Step("Upgrade" if existing else "Add", feature, existing, new))
    return steps


def downgrade_all(finalized: Mapping[str, int], catalog: Catalog = NEWEST) -> list[Step]:
    """KIP-584's downgrade-all: every feature down to what an older catalog knows, and away with what it does not."""
    steps = []
    for feature, existing in sorted(finalized.items()):
        new = catalog.supported(feature)[1] if feature in catalog.features else 0
        if new < existing:
            steps.append(Step("Downgrade" if new else "Delete", feature, existing, new))
    return steps


def step_lines(steps: Sequence[Step], results: Mapping[str, Refused | None]) -> Iterator[str]:
    """Write the steps with what came of each."""
    width = max(len(step.kind) for step in steps) + 2
    for step in steps:
        error = results.get(step.feature)
        yield step.line(f"{error.name}. {error.message}" if error else "OK", width)
