"""Releases that never were: fixes that were wrong for a while, or came before a release, put into our rules.

Each is a row like those of ``upgrade.releases`` and ``probing.rules`` with one thing changed. They are known to
``release_named``, and so to scenarios, only within ``imagined()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, cast

from attrs import evolve

from probing import BY_NAME
from probing.events import Verdict
from probing.rules import G4A, KAFKA_8649, RuleSet, Speaks
from upgrade.releases import RELEASES, Release, release_named

_OLD_IS_REFUSED: Final = {pair: after for pair, after in G4A.member.transitions.items() if pair[1] is not Verdict.OLD}

_2_4, _2_5 = release_named("2.4.1"), release_named("2.5.1")

WHAT_IFS: Final = (
    (
        _2_4,
        RuleSet(
            "what-if-7436",
            "2.4 before its hotfix #7436: an answer that cannot be probed is refused",
            G4A.leader,
            evolve(G4A.member, transitions=_OLD_IS_REFUSED),
        ),
    ),
    (
        _2_4,
        RuleSet(
            "what-if-9053",
            "2.4 before KAFKA-9053: leaders say that all support what they do themselves",
            evolve(G4A.leader, supported=Speaks.OWN_LATEST),
            G4A.member,
        ),
    ),
    (
        _2_5,
        RuleSet(
            "what-if-8972",
            "2.5 if KAFKA-8972 had not come before it: what comes with a new version is dropped, as by eager members",
            G4A.leader,
            evolve(G4A.member, transitions=KAFKA_8649.member.transitions),
        ),
    ),
)
"""Each a row of rules, and the release that it is but for these."""


def _release(like: Release, rules: RuleSet) -> Release:
    return Release(
        rules.name, like.latest_version, rules.name, like.upgrade_from, rules.source, like.rebalance_protocols
    )


@contextmanager
def imagined() -> Iterator[None]:
    """Let these releases exist meanwhile."""
    with ExitStack() as ending:
        for like, rules in WHAT_IFS:
            for table, row in ((BY_NAME, rules), (RELEASES, _release(like, rules))):
                if rules.name not in table:  # not within another one
                    ending.enter_context(_known_as(rules.name, row, cast("dict[str, object]", table)))
        yield


@contextmanager
def _known_as(name: str, row: object, table: dict[str, object]) -> Iterator[None]:
    table[name] = row
    try:
        yield
    finally:
        del table[name]
