"""Gates: what has to hold before a step, after it, and after a round.

A gate compares what is seen with what the roll knows. The rules of a kind of roll are a table of gates and the few
things that only they know.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from attrs import field, frozen

from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.journal import RollRecord
from streams_assignor.upgrade.roll.state import RollState

_SHOWN: Final = 5


class RollObservation(Protocol):
    """One look at what is rolled."""

    @property
    def seconds(self) -> float:
        """The time of a clock that never jumps."""
        ...

    def incarnations(self, instance: str) -> frozenset[str]:
        """Return what an instance has only until it is restarted, such as member ids; none: it is not there."""
        ...

    def owners(self) -> Mapping[str, str]:
        """Return the instance of each task; none if it has no tasks."""
        ...


O = TypeVar("O", bound=RollObservation)  # noqa: E741 - an observation
_O_contra = TypeVar("_O_contra", bound=RollObservation, contravariant=True)


class GatePhase(enum.Enum):
    """When a gate has to be open."""

    BEFORE = "before a step"
    COMMAND = "before a command"
    AFTER = "after a step"
    ROUND = "after a round"


class GateStatus(enum.Enum):
    """The verdicts of a gate."""

    PASSED = "passed"
    WAITING = "waiting"
    """Not yet, and time may help."""
    FAILED = "failed"
    """Time does not help."""


@frozen(kw_only=True)
class GateResult:
    """The verdict of a gate on one look."""

    gate: str
    status: GateStatus
    text: str = ""
    """The observation."""
    expected: str = ""
    kind: DeviationKind | None = None
    """The deviation if it fails, or does not pass in time; None: another gate has it."""
    instances: tuple[str, ...] = ()
    is_patient: bool = False
    """Whether it may take any time."""
    left_s: float = 0.0
    """How long it takes at least, if it waits for nothing but time."""


class AwaitedEvent(NamedTuple):
    """The event that a roll waits for; when it changes, the time restarts."""

    is_going_back: bool
    round: int
    """As ``RollState.at``."""
    steps: int
    """As ``RollState.steps``."""
    is_between_steps: bool
    waits: int
    """As ``RollState.waits``."""
    ended: tuple[tuple[str, str], ...] = ()
    """Instance and verb of each command of the step that has ended."""

    @classmethod
    def of(cls, state: RollState) -> AwaitedEvent:
        """Return the event that a state waits for."""
        ended = sorted(key for key, end in state.step.ended.items() if end) if state.step else ()
        return cls(state.is_going_back, state.at, state.steps, state.step is None, state.waits, tuple(ended))

    def is_of_same_look(self, other: AwaitedEvent | None) -> bool:
        """Whether at most commands have ended in between."""
        return other is not None and other._replace(ended=self.ended) == self

    def is_of_same_step(self, other: AwaitedEvent | None) -> bool:
        """Whether it is about the same step, also if looking began anew."""
        return other is not None and other._replace(waits=self.waits).is_of_same_look(self)


@frozen
class RollWatch:
    """The memory between looks, which is not in the journal."""

    awaited: AwaitedEvent | None = None
    """None before the first look."""
    began: float = 0.0
    memory: Any = field(default=None, hash=False)
    """The memory of the rules for the step."""
    lasting: Any = field(default=None, hash=False)
    """The memory of the rules for the whole roll."""

    def waited(self, seen: RollObservation) -> float:
        """Return the seconds since the awaited event is awaited."""
        return seen.seconds - self.began


@frozen
class RollGate(Generic[O]):
    """One gate."""

    name: str
    compares: str
    """The two compared facts."""
    meaning: str
    """Why it is there."""
    option: str
    """The option of the command line that changes it; empty: none."""
    phases: frozenset[GatePhase]
    check: Callable[[RollState, RollWatch, O], GateResult | None]
    """None: it does not concern this step."""


@frozen
class RollRules(Generic[O]):
    """The knowledge of one kind of roll beside the engine."""

    gates: tuple[RollGate[O], ...]
    remember: Callable[[RollState, Any, O], Any]
    """Take the memory and a look, and return the memory; it is None when a step begins, or as ``renew`` says."""
    follow: Callable[[RollState, Any, O], Any]
    """Take what is remembered of the whole roll and a look, and return it; it is None at the first look."""
    happened: Callable[[RollState, str, str, O], bool | None]
    """Whether a command of unknown outcome has done its work, by instance and verb; None: a look does not show it."""
    leader: Callable[[O], str | None]
    """The instance that leads; None if that is not seen."""
    absent: Callable[[RollState, O], tuple[str, ...]]
    """The instances that are to be there, and are not whole."""
    observed: Callable[[RollState, RollWatch, O], Mapping[str, Any]]
    """The result of a step, as plain values for its record."""
    joins: Callable[[RollState, RollWatch], RollRecord | None] = lambda _state, _watch: None
    """Return what is to be written down of instances that have joined again; None: nothing."""
    renew: Callable[[Any], Any] = lambda _memory: None
    """Return what is still remembered of a step when looking begins anew, as after an answer; None: nothing."""

    def results(self, phase: GatePhase, state: RollState, watch: RollWatch, seen: O) -> tuple[GateResult, ...]:
        """Return what the gates of a phase say."""
        found = (gate.check(state, watch, seen) for gate in self.gates if phase in gate.phases)
        return tuple(result for result in found if result is not None)


EVERY_PHASE: Final = frozenset({GatePhase.BEFORE, GatePhase.AFTER, GatePhase.ROUND})
"""Those at which the group has to be at rest, and not in the middle of a step."""


def passed(gate: str, text: str = "") -> GateResult:
    """Return the result of a gate that is open."""
    return GateResult(gate=gate, status=GateStatus.PASSED, text=text)


def waiting(gate: str, kind: DeviationKind | None, text: str, expected: str = "", **further: Any) -> GateResult:
    """Return the result of a gate that time may open."""
    return GateResult(gate=gate, status=GateStatus.WAITING, kind=kind, text=text, expected=expected, **further)


def failed(gate: str, kind: DeviationKind, text: str, expected: str, *instances: str) -> GateResult:
    """Return the result of a gate that time does not open."""
    return GateResult(gate=gate, status=GateStatus.FAILED, kind=kind, text=text, expected=expected, instances=instances)


def shortened(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
