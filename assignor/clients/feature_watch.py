"""How a leader learns that a feature has been raised: it asks the cluster once in a while (KIP-584, T0 and T3-4).

"use its admin client to periodically call DescribeFeatures (...) presumably every minute". Only a leader asks, and on a
thread of its own: the client's must not wait for a cluster that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Final, Protocol

from assignor.carried_levels import Levels
from upgrade.features.rpc import ClusterError, Described

EVERY_SECONDS: Final = 60.0


class Features(Protocol):
    """Who can be asked: an ``upgrade.features.client.FeatureClient``, or something like it."""

    def describe(self) -> Described:
        """Ask any node; ``ClusterError`` if none answers."""
        ...


class FeatureWatch:
    """Asks as long as its member leads: `heard` gets the finalised levels, on the thread that has asked.

    `later(seconds, call)` calls something on the client's thread.
    """

    def __init__(
        self,
        features: Features,
        heard: Callable[[Levels], None],
        later: Callable[[float, Callable[[], None]], None],
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self._features = features
        self._heard = heard
        self._later = later
        self._every_seconds = every_seconds
        self._term: object = None

    def lead(self, *, at_once: bool) -> None:
        """Begin to ask, `at_once` or when the time has come; who leads already goes on as before."""
        if self._term is None:
            self._term = object()
            self._later(0.0 if at_once else self._every_seconds, partial(self._look, self._term))

    def follow(self) -> None:
        """Stop asking: somebody else leads now, or nobody knows who."""
        self._term = None

    def _look(self, term: object) -> None:
        if self._term is term:
            Thread(target=self._ask, args=(term,), name="feature-watch", daemon=True).start()
            self._later(self._every_seconds, partial(self._look, term))

    def _ask(self, term: object) -> None:
        with suppress(ClusterError):  # it will be asked again
            found = self._features.describe().finalized
            if self._term is term:
                self._heard(found)
