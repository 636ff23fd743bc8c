"""The output of a command without probable secrets: it is kept in the journal and in the report."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from typing import Final

from streams_assignor.upgrade.redaction import hide, hide_credentials

_HIDDEN: Final = "[hidden]"
_LEAST_SECRET: Final = 4
_WORD: Final = (
    r"(?:password|passwd|passphrase|secret|token|credential|api[_-]?key|private[_-]?key|access[_-]?key|(?<![a-z])pwd)"
)
_SECRET_NAMES: Final = re.compile(rf"(?i){_WORD}|jaas|(?:^|_)pass(?:$|_)")
"""Names of variables of the environment whose values are hidden wherever they are printed. ``PWD`` is a folder."""
_NO_SECRETS: Final = frozenset({"PWD", "OLDPWD"})
_VALUE: Final = (
    r"""(?P<value>\\+"(?:[^\\]|\\++(?!"))*+\\+"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?:bearer|basic)\s+\S+|\S+)"""
)
_TOKENS: Final = (
    *(r"(?:AKIA|ASIA)[A-Z0-9]{16}", r"AIza[\w-]{35}", r"ya29\.[\w-]{20,}"),  # AWS, Google
    *(r"gh[pousr]_[A-Za-z0-9]{30,}", r"github_pat_\w{30,}", r"gl[a-z]{1,6}-[\w.-]{20,}"),  # GitHub, GitLab
    *(r"xox[a-z]-[\w-]{10,}", r"xapp-[\w-]{10,}", r"hooks\.slack\.com/services/\S+"),
    *(r"[srp]k_(?:live|test)_\w{16,}", r"sk-[\w-]{20,}", r"whsec_[\w+/=]{20,}"),  # Stripe, OpenAI, Anthropic
    *(r"npm_[A-Za-z0-9]{30,}", r"pypi-[\w-]{20,}", r"rubygems_[0-9a-f]{40,}", r"dckr_[a-z]{3}_[\w-]{20,}"),
    *(r"hv[sbr]\.[\w-]{20,}", r"[\w-]{14}\.atlasv1\.[\w-]{20,}", r"gls?[ac]_[\w+/=]{20,}"),  # Vault, Terraform, Grafana
    *(r"do[opr]_v1_[0-9a-f]{30,}", r"dapi[0-9a-f]{32}", r"hf_[A-Za-z0-9]{30,}", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    *(r"AGE-SECRET-KEY-1[A-Z0-9]{20,}", r"shp[a-z]{2}_[0-9a-fA-F]{32}", r"SK[0-9a-f]{32}"),
)
"""Tokens that are known by their form."""
_TEXTS: Final = tuple(
    re.compile(rf"(?is){pattern}")
    for pattern in (
        # a name, and a value behind = or :
        rf"""(?P<before>(?:{_WORD}|authorization)[\w.-]{{0,80}}\\*["']?\s*(?:=>|[=:])\s*){_VALUE}""",
        # as in a manifest of Kubernetes: name: DB_PASSWORD, value: ...
        rf"""(?P<before>{_WORD}[\w.-]{{0,80}}["']?\s{{0,80}},?\s{{0,80}}["']?value["']?\s*:\s*){_VALUE}""",
        # an option, and its value as the next word
        rf"""(?P<before>(?<!\S)--?[\w-]{{0,80}}{_WORD}[\w-]{{0,80}}[ \t]+)(?!-){_VALUE}""",
        rf"""(?P<before>(?<!\S)(?:-u|--user)[ \t=]*["']?[^\s:"']+:){_VALUE}""",
        rf"""(?P<before>\bsshpass[ \t]+-p[ \t]*){_VALUE}""",
        rf"""(?P<before><[\w.:-]{{0,80}}{_WORD}[\w.:-]{{0,80}}>)(?P<value>[^<]*)""",
        r"""(?P<before>\bbearer[ \t]+)(?P<value>[\w.~+/=-]{16,})""",
        r"""(?P<before>)(?P<value>\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*)""",  # a JSON web token
        r"""(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)(?P<value>.*?)(?=-----END|\Z)""",
        rf"""(?-i:(?P<before>)(?P<value>(?<![A-Za-z0-9])(?:{"|".join(_TOKENS)})))""",
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
    # Known values last: one of them can be a part of another secret, and would leave the rest of it.
    for pattern in _TEXTS:
        text = pattern.sub(rf"\g<before>{_HIDDEN}", text)
    for value in sorted(_known(), key=len, reverse=True):
        text = text.replace(value, _HIDDEN)
    return hide_credentials(hide(text))


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
