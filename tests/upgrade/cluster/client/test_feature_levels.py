"""A member that follows the feature levels of its cluster, beside an adapter that only writes down what it is to do."""

from collections.abc import Callable, Hashable
from functools import partial
from threading import Event, Thread
from threading import enumerate as threads
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from streams_assignor.extension import ClientExtension
from streams_assignor.upgrade import ConfigException
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from streams_assignor.upgrade.cluster.client.feature_levels import POLL_SECONDS, FeatureLevels, FeatureWatch
from streams_assignor.upgrade.cluster.features.carried_levels import Levels
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")

FEATURE = "group.version"
SECONDS = 60.0


class Features:
    """A cluster that can be asked: at one level, or out of reach."""

    def __init__(self, level: int = 0) -> None:
        self.level, self.reachable, self.asked = level, True, 0

    def describe(self) -> FeatureMetadata:
        self.asked += 1
        if not self.reachable:
            raise Unreachable("no broker listens")
        return FeatureMetadata(Listener.BROKER, 7, {FEATURE: (0, 9)}, {FEATURE: self.level} if self.level else {})

    def describe_newest(self) -> FeatureMetadata:
        return self.describe()


class OneStale(Features):
    """A cluster of which a random broker is a stale one, still at level 1."""

    def describe_newest(self) -> FeatureMetadata:
        return evolve(self.describe(), finalized={FEATURE: 2})


class Member:
    """A member of a group, and what its extension wants of the adapter."""

    def __init__(self, features: Features | None = None, *, sees: int = 0, **settings: Any) -> None:
        self.extension = FeatureLevels([FEATURE], features or Features(), **settings)
        self.extension.observed = {FEATURE: sees}
        self.planned: list[float] = []
        self.plan: list[Callable[[], None]] = []
        self.rejoins: list[tuple[Hashable, Callable[[], bool]]] = []
        self.extension.attach(self._call_later, lambda content, is_due: self.rejoins.append((content, is_due)))

    def _call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.planned.append(seconds)
        self.plan.append(call)

    @property
    def levels(self) -> Levels:
        return self.extension.levels

    def leads(self, *others: "Member") -> None:
        """Lead a group of this member and others, which do not care for their answer."""
        answer = self.extension.merge(each.extension.trailing() for each in (self, *others))
        self.extension.on_assignment(answer)
        self.extension.on_joined(leads=True)

    def follows(self, leader: "Member") -> None:
        answer = leader.extension.merge([self.extension.trailing(), leader.extension.trailing()])
        self.extension.on_assignment(answer)
        self.extension.on_joined(leads=False)

    def observes(self, level: int) -> None:
        """The cluster answers, and the client's thread goes on."""
        self.extension.on_answer({FEATURE: level})
        self.plan.pop()()

    def polls(self) -> None:
        """Do what was planned last, a poll, and what follows from its answer."""
        poll = self.plan.pop()
        self.plan.clear()
        poll()
        for thread in threads():
            if thread.name == "feature-watch":
                thread.join(SECONDS)
        (answer,) = (each for each in self.plan if not isinstance(each, partial))
        self.plan.remove(answer)
        answer()


def carrying(level: int) -> Member:
    member = Member(sees=level)
    member.extension.levels = {FEATURE: level}
    return member


def test_it_is_an_extension_of_an_adapter() -> None:
    assert isinstance(FeatureLevels([FEATURE]), ClientExtension)


def test_g6_a_new_leader_believes_carried_levels_once_the_cluster_confirms_them() -> None:
    """It passes them on and asks immediately; a confirmed level needs no further rebalance."""
    ahead, leader = carrying(2), Member()
    leader.leads(ahead)
    assert ({}, [0.0]) == (leader.levels, leader.planned)
    leader.observes(2)

    assert ({FEATURE: 2}, []) == (leader.levels, leader.rejoins)
    leader.leads(ahead)
    assert [0.0, 0.0] == leader.planned  # the poll and the answer, and no second poll


def test_a_member_with_a_client_does_not_believe_a_level_that_the_cluster_has_not_answered() -> None:
    """A hostile member wrote 32767 once, and the group believed it for ever."""
    announced: list[Levels] = []
    hostile, leader, follower = carrying(32767), Member(on_levels=announced.append), Member()
    follower.follows(hostile)
    assert {} == follower.levels
    follower.observes(2)  # up to what is finalized
    assert ({FEATURE: 2}, {FEATURE: 32767}) == (follower.levels, follower.extension.unconfirmed)
    assert [] == follower.rejoins

    leader.leads()
    leader.observes(2)
    leader.leads(hostile)
    assert ({FEATURE: 2}, {}) == (leader.levels, leader.extension.unconfirmed)  # it did not pass the level on
    assert [{FEATURE: 2}] == announced


def test_a_member_without_a_client_believes_every_level_and_never_polls() -> None:
    planned: list[object] = []
    member = FeatureLevels([FEATURE])
    member.attach(lambda *call: planned.append(call), lambda *_: None)
    member.on_assignment(carrying(32767).extension.trailing())
    member.on_joined(leads=False)
    member.close()

    assert ({FEATURE: 32767}, []) == (member.levels, planned)


def test_a_follower_asks_until_the_cluster_confirms_a_level() -> None:
    """A stale broker delays a level; it does not lose it. After that only the leader polls (KIP-584)."""
    follower = Member()
    follower.follows(carrying(2))
    assert [0.0] == follower.planned
    watch = follower.extension._watch
    assert watch is not None
    for level, polling in ((1, True), (2, False)):
        follower.observes(level)
        assert {FEATURE: level} == follower.levels
        assert polling == watch.running

    assert [] == follower.rejoins


def test_g6_a_stale_broker_does_not_lower_what_a_new_leader_and_its_group_believe() -> None:
    """The leader passed on the level of the stale broker until a poll happened to reach another one."""
    ahead, leader = carrying(2), Member(OneStale(1))
    leader.leads()
    leader.polls()
    leader.leads(ahead)
    assert ({FEATURE: 1}, {FEATURE: 2}) == (leader.levels, leader.extension.withheld)
    rejoins = len(leader.rejoins)
    leader.polls()
    assert rejoins + 1 == len(leader.rejoins)
    leader.leads(ahead)

    assert ({FEATURE: 2}, {}) == (leader.levels, leader.extension.withheld)


def test_a_level_that_stays_in_doubt_is_asked_for_at_once_only_the_first_time() -> None:
    hostile, leader = carrying(32767), Member(Features(2))
    leader.leads()
    leader.polls()
    planned = len(leader.planned)
    leader.leads(hostile)
    assert [0.0] == leader.planned[planned:]
    leader.leads(hostile)

    assert [0.0] == leader.planned[planned:]


def test_a_cluster_that_does_not_answer_is_asked_again() -> None:
    leader = Member(features := Features(1))
    features.reachable = False
    leader.leads()
    leader.plan.pop()()
    for thread in threads():
        if thread.name == "feature-watch":
            thread.join(SECONDS)

    assert (1, [0.0, POLL_SECONDS]) == (features.asked, leader.planned)


def test_a_closed_member_ignores_a_late_answer() -> None:
    member = Member()
    member.leads()
    member.extension.on_answer({FEATURE: 2})
    member.extension.close()
    member.plan.pop()()

    assert ([], {}) == (member.rejoins, member.levels)


def test_g4_a_leader_rejoins_until_the_group_carries_the_levels() -> None:
    leader = Member()
    leader.leads()
    rejoins = []
    for level in (2, 1, None, 1, 2, 3):  # stale brokers, and a rebalance after the second
        if level is None:
            leader.leads()
        else:
            leader.observes(level)
        rejoins.append(len(leader.rejoins))

    assert [1, 2, 2, 2, 2, 3] == rejoins


def test_a_rejoin_is_due_while_the_leader_has_observed_nothing_newer() -> None:
    leader = Member()
    leader.leads()
    leader.observes(2)
    ((content, is_due),) = leader.rejoins
    assert (((FEATURE, 2),), True) == (content, is_due())
    leader.observes(3)
    assert [False, True] == [due() for _, due in leader.rejoins]

    leader.follows(Member())
    assert [False, False] == [due() for _, due in leader.rejoins]


def test_g3_a_former_leader_does_not_poll_features() -> None:
    member = Member()
    member.leads()
    member.follows(Member())
    (look,) = member.plan
    look()

    assert [look] == member.plan  # it would have planned the next one
    member.leads()
    assert [0.0, 0.0] == member.planned


def test_a_member_that_leads_again_continues_to_poll() -> None:
    leader = Member()
    leader.leads()
    leader.leads()

    assert [0.0] == leader.planned


def test_a_failed_levels_callback_is_called_again() -> None:
    def received_levels(levels: Levels) -> None:
        calls.append(levels)
        if len(calls) == 1:
            raise LookupError

    calls: list[Levels] = []
    leader = Member(sees=2, on_levels=received_levels)
    with pytest.raises(LookupError):
        leader.leads()
    leader.leads()
    leader.leads()

    assert [{FEATURE: 2}] * 2 == calls


def test_two_members_cannot_share_it() -> None:
    """Each would take the other's leadership for its own."""
    member = Member()

    with pytest.raises(ConfigException, match="of its own for each member"):
        member.extension.attach(lambda *_: None, lambda *_: None)


def test_features_need_names_to_watch() -> None:
    with pytest.raises(ConfigException, match=r"names of features to watch, .* got none"):
        FeatureLevels([], Features())


def test_features_need_both_questions() -> None:
    with pytest.raises(ConfigException, match=r"the methods describe and describe_newest, .* got SimpleNamespace"):
        FeatureLevels([FEATURE], SimpleNamespace(describe=Features().describe))  # type: ignore[arg-type]


def test_a_poll_that_ends_after_stop_is_dropped() -> None:
    """The leader has lost its office while the cluster was asked."""

    class Slow(Features):
        def describe(self) -> FeatureMetadata:
            assert may_answer.wait(SECONDS)
            return super().describe()

    may_answer = Event()
    received: list[Levels] = []
    plan: list[Callable[[], None]] = []
    features = Slow(2)
    watch = FeatureWatch(features, received.append, lambda _, call: plan.append(call))
    watch.start(immediately=True)
    plan.pop(0)()
    asking = the_thread_that_asks()
    watch.stop()
    may_answer.set()
    asking.join()
    plan.pop(0)()  # and it is not asked again

    assert (1, [], []) == (features.asked, received, plan)
    assert 60.0 == POLL_SECONDS


def the_thread_that_asks() -> Thread:
    return next(thread for thread in threads() if thread.name == "feature-watch")
