"""The journal: what was planned, intended, done and seen, one JSON object a line.

An intent is on disk before it happens. So after a crash the last line says what is known: an intent without an
end has an unknown outcome. A line that is incomplete may have been an intent. Each line has a checksum.
"""

from __future__ import annotations

import enum
import json
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Union, get_args, get_origin
from zlib import crc32

from attrs import asdict, field, fields, frozen, has, resolve_types

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.input_values import InvalidInput, parse_json
from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.expectation import NO_FORECAST, Expectation
from streams_assignor.upgrade.roll.plan import InstanceConfig, RollInstance, RollPlan, RollRound

FORMAT: Final = 2
"""Of the journal; a later one is refused."""
_WITHOUT_CHECKSUMS: Final = 1
"""A format that is continued: its lines are taken as they are."""
_LONGEST_S: Final = 30 * 86_400
"""A step that was left for longer was not: the clock was not set when it began."""
_BEGINNING: Final = b'{"record":"plan"'
_CHECKED: Final = re.compile(rb'(?P<record>\{.*),"crc32":"(?P<crc32>[0-9a-f]{8})"\}', re.DOTALL)
RAN, FOUND, BY_OPERATOR = "ran", "found", "by-hand"


class JournalError(UpgradeError):
    """A journal that cannot be continued; the message says where and why."""


@frozen(kw_only=True)
class PlanRecorded:
    """The beginning."""

    plan: RollPlan
    format: int = FORMAT


@frozen(kw_only=True)
class RollResumed:
    """The same command was called again: what was asked or looked for before is asked and looked for anew."""

    torn: bool = False
    """Whether the last line was incomplete, and is dropped: it may have been the intent of the next command."""
    seconds: float | None = 0.0
    """How long ago the first command of the step under way was intended, by the clock of the host; 0: there is none;
    None: the clock has jumped."""


@frozen(kw_only=True)
class StepBegan:
    """A step is about to begin: what the group was before, and what is expected."""

    step: int
    instances: tuple[str, ...]
    before: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The member ids of each of its instances; those of an intent come to them."""
    owners: Mapping[str, str] = field(factory=dict, hash=False)
    """The instance of each task, of the whole group."""
    expectation: Expectation = NO_FORECAST
    absent: tuple[str, ...] = ()
    """On the way back, the instances whose turn comes later, and that are not there."""


@frozen(kw_only=True)
class CommandIntended:
    """A command is about to be run."""

    step: int
    instance: str
    verb: str
    before: tuple[str, ...] = ()
    """The member ids of the instance in the last look: one that was silent has another than when the step began."""


@frozen(kw_only=True)
class CommandEnded:
    """A command has ended, or it was found that it did its work."""

    step: int
    instance: str
    verb: str
    how: str = RAN
    status: int | None = None
    """The exit status; None: it is not known, or there was no command."""
    output: str = ""
    """The end of its output, without secrets."""
    seconds: float | None = None


@frozen(kw_only=True)
class MembersJoined:
    """Instances have joined again, without a command of the roll."""

    joined: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The member ids that each has had since its last command."""


@frozen(kw_only=True)
class StepPassed:
    """A step went well."""

    step: int
    gates: Mapping[str, str] = field(factory=dict, hash=False)
    """The observation of each gate."""
    observed: Mapping[str, Any] = field(factory=dict, hash=False)
    """The result of the step, beside the expectation."""
    members: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The member ids then of each instance that has others than the records before it say, or none any more.

    One that has others again when roll is called again has failed meanwhile.
    """


@frozen(kw_only=True)
class RoundVerified:
    """All instances are what the round makes them."""

    round: int
    gates: Mapping[str, str] = field(factory=dict, hash=False)


@frozen(kw_only=True)
class DeviationFound:
    """The group is not as expected."""

    step: int
    kind: DeviationKind
    expected: str
    observed: str
    likely: str
    options: tuple[SafeOption, ...]
    instances: tuple[str, ...] = ()
    gate: str = ""
    """The gate that found it; of a command that failed, its verb."""


@frozen(kw_only=True)
class QuestionAnswered:
    """An operator, or an option of the command line, has decided."""

    about: str
    option: SafeOption
    step: int = 0
    kind: DeviationKind | None = None
    instances: tuple[str, ...] = ()
    by: str = ""


@frozen(kw_only=True)
class OriginNamed:
    """An operator has said what ran before: the plan with that release."""

    plan: RollPlan
    by: str = ""


@frozen(kw_only=True)
class InstancesPlanned:
    """An operator has asked for a plan of the instances of now."""

    instances: tuple[RollInstance, ...]
    configs: Mapping[str, InstanceConfig] = field(factory=dict, hash=False)
    """The release and ``upgrade.from`` of the instances that are new."""


@frozen(kw_only=True)
class BackPlanned:
    """From here on the instances return."""

    rounds: tuple[RollRound, ...]


@frozen(kw_only=True)
class RollEnded:
    """Nothing is left to do."""

    outcome: str


RollRecord = (
    PlanRecorded
    | RollResumed
    | StepBegan
    | CommandIntended
    | CommandEnded
    | MembersJoined
    | StepPassed
    | RoundVerified
    | DeviationFound
    | QuestionAnswered
    | OriginNamed
    | InstancesPlanned
    | BackPlanned
    | RollEnded
)
KINDS: Final[Mapping[str, type[Any]]] = {
    "plan": PlanRecorded,
    "resumed": RollResumed,
    "step": StepBegan,
    "intent": CommandIntended,
    "command": CommandEnded,
    "joined": MembersJoined,
    "passed": StepPassed,
    "verified": RoundVerified,
    "deviation": DeviationFound,
    "answer": QuestionAnswered,
    "origin": OriginNamed,
    "instances": InstancesPlanned,
    "back": BackPlanned,
    "ended": RollEnded,
}
"""The records by their names in the file."""
_NAMES: Final = {kind: name for name, kind in KINDS.items()}


@frozen
class JournalLine:
    """A record with the time at which it was written, for readers: nothing is decided by it."""

    at: str
    record: RollRecord

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(self.record, value_serializer=_plain)
        return {"record": _NAMES[type(self.record)], "at": self.at, **plain}

    def text(self) -> str:
        """Return the line, with its checksum and its end."""
        record = json.dumps(self.as_json(), ensure_ascii=False, separators=(",", ":"))[:-1]
        return f'{record},"crc32":"{crc32(record.encode()):08x}"}}\n'


@frozen
class ReadJournal:
    """A journal that was read."""

    lines: tuple[JournalLine, ...]
    whole_bytes: int
    """The length of all lines that count: what follows is torn."""
    is_torn: bool = False
    is_open: bool = False
    """Whether the last line counts, and lacks its end."""


def seconds_in_step(lines: Iterable[JournalLine], now: str) -> float | None:
    """Return how long ago the first command of the step under way was intended; 0 if there is none.

    None: the clock has gone back meanwhile, or by so much that it was not set before.

    Raises:
        JournalError: A line has no time.
    """
    since: list[str] = []
    for line in lines:
        if isinstance(line.record, (StepBegan, StepPassed, BackPlanned)):
            since = []
        elif since or isinstance(line.record, CommandIntended):
            since.append(line.at)
    try:
        times = [datetime.fromisoformat(at) for at in (*since, now)]
        seconds = (times[-1] - times[0]).total_seconds()
        return seconds if times == sorted(times) and seconds < _LONGEST_S else None
    except (ValueError, TypeError) as error:
        raise JournalError(f"expected the time of the intent of a command, got {since[0]!r}") from error


def read_journal(content: bytes, source: str = "the journal") -> ReadJournal:
    """Read a journal; a last line that is incomplete is left out.

    Raises:
        JournalError: It begins as no journal does, a line was changed, or is no record of this version.
    """
    if content and not content.startswith(_BEGINNING):
        raise JournalError(f"{source}, line 1: expected a record of a roll, or an empty file: it is no journal")
    *lines, rest = content.split(b"\n")
    is_torn = bool(rest) and not _is_complete(rest)
    if rest and not is_torn:
        lines.append(rest)
    whole = len(content) - len(rest) * is_torn
    return ReadJournal(tuple(_parsed(lines, source)), whole, is_torn, bool(rest) and not is_torn)


def _is_complete(line: bytes) -> bool:
    try:
        parse_json(line.decode())
    except (InvalidInput, UnicodeDecodeError):
        return False
    return True


def _parsed(lines: Iterable[bytes], source: str) -> list[JournalLine]:
    parsed: list[JournalLine] = []
    for number, line in enumerate(lines, 1):
        try:
            parsed.append(_line(parse_json(_checked(line, parsed).decode())))
        except (InvalidInput, UnicodeDecodeError, _Mismatch) as error:
            raise JournalError(f"{source}, line {number}: expected a record of a roll: {error}") from None
    return parsed


def _checked(line: bytes, before: Sequence[JournalLine]) -> bytes:
    """Return a line without its checksum; ``_Mismatch`` if that is another one, or missing."""
    match = _CHECKED.fullmatch(line)
    if match is None:
        begun = before[0].record if before else None
        if isinstance(begun, PlanRecorded) and begun.format != _WITHOUT_CHECKSUMS:
            raise _Mismatch("it has no checksum")
        return line
    if (expected := f"{crc32(match['record']):08x}") != match["crc32"].decode():
        raise _Mismatch(f"it was changed: its checksum is {match['crc32'].decode()} instead of {expected}")
    return match["record"] + b"}"


class _Mismatch(ValueError):
    """A value of another kind."""


def _line(plain: Any) -> JournalLine:
    if not isinstance(plain, dict) or plain.get("record") not in [*KINDS]:
        raise _Mismatch(f"expected an object with record: {', '.join(KINDS)}")
    given = dict(plain)
    kind = KINDS[given.pop("record")]
    at = _value(str, given.pop("at", ""), "at")
    if kind is PlanRecorded and given.get("format") not in (_WITHOUT_CHECKSUMS, FORMAT):
        raise _Mismatch(f"expected format {FORMAT}, got {given.get('format')!r}: another version has written it")
    return JournalLine(at, _value(kind, given, "record"))


# -- plain values ----------------------------------------------------------------------------------------------------


def _plain(_owner: Any, _field: Any, value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _value(hint: Any, given: Any, where: str) -> Any:
    """Return the value of a type hint that plain values stand for; ``_Mismatch`` if they stand for none."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return given
    if origin in (Union, types.UnionType):
        if given is None:
            return None
        return _value(next(argument for argument in arguments if argument is not type(None)), given, where)
    if origin is tuple:
        return tuple(_value(arguments[0], item, where) for item in _of(list, given, where))
    if origin is not None and issubclass(origin, Mapping):
        return {str(key): _value(arguments[1], item, f"{where}.{key}") for key, item in _of(dict, given, where).items()}
    if has(hint):
        return _object(hint, _of(dict, given, where), where)
    if issubclass(hint, enum.Enum):
        try:
            return hint(given)
        except ValueError:
            raise _Mismatch(f"{where}: expected one of {', '.join(one.value for one in hint)}, got {given!r}") from None
    return _of(hint, given, where)


def _object(hint: type[Any], given: Mapping[str, Any], where: str) -> Any:
    known = {attribute.name: attribute.type for attribute in fields(resolve_types(hint))}
    if unknown := [key for key in given if key not in known]:
        raise _Mismatch(f"{where}: no key {unknown[0]!r} is known")
    try:
        return hint(**{key: _value(known[key], item, f"{where}.{key}") for key, item in given.items()})
    except TypeError as error:
        raise _Mismatch(f"{where}: {error}") from None


def _of(kind: type[Any], given: Any, where: str) -> Any:
    is_kind = isinstance(given, kind) and not (kind is not bool and isinstance(given, bool))
    if kind is float and isinstance(given, int) and not isinstance(given, bool):
        return float(given)
    if not is_kind:
        raise _Mismatch(f"{where}: expected {kind.__name__}, got {type(given).__name__}")
    return given
