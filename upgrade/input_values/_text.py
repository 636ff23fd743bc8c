"""Numbers and JSON documents."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from upgrade.errors import UpgradeError, quote_input


class InvalidInput(UpgradeError):
    """Text or a file from outside that is not what was expected."""


def parse_number(text: str, least: int = 0, most: int = (1 << 31) - 1) -> int:
    """Read a decimal number in ASCII digits, without a sign unless ``least`` is negative.

    >>> parse_number("17"), parse_number("-1", least=-1)
    (17, -1)
    """
    digits = text.removeprefix("-") if least < 0 else text
    if digits.isascii() and digits.isdigit() and len(digits) <= len(str(max(abs(least), abs(most)))):
        number = int(text)
        if least <= number <= most:
            return number
    raise InvalidInput(f"expected a number from {least} to {most}, got {quote_input(text)}")


def parse_json(text: str | bytes) -> Any:
    """Read a JSON document of RFC 8259: without ``Infinity`` and ``NaN``, also none by a number that is too large."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        got = quote_input(error.doc[error.pos : error.pos + 20]) if error.doc[error.pos :].strip() else "the end"
        raise InvalidInput(f"expected JSON ({error.msg}) at {where}, got {got}") from None
    except RecursionError:
        raise InvalidInput("expected JSON, got brackets that are nested too deeply") from None
    except InvalidInput:
        raise
    except ValueError as error:  # a number of thousands of digits, or bytes that are not UTF-8
        raise InvalidInput(f"expected JSON: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput(f"expected JSON, got {name}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput(f"expected JSON, got the number {quote_input(text)}, which is too large")
    return number
