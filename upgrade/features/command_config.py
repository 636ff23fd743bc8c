"""The properties file of ``--command-config``: Kafka's names for how to connect, as kafka-python's settings.

What it holds is never shown: neither by ``repr`` nor in an error, which names keys and no values.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from attrs import field, frozen

from upgrade.errors import ConfigException, shown
from upgrade.secrets import hidden
from upgrade.values import server_list

_log = logging.getLogger(__name__)

_LARGEST: Final = 2**31 - 1  # Java's int


def _milliseconds(text: str) -> int:
    # The length first: Python refuses to convert thousands of digits with an error of its own.
    if not (text.isdecimal() and len(text) <= 10 and int(text) <= _LARGEST):
        raise ValueError(f"expected a number of milliseconds, at most {_LARGEST}")
    return int(text)


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.upper() not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return text.upper()

    return read


def _servers(text: str) -> str:
    try:
        return server_list(text)
    except ConfigException:  # its words have the value in them
        raise ValueError("expected HOST:PORT,...") from None


def _pem_only(text: str) -> None:
    if text.upper() != "PEM":
        raise ValueError(
            "expected PEM: Python reads no Java key stores; convert it, for example with keytool and openssl"
        )


# What Kafka's key is called in kafka-python (None: nothing to hand over), and how its value is read; ValueError says
# what was expected.
_KEYS: Final[Mapping[str, tuple[str | None, Callable[[str], Any]]]] = {
    "client.id": ("client_id", str),
    "security.protocol": ("security_protocol", _one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    "sasl.mechanism": ("sasl_mechanism", _one_of("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")),
    "sasl.kerberos.service.name": ("sasl_kerberos_service_name", str),
    "ssl.truststore.location": ("ssl_cafile", str),
    "ssl.truststore.type": (None, _pem_only),
    "ssl.keystore.location": ("ssl_certfile", str),
    "ssl.keystore.type": (None, _pem_only),
    "ssl.key.password": ("ssl_password", hidden),
    # An empty name of an algorithm switches the check off, in Java as here.
    "ssl.endpoint.identification.algorithm": ("ssl_check_hostname", bool),
    "request.timeout.ms": ("request_timeout_ms", _milliseconds),
    "socket.connection.setup.timeout.ms": ("socket_connection_setup_timeout_ms", _milliseconds),
}
_BOOTSTRAPS: Final = ("bootstrap.servers", "bootstrap.controllers")
_LOGIN_KEYS: Final = {
    "username": "sasl_plain_username",
    "password": "sasl_plain_password",
    "serviceName": "sasl_kerberos_service_name",
}
_LOGINS: Final = ("PlainLoginModule", "ScramLoginModule", "Krb5LoginModule")
_BY_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_STORES: Final = ("ssl.truststore", "ssl.keystore")


@frozen
class CommandConfig:
    """How to connect: kafka-python's ``settings``, how long a call may take, and bootstrap servers if there are any.

    >>> CommandConfig.of({"security.protocol": "SSL", "default.api.timeout.ms": "5000"})
    CommandConfig(seconds=5.0, brokers=None, controllers=None)
    """

    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    seconds: float | None = None
    brokers: str | None = None
    controllers: str | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a properties file, and try the certificates that it names; ``OSError`` or `ConfigException`."""
        found = cls.of(dict(properties(path.read_text(encoding="latin-1"))))
        if found.settings.get("security_protocol", "").endswith("SSL"):
            _try_certificates(found.settings)
        return found

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Take Kafka's configuration keys; `ConfigException` names the key that cannot be followed.

        A key about security that is not understood is refused, because what it asks for would be missing without
        anybody noticing. Others are left out, with a warning in the log, as Java's clients do.
        """
        rest = dict(given)
        brokers, controllers = (_read(key, rest.pop(key, None), _servers) for key in _BOOTSTRAPS)
        limit = _read("default.api.timeout.ms", rest.pop("default.api.timeout.ms", None), _milliseconds)
        settings = _login(rest.pop("sasl.jaas.config", None))
        unknown = []
        for store in _STORES:
            if f"{store}.location" in rest and f"{store}.type" not in rest:
                raise ConfigException(f"{store}.location needs {store}.type=PEM; without it, Kafka takes it for JKS")
        for key, value in rest.items():
            if key in _KEYS:
                name, reader = _KEYS[key]
                found = _read(key, value, reader)
                settings |= {name: found} if name else {}
            elif key.startswith(("security.", "sasl.", "ssl.")):
                raise ConfigException(f"{shown(key)} is not known here; what is: {', '.join(_known())}")
            else:
                unknown.append(key)
        if unknown:
            _log.warning("not known here and left out: %s", shown(unknown))
        _complete(settings)
        return cls(settings, limit / 1000 if limit else None, brokers, controllers)


def _complete(settings: dict[str, Any]) -> None:
    """Add what Java takes for granted, and refuse what a client would only stumble over."""
    if settings.get("security_protocol", "").startswith("SASL"):
        mechanism = settings.setdefault("sasl_mechanism", "GSSAPI")
        missing = [name for name in ("username", "password") if _LOGIN_KEYS[name] not in settings]
        if mechanism in _BY_PASSWORD and missing:
            raise ConfigException(f"sasl.jaas.config: expected {' and '.join(missing)} for {mechanism}")
    if "ssl_certfile" in settings:
        settings.setdefault("ssl_password", "")  # without any, OpenSSL asks for one on the terminal


def _try_certificates(settings: Mapping[str, Any]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trusted := settings.get("ssl_cafile"):
        with _naming("ssl.truststore.location", "certificates in PEM"):
            context.load_verify_locations(trusted)
    if own := settings.get("ssl_certfile"):
        with _naming(
            "ssl.keystore.location", "key and certificate in PEM, and ssl.key.password if the key is encrypted"
        ):
            context.load_cert_chain(own, password=settings["ssl_password"])


@contextmanager
def _naming(key: str, expected: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # ssl.SSLError is one
        missing = None if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigException(f"{key}: {missing or f'expected {expected}'}") from None


def _known() -> list[str]:
    return sorted({*_KEYS, "sasl.jaas.config", "default.api.timeout.ms"})


def _read(key: str, value: str | None, reader: Callable[[str], Any]) -> Any:
    try:
        return None if value is None else reader(value)
    except ValueError as error:
        raise ConfigException(f"{key}: {error}") from None


def _login(jaas: str | None) -> dict[str, Any]:
    """Read ``CLASS required KEY="VALUE" ...;``."""
    if jaas is None:
        return {}
    module, _, options = jaas.strip().removesuffix(";").partition(" ")
    if module.rpartition(".")[2] not in _LOGINS:
        raise ConfigException(f"sasl.jaas.config: expected one of {', '.join(_LOGINS)} as login module")
    pairs = re.findall(r"""(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s"]+))""", options)
    found = {key: re.sub(r"\\(.)", r"\1", quoted) or bare for key, quoted, bare in pairs}
    login = {_LOGIN_KEYS[key]: value for key, value in found.items() if key in _LOGIN_KEYS}
    return {name: hidden(value) if name.endswith("password") else value for name, value in login.items()}


def properties(text: str) -> Iterator[tuple[str, str]]:
    r"""Read Java's properties format. Java: ``Properties.load``.

    >>> list(properties("a = 1\n# no\nb:two \\\n   lines\nc\\ d\te\\u0066"))
    [('a', '1'), ('b', 'two lines'), ('c d', 'ef')]
    """
    lines = re.split(r"\r\n|\r|\n", text)
    while lines:
        line = lines.pop(0).lstrip(_BLANK)
        if not line or line[0] in "#!":
            continue
        while _continues(line) and lines:
            line = line[:-1] + lines.pop(0).lstrip(_BLANK)
        key, value = _ENTRY.fullmatch(line).groups()  # type: ignore[union-attr]  # it takes any line
        yield _plain(key), _plain(value)


_BLANK: Final = " \t\f"
_ENTRY: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)(?:[ \t\f]*[=:]?[ \t\f]*)(.*?)\\?", re.DOTALL)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _plain(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    units = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", character, text)
    # An escape is a unit of UTF-16, of which some characters need two; half of one Java would send as "?".
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
