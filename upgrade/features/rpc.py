"""What is said to and heard from a cluster about features: plain values of ApiVersions and UpdateFeatures.

Sources: KIP-584 (DescribeFeatures, UpdateFeatures, the epoch rule), KIP-778 (upgrade types), KIP-919 (controllers as
bootstrap servers). Java: ``FeatureMetadata``, ``FeatureUpdate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final

from attrs import define, field, frozen

from upgrade.errors import UpgradeError

_ERRORS: Final = "org.apache.kafka.common.errors"


def _ranges(given: Mapping[str, tuple[int, int]]) -> Mapping[str, tuple[int, int]]:
    return MappingProxyType(dict(given))


def _levels(given: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(given))


class Listener(Enum):
    """Which listeners are asked; their epochs count different things and are never compared.

    A broker's epoch is the offset of its metadata log and grows without any change, a controller's is the offset of
    the last change of a feature.
    """

    BROKER = "broker"
    CONTROLLER = "controller"


class UpgradeType(IntEnum):
    """What an update may do, as UpdateFeatures v1+ says it. Java: ``FeatureUpdate.UpgradeType``."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureUpdate:
    """The level a feature is to have (0 deletes it), and what may be done for that.

    Refuses what Java's constructor refuses, in its words, with ``UpgradeError``.
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
class Described:
    """What one node says of features.

    ``supported`` has the lowest and highest level of its binary, ``finalized`` the levels of the cluster; a feature at
    level 0 is not in it. Without an ``epoch`` (KIP-584: absent or -1) finalised features are not known at all.
    """

    listener: Listener
    epoch: int | None
    supported: Mapping[str, tuple[int, int]] = field(converter=_ranges, hash=False)
    finalized: Mapping[str, int] = field(converter=_levels, hash=False)


@define
class NewestFeatures:
    """The newest finalised features heard so far, per kind of listener.

    Brokers learn of a change one after the other, so an older answer may follow a newer one. KIP-584: a higher epoch
    always wins, what has a lower one than already seen is ignored.
    """

    _seen: dict[Listener, Described] = field(factory=dict, init=False)

    def hear(self, answer: Described) -> Described | None:
        """Take an answer, return the newest one of its kind; None as long as no answer had an epoch."""
        seen = self._seen.get(answer.listener)
        if answer.epoch is not None and (seen is None or seen.epoch is None or answer.epoch >= seen.epoch):
            self._seen[answer.listener] = answer
        return self.newest(answer.listener)

    def newest(self, listener: Listener) -> Described | None:
        """Return what holds for a kind of listener."""
        return self._seen.get(listener)


class ClusterError(UpgradeError):
    """Something between us and the cluster did not go well."""


class Unreachable(ClusterError):
    """Nobody answered; nothing has been changed."""


class OutcomeUnknown(ClusterError):
    """The connection broke or time ran out after the request was sent: it may have been applied (KIP-584)."""


class NoSuchNode(ClusterError):
    """The cluster has no such node now."""


class Refused(ClusterError):
    """An error code of Kafka: its number, its name, and the text that came with it."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.message = message

    @property
    def java(self) -> str:
        """The exception as Java prints it: class and text."""
        words = self.name.removesuffix("_FAILED").split("_")
        return f"{_ERRORS}.{''.join(map(str.capitalize, words))}Exception: {self.message}"

    def as_json(self) -> dict[str, object]:
        """Return the error as plain values."""
        return {"code": self.code, "name": self.name, "message": self.message}


class UpdateRefused(ClusterError):
    """At least one update was refused; ``results`` has an error, or None for success, for every feature.

    Up to UpdateFeatures v1 some may succeed while others fail (KIP-584); Kafka 4.x applies all or none.
    """

    def __init__(self, results: Mapping[str, Refused | None]) -> None:
        super().__init__("; ".join(sorted({error.message for error in results.values() if error})))
        self.results = MappingProxyType(dict(results))
