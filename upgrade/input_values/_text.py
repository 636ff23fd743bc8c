"""Numbers and JSON documents."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any, Final, NoReturn

from streams_assignor.upgrade.errors import UpgradeError, quote_input

MAX_LEVELS: Final = 200
"""Of brackets in a JSON document: Python's parser needs stack for each. In WebAssembly, where Python does not see its
end, it would stop instead of raising ``RecursionError``."""
_NO_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]++', re.DOTALL)
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


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
        if isinstance(text, bytes):  # as json.loads does it
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        require_shallow(text)
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        got = quote_input(error.doc[error.pos : error.pos + 20]) if error.doc[error.pos :].strip() else "the end"
        raise InvalidInput(f"expected JSON ({error.msg}) at {where}, got {got}") from None
    except InvalidInput:
        raise
    except ValueError as error:  # a number of thousands of digits, or bytes that are not UTF-8
        raise InvalidInput(f"expected JSON: {error}") from None


def require_shallow(text: str) -> None:
    """Raise ``InvalidInput`` for a JSON document with more than ``MAX_LEVELS`` levels of brackets."""
    if text.count("[") + text.count("{") > MAX_LEVELS:  # seldom, so that most documents are gone through once
        brackets = _NO_BRACKETS.sub("", text)
        if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_LEVELS:
            raise InvalidInput(f"expected JSON, got brackets that are nested too deeply: more than {MAX_LEVELS} levels")


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput(f"expected JSON, got {name}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput(f"expected JSON, got the number {quote_input(text)}, which is too large")
    return number
