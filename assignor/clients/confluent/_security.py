"""Translates librdkafka's security settings into those of kafka-python.

TLS settings become an ``SSLContext``, because kafka-python has fewer of them than librdkafka. Secret values are copied
from one dictionary to the other and are not logged (``upgrade.redaction``). No library knows both clients' names.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from streams_assignor.clients._settings_check import check_login, hide_secrets
from streams_assignor.clients.confluent._oauth_tokens import SharedTokenProvider
from streams_assignor.upgrade import ConfigException

_SASL_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
        "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    }
)
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
_FALSE: Final = ("false", "f", "0")
_SYSTEM_CERTIFICATES: Final = "probe"  # librdkafka: the certificates of the operating system
_TOKEN_PROVIDER_KEY: Final = "sasl_oauth_token_provider"

_NOT_IN_KAFKA_PYTHON: Final = "the member of the group (kafka-python) cannot use it"
_USE_PEM_FILES: Final = f"{_NOT_IN_KAFKA_PYTHON}; use the one that ends with .location, and a file in PEM"
_USE_OAUTH_CB: Final = f"{_NOT_IN_KAFKA_PYTHON}; use oauth_cb, which serves both clients"
UNSUPPORTED_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ssl.key.pem": _USE_PEM_FILES,
        "ssl.certificate.pem": _USE_PEM_FILES,
        "ssl_key": _USE_PEM_FILES,
        "ssl_certificate": _USE_PEM_FILES,
        "ssl_ca": _USE_PEM_FILES,
        "ssl.keystore.location": _USE_PEM_FILES,
        "ssl.keystore.password": _USE_PEM_FILES,
        "ssl.engine.location": _NOT_IN_KAFKA_PYTHON,
        "ssl.providers": _NOT_IN_KAFKA_PYTHON,
        "ssl.curves.list": _NOT_IN_KAFKA_PYTHON,
        "ssl.sigalgs.list": _NOT_IN_KAFKA_PYTHON,
        "ssl.ca.certificate.stores": _NOT_IN_KAFKA_PYTHON,
        "sasl.oauthbearer.method": _USE_OAUTH_CB,
        "sasl.oauthbearer.client.id": _USE_OAUTH_CB,
        "sasl.oauthbearer.client.secret": _USE_OAUTH_CB,
        "sasl.oauthbearer.scope": _USE_OAUTH_CB,
        "sasl.oauthbearer.extensions": _USE_OAUTH_CB,
        "sasl.oauthbearer.token.endpoint.url": _USE_OAUTH_CB,
        "enable.sasl.oauthbearer.unsecure.jwt": _USE_OAUTH_CB,
    }
)
"""Keys of librdkafka for which kafka-python has no counterpart, and what to do instead."""


def member_security(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return kafka-python's settings; ``ConfigException``, without secret values, for what it does not support.

    Calls ``oauth_cb`` for the first token; ``KafkaException`` if that fails.
    """
    protocol = _one_of(_PROTOCOLS, "security.protocol", config.get("security.protocol", "plaintext"))
    security: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        security["ssl_context"] = _ssl_context(config)
    if protocol.startswith("SASL"):
        given = config.get("sasl.mechanism", config.get("sasl.mechanisms", "GSSAPI"))
        security["sasl_mechanism"] = _one_of(_MECHANISMS, "sasl.mechanism", given)
        if security["sasl_mechanism"] == "GSSAPI" and find_spec("gssapi") is None:
            raise ConfigException("sasl.mechanism GSSAPI needs the Python package gssapi, which is not installed")
        security |= {theirs: config[ours] for ours, theirs in _SASL_KEYS.items() if config.get(ours) is not None}
        check_login(security, {theirs: ours for ours, theirs in _SASL_KEYS.items()})
        if security["sasl_mechanism"] == "OAUTHBEARER":
            security[_TOKEN_PROVIDER_KEY] = _token_provider(config)
    return hide_secrets(security)


def fetcher_security(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that replace the user's own in librdkafka, given those of the member."""
    return {"oauth_cb": member[_TOKEN_PROVIDER_KEY].refresh} if _TOKEN_PROVIDER_KEY in member else {}


def _one_of(allowed: tuple[str, ...], key: str, value: str) -> str:
    if (name := str(value).upper()) in allowed:
        return name
    raise ConfigException(f"Invalid value {value} for configuration {key}: expected one of {', '.join(allowed)}")


def _ssl_context(config: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_trust_store(context, config)
    if certificate := config.get("ssl.certificate.location"):
        # Without a password Python prompts for one on the terminal.
        password = config.get("ssl.key.password", "")
        if not isinstance(password, str):
            raise ConfigException(
                f"expected ssl.key.password as text, got a value of type {type(password).__name__}: put it in quotes"
            )
        with _as_config_exception("ssl.certificate.location", certificate):
            context.load_cert_chain(certificate, config.get("ssl.key.location"), lambda: password)
    if revoked := config.get("ssl.crl.location"):
        with _as_config_exception("ssl.crl.location", revoked):
            context.load_verify_locations(revoked)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if ciphers := config.get("ssl.cipher.suites"):
        with _as_config_exception("ssl.cipher.suites", ciphers):
            context.set_ciphers(ciphers)
    # librdkafka ignores case: a value that it reads as https must not disable the check here.
    context.check_hostname = str(config.get("ssl.endpoint.identification.algorithm", "https")).lower() != "none"
    if str(config.get("enable.ssl.certificate.verification", "true")).lower() in _FALSE:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_trust_store(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    where = config.get("ssl.ca.location")
    if where and where != _SYSTEM_CERTIFICATES:
        with _as_config_exception("ssl.ca.location", where):
            context.load_verify_locations(**{"capath" if Path(where).is_dir() else "cafile": where})
    elif certificates := config.get("ssl.ca.pem"):
        with _as_config_exception("ssl.ca.pem", "of that text"):
            context.load_verify_locations(cadata=certificates)
    else:
        context.load_default_certs()


@contextmanager
def _as_config_exception(key: str, value: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
        raise ConfigException(f"Invalid value {value} for configuration {key}: {why}") from None


def _token_provider(config: Mapping[str, Any]) -> SharedTokenProvider:
    if not callable(call := config.get("oauth_cb")):
        raise ConfigException("sasl.mechanism OAUTHBEARER needs oauth_cb, a function that returns a token: got none")
    tokens = SharedTokenProvider(call, config.get("sasl.oauthbearer.config", ""))
    tokens.start()
    return tokens
