"""A capture lived through by our members, generation by generation, under the captured schedule and leaders.

Two ways. *Step by step*: our leader gets the captured subscriptions and our members get the captured answers, so what
differs in one generation does not spoil the next. *End to end*: from start to end our own bytes travel; only who is
there, who leads, who missed an answer and which topics were missing is taken from the capture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from assignor import FatalError
from spark_sim.conform.capture import Capture, Generation
from spark_sim.conform.compare import (
    answers_differ,
    comparable,
    given,
    got_facts,
    may_lag,
    same_tasks,
    sent_facts,
)
from spark_sim.conform.lives import Cast, Life
from spark_sim.conform.player import Player
from spark_sim.conform.said import Sent, Unreadable, read_got, read_sent
from spark_sim.conform.scene import Death, Part, Scene
from spark_sim.conform.surroundings import Surroundings
from subscription_codec import TaskId
from upgrade.errors import UpgradeError

_MOST_ROUNDS: Final = 10
"""So many rebalances come to rest if any do: a task moves in two."""


class Replay:
    """Iterate over ``scenes`` once; then ``deaths``, ``missed`` and ``restless`` are known.

    ``after``: the finished step-by-step replay of the same capture; with it the replay is end to end.
    """

    def __init__(self, capture: Capture, cast: Cast, surroundings: Surroundings, after: Replay | None = None) -> None:
        self._capture: Final = capture
        self._cast: Final = cast
        self._surroundings: Final = surroundings
        self._own: Final = after is not None
        self._players: dict[Life, Player] = {}
        self._stored: dict[str, frozenset[TaskId]] = {}
        self._ends: dict[TaskId, int] = {}
        self._answered: dict[str, bytes] = {}
        self.missed: Final[set[tuple[int, Life]]] = set() if after is None else after.missed
        self.deaths: Final[list[Death]] = []

    def scenes(self) -> Iterator[Scene]:
        """Play one generation after the other."""
        for at, generation in enumerate(self._capture.generations):
            if not self._own:
                self._die_unseen(at)
            yield self._scene(at, generation)
            self._note_deaths(at)

    @property
    def restless(self) -> list[Player]:
        """Our members that want to rejoin at once when the capture ends."""
        players = [self._players[life] for life in self._cast[-1].values()] if self._cast else []
        return [player for player in players if not player.died and player.received and player.received.rejoin]

    def come_to_rest(self, last: Scene) -> Counter[TaskId] | None:
        """Let the members of the last generation go on until nothing changes; count the owners of each task.

        None if nobody can tell: somebody is not ours, the leader is not known, or it may let members catch up first.
        Nobody owns anything if the leader dies.
        """
        players = {part.seat.member_id: self._players[part.life] for part in last.parts}
        leading = next((part.life for part in last.parts if part.leads), None)
        if leading is None or leading.step is None or may_lag(leading.step, self._surroundings.furthest):
            return None
        leader = self._players[leading].assignor
        sent = {part.seat.member_id: part.sent for part in last.parts}
        tasks: list[Counter[TaskId]] = []
        while leader and (len(tasks) < 2 or tasks[-1] != tasks[-2]) and len(tasks) < _MOST_ROUNDS:
            offered = {
                member: blob
                for member, player in players.items()
                if isinstance(said := sent[member], Sent) and (blob := player.says(last.number, said))
            }
            if len(offered) < len(players):
                return None
            try:
                answers = leader.assign(self._surroundings.cluster(len(self._cast) - 1, self._ends), offered)
            except FatalError:
                return Counter()
            for member, player in players.items():
                player.hears(last.number, answers.get(member, b""))
            tasks.append(given(read_got(answer) for answer in answers.values()))
        return tasks[-1] if tasks else None

    # -- one generation ----------------------------------------------------------------------------------------------

    def _scene(self, at: int, generation: Generation) -> Scene:
        scene = Scene(generation.number, self._parts(at, generation))
        joining = [part for part in scene.parts if self._joins(at, part)]
        offered = {part.seat.member_id: self._join(at, scene, part) for part in joining}
        if not generation.answered or not joining:
            return scene
        answers = self._come_back(scene, joining) if self._is_again(at) else self._lead(at, scene, offered)
        for part in joining:
            self._hear(scene, part, answers)
        return scene

    def _parts(self, at: int, generation: Generation) -> list[Part]:
        cast = self._cast[at]
        return [
            Part(
                life=cast[seat.member_id],
                seat=seat,
                leads=seat.member_id == generation.leader,
                sent=read_sent(seat.subscription),
                got=read_got(seat.assignment),
            )
            for seat in sorted(generation.seats, key=lambda seat: cast[seat.member_id].name)
        ]

    def _joins(self, at: int, part: Part) -> bool:
        """Whether a member has joined for this record: not if it is the same generation again, without a leader's work.

        That is written when a static member comes back in time (KIP-345).
        """
        return not self._is_again(at) or part.life not in self._cast[at - 1].values()

    def _is_again(self, at: int) -> bool:
        """Whether this is the generation before, written again."""
        return at > 0 and self._capture.generations[at - 1].number == self._capture.generations[at].number

    # -- joining -----------------------------------------------------------------------------------------------------

    def _join(self, at: int, scene: Scene, part: Part) -> bytes:
        """Let ours join, compare, and return what the leader hears of it."""
        captured = part.seat.subscription
        player = self._players.get(part.life) or self._start(scene, part.life)
        if isinstance(part.sent, Unreadable):
            scene.notes.append(f"{part.life} is not compared: {part.sent.problem}")
            return captured
        if self._is_away(at, part):
            scene.notes.append(f"{part.life} was away: the broker speaks for a static member")
            return captured
        for task, known in part.sent.sums.items():
            self._ends[task] = max(self._ends.get(task, 0), known)
        if not self._own and player.has_missed(part.sent):
            scene.notes.append(f"{part.life} had not heard the answer of generation {player.heard_in}")
            self.missed.add((player.heard_in, part.life))
            player.forget()
        if player.died:
            ours = f"died in generation {player.died_at}: {player.died}"
            scene.differ(part.life.name, ("sends", str(part.sent), ours), player.history)
            player.retire()
        if player.assignor is None:
            return captured
        history = player.history
        findings = [] if self._own else list(player.findings(part.sent, part.seat, self._sat(at, part)))
        blob = player.says(scene.number, part.sent)
        if blob is None:
            findings.append(("sends", str(part.sent), f"dies: {player.died}"))
            player.retire()
        else:
            part.our_sent = read_sent(blob)
            findings += sent_facts(part.sent, part.our_sent)
        for finding in findings:
            scene.differ(part.life.name, finding, history)
        return blob if self._own and blob else captured

    def _start(self, scene: Scene, life: Life) -> Player:
        stored = self._stored.get(life.client, frozenset())
        try:
            player = Player.started(life, self._surroundings.topology, stored)
        except UpgradeError as error:
            player = Player.refused(life, scene.number, error)
        if player.assignor is None and not player.died:
            scene.notes.append(f"{life} is not compared: no release is known that it could be of")
        self._players[life] = player
        return player

    def _sat(self, at: int, part: Part) -> bool:
        """Whether the member sat in the record before, under the same member id."""
        return at > 0 and self._cast[at - 1].get(part.seat.member_id) is part.life

    def _is_away(self, at: int, part: Part) -> bool:
        """Whether the broker has kept a static member's place: its very bytes are those of the record before."""
        before = self._capture.generations[at - 1].seats if at and part.seat.instance_id else ()
        return any(
            seat.member_id == part.seat.member_id and seat.subscription == part.seat.subscription for seat in before
        )

    # -- answering ---------------------------------------------------------------------------------------------------

    def _lead(self, at: int, scene: Scene, offered: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Let our leader answer, and compare; return the answers (the captured ones, if it is not known or dies)."""
        captured = {part.seat.member_id: part.seat.assignment for part in scene.parts}
        leader = next((part for part in scene.parts if part.leads), None)
        player = self._players[leader.life] if leader else None
        if leader is None or player is None or player.assignor is None or leader.life.step is None:
            scene.notes.append("answers are not compared: the leader is not known")
            return captured
        step = leader.life.step
        heard = ", ".join(
            f"{part.life.name} {part.sent if isinstance(part.sent, Sent) else '?'}" for part in scene.parts
        )
        why = f"{leader.life} leads as {step.text} (rules {step.release.rules}), and heard {heard}"
        try:
            answers = player.assignor.assign(self._surroundings.cluster(at, self._ends), offered)
        except FatalError as error:
            scene.differ(leader.life.name, ("as leader", "answers everybody", f"dies: {error}"), why)
            return captured
        captured_tasks = given(part.got for part in scene.parts)
        more = (
            ()
            if self._own
            else comparable(
                step,
                [part.sent for part in scene.parts],
                self._surroundings.furthest,
                scarce=len(captured_tasks) < len(scene.parts),
            )
        )
        for part in scene.parts:
            part.our_got = read_got(answers.get(part.seat.member_id, b""))
            for finding in got_facts(part.got, part.our_got, more):
                scene.differ(part.life.name, finding, why)
        for finding in answers_differ(captured_tasks, given(part.our_got for part in scene.parts), more):
            scene.differ("", finding, why)
        scene.same_tasks = all(same_tasks(part.got, part.our_got) for part in scene.parts)
        return answers

    def _come_back(self, scene: Scene, joining: Sequence[Part]) -> Mapping[str, bytes]:
        """Give members that came back in time what their place in the group was given before."""
        scene.notes.append(f"{_names(joining)} came back as a static member: nobody had to be asked")
        answers = {part.seat.member_id: self._answered.get(part.life.client, b"") for part in joining}
        for part in joining:
            part.our_got = read_got(answers[part.seat.member_id])
            for finding in got_facts(part.got, part.our_got):
                scene.differ(part.life.name, finding, "a static member that comes back in time gets what it had")
        return answers

    def _hear(self, scene: Scene, part: Part, answers: Mapping[str, bytes]) -> None:
        answer = answers.get(part.seat.member_id, b"") if self._own else part.seat.assignment
        self._answered[part.life.client] = answer
        player = self._players[part.life]
        if answer and not (self._own and (scene.number, part.life) in self.missed):
            player.hears(scene.number, answer)
        self._stored[part.life.client] = player.stored

    # -- dying -------------------------------------------------------------------------------------------------------

    def _note_deaths(self, at: int) -> None:
        """Write down who of ours does not come back, and would not: it has died, or would if it joined once more."""
        number = self._capture.generations[at].number
        for life in self._cast[at].values():
            player = self._players[life]
            if life.last == at and player.died:
                self.deaths.append(Death(life, player.died_at, at, player.died))
            elif life.last == at and player.doomed:
                self.deaths.append(Death(life, player.doomed_at, at, player.doomed, at_once=False))
            elif life.last == at and at + 1 < len(self._cast) and (reason := player.would_die_joining()):
                self.deaths.append(Death(life, number + 1, at, reason))

    def _die_unseen(self, at: int) -> None:
        """Find who died as leader of generations that are not in the capture: nobody had an answer there.

        Only who is never seen again can have died; and who was started again right then was stopped, not dead. They
        heard each other and those who come next.
        """
        if at == 0 or not self._cast[at - 1]:
            return
        before, generation = self._capture.generations[at - 1], self._capture.generations[at]
        starting = {life.client for life in self._cast[at].values() if life.first == at}
        gone = {
            seat.member_id: life
            for seat in before.seats
            if (life := self._cast[at - 1][seat.member_id]).last == at - 1 and life.client not in starting
        }
        group = {seat.member_id: seat.subscription for seat in generation.seats}
        group |= {member: blob for member, life in gone.items() if (blob := self._players[life].would_say())}
        in_line = sorted(group.keys() & gone.keys(), key=lambda member: (member != before.leader, gone[member].name))
        cluster = self._surroundings.cluster(at, self._ends)
        for number, member in zip(range(before.number + 1, generation.number), in_line, strict=False):
            reason = self._players[gone[member]].would_die_leading(cluster, group)
            if not reason:
                break
            self.deaths.append(Death(gone[member], number, at, reason))
            del group[member]


def _names(parts: Sequence[Part]) -> str:
    return " and ".join(part.life.name for part in parts)
