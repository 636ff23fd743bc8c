"""Replaces the names of releases in texts, so that all upgrades of an equivalence class share them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from upgrade.plans import Upgrade

ORIGIN: Final = "\ue000"
TARGET: Final = "\ue001"
UPGRADE_FROM: Final = "\ue002"
"""Placeholders for the two releases and the value of ``upgrade.from``: characters that occur in no text."""


def with_placeholders(text: str, upgrade: Upgrade) -> str:
    """Replace names by placeholders.

    >>> from upgrade.plans import Plan
    >>> from upgrade.releases import release_named
    >>> upgrade = Upgrade(release_named("2.0.1"), release_named("2.1.1"), Plan.ONE_BOUNCE)
    >>> with_placeholders("A@2.0.1 B@2.0.1 | bounce A>2.1.1", upgrade) == f"A@{ORIGIN} B@{ORIGIN} | bounce A>{TARGET}"
    True
    """
    for pattern, sign in _patterns(upgrade.origin.name, upgrade.target.name, upgrade.upgrade_from):
        text = pattern.sub(sign, text)
    return text


def with_release_names(text: str, upgrade: Upgrade) -> str:
    """Replace placeholders by the names of an upgrade."""
    text = text.replace(ORIGIN, upgrade.origin.name).replace(TARGET, upgrade.target.name)
    return text.replace(UPGRADE_FROM, upgrade.upgrade_from or "")


def translate_releases(text: str | None, from_upgrade: Upgrade, to_upgrade: Upgrade) -> str | None:
    """Return a text about one upgrade as a text about another upgrade of its equivalence class."""
    return None if text is None else with_release_names(with_placeholders(text, from_upgrade), to_upgrade)


@lru_cache(maxsize=10_000)
def _patterns(origin: str, target: str, value: str | None) -> list[tuple[re.Pattern[str], str]]:
    def name(text: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.]){re.escape(text)}(?![\w-]|\.\d)")

    # The value first: it is a line, which a release may be called by, too.
    values = (
        [(re.compile(rf'(?<=upgrade\.from=)("?){re.escape(value)}(?!\.?\d)'), rf"\1{UPGRADE_FROM}")] if value else []
    )
    return [*values, (name(origin), ORIGIN), (name(target), TARGET)]
