"""Records of a group, generation by generation, and the rows that a history makes of them."""

from collections import defaultdict

from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import LogRecord
from streams_assignor.groups.history.tables import AUDIT_TABLES
from tests.assignor.groups.described_groups import member
from tests.assignor.groups.history.segments import NOW, record
from tests.assignor.groups.history.segments import commit as commit_pair

SESSION_MS = 10_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
ALL = "0_0 0_1"


def metadata_of(each, session=SESSION_MS, poll=300_000):
    return {
        "memberId": each.member_id,
        "groupInstanceId": each.group_instance_id,
        "clientId": each.client_id,
        "clientHost": each.host,
        "rebalanceTimeout": poll,
        "sessionTimeout": session,
        "subscription": each.subscription,
        "assignment": each.assignment,
    }


def generation(number, *members, at=0, group="app", joined=None, version=3, poll=300_000, **facts):
    """The record of a generation, ``at`` milliseconds after the first; the first member leads."""
    value = {
        "protocolType": "consumer",
        "generation": number,
        "protocol": "stream" if members else None,
        "leader": members[0].member_id if members else None,
        "currentStateTimestamp": NOW + at - 20 if joined is None else joined,
        "members": [metadata_of(each, poll=poll) for each in members],
    }
    return record(2, {"group": group}, {**value, **facts}, NOW + at, version)


def deleted(group="app", at=0):
    return record(2, {"group": group}, None, NOW + at)


def commit(partition, offset=100, at=0, group="app"):
    return commit_pair(group, partition, offset, NOW + at)


def log(*pairs):
    return [LogRecord(offset, pair.time, pair.key, pair.value) for offset, pair in enumerate(pairs)]


class Played:
    """The findings of a history."""

    def __init__(self, *pairs, records=None, **settings):
        self.complete = []
        self.history = PartitionHistory(on_complete=self.complete.append, **settings)
        self.rows = defaultdict(list)
        for table, row in self._all(log(*pairs) if records is None else records):
            assert {name.rstrip("?") for name, _, _ in AUDIT_TABLES[table].columns} == set(row), table
            self.rows[table].append(row)

    def _all(self, records):
        yield from self.history.read(records)
        yield from self.history.close()

    @property
    def causes(self):
        return [(row["cause"], row["confidence"]) for row in self.rows["generations"]]

    @property
    def last(self):
        """The last generation."""
        return self.rows["generations"][-1]

    @property
    def lives(self):
        return [(row["name"], row["began"], row["ended"]) for row in self.rows["members"]]

    @property
    def codes(self):
        return [row["code"] for row in self.rows["findings"]]

    @property
    def group(self):
        return self.history.groups["app"]


def pair(**facts):
    """Two members that share two tasks."""
    return (
        member("A", active="0_0", owned="0_0", had="0_0", **facts),
        member("B", active="0_1", owned="0_1", had="0_1", **facts),
    )


def alone(**facts):
    return member("A", active=ALL, owned=ALL, had=ALL, **facts)


__all__ = ["log", "member"]
