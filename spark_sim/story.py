"""A run told to a person: the steps of its scenario, and in each what every member did, generation by generation.

The terminal and the page show the same story; this file knows neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import Factory, asdict, define, frozen

from spark_sim.history import Event, digest
from spark_sim.scenario import Scenario, Step
from spark_sim.world import World

EXPLAINED: Final[Mapping[tuple[str, str], str]] = {
    ("bounce", ""): "stop {0}, wait until its session has timed out, start it again{1}",
    ("bounce", "fast"): "restart {0}{1} before the group notices that it was gone",
    ("bounce", "leave"): "stop {0}, which leaves the group, and start it again{1}",
    ("stop", ""): "stop {0}; the group notices when the sessions time out",
    ("stop", "leave"): "stop {0}, leaving the group",
    ("start", ""): "start {0}{1}",
    ("crash", ""): "{0} crashes; the group notices when the session times out",
    ("crash", "mid"): "{0} will crash in the next rebalance, between JoinGroup and SyncGroup",
    ("crash", "late"): "{0} will crash in the rebalance after the next, between JoinGroup and SyncGroup",
    ("elect", "oldest"): "when the leader goes, the member that is longest in the group takes over",
    ("elect", "newest"): "when the leader goes, the member that joined last takes over",
    ("elect", ""): "when the leader goes, {0} takes over if it is in the group",
    ("lose", ""): "topic {0} is deleted",
    ("find", ""): "topic {0} is created again",
    ("shutdown", ""): "{0} asks that the whole application ends",
    ("hold", ""): "from here on nothing happens by itself",
    ("settle", ""): "everything that is left to be done happens",
    ("join", ""): "JoinGroup of {0}",
    ("lead", ""): "SyncGroup of {0}, which assigns",
    ("take", ""): "SyncGroup answers {0}",
    ("expire", ""): "the group notices that {0} has gone, as the session times out",
    ("late", ""): "the rebalance timeout passes, and {0} has not joined",
}
"""What a step means, by verb and mode: {0} are its members, {1} what they are started as."""

HAS_HAPPENED: Final = frozenset(
    {"leads", "assigned", "dropped", "revoked", "follows", "rejoins", "died", "ended", "violation", "remark"}
)
"""What happens once a generation is there; anything else after it belongs to the next one."""


@frozen
class Chapter:
    """One step: the words of the scenario, what they mean, and what happened."""

    step: str
    meaning: str
    events: tuple[Event, ...]


@frozen
class Story:
    """A finished run in chapters: the start of the group, one for each step, and the judgement at the end, if any."""

    world: World
    chapters: tuple[Chapter, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for machines."""
        world = self.world
        return {
            "scenario": str(world.scenario),
            "verdict": "unsafe" if world.violations else "safe",
            "violations": [asdict(violation) for violation in world.violations],
            "generations": world.coordinator.generation,
            "max_rebalances": world.most_rebalances,
            "probes": world.probes,
            "digest": digest(world.events),
            "steps": [
                {
                    "step": chapter.step,
                    "meaning": chapter.meaning,
                    "events": [event._asdict() | {"text": event.text} for event in chapter.events],
                }
                for chapter in self.chapters
            ],
        }


def tell(scenario: Scenario) -> Story:
    """Run a scenario and remember what happened in which step.

    >>> [chapter.step for chapter in tell(Scenario.parse("A@2.0 B@2.0 | crash A")).chapters]
    ['A@2.0.1 B@2.0.1', 'crash A', 'the end']
    """
    world = World(scenario)
    told = 0

    def chapter(step: str, meaning: str) -> Chapter:
        nonlocal told
        events, told = tuple(world.events[told:]), len(world.events)
        return Chapter(step, meaning, events)

    world.begin()
    names = [name for name, _ in scenario.members]
    chapters = [chapter(scenario.head, f"start {anded(names)}")]
    for step in scenario.steps:
        world.play(step)
        chapters.append(chapter(str(step), meaning_of(step)))
    world.finish()
    return Story(world, (*chapters, chapter("the end", judgement(world.violations))))


def meaning_of(step: Step) -> str:
    """Say what a step does.

    >>> meaning_of(Scenario.parse("A@1.1 | bounce A>2.0,upgrade.from=1.1").steps[0])
    'stop A, wait until its session has timed out, start it again as 2.0.1 with upgrade.from=1.1'
    """
    names = [*step.names]
    started_as = {str(instance).replace(",", " with ") for _, instance in step.members if instance is not None}
    return EXPLAINED[step.verb, step.mode].format(
        anded(names), f" as {anded(sorted(started_as))}" if started_as else ""
    )


def judgement(violations: Iterable[Any]) -> str:
    """Say what was violated, each property once."""
    broken = dict.fromkeys(violation.property for violation in violations)
    return f"violated: {'; '.join(broken)}" if broken else "every property holds"


def anded(words: list[str]) -> str:
    """Write a list as prose does."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# -- generation by generation ----------------------------------------------------------------------------------------


@define
class Part:
    """What one member did on the way to a generation and in it; ``before`` tells of starts and stops, in order."""

    before: list[str] = Factory(list)
    sent: int | None = None
    knows: int | None = None
    leads: bool = False
    received: int | None = None
    active: str = ""
    standby: str = ""
    dropped: bool = False
    rejoins: str | None = None
    died: str | None = None


@define
class Generation:
    """One generation: its number, when it was there (simulated ms), everybody's part, and properties violated in it."""

    number: int
    at: int
    parts: dict[str, Part] = Factory(dict)
    violations: list[str] = Factory(list)


def generations(events: Iterable[Event]) -> Iterator[Generation]:
    """Order events by the generation that they lead to.

    >>> story = tell(Scenario.parse("A@2.0 B@2.0"))
    >>> [(generation.number, sorted(generation.parts)) for generation in generations(story.world.events)]
    [(1, ['A', 'B'])]
    """
    current: Generation | None = None
    happened = False
    for event in events:
        if current is not None and happened and event.kind not in HAS_HAPPENED:
            yield current
            current, happened = None, False
        current = current or Generation(event.generation, event.at)
        current.number, current.at = event.generation, event.at
        happened = happened or event.kind in HAS_HAPPENED
        _add(current, event)
    if current is not None:
        yield current


def _add(generation: Generation, event: Event) -> None:
    if event.kind in {"violation", "remark"}:
        generation.violations.append(event.text)
        return
    part = generation.parts.setdefault(event.member, Part())
    values: Any = event.values
    match event.kind:
        case "joined":
            part.sent, part.knows = values
        case "leads":
            part.leads = True
        case "assigned":
            part.received, _, part.active, part.standby = values
        case "dropped":
            part.received, part.dropped = values[0], True
        case "revoked" | "follows" | "rejoins":
            part.rejoins = event.text if part.rejoins is None else f"{part.rejoins}; {event.text}"
        case "died" | "ended":
            part.died = event.text
        case _:
            part.before.append(event.text)
