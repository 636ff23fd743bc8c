"""The dialects of one protocol: KIP-584, KIP-778 and Kafka 4.x, and an older version of KIP-584.

A dialect is a row of facts, one for each point on which they differ. ``DIALECT_POINTS`` names the requirement of each
point, and the tables in the documentation are printed from both.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, frozen


class DowngradeIntent(enum.Enum):
    """Whether a request allows a lower level."""

    UNKNOWN = "a code that the dialect does not have"
    UPGRADE = "not allowed"
    SAFE = "allowed, unless metadata would be lost"
    UNSAFE = "allowed, even if metadata is lost"


class Code(enum.Enum):
    """The error codes of Kafka that concern features. Java: ``Errors``."""

    NONE = 0
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    UNSAFE_FEATURE_DOWNGRADE = None
    """Named in KIP-778 and never released, so it has no number."""


class ValidatedNodes(enum.Enum):
    """The nodes that have to support an update."""

    LIVE_BROKERS = "every live broker"
    LIVE_BROKERS_AND_CONTROLLER_MAJORITY = "every live broker and a majority of the controllers"
    ALL_REGISTERED = "every registered broker and every controller, whether it runs or not"


class Deletion(enum.Enum):
    """How a feature is deleted."""

    UNCHECKED = "any level below 1; ranges are not checked"
    CHECKED = "level 0, if the ranges include it"


class MinimumLevel(enum.Enum):
    """The finalized minimum level."""

    KEPT = "kept; raised by a release that drops a level"
    GONE = "removed"
    SENT = "removed, but still sent: equal to the level"


class StartupReaction(enum.Enum):
    """The reaction of a broker that starts and does not support a finalized level."""

    EXITS = "it checks the levels before it registers, and exits"
    FENCED = "its registration is rejected and it stays fenced"
    RETRIES = "its registration is refused, it tries again, and exits at the timeout"


class LateRegistration(enum.Enum):
    """The reaction of the controller to a broker that does not support a finalized level (the race of KIP-584)."""

    SKIPPED = "it skips the registration"
    BLOCKED = "it registers the broker, and sends it no UpdateMetadataRequest"
    REJECTED = "it rejects the registration"


class DeprecatedBy(enum.Enum):
    """The event that raises a finalized minimum level."""

    ADVERTISEMENTS = "the registration of a broker whose release has dropped a level"
    RELEASE_CODE = "the code of the controller's release"
    NOTHING = "nothing: there is none"


class UnsupportedLevelReaction(enum.Enum):
    """The reaction of a running broker to a level that it does not support."""

    EXITS = "it exits"
    UNREGISTERS = "it unregisters and exits"
    LOGS = "it logs an error"


class LossyDowngrade(enum.Enum):
    """Whether a downgrade that would lose metadata is allowed."""

    NOT_JUDGED = "not checked: the operator decides"
    IF_UNSAFE = "only as an unsafe downgrade"
    NEVER = "never, not even as an unsafe downgrade"


@frozen(kw_only=True, eq=False, repr=False)
class Dialect:
    """One dialect: a value for each of ``DIALECT_POINTS``."""

    name: str
    level_bits: int
    lowest_level: int
    brokers_forward: bool
    invalid: Code
    failed: Code
    unsafe: Code
    atomic: bool
    asked: ValidatedNodes
    deletion: Deletion
    same_level: bool
    tags: tuple[int, int, int]
    start: StartupReaction
    late: LateRegistration
    kinds: Mapping[int, DowngradeIntent]
    kinds_from: int
    dry_run_from: int | None
    minimum: MinimumLevel
    deprecated_by: DeprecatedBy
    meets: UnsupportedLevelReaction
    lossy: LossyDowngrade
    snapshot: bool

    def __repr__(self) -> str:
        """Name the dialect."""
        return f"<{self.name}>"

    @property
    def levels(self) -> range:
        """The numbers that a level can have in a request."""
        return range(-(2 ** (self.level_bits - 1)), 2 ** (self.level_bits - 1))

    def downgrade_intent(self, code: int | None, version: int = 1) -> DowngradeIntent:
        """Return whether a request allows a lower level; a boolean code counts as 0 or 1, None as not allowed.

        >>> KAFKA_4.downgrade_intent(1), KAFKA_4.downgrade_intent(1, version=0)
        (<DowngradeIntent.UPGRADE: 'not allowed'>, <DowngradeIntent.UPGRADE: 'not allowed'>)
        >>> KIP_778.downgrade_intent(2)
        <DowngradeIntent.UNSAFE: 'allowed, even if metadata is lost'>
        """
        if code is None or version < self.kinds_from:
            return DowngradeIntent.UPGRADE
        return self.kinds.get(code, DowngradeIntent.UNKNOWN)


DIALECT_POINTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "level_bits": ("F1, O1", "the bits of a level"),
        "lowest_level": ("F2", "the lowest level of a range"),
        "brokers_forward": ("U3", "a broker forwards a request to the controller"),
        "invalid": ("U4", "code of a malformed update"),
        "failed": ("U4", "code of an update that cannot be applied"),
        "unsafe": ("M4", "code of a downgrade that would lose metadata"),
        "atomic": ("U4, U5", "all updates of a request or none, one error for all"),
        "asked": ("U6, Q1", "the nodes that have to support an update"),
        "deletion": ("U8", "how a feature is deleted"),
        "same_level": ("U9", "the current level is accepted"),
        "tags": ("A1", "tags of the three fields in ApiVersions"),
        "start": ("B1", "a broker starts and does not support a finalized level"),
        "late": ("R3, O2", "the controller handles a registration after an update that the broker lacks"),
        "kinds": ("M2", "codes in a request: whether a lower level is allowed"),
        "kinds_from": ("M2", "the first version of the request that has these codes"),
        "dry_run_from": ("M2", "the first version of the request that can be a dry run"),
        "minimum": ("M6", "the finalized minimum level"),
        "deprecated_by": ("D2, O3", "what raises the finalized minimum level"),
        "meets": ("Q5", "a running broker observes a level that it does not support"),
        "lossy": ("W3", "a downgrade that would lose metadata"),
        "snapshot": ("W5", "a change of metadata.version writes a snapshot"),
    }
)
"""The points of difference: the requirements of each, and its description."""

KIP_584: Final = Dialect(
    name="KIP-584",
    level_bits=16,
    lowest_level=1,
    brokers_forward=False,
    invalid=Code.INVALID_REQUEST,
    failed=Code.FEATURE_UPDATE_FAILED,
    unsafe=Code.FEATURE_UPDATE_FAILED,
    atomic=False,
    asked=ValidatedNodes.LIVE_BROKERS,
    deletion=Deletion.UNCHECKED,
    same_level=False,
    tags=(10000, 10001, 10002),
    start=StartupReaction.EXITS,
    late=LateRegistration.SKIPPED,
    kinds=MappingProxyType({0: DowngradeIntent.UPGRADE, 1: DowngradeIntent.SAFE}),
    kinds_from=0,
    dry_run_from=None,
    minimum=MinimumLevel.KEPT,
    deprecated_by=DeprecatedBy.ADVERTISEMENTS,
    meets=UnsupportedLevelReaction.EXITS,
    lossy=LossyDowngrade.NOT_JUDGED,
    snapshot=False,
)

KIP_778: Final = Dialect(
    name="KIP-778",
    level_bits=16,
    lowest_level=1,
    brokers_forward=False,
    invalid=Code.INVALID_REQUEST,
    failed=Code.FEATURE_UPDATE_FAILED,
    unsafe=Code.UNSAFE_FEATURE_DOWNGRADE,
    atomic=False,
    asked=ValidatedNodes.LIVE_BROKERS_AND_CONTROLLER_MAJORITY,
    deletion=Deletion.UNCHECKED,
    same_level=False,
    tags=(0, 1, 2),
    start=StartupReaction.FENCED,
    late=LateRegistration.REJECTED,
    kinds=MappingProxyType({0: DowngradeIntent.UPGRADE, 1: DowngradeIntent.SAFE, 2: DowngradeIntent.UNSAFE}),
    kinds_from=0,
    dry_run_from=1,
    minimum=MinimumLevel.GONE,
    deprecated_by=DeprecatedBy.NOTHING,
    meets=UnsupportedLevelReaction.UNREGISTERS,
    lossy=LossyDowngrade.IF_UNSAFE,
    snapshot=True,
)

KAFKA_4: Final = Dialect(
    name="Kafka 4.x",
    level_bits=16,
    lowest_level=0,
    brokers_forward=True,
    invalid=Code.INVALID_UPDATE_VERSION,
    failed=Code.INVALID_UPDATE_VERSION,
    unsafe=Code.INVALID_UPDATE_VERSION,
    atomic=True,
    asked=ValidatedNodes.ALL_REGISTERED,
    deletion=Deletion.CHECKED,
    same_level=True,
    tags=(0, 1, 2),
    start=StartupReaction.RETRIES,
    late=LateRegistration.REJECTED,
    kinds=MappingProxyType({1: DowngradeIntent.UPGRADE, 2: DowngradeIntent.SAFE, 3: DowngradeIntent.UNSAFE}),
    kinds_from=1,
    dry_run_from=1,
    minimum=MinimumLevel.SENT,
    deprecated_by=DeprecatedBy.NOTHING,
    meets=UnsupportedLevelReaction.LOGS,
    lossy=LossyDowngrade.NEVER,
    snapshot=False,
)

KIP_584_OLDER: Final = evolve(
    KIP_584,
    name="older KIP-584",
    level_bits=64,
    late=LateRegistration.BLOCKED,
    deprecated_by=DeprecatedBy.RELEASE_CODE,
)
"""The older version of KIP-584, known from a comparison of two versions of its page."""

DIALECTS: Final = (KIP_584, KIP_778, KAFKA_4)
"""The three dialects that clusters are simulated in."""
