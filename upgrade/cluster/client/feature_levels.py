"""Lets a group follow the finalized feature levels of its cluster (KIP-584): an extension of a client adapter.

"use its admin client to periodically call DescribeFeatures on a random broker (...) presumably every minute". A
follower polls only while it has received a level that the cluster has not confirmed. While a member of the group
carries a higher level than the cluster has answered, a poll asks all brokers, because a single one may be stale. Polls
have a thread of their own, because the client's thread must not wait for a cluster that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Final, Protocol, runtime_checkable

from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.cluster.features.carried_levels import (
    NO_LEVELS,
    CarriedLevels,
    Levels,
    levels_above,
    merge_levels,
)
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata
from streams_assignor.upgrade.errors import ConfigException

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

    ``on_levels`` is called with the finalized levels on the polling thread. ``call_later(seconds, call)`` calls
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
            finalized = ask().finalized
            if self._leadership is term:
                self._on_levels(finalized)


class FeatureLevels(CarriedLevels):
    """Carries the levels of features for one member, and asks the cluster: pass it to an adapter as ``extension``.

    Args:
        watches: names of features whose finalized levels the group carries.
        features: the source that a leader polls for these levels. A member with it believes no level that this source
            has not answered; without it, a member believes and a leader passes on what other members carry.
        every_seconds: time between two polls of `features`.
        on_levels: called with the levels of the watched features when they have risen, before the listener is called.

    Raises:
        ConfigException: for names that no feature can have, and for `features` that cannot be asked.
    """

    def __init__(
        self,
        watches: Iterable[str],
        features: FeatureSource | None = None,
        *,
        every_seconds: float = POLL_SECONDS,
        on_levels: Callable[[Levels], None] | None = None,
    ) -> None:
        if features is not None and not isinstance(features, FeatureSource):
            raise ConfigException(
                f"expected features with the methods describe and describe_newest, such as a FeatureClient, got "
                f"{type(features).__name__}"
            )
        super().__init__(watches, confirms=features is not None)
        self._features = features
        self._every_seconds = every_seconds
        self._on_levels = on_levels
        self._announced = self._doubted = NO_LEVELS
        self._attached = self._leads = self._closed = False
        self._watch: FeatureWatch | None = None

    # -- called by the adapter ----------------------------------------------------------------------------------------

    def attach(
        self,
        call_later: Callable[[float, Callable[[], None]], None],
        rejoin: Callable[[Hashable, Callable[[], bool]], None],
    ) -> None:
        """Begin as the extension of a member; ``ConfigException`` if it is that of another one."""
        if self._attached:
            raise ConfigException("expected FeatureLevels of its own for each member, got those of another member")
        self._attached = True
        self._call_later, self._rejoin = call_later, rejoin
        if self._features is not None:
            self._watch = FeatureWatch(
                self._features,
                self.on_answer,
                call_later,
                self._every_seconds,
                in_doubt=lambda: bool(self._levels_in_doubt()),
            )

    def on_joined(self, *, leads: bool) -> None:
        """Poll while leading or while a level is in doubt; immediately if one is missing or newly in doubt.

        KIP-584 has only the leader poll: a follower asks once for each level that rises, unless a member lies.
        """
        self._leads = leads
        before, self._doubted = self._doubted, self._levels_in_doubt()
        if self._watch:
            if levels_above(self._doubted, before):
                self._watch.stop()  # it may have planned the next poll for later
            if leads or self._doubted:
                missing = self.watches - self.levels.keys()
                self._watch.start(immediately=bool(missing or self._doubted))
            else:
                self._watch.stop()
        self._announce()

    def close(self) -> None:
        """Stop polling; a late answer is ignored."""
        self._closed = True
        if self._watch:
            self._watch.stop()

    # -- the answers of the cluster -----------------------------------------------------------------------------------

    def on_answer(self, finalized: Levels) -> None:
        """Store finalized levels, and apply them on the client's thread. Not called on that thread."""
        self.observe(finalized)
        self._call_later(0.0, self._apply)  # on that thread no assignment arrives in between

    def _apply(self) -> None:
        """Believe the levels that are confirmed now; a leader rejoins if the group does not carry all."""
        if self._closed:
            return
        self.confirm()
        observed = self.observed
        if self._leads and self.needs_rejoin_for(observed):
            self._rejoin(
                tuple(sorted(observed.items())),
                lambda: self._leads and not self._closed and self.observed == observed,
            )
        elif self._watch and not self._leads and not self.unconfirmed:
            self._watch.stop()
        self._announce()

    def _levels_in_doubt(self) -> Levels:
        """Return the levels that members of the group carry above what the cluster has answered."""
        withheld = self.withheld if self._leads else NO_LEVELS
        return levels_above(merge_levels(withheld, self.unconfirmed), self.observed)

    def _announce(self) -> None:
        if self._on_levels and self.levels != self._announced:
            self._on_levels(self.levels)
            self._announced = self.levels
