"""Three dialects of one protocol: the text of KIP-584, the text of KIP-778, and what Kafka 4.x does.

A dialect is a row of facts, one for each point on which the three differ; what is not here is the same in all.
``POINTS`` says which requirement each fact belongs to, and the table in the docs is printed from both.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen


class Kind(enum.Enum):
    """What a request says about a lower level."""

    UNKNOWN = "a code that the dialect does not have"
    UPGRADE = "it is not meant"
    SAFE = "it is meant, unless metadata would be lost"
    UNSAFE = "it is meant, whatever is lost"


class Code(enum.Enum):
    """Kafka's error codes, as far as features need them. Java: ``Errors``."""

    NONE = 0
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    UNSAFE_FEATURE_DOWNGRADE = None
    """Only a name in KIP-778: it was never released, so it has no number."""


class Asked(enum.Enum):
    """Whose ranges an update has to fit."""

    LIVE_BROKERS = "every live broker"
    AND_A_MAJORITY = "every live broker and a majority of the controllers"
    ALL_REGISTERED = "every registered broker and every controller, whether it runs or not"


class Deletion(enum.Enum):
    """How a feature is deleted."""

    UNCHECKED = "any level below 1; no range is looked at"
    CHECKED = "level 0, if the ranges have it"


class Minimum(enum.Enum):
    """What became of the finalised minimum level."""

    KEPT = "kept; raised by a release that drops a level"
    GONE = "gone"
    SENT = "gone, but still sent: equal to the level"


class Start(enum.Enum):
    """What happens to a broker that starts and lacks a finalised level."""

    EXITS = "it sees that for itself before it registers, and exits"
    FENCED = "its registration is rejected and it stays fenced"
    RETRIES = "its registration is refused, it tries again, and exits when its time is up"


class Meets(enum.Enum):
    """What a running broker does that learns of a level it lacks."""

    EXITS = "it exits"
    UNREGISTERS = "it unregisters and exits"
    LOGS = "it logs the fault"


class Lossy(enum.Enum):
    """What becomes of a downgrade that would lose metadata."""

    NOT_JUDGED = "not judged: the operator decides"
    IF_UNSAFE = "only if it is called unsafe"
    NEVER = "never, not even if it is called unsafe"


@frozen(kw_only=True, eq=False, repr=False)
class Dialect:
    """One way to speak: a value for each of ``POINTS``."""

    name: str
    lowest_level: int
    brokers_forward: bool
    invalid: Code
    failed: Code
    unsafe: Code
    atomic: bool
    asked: Asked
    deletion: Deletion
    same_level: bool
    tags: tuple[int, int, int]
    start: Start
    kinds: Mapping[int, Kind]
    kinds_from: int
    dry_run: bool
    minimum: Minimum
    meets: Meets
    lossy: Lossy
    snapshot: bool

    def __repr__(self) -> str:
        """Name the dialect."""
        return f"<{self.name}>"

    def kind(self, code: int | None, version: int = 1) -> Kind:
        """Read what a request of ``version`` says about a lower level; a boolean counts as 0 or 1, none as not meant.

        >>> KAFKA_4.kind(1), KAFKA_4.kind(1, version=0)
        (<Kind.UPGRADE: 'it is not meant'>, <Kind.UPGRADE: 'it is not meant'>)
        >>> KIP_778.kind(2)
        <Kind.UNSAFE: 'it is meant, whatever is lost'>
        """
        if code is None or version < self.kinds_from:
            return Kind.UPGRADE
        return self.kinds.get(code, Kind.UNKNOWN)


POINTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "lowest_level": ("F2", "the lowest level that a range can begin with"),
        "brokers_forward": ("U3", "a broker hands a request on to the controller"),
        "invalid": ("U4", "code of a malformed update"),
        "failed": ("U4", "code of an update that cannot be applied"),
        "unsafe": ("M4", "code of a downgrade that would lose metadata"),
        "atomic": ("U4, U5", "all updates of a request or none, one error for all"),
        "asked": ("U6, Q1", "whose ranges an update has to fit"),
        "deletion": ("U8", "what deletes a feature"),
        "same_level": ("U9", "the level that is there already is accepted"),
        "tags": ("A1", "tags of the three fields in ApiVersions"),
        "start": ("B1", "a broker starts and lacks a finalised level"),
        "kinds": ("M2", "codes in a request: what it says about a lower level"),
        "kinds_from": ("M2", "the first version of the request that has these codes"),
        "dry_run": ("M2", "a request can be a dry run"),
        "minimum": ("M6", "the finalised minimum level"),
        "meets": ("Q5", "a running broker learns of a level it lacks"),
        "lossy": ("W3", "a downgrade that would lose metadata"),
        "snapshot": ("W5", "a change of metadata.version writes a snapshot"),
    }
)
"""What the dialects differ in: the requirements that a point belongs to, and what it is."""

KIP_584: Final = Dialect(
    name="KIP-584",
    lowest_level=1,
    brokers_forward=False,
    invalid=Code.INVALID_REQUEST,
    failed=Code.FEATURE_UPDATE_FAILED,
    unsafe=Code.FEATURE_UPDATE_FAILED,
    atomic=False,
    asked=Asked.LIVE_BROKERS,
    deletion=Deletion.UNCHECKED,
    same_level=False,
    tags=(10000, 10001, 10002),
    start=Start.EXITS,
    kinds=MappingProxyType({0: Kind.UPGRADE, 1: Kind.SAFE}),
    kinds_from=0,
    dry_run=False,
    minimum=Minimum.KEPT,
    meets=Meets.EXITS,
    lossy=Lossy.NOT_JUDGED,
    snapshot=False,
)

KIP_778: Final = Dialect(
    name="KIP-778",
    lowest_level=1,
    brokers_forward=False,
    invalid=Code.INVALID_REQUEST,
    failed=Code.FEATURE_UPDATE_FAILED,
    unsafe=Code.UNSAFE_FEATURE_DOWNGRADE,
    atomic=False,
    asked=Asked.AND_A_MAJORITY,
    deletion=Deletion.UNCHECKED,
    same_level=False,
    tags=(0, 1, 2),
    start=Start.FENCED,
    kinds=MappingProxyType({0: Kind.UPGRADE, 1: Kind.SAFE, 2: Kind.UNSAFE}),
    kinds_from=0,
    dry_run=True,
    minimum=Minimum.GONE,
    meets=Meets.UNREGISTERS,
    lossy=Lossy.IF_UNSAFE,
    snapshot=True,
)

KAFKA_4: Final = Dialect(
    name="Kafka 4.x",
    lowest_level=0,
    brokers_forward=True,
    invalid=Code.INVALID_UPDATE_VERSION,
    failed=Code.INVALID_UPDATE_VERSION,
    unsafe=Code.INVALID_UPDATE_VERSION,
    atomic=True,
    asked=Asked.ALL_REGISTERED,
    deletion=Deletion.CHECKED,
    same_level=True,
    tags=(0, 1, 2),
    start=Start.RETRIES,
    kinds=MappingProxyType({1: Kind.UPGRADE, 2: Kind.SAFE, 3: Kind.UNSAFE}),
    kinds_from=1,
    dry_run=True,
    minimum=Minimum.SENT,
    meets=Meets.LOGS,
    lossy=Lossy.NEVER,
    snapshot=False,
)

DIALECTS: Final = (KIP_584, KIP_778, KAFKA_4)
