"""Parses the line of a streams group's scenario; a ``ScenarioError`` names the part that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.model.scenario import ScenarioError, parse_verb
from streams_assignor.spark_sim.streams_groups._coordinator import GroupTopology
from streams_assignor.spark_sim.streams_groups.rules import rules_of
from streams_assignor.spark_sim.streams_groups.scenario import VERBS, GroupScenario, GroupStep, StreamsGroupOperands

_MEMBER_NAME: Final = re.compile(r"[A-Z](\.[1-9])?", re.ASCII)
_MEMBER_ID: Final = re.compile(r"([A-Z](?:\.[1-9])?)#[1-9][0-9]*", re.ASCII)
_NUMBER: Final = re.compile("[0-9]{1,3}", re.ASCII)
MAX_TASKS: Final = 100


def is_group_scenario(line: str) -> bool:
    """Whether a line is a scenario of a streams group: its head has the word ``group``."""
    return "group" in line.partition("|")[0].split()


def parse_scenario(line: str) -> GroupScenario:
    """Parse a line; ``UpgradeError`` if it is not a scenario.

    >>> str(parse_scenario("A@4.3 B@4.3.1  group 4.3.1 tasks=2 |start A|settle"))
    'A@4.3.1 B@4.3.1 group 4.3.1 tasks=2 | start A | settle'
    """
    head, *rest = line.split("|")
    scenario = _parse_head(head)
    member_names = [name for name, _ in scenario.members]
    return evolve(scenario, steps=tuple(_parse_step(text, member_names) for text in rest))


def _parse_head(head: str) -> GroupScenario:
    words = head.split()
    place = words.index("group") if "group" in words else 0
    members, group = words[:place], words[place + 1 :]
    if not members or not group:
        raise ScenarioError(f"expected members and a group such as A@4.3.1 group 4.3.1 tasks=2, got {head.strip()!r}")
    names: list[tuple[str, str]] = []
    for word in members:
        names.append(_parse_member(word, [name for name, _ in names]))
    return _with_options(
        GroupScenario(tuple(names), GroupTopology((), ()), coordinator=rules_of(group[0]).release), group[1:]
    )


def _parse_member(word: str, member_names: Sequence[str]) -> tuple[str, str]:
    name, at, release = word.partition("@")
    if not at or not _MEMBER_NAME.fullmatch(name):
        raise ScenarioError(f"expected MEMBER@RELEASE such as A@4.3.1 or A.2@4.3.1, got {word!r}")
    if name in member_names:
        raise ScenarioError(f"expected different members, got {name} twice")
    return name, rules_of(release).release


def _with_options(scenario: GroupScenario, words: Iterable[str]) -> GroupScenario:
    values = {"tasks": "2", "standbys": "0", "stateless": "", "static": "", "next": "", "classic": "0"}
    for word in words:
        option, equals, value = word.partition("=")
        if not equals or option not in values:
            raise ScenarioError(f"expected one of {'=, '.join(values)}= after the group's release, got {word!r}")
        values[option] = value
    partitions = tuple(_number("tasks", number) for number in values["tasks"].split("+"))
    if not 0 < sum(partitions) <= MAX_TASKS or 0 in partitions:
        raise ScenarioError(f"expected 1 to {MAX_TASKS} tasks such as tasks=2+1, got tasks={values['tasks']}")
    stateless = {_number("stateless", number) for number in values["stateless"].split(",") if number}
    if stateless - set(range(len(partitions))):
        raise ScenarioError(f"expected subtopologies below {len(partitions)}, got stateless={values['stateless']}")
    static, names = tuple(filter(None, values["static"].split(","))), [name for name, _ in scenario.members]
    if set(static) - set(names):
        raise ScenarioError(f"expected members of {', '.join(names)}, got static={values['static']}")
    stateful = tuple(number not in stateless for number in range(len(partitions)))
    return evolve(
        scenario,
        topology=GroupTopology(partitions, stateful),
        num_standby_replicas=_number("standbys", values["standbys"]),
        classic_members=_number("classic", values["classic"]),
        next_coordinator=values["next"] and rules_of(values["next"]).release,
        static_members=static,
    )


def _parse_step(text: str, member_names: Sequence[str]) -> GroupStep:
    verb, _, words = parse_verb(text, VERBS)
    operands = VERBS[verb].operands
    if operands is StreamsGroupOperands.NOTHING:
        if words:
            raise ScenarioError(f"expected nothing after {verb}, got {' '.join(words)!r}")
        return GroupStep(verb)
    if len(words) != 1:
        raise ScenarioError(f"expected {operands.value} after {verb}, got {' '.join(words)!r}")
    name = words[0]
    if operands is StreamsGroupOperands.MEMBER_ID:
        matched = _MEMBER_ID.fullmatch(name)
        name = matched[1] if matched else ""
    if name not in member_names:
        raise ScenarioError(f"expected {operands.value} of {', '.join(member_names)} after {verb}, got {words[0]!r}")
    return GroupStep(verb, words[0])


def _number(option: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ScenarioError(f"expected a number below 1000 in {option}=, got {text!r}")
    return int(text)
