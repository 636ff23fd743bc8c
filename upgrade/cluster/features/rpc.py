"""The values of ApiVersions and UpdateFeatures about features.

Sources: KIP-584 (DescribeFeatures, UpdateFeatures, the epoch rule), KIP-778 (upgrade types), KIP-919 (controllers as
bootstrap servers). Java: ``FeatureMetadata``, ``FeatureUpdate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType

from attrs import define, field, frozen

from streams_assignor.upgrade.errors import UpgradeError


def _ranges(given: Mapping[str, tuple[int, int]]) -> Mapping[str, tuple[int, int]]:
    return MappingProxyType(dict(given))


def _levels(given: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(given))


class Listener(Enum):
    """The kind of listener that answers; epochs of different kinds are never compared.

    The epoch of a broker is the offset of its metadata log, which grows without any change of a feature. The epoch of a
    controller is the offset of the last change of a feature.
    """

    BROKER = "broker"
    CONTROLLER = "controller"


class UpgradeType(IntEnum):
    """The permitted direction of an update, in UpdateFeatures v1 and later. Java: ``FeatureUpdate.UpgradeType``."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureUpdate:
    """The new level of a feature (0 deletes it), and whether a downgrade is allowed.

    Raises:
        UpgradeError: Java's constructor refuses these values; the text is Java's.
    """

    level: int
    type: UpgradeType = UpgradeType.UPGRADE

    def __attrs_post_init__(self) -> None:
        if self.level == 0 and self.type is UpgradeType.UPGRADE:
            raise UpgradeError(
                "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE when the provided "
                "maxVersionLevel:0 is < 1."
            )
        if self.level < 0:
            raise UpgradeError("Cannot specify a negative version level.")


@frozen
class FeatureMetadata:
    """The features in the answer of one node."""

    listener: Listener
    epoch: int | None
    """None (KIP-584: absent or -1) if the node does not know the finalized features."""
    supported: Mapping[str, tuple[int, int]] = field(converter=_ranges, hash=False)
    """The lowest and highest level that the software of the node supports."""
    finalized: Mapping[str, int] = field(converter=_levels, hash=False)
    """The levels of the cluster, without features at level 0."""


@define
class NewestFeatures:
    """The newest finalized features so far, for each kind of listener.

    Brokers observe a change one after the other, so an older answer may follow a newer one. KIP-584: the highest epoch
    wins, an answer with a lower epoch is ignored.
    """

    _seen: dict[Listener, FeatureMetadata] = field(factory=dict, init=False)

    def observe(self, answer: FeatureMetadata) -> FeatureMetadata | None:
        """Add an answer and return the newest of its kind; None until an answer has an epoch."""
        seen = self._seen.get(answer.listener)
        if answer.epoch is not None and (seen is None or seen.epoch is None or answer.epoch >= seen.epoch):
            self._seen[answer.listener] = answer
        return self.newest(answer.listener)

    def newest(self, listener: Listener) -> FeatureMetadata | None:
        """Return the newest answer of a kind of listener; None if there is none."""
        return self._seen.get(listener)
