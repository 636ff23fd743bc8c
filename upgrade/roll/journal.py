"""The journal: what was planned, intended, done and seen, one JSON object a line.

What is intended is on disk before it happens. So after a crash the last line says what is known: an intent without an
end has an unknown outcome.
"""

from __future__ import annotations

import enum
import json
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Union, get_args, get_origin

from attrs import asdict, field, fields, frozen, has, resolve_types

from upgrade.errors import UpgradeError
from upgrade.input_values import InvalidInput, parse_json
from upgrade.roll.deviations import DeviationKind, SafeOption
from upgrade.roll.expectation import NO_FORECAST, Expectation
from upgrade.roll.plan import RollPlan, RollRound

FORMAT: Final = 1
"""Of the journal; another one is refused."""
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
    """Whether the last line was incomplete, and is dropped."""


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
class StepPassed:
    """A step went well."""

    step: int
    gates: Mapping[str, str] = field(factory=dict, hash=False)
    """What each gate saw."""
    observed: Mapping[str, Any] = field(factory=dict, hash=False)
    """What came of the step, beside the expectation."""


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
    | StepPassed
    | RoundVerified
    | DeviationFound
    | QuestionAnswered
    | BackPlanned
    | RollEnded
)
KINDS: Final[Mapping[str, type[Any]]] = {
    "plan": PlanRecorded,
    "resumed": RollResumed,
    "step": StepBegan,
    "intent": CommandIntended,
    "command": CommandEnded,
    "passed": StepPassed,
    "verified": RoundVerified,
    "deviation": DeviationFound,
    "answer": QuestionAnswered,
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
        """Return the line, with its end."""
        return json.dumps(self.as_json(), ensure_ascii=False, separators=(",", ":")) + "\n"


@frozen
class ReadJournal:
    """A journal that was read."""

    lines: tuple[JournalLine, ...]
    whole_bytes: int
    """The length of all complete lines: what follows is torn."""
    is_torn: bool = False


def read_journal(content: bytes, source: str = "the journal") -> ReadJournal:
    """Read a journal; an incomplete last line is left out.

    Raises:
        JournalError: A line is no record of this version.
    """
    complete, _, rest = content.rpartition(b"\n")
    whole = len(content) - len(rest)
    lines = [line for line in complete.split(b"\n") if whole]
    return ReadJournal(tuple(_parsed(lines, source)), whole, bool(rest))


def _parsed(lines: Iterable[bytes], source: str) -> Iterator[JournalLine]:
    for number, line in enumerate(lines, 1):
        try:
            yield _line(parse_json(line.decode()))
        except (InvalidInput, UnicodeDecodeError, _Mismatch) as error:
            raise JournalError(f"{source}, line {number}: expected a record of a roll: {error}") from None


class _Mismatch(ValueError):
    """A value of another kind."""


def _line(plain: Any) -> JournalLine:
    if not isinstance(plain, dict) or plain.get("record") not in KINDS:
        raise _Mismatch(f"expected an object with record: {', '.join(KINDS)}")
    given = dict(plain)
    kind = KINDS[given.pop("record")]
    at = _value(str, given.pop("at", ""), "at")
    if kind is PlanRecorded and given.get("format") != FORMAT:
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
