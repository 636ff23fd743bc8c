"""The inner loop of exploration, compiled by numba: no rule of Kafka's is here, only numbers looked up and added.

What it looks up is filled by ``fast``, entry by entry as it is missed: ``expand`` says what it misses, takes back the
state that it was at, and is called again. A state is the sorted numbers of its parts and the group's own numbers, in
two words of 60 bits.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from numba import njit

DONE, SPACE, SITUATION, ROW, ELECTABLE, LEADING, LED = range(7)
"""Why ``expand`` returned: what it misses is in ``Found.at[MISSED:]``."""
AT, SIZE, EDGES, DEATHS, ENDINGS, AGAIN, MISSED = range(7)
PLAIN, PREPARED, ELECTION, PREPARED_ELECTION, DEADLY = range(5)
COMPLETES, ENDS = 1, 2
MOST_MEMBERS: Final = 6
SLACK: Final = 2048
"""More than the moves of any state."""
_PART_BITS: Final = 15
_PART: Final = (1 << _PART_BITS) - 1
_HIGH_GROUP: Final = 30
_GROUP: Final = (1 << _HIGH_GROUP) - 1
_FIRST: Final = -7046029254386353131
_SECOND: Final = -4658895280553007687

# Without reference counts: nothing is allocated here, and they took more than half of the time.
_OPTIONS: Final[dict[str, Any]] = {"cache": True, "_nrt": False}


class Looked(NamedTuple):
    """What is looked up, as arrays (integers).

    By situation: ``low``, ``high`` (its two words), ``views``, ``flags``, found through ``slots``. ``rows[view, part]``
    is a row (-1: missing) with the moves ``first[row]:first[row + 1]``; by move: ``after``, ``add``, ``kind``,
    ``label``. By part: ``tally``, ``calm``, ``leader``, ``hears``, and ``elect_from``, ``elect_to``: its entries of
    ``elected`` (-1: missing). By answers of a leader: ``led_low``, ``led_high``, found through ``led_slots``, with
    ``led[answers, part]`` (-1: missing) or ``led_dies``.
    """

    low: Any
    high: Any
    slots: Any
    views: Any
    flags: Any
    rows: Any
    first: Any
    after: Any
    add: Any
    kind: Any
    label: Any
    tally: Any
    calm: Any
    leader: Any
    hears: Any
    elect_from: Any
    elect_to: Any
    elected: Any
    led_low: Any
    led_high: Any
    led_slots: Any
    led: Any
    led_dies: Any


class Found(NamedTuple):
    """What is found, as arrays that are filled from 1: the columns of ``search.Graph``, and where the loop stands.

    ``by`` is a move's number (-1: to lead), ``elects`` an entry of ``elected`` (-1: none); a death is a state and a
    move.
    """

    at: Any
    low: Any
    high: Any
    slots: Any
    before: Any
    by: Any
    elects: Any
    first: Any
    targets: Any
    labels: Any
    deaths: Any
    endings: Any
    parts: Any
    chosen: Any


@njit(**_OPTIONS)
def _slot(low, high, mask):  # type: ignore[no-untyped-def]
    mixed = low ^ (high * _FIRST)
    mixed = (mixed ^ (mixed >> 30)) * _SECOND
    mixed = (mixed ^ (mixed >> 27)) * _FIRST
    return (mixed ^ (mixed >> 31)) & mask


@njit(**_OPTIONS)
def number_of(low, high, lows, highs, slots, new):  # type: ignore[no-untyped-def]
    """Return the number of two words; if they are not known, ``new``, under which they are from now on (0: not)."""
    mask = slots.size - 1
    slot = _slot(low, high, mask)
    while True:
        number = slots[slot]
        if number == 0:
            if new:
                slots[slot] = new
                lows[new] = low
                highs[new] = high
            return new
        if lows[number] == low and highs[number] == high:
            return number
        slot = (slot + 1) & mask


@njit(**_OPTIONS)
def filled(slots, lows, highs, size):  # type: ignore[no-untyped-def]
    """Fill new slots with what is known already."""
    mask = slots.size - 1
    for number in range(1, size):
        slot = _slot(lows[number], highs[number], mask)
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = number


@njit(**_OPTIONS)
def packed(parts, members, group):  # type: ignore[no-untyped-def]
    """Sort the numbers of parts in place and return the state's two words."""
    for place in range(1, members):
        part = parts[place]
        hole = place
        while hole and parts[hole - 1] > part:
            parts[hole] = parts[hole - 1]
            hole -= 1
        parts[hole] = part
    low = 0
    high = group
    for place in range(members):
        if place < 4:
            low |= parts[place] << (_PART_BITS * place)
        else:
            high |= parts[place] << (_HIGH_GROUP + _PART_BITS * (place - 4))
    return low, high


@njit(**_OPTIONS)
def unpacked(low, high, members, parts):  # type: ignore[no-untyped-def]
    """Write the numbers of a state's parts and return the group's own numbers."""
    for place in range(members):
        if place < 4:
            parts[place] = (low >> (_PART_BITS * place)) & _PART
        else:
            parts[place] = (high >> (_HIGH_GROUP + _PART_BITS * (place - 4))) & _PART
    return high & _GROUP


@njit(**_OPTIONS)
def _reached(found, parts, members, group, at, move, elects, label):  # type: ignore[no-untyped-def]
    low, high = packed(parts, members, group)
    counts = found.at
    size = counts[SIZE]
    number = number_of(low, high, found.low, found.high, found.slots, size)
    if number == size:
        counts[SIZE] = size + 1
        found.before[size] = at
        found.by[size] = move
        found.elects[size] = elects
    edge = counts[EDGES]
    found.targets[edge] = number
    found.labels[edge] = label
    counts[EDGES] = edge + 1


@njit(**_OPTIONS)
def _died(found, at, move, label):  # type: ignore[no-untyped-def]
    edge, death = found.at[EDGES], found.at[DEATHS]
    found.targets[edge] = 0
    found.labels[edge] = label
    found.deaths[death, 0] = at
    found.deaths[death, 1] = move
    found.at[EDGES] = edge + 1
    found.at[DEATHS] = death + 1


@njit(**_OPTIONS)
def _missed(found, one, other):  # type: ignore[no-untyped-def]
    found.at[MISSED] = one
    found.at[MISSED + 1] = other


@njit(**_OPTIONS)
def _elections(found, looked, members, group, at, place, count, move):  # type: ignore[no-untyped-def]
    """Make a move after which a leader is elected, once for each who may be; return a part that misses its entries."""
    parts, chosen = found.parts, found.chosen
    after = chosen[1]
    for each in range(members):
        after[each] = looked.calm[parts[each]] if looked.kind[move] == PREPARED_ELECTION else parts[each]
    after[place] = looked.after[move]
    packed(after, members, 0)
    each = 0
    while each < members:
        part = after[each]
        alike = 1
        while each + alike < members and after[each + alike] == part:
            alike += 1
        if looked.elect_from[part] < 0:
            return part
        for entry in range(looked.elect_from[part], looked.elect_to[part]):
            for other in range(members):
                chosen[0, other] = after[other]
            chosen[0, each] = looked.elected[entry]
            added = group + looked.add[move]
            _reached(found, chosen[0], members, added, at, move, entry, looked.label[move] + count * alike)
        each += alike
    return -1


@njit(**_OPTIONS)
def _lead(found, looked, members, group, at, phase):  # type: ignore[no-untyped-def]
    """Let the leader assign, if it runs; return what is missing."""
    parts, after = found.parts, found.chosen[0]
    leader, heard = -1, 0
    for place in range(members):
        leader = max(leader, looked.leader[parts[place]])
        heard |= looked.hears[parts[place]]
    if leader < 0:
        return DONE
    answers = number_of(heard, leader, looked.led_low, looked.led_high, looked.led_slots, 0)
    if not answers:
        _missed(found, heard, leader)
        return LEADING
    if looked.led_dies[answers]:
        _died(found, at, -1, 1)
        return DONE
    for place in range(members):
        after[place] = looked.led[answers, parts[place]]
        if after[place] < 0:
            _missed(found, answers, parts[place])
            return LED
    _reached(found, after, members, group + phase, at, -1, -1, 1)
    return DONE


@njit(**_OPTIONS)
def _expanded(found, looked, members, at, phase):  # type: ignore[no-untyped-def]
    """Make every move of a state; return what is missing."""
    parts, after = found.parts, found.chosen[0]
    group = unpacked(found.low[at], found.high[at], members, parts)
    tally = 0
    for place in range(members):
        tally += looked.tally[parts[place]]
    situation = number_of(tally, group, looked.low, looked.high, looked.slots, 0)
    if not situation:
        _missed(found, tally, group)
        return SITUATION
    view, flags = looked.views[situation], looked.flags[situation]
    place = 0
    while place < members:
        part = parts[place]
        count = 1
        while place + count < members and parts[place + count] == part:
            count += 1
        row = looked.rows[view, part]
        if row < 0:
            _missed(found, view, part)
            return ROW
        for move in range(looked.first[row], looked.first[row + 1]):
            kind = looked.kind[move]
            if kind == DEADLY:
                _died(found, at, move, count)
            elif kind in (ELECTION, PREPARED_ELECTION):
                missing = _elections(found, looked, members, group, at, place, count, move)
                if missing >= 0:
                    _missed(found, missing, 0)
                    return ELECTABLE
            else:
                for each in range(members):
                    after[each] = looked.calm[parts[each]] if kind == PREPARED else parts[each]
                after[place] = looked.after[move]
                _reached(found, after, members, group + looked.add[move], at, move, -1, looked.label[move] + count)
        place += count
    if flags & COMPLETES:
        missing = _lead(found, looked, members, group, at, phase)
        if missing:
            return missing
    if flags & ENDS:
        found.endings[found.at[ENDINGS]] = at
        found.at[ENDINGS] += 1
    return DONE


@njit(**_OPTIONS)
def expand(found, looked, members, most, phase):  # type: ignore[no-untyped-def]
    """Make every move of every state, beginning with ``found.at[AT]``, until something is missing or all is done."""
    counts = found.at
    while counts[AT] < counts[SIZE] and (counts[SIZE] <= most or counts[AGAIN]):
        at, edges, deaths = counts[AT], counts[EDGES], counts[DEATHS]
        states, moves = counts[SIZE] + SLACK, edges + SLACK
        if states > found.low.size or moves > found.targets.size or deaths + SLACK > found.deaths.shape[0]:
            return SPACE
        missing = _expanded(found, looked, members, at, phase)
        if missing:
            counts[EDGES] = edges
            counts[DEATHS] = deaths
            counts[AGAIN] = 1
            return missing
        counts[AGAIN] = 0
        found.first[at + 1] = counts[EDGES]
        counts[AT] = at + 1
    return DONE
