"""Mutants: releases that never existed, such as a release without a fix that came before it.

Each mutant is a row like those of ``upgrade.releases`` and ``probing.rules`` with one change. ``release_named``, and so
scenarios, know mutants only within ``mutants_registered()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, cast

from attrs import evolve

from streams_assignor.probing import BY_NAME
from streams_assignor.probing.model import VersionComparison
from streams_assignor.probing.rules import G4A, KAFKA_8649, RuleSet, VersionSource
from streams_assignor.upgrade.release_behaviour import CURRENT, ReleaseBehaviour
from streams_assignor.upgrade.releases import RELEASES, Release, release_named

_OLDER_VERSION_REFUSED: Final = {
    pair: after for pair, after in G4A.member.transitions.items() if pair[1] is not VersionComparison.OLD
}

_2_4, _2_5 = release_named("2.4.1"), release_named("2.5.1")

MUTANTS: Final = (
    (
        _2_4,
        RuleSet(
            "what-if-7436",
            "2.4 before its hotfix #7436: an answer that cannot be probed is refused",
            G4A.leader,
            evolve(G4A.member, transitions=_OLDER_VERSION_REFUSED),
        ),
    ),
    (
        _2_4,
        RuleSet(
            "what-if-9053",
            "2.4 before KAFKA-9053: leaders say that all support what they do themselves",
            evolve(G4A.leader, supported_version=VersionSource.OWN_SUPPORTED),
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
"""The release on which each mutant is based, and its rules."""


def _behaviour(like: Release, rules: RuleSet) -> ReleaseBehaviour:
    return evolve(
        CURRENT,
        supported_version=like.supported_version,
        rule_set=rules.name,
        upgrade_from=like.upgrade_from,
        rebalance_protocols=like.rebalance_protocols,
        task_assignor="sticky",
    )


def _mutant_release(like: Release, rules: RuleSet) -> Release:
    return Release(rules.name, _behaviour(like, rules), rules.source)


@contextmanager
def mutants_registered() -> Iterator[None]:
    """Register the mutants as releases within the context."""
    with ExitStack() as stack:
        for like, rules in MUTANTS:
            for table, row in ((BY_NAME, rules), (RELEASES, _mutant_release(like, rules))):
                if rules.name not in table:  # registered by an outer context
                    stack.enter_context(_registered_as(rules.name, row, cast("dict[str, object]", table)))
        yield


@contextmanager
def _registered_as(name: str, row: object, table: dict[str, object]) -> Iterator[None]:
    table[name] = row
    try:
        yield
    finally:
        del table[name]
