"""A check looks at a group and yields what it found, as parameters; the text is rendered late (``checks``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from attrs import field, frozen

from streams_assignor.groups import record_size
from streams_assignor.groups.broker_assigned.reconciliation import Reconciliation, reconcile
from streams_assignor.groups.described_group import STREAMS, DescribedGroup
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.upgrade_status import UpgradeStatus, upgrade_status


class FindingSeverity(Enum):
    """Whether a finding needs action."""

    PROBLEM = "problem"
    NOTICE = "notice"


@frozen
class Finding:
    """One thing found about a group; ``checks.finding_text`` renders it."""

    severity: FindingSeverity

    code: str
    """Stable, for programs: a key of ``checks.FINDINGS``."""

    parameters: Mapping[str, Any] = field(factory=dict, hash=False)
    """Keyword arguments of the code's template."""

    members: tuple[str, ...] = ()
    """Names of the members that the finding is about."""


@frozen
class GroupView:
    """The subject of a check: the same of a group that a broker describes, and of a generation in an audit."""

    described: DescribedGroup
    members: tuple[InspectedMember, ...]
    """Sorted by client id, then member id; empty if the group is neither one of consumers nor one of Connect."""

    @cached_property
    def upgrade_status(self) -> UpgradeStatus:
        """Where the upgrade stands."""
        return upgrade_status(self.members)

    @cached_property
    def reconciliations(self) -> Mapping[str, Reconciliation]:
        """How far each member is on its way to its target assignment, by its name; empty in a classic group."""
        return reconcile(self.described, self.members)

    @cached_property
    def record_bytes(self) -> int:
        """Size of the record with all metadata of a classic group."""
        return record_size.group_record_bytes(self.described)

    @property
    def is_streams_group(self) -> bool:
        """Whether it is a group of KIP-1071."""
        return self.described.type == STREAMS


class Match(NamedTuple):
    """A finding: parameters of its template, and names of members.

    ``checks.run_checks`` knows which parameters are names, and gives the template the names for people.
    """

    parameters: Mapping[str, Any]
    members: Sequence[str] = ()


Check = Callable[[GroupView], Iterator[Match]]


def check_members(group: DescribedGroup, expected: int) -> Iterator[Finding]:
    """Yield the problem that a group has fewer members than expected; hidden ones are another problem."""
    if len(group.members) < expected and not group.hides_members:
        parameters = {"members": len(group.members), "expected": expected}
        yield Finding(FindingSeverity.PROBLEM, "too-few-members", parameters)


def names_of(members: Sequence[InspectedMember]) -> list[str]:
    """List the names of members."""
    return [member.name for member in members]
