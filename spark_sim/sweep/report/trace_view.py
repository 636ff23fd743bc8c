"""The trace of a run as its drawing has it: a lane for each member or node, the steps, and the rows of each step.

A row is a generation of a group, an epoch of a streams group, or events of a cluster that do not follow on each other.
A cell has marks, each a kind (a class of ``trace.css``) and a text. ``trace.mjs`` draws it, in every page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import Factory, asdict, define

GENERATION_EVENTS: Final = frozenset(
    {"leads", "assigned", "dropped", "revoked", "follows", "rejoins", "failed", "ended", "violation", "remark"}
)
"""Events of a generation; any other event after them belongs to the next generation."""
_BELOW: Final = {"violation": "violations", "remark": "remarks"}
"""Event => field of the row that has it."""
_FIRST_PROBED_VERSION: Final = 3
"""Members of older versions are not probed: they take a lower version, or fail."""
_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("leads", "elected"), "leader"),
    **dict.fromkeys(("crashed", "failed", "exited", "rebalance_timeout", "topic_lost"), "failed"),
    **dict.fromkeys(("revoked", "follows", "rejoins", "unchanged", "not_subscribed", "probing_rebalance"), "turn"),
    **dict.fromkeys(("dropped", "refused", "skipped", "blocked", "shutdown_requested", "ended", "expired"), "turn"),
    **dict.fromkeys(("finalized", "learned", "epoch", "renegotiated", "coordinator"), "version"),
    **dict.fromkeys(("tasks",), "tasks"),
}
"""Event => kind of its mark; the other events are ``event``."""

Mark = tuple[str, str]


@define
class TraceRow:
    """One row; ``cells`` by lane, ``violations`` and ``remarks`` stand below it."""

    title: str = ""
    time: str = ""
    cells: dict[str, list[Mark]] = Factory(dict)
    violations: list[str] = Factory(list)
    remarks: list[str] = Factory(list)

    def add(self, event: Mapping[str, Any], lane: str, marks: Iterable[Mark]) -> None:
        """Add what an event shows; a violation says of whom it is."""
        if event["kind"] in _BELOW:
            text = event["text"].removeprefix(f"{event['kind'].upper()} ")
            getattr(self, _BELOW[event["kind"]]).append(f"{lane}: {text}" if lane else text)
        else:
            self.cells.setdefault(lane, []).extend(marks)

    def as_json(self) -> dict[str, Any]:
        """Return plain values without what is empty."""
        return {name: value for name, value in asdict(self).items() if value}


def trace_view(steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the drawing of the steps of a trace, which are plain values as ``Trace.as_json`` has them.

    >>> from streams_assignor.spark_sim.model.scenario import Scenario
    >>> from streams_assignor.spark_sim.sweep.traces import trace
    >>> view = trace_view(trace(Scenario.parse("A@2.0 B@2.0")).as_json()["steps"])
    >>> view["lanes"], [row["title"] for row in view["steps"][0]["rows"]]
    (['A', 'B'], ['generation 1'])
    """
    sent: dict[str, int] = {}
    shown = [(step, [*_rows(step["events"], sent)]) for step in steps]
    lanes = {lane for _, rows in shown for row in rows for lane in row.cells}
    return {
        "lanes": sorted(lanes),
        "steps": [
            {"step": step["step"], "meaning": step["meaning"], "rows": [row.as_json() for row in rows]}
            for step, rows in shown
        ],
    }


def _rows(events: Sequence[Mapping[str, Any]], sent: dict[str, int]) -> Iterator[TraceRow]:
    is_group = "generation" in next(iter(events), {})
    return _by_generation(events, sent) if is_group else _by_subject(events)


def _by_generation(events: Iterable[Mapping[str, Any]], sent: dict[str, int]) -> Iterator[TraceRow]:
    """Order the events of a group by the generation that they lead to; ``sent`` keeps the last version of a member."""
    row: TraceRow | None = None
    is_begun = False
    for event in events:
        kind, values, member = event["kind"], event["values"], event["member"]
        if row is not None and is_begun and kind not in GENERATION_EVENTS:
            yield row
            row, is_begun = None, False
        row = row or TraceRow()
        row.title, row.time = f"generation {event['generation']}", f"{event['at'] / 1000:g} s"
        is_begun = is_begun or kind in GENERATION_EVENTS
        if kind == "joined":
            sent[member] = values[0]
        own = _EXPLAINED.get(kind)
        marks = own(values, sent.get(member, 0)) if own else [(_KINDS.get(kind, "event"), event["text"])]
        row.add(event, member, marks)
    if row is not None:
        yield row


def _joined(values: Sequence[Any], _sent: int) -> list[Mark]:
    used, supported = values
    return [("version", f"sends v{used}" + (f", supports v{supported}" if supported > 0 else ""))]


def _leads(_values: Sequence[Any], _sent: int) -> list[Mark]:
    return [("leader", "leader")]


def _received(version: int, sent: int) -> Mark:
    is_probe = _FIRST_PROBED_VERSION <= version < sent
    return ("turn", f"gets v{version}, probed") if is_probe else ("version", f"gets v{version}")


def _assigned(values: Sequence[Any], sent: int) -> list[Mark]:
    version, _, active, standby = values
    tasks = ("tasks", "no tasks" if active == "-" else active.replace(",", " "))
    standbys = [] if standby == "-" else [("standby", f"standby {standby.replace(',', ' ')}")]
    return [_received(version, sent), tasks, *standbys]


def _dropped(values: Sequence[Any], sent: int) -> list[Mark]:
    return [_received(values[0], sent), ("turn", "drops the assignment")]


_EXPLAINED: Final[Mapping[str, Callable[[Sequence[Any], int], list[Mark]]]] = {
    "joined": _joined,
    "leads": _leads,
    "assigned": _assigned,
    "dropped": _dropped,
}
"""Events whose marks are shorter than their text; the second argument is the version that the member sent last."""


def _by_subject(events: Iterable[Mapping[str, Any]]) -> Iterator[TraceRow]:
    """Order the events of nodes, or of a streams group: a row begins where a subject comes again after another one."""
    row, last = TraceRow(), ""
    for event in events:
        kind, text = event["kind"], event["text"]
        lane, _, number = event["who"].partition("#")  # A#1 is the first member id of A
        is_epoch = kind == "epoch"
        if is_epoch or (kind not in _BELOW and lane in row.cells and lane != last):
            if row.as_json():
                yield row
            row = TraceRow(text.removeprefix("the group is in ") if is_epoch else "")
        if not is_epoch:
            row.add(event, lane, [(_KINDS.get(kind, "event"), f"{event['who']} {text}" if number else text)])
        last = lane
    if row.as_json():
        yield row
