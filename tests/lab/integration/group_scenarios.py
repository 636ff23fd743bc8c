"""A scenario of one group in one line, and its outcome.

``java@2.0.1 python@streams-assignor,upgrade.from=2.0 java@2.3.1 -python``: each word starts a member (one that runs is
stopped first) or, with a minus, stops it, or, with an exclamation mark, kills it. A member whose name begins with
"python" is ours, the others are Kafka Streams. After each word the tasks have to have settled, every record has to be
counted once, and by the owner of its task. Behind the comma are settings of Kafka's names.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Self

from attrs import Factory, define, field, frozen

from tests.lab.integration.failovers import Failover, failovers_after_crash
from tests.lab.integration.group_log import Generation, generations
from tests.lab.integration.peers import Group, ScenarioFailed
from tests.lab.integration.topologies import KEYS

_STOP, _KILL = _ENDING = ("-", "!")


@frozen
class ScenarioStep:
    """One step: a member to start, or (without a release) to stop or to kill."""

    name: str
    release: str = ""
    settings: dict[str, str] = Factory(dict)
    kills: bool = False

    @classmethod
    def parse(cls, word: str) -> Self:
        """Read a word.

        >>> ScenarioStep.parse("java@2.4.1,upgrade.from=2.3").settings
        {'upgrade.from': '2.3'}
        """
        start, *settings = word.split(",")
        name, _, release = start.partition("@")
        ends = name[:1] in _ENDING
        assert bool(release) != ends, f"expected NAME@RELEASE, -NAME or !NAME, got {word!r}"
        return cls(name[ends:], release, dict(setting.split("=", 1) for setting in settings), name.startswith(_KILL))

    def __str__(self) -> str:
        return f"{self.name}@{self.release}" if self.release else f"{_KILL if self.kills else _STOP}{self.name}"


@define
class ScenarioResult:
    """The outcome of a scenario: "" as `outcome` if it succeeded. All names are those of the members."""

    line: str
    shape: str
    broker: str
    outcome: str = ""
    leaders: list[str] = field(factory=list)  # after each step
    owned: list[dict[str, int]] = field(factory=list)  # how many active tasks, after each step
    standbys: list[dict[str, int]] = field(factory=list)
    sent: dict[str, list[str]] = field(factory=dict)  # versions, without repetitions in a row
    got: dict[str, list[str]] = field(factory=dict)
    envelopes: dict[str, list[int]] = field(factory=dict)
    hosts: bool | None = None  # whether each side knew the other's; None if none were given
    takeovers: list[Failover] = field(factory=list)
    generations: int = 0
    records: int = 0
    by_python: int = 0
    twice: int = 0
    lost: int = 0
    seconds: float = 0.0


def play_scenario(line: str, brokers: str, broker: str, shape: str, folder: Path) -> ScenarioResult:
    """Play a scenario and return its outcome."""
    words = [ScenarioStep.parse(word) for word in line.split()]
    hosts = any("application.server" in word.settings for word in words)
    found = ScenarioResult(line=line, shape=shape, broker=broker, hosts=hosts or None)
    began = time.monotonic()
    with Group(brokers, shape, folder) as group:
        try:
            for word in words:
                _step(group, word, found)
        except ScenarioFailed as failed:
            found.outcome = f"{failed}"[:1000]
        found.lost, found.twice = group.lost_and_duplicated()
        found.records = group.sent * len(KEYS)
        log = generations(brokers, group.topics.application)
    found.seconds = round(time.monotonic() - began, 1)
    _read(log, found)
    return found


def _step(group: Group, word: ScenarioStep, found: ScenarioResult) -> None:
    try:
        if word.kills:
            found.takeovers += failovers_after_crash(group, word.name)
        elif word.name in group.members:
            group.stop(word.name)
        if word.release:
            group.start(word.name, word.release, **word.settings)
        if not group.members:
            return
        group.settle(all_members=not word.kills)
        group.check_rack_placement()
        if found.hosts:
            group.check_hosts()
        group.check_that_no_member_rejoins()
        found.by_python += group.count()
    except ScenarioFailed as failed:
        raise ScenarioFailed(f"after {word}: {failed}") from None
    last = generations(group.brokers, group.topics.application)[-1]
    found.leaders.append(last.leading)
    found.owned.append({name: len(member.tasks) for name, member in group.members.items()})
    found.standbys.append({name: len(standbys) for name, standbys in last.standbys().items()})


def _read(log: list[Generation], found: ScenarioResult) -> None:
    """What was on the wire, as far as there were answers."""
    found.generations = len({each.number for each in log})
    for generation in log:
        for seat in generation.members:
            for seen, value in ((found.sent, seat.sent), (found.got, seat.got), (found.envelopes, seat.envelope)):
                values = seen.setdefault(seat.name, [])
                if value != "" and values[-1:] != [value]:
                    values.append(value)
