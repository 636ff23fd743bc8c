"""Members who recall what was said: schedules differ in a few steps, and in all others everybody says the same.

What an assignor says follows from what it remembers and what it is told. Both are values; so each thing is asked once,
of the real one, and known from then on to all worlds of this process. Large groups are hardly ever twice in the same
situation, and nothing of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeVar

from assignor import Received, StreamsPartitionAssignor
from assignor.cluster import Cluster
from subscription_codec import TaskId, TopicPartition

T = TypeVar("T")
MOST_KNOWN: Final = 1 << 14
MOST_BYTES: Final = 1 << 11
"""Of what a member is told, as far as that is kept."""

_known: Final[dict[Hashable, tuple[Any, ...]]] = {}


def forget() -> None:
    """Let everything be asked anew, as who looks whether equal questions have equal answers has to."""
    _known.clear()


class RecallingAssignor(StreamsPartitionAssignor):
    """Says what an equal one has said. An error is not kept: who dies of it is not asked again."""

    def subscription(
        self,
        topics: Iterable[str] | None = None,
        *,
        sums: Mapping[TaskId, int] | None = None,
        owned: Iterable[TopicPartition] | None = None,
    ) -> bytes:
        """See ``StreamsPartitionAssignor``."""
        ask = super().subscription
        if topics is not None or sums is None or owned is not None:
            return ask(topics, sums=sums, owned=owned)
        return self._recalled(("subscription", frozenset(sums.items())), 16 * len(sums), lambda: ask(sums=sums))

    def assign(self, cluster: Cluster | Mapping[str, int], subscriptions: Mapping[str, bytes]) -> dict[str, bytes]:
        """See ``StreamsPartitionAssignor``."""
        ask = super().assign
        if not isinstance(cluster, Cluster):
            return ask(cluster, subscriptions)
        told = (cluster, frozenset(subscriptions.items()))
        return self._recalled(told, sum(map(len, subscriptions.values())), lambda: ask(cluster, subscriptions))

    def on_assignment(self, assignment: bytes) -> Received:
        """See ``StreamsPartitionAssignor``."""
        ask = super().on_assignment
        return self._recalled(assignment, len(assignment), lambda: ask(assignment))

    def _recalled(self, told: Hashable, size: int, ask: Callable[[], T]) -> T:
        key = (self._settings, self._member, self._completes, told)
        known = _known.get(key)
        if known is None:
            known = ask(), self._member, self._completes
            if size <= MOST_BYTES:
                if len(_known) >= MOST_KNOWN:
                    forget()
                _known[key] = known
        said: T
        said, self._member, self._completes = known
        return said
