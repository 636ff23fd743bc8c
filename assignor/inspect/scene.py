"""What can be found about a group: a kind, a code, a text, the members it is about; and all there is to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from attrs import frozen

from assignor.inspect.member import Member
from assignor.inspect.raw import RawGroup
from assignor.inspect.standing import Standing, listed


class Kind(Enum):
    """How bad it is."""

    PROBLEM = "problem"
    NOTICE = "notice"


@frozen
class Finding:
    """One thing that somebody should know, and the names of the members that it is about."""

    kind: Kind
    code: str
    text: str
    members: tuple[str, ...] = ()


class Scene(NamedTuple):
    """All there is to look at."""

    raw: RawGroup
    members: Sequence[Member]
    standing: Standing


class Said(NamedTuple):
    """What a look has to say, and of which members (names)."""

    text: str
    members: Sequence[str] = ()


Look = Callable[[Scene], Iterator[Said]]


def names(members: Sequence[Member]) -> str:
    """Name members."""
    return listed(member.name for member in members)


def verb(members: Sequence[Member], one: str, many: str) -> str:
    """Take the form of a word that goes with so many members."""
    return one if len(members) == 1 else many
