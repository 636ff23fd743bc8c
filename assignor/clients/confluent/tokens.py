"""One ``oauth_cb`` for both clients: asked once for each token, and never by two threads at the same time.

librdkafka asks for a new token when four fifths of the last one's time are over, kafka-python whenever a connection is
made or logs in again. So what one of them was given serves the other, too, and outlives a failure of the function for
as long as it is valid, as in Java (``ExpiringCredentialRefreshingLogin``).
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final

from attrs import field, frozen
from confluent_kafka import KafkaError
from kafka.errors import SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from assignor.clients.confluent.errors import failed
from upgrade.secrets import forget, hidden

log = logging.getLogger(__name__)

OAuthCallback = Callable[[str], tuple[Any, ...]]

_FRESH: Final = 0.75  # of its time: before librdkafka wants another one
_KEPT_SECRET: Final = 4  # the last ones: those before are out of use, and a member may live for years
_SHAPE: Final = "a function that returns (token, expiry in seconds since 1970[, principal[, extensions]])"


@frozen
class _Token:
    """What a user's function has returned, and from when to when it serves, in ``time.time()``."""

    answer: tuple[Any, ...] = field(repr=False)
    made: float
    expiry: float

    @classmethod
    def of(cls, answer: Any, now: float) -> _Token:
        """Check it; ``ValueError`` without the token in it."""
        match answer:
            case (str(token), int() | float() as expiry, *_) if isinstance(answer, tuple):
                if expiry <= now:
                    raise ValueError(f"expected a token that is valid, got one that expired {now - expiry:.0f} s ago")
                return cls((hidden(token), float(expiry), *answer[2:]), now, float(expiry))
        raise ValueError(f"expected {_SHAPE}, got {type(answer).__name__}")

    def is_fresh(self) -> bool:
        return time.time() < self.made + _FRESH * (self.expiry - self.made)


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no type information
    """Asks the user's ``oauth_cb`` on behalf of both; call `begin` before either does.

    It is called on the thread that makes the consumer, then on librdkafka's and on the member's I/O thread.
    """

    def __init__(self, oauth_cb: OAuthCallback, config: str = "") -> None:
        super().__init__()
        self._oauth_cb = oauth_cb
        self._config = config
        self._lock = Lock()
        self._last: _Token | None = None
        self._unused = False
        self._told: deque[str] = deque()

    def begin(self) -> None:
        """Get the first token; ``KafkaException`` (_AUTHENTICATION) if there is none.

        librdkafka would wait for it for ten seconds, and then not say what the function has raised.
        """
        try:
            self._renew()
        except Exception as error:
            raise failed(KafkaError._AUTHENTICATION, f"oauth_cb has failed: {_words(error)}") from error
        self._unused = True

    def for_records(self, _config: str) -> tuple[Any, ...]:
        """Answer librdkafka, which wants a new one; what the user's function raises comes out."""
        with self._lock:
            if self._unused and self._last:
                self._unused = False
            else:
                try:
                    self._renew()
                except Exception as error:
                    log.warning("oauth_cb has failed, and is called again soon: %s", _words(error))
                    raise
            return self._valid().answer

    def token(self) -> str:
        """Answer kafka-python, which takes any that is valid; ``SaslAuthenticationFailedError`` if there is none."""
        with self._lock:
            if self._last is None or not self._last.is_fresh():
                try:
                    self._renew()
                except Exception as error:
                    if self._last is None or self._last.expiry <= time.time():
                        why = f"oauth_cb has failed, and there is no other valid token: {_words(error)}"
                        raise SaslAuthenticationFailedError(why) from error
                    log.warning("oauth_cb has failed, the last token serves on: %s", _words(error))
            token: str = self._valid().answer[0]
            return token

    def extensions(self) -> Mapping[str, str]:
        """Return what came with the last token."""
        more = self._last.answer[3:] if self._last else ()
        return more[0] if more else {}

    def _valid(self) -> _Token:
        assert self._last is not None, "renewed just before, or there was one"
        return self._last

    def _renew(self) -> None:
        self._last = _Token.of(self._oauth_cb(self._config), time.time())
        token = self._last.answer[0]
        if token not in self._told:
            self._told.append(token)
        if len(self._told) > _KEPT_SECRET:
            forget(self._told.popleft())


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
