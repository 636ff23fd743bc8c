"""What a process is to a group, as a value: the letters of which states are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

# What a process is to the group: CRASHED and STOPPED do not run. A member that is known either is waited for (if the
# group prepares a rebalance), has joined, has an answer to take, is content with the answer it took, or wants another.
CRASHED, STOPPED, OUTSIDE, WAITED_FOR, JOINED, ANSWERED, CONTENT, RESTLESS = range(8)
KNOWN: Final = frozenset({WAITED_FOR, JOINED, ANSWERED, CONTENT, RESTLESS})

PREPARING, COMPLETING, STABLE = range(3)


class Ghost(NamedTuple):
    """A member id whose process is gone: what the leader hears of it if it has joined (-1: it has not)."""

    heard: int = -1
    leads: bool = False


class Part(NamedTuple):
    """One process: its course, how many rounds it has done, what it is, and the ids it left behind, oldest first.

    ``version``: a number of ``Tables``. ``word``: the answer to take (``ANSWERED``), the version received
    (``CONTENT``), or the round in which it is to start (``STOPPED``). ``holds``: it has tasks and does not give them up
    to rejoin.
    """

    course: int
    place: int
    status: int
    version: int = -1
    word: int = -1
    leads: bool = False
    holds: bool = False
    ghosts: tuple[Ghost, ...] = ()

    @property
    def runs(self) -> bool:
        return self.status not in {CRASHED, STOPPED}

    @property
    def known(self) -> bool:
        return self.status in KNOWN


def calmed(part: Part, answers_last: bool) -> Part:
    """Return what a process is when a rebalance begins: its ids are waited for; perhaps it still has an answer."""
    ghosts = waited_for(part.ghosts)
    if not part.known or (answers_last and part.status == ANSWERED):
        return part._replace(ghosts=ghosts)
    return part._replace(status=WAITED_FOR, word=-1, ghosts=ghosts)


def waited_for(ghosts: Iterable[Ghost]) -> tuple[Ghost, ...]:
    return tuple(Ghost(-1, ghost.leads) for ghost in ghosts)


def elected(part: Part) -> Iterator[Part]:
    """Yield what a process is if one of its ids leads, for each of them."""
    if part.known:
        yield part._replace(leads=True)
    for place, ghost in enumerate(part.ghosts):
        yield part._replace(ghosts=(*part.ghosts[:place], ghost._replace(leads=True), *part.ghosts[place + 1 :]))
