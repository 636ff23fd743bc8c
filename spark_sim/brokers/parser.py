"""Parses the line of a broker scenario; a ``ScenarioError`` names the part that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.brokers.scenario import (
    DIALECTS_BY_NAME,
    GROUP_MEMBERS,
    VERBS,
    BrokerOperands,
    BrokerScenario,
    ClusterStep,
    Level,
    node_id,
)
from streams_assignor.spark_sim.model.scenario import VERBS as STREAMS_VERBS
from streams_assignor.spark_sim.model.scenario import ScenarioError, parse_target, parse_verb
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, broker_release, version_named
from streams_assignor.upgrade.cluster.features.catalog import INT16, METADATA_VERSION
from streams_assignor.upgrade.cluster.features.dialects import KIP_584
from streams_assignor.upgrade.errors import UnknownLevel

_NODE_NAME: Final = re.compile(r"[bc]?[1-9][0-9]{0,3}", re.ASCII)
FIRST_FEATURE_LINE: Final = (3, 3)
"""The first line of Kafka that can finalize features."""

_KEYWORDS: Final = ("level", "dialect", "watch")


def is_broker_scenario(line: str) -> bool:
    """Whether a line is a broker scenario: it has a ``level`` or a step that Streams scenarios do not have."""
    head, *steps = line.split("|")
    verbs = {text.split()[0] for text in steps if text.split()}
    return "level" in head.split() or not verbs.isdisjoint(VERBS.keys() - STREAMS_VERBS.keys())


def parse_scenario(line: str) -> BrokerScenario:
    """Parse a line; ``UpgradeError`` if it is not a scenario.

    >>> str(parse_scenario("1@3.9.2  2@3.9.2 level 3.9|bounce 1>4.3.1|finalize 4.3"))
    '1@3.9.2 2@3.9.2 level 3.9-IV0 | bounce 1>4.3.1 | finalize 4.3-IV0'
    """
    head, *rest = line.split("|")
    scenario = _parse_head(head)
    node_names = [name for name, _ in scenario.nodes]
    steps = []
    for text in rest:
        made = _parse_step(text, node_names, watched=bool(scenario.watched_feature))
        steps.append(made)
        node_names += [name for name, _ in made.nodes if made.adds_nodes]
    return evolve(scenario, steps=tuple(steps))


# -- the part before the first bar -----------------------------------------------------------------------------------


def _parse_head(head: str) -> BrokerScenario:
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
        nodes.append(_parse_node(word, [name for name, _ in nodes]))
    if not nodes or "level" not in parts:
        raise ScenarioError(f"expected nodes and a level such as 1@3.9.2 level 3.9-IV0, got {head.strip()!r}")
    dialect = _one_of("dialect", parts.get("dialect", ["kafka-4"]), DIALECTS_BY_NAME)
    scenario = BrokerScenario(
        tuple(nodes),
        _parse_levels("level", parts["level"]),
        DIALECTS_BY_NAME[dialect],
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


def _parse_node(word: str, node_names: Sequence[str]) -> tuple[str, BrokerRelease]:
    name, at, release = word.partition("@")
    if not at or not _NODE_NAME.fullmatch(name):
        raise ScenarioError(f"expected NODE@RELEASE such as 1@3.9.2, c1@3.9.2 or b1@3.9.2, got {word!r}")
    if node_id(name) in map(node_id, node_names):
        raise ScenarioError(f"expected nodes with different numbers, got {node_id(name)} twice")
    return name, kraft_release(release)


def kraft_release(text: str) -> BrokerRelease:
    """Parse a release; ``UpgradeError`` if it cannot finalize features."""
    release = broker_release(text)
    if release.number < FIRST_FEATURE_LINE:
        raise ScenarioError(f"expected a release of Kafka that can finalize its features, 3.3 or later, got {text}")
    return release


def _parse_levels(where: str, words: Sequence[str]) -> tuple[Level, ...]:
    levels = tuple(map(_parse_level, words))
    if not levels or len(dict(levels)) < len(levels):
        raise ScenarioError(
            f"expected different levels after {where}, such as 4.0-IV1 or group.version=1, got {_quoted(words)}"
        )
    return levels


def _parse_level(word: str) -> Level:
    feature, equals, number = word.partition("=")
    if not equals:
        version = version_named(word)
        if version.level is None:
            raise UnknownLevel(f"expected a level of {METADATA_VERSION}, 3.0-IV1 or later, got {word}")
        return METADATA_VERSION, version.level
    if not feature or not re.fullmatch("[0-9]{1,5}", number, re.ASCII) or int(number) not in INT16:
        raise ScenarioError(f"expected FEATURE=NUMBER with a number from 0 to {INT16[-1]}, got {word!r}")
    return feature, int(number)


# -- steps -----------------------------------------------------------------------------------------------------------


def _parse_step(text: str, node_names: Sequence[str], *, watched: bool) -> ClusterStep:
    verb, mode, words = parse_verb(text, VERBS)
    operands = VERBS[verb].operands
    match operands:
        case BrokerOperands.RACE:
            return _parse_race([mode, *words] if mode else words, node_names)
        case BrokerOperands.NOTHING:
            if words:
                raise ScenarioError(f"expected nothing after {verb}, got {_quoted(words)}")
            return ClusterStep(verb)
        case BrokerOperands.LEVELS:
            return ClusterStep(verb, levels=_parse_levels(verb, words), mode=mode)
        case BrokerOperands.MEMBERS:
            return ClusterStep(
                verb, tuple((_parse_member(word, watched=watched), None) for word in _nonempty(verb, words))
            )
        case BrokerOperands.NEW_NODES:
            return ClusterStep(verb, _parse_new_nodes(_nonempty(verb, words), node_names))
        case BrokerOperands.NODE:
            words = [_single(verb, words)]
    if verb == "ask" and not watched:
        raise ScenarioError("there is no Streams group: expected watch FEATURE before the first |")
    syntax, names = operands.value, _nonempty(verb, words)
    return ClusterStep(
        verb, tuple(parse_target(word, verb, "node", node_names, syntax, kraft_release) for word in names)
    )


def _parse_race(words: list[str], node_names: Sequence[str]) -> ClusterStep:
    if words.count("finalize") != 1:
        raise ScenarioError(f"expected race N@R finalize L or race finalize L N@R, got {_quoted(words)}")
    new_nodes = [word for word in words if "@" in word]
    first = bool(new_nodes) and words[: len(new_nodes)] == new_nodes
    levels = [word for word in words if "@" not in word and word != "finalize"]
    written = [*new_nodes, "finalize", *levels] if first else ["finalize", *levels, *new_nodes]
    if words != written:
        raise ScenarioError(f"expected race N@R finalize L or race finalize L N@R, got {_quoted(words)}")
    return ClusterStep(
        "race",
        _parse_new_nodes(_nonempty("race", new_nodes), node_names),
        _parse_levels("finalize", levels),
        "" if first else "after",
    )


def _parse_new_nodes(words: Iterable[str], node_names: Sequence[str]) -> tuple[tuple[str, BrokerRelease], ...]:
    nodes: list[tuple[str, BrokerRelease]] = []
    for word in words:
        name, release = _parse_node(word, [*node_names, *(name for name, _ in nodes)])
        if name.startswith("c"):
            raise ScenarioError(
                f"expected a broker such as 4@3.9.2, as the controllers of a cluster are fixed, got {word!r}"
            )
        nodes.append((name, release))
    return tuple(nodes)


def _parse_member(word: str, *, watched: bool) -> str:
    if not watched:
        raise ScenarioError("there is no Streams group: expected watch FEATURE before the first |")
    return _one_of("restart", [word], GROUP_MEMBERS)


def _nonempty(verb: str, words: list[str]) -> list[str]:
    if not words:
        raise ScenarioError(f"expected {VERBS[verb].operands.value} after {verb}, got nothing")
    return words


def _single(what: str, words: Sequence[str]) -> str:
    if len(words) != 1:
        raise ScenarioError(f"expected one word after {what}, got {_quoted(words)}")
    return words[0]


def _one_of(what: str, words: Sequence[str], allowed: Iterable[str]) -> str:
    word = _single(what, words)
    if word not in allowed:
        raise ScenarioError(f"expected one of {', '.join(allowed)} after {what}, got {word!r}")
    return word


def _quoted(words: Sequence[str]) -> str:
    return repr(" ".join(words)) if words else "nothing"
