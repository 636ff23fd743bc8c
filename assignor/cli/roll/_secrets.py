"""What a command prints, without what is probably a secret: it is kept in the journal and in the report."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from typing import Final

from upgrade.redaction import hide, hide_credentials

_HIDDEN: Final = "[hidden]"
_LEAST_SECRET: Final = 4
_WORD: Final = (
    r"(?:password|passwd|passphrase|secret|token|credential|api[_-]?key|private[_-]?key|access[_-]?key|(?<![a-z])pwd)"
)
_SECRET_NAMES: Final = re.compile(rf"(?i){_WORD}|jaas|(?:^|_)pass(?:$|_)")
"""Names of variables of the environment whose values are hidden wherever they are printed. ``PWD`` is a folder."""
_NO_SECRETS: Final = frozenset({"PWD", "OLDPWD"})
_VALUE: Final = r"""(?P<value>\\+"(?:(?!\\+").)*\\+"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?:bearer|basic)\s+\S+|\S+)"""
_TEXTS: Final = tuple(
    re.compile(rf"(?is){pattern}")
    for pattern in (
        # a name, and a value behind = or :
        rf"""(?P<before>(?:{_WORD}|authorization)[\w.-]{{0,80}}\\*["']?\s*(?:=>|[=:])\s*){_VALUE}""",
        # as in a manifest of Kubernetes: name: DB_PASSWORD, value: ...
        rf"""(?P<before>{_WORD}[\w.-]{{0,80}}["']?\s*,?\s*["']?value["']?\s*:\s*){_VALUE}""",
        # an option, and its value as the next word
        rf"""(?P<before>(?<!\S)--?[\w-]*{_WORD}[\w-]*[ \t]+)(?!-){_VALUE}""",
        rf"""(?P<before>(?<!\S)(?:-u|--user)[ \t=]*["']?[^\s:"']+:){_VALUE}""",
        rf"""(?P<before>\bsshpass[ \t]+-p[ \t]*){_VALUE}""",
        rf"""(?P<before><[\w.:-]*{_WORD}[\w.:-]*>)(?P<value>[^<]*)""",
        r"""(?P<before>\bbearer[ \t]+)(?P<value>[\w.~+/=-]{16,})""",
        r"""(?P<before>)(?P<value>\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*)""",  # a JSON web token
        r"""(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<value>.*?)(?=-----END|\Z)""",
    )
)
_IN_URI: Final = re.compile(r"://[^\s/?#@:]*:([^\s@/]+)@")


def without_secrets(text: str) -> str:
    """Return the output of a command without what is probably a secret.

    Known are passwords of this process, values of variables of the environment whose name says so, or that contain what
    follows such a name, credentials in addresses, and what follows such a name.

    >>> without_secrets("login with password=hunter2")
    'login with password=[hidden]'
    """
    for value in sorted(_known(), key=len, reverse=True):
        text = text.replace(value, _HIDDEN)
    text = hide_credentials(hide(text))
    for pattern in _TEXTS:
        text = pattern.sub(rf"\g<before>{_HIDDEN}", text)
    return text


def _known() -> set[str]:
    """Return the values of the environment that are probably secrets, as they are, and as programs write them."""
    values = {value for value in _values() if len(value) >= _LEAST_SECRET}
    in_base64 = {base64.b64encode(value.encode(errors="surrogateescape")).decode() for value in values}
    return values | in_base64 | {json.dumps(value)[1:-1] for value in values}


def _values() -> Iterator[str]:
    for name, value in os.environ.items():
        if name in _NO_SECRETS:
            continue
        if _SECRET_NAMES.search(name):
            yield value
        for pattern in _TEXTS:
            yield from (match["value"].strip("\\\"';") for match in pattern.finditer(value))
        yield from (match[1] for match in _IN_URI.finditer(value))
