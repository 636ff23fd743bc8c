"""The texts of plans: every message is a code with parameters, and is put into words only where it is shown."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, Final

from attrs import field, frozen


class MessageCode(enum.Enum):
    """Every text, as a template: the only place where the wording of plans is.

    ``origin`` and ``target`` are the releases before and after an upgrade, ``behind`` and ``ahead`` the same two by
    what they can do, ``value`` is the value of ``upgrade.from``.
    """

    # -- what to do, why, and what follows if it is skipped (``planner``)
    BOUNCE = "bounce every member to {target}, one by one"
    BOUNCE_PINNED = 'bounce every member to {target} with upgrade.from="{value}", one by one'
    BOUNCE_AGAIN = "remove upgrade.from and bounce every member again, one by one"
    HOLD_BACK = 'bounce every member with upgrade.from="{value}", still as {origin}, one by one'
    HOLD_BACK_AND_DRAIN = HOLD_BACK + ", then wait until the records written before are processed"
    BOUNCE_BACK = "remove upgrade.from and bounce every member to {target}, one by one"
    STOP = "stop every member of {origin}, and wait until the group is empty"
    START = "start every member as {target}"
    START_WITH = START + " with {option}"
    STOP_AGAIN = "stop every member again, and wait until the group is empty"

    SAME_VERSION = "both use metadata version {origin.supported_version}, so any leader reads any member"
    VERSION_PROBING = (
        "a leader that does not know a version answers with its own, and the member rejoins with that version"
    )
    WITH_VALUE = "with it {effects}"
    BROKERS_ASSIGN = "brokers assign the tasks of a streams group to members of both releases"
    KEEPS_TOPOLOGY = "a streams group keeps its topology and its committed offsets while it is empty"
    BECOMES_CLASSIC = (
        "the first member that joins turns the empty streams group into a classic one, which keeps the committed "
        "offsets and has no topology of its own; a streams group keeps its topology while it is empty"
    )
    BECOMES_STREAMS = "the first member that joins turns the empty group into a streams group of the new topology"
    ONE_PROTOCOL = "a group has one protocol, and only an empty group changes it: there is no online migration"
    NOTHING_NEW = "now {origin} does nothing that {target} does not know"
    NEVER_MEET = "then no member of {origin} is in one group with a member of {target}"
    STARTS_ANEW = "the group starts anew with one version"

    # -- remedies of hazards (``remedy_steps``); ``changes`` are those of the application
    EDIT = "before the next step, for members of {target}: {changes}"
    EDIT_AND_BOUNCE = "bounce every member with {changes}, still as {origin}, one by one"
    IS_REMEDY = "the remedy of {rows}, see below"
    WITHOUT_REMEDY = "{symptoms}"

    ONE_STAYS = "the member that is left stays on {origin}; the others are not affected"
    LOWER_VERSION = "the member that is left keeps the whole group on the lower version"
    MEMBERS_MEET = "a member that is left is in one group with the new members, as in a rolling bounce without a plan"
    NOTHING_PROCESSED = "nothing is processed"
    TOPOLOGY_REFUSED = (
        "members with the new topology end: InvalidRequestException: Topology updates are not supported yet"
    )
    PROTOCOL_REFUSED = "members of the streams protocol fail: GROUP_ID_NOT_FOUND"

    # -- effects of upgrade.from on each obstacle: with the value, without it, when it is removed, if it is kept
    OLD_VERSION = "they still send version {behind.supported_version}, the newest that a leader of {behind} can read"
    NOT_PUSHED = "they send version 2, to which no leader answers with a version of its own (KAFKA-8649)"
    OLD_PROTOCOL = "they still give up all partitions before they rejoin (eager), as members of {behind} do"
    OLD_FOREIGN_KEY_JOINS = "foreign-key joins write what {behind} can read"
    OLD_REPARTITIONING = "repartition topics get updates of tables that {behind} can read"
    UNREADABLE_VERSION = (
        "a leader of {behind} fails on the first version {ahead.supported_version} it reads (TaskAssignmentException "
        '"unable to decode subscription data: version={ahead.supported_version}")'
    )
    TWO_OWNERS = (
        "a leader of {behind} assigns partitions that a member of {ahead} keeps, so tasks have two owners and records "
        "can be counted twice"
    )
    UNREADABLE_FOREIGN_KEY_JOINS = (
        "members of {behind} fail on records of foreign-key joins (UnsupportedVersionException)"
    )
    MISREAD_REPARTITIONING = "members of {behind} misread updates of tables"
    WRONG_ANSWERS = (
        "a leader of {behind} that probes assigns all tasks of a process to each of its threads, and tasks of several "
        "topics with wrong partitions, on which members fail (KAFKA-8649)"
    )
    PUSHED = "a leader of {ahead} can make members of {behind} use version {ahead.supported_version}, and they fail"
    NEW_VERSION = (
        "now every leader knows version {ahead.supported_version}; it answers version {behind.supported_version} as "
        "long as one member sends it"
    )
    NEW_VERSION_PINNED = (
        "now every leader knows version {ahead.supported_version}; it answers version 2 as long as one member sends it"
    )
    NEW_PROTOCOL = "now every leader lets members keep what they own (cooperative)"
    NEW_RECORDS = "now every member reads the new records"
    VERSION_STAYS = "the group stays on version {behind.supported_version} until you do this"
    PIN_STAYS = "the group stays on version 2 until you do this"
    PROTOCOL_STAYS = "every rebalance stops the whole group until you do this (eager)"
    RECORDS_STAY = "the records stay as they were"

    # -- warnings (``warnings``)
    RELEASE_NOTE = "{release}: {release.note}"
    KAFKA_9335 = (
        "KAFKA-9335: 2.4.0 gives repartition topics that feed each other a wrong number of partitions, or fails; "
        "take 2.4.1"
    )
    BRIDGE = "{bridge} is a bridge release: through it the group can be rolled"
    VALUE_IGNORED = '{ahead} does not know upgrade.from="{behind.line}" (KAFKA-6054), so it cannot be rolled{remedy}'
    VALUE_REFUSED = '{ahead} does not accept upgrade.from="{behind.line}" ({exception}), so it cannot be rolled{remedy}'
    VALUE_FAILS = (
        '{ahead} does not start with upgrade.from="{behind.line}" ({exception}), so it cannot be rolled{remedy}'
    )
    FIXED_IN = "; {fixed} does"
    BOUNCE_TO_FIX = "; {fixed} does, so bounce to it first"
    TWO_BOUNCES_FOR_RECORDS = (
        "two bounces are for {formats: and }; a topology without them needs one bounce to {target}, without "
        "upgrade.from"
    )
    STOPPING_FOR_RECORDS = (
        "stopping is for {formats: and }; a topology without them needs one bounce to {target}, without upgrade.from"
    )
    FOREIGN_KEY_JOINS = "foreign-key joins"
    REPARTITIONED_TABLES = "tables that are repartitioned"
    RECORDS_LEFT = (
        "{target} cannot read the records that {origin} has left in topics of the group: process them all first"
    )
    KAFKA_14646_RECORDS_LEFT = (
        "KAFKA-14646: with foreign-key joins members of 3.3 fail on records of {behind} that are left in its topics; "
        "take 3.4.0 or later"
    )
    KAFKA_14646_RECORDS = (
        "KAFKA-14646: with foreign-key joins members of 3.3 fail on records of {behind} even so; take 3.4.0 or later"
    )
    KAFKA_14646_VALUE = (
        'KAFKA-14646: with foreign-key joins members of 3.3 fail on what {ahead} writes with upgrade.from="{value}"; '
        "{remedy}"
    )
    BOUNCE_TO_3_4 = "bounce to 3.4 first"
    TAKE_VALUE_3_4 = 'take upgrade.from="3.4"'
    TAKE_VALUE_3_4_AND_3_5_2 = 'take upgrade.from="3.4" and 3.5.2 or later'
    MISSING_LAG = (
        "a leader of {ahead} fails on a stateless task that a member of {behind} reports (IllegalStateException: Tried "
        "to lookup lag for unknown task), if there are stateful tasks as well; take 3.1.0 or later"
    )
    ENDLESS_REBALANCES = (
        "with several threads in a process of {behind} and {ahead} leading, the group can rebalance without end and "
        "leave tasks unprocessed until no member of {behind} is left: do not pause between the bounces"
    )
    KAFKA_8649_OVERSHOT = (
        "KAFKA-8649: a leader of {newer} can make members of the older release use a version that they do not have, "
        "and they fail"
    )


_NAMES: Final = {
    code: tuple(name.partition(".")[0] for _, name, _, _ in Formatter().parse(code.value) if name)
    for code in MessageCode
}
"""The parameters of each template."""


@frozen
class PlanMessage:
    """One message; ``str`` renders it."""

    code: MessageCode
    params: Mapping[str, object] = field(factory=dict, hash=False)

    @classmethod
    def of(cls, code: MessageCode, params: Mapping[str, Any]) -> PlanMessage:
        """Make a message with those of ``params`` that its template names.

        >>> str(PlanMessage.of(MessageCode.START, {"origin": "1.1.1", "target": "2.0.1"}))
        'start every member as 2.0.1'
        """
        return cls(code, {name: params[name] for name in _NAMES[code]})

    def __str__(self) -> str:
        return self.code.value.format_map(self.params)


def _distinct(messages: Iterable[PlanMessage]) -> tuple[PlanMessage, ...]:
    return tuple(dict.fromkeys(messages))


@frozen
class MessageList:
    """Several messages as one text; the format specification is the separator (``{formats: and }``, default ``; ``)."""

    messages: tuple[PlanMessage, ...] = field(converter=_distinct)

    @classmethod
    def of(cls, codes: Iterable[MessageCode], params: Mapping[str, Any]) -> MessageList:
        """Make a list with the same ``params`` for all; equal messages are listed once."""
        return cls(PlanMessage.of(code, params) for code in codes)

    def __format__(self, separator: str) -> str:
        return (separator or "; ").join(map(str, self.messages))

    def __str__(self) -> str:
        return format(self)
