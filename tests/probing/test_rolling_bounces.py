"""Rolling bounces of three members in every order: the rules alone, without bytes, tasks and sessions.

36 runs for each pair: 6 orders, 3 first leaders, and whether the first or the last of the others takes over when the
leader goes. After each stop and each start the group rebalances until it is quiescent. The number of runs with a
failed member is known for the bugs that Kafka has shipped.
"""

from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import pytest

from streams_assignor.probing import (
    Action,
    AssignmentContent,
    MemberVersion,
    MemberVersions,
    ProbingError,
    ReceivedVersions,
    decide,
)
from streams_assignor.probing.rules import BY_NAME
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES

MOST = 20
ALL_RUNS = list(product(permutations("ABC"), "ABC", (0, -1)))


class Group:
    def __init__(self, kind, leader, taking_over):
        self.members = {}
        self.kinds = {}
        self.leader, self.taking_over, self.failed = leader, taking_over, []
        for name in "ABC":
            self.start(name, kind)
        self.settle()

    def start(self, name, kind, pinned=None):
        self.kinds[name] = kind
        self.members[name] = MemberVersion.initial(BY_NAME[kind.rules].member, kind.supported_version, pinned)

    def bounce(self, order, kind, pinned):
        for name in order:
            self.stop(name)
            self.settle()
            self.start(name, kind, pinned)
            self.settle()

    def stop(self, name):
        self.members.pop(name, None)

    def fail(self, name):
        self.failed.append(name)
        self.stop(name)

    def settle(self):
        for _ in range(MOST):
            if not self.members or not self.rebalance():
                return
        raise AssertionError("it never ends")

    def rebalance(self):
        """Whether another rebalance must follow."""
        if self.leader not in self.members:
            self.leader = sorted(self.members)[self.taking_over]
        members = {}
        for name, member in list(self.members.items()):
            try:
                used = member.version_to_send()
            except ProbingError:
                self.fail(name)
                return True
            members[name] = MemberVersions(used, member.supported_version if used >= 3 else -1)
        kind = self.kinds[self.leader]
        try:
            decision = decide(BY_NAME[kind.rules].leader, kind.supported_version, members)
        except ProbingError:
            self.fail(self.leader)
            return True
        again = [self.deliver(name, decision.answers[name], decision.completes_upgrade) for name in list(self.members)]
        return any(again)

    def deliver(self, name, answer, completes):
        member = self.members[name]
        supported = answer.supported_version if answer.version >= 3 else -1
        event = ReceivedVersions(answer.version, supported, completes and name == self.leader, answer.error_code)
        try:
            assert answer.content is AssignmentContent.EMPTY or answer.version <= member.supported_version
            self.members[name], actions = member.on_assignment(event)
        except (ProbingError, AssertionError):
            self.fail(name)
            return True
        return Action.REJOIN in actions


class Kind(NamedTuple):
    """The properties of a release that matter for a run."""

    rules: str
    supported_version: int


def kind(release):
    return Kind(release.rule_set, release.supported_version)


def runs(origin, target, *values):
    """Every run of a rolling bounce; a second round with the same order if there are two values."""
    pins = tuple(RELEASES[target].pinned_version(value) for value in values or (None,))
    return runs_of(kind(RELEASES[origin]), kind(RELEASES[target]), pins)


@cache
def runs_of(origin, target, pins):
    return [run(origin, target, pins, *each) for each in ALL_RUNS]


def run(origin, target, pins, order, leader, taking_over):
    group = Group(origin, leader, taking_over)
    for pinned in pins:
        group.bounce(order, target, pinned)
    return group


def failing_runs(origin, target, *values):
    return sum(bool(group.failed) for group in runs(origin, target, *values))


@pytest.mark.parametrize("target", ["0.10.1.1", "0.10.2.1", "0.11.0.2", "1.0.1", "1.1.0", "1.1.1"])
def test_kafka_6054_one_bounce_out_of_0_10_0_always_fails_even_with_the_fix(target):
    assert 36 == failing_runs("0.10.0.1", target)


@pytest.mark.parametrize("target", ["0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.4.1", "3.9.2"])
def test_kafka_6054_two_bounces_with_the_fix_never_fail(target):
    assert 0 == failing_runs("0.10.0.1", target, "0.10.0", None)


@pytest.mark.parametrize(("target", "value"), [("2.0.1", None), ("3.9.2", None), ("3.9.2", "2.0")])
def test_without_the_right_upgrade_from_1_1_always_fails(target, value):
    assert 36 == failing_runs("1.1.1", target, value, None)


def test_kafka_8649_leaders_of_2_1_make_members_of_2_0_fail():
    assert [10, 10, 10, 10] == [failing_runs("2.0.1", target) for target in ("2.1.1", "2.2.0", "2.2.1", "2.3.0")]


@pytest.mark.parametrize("origin", ["2.1.1", "2.2.1", "2.3.0"])
def test_kafka_8649_a_downgrade_always_fails(origin):
    assert 36 == failing_runs(origin, "2.0.1")


@pytest.mark.parametrize("target", ["0.10.1.1", "0.11.0.3", "1.1.1"])
@pytest.mark.parametrize("origin", ["2.0.1", "2.3.1", "3.9.2"])
def test_a_downgrade_below_2_0_fails_if_an_old_member_leads_too_early(origin, target):
    assert 10 == failing_runs(origin, target)


FIXED = [each for each in NEWEST_OF_LINE.values() if each.is_released and (2, 2, 2) <= each.number != (2, 3, 0)]


@pytest.mark.parametrize("origin", [RELEASES["2.0.1"], *FIXED], ids=str)
def test_fixed_releases_roll_to_each_other_and_end_on_the_newest_common_version(origin):
    for target in FIXED:
        for group in runs(origin.name, target.name):
            assert not group.failed
            assert {target.supported_version} == {member.used_version for member in group.members.values()}


@pytest.mark.parametrize("value", ["0.10.0", "1.1"])
def test_an_upgrade_from_that_is_never_removed_keeps_the_old_version(value):
    for group in runs("1.1.1", "3.9.2", value, value):
        assert not group.failed
        assert {1 if value == "0.10.0" else 2} == {member.used_version for member in group.members.values()}
