"""Failures of streams groups (KIP-1071): searches that know no schedule, where a finding is and where it is not.

Each search explores every schedule of a small group. The rules ``fixed`` are those of 4.3.1 without the findings, and
``mistaken`` has an assignor that assigns a task twice; no release is like either of them. Checks are findings that no
group has: each fault in each situation, and each two faults while a member joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from attrs import frozen

from streams_assignor.spark_sim.streams_groups._model import Budget, GroupCell, GroupExploration, explore
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
from streams_assignor.spark_sim.streams_groups.properties import (
    ADVISORY_PROPERTIES,
    EVERY_TASK_OWNED,
    NO_MEMBER_FAILS,
    NO_MEMBER_WAITS,
    PROPERTIES,
    SINGLE_COMMITTER,
    SINGLE_OWNER,
    STANDBY_STAYS,
    STANDBYS_AS_CONFIGURED,
)
from streams_assignor.spark_sim.streams_groups.rules import NEWEST
from streams_assignor.spark_sim.streams_groups.scenario import FAULTS

__all__ = ["ADVISORY_PROPERTIES", "FINDINGS", "StreamsFinding", "StreamsSearch", "streams_searches"]

_WITHOUT_OWNERS: Final = tuple(name for name in PROPERTIES if name not in {SINGLE_OWNER, SINGLE_COMMITTER})
"""For searches behind the finding about unreported tasks, which ends every schedule in which it occurs."""
_WAITING: Final = (EVERY_TASK_OWNED, NO_MEMBER_WAITS, STANDBYS_AS_CONFIGURED)


@frozen
class StreamsFinding:
    """One finding: what is violated, in which groups, and in which it is not."""

    name: str
    source: str
    description: str
    violated_property: str
    affected: tuple[str, ...]
    """The groups that have it, as scenario lines."""
    fixed: tuple[str, ...]
    budget: Budget
    fixed_budget: Budget | None = None
    """Where other things happen to those that do not have it."""
    faults: tuple[str, ...] = FAULTS
    settles: bool = False
    properties: tuple[str, ...] = PROPERTIES


@frozen
class StreamsSearch:
    """One group in which a finding is looked for."""

    finding: StreamsFinding
    line: str
    is_affected: bool
    """Whether it is expected there."""

    @property
    def budget(self) -> Budget:
        """How often the operator acts and faults occur."""
        finding = self.finding
        return finding.budget if self.is_affected else finding.fixed_budget or finding.budget

    def explore(self) -> GroupExploration:
        """Explore every schedule."""
        finding = self.finding
        scenario = parse_scenario(self.line)
        return explore(GroupCell(scenario, self.budget, finding.faults, finding.settles, finding.properties))


_RELEASES: Final = ("4.3.1", NEWEST)
_TWO_MEMBERS: Final = "A@{} B@{} group {} tasks=2"
_FOUR_MEMBERS: Final = "A@4.3.1 B@4.3.1 C@4.3.1 D@4.3.1 group {} tasks=1 standbys=2"

_FIXED: Final = _TWO_MEMBERS.format("fixed", "fixed", NEWEST)
_BOTH_RUN: Final = "start A | settle | start B | settle"
_LATE_JOIN: Final = "start A | delay A | settle"


def _check(faults: str, situation: str, line: str, budget: Budget) -> StreamsFinding:
    """Return the check of faults in one situation, without the properties that findings violate there."""
    kinds = frozenset(faults.split("+"))
    known: set[str] = set()
    moves = "next=" in line or "failover" in kinds
    if not kinds.isdisjoint({"lose-response", "delay"}) or ("slow-response" in kinds and moves):  # S2, S3
        known.update(_WAITING)
    if "static=" in line and not kinds.isdisjoint({"crash", "lose-request", "lose-response", "delay"}):  # S8, S9
        known.add(NO_MEMBER_FAILS)
    if {"delay"} < kinds:  # S10
        known.add(SINGLE_OWNER)
    return StreamsFinding(
        faults if situation == "a member joins" else f"{faults}, {situation}",
        "KIP-1071",
        f"{faults.replace('+', ' and ')} while {situation}: no harm with standbys, beyond S2, S3 and S8 to S10",
        SINGLE_OWNER,
        (),
        (line,),
        budget,
        faults=tuple(faults.split("+")),
        properties=tuple(name for name in PROPERTIES if name not in known),
    )


FINDINGS: Final = (
    StreamsFinding(
        "S1",
        "brokers of 4.2.2, 4.3.1 and 4.4.0",
        "a heartbeat between an assignment and its callback counts as a revocation, so a task has two owners",
        SINGLE_OWNER,
        tuple(_TWO_MEMBERS.format(*[release] * 3) for release in _RELEASES),
        tuple(_TWO_MEMBERS.format("fixed", "fixed", release) for release in _RELEASES),
        Budget(starts=2),
    ),
    StreamsFinding(
        "S2",
        "brokers of 4.2.2, 4.3.1 and 4.4.0",
        "a lost answer leaves a member without its tasks: the coordinator has nothing new to assign",
        NO_MEMBER_WAITS,
        tuple(f"{_TWO_MEMBERS.format(*[release] * 3)} | start A | settle" for release in _RELEASES),
        (f"{_TWO_MEMBERS.format('4.3.1', '4.3.1', 'fixed')} | start A | settle",),
        Budget(starts=1, faults=1),
        faults=("lose-response",),
        properties=_WITHOUT_OWNERS,
    ),
    StreamsFinding(
        "S3",
        "brokers of 4.2.2, 4.3.1 and 4.4.0",
        "a late heartbeat takes the answer of the next one, so a member waits for its tasks",
        NO_MEMBER_WAITS,
        tuple(f"{_TWO_MEMBERS.format('fixed', 'fixed', group)} | start A | settle" for group in (*_RELEASES, "fixed")),
        (),
        Budget(starts=1, faults=1),
        faults=("delay",),
        properties=_WITHOUT_OWNERS,
    ),
    StreamsFinding(
        "S4",
        "KAFKA-20899",
        "a standby moves to a process with more tasks",
        STANDBY_STAYS,
        (_FOUR_MEMBERS.format("4.3.1"),),
        (_FOUR_MEMBERS.format("4.2.2"), _FOUR_MEMBERS.format("4.4.0")),
        Budget(starts=4),
        settles=True,
        properties=(STANDBY_STAYS,),
    ),
    StreamsFinding(
        "S5",
        "pull request 22991 (what if)",
        "a member that gets a task in two roles fails",
        NO_MEMBER_FAILS,
        ("A@4.3.1 group mistaken tasks=1",),
        tuple(f"A@4.3.1 group {release} tasks=1" for release in ("4.2.2", *_RELEASES)),
        Budget(starts=1),
        properties=(NO_MEMBER_FAILS,),
    ),
    StreamsFinding(
        "S6",
        "by design",
        "a rolling restart with a changed topology ends each restarted member; without a change it does not",
        NO_MEMBER_FAILS,
        ("A@fixed B@fixed group fixed tasks=2 | start A | settle | start B | settle",),
        ("A@fixed B@fixed group fixed tasks=2 | start A | settle | start B | settle",),
        Budget(updates=1),
        Budget(restarts=1),
    ),
    StreamsFinding(
        "S7",
        "by design",
        "a member that joins before the last member of the classic protocol has left fails; offline none does",
        NO_MEMBER_FAILS,
        ("A@fixed B@fixed group fixed tasks=2 classic=2",),
        ("A@fixed B@fixed group fixed tasks=2 classic=2 | retire | retire",),
        Budget(starts=2, retirements=2),
        Budget(starts=2),
        properties=(NO_MEMBER_FAILS, EVERY_TASK_OWNED),
    ),
    StreamsFinding(
        "S8",
        "a broker of 4.4.0",
        "a lost answer to the join of a static member ends it: its second join finds its instance id in use",
        NO_MEMBER_FAILS,
        (f"{_FIXED} static=A,B | start A | settle",),
        (f"{_FIXED} | start A | settle",),
        Budget(starts=1, faults=1),
        faults=("lose-response",),
        properties=(NO_MEMBER_FAILS,),
    ),
    StreamsFinding(
        "S9",
        "by design",
        "a static member that crashes and starts before its session has ended fails",
        NO_MEMBER_FAILS,
        (f"{_FIXED} static=A,B | start A | settle",),
        (f"{_FIXED} | start A | settle",),
        Budget(starts=1, faults=1),
        faults=("crash",),
        properties=(NO_MEMBER_FAILS,),
    ),
    StreamsFinding(
        "S10",
        "brokers of 4.2.2, 4.3.1 and 4.4.0",
        "a late join counts as a revocation of all tasks of its member, so a task has two owners; one can commit",
        SINGLE_OWNER,
        tuple(f"{_TWO_MEMBERS.format('fixed', 'fixed', group)} | {_LATE_JOIN}" for group in _RELEASES),
        (),
        Budget(starts=1),
        properties=(SINGLE_OWNER, SINGLE_COMMITTER),
    ),
    StreamsFinding(
        "S11",
        "by design",
        "brokers that return to 4.3 end the static members",
        NO_MEMBER_FAILS,
        (f"{_FIXED} next=4.3.1 static=A,B | start A | settle",),
        (f"{_FIXED} next=4.3.1 | start A | settle",),
        Budget(starts=1, rolls=1),
        properties=(NO_MEMBER_FAILS,),
    ),
    *(
        _check(fault, "a member joins", f"{_FIXED} standbys=1 | start A | settle", Budget(starts=1, faults=1))
        for fault in FAULTS
    ),
    *(
        _check(fault, situation, line, budget)
        for situation, line, budget in (
            ("a member restarts", f"{_FIXED} standbys=1 | {_BOTH_RUN}", Budget(restarts=1, faults=1)),
            ("a static member restarts", f"{_FIXED} standbys=1 static=A,B | {_BOTH_RUN}", Budget(restarts=1, faults=1)),
            (
                "a member joins and brokers are upgraded",
                f"{_TWO_MEMBERS.format('fixed', 'fixed', '4.3.1')} next={NEWEST} standbys=1 | start A | settle",
                Budget(starts=1, rolls=1, faults=1),
            ),
        )
        for fault in FAULTS
    ),
    *(
        _check("+".join(pair), "a member joins", f"{_FIXED} standbys=1 | start A | settle", Budget(starts=1, faults=2))
        for pair in combinations(FAULTS, 2)
    ),
)
"""The findings, each with its searches; behind them the checks, whose searches find nothing."""


def streams_searches() -> Iterator[StreamsSearch]:
    """Yield all searches: of each finding first those that are expected to find it."""
    for finding in FINDINGS:
        for is_affected, lines in ((True, finding.affected), (False, finding.fixed)):
            yield from (StreamsSearch(finding, line, is_affected) for line in lines)
