"""A group seen from outside: from the raw bytes that a broker hands out to members, tasks, an upgrade, and findings.

Pure, like the assignor: who asks brokers is ``assignor.clients.group_lookup``, who shows it is ``assignor.cli.group``.
Nothing here needs to be a member, and no group is changed by being looked at.
"""

from assignor.inspect.group import Group, inspect
from assignor.inspect.raw import DEFAULT_LIMIT, NoSuchGroup, RawGroup, RawMember, topics_of
from assignor.inspect.scene import Finding, Kind
from assignor.inspect.story import changes

__all__ = [
    "DEFAULT_LIMIT",
    "Finding",
    "Group",
    "Kind",
    "NoSuchGroup",
    "RawGroup",
    "RawMember",
    "changes",
    "inspect",
    "topics_of",
]
