"""What is compared, as tables of facts, and what stands beside a fact on which a capture and our members differ.

Versions have to be equal, and so does all that follows from them. Which member gets which task may differ where Kafka
walks hash maps (up to 2.5); from 2.6 on it mostly follows (``comparable``), and the numbers of tasks are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from assignor.eras import era_of
from probing.events import Content
from probing.rules import BY_NAME
from spark_sim.conform.lives import Step
from spark_sim.conform.said import Got, Next, Sent, Unreadable
from spark_sim.history import tasks_text
from subscription_codec import TaskId


@frozen
class Difference:
    """One fact: in which generation, of which member ("" for the group), what the capture says and what ours say."""

    generation: int
    member: str
    what: str
    captured: str
    ours: str
    why: str

    def __str__(self) -> str:
        who = f"{self.member} " if self.member else ""
        return f"{who}{self.what}: captured {self.captured}, ours {self.ours}"


Finding = tuple[str, str, str]
"""What differs, and what it is in the capture and with ours."""

Fact = Callable[[Any], object]

_SENDS: Final[Mapping[str, Fact]] = {
    "sends version": lambda sent: sent.used,
    "sends supported version": lambda sent: sent.supported,
    "sends consumer protocol": lambda sent: sent.envelope,
}
_GETS: Final[Mapping[str, Fact]] = {
    "gets version": lambda got: got.version,
    "gets supported version": lambda got: got.supported,
    "gets error code": lambda got: got.error_code,
}
HOSTS, SOME, EVERYTHING, FOLLOWS, PREVIOUS = "hosts", "some", "everything", "follows", "previous"
_MORE: Final[Mapping[str, Mapping[str, Fact]]] = {
    HOSTS: {"hears of hosts": lambda got: ", ".join(map(str, sorted(got.hosts))) or "none"},
    SOME: {"gets tasks": lambda got: "some" if got.inputs else "none"},
    FOLLOWS: {
        "gets active tasks": lambda got: len(got.inputs),
        "gets standby tasks": lambda got: len(got.standby),
        "is asked to rejoin at once": lambda got: "yes" if got.next_rebalance is Next.AT_ONCE else "no",
    },
    PREVIOUS: {"gets back": lambda got: f"{tasks_text(got.inputs)} and standbys {tasks_text(got.standby)}"},
}
"""Facts that have to be equal under a condition (``comparable``); ``EVERYTHING`` is about the group, not a member."""


def sent_facts(captured: Sent, ours: Sent | Unreadable) -> Iterator[Finding]:
    """Compare subscriptions: what differs, in the capture and of ours."""
    return _differing(_SENDS, captured, ours)


def got_facts(
    captured: Got | Unreadable | None, ours: Got | Unreadable | None, more: Collection[str] = ()
) -> Iterator[Finding]:
    """Compare answers likewise; ``more`` says what else has to be equal (``comparable``)."""
    if isinstance(captured, Got) and isinstance(ours, Got):
        yield from _differing(_GETS, captured, ours)
        for name, facts in _MORE.items():
            yield from _differing(facts if name in more else {}, captured, ours)
    elif type(captured) is not type(ours):
        yield "gets", _shown(captured), _shown(ours)


def comparable(
    leader: Step, heard: Iterable[Sent | Unreadable], furthest: int, *, scarce: bool = False
) -> tuple[str, ...]:
    """Say what else has to be equal in the answers of a leader that gets the captured subscriptions.

    ``scarce``: there are fewer tasks than members, so chance says who gets none, unless the leader probes.

    Members from the future are one client with a random id for leaders from 2.4 on, and clients are walked in the order
    of their ids: with them nothing follows. Nor does it with a task assignor that is not the release's own, if state
    (``furthest`` into its changelog) may be too far behind for its member to take over, if lags decide between the
    threads of a process, or if members have tags.
    """
    known = [sent for sent in heard if isinstance(sent, Sent)]
    rules, era = BY_NAME[leader.release.rules].leader, era_of(leader.release.number)
    probes = any(sent.used > leader.release.latest_version for sent in known)
    by_chance = probes and rules.content_for_future is Content.REGULAR
    by_lag = may_lag(leader, furthest) or (era.balances and _dealt_by_lag(known))
    if by_chance or by_lag or leader.own_assignor:
        return (HOSTS,)
    conditions = {
        HOSTS: True,
        # Between the two, chance says whose tasks are withheld.
        SOME: (era.balances or not era.cooperates) and (probes or not scarce),
        EVERYTHING: not era.cooperates,
        FOLLOWS: era.balances and not any(sent.tags for sent in known),
        PREVIOUS: probes and rules.others_while_probing is Content.PREVIOUS,
    }
    return tuple(name for name, holds in conditions.items() if holds)


def may_lag(leader: Step, furthest: int) -> bool:
    """Whether a leader may let members catch up first: it knows how long changelogs are, a capture does not."""
    return era_of(leader.release.number).balances and furthest > leader.config.acceptable_recovery_lag


def _dealt_by_lag(heard: Collection[Sent]) -> bool:
    """Whether a process has several members, and state: each gets what it lags behind the least."""
    crews = Counter(sent.process_id for sent in heard)
    return any(sent.sums and crews[sent.process_id] > 1 for sent in heard)


def same_tasks(captured: Got | Unreadable | None, ours: Got | Unreadable | None) -> bool:
    """Whether a member gets exactly the same tasks."""
    if not isinstance(captured, Got) or not isinstance(ours, Got):
        return captured is ours
    return captured.active == ours.active and captured.standby.keys() == ours.standby.keys()


def given(answers: Iterable[Got | Unreadable | None]) -> Counter[TaskId]:
    """Count the members that each task is active on."""
    return Counter(task for got in answers if isinstance(got, Got) for task in got.inputs)


def answers_differ(captured: Counter[TaskId], ours: Counter[TaskId], more: Collection[str]) -> Iterator[Finding]:
    """Compare what the group as a whole was given: nothing twice (unless Kafka did so too), and all that follows."""
    twice, ours_twice = (sorted(task for task, count in each.items() if count > 1) for each in (captured, ours))
    if bool(twice) != bool(ours_twice):
        yield "tasks given twice", tasks_text(twice), tasks_text(ours_twice)
    if EVERYTHING in more and captured.keys() != ours.keys():
        yield "tasks given to somebody", tasks_text(captured), tasks_text(ours)


def _differing(facts: Mapping[str, Fact], captured: object, ours: object) -> Iterator[Finding]:
    for what, fact in facts.items():
        real, own = fact(captured), fact(ours)
        if real != own:
            yield what, str(real), str(own)


def _shown(got: Got | Unreadable | None) -> str:
    match got:
        case None:
            return "nothing"
        case Unreadable(problem):
            return f"what cannot be read ({problem})"
        case _:
            return f"an answer in version {got}"
