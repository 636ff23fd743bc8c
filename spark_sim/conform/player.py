"""Our member in the place of a captured one: the assignor of its release, living through what the capture tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Final

from attrs import define, field

from assignor import FatalError, Received, StreamsPartitionAssignor, Topology
from assignor.cluster import Cluster
from probing import AssignorError, Rejoining
from spark_sim.conform.capture import Seat
from spark_sim.conform.compare import Finding
from spark_sim.conform.lives import Life
from spark_sim.conform.said import Sent, read_got
from spark_sim.history import tasks_text
from subscription_codec import TaskId
from upgrade.errors import UpgradeError

_LIVES_UNTIL_A_RECORD: Final = {"g0"}
"""The consumer of 0.10.0 swallows what goes wrong with an answer: its member stays in the group without tasks, and dies
of the first record that it has no task for."""


@define(eq=False)
class Player:
    """One life played. ``assignor`` is None if nobody knows what it is (a release from the future, foreign bytes).

    ``died`` says why, if ours could not go on, and ``died_at`` in which generation; ``doomed`` and ``doomed_at``
    likewise, if it goes on until the next record. ``heard_in`` is the generation of the last answer.
    """

    life: Life
    assignor: StreamsPartitionAssignor | None = None
    died: str = ""
    died_at: int = -1
    doomed: str = ""
    doomed_at: int = -1
    heard_in: int = -1
    received: Received | None = None
    _before: StreamsPartitionAssignor | None = field(default=None, alias="before")
    _answer: bytes = b""

    @classmethod
    def started(cls, life: Life, topology: Topology, stored: Iterable[TaskId]) -> Player:
        """Start a life; ``UpgradeError`` if its release refuses its configuration."""
        if life.step is None:
            return cls(life)
        step = life.step
        return cls(
            life,
            StreamsPartitionAssignor(
                topology, step.config, process_id=life.process_id, release=step.release, stored=stored
            ),
        )

    @classmethod
    def refused(cls, life: Life, number: int, error: UpgradeError) -> Player:
        """Stand for a life that cannot begin."""
        return cls(life, died=f"does not start: {error}", died_at=number)

    @property
    def stored(self) -> frozenset[TaskId]:
        """The tasks whose state it leaves behind."""
        return self.assignor.member.stored if self.assignor else frozenset()

    @property
    def history(self) -> str:
        """What it has gone through, for people."""
        if self.life.step is None:
            return ""
        what = f"ours is {self.life.step.text} (rules {self.life.step.release.rules}), and "
        if self.heard_in < 0:
            return f"{what}has just started"
        return f"{what}was answered {read_got(self._answer)} in generation {self.heard_in}"

    # -- joining -----------------------------------------------------------------------------------------------------

    def findings(self, sent: Sent, seat: Seat, sat_there: bool) -> Iterator[Finding]:
        """Find what a captured member says about itself that cannot be after what it was answered.

        ``sat_there``: it was in the record before, under the same member id.
        """
        if self.assignor is None:
            return
        member = self.assignor.member
        if not sent.ran <= member.previous_active:
            yield "ran tasks", tasks_text(sent.ran), f"was given {tasks_text(member.previous_active)}"
        if not sent.owned <= member.owned:
            yield "owns partitions", _listed(sent.owned), f"was given {_listed(member.owned)}"
        leaves = self.received is not None and self.received.rejoin is Rejoining.LEAVE_AND_JOIN
        if leaves and sat_there and seat.instance_id is None:
            yield "rejoins", "under the same member id", "under a new one"

    def says(self, number: int, sent: Sent) -> bytes | None:
        """Join with the subscription that ours writes where a captured member wrote ``sent``; None if it dies of it."""
        if self.assignor is None:
            return None
        if sent.error_code == AssignorError.SHUTDOWN_REQUESTED:
            self.assignor.request_shutdown()
        try:
            return self.assignor.subscription(sent.topics, sums=dict.fromkeys(self.stored, 0))
        except FatalError as error:
            self._die(number, error)
            return None

    def would_say(self) -> bytes | None:
        """Return what it would join with next; None if it cannot."""
        try:
            return copy(self.assignor).subscription() if self.assignor and not self.died else None
        except FatalError:
            return None

    def would_die_joining(self) -> str:
        """Say of what it would die if it joined once more; "" if it would not."""
        if self.assignor is None or self.died:
            return ""
        try:
            copy(self.assignor).subscription()
        except FatalError as error:
            return str(error)
        return ""

    # -- leading -----------------------------------------------------------------------------------------------------

    def would_die_leading(self, cluster: Cluster, group: Mapping[str, bytes]) -> str:
        """Say of what it would die as the leader of a group; "" if it would not."""
        if self.assignor is None or self.died:
            return ""
        try:
            copy(self.assignor).assign(cluster, group)
        except FatalError as error:
            return str(error)
        return ""

    # -- being answered ----------------------------------------------------------------------------------------------

    def hears(self, number: int, answer: bytes) -> None:
        """Take an answer."""
        if self.assignor is None or self.died:
            return
        self._before, self._answer, self.heard_in = copy(self.assignor), answer, number
        try:
            self.received = self.assignor.on_assignment(answer)
        except FatalError as error:
            if self.life.step and self.life.step.release.rules in _LIVES_UNTIL_A_RECORD:
                self.assignor, self.doomed, self.doomed_at = self._before, str(error), number
            else:
                self._die(number, error)
            return
        if self.received.rejoin is Rejoining.LEAVE_AND_JOIN and self.assignor.member.cooperative:
            self.assignor.lost()  # to unsubscribe is to give up everything

    def has_missed(self, sent: Sent) -> bool:
        """Whether the captured member has not heard the last answer, by what it says it had and the version it sends.

        The broker keeps the leader's answer, but who has begun to rejoin by then does not get it. A version that the
        answer would have changed tells only if nothing else shows that it was heard, and if it would not have killed.
        """
        if self.assignor is None or self._before is None:
            return False
        if sent.joined is not None and sent.joined < self.heard_in:
            return True
        after, before = self.assignor.member, self._before.member
        if sent.used == before.version.used != after.version.used <= after.version.latest:
            return sent.ran <= before.previous_active and sent.owned <= before.owned
        return (not sent.ran <= after.previous_active and sent.ran <= before.previous_active) or (
            not sent.owned <= after.owned and sent.owned <= before.owned
        )

    def forget(self) -> None:
        """Take back the last answer."""
        self.assignor, self._before, self.received = self._before, None, None
        self.died = self.doomed = ""

    def retire(self) -> None:
        """Give up: it has been told of, and there is nothing more to compare."""
        self.assignor, self.died = None, ""

    def _die(self, number: int, error: FatalError) -> None:
        self.died, self.died_at = str(error), number


def _listed(partitions: Iterable[object]) -> str:
    return ", ".join(map(str, sorted(partitions))) or "none"  # type: ignore[type-var]  # topic partitions are tuples
