"""Reads the line of a broker scenario; whatever is wrong is a ``ScenarioError`` that names the part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve

from spark_sim.brokers.scenario import BY_NAME, MEMBERS, VERBS, BrokerScenario, Level, Step, Takes, number_of
from spark_sim.scenario import MODES, ScenarioError
from upgrade.brokers.versions import BrokerRelease, broker_release, version_named
from upgrade.errors import UnknownLevel
from upgrade.features.dialects import KIP_584
from upgrade.features.levels import INT16, METADATA

_NODE: Final = re.compile(r"[bc]?[1-9][0-9]{0,3}", re.ASCII)
FIRST_LINE: Final = (3, 3)
"""The first line of Kafka that can finalise features."""

_KEYWORDS: Final = ("level", "dialect", "watch")


def is_about_brokers(line: str) -> bool:
    """Tell a cluster from a Streams group, whose line says no ``level`` and has none of the steps of a cluster."""
    head, *steps = line.split("|")
    verbs = {text.split()[0] for text in steps if text.split()}
    return "level" in head.split() or not verbs.isdisjoint(VERBS.keys() - MODES.keys())


def read_scenario(line: str) -> BrokerScenario:
    """Read a line; ``UpgradeError`` if it is none.

    >>> str(read_scenario("1@3.9.2  2@3.9.2 level 3.9|bounce 1>4.3.1|finalise 4.3"))
    '1@3.9.2 2@3.9.2 level 3.9-IV0 | bounce 1>4.3.1 | finalise 4.3-IV0'
    """
    head, *rest = line.split("|")
    scenario = _head(head)
    known = [name for name, _ in scenario.nodes]
    steps = []
    for text in rest:
        made = _step(text, known, watched=bool(scenario.watched))
        steps.append(made)
        known += [name for name, _ in made.nodes if made.brings]
    return evolve(scenario, steps=tuple(steps))


# -- the part before the first bar -----------------------------------------------------------------------------------


def _head(head: str) -> BrokerScenario:
    parts: dict[str, list[str]] = {"nodes": []}
    part = "nodes"
    for word in head.split():
        if word in _KEYWORDS:
            if word in parts:
                raise ScenarioError(f"expected {word} once before the first |, got {head.strip()!r}")
            part, parts[word] = word, []
        else:
            parts[part].append(word)
    nodes: list[tuple[str, BrokerRelease]] = []
    for word in parts["nodes"]:
        nodes.append(_newcomer(word, [name for name, _ in nodes]))
    if not nodes or "level" not in parts:
        raise ScenarioError(f"expected nodes and a level such as 1@3.9.2 level 3.9-IV0, got {head.strip()!r}")
    dialect = _one_of("dialect", parts.get("dialect", ["kafka-4"]), BY_NAME)
    scenario = BrokerScenario(
        tuple(nodes),
        _levels("level", parts["level"]),
        BY_NAME[dialect],
        _single("watch", parts["watch"]) if "watch" in parts else "",
    )
    _check_roles(scenario)
    return scenario


def _check_roles(scenario: BrokerScenario) -> None:
    roles = {name[0] for name, _ in scenario.nodes}
    if scenario.dialect is KIP_584:
        if roles & {"b", "c"}:
            raise ScenarioError("in kip-584 every node is a broker: expected nodes such as 1@3.9.2, without b and c")
    elif roles == {"b"}:
        raise ScenarioError("expected at least one controller, such as 1@3.9.2 or c1@3.9.2, got only brokers")


def _newcomer(word: str, known: Sequence[str]) -> tuple[str, BrokerRelease]:
    name, at, release = word.partition("@")
    if not at or not _NODE.fullmatch(name):
        raise ScenarioError(f"expected NODE@RELEASE such as 1@3.9.2, c1@3.9.2 or b1@3.9.2, got {word!r}")
    if number_of(name) in map(number_of, known):
        raise ScenarioError(f"expected nodes with different numbers, got {number_of(name)} twice")
    return name, kraft_release(release)


def kraft_release(text: str) -> BrokerRelease:
    """Read a release that can finalise its features; ``UpgradeError`` if it is none."""
    release = broker_release(text)
    if release.number < FIRST_LINE:
        raise ScenarioError(f"expected a release of Kafka that can finalise its features, 3.3 or later, got {text}")
    return release


def _levels(where: str, words: Sequence[str]) -> tuple[Level, ...]:
    levels = tuple(map(_level, words))
    if not levels or len(dict(levels)) < len(levels):
        raise ScenarioError(
            f"expected different levels after {where}, such as 4.0-IV1 or group.version=1, got {_said(words)}"
        )
    return levels


def _level(word: str) -> Level:
    feature, equals, number = word.partition("=")
    if not equals:
        version = version_named(word)
        if version.level is None:
            raise UnknownLevel(f"expected a level of {METADATA}, 3.0-IV1 or later, got {word}")
        return METADATA, version.level
    if not feature or not re.fullmatch("[0-9]{1,5}", number, re.ASCII) or int(number) not in INT16:
        raise ScenarioError(f"expected FEATURE=NUMBER with a number from 0 to {INT16[-1]}, got {word!r}")
    return feature, int(number)


# -- steps -----------------------------------------------------------------------------------------------------------


def _step(text: str, known: Sequence[str], *, watched: bool) -> Step:
    verb, *words = text.split() or [""]
    if verb not in VERBS:
        raise ScenarioError(f"expected one of {', '.join(VERBS)}, got {text.strip()!r}")
    if VERBS[verb].takes is Takes.RACERS:
        return _race(words, known)
    mode = words.pop(0) if words and words[0] in VERBS[verb].modes else ""
    match VERBS[verb].takes:
        case Takes.NOTHING:
            if words:
                raise ScenarioError(f"expected nothing after {verb}, got {_said(words)}")
            return Step(verb)
        case Takes.LEVELS:
            return Step(verb, levels=_levels(verb, words), mode=mode)
        case Takes.MEMBERS:
            return Step(verb, tuple((_member(word, watched=watched), None) for word in _some(verb, words)))
        case Takes.NEWCOMERS:
            return Step(verb, _newcomers(_some(verb, words), known))
        case Takes.NODE:
            words = [_single(verb, words)]
    if verb == "ask" and not watched:
        raise ScenarioError("nobody asks: expected watch FEATURE before the first |")
    return Step(verb, tuple(_target(verb, word, known) for word in _some(verb, words)))


def _race(words: list[str], known: Sequence[str]) -> Step:
    if words.count("finalise") != 1:
        raise ScenarioError(f"expected race N@R finalise L or race finalise L N@R, got {_said(words)}")
    newcomers = [word for word in words if "@" in word]
    first = bool(newcomers) and words[: len(newcomers)] == newcomers
    levels = [word for word in words if "@" not in word and word != "finalise"]
    written = [*newcomers, "finalise", *levels] if first else ["finalise", *levels, *newcomers]
    if words != written:
        raise ScenarioError(f"expected race N@R finalise L or race finalise L N@R, got {_said(words)}")
    return Step(
        "race", _newcomers(_some("race", newcomers), known), _levels("finalise", levels), "" if first else "after"
    )


def _newcomers(words: Iterable[str], known: Sequence[str]) -> tuple[tuple[str, BrokerRelease], ...]:
    found: list[tuple[str, BrokerRelease]] = []
    for word in words:
        name, release = _newcomer(word, [*known, *(name for name, _ in found)])
        if name.startswith("c"):
            raise ScenarioError(
                f"expected a broker such as 4@3.9.2, as the controllers of a cluster stay the same, got {word!r}"
            )
        found.append((name, release))
    return tuple(found)


def _target(verb: str, word: str, known: Sequence[str]) -> tuple[str, BrokerRelease | None]:
    name, arrow, release = word.partition(">")
    takes = VERBS[verb].takes
    if name not in known:
        raise ScenarioError(f"no node {name!r} in this scenario, only {', '.join(known)}")
    if not arrow and takes is Takes.MOVED:
        raise ScenarioError(f"expected {verb} {name}>RELEASE, got {word!r}")
    if arrow and takes not in (Takes.MOVED, Takes.STARTED):
        raise ScenarioError(f"{verb} takes nodes without a release, got {word!r}")
    return name, kraft_release(release) if arrow else None


def _member(word: str, *, watched: bool) -> str:
    if not watched:
        raise ScenarioError("there is no Streams group: expected watch FEATURE before the first |")
    return _one_of("restart", [word], MEMBERS)


def _some(verb: str, words: list[str]) -> list[str]:
    if not words:
        raise ScenarioError(f"expected {VERBS[verb].takes.value} after {verb}, got nothing")
    return words


def _single(what: str, words: Sequence[str]) -> str:
    if len(words) != 1:
        raise ScenarioError(f"expected one word after {what}, got {_said(words)}")
    return words[0]


def _one_of(what: str, words: Sequence[str], known: Iterable[str]) -> str:
    word = _single(what, words)
    if word not in known:
        raise ScenarioError(f"expected one of {', '.join(known)} after {what}, got {word!r}")
    return word


def _said(words: Sequence[str]) -> str:
    return repr(" ".join(words)) if words else "nothing"
