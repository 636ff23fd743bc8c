"""The inner loop of the search, compiled by numba. It contains no protocol rule: it looks up integers and adds them.

``kernel_tables`` fills the tables on demand: ``expand`` returns what it misses, and is called again. It takes the
actions of a batch of states first, and numbers the states that they lead to afterwards, so that the memory accesses
of a batch overlap.

A state is two words: ``low`` has its five smallest process state numbers, twelve bits each; ``high`` has a sixth one
and the group fields. A hash table (``slots``) has two words for an entry: the low word, and the high word with the
number of the state (0: the slot is free).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from numba import njit

from streams_assignor.spark_sim.packed.view import saturate

(
    DONE,
    OUT_OF_SPACE,
    MISSING_VIEW,
    MISSING_TRANSITIONS,
    MISSING_ELECTIONS,
    MISSING_LEADER_ENTRY,
    MISSING_LEADER_RESULT,
) = range(7)
"""Why ``expand`` returned; what it misses is in ``SearchArrays.counts[MISSING_KEY:]``."""
NEXT_STATE, STATE_COUNT, EDGE_COUNT, FAILURE_COUNT, TERMINAL_COUNT, LEAD_COUNT, MISSING_KEY = range(7)
SIMPLE, PREPARES_REBALANCE, ELECTION, PREPARES_REBALANCE_AND_ELECTION, FAILS = range(5)
AFTER, ADD, KIND, LABEL = range(4)
FIRST_ACTION, FIRST_SPECIAL_ACTION = range(2)
PROTOCOL_VIEW, OPERATOR_VIEW, FLAGS = range(3)
TALLY, JOIN_PENDING, LEADER_INSTANCE, SUBSCRIPTIONS, ELECTIONS_BEGIN, ELECTIONS_END = range(6)
LEADER_ASSIGNS, TERMINAL = 1, 2
UNKNOWN, LEADER_FAILS = -1, -2
NO_ACTIONS: Final = 0
"""The row without actions."""
_STATES, _JOIN_PENDING_STATES, _OTHERS, _ELECTORS, _REST = SCRATCH = range(5)

MAX_MEMBERS: Final = 6
"""The two words of a state have room for so many; ``packed.bfs`` searches cells with more."""
MAX_PROCESS_STATES: Final = (1 << 12) - 1
SLACK: Final = 2048
"""More than the transitions of any state."""
BATCH: Final = 512
"""Transitions after which their states are numbered."""
_PROCESS_STATE_BITS: Final = 12
_LOW_PROCESS_STATES: Final = 5
_NUMBER_BITS: Final = 32
_NUMBER: Final = (1 << _NUMBER_BITS) - 1
_HASH_MULTIPLIER_1: Final = -7046029254386353131
_HASH_MULTIPLIER_2: Final = -4658895280553007687

# Without reference counting: nothing is allocated here, and it took more than half of the time.
OPTIONS: Final[dict[str, Any]] = {"cache": True, "_nrt": False}
_saturate: Any = njit(saturate)


class KernelTables(NamedTuple):
    """The lookup tables of the loop, as arrays of integers.

    ``slots`` map summary bits to rows of ``views``: the numbers of the two halves of the view, and flags.
    ``protocol_rows[view, state]`` and ``operator_rows[view, state]`` are numbers of rows (``UNKNOWN``: missing). The
    ``actions`` of a row (columns ``AFTER`` to ``LABEL``) begin at ``bounds[row, FIRST_ACTION]``, those that are not
    simple at ``bounds[row, FIRST_SPECIAL_ACTION]``; the next row's follow. ``process_states`` has the columns
    ``TALLY`` to ``ELECTIONS_END``; the last two delimit its ``elections`` (``UNKNOWN``: missing). ``leader_slots`` map
    the subscriptions and the instance of a leader to a row of ``leader_results``: what its assignment makes of each
    process state (or ``UNKNOWN``, or ``LEADER_FAILS``).
    """

    slots: Any
    views: Any
    protocol_rows: Any
    operator_rows: Any
    bounds: Any
    actions: Any
    process_states: Any
    elections: Any
    leader_slots: Any
    leader_results: Any


class SearchArrays(NamedTuple):
    """The columns of a ``PackedGraph`` as arrays that are filled from 1, and the position of the loop.

    A failure is a state and an action (-1: the leader's); ``lead_states`` are the states in which a leader assigned.
    """

    counts: Any
    slots: Any
    words: Any
    state_counts: Any
    edge_offsets: Any
    targets: Any
    labels: Any
    failures: Any
    terminal_states: Any
    lead_states: Any
    pending: Any
    scratch: Any


@njit(**OPTIONS)
def _slot(low, high, slots):  # type: ignore[no-untyped-def]
    mixed = (low ^ (high * _HASH_MULTIPLIER_1)) * _HASH_MULTIPLIER_2
    mixed = (mixed ^ (mixed >> 32)) * _HASH_MULTIPLIER_1
    return (mixed ^ (mixed >> 29)) & (slots.size - 2)


@njit(**OPTIONS)
def number_of(low, high, slots, new):  # type: ignore[no-untyped-def]
    """Return the number of two words; unknown ones get the number ``new``, unless it is 0."""
    slot = _slot(low, high, slots)
    while True:
        entry = slots[slot + 1]
        number = entry & _NUMBER
        if number == 0:
            if new:
                slots[slot] = low
                slots[slot + 1] = (high << _NUMBER_BITS) | new
            return new
        if slots[slot] == low and entry >> _NUMBER_BITS == high:
            return number
        slot = (slot + 2) & (slots.size - 2)


@njit(**OPTIONS)
def rehash(old, slots):  # type: ignore[no-untyped-def]
    """Fill new slots with the entries of old ones."""
    for at in range(0, old.size, 2):
        number = old[at + 1] & _NUMBER
        if number:
            number_of(old[at], old[at + 1] >> _NUMBER_BITS, slots, number)


@njit(**OPTIONS)
def _insert_sorted(others, fewer, state, group):  # type: ignore[no-untyped-def]
    """Return the words of a state with these sorted process states and one more."""
    low, high, place = 0, group << _PROCESS_STATE_BITS, 0
    for at in range(fewer):
        later = 1 if others[at] > state else 0
        place += 1 - later
        if at + later < _LOW_PROCESS_STATES:
            low |= others[at] << (_PROCESS_STATE_BITS * (at + later))
        else:
            high |= others[at]
    if place < _LOW_PROCESS_STATES:
        low |= state << (_PROCESS_STATE_BITS * place)
    else:
        high |= state
    return low, high


@njit(**OPTIONS)
def _remove_once(states, members, state, rest):  # type: ignore[no-untyped-def]
    """Write all process states but this one, once."""
    skipped = 0
    for at in range(members - 1):
        if states[at] == state:
            skipped = 1
        rest[at] = states[at + skipped]


@njit(**OPTIONS)
def sort(states, members):  # type: ignore[no-untyped-def]
    """Sort process state numbers in place."""
    for place in range(1, members):
        state, hole = states[place], place
        while hole and states[hole - 1] > state:
            states[hole] = states[hole - 1]
            hole -= 1
        states[hole] = state


@njit(**OPTIONS)
def pack(states, members, group):  # type: ignore[no-untyped-def]
    """Return the words of a state; sorts its process states in place."""
    sort(states, members)
    return _insert_sorted(states, members - 1, states[members - 1], group)


@njit(**OPTIONS)
def unpack(low, high, members, states):  # type: ignore[no-untyped-def]
    """Write the process states of a state and return its group fields."""
    for place in range(members):
        word = low >> (_PROCESS_STATE_BITS * place) if place < _LOW_PROCESS_STATES else high
        states[place] = word & MAX_PROCESS_STATES
    return high >> _PROCESS_STATE_BITS


@njit(**OPTIONS)
def _set_missing(arrays, key, other):  # type: ignore[no-untyped-def]
    arrays.counts[MISSING_KEY] = key
    arrays.counts[MISSING_KEY + 1] = other


@njit(**OPTIONS)
def _add_edge(arrays, made, low, high, label):  # type: ignore[no-untyped-def]
    arrays.pending[made, 0] = low
    arrays.pending[made, 1] = high
    arrays.labels[arrays.counts[EDGE_COUNT] + made] = label


@njit(**OPTIONS)
def _add_failure(arrays, made, at, action, label):  # type: ignore[no-untyped-def]
    failure = arrays.counts[FAILURE_COUNT]
    arrays.failures[failure, 0] = at
    arrays.failures[failure, 1] = action
    arrays.counts[FAILURE_COUNT] = failure + 1
    _add_edge(arrays, made, 0, -1, label)


@njit(**OPTIONS)
def _add_elections(arrays, tables, members, made, state, group, label):  # type: ignore[no-untyped-def]
    """Add the elections of each of ``_OTHERS`` and this state; return what is missing and the transition count."""
    electors, rest = arrays.scratch[_ELECTORS], arrays.scratch[_REST]
    for at in range(members - 1):
        electors[at] = arrays.scratch[_OTHERS, at]
    electors[members - 1] = state
    sort(electors, members)
    at = 0
    while at < members:
        state, multiplicity = electors[at], 1
        while at + multiplicity < members and electors[at + multiplicity] == state:
            multiplicity += 1
        entry, end = tables.process_states[state, ELECTIONS_BEGIN], tables.process_states[state, ELECTIONS_END]
        if entry < 0:
            _set_missing(arrays, state, 0)
            return MISSING_ELECTIONS, made
        _remove_once(electors, members, state, rest)
        while entry < end:
            low, high = _insert_sorted(rest, members - 1, tables.elections[entry], group)
            _add_edge(arrays, made, low, high, label + multiplicity - 1)
            made += 1
            entry += 1
        at += multiplicity
    return DONE, made


@njit(**OPTIONS)
def _add_lead(arrays, tables, members, made, at, group):  # type: ignore[no-untyped-def]
    """Add the leader's assignment, if it runs; return what is missing and the transition count."""
    states, after = arrays.scratch[_STATES], arrays.scratch[_REST]
    leader, subscriptions = -1, 0
    for place in range(members):
        leader = max(leader, tables.process_states[states[place], LEADER_INSTANCE])
        subscriptions |= tables.process_states[states[place], SUBSCRIPTIONS]
    if leader < 0:
        return DONE, made
    result_row = number_of(subscriptions, leader, tables.leader_slots, 0)
    if not result_row:
        _set_missing(arrays, subscriptions, leader)
        return MISSING_LEADER_ENTRY, made
    for place in range(members):
        after[place] = tables.leader_results[result_row, states[place]]
        if after[place] == UNKNOWN:
            _set_missing(arrays, result_row, states[place])
            return MISSING_LEADER_RESULT, made
    if after[0] == LEADER_FAILS:
        _add_failure(arrays, made, at, -1, 1)
        return DONE, made + 1
    low, high = pack(after, members, group)
    _add_edge(arrays, made, low, high, 1)
    arrays.lead_states[arrays.counts[LEAD_COUNT]] = at
    arrays.counts[LEAD_COUNT] += 1
    return DONE, made + 1


@njit(**OPTIONS)
def _expand_state(arrays, tables, members, made, at, phase):  # type: ignore[no-untyped-def]
    """Add every transition of a state; return what is missing and the transition count."""
    states, join_pending, others = (
        arrays.scratch[_STATES],
        arrays.scratch[_JOIN_PENDING_STATES],
        arrays.scratch[_OTHERS],
    )
    group = unpack(arrays.words[at, 0], arrays.words[at, 1], members, states)
    tally = 0
    for place in range(members):
        tally += tables.process_states[states[place], TALLY]
    view = number_of(_saturate(tally), group, tables.slots, 0)
    if not view:
        _set_missing(arrays, tally, group)
        return MISSING_VIEW, made
    protocol_view, operator_view, flags = (
        tables.views[view, PROTOCOL_VIEW],
        tables.views[view, OPERATOR_VIEW],
        tables.views[view, FLAGS],
    )
    for place in range(members):
        if (
            tables.protocol_rows[protocol_view, states[place]] == UNKNOWN
            or tables.operator_rows[operator_view, states[place]] == UNKNOWN
        ):
            _set_missing(arrays, view, 0)
            return MISSING_TRANSITIONS, made
        join_pending[place] = tables.process_states[states[place], JOIN_PENDING]
    sort(join_pending, members)
    place = 0
    while place < members:
        state, multiplicity, prepares = states[place], 1, -1
        while place + multiplicity < members and states[place + multiplicity] == state:
            multiplicity += 1
        protocol_row, operator_row, bounds = (
            tables.protocol_rows[protocol_view, state],
            tables.operator_rows[operator_view, state],
            tables.bounds,
        )
        # Operator actions stand between the simple protocol actions and the others.
        for begin, end in (
            (bounds[protocol_row, FIRST_ACTION], bounds[protocol_row, FIRST_SPECIAL_ACTION]),
            (bounds[operator_row, FIRST_ACTION], bounds[operator_row, FIRST_SPECIAL_ACTION]),
            (bounds[protocol_row, FIRST_SPECIAL_ACTION], bounds[protocol_row + 1, FIRST_ACTION]),
        ):
            for action in range(begin, end):
                kind, label = tables.actions[action, KIND], tables.actions[action, LABEL] + multiplicity
                after, added = tables.actions[action, AFTER], group + tables.actions[action, ADD]
                if kind == FAILS:
                    _add_failure(arrays, made, at, action, label)
                    made += 1
                    continue
                if prepares != kind & PREPARES_REBALANCE:
                    prepares = kind & PREPARES_REBALANCE
                    if prepares:
                        _remove_once(join_pending, members, tables.process_states[state, JOIN_PENDING], others)
                    else:
                        _remove_once(states, members, state, others)
                if kind < ELECTION:
                    low, high = _insert_sorted(others, members - 1, after, added)
                    _add_edge(arrays, made, low, high, label)
                    made += 1
                else:
                    missing, made = _add_elections(arrays, tables, members, made, after, added, label)
                    if missing:
                        return missing, made
        place += multiplicity
    if flags & LEADER_ASSIGNS:
        missing, made = _add_lead(arrays, tables, members, made, at, group + phase)
        if missing:
            return missing, made
    if flags & TERMINAL:
        arrays.terminal_states[arrays.counts[TERMINAL_COUNT]] = at
        arrays.counts[TERMINAL_COUNT] += 1
    return DONE, made


@njit(**OPTIONS)
def _number_targets(arrays, begin, end):  # type: ignore[no-untyped-def]
    """Number the states that the transitions of some states lead to."""
    edges, size = arrays.counts[EDGE_COUNT], arrays.counts[STATE_COUNT]
    for at in range(begin, end):
        for edge in range(arrays.edge_offsets[at], arrays.edge_offsets[at + 1]):
            low, high = arrays.pending[edge - edges, 0], arrays.pending[edge - edges, 1]
            number = 0
            if high >= 0:
                number = number_of(low, high, arrays.slots, size)
            if number == size:
                arrays.words[size, 0] = low
                arrays.words[size, 1] = high
                size += 1
            arrays.targets[edge] = number
        arrays.state_counts[at] = size
    arrays.counts[STATE_COUNT] = size
    arrays.counts[EDGE_COUNT] = arrays.edge_offsets[end]
    arrays.counts[NEXT_STATE] = end


@njit(**OPTIONS)
def expand(arrays, tables, members, most, phase):  # type: ignore[no-untyped-def]
    """Expand states from ``counts[NEXT_STATE]`` on, until a table entry is missing or all are expanded."""
    counts, more = arrays.counts, SLACK + BATCH
    while counts[NEXT_STATE] < counts[STATE_COUNT] <= most:
        begin, size, edges = counts[NEXT_STATE], counts[STATE_COUNT], counts[EDGE_COUNT]
        if (
            size + more > arrays.words.shape[0]
            or edges + more > arrays.targets.size
            or counts[FAILURE_COUNT] + more > arrays.failures.shape[0]
        ):
            return OUT_OF_SPACE
        at, made, missing = begin, 0, DONE
        while at < size and made < BATCH and size + made <= most:
            failures = counts[FAILURE_COUNT]
            missing, after = _expand_state(arrays, tables, members, made, at, phase)
            if missing:
                counts[FAILURE_COUNT] = failures
                break
            made = after
            at += 1
            arrays.edge_offsets[at] = edges + made
        _number_targets(arrays, begin, at)
        if missing:
            return missing
    return DONE
