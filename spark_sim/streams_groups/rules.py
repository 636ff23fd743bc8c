"""The differences between releases of the group coordinator and the clients, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import ASSUMED


@frozen
class CoordinatorRules:
    """The rules of one release of the group coordinator."""

    release: str
    rejoins_with_epoch_0: bool
    """Whether a member that the coordinator still has may rejoin with epoch 0 (KAFKA-19233)."""
    has_assignment_epochs: bool
    """Whether a commit is judged by the epoch in which its task was assigned, not by the member's (KAFKA-19779)."""
    assignor: str
    """The release of its task assignor. The one of 4.1, an early access, is not modelled: it has that of 4.2.0."""
    changes_roles: bool = False
    """Whether a member changes the role of a task without giving it up first (KAFKA-20665)."""
    assigns_from_current: bool = False
    """Whether its task assignor starts from the tasks that the members have, not from the target before."""
    doubles_tasks: bool = False
    """Whether its task assignor (any since KIP-1357) makes each active task also a standby of its owner."""
    has_static_members: bool = False
    """Whether a member can be static."""
    resends_assignment: bool = False
    """Whether the answer to a heartbeat with all owned tasks has the assignment, as in groups of KIP-848."""


@frozen
class ClientRules:
    """The rules of one release of the client."""

    checks_duplicates: bool = False
    """Whether it drops a task that it gets twice (apache/kafka#22991)."""
    reports_while_reconciling: bool = True
    """See ``MemberProfile.reports_while_reconciling``; the member in Python does not."""


_BEFORE_19233: Final = {"rejoins_with_epoch_0": False, "has_assignment_epochs": False}
_SINCE_4_2: Final = {"rejoins_with_epoch_0": True, "has_assignment_epochs": True}
_SINCE_4_4: Final = {"changes_roles": True, "assigns_from_current": True, "has_static_members": True}

RULES: Final[Mapping[str, CoordinatorRules]] = {
    rules.release: rules
    for rules in (
        *(CoordinatorRules(name, assignor="4.2.0", **_BEFORE_19233) for name in ("4.1.0", "4.1.1", "4.1.2")),
        *(
            CoordinatorRules(name, assignor=name, **_SINCE_4_2)
            for name in ("4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1")
        ),
        CoordinatorRules("4.4.0", assignor="4.4.0", **_SINCE_4_2, **_SINCE_4_4),
        CoordinatorRules("mistaken", assignor="4.2.2", **_SINCE_4_2, doubles_tasks=True),
        CoordinatorRules("fixed", assignor="4.2.2", **_SINCE_4_2, resends_assignment=True),
    )
}
"""The rules by release. ``fixed`` is 4.3.1 without the defects that the model finds; no release has all of it.
``mistaken`` has a task assignor with an error."""

FIXED_CLIENT: Final = ClientRules(checks_duplicates=True, reports_while_reconciling=False)

NEWEST: Final = "4.4.0"


def rules_of(release: str) -> CoordinatorRules:
    """Return the rules of a release; of 4.9~4.3, which is assumed to behave like 4.3, those of that.

    >>> rules_of("4.1").release, rules_of("4.3.1").rejoins_with_epoch_0
    ('4.1.2', True)

    Raises:
        UpgradeError: No rules are known for it.
    """
    release = release.rpartition(ASSUMED)[2]
    matches = [rules for name, rules in RULES.items() if name == release or name.startswith(f"{release}.")]
    if not matches:
        raise UpgradeError(f"expected a release with streams groups, one of {', '.join(RULES)}, got {release!r}")
    return matches[-1]


def client_rules_of(release: str) -> ClientRules:
    """Return the rules of a client; all releases so far have the same.

    Raises:
        UpgradeError: No rules are known for the release.
    """
    return FIXED_CLIENT if rules_of(release).release == "fixed" else ClientRules()
