"""Cycles of a state graph: rebalancing that leads back to where it began, so that it need not terminate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streams_assignor.spark_sim.search.graph import StateGraph
from streams_assignor.spark_sim.search.model import FAULT_ACTION, OPERATOR_ACTION, A, S

EXTERNAL_ACTION: Final = OPERATOR_ACTION | FAULT_ACTION
"""Actions that the protocol does not take by itself. Each uses something up, so no cycle contains one."""


def find_cycle_state(graph: StateGraph[Any, Any], in_degree: Sequence[int]) -> int:
    """Return the first state on a cycle.

    Args:
        graph: A graph with a cycle.
        in_degree: Number => how many transitions into the state remain after a topological pass; positive for every
            state on a cycle.
    """
    for start in range(1, graph.state_count + 1):
        if in_degree[start] <= 0:
            continue
        reached, waiting = {start}, [start]
        while waiting:
            state = waiting.pop()
            for target in graph.targets[graph.edge_offsets[state] : graph.edge_offsets[state + 1]]:
                if target == start:
                    return start
                if in_degree[target] > 0 and target not in reached:
                    reached.add(target)
                    waiting.append(target)
    raise AssertionError("a graph without a topological order has a cycle")


def cycle_from(graph: StateGraph[S, A], start: int) -> list[A]:
    """Return the actions of a shortest cycle of the protocol alone from a state back to itself; [] without one."""
    actions: dict[int, list[A]] = {start: []}
    waiting = [start]
    for state in waiting:  # grows during the loop
        for transition in graph.model.transitions(graph.state(state)):
            target = graph.target_of(transition)
            if transition.label & EXTERNAL_ACTION:
                continue
            if target == start:
                return [*actions[state], transition.action]
            if target not in actions and transition.state is not None:
                actions[target] = [*actions[state], transition.action]
                waiting.append(target)
    return []
