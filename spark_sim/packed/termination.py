"""Whether rebalances that are requested happen, and end, in groups of any size, by the tables of the protocol alone.

Between two actions of the operator or faults, no process starts or stops, no orphaned id is made, and no member misses
its answer. Each of the others is awaited until it has expired, so after finitely many generations there is none. From
then on, every generation has the members of the one before, without those that have left to rejoin, and with some that
have rejoined. All take their answers before, and these depend on the leader and on the set of subscriptions. So
a generation is the version of its leader, the *set* of versions of the others, and those of members that are outside
because they have left: finitely many, whatever the size of the group. A generation needs a reason: a member that
rejoins because of its answer, or one of the finitely many that no answer has sent outside. So rebalancing ends unless
some generations follow each other in a cycle, and a member rejoins there.

A member that takes a step from one version to another for ever comes back to the first, by steps that are taken in the
same cycle. Generations with a step from which no way leads back occur finitely often: ``_recurring`` leaves them out.

A follower that rejoins with the subscription that it has sent may be ignored (KAFKA-10455): it gets its answer again,
and stays as it is. Packed groups rebalance then. So do real ones if another member of the generation is heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from streams_assignor.probing import RejoinMode
from streams_assignor.spark_sim.model.violations import (
    REBALANCE_REQUEST_HONORED,
    REBALANCING_TERMINATES,
    Violation,
)
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.tables.protocol_table import Reaction

Versions = frozenset[int]


class _Generation(NamedTuple):
    leader: int
    """Numbers of ``ProtocolTable.version_states``, like the others."""
    followers: Versions
    outside: Versions


class _Outcome(NamedTuple):
    """The outcome of a generation: its answers, and the generations that may follow."""

    steps: frozenset[tuple[int, int]]
    """The version of each member before and after its answer."""
    rejoins: bool
    """Whether a member rejoins because of its answer."""
    may_be_ignored: bool
    """Whether all that rejoin are followers whose subscription is as before."""
    next: frozenset[_Generation]


Graph = dict[_Generation, frozenset[_Generation]]


def check_rebalances(encoding: Encoding) -> Violation | None:
    """Return that a rebalance may not happen, or that the protocol alone may rebalance for ever; None for neither.

    Args:
        encoding: Its table of leaders has every set of subscriptions that a leader may read.
    """
    outcomes = {generation: _outcome(encoding, generation) for generation in _possible_generations(encoding)}
    if any(outcome.may_be_ignored for outcome in outcomes.values()):
        return Violation(REBALANCE_REQUEST_HONORED, "", "all that rejoin may be ignored")
    if any(outcomes[generation].rejoins for generation in _recurring(outcomes)):
        return Violation(REBALANCING_TERMINATES, "", "some generations may follow each other for ever")
    return None


def _recurring(outcomes: dict[_Generation, _Outcome]) -> frozenset[_Generation]:
    """Return the generations that may occur for ever."""
    left, waiting = set[_Generation](), [frozenset(outcomes)]
    while waiting:
        generations = waiting.pop()
        for cycle in _cycles({generation: outcomes[generation].next & generations for generation in generations}):
            steps = frozenset[tuple[int, int]]().union(*(outcomes[generation].steps for generation in cycle))
            kept = frozenset(
                generation
                for generation in cycle
                if all(_leads_back(steps, step) for step in outcomes[generation].steps)
            )
            if kept == cycle:
                left |= cycle
            else:
                waiting.append(kept)
    return frozenset(left)


def _leads_back(steps: frozenset[tuple[int, int]], step: tuple[int, int]) -> bool:
    reached, waiting = {step[1]}, [step[1]]
    while waiting:
        version = waiting.pop()
        new = {after for before, after in steps if before == version} - reached
        reached |= new
        waiting += new
    return step[0] in reached


def _possible_generations(encoding: Encoding) -> Iterator[_Generation]:
    """Yield the generations whose leader may read their subscriptions."""
    table = encoding.protocol_table
    versions = [number for number in range(len(table.version_states.values)) if _bit(encoding, number)]
    left = {
        reaction.version
        for reaction in table.reactions.values()
        if isinstance(reaction, Reaction) and reaction.rejoining is RejoinMode.LEAVE_AND_JOIN
    }
    for leader in versions:
        instance = table.version_states.values[leader].instance
        for followers in _subsets(versions):
            bits = 0
            for number in (leader, *followers):
                bits |= _bit(encoding, number)
            if isinstance(encoding.leader_table.get((instance, bits)), dict):
                for outside in _subsets(left):
                    yield _Generation(leader, followers, outside)


def _outcome(encoding: Encoding, generation: _Generation) -> _Outcome:
    table, (leader, followers, outside) = encoding.protocol_table, generation
    instance = table.version_states.values[leader].instance
    read = frozenset(map(table.subscriptions.__getitem__, (leader, *followers)))
    answers = table.answers(instance, read)  # type: ignore[arg-type]  # none of them is a failure
    assert not isinstance(answers, Violation)
    reactions = list[tuple[int, Reaction]]()
    for version, leads in ((leader, True), *((version, False) for version in followers)):
        reaction = table.reactions[version, answers[table.subscriptions[version], leads]]  # type: ignore[index]
        if isinstance(reaction, Violation):
            return _Outcome(frozenset(), False, False, frozenset())
        reactions.append((version, reaction))
    (_, of_leader), *_ = reactions
    rejoins = any(reaction.rejoining is not None for _, reaction in reactions)
    heard = of_leader.rejoining is not None or any(
        reaction.rejoining is not None and (_leaves(reaction) or reaction.version != version)
        for version, reaction in reactions
    )
    stay = frozenset(reaction.version for _, reaction in reactions[1:] if not _leaves(reaction))
    gone = outside.union(reaction.version for _, reaction in reactions if _leaves(reaction))
    following = set[_Generation]()
    for joining in _subsets(gone):
        members = joining | stay
        if _leaves(of_leader):  # one of the others is elected, of which several may have its version
            elections = [(elected, others) for elected in members for others in (members, members - {elected})]
        else:
            elections = [(of_leader.version, members)]
        if rejoins or joining:
            following.update(
                _Generation(leader, others, gone - joining | still_outside)
                for still_outside in _subsets(joining)  # of those with the same version some may join and others not
                for leader, others in elections
            )
    return _Outcome(
        frozenset((version, reaction.version) for version, reaction in reactions),
        rejoins,
        rejoins and not heard,
        frozenset(following),
    )


def _leaves(reaction: Reaction) -> bool:
    return reaction.rejoining is RejoinMode.LEAVE_AND_JOIN


def _bit(encoding: Encoding, version: int) -> int:
    subscription = encoding.protocol_table.subscriptions[version]
    return 0 if isinstance(subscription, Violation) else 1 << subscription


def _subsets(versions: Iterable[int]) -> Iterator[Versions]:
    chosen = sorted(versions)
    return (frozenset(some) for size in range(len(chosen) + 1) for some in combinations(chosen, size))


def _cycles(graph: Graph) -> Iterator[frozenset[_Generation]]:
    """Yield the strongly connected parts of a graph that have an edge (Kosaraju)."""
    backwards = dict[_Generation, set[_Generation]]()
    for before, following in graph.items():
        for after in following:
            backwards.setdefault(after, set()).add(before)
    order, seen = list[_Generation](), set[_Generation]()
    for start in graph:
        stack = [] if start in seen else [(start, iter(graph[start]))]
        seen.add(start)
        while stack:
            _, rest = stack[-1]
            new = next((after for after in rest if after not in seen), None)
            if new is None:
                order.append(stack.pop()[0])
            else:
                seen.add(new)
                stack.append((new, iter(graph[new])))
    assigned = set[_Generation]()
    for start in reversed(order):
        part, waiting = {start} - assigned, [start]
        assigned |= part
        while part and waiting:
            before_it = backwards.get(waiting.pop(), set()) - assigned
            assigned |= before_it
            part |= before_it
            waiting += before_it
        if len(part) > 1 or start in part & graph[start]:
            yield frozenset(part)
