"""Tokens of OAUTHBEARER by the client credentials grant (KIP-768), as Kafka's ``OAuthBearerLoginCallbackHandler`` does.

librdkafka has it itself (``sasl.oauthbearer.method=oidc``); kafka-python calls a provider, which asks here.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

from attrs import define, field, frozen

from streams_assignor.upgrade.redaction import redact

_SECONDS: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_REFRESH_FRACTION: Final = 0.8
"""The share of a token's lifetime after which it is replaced. Java: ``sasl.login.refresh.window.factor``."""
_NO_LIFETIME: Final = 60.0
"""Seconds for which a token without ``expires_in`` is used."""


@frozen
class ClientCredentials:
    """Where tokens are, and who asks for them; ``repr`` shows no secret."""

    endpoint: str
    """The URL of the token endpoint, with ``http`` or ``https``."""
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    scope: str = ""

    def fetch(self) -> tuple[str, float]:
        """Return a token and for how many seconds it is valid; ``OSError`` if there is none, with the reason."""
        from urllib.error import HTTPError  # most clients need no token, and a command starts sooner
        from urllib.request import Request, urlopen

        form = {"grant_type": "client_credentials", **({"scope": self.scope} if self.scope else {})}
        login = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        headers = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}", "Accept": "application/json"}
        request = Request(self.endpoint, urlencode(form).encode(), headers)
        try:
            with urlopen(request, timeout=_SECONDS) as answer:
                return _parse_token(answer.read(_MOST_BYTES))
        except HTTPError as error:
            raise OSError(f"{self._place}: expected a token, got HTTP status {error.code} ({error.reason})") from None
        except (OSError, ValueError) as error:
            raise OSError(f"{self._place}: expected a token, got none: {getattr(error, 'reason', error)}") from None

    @property
    def _place(self) -> str:
        url = urlsplit(self.endpoint)
        return f"token endpoint {url.hostname}{url.path}"


@define
class TokenSource:
    """Keeps a token until most of its lifetime is over; used by any thread."""

    credentials: ClientCredentials
    _clock: Callable[[], float] = time.monotonic
    _token: str = field(default="", repr=False)
    _until: float = 0.0
    _lock: Any = field(factory=Lock, repr=False, eq=False)

    def token(self) -> str:
        """Return a valid token; ``OSError`` if there is none."""
        with self._lock:
            if not self._token or self._clock() >= self._until:
                token, seconds = self.credentials.fetch()
                self._token, self._until = redact(token), self._clock() + _REFRESH_FRACTION * seconds
            return self._token


def _parse_token(text: bytes) -> tuple[str, float]:
    answer = json.loads(text)
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        raise ValueError("the answer has no access_token")
    seconds = answer.get("expires_in")
    return token, float(seconds) if isinstance(seconds, int | float) and seconds > 0 else _NO_LIFETIME
