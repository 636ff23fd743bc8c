"""Who is who in a capture: which members are one member under several ids, and what release each of them was.

A *life* is what one member remembers, from its start to its end: one ``StreamsPartitionAssignor`` object. A member that
rejoins keeps its life, though up to 2.5 it does so under a new member id; a restart begins another one. The rules:

1. Members with the same ``group.instance.id``, or else the same client id, may be one and the same member.
2. Another process id is another life. (Before 2.8 each start makes a new one, later it stands beside the state.)
3. With the same process id and the same member id it is the same life. If the member id has changed, a fresh start is
   told by what a running member cannot do: another supported version, from below version 3 to 3 and more or back, or a
   count of subscriptions (version 8 and later) that does not go on from where it was.
4. The release is that of the start to which the life belongs: where an instance has as many starts as lives, one after
   the other; else the last start before the snapshot in which the group had come to rest with it; with more lives than
   starts, some start has no snapshot, so the next step that fits stands in where that one cannot be. Without snapshots
   a client's lives take the steps in order, as far as version and consumer protocol fit; without steps, the newest
   release that fits stands in.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import define, evolve, field, frozen

from assignor.eras import era_of
from spark_sim.conform.capture import Capture, Generation, NotACapture, Seat, Snapshot
from spark_sim.conform.said import Sent, Unreadable, read_sent
from upgrade.config import StreamsConfig
from upgrade.errors import UpgradeError
from upgrade.releases import RELEASES, Release, release_named

# Who is a static member stands in the records; in a step of several instances it may be a template.
_KEYS: Final = frozenset(each.metadata["key"] for each in StreamsConfig.__attrs_attrs__) - {"group.instance.id"}
_TAG: Final = "client.tag."
_TASK_ASSIGNORS: Final = {"task.assignor.class", "internal.task.assignor.class"}
_THREAD: Final = re.compile(r"-StreamThread-(\d+)(-consumer)?$")


@frozen
class Step:
    """What a member was started as. ``text`` is how the capture says it.

    ``own_assignor``: tasks are placed by another task assignor than the release's default.
    """

    text: str
    release: Release
    config: StreamsConfig
    own_assignor: bool = False

    @classmethod
    def parse(cls, text: str) -> Step:
        """Read ``2.4.1,upgrade.from=2.3``. Settings that are not about rebalancing do not matter here."""
        name, *settings = text.split(",")
        pairs = dict(setting.split("=", 1) for setting in settings if "=" in setting)
        try:
            config = StreamsConfig.of({key: pairs[key] for key in pairs if key in _KEYS or key.startswith(_TAG)})
            return cls(text, release_named(name), config, own_assignor=not _TASK_ASSIGNORS.isdisjoint(pairs))
        except UpgradeError as error:
            raise NotACapture(f"step {text!r}: {error}") from error

    def fits(self, sent: Sent | Unreadable) -> bool:
        """Whether a member that was just started as this can have sent that."""
        if isinstance(sent, Unreadable):
            return False
        latest = sent.supported if sent.probes else self.release.latest_version
        pinned = self.release.pinned_version(self.config.upgrade_from)
        return (
            latest == self.release.latest_version
            and era_of(self.release.number).envelope == sent.envelope
            and (sent.used <= latest if sent.probes and not pinned else sent.used == (pinned or latest))
        )


@define(eq=False)
class Life:
    """One life. ``name`` is for people, ``number`` counts the lives of the same client.

    ``client`` is what it is known by from one life to the next, ``client_id`` tells its instance. ``first`` and
    ``last`` are the places of generations in the capture, ``step`` is None if nobody knows what it is.
    """

    client: str
    client_id: str
    number: int
    process_id: UUID | None
    members: set[str]
    first: int
    last: int
    said: Sent | Unreadable
    began: Sent | Unreadable
    name: str = ""
    step: Step | None = field(default=None)

    def is_still(self, seat: Seat, sent: Sent | Unreadable) -> bool:
        """Whether this is the same life (rule 3), given that client and process are the same."""
        if seat.member_id in self.members:
            return True
        if isinstance(sent, Unreadable) or isinstance(self.said, Unreadable):
            return False
        before = self.said
        if sent.supported != before.supported or sent.probes != before.probes:
            return False
        if sent.unique is None:
            return True
        goes_on = before.unique is not None and 0 < (sent.unique - before.unique) % 256 < _HALF
        return goes_on and sent.unique not in _FIRST

    def __str__(self) -> str:
        return self.name


_HALF: Final = 128
_FIRST: Final = {1, 2}
"""What a fresh member counts: since 2.2 a broker asks everybody to join twice."""

Cast = Sequence[Mapping[str, Life]]
"""For each generation of a capture: whose life is behind each member id."""


def recognised(capture: Capture) -> Cast:
    """Find out who is who; ``NotACapture`` if a step is nothing that could have been started."""
    lives: dict[str, list[Life]] = {}
    cast = [
        {seat.member_id: _whose(lives.setdefault(_client(seat), []), seat, at) for seat in generation.seats}
        for at, generation in enumerate(capture.generations)
    ]
    steps = {text: Step.parse(text) for text in (*capture.steps, *(each.step for each in capture.snapshots))}
    shown = places(capture)
    for client, its in lives.items():
        _name(client, its, cast)
        chosen = (
            _by_snapshots(capture, shown, steps, its) if capture.snapshots else _by_order(capture.steps, steps, its)
        )
        for life, text in zip(its, chosen, strict=True):
            life.step = steps[text] if text else _newest(life.began)
            life.step = life.step and _told_by_itself(life.step, life.began)
    return cast


def _client(seat: Seat) -> str:
    """Say by what a member is known again when it has another member id (rule 1)."""
    return seat.instance_id or seat.client_id or re.sub(r"-[0-9a-f-]{36}$", "", seat.member_id)


def _whose(lives: list[Life], seat: Seat, at: int) -> Life:
    sent = read_sent(seat.subscription)
    process_id = sent.process_id if isinstance(sent, Sent) else None
    for life in reversed(lives):
        if life.process_id == process_id and life.is_still(seat, sent):
            life.members.add(seat.member_id)
            life.last, life.said = at, sent
            return life
    client = _client(seat)
    life = Life(client, seat.client_id or client, len(lives) + 1, process_id, {seat.member_id}, at, at, sent, sent)
    lives.append(life)
    return life


def _name(client: str, lives: Sequence[Life], cast: Cast) -> None:
    """Name lives for people: short, and different where two sit in the same generation."""
    short = _THREAD.sub(lambda found: "" if found[1] == "1" else f"-{found[1]}", client)
    crowded = any(len([life for life in seats.values() if life.client == client]) > 1 for seats in cast)
    for life in lives:
        life.name = f"{short} ({str(life.process_id)[:8]})" if crowded else short


# -- releases (rule 4) -----------------------------------------------------------------------------------------------


def places(capture: Capture) -> list[int]:
    """Find the place of the generation that each snapshot shows: the last one with these members."""
    found: list[int] = []
    for snapshot in capture.snapshots:
        reached = found[-1] if found else -1
        shown = [at for at, each in enumerate(capture.generations) if at > reached and _shows(snapshot, each)]
        found.append(shown[-1] if shown else reached)
    return found


def at_once(capture: Capture, number: int) -> Iterator[Snapshot]:
    """Find the snapshots of what was started at once: from this one on, those that show the same members."""
    members = capture.snapshots[number].members
    return itertools.takewhile(lambda each: each.members == members, capture.snapshots[number:])


def _shows(snapshot: Snapshot, generation: Generation) -> bool:
    return snapshot.members == {seat.member_id for seat in generation.seats}


def _by_snapshots(
    capture: Capture, shown: Sequence[int], steps: Mapping[str, Step], lives: Sequence[Life]
) -> Iterator[str]:
    starts = [each.step for each in capture.snapshots if each.is_of(lives[0].client_id)]
    if len(starts) == len(lives):  # a snapshot taken too early shows the group as it was before the start
        yield from starts
        return
    for life in lives:
        first = next((number for number, place in enumerate(shown) if life.first <= place), len(shown) - 1)
        before = [*capture.snapshots[:first], *at_once(capture, first)]
        own = [each.step for each in before if each.is_of(life.client_id)]
        text = own[-1] if own else before[-1].step
        yield _fitting(steps, text, life.began) if len(starts) < len(lives) else text


def _fitting(steps: Mapping[str, Step], text: str, began: Sent | Unreadable) -> str:
    """Take a step, or the next one that fits if it does not: not every start has a snapshot."""
    texts = list(steps)
    in_turn = texts[texts.index(text) :] + texts
    return next((each for each in in_turn if steps[each].fits(began)), text)


def _by_order(texts: Sequence[str], steps: Mapping[str, Step], lives: Iterable[Life]) -> Iterator[str | None]:
    reached = -1
    for life in lives:
        later = range(reached + 1, len(texts))
        fitting = [at for at in later if steps[texts[at]].fits(life.began)]
        reached = min([*(fitting or later), len(texts) - 1])
        yield texts[reached] if texts else None


def _newest(began: Sent | Unreadable) -> Step | None:
    """Let the newest release of Kafka stand in that can have sent this."""
    steps = [Step(name, release, StreamsConfig()) for name, release in RELEASES.items() if release.released]
    return next((step for step in reversed(steps) if step.fits(began)), None)


def _told_by_itself(step: Step, began: Sent | Unreadable) -> Step:
    """Add the configuration that a member's own message tells."""
    if isinstance(began, Unreadable):
        return step
    config = step.config
    try:
        told = evolve(
            config,
            application_server=began.end_point or config.application_server,
            client_tags=began.tags or config.client_tags,
        )
        return evolve(step, config=told)
    except UpgradeError:  # a foreign member's nonsense; no leader minds
        return step
