"""A run told to a person, step by step: the words of the scenario, what they mean, and what happened."""

from __future__ import annotations

from typing import Any

from attrs import asdict, frozen

from spark_sim.brokers.scenario import BrokerScenario
from spark_sim.brokers.steps import begin, finish, play
from spark_sim.brokers.world import Told, World
from spark_sim.story import judgement


@frozen
class Chapter:
    """One step: the words of the scenario, what they mean, and what happened."""

    step: str
    meaning: str
    events: tuple[Told, ...]


@frozen
class Story:
    """A finished run: the cluster before the first step, a chapter for each step, and the judgement at the end."""

    scenario: BrokerScenario
    world: World
    chapters: tuple[Chapter, ...]

    @property
    def verdict(self) -> str:
        """``safe`` or ``unsafe``."""
        return "unsafe" if self.world.violations else "safe"

    def as_json(self) -> dict[str, Any]:
        """Return plain values for machines."""
        return {
            "scenario": str(self.scenario),
            "verdict": self.verdict,
            "violations": [asdict(violation) for violation in self.world.violations],
            "finalized": dict(self.world.cluster.finalized),
            "steps": [asdict(chapter) for chapter in self.chapters],
        }


def tell(scenario: BrokerScenario) -> Story:
    """Play a scenario and remember what happened in which step.

    >>> from spark_sim.brokers.reading import read_scenario
    >>> [chapter.step for chapter in tell(read_scenario("1@3.9.2 level 3.9 | crash 1")).chapters]
    ['1@3.9.2 level 3.9-IV0', 'crash 1', 'the end']
    """
    world = begin(scenario)
    chapters = [Chapter(scenario.head, _setting(scenario), world.events)]
    for step in scenario.steps:
        after = play(world, step)
        chapters.append(Chapter(str(step), step.meaning, after.events[len(world.events) :]))
        world = after
    judged = finish(world)
    chapters.append(Chapter("the end", judgement(judged.violations), judged.events[len(world.events) :]))
    return Story(scenario, judged, tuple(chapters))


def _setting(scenario: BrokerScenario) -> str:
    group = f", and a Streams group watches {scenario.watched}" if scenario.watched else ""
    return f"a cluster that speaks {scenario.dialect.name}{group}"
