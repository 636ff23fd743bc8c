"""The verdict on a capture: what agrees, where the first difference is, who died of what, and how it ended."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from attrs import asdict, frozen

from probing.events import AssignorError
from spark_sim.conform.capture import Capture, NotACapture, instance_prefix
from spark_sim.conform.compare import Difference, given
from spark_sim.conform.lives import Life, at_once, places, recognised
from spark_sim.conform.replay import Replay
from spark_sim.conform.said import Got, Sent, read_sent
from spark_sim.conform.scene import Death, Part, Scene
from spark_sim.conform.surroundings import surroundings_of

DEAD: Final = "its process had ended"
STARTED_AGAIN: Final = "it had been started again"
LEFT: Final = "it had left the group"
NO_RECORD: Final = "it has not had a record since"
NOT_SEEN: Final = "it is not seen again"

_QUIET: Final = AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA.name
"""What stops a thread without an exception: up to 2.3 its process lives on without it."""


@frozen
class Run:
    """One of the two replays: its generations, and all that differs in it, in order."""

    scenes: tuple[Scene, ...]
    differences: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


@frozen
class Ending:
    """A member of ours that dies, and what the capture shows of that."""

    death: Death
    shown: str


@frozen
class Verdict:
    """All that was found out. ``other_deaths`` are instances, and the step they died in, whose end no rule explains."""

    step_by_step: Run
    end_to_end: Run
    deaths: tuple[Ending, ...]
    other_deaths: tuple[tuple[int, str], ...]
    settled: bool

    @property
    def agrees(self) -> bool:
        """Whether nothing differs either way."""
        return self.step_by_step.agrees and self.end_to_end.agrees

    @property
    def first(self) -> Difference | None:
        """The first difference, step by step if there is one that way."""
        return next(iter(self.step_by_step.differences + self.end_to_end.differences), None)

    @property
    def seen_deaths(self) -> int:
        """How many of our deaths the capture shows; the others it only does not refute."""
        return sum(ending.shown == DEAD for ending in self.deaths)

    @property
    def subscriptions(self) -> int:
        """How many subscriptions were compared, step by step."""
        return sum(part.our_sent is not None for part in self._parts)

    @property
    def answers(self) -> int:
        """How many answers were compared, step by step."""
        return sum(part.our_got is not None for part in self._parts)

    @property
    def _parts(self) -> Iterator[Part]:
        return (part for scene in self.step_by_step.scenes for part in scene.parts)

    @property
    def generations(self) -> int:
        """How many generations have members."""
        return sum(bool(scene.parts) for scene in self.step_by_step.scenes)

    @property
    def same_tasks(self) -> int:
        """In how many generations everybody gets the very same tasks from our leader."""
        return sum(scene.same_tasks is True for scene in self.step_by_step.scenes)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for machines."""
        return {
            "verdict": _word(self),
            "generations": self.generations,
            "subscriptions": self.subscriptions,
            "answers": self.answers,
            "same_tasks": self.same_tasks,
            "step_by_step": _run_json(self.step_by_step),
            "end_to_end": _run_json(self.end_to_end),
            "deaths": [
                {
                    "member": each.death.life.name,
                    "step": _step(each.death.life),
                    "generation": each.death.number,
                    "reason": each.death.reason,
                    "captured": each.shown,
                }
                for each in self.deaths
            ],
            "other_deaths": [{"instance": instance, "step": step} for instance, step in self.other_deaths],
            "settled": self.settled,
            "notes": [
                {"generation": scene.number, "text": note} for scene in self.step_by_step.scenes for note in scene.notes
            ],
        }


def conform(capture: Capture) -> Verdict:
    """Replay a capture both ways; ``NotACapture`` if nothing in it can be compared.

    The end-to-end replay goes as far as its first difference: what comes after it would be its consequence.
    """
    _check_beginning(capture)
    cast = recognised(capture)
    around = surroundings_of(capture, cast)
    stepwise = Replay(capture, cast, around)
    scenes = tuple(stepwise.scenes())
    shown = places(capture)
    settled = _settled(capture, shown)
    endings = [_ending(capture, shown, death) for death in stepwise.deaths]
    differences = [
        *(difference for scene in scenes for difference in scene.differences),
        *(found for ending in endings if isinstance(found := ending, Difference)),
        *(_not_at_rest(stepwise, scenes) if settled else ()),
    ]
    deaths = tuple(ending for ending in endings if isinstance(ending, Ending))
    verdict = Verdict(
        step_by_step=Run(scenes, tuple(differences)),
        end_to_end=_end_to_end(Replay(capture, cast, around, after=stepwise), settled=settled),
        deaths=deaths,
        other_deaths=tuple(_others(capture, shown, deaths)),
        settled=settled,
    )
    if not verdict.subscriptions and verdict.agrees:
        notes = dict.fromkeys(note for scene in scenes for note in scene.notes)
        raise NotACapture(f"nothing in it can be compared: {'; '.join(notes) or 'no generation has members'}")
    return verdict


def _check_beginning(capture: Capture) -> None:
    """Refuse a capture that begins in the midst of a group's life: what its members went through before is unknown."""
    first = next((generation for generation in capture.generations if generation.seats), None)
    if first is None or first.number <= 1:
        return
    for seat in first.seats:
        sent = read_sent(seat.subscription)
        if isinstance(sent, Sent) and (sent.ran or sent.owned):
            who = seat.client_id or seat.member_id
            raise NotACapture(f"what came before generation {first.number} is missing: {who} already has tasks")


def _end_to_end(replay: Replay, *, settled: bool) -> Run:
    scenes: list[Scene] = []
    for scene in replay.scenes():
        scenes.append(scene)
        if scene.differences:
            return Run(tuple(scenes), tuple(scene.differences))
    return Run(tuple(scenes), tuple(_unfinished(replay, scenes)) if settled else ())


# -- how it ends -----------------------------------------------------------------------------------------------------


def _settled(capture: Capture, shown: Sequence[int]) -> bool:
    """Whether the capture ends with a group at rest, as its last snapshot tells."""
    if not capture.generations or not capture.snapshots:
        return False
    return capture.snapshots[-1].settled and shown[-1] == len(capture.generations) - 1


def _not_at_rest(replay: Replay, scenes: Sequence[Scene]) -> Iterator[Difference]:
    for player in sorted(replay.restless, key=lambda player: player.life.name):
        reason = player.received.follow_up.value if player.received and player.received.follow_up else "-"
        ours = f"rejoins at once ({reason})"
        yield Difference(scenes[-1].number, player.life.name, "in the end", "is at rest", ours, player.history)


def _unfinished(replay: Replay, scenes: Sequence[Scene]) -> Iterator[Difference]:
    """Let our members go on until they have come to rest, and look at their tasks: each is owned once."""
    captured = given(part.got for part in scenes[-1].parts)
    ours = replay.come_to_rest(scenes[-1])
    if ours is not None and (captured.keys() != ours.keys() or max(ours.values(), default=1) > 1):
        yield Difference(
            scenes[-1].number, "", "tasks in the end", _counts(captured), _counts(ours), "our members have come to rest"
        )


def _counts(tasks: Any) -> str:
    return ", ".join(f"{task}" + (f" ({count} times)" if count > 1 else "") for task, count in sorted(tasks.items()))


# -- who dies --------------------------------------------------------------------------------------------------------


def _ending(capture: Capture, shown: Sequence[int], death: Death) -> Ending | Difference:
    """Hold a death of ours against the snapshot after it."""
    after = [number for number, place in enumerate(shown) if place >= death.place]
    if not after or not any(each.is_of(death.life.client_id) for each in capture.snapshots):
        return Ending(death, NOT_SEEN)
    number = after[0]
    alike = tuple(at_once(capture, number))
    client_id = death.life.client_id
    later = () if death.at_once else capture.snapshots[number + len(alike) :]
    until = (*alike, *itertools.takewhile(lambda each: not each.is_of(client_id), later))
    if any(client_id.startswith(instance_prefix(instance)) for each in until for instance in each.dead):
        return Ending(death, DEAD)
    if number and death.life.first <= shown[number - 1] and any(each.is_of(client_id) for each in alike):
        return Ending(death, STARTED_AGAIN)
    if death.reason.startswith(_QUIET) and death.life.members.isdisjoint(capture.snapshots[number].members):
        return Ending(death, LEFT)
    if not death.at_once:
        return Ending(death, NO_RECORD)
    why = f"ours is {_step(death.life)}"
    return Difference(death.number, death.life.name, "dies", "lives on", f"dies: {death.reason}", why)


def _others(capture: Capture, shown: Sequence[int], endings: Sequence[Ending]) -> Iterator[tuple[int, str]]:
    """Find the deaths in the capture that ours do not die: of state stores, of bugs that are not about rebalancing."""
    before: set[int] = set()
    for number, snapshot in enumerate(capture.snapshots):
        for instance in snapshot.dead:
            if instance not in before or snapshot.instance == instance:
                explained = any(
                    ending.death.life.client_id.startswith(instance_prefix(instance))
                    and (shown[number - 1] if number else -1) <= ending.death.place <= shown[number]
                    for ending in endings
                )
                if not explained:
                    yield instance, snapshot.step
        before = set(snapshot.dead)


# -- as plain values -------------------------------------------------------------------------------------------------


def _word(judged: Verdict | Run) -> str:
    return "agrees" if judged.agrees else "differs"


def _step(life: Life) -> str:
    return life.step.text if life.step else "?"


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "verdict": _word(run),
        "differences": [asdict(difference) for difference in run.differences],
        "generations": [
            {"generation": scene.number, "members": [_part_json(part) for part in scene.parts]} for scene in run.scenes
        ],
    }


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "member": part.life.name,
        "member_id": part.seat.member_id,
        "step": _step(part.life),
        "leader": part.leads,
        "captured": _said_json(part.sent, part.got),
        "ours": _said_json(part.our_sent, part.our_got),
    }


def _said_json(sent: object, got: object) -> dict[str, Any]:
    return {
        "sends": {"version": sent.used, "supported": sent.supported} if isinstance(sent, Sent) else None,
        "gets": {
            "version": got.version,
            "supported": got.supported,
            "error_code": got.error_code,
            "active": [str(task) for task in sorted(got.inputs)],
            "standby": [str(task) for task in sorted(got.standby)],
        }
        if isinstance(got, Got)
        else None,
    }
