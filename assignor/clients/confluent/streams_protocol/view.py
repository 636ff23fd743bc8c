"""The view ``StreamsConsumer.streams`` in the streams protocol."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from streams_assignor.clients.adapter import MemberGeneration
from streams_assignor.errors import FatalError
from streams_assignor.streams_group import StreamsGroupMember


class _Membership(Protocol):
    member: StreamsGroupMember
    failure: FatalError | None

    @property
    def generation(self) -> MemberGeneration | None: ...


@frozen
class StreamsGroupView:
    """A look at a member of a streams group."""

    _membership: _Membership

    @property
    def member(self) -> StreamsGroupMember:
        """The state of the membership: its epoch, its assignment, the statuses of the group."""
        return self._membership.member

    @property
    def generation(self) -> MemberGeneration | None:
        """The last epoch of this member; None before the first."""
        return self._membership.generation

    @property
    def failure(self) -> FatalError | None:
        """The error that terminated the membership."""
        return self._membership.failure
