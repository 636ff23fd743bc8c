"""librdkafka's security settings, said to kafka-python.

TLS becomes an ``SSLContext`` of our own: kafka-python has fewer settings for it than librdkafka, Python has them all.
What is secret goes from one dictionary into another, and nowhere else (``upgrade.secrets``).
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from assignor.clients.confluent.tokens import Tokens
from upgrade import ConfigException
from upgrade.secrets import hidden

_PLAIN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
        "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    }
)
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
_FALSE: Final = ("false", "f", "0")
_PROBE: Final = "probe"  # librdkafka's word for: wherever this machine keeps its certificates
_PROVIDER: Final = "sasl_oauth_token_provider"

_NO_MEMBER: Final = "the member of the group (kafka-python) cannot use it"
_FILES: Final = f"{_NO_MEMBER}; use the one that ends with .location, and a file in PEM"
_TOKENS: Final = f"{_NO_MEMBER}; use oauth_cb, which serves both clients"
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ssl.key.pem": _FILES,
        "ssl.certificate.pem": _FILES,
        "ssl_key": _FILES,
        "ssl_certificate": _FILES,
        "ssl_ca": _FILES,
        "ssl.keystore.location": _FILES,
        "ssl.keystore.password": _FILES,
        "ssl.engine.location": _NO_MEMBER,
        "ssl.providers": _NO_MEMBER,
        "ssl.curves.list": _NO_MEMBER,
        "ssl.sigalgs.list": _NO_MEMBER,
        "ssl.ca.certificate.stores": _NO_MEMBER,
        "sasl.oauthbearer.method": _TOKENS,
        "sasl.oauthbearer.client.id": _TOKENS,
        "sasl.oauthbearer.client.secret": _TOKENS,
        "sasl.oauthbearer.scope": _TOKENS,
        "sasl.oauthbearer.extensions": _TOKENS,
        "sasl.oauthbearer.token.endpoint.url": _TOKENS,
        "enable.sasl.oauthbearer.unsecure.jwt": _TOKENS,
    }
)
"""Keys of librdkafka for which kafka-python has no counterpart, and what to do instead."""


def member_security(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return kafka-python's settings; ``ConfigException`` for what it cannot do, without any value that is secret.

    Asks ``oauth_cb`` for the first token: ``KafkaException`` if there is none.
    """
    protocol = _one_of(_PROTOCOLS, "security.protocol", config.get("security.protocol", "plaintext"))
    found: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        found["ssl_context"] = _tls(config)
    if protocol.startswith("SASL"):
        given = config.get("sasl.mechanism", config.get("sasl.mechanisms", "GSSAPI"))
        found["sasl_mechanism"] = _one_of(_MECHANISMS, "sasl.mechanism", given)
        if found["sasl_mechanism"] == "GSSAPI" and find_spec("gssapi") is None:
            raise ConfigException("sasl.mechanism GSSAPI needs the Python package gssapi, which is not installed")
        found |= {theirs: config[ours] for ours, theirs in _PLAIN.items() if ours in config}
        if "sasl_plain_password" in found:
            found["sasl_plain_password"] = hidden(found["sasl_plain_password"])
        if found["sasl_mechanism"] == "OAUTHBEARER":
            found[_PROVIDER] = _tokens(config)
    return found


def records_security(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return what librdkafka is to have instead of the user's own, given the settings of the member."""
    return {"oauth_cb": member[_PROVIDER].for_records} if _PROVIDER in member else {}


def _one_of(known: tuple[str, ...], key: str, value: str) -> str:
    if (name := str(value).upper()) in known:
        return name
    raise ConfigException(f"Invalid value {value} for configuration {key}: expected one of {', '.join(known)}")


def _tls(config: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _choose_trust(context, config)
    if certificate := config.get("ssl.certificate.location"):
        # Without a password Python would ask for one on the terminal.
        password = config.get("ssl.key.password", "")
        with _naming("ssl.certificate.location", certificate):
            context.load_cert_chain(certificate, config.get("ssl.key.location"), lambda: password)
    if revoked := config.get("ssl.crl.location"):
        with _naming("ssl.crl.location", revoked):
            context.load_verify_locations(revoked)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if ciphers := config.get("ssl.cipher.suites"):
        with _naming("ssl.cipher.suites", ciphers):
            context.set_ciphers(ciphers)
    # librdkafka takes any case: what it reads as https must not switch the check off here.
    context.check_hostname = str(config.get("ssl.endpoint.identification.algorithm", "https")).lower() != "none"
    if str(config.get("enable.ssl.certificate.verification", "true")).lower() in _FALSE:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _choose_trust(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    where = config.get("ssl.ca.location")
    if where and where != _PROBE:
        with _naming("ssl.ca.location", where):
            context.load_verify_locations(**{"capath" if Path(where).is_dir() else "cafile": where})
    elif certificates := config.get("ssl.ca.pem"):
        with _naming("ssl.ca.pem", "of that text"):
            context.load_verify_locations(cadata=certificates)
    else:
        context.load_default_certs()


@contextmanager
def _naming(key: str, value: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
        raise ConfigException(f"Invalid value {value} for configuration {key}: {why}") from None


def _tokens(config: Mapping[str, Any]) -> Tokens:
    if not callable(call := config.get("oauth_cb")):
        raise ConfigException("sasl.mechanism OAUTHBEARER needs oauth_cb, a function that returns a token: got none")
    tokens = Tokens(call, config.get("sasl.oauthbearer.config", ""))
    tokens.begin()
    return tokens
