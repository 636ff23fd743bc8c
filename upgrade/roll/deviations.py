"""How a group can differ from what was expected, what that probably means, and what is safe to do."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import frozen


class SafeOption(enum.Enum):
    """A decision of an operator."""

    CONTINUE = "continue"
    """Go on as if it were expected."""
    WAIT = "wait"
    """Look for as long again."""
    AGAIN = "again"
    """Run the command of the instance again."""
    BACK = "back"
    """Roll back."""
    REPLAN = "replan"
    """Go on with the instances of now, or those of ``--instances``."""
    STOP = "stop"
    """Stop here; the same command continues later."""


_ANY: Final = (SafeOption.WAIT, SafeOption.CONTINUE, SafeOption.BACK, SafeOption.STOP)
_WITH_AGAIN: Final = (SafeOption.WAIT, SafeOption.AGAIN, SafeOption.BACK, SafeOption.STOP)
_GONE: Final = (SafeOption.WAIT, SafeOption.AGAIN, SafeOption.REPLAN, SafeOption.BACK, SafeOption.STOP)
_AGAIN_OR_BACK: Final = (SafeOption.AGAIN, SafeOption.BACK, SafeOption.WAIT, SafeOption.STOP)
_SCALED: Final = (SafeOption.WAIT, SafeOption.REPLAN, SafeOption.BACK, SafeOption.STOP)
_UNSAFE: Final = (SafeOption.BACK, SafeOption.WAIT, SafeOption.STOP)


class DeviationKind(enum.Enum):
    """The difference."""

    COMMAND_FAILED = "command-failed"
    NOT_RETURNED = "not-returned"
    FAILED_AFTER_JOIN = "failed-after-join"
    NOT_READY = "not-ready"
    STILL_RUNNING = "still-running"
    OLD_RELEASE = "old-release"
    OTHER_RELEASE = "other-release"
    MISSING_UPGRADE_FROM = "missing-upgrade-from"
    WRONG_VALUE = "wrong-value"
    VALUE_REMAINS = "value-remains"
    CRASH_LOOP = "crash-loop"
    MEMBER_REPLACED = "member-replaced"
    MEMBER_GONE = "member-gone"
    SECOND_PROCESS = "second-process"
    FOREIGN_MEMBER = "foreign-member"
    TWO_OWNERS = "two-owners"
    UNOWNED = "unowned"
    STATIC_MEMBER = "static-member"
    NOT_VISIBLE = "not-visible"
    NOT_STABLE = "not-stable"
    TOPOLOGY = "topology"
    VERSIONS = "versions"
    PROBING = "probing"
    LAG = "lag"
    NO_COMMITS = "no-commits"
    CONDITION = "condition"
    """A condition of another kind of roll."""


@frozen
class DeviationMeaning:
    """The likely meaning of a deviation, and the safe options."""

    likely: str
    options: tuple[SafeOption, ...] = _ANY


DEVIATIONS: Final[Mapping[DeviationKind, DeviationMeaning]] = {
    DeviationKind.COMMAND_FAILED: DeviationMeaning(
        "the command could not do its work: its output says why; the instance may be stopped",
        (SafeOption.AGAIN, SafeOption.CONTINUE, SafeOption.BACK, SafeOption.STOP),
    ),
    DeviationKind.NOT_RETURNED: DeviationMeaning(
        "the new instance does not start, or has failed: a setting that its release refuses, stores or (of a "
        "broker) metadata that it cannot read; its log says which; or it has another name now (replan, with a file), "
        "fewer threads (replan), another application.id, or another topology than its streams group",
        _GONE,
    ),
    DeviationKind.FAILED_AFTER_JOIN: DeviationMeaning(
        "the new instance had joined and run, and has failed since: a record that it cannot process, memory, stores, "
        "or a liveness probe; its log says which",
        _GONE,
    ),
    DeviationKind.NOT_READY: DeviationMeaning(
        "the new instance has joined, and the command of --ready says that it is not ready", _WITH_AGAIN
    ),
    DeviationKind.STILL_RUNNING: DeviationMeaning(
        "the old instance is still running: the command has restarted another one, or none, or has started the new one "
        "beside it",
        _AGAIN_OR_BACK,
    ),
    DeviationKind.OLD_RELEASE: DeviationMeaning(
        "the old release was started again: the image, package or unit of the instance was not changed", _AGAIN_OR_BACK
    ),
    DeviationKind.OTHER_RELEASE: DeviationMeaning(
        "another release was started than the one that the step names", _AGAIN_OR_BACK
    ),
    DeviationKind.MISSING_UPGRADE_FROM: DeviationMeaning(
        "upgrade.from is missing in the configuration of the instance: it sends what the old members cannot read, or "
        "shares tasks with them by another protocol",
        _AGAIN_OR_BACK,
    ),
    DeviationKind.WRONG_VALUE: DeviationMeaning("upgrade.from has another value than the plan says", _AGAIN_OR_BACK),
    DeviationKind.VALUE_REMAINS: DeviationMeaning(
        "upgrade.from is still set: the group stays at the old version until the instance is restarted without it",
        (SafeOption.AGAIN, SafeOption.WAIT, SafeOption.BACK, SafeOption.STOP),
    ),
    DeviationKind.CRASH_LOOP: DeviationMeaning(
        "the instance fails and is started again and again: each time the group rebalances", _AGAIN_OR_BACK
    ),
    DeviationKind.MEMBER_REPLACED: DeviationMeaning(
        "an instance that this roll has restarted has failed since and was started again: the new release does not "
        "live on; or it was away for longer than its session",
        (SafeOption.BACK, SafeOption.WAIT, SafeOption.CONTINUE, SafeOption.STOP),
    ),
    DeviationKind.SECOND_PROCESS: DeviationMeaning(
        "two processes have the name of one instance: a command has started a copy, or somebody else has; or it has "
        "more threads than before"
    ),
    DeviationKind.MEMBER_GONE: DeviationMeaning(
        "an instance beside those of the step has failed: a leader that could not read what a new member sends, a "
        "known bug of its release, or a failure of its own, as its log says; or it was stopped for good (replan)",
        _SCALED,
    ),
    DeviationKind.FOREIGN_MEMBER: DeviationMeaning(
        "a member joined that the plan does not know: the application was scaled, or an instance has another name now",
        _SCALED,
    ),
    DeviationKind.TWO_OWNERS: DeviationMeaning(
        "two members process the same records: eager and cooperative members are mixed, usually because upgrade.from "
        "is missing (KIP-429)",
        _UNSAFE,
    ),
    DeviationKind.UNOWNED: DeviationMeaning(
        "nobody processes some tasks: an instance is stopped and still counted, or a leader leaves tasks out",
        (SafeOption.WAIT, SafeOption.AGAIN, SafeOption.CONTINUE, SafeOption.BACK, SafeOption.STOP),
    ),
    DeviationKind.STATIC_MEMBER: DeviationMeaning(
        "a static member that returns within its session gets its last assignment from the coordinator, in a version "
        "that the older release cannot read (KIP-345): stop the instance, and let its session time out"
    ),
    DeviationKind.NOT_VISIBLE: DeviationMeaning(
        "no broker describes the group: a coordinator that moves or loads, the network, or a missing ACL", _UNSAFE
    ),
    DeviationKind.NOT_STABLE: DeviationMeaning(
        "the group rebalances again and again, or a member does not rejoin or revoke within its max.poll.interval.ms; "
        "NotReady: topics of a streams group are missing"
    ),
    DeviationKind.TOPOLOGY: DeviationMeaning(
        "the release of the application has another topology: a streams group takes no other one", _AGAIN_OR_BACK
    ),
    DeviationKind.VERSIONS: DeviationMeaning(
        "members send versions that no forecast contains: another leader than those that were played, a missing "
        "upgrade.from, or a known bug of version probing (KAFKA-8649)",
        _UNSAFE,
    ),
    DeviationKind.PROBING: DeviationMeaning(
        "tasks warm up on another instance, until probing.rebalance.interval.ms finds them caught up; or the leader "
        "could not look up offsets, as while a broker is away, and leaves tasks where they are until then"
    ),
    DeviationKind.LAG: DeviationMeaning(
        "tasks restore their state, or there is nothing that they could commit: no broker shows how far they are until "
        "they commit"
    ),
    DeviationKind.NO_COMMITS: DeviationMeaning(
        "a task has an owner and does not commit: it restores its state, is stuck in a record, starves beside a task "
        "that lags, or commits more rarely than --timeout"
    ),
    DeviationKind.CONDITION: DeviationMeaning("a condition of the step does not hold", _ANY),
}
