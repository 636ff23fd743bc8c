"""Shares the tokens of one ``oauth_cb`` between both clients.

librdkafka requests a new token when four fifths of the last one's lifetime are over, kafka-python whenever a connection
is made or authenticates again. So both use the same token, one thread at a time calls ``oauth_cb``, and a valid token
stays in use if ``oauth_cb`` fails, as in Java (``ExpiringCredentialRefreshingLogin``). Neither library can pass its
token to the other.
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

from streams_assignor.clients.confluent._errors import kafka_exception
from streams_assignor.upgrade.redaction import redact, stop_redacting

log = logging.getLogger(__name__)

OAuthCallback = Callable[[str], tuple[Any, ...]]

_REFRESH_FRACTION: Final = 0.75  # of the lifetime: before librdkafka requests another token
_REDACTED_TOKENS: Final = 4  # only the last ones, as older tokens are out of use and a member may run for years
_EXPECTED: Final = "a function that returns (token, expiry in seconds since 1970[, principal[, extensions]])"


@frozen
class _Token:
    """A result of ``oauth_cb``, with its validity in seconds of ``time.time()``."""

    answer: tuple[Any, ...] = field(repr=False)
    issued: float
    expiry: float

    @classmethod
    def parse(cls, answer: Any, now: float) -> _Token:
        """Check a result; the ``ValueError`` does not contain the token."""
        match answer:
            case (str(token), int() | float() as expiry, *_) if isinstance(answer, tuple):
                if expiry <= now:
                    raise ValueError(f"expected a token that is valid, got one that expired {now - expiry:.0f} s ago")
                return cls((redact(token), float(expiry), *answer[2:]), now, float(expiry))
        raise ValueError(f"expected {_EXPECTED}, got {type(answer).__name__}")

    def is_fresh(self) -> bool:
        return time.time() < self.issued + _REFRESH_FRACTION * (self.expiry - self.issued)


class SharedTokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no type information
    """Calls the user's ``oauth_cb`` for both clients; call `start` before either is created.

    ``oauth_cb`` is called on the thread that creates the consumer, then on librdkafka's and on the member's I/O thread.
    """

    def __init__(self, oauth_cb: OAuthCallback, config: str = "") -> None:
        super().__init__()
        self._oauth_cb = oauth_cb
        self._config = config
        self._lock = Lock()
        self._last: _Token | None = None
        self._initial_unused = False
        self._redacted: deque[str] = deque()

    def start(self) -> None:
        """Get the first token; ``KafkaException`` (_AUTHENTICATION) if ``oauth_cb`` fails.

        librdkafka would wait ten seconds for it, and then not report the exception.
        """
        try:
            self._renew()
        except Exception as error:
            raise kafka_exception(KafkaError._AUTHENTICATION, f"oauth_cb has failed: {_describe(error)}") from error
        self._initial_unused = True

    def refresh(self, _config: str) -> tuple[Any, ...]:
        """Return a new token to librdkafka; raises what ``oauth_cb`` raises."""
        with self._lock:
            if self._initial_unused and self._last:
                self._initial_unused = False
            else:
                try:
                    self._renew()
                except Exception as error:
                    log.warning("oauth_cb has failed, and is called again soon: %s", _describe(error))
                    raise
            return self._current().answer

    def token(self) -> str:
        """Return a valid token to kafka-python; ``SaslAuthenticationFailedError`` if there is none."""
        with self._lock:
            if self._last is None or not self._last.is_fresh():
                try:
                    self._renew()
                except Exception as error:
                    if self._last is None or self._last.expiry <= time.time():
                        why = f"oauth_cb has failed, and there is no other valid token: {_describe(error)}"
                        raise SaslAuthenticationFailedError(why) from error
                    log.warning("oauth_cb has failed, the last token stays in use: %s", _describe(error))
            token: str = self._current().answer[0]
            return token

    def extensions(self) -> Mapping[str, str]:
        """Return the extensions of the last token."""
        more = self._last.answer[3:] if self._last else ()
        return more[0] if more else {}

    def _current(self) -> _Token:
        assert self._last is not None, "set by _renew"
        return self._last

    def _renew(self) -> None:
        self._last = _Token.parse(self._oauth_cb(self._config), time.time())
        token = self._last.answer[0]
        if token not in self._redacted:
            self._redacted.append(token)
        if len(self._redacted) > _REDACTED_TOKENS:
            stop_redacting(self._redacted.popleft())


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
