"""Releases that never were exist only while they are imagined, and differ from real ones in one thing."""

import pytest

from streams_assignor.probing import BY_NAME
from streams_assignor.spark_sim.regressions.mutants import MUTANTS, mutants_registered
from streams_assignor.upgrade import UnknownRelease
from streams_assignor.upgrade.releases import release_named

NAMES = [rules.name for _, rules in MUTANTS]


@pytest.mark.parametrize("name", NAMES)
def test_they_are_known_only_meanwhile(name):
    with mutants_registered():
        assert (name, name) == (release_named(name).rule_set, BY_NAME[name].name)

    assert name not in BY_NAME
    with pytest.raises(UnknownRelease):
        release_named(name)


@pytest.mark.parametrize(("like", "rules"), MUTANTS, ids=NAMES)
def test_half_of_the_rules_are_those_of_the_release(like, rules):
    real = BY_NAME[like.rule_set]

    assert (real.leader == rules.leader) != (real.member == rules.member)
