"""The inner loop of exploration, compiled by numba: no rule of Kafka's is here, only numbers looked up and added.

What it looks up is filled by ``lookups``, entry by entry as it is missed: ``expand`` says what it misses and is called
again. It makes the moves of some states, and then asks for the numbers of all states that these led to: so the memory
is asked for many things at a time.

A state is two words: ``low`` has the five least numbers of its parts, twelve bits each, ``high`` a sixth one and the
group's own numbers. What is known by two words stands in *slots*, a hash table: a slot is the low word, and then the
high word with a number (0: the slot is free).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from numba import njit

from spark_sim.explore import situation

DONE, SPACE, SITUATION, ROWS, ELECTABLE, LEADING, LED = range(7)
"""Why ``expand`` returned: what it misses is in ``Found.counts[MISSED:]``."""
AT, SIZE, EDGES, DEATHS, ENDINGS, LEADS, MISSED = range(7)
PLAIN, PREPARED, ELECTION, PREPARED_ELECTION, DEADLY = range(5)
AFTER, ADD, KIND, LABEL = range(4)
BEGIN, PREPARES = range(2)
OWN, DONE_TO, FLAGS = range(3)
TALLY, CALM, LEADER, HEARS, ELECT_FROM, ELECT_TO = range(6)
COMPLETES, ENDS = 1, 2
UNKNOWN, DEADLY_TO_LEAD = -1, -2
EMPTY: Final = 0
"""The row without moves."""
_PARTS, _CALMED, _OTHERS, _ELECTORS, _REST = SCRATCH = range(5)

MOST_MEMBERS: Final = 6
"""As the two words of a state have room for so many; cells with more are searched plainly."""
MOST_PARTS: Final = (1 << 12) - 1
SLACK: Final = 2048
"""More than the moves of any state."""
AT_ONCE: Final = 512
"""Moves that are made before their states get numbers."""
_PART_BITS: Final = 12
_LOW_PARTS: Final = 5
_NUMBER_BITS: Final = 32
_NUMBER: Final = (1 << _NUMBER_BITS) - 1
_FIRST: Final = -7046029254386353131
_SECOND: Final = -4658895280553007687

# Without reference counts: nothing is allocated here, and they took more than half of the time.
OPTIONS: Final[dict[str, Any]] = {"cache": True, "_nrt": False}
_few: Any = njit(situation.few)


class Looked(NamedTuple):
    """What is looked up, as arrays of integers.

    ``slots`` lead from a look to ``sights``: the halves of its view, and flags. ``own[view, part]`` is the row of what
    a part does by itself, ``done[view, part]`` of what is done to it (``UNKNOWN``: missing). A row's ``moves``, of the
    columns ``AFTER`` to ``LABEL``, begin at ``bounds[row, BEGIN]``, those that are not plain at ``bounds[row,
    PREPARES]``, and behind them the next row's. ``parts`` has the columns ``TALLY`` to ``ELECT_TO``; the latter two say
    what of ``elected`` it may become (``UNKNOWN``: missing). ``led_slots`` lead from what a leader hears, and who it
    is, to its answers; ``led[answers, part]`` is what comes of a part (or ``UNKNOWN``, or ``DEADLY_TO_LEAD``).
    """

    slots: Any
    sights: Any
    own: Any
    done: Any
    bounds: Any
    moves: Any
    parts: Any
    elected: Any
    led_slots: Any
    led: Any


class Found(NamedTuple):
    """What is found, as arrays that are filled from 1: the columns of ``search.Graph``, and where the loop stands.

    A death is a state and a move (-1: to lead); ``leads`` are the states in which a leader assigned.
    """

    counts: Any
    slots: Any
    words: Any
    known: Any
    first: Any
    targets: Any
    labels: Any
    deaths: Any
    endings: Any
    leads: Any
    made: Any
    scratch: Any


@njit(**OPTIONS)
def _slot(low, high, slots):  # type: ignore[no-untyped-def]
    mixed = (low ^ (high * _FIRST)) * _SECOND
    mixed = (mixed ^ (mixed >> 32)) * _FIRST
    return (mixed ^ (mixed >> 29)) & (slots.size - 2)


@njit(**OPTIONS)
def number_of(low, high, slots, new):  # type: ignore[no-untyped-def]
    """Return the number of two words; if they are not known, ``new``, under which they are from now on (0: not)."""
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
def copied(old, slots):  # type: ignore[no-untyped-def]
    """Fill new slots with what is known already."""
    for at in range(0, old.size, 2):
        number = old[at + 1] & _NUMBER
        if number:
            number_of(old[at], old[at + 1] >> _NUMBER_BITS, slots, number)


@njit(**OPTIONS)
def _with(others, fewer, part, group):  # type: ignore[no-untyped-def]
    """Return the words of a state that has these parts, which are sorted, and one more."""
    low, high, place = 0, group << _PART_BITS, 0
    for each in range(fewer):
        later = 1 if others[each] > part else 0
        place += 1 - later
        if each + later < _LOW_PARTS:
            low |= others[each] << (_PART_BITS * (each + later))
        else:
            high |= others[each]
    if place < _LOW_PARTS:
        low |= part << (_PART_BITS * place)
    else:
        high |= part
    return low, high


@njit(**OPTIONS)
def _without(parts, members, part, rest):  # type: ignore[no-untyped-def]
    """Write all parts but this one, once."""
    skipped = 0
    for each in range(members - 1):
        if parts[each] == part:
            skipped = 1
        rest[each] = parts[each + skipped]


@njit(**OPTIONS)
def sort(parts, members):  # type: ignore[no-untyped-def]
    """Sort the numbers of parts."""
    for place in range(1, members):
        part, hole = parts[place], place
        while hole and parts[hole - 1] > part:
            parts[hole] = parts[hole - 1]
            hole -= 1
        parts[hole] = part


@njit(**OPTIONS)
def packed(parts, members, group):  # type: ignore[no-untyped-def]
    """Return the words of a state, whose parts are sorted in place."""
    sort(parts, members)
    return _with(parts, members - 1, parts[members - 1], group)


@njit(**OPTIONS)
def unpacked(low, high, members, parts):  # type: ignore[no-untyped-def]
    """Write the numbers of a state's parts and return the group's own numbers."""
    for place in range(members):
        word = low >> (_PART_BITS * place) if place < _LOW_PARTS else high
        parts[place] = word & MOST_PARTS
    return high >> _PART_BITS


@njit(**OPTIONS)
def _missed(found, one, other):  # type: ignore[no-untyped-def]
    found.counts[MISSED] = one
    found.counts[MISSED + 1] = other


@njit(**OPTIONS)
def _reach(found, made, low, high, label):  # type: ignore[no-untyped-def]
    found.made[made, 0] = low
    found.made[made, 1] = high
    found.labels[found.counts[EDGES] + made] = label


@njit(**OPTIONS)
def _die(found, made, at, move, label):  # type: ignore[no-untyped-def]
    death = found.counts[DEATHS]
    found.deaths[death, 0] = at
    found.deaths[death, 1] = move
    found.counts[DEATHS] = death + 1
    _reach(found, made, 0, -1, label)


@njit(**OPTIONS)
def _elect(found, looked, members, made, part, group, label):  # type: ignore[no-untyped-def]
    """Let each of ``_OTHERS`` and this part become leader; return what is missing, and how many moves are made."""
    electors, rest = found.scratch[_ELECTORS], found.scratch[_REST]
    for each in range(members - 1):
        electors[each] = found.scratch[_OTHERS, each]
    electors[members - 1] = part
    sort(electors, members)
    each = 0
    while each < members:
        part, alike = electors[each], 1
        while each + alike < members and electors[each + alike] == part:
            alike += 1
        entry, end = looked.parts[part, ELECT_FROM], looked.parts[part, ELECT_TO]
        if entry < 0:
            _missed(found, part, 0)
            return ELECTABLE, made
        _without(electors, members, part, rest)
        while entry < end:
            low, high = _with(rest, members - 1, looked.elected[entry], group)
            _reach(found, made, low, high, label + alike - 1)
            made += 1
            entry += 1
        each += alike
    return DONE, made


@njit(**OPTIONS)
def _lead(found, looked, members, made, at, group):  # type: ignore[no-untyped-def]
    """Let the leader assign, if it runs; return what is missing, and how many moves are made."""
    parts, after = found.scratch[_PARTS], found.scratch[_REST]
    leader, heard = -1, 0
    for place in range(members):
        leader = max(leader, looked.parts[parts[place], LEADER])
        heard |= looked.parts[parts[place], HEARS]
    if leader < 0:
        return DONE, made
    answers = number_of(heard, leader, looked.led_slots, 0)
    if not answers:
        _missed(found, heard, leader)
        return LEADING, made
    for place in range(members):
        after[place] = looked.led[answers, parts[place]]
        if after[place] == UNKNOWN:
            _missed(found, answers, parts[place])
            return LED, made
    if after[0] == DEADLY_TO_LEAD:
        _die(found, made, at, -1, 1)
        return DONE, made + 1
    low, high = packed(after, members, group)
    _reach(found, made, low, high, 1)
    found.leads[found.counts[LEADS]] = at
    found.counts[LEADS] += 1
    return DONE, made + 1


@njit(**OPTIONS)
def _make(found, looked, members, made, at, phase):  # type: ignore[no-untyped-def]
    """Make every move of a state; return what is missing, and how many moves are made."""
    parts, calmed, others = found.scratch[_PARTS], found.scratch[_CALMED], found.scratch[_OTHERS]
    group = unpacked(found.words[at, 0], found.words[at, 1], members, parts)
    tally = 0
    for place in range(members):
        tally += looked.parts[parts[place], TALLY]
    look = number_of(_few(tally), group, looked.slots, 0)
    if not look:
        _missed(found, tally, group)
        return SITUATION, made
    own_view, done_view, flags = looked.sights[look, OWN], looked.sights[look, DONE_TO], looked.sights[look, FLAGS]
    for place in range(members):
        if looked.own[own_view, parts[place]] == UNKNOWN or looked.done[done_view, parts[place]] == UNKNOWN:
            _missed(found, look, 0)
            return ROWS, made
        calmed[place] = looked.parts[parts[place], CALM]
    sort(calmed, members)
    place = 0
    while place < members:
        part, alike, calm = parts[place], 1, -1
        while place + alike < members and parts[place + alike] == part:
            alike += 1
        own, done, bounds = looked.own[own_view, part], looked.done[done_view, part], looked.bounds
        # What is done to a part stands between its own moves that are plain and the others.
        for begin, end in (
            (bounds[own, BEGIN], bounds[own, PREPARES]),
            (bounds[done, BEGIN], bounds[done, PREPARES]),
            (bounds[own, PREPARES], bounds[own + 1, BEGIN]),
        ):
            for move in range(begin, end):
                kind, label = looked.moves[move, KIND], looked.moves[move, LABEL] + alike
                after, added = looked.moves[move, AFTER], group + looked.moves[move, ADD]
                if kind == DEADLY:
                    _die(found, made, at, move, label)
                    made += 1
                    continue
                if calm != kind & PREPARED:
                    calm = kind & PREPARED
                    if calm:
                        _without(calmed, members, looked.parts[part, CALM], others)
                    else:
                        _without(parts, members, part, others)
                if kind < ELECTION:
                    low, high = _with(others, members - 1, after, added)
                    _reach(found, made, low, high, label)
                    made += 1
                else:
                    missing, made = _elect(found, looked, members, made, after, added, label)
                    if missing:
                        return missing, made
        place += alike
    if flags & COMPLETES:
        missing, made = _lead(found, looked, members, made, at, group + phase)
        if missing:
            return missing, made
    if flags & ENDS:
        found.endings[found.counts[ENDINGS]] = at
        found.counts[ENDINGS] += 1
    return DONE, made


@njit(**OPTIONS)
def _number(found, begin, end):  # type: ignore[no-untyped-def]
    """Number what the moves of some states lead to."""
    edges, size = found.counts[EDGES], found.counts[SIZE]
    for at in range(begin, end):
        for edge in range(found.first[at], found.first[at + 1]):
            low, high = found.made[edge - edges, 0], found.made[edge - edges, 1]
            number = 0
            if high >= 0:
                number = number_of(low, high, found.slots, size)
            if number == size:
                found.words[size, 0] = low
                found.words[size, 1] = high
                size += 1
            found.targets[edge] = number
        found.known[at] = size
    found.counts[SIZE] = size
    found.counts[EDGES] = found.first[end]
    found.counts[AT] = end


@njit(**OPTIONS)
def expand(found, looked, members, most, phase):  # type: ignore[no-untyped-def]
    """Make every move of every state, beginning with ``counts[AT]``, until something is missing or all is done."""
    counts, more = found.counts, SLACK + AT_ONCE
    while counts[AT] < counts[SIZE] <= most:
        begin, size, edges = counts[AT], counts[SIZE], counts[EDGES]
        if (
            size + more > found.words.shape[0]
            or edges + more > found.targets.size
            or counts[DEATHS] + more > found.deaths.shape[0]
        ):
            return SPACE
        at, made, missing = begin, 0, DONE
        while at < size and made < AT_ONCE and size + made <= most:
            deaths = counts[DEATHS]
            missing, after = _make(found, looked, members, made, at, phase)
            if missing:
                counts[DEATHS] = deaths
                break
            made = after
            at += 1
            found.first[at] = edges + made
        _number(found, begin, at)
        if missing:
            return missing
    return DONE
