"""Prints the transition table of a member as a Mermaid state diagram."""

from __future__ import annotations

from streams_assignor.probing.rules import RuleSet


def mermaid(rules: RuleSet) -> str:
    """Return the state diagram of a member that follows ``rules``, with one arrow per row of the table.

    >>> from streams_assignor.probing.rules import G0
    >>> print(mermaid(G0))
    stateDiagram-v2
        [*] --> LATEST: started
        [*] --> PINNED: started with upgrade.from
        LATEST --> LATEST: old / accept
        PINNED --> PINNED: old / accept
        PINNED --> PINNED: above / accept
    """
    arrows = [
        f"{before.name} --> {after.name}: {comparison.name.lower()} / "
        + ", ".join(action.name.lower().replace("_", " ") for action in actions)
        for (before, comparison), (after, actions) in rules.member.transitions.items()
    ]
    starts = ["[*] --> LATEST: started", "[*] --> PINNED: started with upgrade.from"]
    return "\n".join(["stateDiagram-v2", *(f"    {line}" for line in [*starts, *arrows])])
