"""Whether a release accepts the value of a key, with Kafka's words if it does not.

Java: ``ConfigDef.parseType`` and its validators. A check that Kafka has as code of its own is not repeated here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from streams_assignor.upgrade.application.configuration import ReleaseConfigKey
from streams_assignor.upgrade.config_types import invalid_value, trim
from streams_assignor.upgrade.errors import ConfigException

_INTEGER: Final = re.compile(r"[+-]?\d+")
_DOUBLE: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_COMMA: Final = re.compile(r"(?:(?<![ \t\n\x0b\f\r])[ \t\n\x0b\f\r]++)?,[ \t\n\x0b\f\r]*")
_LIMITS: Final[Mapping[str, int]] = {"SHORT": 1 << 15, "INT": 1 << 31, "LONG": 1 << 63}
_CODE: Final = "code"
_NOT_IN_AN_ID: Final = re.compile(r"[^a-zA-Z0-9._-]")
_MOST_IN_FLIGHT: Final = 5
IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
"""Requests at once of a producer that is idempotent."""
_PLAIN_FROM: Final = 1e-3
_PLAIN_BEFORE: Final = 1e7
"""Java writes other numbers with an exponent."""
_MAX_DIGITS: Final = 25
"""More than any number of Java has, without leading zeros."""


def refusal(key: str, definition: ReleaseConfigKey, text: str) -> str | None:
    """Return what Kafka says of a value that it refuses; None if it accepts it, as far as ``is_judged`` goes.

    >>> from streams_assignor.upgrade.application.configuration import configuration_of
    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> refusal("acks", configuration_of(RELEASES["4.0.0"]).configs["producer"]["acks"], "2")
    'Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1'
    """
    try:
        value = _parse(key, definition.type, text)
        if definition.validator is not None:
            _validate(key, value, definition.validator)
    except ConfigException as error:
        return str(error)
    return None


def refusal_beside(key: str, text: str, others: Mapping[str, str], number: tuple[int, ...]) -> str | None:
    """Return what a client or Streams says of a value that its definition accepts, because of others or by code.

    Args:
        key: A key of the consumer, the producer or Streams.
        text: Its value, as the client gets it.
        others: The settings beside it.
        number: The value of the release.

    >>> refusal_beside("group.remote.assignor", "uniform", {}, (4, 0, 0))
    'group.remote.assignor cannot be set when group.protocol=CLASSIC'
    """
    value = trim(text)
    if key == "group.instance.id" and _NOT_IN_AN_ID.search(value):
        allowed = "other than ASCII alphanumerics, '.', '_' and '-'"
        if number < (3, 3, 2):
            return f'Group instance id "{value}" is illegal, it contains a character {allowed}'
        return f"Group instance id is invalid: '{value}' contains one or more characters {allowed}"
    if key == "group.remote.assignor" and value and number >= (3, 9):
        return f"{key} cannot be set when group.protocol=CLASSIC"
    if (
        key == IN_FLIGHT
        and number >= (2, 0)
        and trim(others.get("processing.guarantee", "")).startswith("exactly_once")
    ):
        if number < (2, 1):
            return "ClassCastException: Streams expects a number, and a file has texts"
        if int(value) > _MOST_IN_FLIGHT:
            why = "Can't exceed 5 when exactly-once processing is enabled"
            return f"Invalid value {int(value)} for configuration {key}: {why}"
    if key == IN_FLIGHT and number >= (4, 0):
        is_idempotent = trim(others.get("enable.idempotence", "true")).lower() == "true"
        if is_idempotent and int(value) > _MOST_IN_FLIGHT:
            return f"To use the idempotent producer, {key} must be set to at most 5. Current value is {int(value)}."
    if key == "rack.aware.assignment.tags":
        tags = _COMMA.split(value) if value else []
        for tag in tags:
            if tag and f"client.tag.{tag}" not in others:
                missing = f"[{tag}] which doesn't have corresponding tag set via [client.tag.] prefix."
                return f"Invalid value [{', '.join(tags)}] for configuration {key}: Contains invalid value {missing}"
    return None


def is_judged(definition: ReleaseConfigKey, text: str) -> bool:
    """Whether ``refusal`` makes each check that Kafka makes of a value by itself.

    Of a check that is code the tables have some values that it accepts.
    """
    if definition.type == "CLASS":
        return False
    name = "" if definition.validator is None else definition.validator["class"]
    return name != _CODE or (definition.validator is not None and trim(text) in definition.validator["accepts"])


def _parse(key: str, java_type: str, text: str) -> Any:
    trimmed = trim(text)
    if java_type == "BOOLEAN":
        if trimmed.lower() not in {"true", "false"}:
            raise invalid_value(key, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if java_type == "LIST":
        return _COMMA.split(trimmed) if trimmed else []
    if java_type == "DOUBLE":
        if not _DOUBLE.fullmatch(trimmed):
            raise invalid_value(key, text, "Not a number of type DOUBLE")
        return float(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)
    if limit := _LIMITS.get(java_type):
        digits = trimmed.lstrip("+-0")
        number = int(trimmed) if _INTEGER.fullmatch(trimmed) and len(digits) <= _MAX_DIGITS else limit
        if not -limit <= number < limit:
            raise invalid_value(key, text, f"Not a number of type {java_type}")
        return number
    return trimmed


def _validate(key: str, value: Any, validator: Mapping[str, Any]) -> None:
    if check := _VALIDATORS.get(validator["class"]):
        check(key, value, validator)


def _check_range(key: str, value: float, limits: Mapping[str, Any]) -> None:
    least, most = limits["min"], limits["max"]
    if least is not None and value < float(least):
        raise invalid_value(key, _java_number(value), f"Value must be at least {least}")
    if most is not None and value > float(most):
        raise invalid_value(key, _java_number(value), f"Value must be no more than {most}")


def _java_number(value: float) -> str:
    """Write a number as Java does.

    >>> [_java_number(each) for each in (7, 1.5, 2147483648.0, 0.0001, -math.inf)]
    ['7', '1.5', '2.147483648E9', '1.0E-4', '-Infinity']
    """
    if isinstance(value, int) or value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BEFORE:
        return str(value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{len(digits) + int(exponent) - 1}"


def _check_string(key: str, value: str, validator: Mapping[str, Any]) -> None:
    accepted: Sequence[str | None] = validator["validStrings"]
    if value not in accepted:
        raise invalid_value(key, value, f"String must be one of: {_join(accepted)}")


def _check_any_case(key: str, value: str, validator: Mapping[str, Any]) -> None:
    accepted: Sequence[str] = validator["validStrings"]
    if value.upper() not in accepted:
        raise invalid_value(key, value, f"String must be one of (case insensitive): {_join(accepted)}")


def _check_list(key: str, values: Sequence[str], validator: Mapping[str, Any]) -> None:
    """Check each element; since Kafka 4.2 also that there is one, and none is empty: it drops repeated ones before."""
    strings = validator["validString"]
    if "isEmptyAllowed" in validator:
        if not values and validator["isEmptyAllowed"] != "true":
            valid = strings["validStrings"]
            raise ConfigException(
                f"Configuration '{key}' must not be empty. "
                f"Valid values include: {f'[{_join(valid)}]' if valid else 'any non-empty value'}"
            )
        if "" in values:
            raise ConfigException(f"Configuration '{key}' values must not be empty.")
        if not strings["validStrings"]:
            return
    for value in values:
        _check_string(key, value, strings)


def _check_size(key: str, values: Sequence[str], validator: Mapping[str, Any]) -> None:
    if len(values) > int(validator["maxSize"]):
        raise invalid_value(key, f"[{', '.join(values)}]", f"exceeds maximum list size of [{validator['maxSize']}].")


def _check_not_empty(key: str, value: str, _: Mapping[str, Any]) -> None:
    if not value:
        raise invalid_value(key, value, "String must be non-empty")


def _accept(_key: str, _value: Any, _validator: Mapping[str, Any]) -> None:
    """Accept any text: Kafka refuses null only."""


def _join(names: Sequence[str | None]) -> str:
    return ", ".join("null" if name is None else name for name in names)


_VALIDATORS: Final[Mapping[str, Callable[[str, Any, Mapping[str, Any]], None]]] = {
    "Range": _check_range,
    "ValidString": _check_string,
    "CaseInsensitiveValidString": _check_any_case,
    "ValidList": _check_list,
    "ListSize": _check_size,
    "NonEmptyString": _check_not_empty,
    "NonNullValidator": _accept,
}
KNOWN_VALIDATORS: Final = frozenset(_VALIDATORS)
"""The others are ``code`` in the tables."""


def validator_text(validator: Mapping[str, Any] | None) -> str:
    """Say what a validator accepts.

    >>> validator_text({"class": "Range", "min": "0", "max": None})
    'at least 0'
    """
    if validator is None:
        return "any"
    name = validator["class"]
    if name == "Range":
        limits = (("at least", validator["min"]), ("at most", validator["max"]))
        return ", ".join(f"{words} {limit}" for words, limit in limits if limit is not None)
    if "validStrings" in validator:
        return f"one of {_join(validator['validStrings'])}"
    if name == "ValidList":
        strings = validator["validString"]["validStrings"]
        empty = "" if validator.get("isEmptyAllowed") == "true" or "isEmptyAllowed" not in validator else "not empty, "
        return empty + (f"some of {_join(strings)}" if strings else "any elements")
    if name == "ListSize":
        return f"at most {validator['maxSize']} elements"
    return {"NonEmptyString": "not empty", "NonNullValidator": "not null"}.get(name, "a check of Kafka's own")
