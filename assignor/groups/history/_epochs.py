"""Groups that are not classic: their coordinator writes members, epochs and assignments as separate records.

A generation is an epoch of the group. Its members are those at the record of the epoch. The target assignment follows
in the same append or, if the broker delays it (4.3), later. So an epoch is complete when the next one begins; what a
member that leaves then takes with it was written before the next epoch, but belongs to this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field, frozen

from assignor.groups.described_group import CONSUMER, SHARE, STREAMS, DescribedGroupMember
from assignor.groups.history._generation import Generation, GroupMember
from assignor.groups.history.tables import valid_text
from assignor.groups.member import AssignmentSeen, SubscriptionSeen, short_name
from subscription_codec.coordinator import RecordType

_SIGNS_OF_LIFE: Final = frozenset({"MemberMetadata", "CurrentMemberAssignment"})
"""Records that are written of a member when it joins, and when it confirms an assignment. (With a negative epoch, when
a static member has left for a while.)"""
_GROUP_TYPES: Final[Mapping[str, str]] = {"ConsumerGroup": CONSUMER, "ShareGroup": SHARE, "StreamsGroup": STREAMS}


def group_type(kind: RecordType) -> str:
    """Return the type of the groups that have such records: ``consumer``, ``share`` or ``streams``."""
    return next(name for prefix, name in _GROUP_TYPES.items() if kind.name.startswith(prefix))


@frozen
class _Epoch:
    number: int
    offset: int
    time: int
    members: Mapping[str, Mapping[str, Any]]
    targets: dict[str, Mapping[str, Any]]
    """The target assignment; a member that leaves keeps it until the next epoch."""


@define
class EpochGroup:
    """Folds the records of a group into generations."""

    group: str
    type: str
    topic_names: dict[str, str]
    """Names by id. Brokers before 4.1 write them in records of the group, later ones in offset commits only."""
    _source_topics: dict[str, tuple[str, ...]] = field(factory=dict)
    """For each subtopology of a streams group the topics that its tasks read."""
    _members: dict[str, Mapping[str, Any]] = field(factory=dict)
    _targets: dict[str, Mapping[str, Any]] = field(factory=dict)
    _alive: dict[str, int] = field(factory=dict)
    """When each member last made the coordinator write a record: with its heartbeat."""
    _epoch: _Epoch | None = None
    _record_bytes: int = 0

    def on_record(
        self, kind: RecordType, key: Mapping[str, Any], value: Mapping[str, Any] | None, offset: int, time: int
    ) -> Generation | None:
        """Take a record; return the epoch that it completes, if any."""
        key, value = _valid_texts(key), _valid_texts(value)
        suffix = kind.name.removeprefix(next(prefix for prefix in _GROUP_TYPES if kind.name.startswith(prefix)))
        if suffix == "Metadata":
            complete = self.complete()
            self._alive = {name: self._alive[name] for name in self._members if name in self._alive}
            self._epoch = None
            if value is not None:
                self._epoch = _Epoch(value["epoch"], offset, time, dict(self._members), dict(self._targets))
            return complete
        if suffix in _SIGNS_OF_LIFE and value is not None and value.get("memberEpoch", 0) >= 0:
            self._alive[key["memberId"]] = time
        if suffix == "MemberMetadata":
            _put(self._members, key["memberId"], value)
        elif suffix == "TargetAssignmentMember":
            _put(self._targets, key["memberId"], value)
            if self._epoch is not None and value is not None:
                self._epoch.targets[key["memberId"]] = value
        elif suffix == "Topology" and value is not None:
            self._source_topics = {
                subtopology["subtopologyId"]: _input_topics(subtopology) for subtopology in value["subtopologies"]
            }
        elif suffix in ("PartitionMetadata", "StatePartitionMetadata") and value is not None:
            self._learn_topics(value)
        return None

    def _learn_topics(self, value: Mapping[str, Any]) -> None:
        for name in ("topics", "initializingTopics", "initializedTopics"):
            for topic in value.get(name, ()):
                self.topic_names[topic["topicId"]] = topic["topicName"]

    def complete(self) -> Generation | None:
        """Return the epoch that is open, with what is known of its assignment."""
        if self._epoch is None:
            return None
        return Generation(
            group=self.group,
            type=self.type,
            number=self._epoch.number,
            offset=self._epoch.offset,
            time=self._epoch.time,
            protocol_type=self.type,
            protocol=_server_assignor(self._epoch),
            members={name: self._member(name, member, self._epoch) for name, member in self._epoch.members.items()},
        )

    def _member(self, member_id: str, metadata: Mapping[str, Any], epoch: _Epoch) -> GroupMember:
        target = epoch.targets.get(member_id, {})
        has_tasks = self.type == STREAMS
        active = _tasks(target, "activeTasks") if has_tasks else self._partitions(target)
        described = DescribedGroupMember(
            member_id=member_id,
            group_instance_id=metadata.get("instanceId"),
            client_id=metadata["clientId"],
            host=metadata["clientHost"],
        )
        return GroupMember(
            name=metadata.get("instanceId") or short_name(member_id),
            described=described,
            subscription=SubscriptionSeen(),
            assignment=AssignmentSeen(),
            rebalance_timeout_ms=metadata.get("rebalanceTimeoutMs", 0),
            process_id=metadata.get("processId"),
            rack=metadata.get("rackId"),
            topics=tuple(metadata.get("subscribedTopicNames", self._all_source_topics())),
            active=active,
            task_partitions=self._task_partitions(target) if has_tasks else None,
            standby=_tasks(target, "standbyTasks") | _tasks(target, "warmupTasks"),
            has_tasks=has_tasks,
            last_sign_of_life=self._alive.get(member_id, -1),
        )

    def _all_source_topics(self) -> tuple[str, ...]:
        return tuple(sorted({topic for topics in self._source_topics.values() for topic in topics}))

    def _task_partitions(self, target: Mapping[str, Any]) -> frozenset[str]:
        """Return the partitions that active tasks read, as if all topics of a subtopology had equally many."""
        return frozenset(
            f"{topic}-{partition}"
            for tasks in target.get("activeTasks", ())
            for topic in self._source_topics.get(tasks["subtopologyId"], ())
            for partition in tasks["partitions"]
        )

    def _partitions(self, target: Mapping[str, Any]) -> frozenset[str]:
        return frozenset(
            f"{self.topic_names.get(topic['topicId'], topic['topicId'])}-{partition}"
            for topic in target.get("topicPartitions", ())
            for partition in topic["partitions"]
        )


def _input_topics(subtopology: Mapping[str, Any]) -> tuple[str, ...]:
    return (*subtopology["sourceTopics"], *(topic["name"] for topic in subtopology["repartitionSourceTopics"]))


def _valid_texts(value: Any) -> Any:
    """Return the fields of a record with text that can be written."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, Mapping):
        return {name: _valid_texts(part) for name, part in value.items()}
    return [_valid_texts(part) for part in value] if isinstance(value, list | tuple) else value


def _server_assignor(epoch: _Epoch) -> str:
    return next((member["serverAssignor"] for member in epoch.members.values() if member.get("serverAssignor")), "")


def _tasks(target: Mapping[str, Any], role: str) -> frozenset[str]:
    rows = target.get(role, ())
    return frozenset(f"{tasks['subtopologyId']}_{partition}" for tasks in rows for partition in tasks["partitions"])


def _put(values: dict[str, Mapping[str, Any]], key: str, value: Mapping[str, Any] | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
