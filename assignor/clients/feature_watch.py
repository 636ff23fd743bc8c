"""Polls the finalised feature levels of the cluster while the member leads (KIP-584, T0 and T3-4).

"use its admin client to periodically call DescribeFeatures on a random broker (...) presumably every minute". A
follower polls only while it has received a level that the cluster has not confirmed. While a member of the group
carries a higher level than the cluster has answered, a poll asks all brokers, because a single one may be stale. Polls
have a thread of their own, because the client's thread must not wait for a cluster that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Final, Protocol, runtime_checkable

from assignor.protocol.feature_levels import Levels
from upgrade.cluster.client.errors import ClusterError
from upgrade.cluster.features.rpc import FeatureMetadata

POLL_SECONDS: Final = 60.0
"""Time between two polls, in seconds."""


@runtime_checkable
class FeatureSource(Protocol):
    """Returns the features of a cluster, as ``upgrade.cluster.client.feature_client.FeatureClient`` does."""

    def describe(self) -> FeatureMetadata:
        """Return what a random broker knows; ``ClusterError`` if none answers."""
        ...

    def describe_newest(self) -> FeatureMetadata:
        """Return what the broker with the highest epoch knows; ``ClusterError`` if none answers."""
        ...


class FeatureWatch:
    """Polls ``features`` between `start` and `stop`.

    ``on_levels`` is called with the finalised levels on the polling thread. ``call_later(seconds, call)`` calls
    something on the client's thread. A poll asks for the newest features if ``in_doubt()``, called on that thread.
    """

    def __init__(
        self,
        features: FeatureSource,
        on_levels: Callable[[Levels], None],
        call_later: Callable[[float, Callable[[], None]], None],
        poll_seconds: float = POLL_SECONDS,
        *,
        in_doubt: Callable[[], bool] = lambda: False,
    ) -> None:
        self._features = features
        self._on_levels = on_levels
        self._call_later = call_later
        self._poll_seconds = poll_seconds
        self._in_doubt = in_doubt
        self._leadership: object = None  # identity of the current start(); None: stopped

    def start(self, *, immediately: bool) -> None:
        """Start polling, ``immediately`` or after one interval; no effect if it has started."""
        if self._leadership is None:
            self._leadership = object()
            self._call_later(0.0 if immediately else self._poll_seconds, partial(self._poll, self._leadership))

    def stop(self) -> None:
        """Stop polling; the result of a poll under way is dropped."""
        self._leadership = None

    @property
    def running(self) -> bool:
        """Whether it has started and not stopped."""
        return self._leadership is not None

    def _poll(self, term: object) -> None:
        if self._leadership is term:
            ask = self._features.describe_newest if self._in_doubt() else self._features.describe
            Thread(target=self._describe, args=(term, ask), name="feature-watch", daemon=True).start()
            self._call_later(self._poll_seconds, partial(self._poll, term))

    def _describe(self, term: object, ask: Callable[[], FeatureMetadata]) -> None:
        with suppress(ClusterError):  # the next poll asks again
            found = ask().finalized
            if self._leadership is term:
                self._on_levels(found)
