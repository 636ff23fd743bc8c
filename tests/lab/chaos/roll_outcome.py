"""What `roll` has done in a run: from its journal, the commands that were called, and the faults that happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.engine import FINISHED
from streams_assignor.upgrade.roll.journal import (
    RAN,
    CommandEnded,
    CommandIntended,
    DeviationFound,
    PlanRecorded,
    QuestionAnswered,
    RollEnded,
    RollRecord,
    RollResumed,
    RoundVerified,
    StepPassed,
)
from tests.lab.chaos.fault_schedule import FAULT_KINDS, ROLL_FAULT_KINDS, Fault

_OF_MEMBERS: Final = frozenset(
    {
        DeviationKind.MEMBER_GONE,
        DeviationKind.MEMBER_REPLACED,
        DeviationKind.NOT_RETURNED,
        DeviationKind.FAILED_AFTER_JOIN,
        DeviationKind.CRASH_LOOP,
        DeviationKind.NOT_STABLE,
        DeviationKind.UNOWNED,
        DeviationKind.LAG,
        DeviationKind.NO_COMMITS,
    }
)
_OF_BROKERS: Final = frozenset(
    {DeviationKind.NOT_VISIBLE, DeviationKind.NOT_STABLE, DeviationKind.UNOWNED, DeviationKind.LAG}
) | {DeviationKind.NO_COMMITS, DeviationKind.MEMBER_REPLACED, DeviationKind.CRASH_LOOP}
_OF_A_STOP: Final = frozenset({DeviationKind.NOT_RETURNED, DeviationKind.UNOWNED})
_OF_A_COPY: Final = frozenset(
    {DeviationKind.SECOND_PROCESS, DeviationKind.MEMBER_REPLACED, DeviationKind.CRASH_LOOP, DeviationKind.OLD_RELEASE}
)
"""One that was started before its instance was restarted runs the old release."""
CAUSED: Final[Mapping[str, frozenset[DeviationKind]]] = MappingProxyType(
    {
        **dict.fromkeys(FAULT_KINDS, _OF_MEMBERS),
        **dict.fromkeys([kind for kind in FAULT_KINDS if "node" in kind or "coordinator" in kind], _OF_BROKERS),
        **dict.fromkeys(ROLL_FAULT_KINDS, frozenset()),
        "roll-cut": frozenset({DeviationKind.NOT_VISIBLE}),
        "lost": _OF_A_STOP,
        "failed-command": frozenset({DeviationKind.COMMAND_FAILED}),
        "old-release": frozenset({DeviationKind.OLD_RELEASE}),
        "endless": frozenset({DeviationKind.COMMAND_FAILED}),
        "stranger": frozenset({DeviationKind.FOREIGN_MEMBER}),
        "second-process": _OF_A_COPY,
    }
)
"""What `roll` may report after each kind of fault."""
ANSWERS: Final[Mapping[DeviationKind, SafeOption]] = MappingProxyType(
    {
        DeviationKind.COMMAND_FAILED: SafeOption.CONTINUE,  # it has done its work, and did not end
        DeviationKind.MEMBER_REPLACED: SafeOption.CONTINUE,  # what has replaced it lives
        DeviationKind.CRASH_LOOP: SafeOption.WAIT,  # the faults are over: joins are counted anew
    }
)
"""What an operator answers when faults are over and instances are what they are to be: no look of another call does."""


@frozen(kw_only=True)
class RollOutcome:
    """How a roll went."""

    statuses: Sequence[int]
    """The exit status of each run of the command; negative: the signal that ended it."""
    planned: int
    """How many restarts the plan has."""
    restarts: int
    """How many restarts were called."""
    deviations: Sequence[str]
    problems: Sequence[str] = field()
    """What must not be."""


def is_explained(found: DeviationFound, faults: Iterable[Fault]) -> bool:
    """Whether a fault causes a deviation: of such a kind, and of an instance that it concerns.

    A fault without a target has hit who led.
    """
    return any(
        found.kind in CAUSED[fault.kind]
        and (not found.instances or fault.target in ("", *found.instances) or fault.target.isdigit())
        for fault in faults
    )


def journal_problems(records: Sequence[RollRecord], calls: Sequence[str], deviations: int) -> list[str]:
    """Return what the journal does not tell, or tells wrongly; nothing if all is well.

    Args:
        records: Those of the journal.
        calls: The instance of each restart that was called.
        deviations: How often the command has stopped with a deviation.
    """
    kinds = Counter(type(record) for record in records)
    intents = Counter(record.instance for record in records if isinstance(record, CommandIntended))
    ran = Counter(record.instance for record in records if isinstance(record, CommandEnded) and record.how == RAN)
    called = Counter(calls)
    torn = sum(isinstance(record, RollResumed) and record.torn for record in records)
    unintended = called - intents if (called - intents).total() > torn else Counter[str]()
    last = records[-1] if records else None
    return [
        *repeated_restarts(records),
        *(
            f"{name} was restarted without an intent"
            for name in sorted(unintended if unintended.total() > torn else ())
        ),
        *(f"the journal has a restart of {name} that was not called" for name in sorted(ran - called)),
        *([] if isinstance(last, RollEnded) and last.outcome == FINISHED else [f"the journal ends with {last}"]),
        *([] if kinds[DeviationFound] == deviations else [f"{kinds[DeviationFound]} deviations, {deviations} stops"]),
        *_not_passed(records),
    ]


def repeated_restarts(records: Iterable[RollRecord]) -> list[str]:
    """Return the restarts that were repeated in a round and were not asked for."""
    at = 1
    intents: Counter[tuple[int, str]] = Counter()
    asked: Counter[tuple[int, str]] = Counter()
    of_step: Collection[str] = ()
    for record in records:
        match record:
            case RoundVerified():
                at += 1
            case CommandIntended(instance=name):
                intents[at, name] += 1
                of_step = (name,)
            case QuestionAnswered(option=SafeOption.AGAIN, instances=names):
                asked.update((at, name) for name in names or of_step)
    return [
        f"{name} was restarted {times} times in round {number}"
        for (number, name), times in sorted(intents.items())
        if times > 1 + asked[number, name]
    ]


def planned_restarts(records: Sequence[RollRecord]) -> int:
    """Return how many restarts the plan of a journal has."""
    first = records[0] if records else None
    return len(first.plan.rounds) * len(first.plan.instances) if isinstance(first, PlanRecorded) else 0


def _not_passed(records: Sequence[RollRecord]) -> list[str]:
    passed = sum(isinstance(record, StepPassed) for record in records)
    planned = planned_restarts(records)
    return [f"{passed} of {planned} steps passed"] if passed < planned else []


def words(found: DeviationFound) -> str:
    """Return a deviation in a few words."""
    return " ".join(chain([found.kind.value], found.instances))
