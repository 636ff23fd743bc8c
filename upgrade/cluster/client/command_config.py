"""The properties file of ``--command-config``: connection settings with Kafka's names, as settings of kafka-python.

Its values are never shown, neither by ``repr`` nor in an error. No library translates Kafka's names: kafka-python and
librdkafka have their own.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from attrs import field, frozen

from streams_assignor.upgrade.cluster.client._oauth import ClientCredentials
from streams_assignor.upgrade.config_types import parse_bootstrap_servers
from streams_assignor.upgrade.errors import ConfigException
from streams_assignor.upgrade.input_values import InvalidInput, parse_number, parse_properties, read_text
from streams_assignor.upgrade.redaction import redact

_log = logging.getLogger(__name__)

_INT_MAX: Final = 2**31 - 1  # Java's int


def _parse_milliseconds(text: str) -> int:
    try:
        return parse_number(text)
    except InvalidInput:  # its text contains the value
        raise ValueError(f"expected a number of milliseconds, at most {_INT_MAX}") from None


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.upper() not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return text.upper()

    return read


def _parse_servers(text: str) -> str:
    try:
        return parse_bootstrap_servers(text)
    except ConfigException:  # its text contains the value
        raise ValueError("expected HOST:PORT,...") from None


def _pem_only(text: str) -> None:
    if text.upper() != "PEM":
        raise ValueError(
            "expected PEM: Python reads no Java key stores; convert it, for example with keytool and openssl"
        )


def _parse_url(text: str) -> str:
    try:
        if urlsplit(text).scheme in ("http", "https") and urlsplit(text).hostname:
            return text
    except ValueError:  # its text contains the value
        pass
    raise ValueError("expected an address that begins with https:// or http://")


def _class(name: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.rpartition(".")[2] != name:
            raise ValueError(f"expected {name} of Kafka or Amazon; other classes of Java cannot be run here")
        return text

    return read


_PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OAUTH: Final = "OAUTHBEARER"
_MSK_IAM: Final = "AWS_MSK_IAM"

# The setting of kafka-python for each key (None: no setting), and the parser of its value; ValueError names what was
# expected.
_KEYS: Final[Mapping[str, tuple[str | None, Callable[[str], Any]]]] = {
    "client.id": ("client_id", str),
    "security.protocol": ("security_protocol", _one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    "sasl.mechanism": ("sasl_mechanism", _one_of(*_PASSWORD_MECHANISMS, "GSSAPI", _OAUTH, _MSK_IAM)),
    "sasl.oauthbearer.token.endpoint.url": ("oauth_endpoint", _parse_url),
    "sasl.oauthbearer.client.credentials.client.id": ("oauth_client_id", str),
    "sasl.oauthbearer.client.credentials.client.secret": ("oauth_client_secret", redact),
    "sasl.oauthbearer.scope": ("oauth_scope", str),
    # Classes of Java that do what is done here.
    "sasl.login.callback.handler.class": (None, _class("OAuthBearerLoginCallbackHandler")),
    "sasl.client.callback.handler.class": (None, _class("IAMClientCallbackHandler")),
    "sasl.kerberos.service.name": ("sasl_kerberos_service_name", str),
    "ssl.truststore.location": ("ssl_cafile", str),
    "ssl.truststore.type": (None, _pem_only),
    "ssl.keystore.location": ("ssl_certfile", str),
    "ssl.keystore.type": (None, _pem_only),
    "ssl.key.password": ("ssl_password", redact),
    # As in Java, an empty algorithm name disables the check.
    "ssl.endpoint.identification.algorithm": ("ssl_check_hostname", bool),
    "request.timeout.ms": ("request_timeout_ms", _parse_milliseconds),
    "socket.connection.setup.timeout.ms": ("socket_connection_setup_timeout_ms", _parse_milliseconds),
}
_BOOTSTRAP_KEYS: Final = ("bootstrap.servers", "bootstrap.controllers")
_LOGIN_KEYS: Final = {
    "username": "sasl_plain_username",
    "password": "sasl_plain_password",
    "serviceName": "sasl_kerberos_service_name",
}
_OAUTH_KEYS: Final = {"clientId": "oauth_client_id", "clientSecret": "oauth_client_secret", "scope": "oauth_scope"}
_OAUTH_MODULE: Final = "OAuthBearerLoginModule"
_MSK_IAM_MODULE: Final = "IAMLoginModule"
_LOGIN_MODULES: Final = ("PlainLoginModule", "ScramLoginModule", "Krb5LoginModule", _OAUTH_MODULE, _MSK_IAM_MODULE)
_STORES: Final = ("ssl.truststore", "ssl.keystore")
_SECURITY_PREFIXES: Final = ("security.", "sasl.", "ssl.")
_SIMILAR: Final = 0.85
"""How alike a key and its suggestion are, of 1: a typing error."""
_MOST_COMPARED: Final = 100
_LONGEST_COMPARED: Final = 60
_MOST_SHOWN: Final = 10


COMMAND_CONFIG_VARIABLE: Final = "KAFKA_COMMAND_CONFIG"
"""The variable of the environment with the name of such a file."""


@frozen
class CommandConfig:
    """How to connect.

    >>> CommandConfig.of({"security.protocol": "SSL", "default.api.timeout.ms": "5000"})
    CommandConfig(timeout_seconds=5.0, brokers=None, controllers=None)
    """

    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    """Settings of kafka-python, and ``oauth``, a ``ClientCredentials``, in the place of its token provider."""
    timeout_seconds: float | None = None
    """The limit of a call; None if the file sets none."""
    brokers: str | None = None
    controllers: str | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a properties file and load its certificates, to check them; ``OSError`` or ``ConfigException``."""
        text = read_text(path, "latin-1")
        if "\0" in text:  # every key would be unknown, and the connection without TLS and SASL
            raise ConfigException(f"expected a properties file in ISO 8859-1, got {path} with NUL bytes: is it UTF-16?")
        return cls.checked(dict(parse_properties(text)))

    @classmethod
    def checked(cls, given: Mapping[str, str]) -> Self:
        """Convert Kafka's configuration keys as ``of``, and load the certificates; ``OSError`` if one cannot be."""
        config = cls.of(given)
        if config.settings.get("security_protocol", "").endswith("SSL"):
            _check_certificates(config.settings)
        return config

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Convert Kafka's configuration keys.

        Unknown security keys are refused, because the connection would be less secure than configured. Other unknown
        keys are ignored with a warning, as in Java.

        Raises:
            ConfigException: A value is invalid, and the message names the key; or a security key is unknown, and the
                message names its place.
        """
        rest = dict(given)
        numbers = {key: number for number, key in enumerate(given, start=1)}
        brokers, controllers = (_parse(key, rest.pop(key, None), _parse_servers) for key in _BOOTSTRAP_KEYS)
        limit = _parse("default.api.timeout.ms", rest.pop("default.api.timeout.ms", None), _parse_milliseconds)
        settings = _parse_jaas(rest.pop("sasl.jaas.config", None))
        for store in _STORES:
            if f"{store}.location" in rest and f"{store}.type" not in rest:
                raise ConfigException(f"{store}.location needs {store}.type=PEM; without it, Kafka takes it for JKS")
        for key in [key for key in rest if key in _KEYS]:
            name, reader = _KEYS[key]
            parsed = _parse(key, rest.pop(key), reader)
            settings |= {name: parsed} if name else {}
        _refuse_unknown(rest, numbers)
        _apply_java_defaults(settings)
        return cls(settings, limit / 1000 if limit else None, brokers, controllers)


def _refuse_unknown(unknown: Iterable[str], numbers: Mapping[str, int]) -> None:
    """Refuse unknown keys about security, also misspelt ones, and warn of others.

    A key is named by its place: what is not known to be a key may be a password, in a line that has gone wrong.
    """
    places: list[str] = []
    for key in unknown:
        place, close = f"key {numbers[key]} of the file", None
        if len(places) < _MOST_COMPARED and len(key) <= _LONGEST_COMPARED:
            close = next(iter(get_close_matches(key, _known(), 1, _SIMILAR)), None)
        place += f" (did you mean {close}?)" if close else ""
        about = next((start for start in _SECURITY_PREFIXES if key.startswith(start)), None)
        if about or (close and close.startswith(_SECURITY_PREFIXES)):
            begins = f", which begins with {about}," if about else ""
            raise ConfigException(f"{place}{begins} is not supported here; supported are {', '.join(_known())}")
        places.append(place)
    if places:
        more = f" and {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
        _log.warning("ignored, not supported here: %s%s", ", ".join(places[:_MOST_SHOWN]), more)


def _apply_java_defaults(settings: dict[str, Any]) -> None:
    """Add the defaults of Java, and refuse incomplete SASL settings."""
    if settings.get("security_protocol", "").startswith("SASL"):
        mechanism = settings.setdefault("sasl_mechanism", "GSSAPI")
        missing = [name for name in ("username", "password") if _LOGIN_KEYS[name] not in settings]
        if mechanism in _PASSWORD_MECHANISMS and missing:
            raise ConfigException(f"sasl.jaas.config: expected {' and '.join(missing)} for {mechanism}")
        if mechanism == _MSK_IAM and settings["security_protocol"] != "SASL_SSL":
            raise ConfigException(f"security.protocol: expected SASL_SSL for {_MSK_IAM}")
        if mechanism == _OAUTH:
            settings["oauth"] = _client_credentials(settings)
    for name in _OAUTH_SETTINGS:
        settings.pop(name, None)
    if "ssl_certfile" in settings:
        settings.setdefault("ssl_password", "")  # without a password, OpenSSL asks for one on the terminal


def _client_credentials(settings: Mapping[str, Any]) -> ClientCredentials:
    """Return the client credentials of OAUTHBEARER, of the keys (KIP-1139) or of the login module (KIP-768)."""
    missing = [key for name, key in _OAUTH_SETTINGS.items() if key and name not in settings]
    if missing:
        raise ConfigException(f"sasl.mechanism: {_OAUTH} needs {' and '.join(missing)}")
    endpoint, client_id, secret = (settings[name] for name, key in _OAUTH_SETTINGS.items() if key)
    return ClientCredentials(endpoint, client_id, secret, settings.get("oauth_scope", ""))


_OAUTH_SETTINGS: Final = {
    "oauth_endpoint": "sasl.oauthbearer.token.endpoint.url",
    "oauth_client_id": "sasl.oauthbearer.client.credentials.client.id (or clientId in sasl.jaas.config)",
    "oauth_client_secret": "sasl.oauthbearer.client.credentials.client.secret (or clientSecret in sasl.jaas.config)",
    "oauth_scope": "",
}
"""The parts of ``ClientCredentials``, and the key of each that is required."""


def _check_certificates(settings: Mapping[str, Any]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trusted := settings.get("ssl_cafile"):
        with _config_errors_for("ssl.truststore.location", "certificates in PEM"):
            context.load_verify_locations(trusted)
    if own := settings.get("ssl_certfile"):
        with _config_errors_for(
            "ssl.keystore.location", "key and certificate in PEM, and ssl.key.password if the key is encrypted"
        ):
            context.load_cert_chain(own, password=settings["ssl_password"])


@contextmanager
def _config_errors_for(key: str, expected: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # ssl.SSLError is one
        missing = None if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigException(f"{key}: {missing or f'expected {expected}'}") from None


def _known() -> list[str]:
    return sorted({*_KEYS, "sasl.jaas.config", "default.api.timeout.ms"})


def _parse(key: str, value: str | None, reader: Callable[[str], Any]) -> Any:
    try:
        return None if value is None else reader(value)
    except ValueError as error:
        raise ConfigException(f"{key}: {error}") from None


def _parse_jaas(jaas: str | None) -> dict[str, Any]:
    """Read ``CLASS required KEY="VALUE" ...;``."""
    if jaas is None:
        return {}
    module, _, options = jaas.strip().removesuffix(";").partition(" ")
    if module.rpartition(".")[2] not in _LOGIN_MODULES:
        raise ConfigException(f"sasl.jaas.config: expected one of {', '.join(_LOGIN_MODULES)} as login module")
    pairs = _LOGIN_OPTION.findall(options)
    login_options = {key: re.sub(r"\\(.)", r"\1", quoted) or bare for key, quoted, bare in pairs}
    if module.endswith(_MSK_IAM_MODULE) and login_options:
        raise ConfigException(
            f"sasl.jaas.config: expected no options of {_MSK_IAM_MODULE}: the credentials are those of botocore, as of "
            "AWS_PROFILE and AWS_DEFAULT_REGION"
        )
    keys = _OAUTH_KEYS if module.endswith(_OAUTH_MODULE) else _LOGIN_KEYS
    login = {keys[key]: value for key, value in login_options.items() if key in keys}
    return {name: redact(value) if name.endswith(("password", "secret")) else value for name, value in login.items()}


_LOGIN_OPTION: Final = re.compile(r"""\b(\w++)\s*+=\s*+(?:"((?:\\.|[^"\\])*+)"|([^\s"]++))""")
"""Without backtracking: a name that nothing follows is looked at once."""
