"""Who does what: leaders and members of every generation of Kafka's code, the behaviour of its releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Final

from attrs import asdict

from blocks.markdown import number, table, word, words
from streams_assignor.probing._state_diagram import mermaid
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.probing.model import AssignmentContent, MemberState, VersionComparison
from streams_assignor.probing.rules import BY_NAME, CURRENT, G0, KIP_268, RuleSet, Transitions, VersionSource
from streams_assignor.upgrade.release_behaviour import BEHAVIOURS


def leaders() -> str:
    """Show how the leader of each generation answers."""
    rows = []
    for rules in BY_NAME.values():
        leader = rules.leader
        while_probing = (leader.version_for_future, leader.content_for_future, leader.content_while_probing)
        probing = map(word, while_probing) if leader.decodes_future else ["dies"] * len(while_probing)
        rows.append((f"`{rules.name}`", rules.source, word(leader.version), word(leader.supported_version), *probing))
    probing_head = ("used, to the future", "content, to the future", "content, to the others")
    return table(("rules", "where", "used", "supported", *probing_head), rows)


def members() -> str:
    """Show every transition of every generation; the same cell in two columns means the same behaviour."""
    columns: dict[str, Transitions] = {"before 2.0": G0.member.transitions}
    columns |= {
        f"`{rules.name}`": rules.member.transitions for rules in BY_NAME.values() if rules.leader.decodes_future
    }
    rows = [
        [word(state), word(verdict), *(_cell(column, state, verdict) for column in columns.values())]
        for state, verdict in product(MemberState, VersionComparison)
        if any((state, verdict) in column for column in columns.values())
    ]
    return table(("state", "answer", *columns), rows)


def _cell(transitions: Transitions, state: MemberState, verdict: VersionComparison) -> str:
    if (state, verdict) not in transitions:
        return "dies"
    after, actions = transitions[state, verdict]
    moved = "" if after is state else f" → {word(after)}"
    return ", ".join(map(word, actions)) + moved


def diagram(rules: RuleSet) -> str:
    """Draw a member's states."""
    return f"```mermaid\n{mermaid(rules)}\n```"


def release_behaviour() -> str:
    """Show what changed with each release; a column that is not named stays as it was."""
    rows, before = [], None
    for row in BEHAVIOURS:
        columns = {name: _column(name, value) for name, value in asdict(row, recurse=False).items() if name != "since"}
        changes = [text for name, text in columns.items() if before is None or text != before[name]]
        rows.append((number(row.since), "; ".join(filter(None, changes))))
        before = columns
    return table(("from", "what"), rows)


def _column(name: str, value: object) -> str:
    label = f"`{name}`"
    if isinstance(value, bool):
        return label if value else f"no {label}"
    if isinstance(value, tuple):
        return f"{label} {value[0]} to {value[-1]}" if len(value) > 2 else f"{label} {' or '.join(value)}" * bool(value)
    return f"{label} {getattr(value, 'value', value)}"


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "leaders": leaders,
    "numbers": lambda: words(VersionSource),
    "contents": lambda: words(AssignmentContent),
    "states": lambda: words(MemberState),
    "verdicts": lambda: words(VersionComparison),
    "members": members,
    "diagram of today": lambda: diagram(CURRENT),
    "diagram of kip-268": lambda: diagram(KIP_268),
    "release behaviour": release_behaviour,
    "follow-ups": lambda: words(FollowUpReason),
}
