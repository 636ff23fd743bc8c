"""The arguments and the output of Kafka's feature tool: updates from arguments, lines and JSON from results.

Every text here is printed by ``org.apache.kafka.tools.FeatureCommand`` 4.4.0; the lines of ``--all`` are from KIP-584.
Unlike that tool, this one also reads names of levels for numbers, and numbers for names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.cluster.client.errors import ApiError
from streams_assignor.upgrade.cluster.features.catalog import INT16, METADATA_VERSION, FeatureCatalog
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, UpgradeType
from streams_assignor.upgrade.cluster.features.update_features import LevelChange
from streams_assignor.upgrade.errors import UnknownLevel, UpgradeError

Updates = Mapping[str, FeatureUpdate]

METADATA_FLAG_DEPRECATED: Final = " `metadata` flag is deprecated and may be removed in a future release."


class ToolError(UpgradeError):
    """An error of the tool, exit status 1."""


def parse_metadata_level(text: str, catalog: FeatureCatalog = NEWEST_CATALOG) -> int:
    """Read a level of metadata.version: a name, a release (its newest level) or, unlike Java, a number.

    Names of unreleased levels are accepted. Java: ``MetadataVersion.fromVersionString``.

    >>> parse_metadata_level("4.0-IV1"), parse_metadata_level("4.0"), parse_metadata_level("25")
    (23, 25, 25)
    """
    numbers = {str(level.number): level.number for level in catalog.levels[METADATA_VERSION]}
    return numbers[text] if text in numbers else catalog.metadata_level(text, released_only=False)


def parse_feature_level(text: str, catalog: FeatureCatalog = NEWEST_CATALOG) -> tuple[str, int]:
    """Read ``feature=level``; unlike Java's, the level of metadata.version may be a name.

    >>> parse_feature_level("transaction.version=2"), parse_feature_level("metadata.version=4.0-IV1")
    (('transaction.version', 2), ('metadata.version', 23))
    """
    name, equals, level = text.partition("=")
    if not equals:
        raise ToolError(f"Can't parse feature=level string {text}: equals sign not found.")
    name, level = name.strip(), level.strip()
    number = parse_java_integer(level)
    if number is None and name == METADATA_VERSION:
        with suppress(UnknownLevel):
            number = parse_metadata_level(level, catalog)
    if number is None:
        raise ToolError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, number


def parse_java_integer(text: str, among: range = INT16) -> int | None:
    """Read a number as Java's ``parseShort`` does, with digits of any script; None if it is not a number."""
    # Java accepts neither blanks nor underscores, and int() refuses thousands of digits.
    if re.fullmatch(r"[+-]?\d{1,10}", text) and int(text) in among:
        return int(text)
    return None


@frozen
class UpdateArguments:
    """The arguments of ``upgrade`` and ``downgrade``."""

    verb: str
    upgrade_type: UpgradeType
    metadata: str | None = None
    release: str | None = None
    features: Sequence[str] = ()

    def updates(self, catalog: FeatureCatalog = NEWEST_CATALOG) -> Updates:
        """Return the update of each feature; ``ToolError`` for arguments that Kafka's tool refuses."""
        if self.release is not None:
            if self.metadata is not None or self.features:
                raise ToolError("Can not specify `release-version` with other feature flags.")
            return self._of_release(self.release, catalog)
        wanted = [] if self.metadata is None else [(METADATA_VERSION, parse_metadata_level(self.metadata, catalog))]
        wanted += [parse_feature_level(feature, catalog) for feature in self.features]
        return _unique_updates(self.verb, [(name, FeatureUpdate(level, self.upgrade_type)) for name, level in wanted])

    def _of_release(self, release: str, catalog: FeatureCatalog) -> Updates:
        levels = version_mapping(release, catalog)
        # No feature is upgraded to 0.
        upgrading = self.upgrade_type is UpgradeType.UPGRADE
        return {
            name: FeatureUpdate(level, self.upgrade_type) for name, level in levels.items() if level or not upgrading
        }


def disable_updates(features: Sequence[str], upgrade_type: UpgradeType) -> Updates:
    """Return the updates of ``disable``: each feature to level 0."""
    return _unique_updates("disable", [(feature, FeatureUpdate(0, upgrade_type)) for feature in features])


def _unique_updates(verb: str, wanted: Sequence[tuple[str, FeatureUpdate]]) -> Updates:
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


def describe_lines(described: FeatureMetadata, catalog: FeatureCatalog = NEWEST_CATALOG) -> Iterator[str]:
    """Yield a line for each feature, sorted by name; level 0 is not finalized, ``-`` is an unknown epoch."""
    for feature, (lowest, highest) in sorted(described.supported.items()):
        finalized = described.finalized.get(feature, 0)
        low, high, level = (catalog.level_name(feature, number) for number in (lowest, highest, finalized))
        epoch = "-" if described.epoch is None else described.epoch
        yield (
            f"Feature: {feature:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}  "
            f"FinalizedVersionLevel: {level:<15}  Epoch: {epoch}"
        )


def result_line(verb: str, feature: str, level: int, error: ApiError | None, *, dry_run: bool) -> str:
    """Return the line for the result of one update."""
    disabled = verb == "disable"
    if error:
        what = f"disable {feature}" if disabled else f"{verb} {feature} to {level}"
        return f"{'Can' if dry_run else 'Could'} not {what}. {error.message}"
    done = "disabled." if disabled else f"{verb}d to {level}."
    return f"{feature} {'can be' if dry_run else 'was'} {done}"


def describe_json(
    described: FeatureMetadata, node: int | None, catalog: FeatureCatalog = NEWEST_CATALOG
) -> dict[str, Any]:
    """Return the features as plain values: levels as numbers with names, null for an unknown epoch."""

    def level(feature: str, number: int) -> dict[str, object]:
        return {"level": number, "name": catalog.level_name(feature, number)}

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
    verb: str, updates: Updates, results: Mapping[str, ApiError | None], *, dry_run: bool
) -> dict[str, object]:
    """Return the results of an update as plain values; ``error`` is null for a feature without an error."""
    rows = [
        {"feature": feature, "level": updates[feature].level, "error": error.as_json() if error else None}
        for feature, error in sorted(results.items())
    ]
    return {"operation": verb, "dryRun": dry_run, "results": rows}


def version_mapping_lines(release: str, levels: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines of ``version-mapping``: metadata.version first, with the name that was given."""
    for feature, level in levels.items():
        yield f"{feature}={level} ({release})" if feature == METADATA_VERSION else f"{feature}={level}"


def version_mapping(release: str, catalog: FeatureCatalog = NEWEST_CATALOG) -> Mapping[str, int]:
    """Return the level of every feature in a new cluster of a release."""
    metadata = parse_metadata_level(release, catalog)
    return {METADATA_VERSION: metadata, **catalog.default_levels(metadata)}


def feature_dependencies(feature: str, level: int, catalog: FeatureCatalog = NEWEST_CATALOG) -> Mapping[str, int]:
    """Return the levels that a level of a feature depends on; ``ToolError`` if there is no such feature or level."""
    if feature != METADATA_VERSION and feature not in catalog.features:
        raise ToolError(f"Unknown feature: {feature}")
    for supported_level in catalog.levels[feature]:
        if supported_level.number == level:
            return supported_level.dependencies
    if feature == METADATA_VERSION:
        raise ToolError(f"Unknown {METADATA_VERSION} {level}")
    raise ToolError(f"No feature:{feature} with feature level {level}")


def dependency_lines(
    feature: str, level: int, needed: Mapping[str, int], catalog: FeatureCatalog = NEWEST_CATALOG
) -> Iterator[str]:
    """Yield the lines of ``feature-dependencies`` for one feature."""
    if not needed:
        yield f"{_level_text(feature, level, catalog)} has no dependencies."
        return
    yield f"{_level_text(feature, level, catalog)} requires:"
    for name, number in needed.items():
        yield f"    {_level_text(name, number, catalog)}"


def _level_text(feature: str, level: int, catalog: FeatureCatalog) -> str:
    return (
        f"{feature}={level} ({catalog.level_name(feature, level)})"
        if feature == METADATA_VERSION
        else f"{feature}={level}"
    )


@frozen
class LevelStep:
    """One change of ``--all``."""

    feature: str
    existing: int
    new: int

    @property
    def change(self) -> LevelChange:
        """The kind of change, as KIP-584 names it."""
        return LevelChange.of(self.existing, self.new)

    def line(self, result: str, width: int = 0) -> str:
        """Return the line of KIP-584: ``-`` for no level, the kind of change aligned right in ``width`` columns."""
        existing, new = (str(level) if level else "-" for level in (self.existing, self.new))
        return (
            f"{f'[{self.change.value}]':>{width}} Feature: {self.feature}  ExistingFinalizedMaxVersion: {existing}  "
            f"NewFinalizedMaxVersion: {new}  Result: {result}"
        )


def upgrade_all(finalized: Mapping[str, int], catalog: FeatureCatalog = NEWEST_CATALOG) -> list[LevelStep]:
    """Return KIP-584's upgrade-all: every feature up to the highest level in the catalog."""
    return [step for step in _level_steps(finalized, catalog) if step.new > step.existing]


def downgrade_all(finalized: Mapping[str, int], catalog: FeatureCatalog = NEWEST_CATALOG) -> list[LevelStep]:
    """Return KIP-584's downgrade-all: every feature down to the highest level in an older catalog, or deleted."""
    return [step for step in _level_steps(finalized, catalog) if step.new < step.existing]


def _level_steps(finalized: Mapping[str, int], catalog: FeatureCatalog) -> Iterator[LevelStep]:
    supported = {feature: catalog.supported_range(feature)[1] for feature in catalog.features}
    for feature in sorted({*supported, *finalized}):
        yield LevelStep(feature, finalized.get(feature, 0), supported.get(feature, 0))


def step_lines(steps: Sequence[LevelStep], results: Mapping[str, ApiError | None]) -> Iterator[str]:
    """Yield a line for each step, with its result."""
    width = max(len(step.change.value) for step in steps) + 2
    for step in steps:
        error = results.get(step.feature)
        yield step.line(f"{error.name}. {error.message}" if error else "OK", width)
