"""Who does what: leaders and members of every generation of Kafka's code, the eras of its assignors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Final

from assignor.eras import ERAS
from blocks.markdown import number, table, word, words
from probing.diagram import mermaid
from probing.events import Content, MemberState, Verdict
from probing.follow_up import Reason
from probing.rules import BY_NAME, G0, KIP_268, TODAY, RuleSet, Speaks, Transitions


def leaders() -> str:
    """Show how the leader of each generation answers."""
    rows = []
    for rules in BY_NAME.values():
        leader = rules.leader
        while_probing = (leader.version_for_future, leader.content_for_future, leader.others_while_probing)
        probing = map(word, while_probing) if leader.reads_future else ["dies"] * len(while_probing)
        rows.append((f"`{rules.name}`", rules.source, word(leader.version), word(leader.supported), *probing))
    probing_head = ("used, to the future", "content, to the future", "content, to the others")
    return table(("rules", "where", "used", "supported", *probing_head), rows)


def members() -> str:
    """Show every transition of every generation; the same cell in two columns means the same behaviour."""
    columns: dict[str, Transitions] = {"before 2.0": G0.member.transitions}
    columns |= {f"`{rules.name}`": rules.member.transitions for rules in BY_NAME.values() if rules.leader.reads_future}
    rows = [
        [word(state), word(verdict), *(_cell(column, state, verdict) for column in columns.values())]
        for state, verdict in product(MemberState, Verdict)
        if any((state, verdict) in column for column in columns.values())
    ]
    return table(("state", "answer", *columns), rows)


def _cell(transitions: Transitions, state: MemberState, verdict: Verdict) -> str:
    if (state, verdict) not in transitions:
        return "dies"
    after, actions = transitions[state, verdict]
    moved = "" if after is state else f" → {word(after)}"
    return ", ".join(map(word, actions)) + moved


def diagram(rules: RuleSet) -> str:
    """Draw a member's states."""
    return f"```mermaid\n{mermaid(rules)}\n```"


def eras() -> str:
    """Say what each era does with tasks, only what has changed since the one before."""
    rows, before = [], None
    for era in ERAS:
        said = (
            f"consumer protocol {era.envelope}" + (", cooperative" if era.cooperates else ", eager"),
            f"below version 7 a member names its tasks: {era.names.value}",
            "stateless tasks have standbys too" if era.standbys_without_state else "standbys of stateful tasks only",
            "balanced by lag" if era.balances else "sticky",
            f"dealt to members `{era.deal.__name__}`",
            f"tasks without state that members name: {'deadly to' if era.dies_without_lag else 'all one to'} leaders",
            f"a standby of a task that is withheld: {era.interim.value}",
        )
        changes = said if before is None else [each for each in said if each not in before]
        rows.append((number(era.since), "; ".join(changes)))
        before = said
    return table(("from", "what"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "leaders": leaders,
    "numbers": lambda: words(Speaks),
    "contents": lambda: words(Content),
    "states": lambda: words(MemberState),
    "verdicts": lambda: words(Verdict),
    "members": members,
    "diagram of today": lambda: diagram(TODAY),
    "diagram of kip-268": lambda: diagram(KIP_268),
    "eras": eras,
    "follow-ups": lambda: words(Reason),
}
