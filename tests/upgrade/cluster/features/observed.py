"""The answers of a cluster of Kafka 4.3.1 to UpdateFeatures, row by row: one table for the model and for real brokers.

`metadata` is the level of metadata.version before; every other feature is where a new cluster of that level has it.
"""

from attrs import frozen

METADATA, TRANSACTION, REPLICAS = "metadata.version", "transaction.version", "eligible.leader.replicas.version"
UNKNOWN, UPGRADE, SAFE, UNSAFE = 0, 1, 2, 3
NOT_CONTROLLER, INVALID_UPDATE_VERSION = 41, 95
PREFIX = "The update failed for all features since the following feature had an error: "
NO_TYPE = "The controller does not support the given upgrade type."
DOWN_WITHOUT_TYPE = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
)

SINGLE = "one node of 4.3.1, broker and controller 1"
OLD_BROKER = "and broker 2 of 3.9.2"
OLD_BROKER_STOPPED = "and broker 2 of 3.9.2, stopped"
OLD_BROKER_UNREGISTERED = "and broker 2 of 3.9.2, stopped and unregistered"
CONTROLLER_MISSING = "controllers 1 and 2 of 4.3.1, 3 never started"
CONTROLLER_OLD = "controllers 1 and 2 of 4.3.1, 3 of 3.9.2"
CONTROLLER_RENEWED = "controllers 1 and 2 of 4.3.1, 3 of 3.9.2 and then of 4.3.1"


@frozen
class Ask:
    """One update; `upgrade_type` is Kafka's code, or in version 0 AllowDowngrade as 0 or 1."""

    feature: str
    level: int
    upgrade_type: int = UPGRADE


@frozen
class Observed:
    """A request and its answer; without an error `message` is none and, unless it was a dry run, all is applied."""

    name: str
    asked: tuple[Ask, ...]
    message: str | None = None
    code: int = 0
    metadata: int = 25
    setting: str = SINGLE
    version: int = 1
    dry_run: bool = False
    to_standby: bool = False


def refused(name, ask, why, **further):
    """A row with the usual error: code 95, its text in the frame that all of them have."""
    text = f"{PREFIX}Invalid update version {ask.level} for feature {ask.feature}. {why}"
    return Observed(name, (ask,), text, INVALID_UPDATE_VERSION, **further)


def lossy(name, ask, why):
    text = f"{PREFIX}Unsupported metadata.version downgrade from 25 to {ask.level}. {why}"
    return Observed(name, (ask,), text, INVALID_UPDATE_VERSION)


OBSERVED = (
    Observed("up_dry_run", (Ask(METADATA, 26),), dry_run=True),
    Observed("up", (Ask(METADATA, 26),)),
    refused("up_too_far", Ask(METADATA, 31), "Local controller 1 only supports versions 7-30"),
    refused("up_much_too_far", Ask(METADATA, 99), "Local controller 1 only supports versions 7-30"),
    refused("unknown_feature", Ask("nope", 1), "Local controller 1 does not support this feature."),
    refused("down_as_upgrade", Ask(METADATA, 24), DOWN_WITHOUT_TYPE),
    Observed("down_safe", (Ask(METADATA, 24, SAFE),)),
    lossy(
        "down_lossy_as_safe",
        Ask(METADATA, 22, SAFE),
        "Refusing to perform the requested downgrade because it might delete metadata information.",
    ),
    lossy(
        "down_lossy_as_unsafe",
        Ask(METADATA, 22, UNSAFE),
        "Unsafe metadata downgrade is not supported in this version.",
    ),
    refused("up_as_downgrade", Ask(METADATA, 26, SAFE), "Can't downgrade to a newer version."),
    Observed("same_as_upgrade", (Ask(METADATA, 25, UPGRADE),)),
    Observed("same_as_safe", (Ask(METADATA, 25, SAFE),)),
    Observed("same_as_unsafe", (Ask(METADATA, 25, UNSAFE),)),
    refused("type_0", Ask(METADATA, 26, UNKNOWN), NO_TYPE),
    refused("type_7", Ask(METADATA, 26, 7), NO_TYPE),
    Observed("disable", (Ask(TRANSACTION, 0, SAFE),)),
    refused("disable_as_upgrade", Ask(TRANSACTION, 0), DOWN_WITHOUT_TYPE),
    refused("below_zero", Ask(TRANSACTION, -1, SAFE), "A feature version cannot be less than 0."),
    refused("v0_allow_downgrade", Ask(METADATA, 24, True), DOWN_WITHOUT_TYPE, version=0),
    Observed("v0_up", (Ask(METADATA, 26, False),), version=0),
    Observed("v2_up", (Ask(METADATA, 26),), version=2),
    Observed("nothing", ()),
    refused(
        "dependency_missing",
        Ask(REPLICAS, 1),
        f"{REPLICAS} could not be set to 1 because it depends on metadata.version level 23",
        metadata=21,
    ),
    Observed("dependency_in_the_same_request", (Ask(REPLICAS, 1), Ask(METADATA, 25)), metadata=21),
    Observed(
        "to_a_standby_controller",
        (Ask(METADATA, 26),),
        "The active controller appears to be node 1.",
        NOT_CONTROLLER,
        setting=CONTROLLER_RENEWED,
        metadata=21,
        to_standby=True,
    ),
    refused("old_broker", Ask(METADATA, 22), "Broker 2 only supports versions 1-21", metadata=21, setting=OLD_BROKER),
    refused(
        "old_broker_without_the_feature",
        Ask(TRANSACTION, 1),
        "Broker 2 does not support this feature.",
        metadata=21,
        setting=OLD_BROKER,
    ),
    refused(
        "old_broker_stopped",
        Ask(METADATA, 22),
        "Broker 2 only supports versions 1-21",
        metadata=21,
        setting=OLD_BROKER_STOPPED,
    ),
    Observed("old_broker_unregistered", (Ask(METADATA, 22),), metadata=21, setting=OLD_BROKER_UNREGISTERED),
    refused(
        "controller_missing",
        Ask(METADATA, 26),
        "controller 3 has not registered, and may not support this feature",
        setting=CONTROLLER_MISSING,
    ),
    refused(
        "old_controller",
        Ask(METADATA, 22),
        "Controller 3 only supports versions 1-21",
        metadata=21,
        setting=CONTROLLER_OLD,
    ),
    Observed("old_controller_renewed", (Ask(METADATA, 22),), metadata=21, setting=CONTROLLER_RENEWED),
)
"""Table B2; the order within a setting is free, each row begins with a cluster of its own level."""

OLD_BROKER_AT_THE_DOOR = (
    "Unable to register because the broker does not support finalized version 30 of metadata.version. "
    "The broker wants a version between 1 and 21, inclusive."
)
"""What the controller answers a starting 3.9.2 broker (UNSUPPORTED_VERSION) once metadata.version 30 is finalized."""
