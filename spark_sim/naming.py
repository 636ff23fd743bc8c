"""One text for all upgrades that behave alike: signs in place of the names of releases and values, and names again."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from upgrade.matrix import Upgrade

ORIGIN: Final = "\ue000"
TARGET: Final = "\ue001"
VALUE: Final = "\ue002"
"""What stands for the two releases and for the value of ``upgrade.from``: characters that no text has."""


def shared(text: str, upgrade: Upgrade) -> str:
    """Put signs in place of names.

    >>> from upgrade.matrix import Plan
    >>> from upgrade.releases import release_named
    >>> upgrade = Upgrade(release_named("2.0.1"), release_named("2.1.1"), Plan.ONE_BOUNCE)
    >>> shared("A@2.0.1 B@2.0.1 | bounce A>2.1.1", upgrade) == f"A@{ORIGIN} B@{ORIGIN} | bounce A>{TARGET}"
    True
    """
    for pattern, sign in _patterns(upgrade.origin.name, upgrade.target.name, upgrade.upgrade_from):
        text = pattern.sub(sign, text)
    return text


def named(text: str, upgrade: Upgrade) -> str:
    """Put the names of an upgrade in place of signs."""
    text = text.replace(ORIGIN, upgrade.origin.name).replace(TARGET, upgrade.target.name)
    return text.replace(VALUE, upgrade.upgrade_from or "")


def renamed(text: str | None, before: Upgrade, after: Upgrade) -> str | None:
    """Tell of one upgrade what was told of another that behaves alike."""
    return None if text is None else named(shared(text, before), after)


@lru_cache(maxsize=10_000)
def _patterns(origin: str, target: str, value: str | None) -> list[tuple[re.Pattern[str], str]]:
    def name(text: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.]){re.escape(text)}(?![\w-]|\.\d)")

    # The value first: it is a line, which a release may be called by, too.
    values = [(re.compile(rf'(?<=upgrade\.from=)("?){re.escape(value)}(?!\.?\d)'), rf"\1{VALUE}")] if value else []
    return [*values, (name(origin), ORIGIN), (name(target), TARGET)]
