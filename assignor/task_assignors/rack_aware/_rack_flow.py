"""Moves tasks between processes at the least cost; every process keeps its number of tasks.

How it works. As every process keeps its number, tasks move in cycles: a min-cost flow through the network of
``flow_model``. It has an arc from a group of tasks to its own slot and one to each of its entries, instead of one to
each slot. ``min_cost_flow`` finds how many tasks of each group take each arc, and how many enter each slot. Which of
the tasks that enter a rack group takes which slot there does not matter, so slots are allocated in order.

It does matter for a task with forbidden slots: two tasks then exchange their slots. If a task is left over even so,
everything is solved again with an arc from that task to each single slot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from attrs import field, frozen

from streams_assignor.task_assignors.rack_aware._flow_model import FlowGroup, FlowModel, ProcessClasses, TaskPlacement
from streams_assignor.task_assignors.rack_aware._min_cost_flow import UNLIMITED, Network
from streams_assignor.task_assignors.rack_aware.racks import RackAwareCosts

TaskMove = tuple[int, int, int]
"""A task, the process (inside this module: the slot) that it leaves, and the one that it moves to."""
_Departure = tuple[int, int]
"""A task and the slot that it leaves."""
_Flows = list[tuple[int, int]]
"""The target and the number of units of each flow."""


def optimize_moves(
    tasks: Sequence[TaskPlacement],
    classes: ProcessClasses,
    costs: RackAwareCosts,
    capacity: Sequence[Sequence[int]] = (),
) -> list[TaskMove]:
    """Return the moves that make the sum of all costs least, in the order of tasks.

    ``capacity``, if given, is that of each process for each subtopology.
    """
    model = FlowModel.of(tasks, classes, costs, capacity)
    groups = model.groups(tasks)
    expanded: set[int] = set()
    while True:
        moves, left_over = _extract_moves(groups, model, expanded, _solve(groups, model, expanded))
        if not left_over:
            return [(task, left % model.processes, taken % model.processes) for task, left, taken in sorted(moves)]
        expanded |= left_over


@frozen
class _Flow:
    """How many tasks take each way."""

    staying: list[list[int]]
    """For each group, how many stay in each of its slots."""
    entering: list[_Flows]
    """For each group, how many move through each entry; into each slot if the group is expanded."""
    forwarded: list[_Flows]
    """For each entry, how many go on to each slot (rack groups) or each rack group (hubs)."""


def _solve(groups: Sequence[FlowGroup], model: FlowModel, expanded: Collection[int]) -> _Flow:
    """Build the network and find the flow; groups in ``expanded`` have an arc to each single slot."""
    # Nodes: groups, entries (rack groups and hubs), slots, processes, the sink.
    entries = len(groups)
    slots = entries + len(model.rack_groups) + len(model.hubs)
    processes = slots + len(model.slot_capacity)
    sink = processes + model.processes
    network = Network(sink + 1)
    stays: list[list[int]] = []
    enters: list[tuple[list[int], int]] = []  # the targets of the arcs, and the number of the first arc
    for number, group in enumerate(groups):
        # Every task takes one of these arcs, so the least cost of them can be subtracted from all.
        least = min([*(cost for _, cost in group.current), *group.entries.distinct_costs])
        size = len(group.tasks)
        stays.append([network.arc(number, slots + slot, size, cost - least) for slot, cost in group.current])
        if number in expanded:
            cheapest = _slot_costs(group, model)
            targets, costs = [*cheapest], [cost - least for cost in cheapest.values()]
            enters.append((targets, network.arcs(number, [slots + to for to in targets], [1] * len(targets), costs)))
        else:
            targets = group.entries.targets
            costs = group.entries.without_excluded(group.entries.shared.relative_costs(least))
            heads = [entries + to for to in targets]
            enters.append((targets, network.arcs(number, heads, _entry_rooms(group, model), costs)))
    behind = [*((slots, group) for group in model.rack_groups), *((entries, hub) for hub in model.hubs)]
    forwards = [
        [(to, network.arc(entries + entry, base + to)) for to in targets]
        for entry, (base, targets) in enumerate(behind)
    ]
    for slot, room in enumerate(model.slot_capacity):
        network.arc(slots + slot, processes + slot % model.processes, room)
    for process, total in enumerate(model.totals):
        network.arc(processes + process, sink, total)
    network.send_flow({number: len(group.tasks) * len(group.current) for number, group in enumerate(groups)}, sink)
    return _Flow(
        [[network.flow(arc) for arc in arcs] for arcs in stays],
        [_entered(network, targets, first) for targets, first in enters],
        [[(to, flow) for to, arc in arcs if (flow := network.flow(arc))] for arcs in forwards],
    )


def _entered(network: Network, targets: Sequence[int], first: int) -> _Flows:
    flows = network.flows(first, len(targets))
    return [(to, flow) for to, flow in zip(targets, flows, strict=True) if flow] if any(flows) else []


def _entry_rooms(group: FlowGroup, model: FlowModel) -> list[int]:
    """Return how many tasks of a group may take each of its entries."""
    shared = group.entries.shared
    closed = [model.rack_group_of.get(slot) for slot in group.forbidden]
    if not closed:
        return [UNLIMITED] * (len(shared.targets) - len(group.entries.excluded))
    if not shared.rooms:
        sizes = [*map(len, model.rack_groups)]
        shared.rooms += [sizes[entry] if entry < len(sizes) else UNLIMITED for entry in shared.targets]
        shared.places.update(zip(shared.targets, range(len(shared.targets)), strict=True))
    rooms = shared.rooms.copy()
    for entry in closed:
        if entry is not None and entry in shared.places:
            rooms[shared.places[entry]] -= 1
    return group.entries.without_excluded(rooms)


def _slot_costs(group: FlowGroup, model: FlowModel) -> dict[int, int]:
    """Return the slots that a group may take: each at the lowest cost of the entries that it is behind."""
    cheapest: dict[int, int] = {}
    for entry, cost in zip(group.entries.targets, group.entries.costs, strict=True):
        for slot in model.slots_behind(entry):
            # A second arc to a slot, by way of a hub, would let two replicas of the task into it.
            if slot not in group.forbidden:
                cheapest[slot] = min(cost, cheapest.get(slot, cost))
    return cheapest


@frozen
class _ForbiddenSlots:
    """The slots that a task must not take, including those of its other replicas; and its group."""

    group: int = -1
    slots: set[int] = field(factory=set)


def _extract_moves(
    groups: Sequence[FlowGroup], model: FlowModel, expanded: Collection[int], flow: _Flow
) -> tuple[list[TaskMove], set[int]]:
    """Return the moves between slots, and the groups of tasks that are left over."""
    moves: list[TaskMove] = []
    arrivals: list[list[_Departure]] = [[] for _ in flow.forwarded]
    forbidden: dict[_Departure, _ForbiddenSlots] = {}
    for number, (group, staying, entering) in enumerate(zip(groups, flow.staying, flow.entering, strict=True)):
        leaving = iter(
            [
                (task, at)
                for (at, _), stay_count in zip(group.current, staying, strict=True)
                for task in group.tasks[stay_count:]
            ]
        )
        if group.forbidden:
            mine = _ForbiddenSlots(number, {*group.forbidden})
            forbidden |= dict.fromkeys([(group.tasks[0], at) for at, _ in group.current], mine)
        for to, amount in entering:
            if number in expanded:
                moves.append((*next(leaving), to))
            else:
                arrivals[to] += islice(leaving, amount)
    hubs = len(model.rack_groups)
    for arriving, behind in zip(arrivals[hubs:], flow.forwarded[hubs:], strict=True):
        queue = iter(sorted(arriving))
        for rack_group, amount in behind:
            arrivals[rack_group] += islice(queue, amount)
    left_over: set[int] = set()
    for arriving, behind in zip(arrivals[:hubs], flow.forwarded[:hubs], strict=True):
        allocated, others = _allocate_slots(sorted(arriving), dict(behind), forbidden)
        moves += allocated
        left_over |= others
    return moves, left_over


def _allocate_slots(
    arriving: Sequence[_Departure], free: dict[int, int], forbidden: Mapping[_Departure, _ForbiddenSlots]
) -> tuple[list[TaskMove], set[int]]:
    """Allocate the free slots of a rack group to the tasks that enter it, in order.

    If all free slots are forbidden to a task, it exchanges with another one; if that fails, its group is left over.
    """
    moves: list[TaskMove] = []
    left_over: set[int] = set()
    for task, leaves in arriving:
        mine = forbidden.get((task, leaves), _ForbiddenSlots())
        taken = slot = next((slot for slot in free if slot not in mine.slots), None)
        if slot is None:
            taken = next(iter(free))
            slot = _exchange_slot(moves, mine.slots, taken, forbidden)
        if slot is None or taken is None:
            left_over.add(mine.group)
            continue
        free[taken] -= 1
        if not free[taken]:
            del free[taken]
        mine.slots.add(slot)
        moves.append((task, leaves, slot))
    return moves, left_over


def _exchange_slot(
    moves: list[TaskMove], not_these: set[int], free_slot: int, forbidden: Mapping[_Departure, _ForbiddenSlots]
) -> int | None:
    """Move a task that has a slot to ``free_slot``, and return the slot that it had; None if no task can move so."""
    for at, (task, leaves, slot) in enumerate(moves):
        other = forbidden.get((task, leaves), _ForbiddenSlots())
        if slot not in not_these and free_slot not in other.slots:
            other.slots.discard(slot)
            other.slots.add(free_slot)
            moves[at] = task, leaves, free_slot
            return slot
    return None
