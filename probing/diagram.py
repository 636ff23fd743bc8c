"""The member's transitions as a picture: Mermaid text printed from the table, so that it cannot disagree with it."""

from __future__ import annotations

from probing.rules import RuleSet


def mermaid(rules: RuleSet) -> str:
    """Draw the states of a member under ``rules``; one arrow per row of the table.

    >>> from probing.rules import G0
    >>> print(mermaid(G0))
    stateDiagram-v2
        [*] --> LATEST: started
        [*] --> PINNED: started with upgrade.from
        LATEST --> LATEST: old / take
        PINNED --> PINNED: old / take
        PINNED --> PINNED: above / take
    """
    arrows = [
        f"{before.name} --> {after.name}: {verdict.name.lower()} / "
        + ", ".join(action.name.lower().replace("_", " ") for action in actions)
        for (before, verdict), (after, actions) in rules.member.transitions.items()
    ]
    starts = ["[*] --> LATEST: started", "[*] --> PINNED: started with upgrade.from"]
    return "\n".join(["stateDiagram-v2", *(f"    {line}" for line in [*starts, *arrows])])
