"""Groups that are not classic: their coordinator writes members, epochs and assignments as separate records.

A generation is an epoch of the group. Its members are those at the record of the epoch. The target assignment follows
in the same append or, if the broker delays it (4.3), later; then members come to it one by one. So an epoch is complete
when the next one begins; what a member that leaves then takes with it was written before the next epoch, but belongs to
this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from attrs import define, field

from streams_assignor.codec import TopicPartition
from streams_assignor.codec.coordinator import RecordType
from streams_assignor.groups.broker_assigned import (
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedSubtopology,
    DescribedTopology,
    InternalTopic,
)
from streams_assignor.groups.broker_assigned.topics import task_id
from streams_assignor.groups.decoded import AssignmentSeen, SubscriptionSeen, in_order
from streams_assignor.groups.described_group import (
    ASSIGNING,
    CONSUMER,
    EMPTY,
    NOT_READY,
    RECONCILING,
    SHARE,
    STABLE,
    STREAMS,
    DescribedGroup,
    DescribedGroupMember,
)
from streams_assignor.groups.history._current_tasks import ACTIVE, ROLES, CurrentTasks, Share, Task, is_complete, share
from streams_assignor.groups.history._generation import EpochFacts, EpochProgress, Generation, GroupMember
from streams_assignor.groups.history.tables import Row, valid_text
from streams_assignor.groups.member_names import short_name
from streams_assignor.upgrade.release_detection import streams_protocol_releases

_SIGNS_OF_LIFE: Final = frozenset({"MemberMetadata", "CurrentMemberAssignment"})
"""Records that are written of a member when it joins, and when it confirms an assignment. (With a negative epoch, when
a static member has left for a while.)"""
_GROUP_TYPES: Final[Mapping[str, str]] = {"ConsumerGroup": CONSUMER, "ShareGroup": SHARE, "StreamsGroup": STREAMS}
_TASK_FIELDS: Final[Mapping[str, str]] = dict(zip(ROLES, ("activeTasks", "standbyTasks", "warmupTasks"), strict=True))
_PARTITION_FIELDS: Final = ("topicPartitions", "assignedPartitions")
"""Where a target and a current assignment have partitions."""
_NOT_VALIDATED: Final = -1
"""The validated topology epoch of a group to which the broker assigns no task yet."""

_Fields = Mapping[str, Any]
"""The value of a record."""


def group_type(kind: RecordType) -> str:
    """Return the type of the groups that have such records: ``consumer``, ``share`` or ``streams``."""
    return next(name for prefix, name in _GROUP_TYPES.items() if kind.name.startswith(prefix))


@define
class _Epoch:
    number: int
    offset: int
    time: int
    metadata: _Fields
    """The value of its record: hash of topics, settings of the last assignment, validated topology."""
    topology: _Fields | None
    members: Mapping[str, _Fields]
    targets: dict[str, _Fields]
    """The target assignment; a member that leaves keeps it until the next epoch."""
    currents: dict[str, _Fields]
    """The last current assignment of each member, likewise."""
    assigned_time: int | None = None
    """When the target assignment was computed."""
    complete_time: int | None = None
    """When all members had come to it."""
    last_member: str = ""
    """The name of the member that came to it last."""


@define
class EpochGroup:
    """Folds the records of a group into generations."""

    group: str
    type: str
    topic_names: dict[str, str]
    """Names by id. Brokers before 4.1 write them in records of the group, later ones in offset commits only: 4.3.1 in
    all, 4.2.2 in those of clients that commit by id."""
    _topology: _Fields | None = None
    """The last topology of a streams group."""
    _members: dict[str, _Fields] = field(factory=dict)
    _targets: dict[str, _Fields] = field(factory=dict)
    _currents: dict[str, _Fields] = field(factory=dict)
    _names: dict[str, str] = field(factory=dict)
    _instances: dict[str, str] = field(factory=dict)
    """The last member id of each static member."""
    _pending: set[str] = field(factory=set)
    """Member ids that have not come to the target assignment, with those that left before they did."""
    _target_epoch: int | None = None
    _alive: dict[str, int] = field(factory=dict)
    """When each member last made the coordinator write a record: with its heartbeat."""
    _epoch: _Epoch | None = None
    _tasks: CurrentTasks = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tasks = CurrentTasks(self.group, self._label, is_shared=self.type == SHARE)

    def on_record(
        self, kind: RecordType, key: _Fields, value: _Fields | None, offset: int, time: int
    ) -> tuple[Generation | None, list[Row]]:
        """Take a record; return the epoch that it completes, if any, and rows of ``tasks``."""
        key, value = _valid_texts(key), _valid_texts(value)
        suffix = kind.name.removeprefix(next(prefix for prefix in _GROUP_TYPES if kind.name.startswith(prefix)))
        if suffix == "Metadata":
            return self._begin(value, offset, time), []
        member_id = key.get("memberId", "")
        if suffix in _SIGNS_OF_LIFE and value is not None and value.get("memberEpoch", 0) >= 0:
            self._alive[member_id] = time
        if suffix == "MemberMetadata":
            _put(self._members, member_id, value)
            if value is not None:
                self._note_name(member_id, value.get("instanceId"))
        elif suffix == "TargetAssignmentMember":
            _put(self._targets, member_id, value)
            if self._epoch is not None and value is not None:
                self._epoch.targets[member_id] = value
            return None, self._compare(member_id, time)
        elif suffix == "CurrentMemberAssignment":
            _put(self._currents, member_id, value)
            if self._epoch is not None and value is not None:
                self._epoch.currents[member_id] = value
            return None, self._compare(member_id, time)
        elif suffix == "TargetAssignmentMetadata" and value is not None:
            self._target_epoch = value["assignmentEpoch"]
            self._learn_only_topic()
            self._pending = {name for name in self._members if not self._has_target(name)}
            if self._epoch is not None and self._epoch.number == self._target_epoch:
                self._epoch.assigned_time = time
            self._note_completion("", time)
        elif suffix == "Topology" and value is not None:
            self._topology = value
        elif suffix in ("PartitionMetadata", "StatePartitionMetadata") and value is not None:
            self._learn_topics(value)
        return None, []

    def _begin(self, value: _Fields | None, offset: int, time: int) -> Generation | None:
        """Begin an epoch. Brokers write the record of one again, for example with the state of its topology."""
        if value is not None and self._epoch is not None and self._epoch.number == value["epoch"]:
            self._epoch.metadata = value
            return None
        complete = self.complete()
        self._alive = {name: self._alive[name] for name in self._members if name in self._alive}
        self._names = {name: self._names[name] for name in self._members}
        self._instances = {instance: name for instance, name in self._instances.items() if name in self._members}
        self._pending &= self._members.keys()
        self._epoch = None
        if value is not None:
            members, targets, currents = dict(self._members), dict(self._targets), dict(self._currents)
            self._epoch = _Epoch(value["epoch"], offset, time, value, self._topology, members, targets, currents)
        return complete

    def _note_name(self, member_id: str, instance_id: str | None) -> None:
        self._names[member_id] = instance_id or short_name(member_id)
        if instance_id:
            self._pending.discard(self._instances.get(instance_id, ""))  # it has returned under another id
            self._instances[instance_id] = member_id

    def _learn_topics(self, value: _Fields) -> None:
        for name in ("topics", "initializingTopics", "initializedTopics"):
            for topic in value.get(name, ()):
                self.topic_names[topic["topicId"]] = topic["topicName"]

    def _learn_only_topic(self) -> None:
        """Take the name of the topic of all partitions if members subscribe to one only."""
        names = {name for member in self._members.values() for name in member.get("subscribedTopicNames", ())}
        if len(names) == 1 and not any(member.get("subscribedTopicRegex") for member in self._members.values()):
            for target in self._targets.values():
                for topic in target.get("topicPartitions", ()):
                    self.topic_names.setdefault(topic["topicId"], *names)

    # -- current and target assignment --

    def _compare(self, member_id: str, time: int) -> list[Row]:
        """Return the intervals that end because a member has, or is to have, something else."""
        number = self._epoch.number if self._epoch else self._target_epoch or 0
        name = self._names.get(member_id) or short_name(member_id)
        rows = list(self._tasks.update(member_id, name, self._share(member_id), number, time))
        if member_id in self._currents:
            if not self._has_target(member_id):
                self._pending.add(member_id)
            elif member_id in self._pending:
                self._pending.discard(member_id)
                self._note_completion(name, time)
        return rows

    def _share(self, member_id: str) -> Share:
        current, target = self._currents.get(member_id), self._targets.get(member_id)
        is_there = current is not None and current["memberEpoch"] >= 0
        return share(
            self._of_roles(current) if is_there else {},
            self._of_roles(current, "PendingRevocation") if is_there else {},
            None if target is None else self._of_roles(target),
        )

    def _of_roles(self, value: _Fields | None, suffix: str = "") -> Share:
        """Return the tasks in a record, by role; those of the fields with a suffix."""
        if value is None:
            return {}
        if self.type == STREAMS:
            return {role: _tasks(value, f"{name}{suffix}") for role, name in _TASK_FIELDS.items()}
        names = ("partitionsPendingRevocation",) if suffix else _PARTITION_FIELDS
        return {ACTIVE: frozenset(partition for name in names for partition in _partitions(value, name))}

    def _has_target(self, member_id: str) -> bool:
        current = self._currents.get(member_id)
        if current is None or current["memberEpoch"] != self._target_epoch:
            return False
        return is_complete(self._share(member_id))

    def _note_completion(self, name: str, time: int) -> None:
        epoch = self._epoch
        is_open = epoch is not None and epoch.number == self._target_epoch and epoch.complete_time is None
        if epoch is not None and is_open and not self._pending:
            epoch.complete_time, epoch.last_member = time, name

    def close(self, time: int | None = None) -> Iterator[Row]:
        """Yield the rows of ``tasks`` that are open, until a time; None: until the last record."""
        yield from self._tasks.close(time)

    # -- epochs --

    def complete(self) -> Generation | None:
        """Return the epoch that is open, with what is known of its assignment."""
        epoch = self._epoch
        if epoch is None:
            return None
        inputs = _input_topics(epoch)
        topics = tuple(sorted({*chain.from_iterable(inputs.values())}))
        members = {
            name: self._member(name, {"subscribedTopicNames": topics, **metadata}, epoch, inputs)
            for name, metadata in epoch.members.items()
        }
        is_assigned = epoch.assigned_time is not None
        pending = [members[name].name for name in members if not is_assigned or name in self._pending]
        state = self._state(epoch, is_pending=bool(pending))
        return Generation(
            group=self.group,
            type=self.type,
            number=epoch.number,
            offset=epoch.offset,
            time=epoch.time,
            protocol_type=self.type,
            protocol=_server_assignor(epoch),
            members=members,
            progress=EpochProgress(
                state=state,
                assigned_time=epoch.assigned_time,
                complete_time=epoch.complete_time,
                last_member=epoch.last_member,
                pending=tuple(sorted(pending)),
                topology_epoch=None if epoch.topology is None else epoch.topology["epoch"],
                topics_hash=epoch.metadata.get("metadataHash", 0),
                settings=_settings(epoch),
                describe=partial(self._describe, epoch, state),
            ),
        )

    def _state(self, epoch: _Epoch, *, is_pending: bool) -> str:
        """Return the state in which the epoch ended, as far as records show it. Java: ``StreamsGroupState``."""
        if not epoch.members:
            return EMPTY
        validated = epoch.metadata.get("validatedTopologyEpoch", _NOT_VALIDATED)
        # Early releases do not write which topology is validated: then the group has tasks.
        if self.type == STREAMS and validated == _NOT_VALIDATED and not any(map(_has_tasks, epoch.targets.values())):
            return NOT_READY
        if epoch.assigned_time is None:
            return ASSIGNING
        return RECONCILING if is_pending else STABLE

    def _member(
        self, member_id: str, metadata: _Fields, epoch: _Epoch, inputs: Mapping[str, tuple[str, ...]]
    ) -> GroupMember:
        """Return a member; ``inputs`` are the topics that the tasks of each subtopology read."""
        target = epoch.targets.get(member_id, {})
        is_streams = self.type == STREAMS
        instance_id = metadata.get("instanceId")
        roles = {role: frozenset(map(self._label, tasks)) for role, tasks in self._of_roles(target).items()}
        return GroupMember(
            name=instance_id or short_name(member_id),
            described=DescribedGroupMember(
                member_id=member_id,
                group_instance_id=instance_id,
                client_id=metadata["clientId"],
                host=metadata["clientHost"],
            ),
            subscription=SubscriptionSeen(),
            assignment=AssignmentSeen(),
            rebalance_timeout_ms=metadata.get("rebalanceTimeoutMs", 0),
            process_id=metadata.get("processId"),
            rack=metadata.get("rackId"),
            topics=tuple(metadata["subscribedTopicNames"]),
            active=roles[ACTIVE],
            task_partitions=_task_partitions(target, inputs) if is_streams else None,
            standby=frozenset[str]().union(*(tasks for role, tasks in roles.items() if role != ACTIVE)),
            has_tasks=is_streams,
            last_sign_of_life=self._alive.get(member_id, -1),
            epoch_facts=EpochFacts(
                end_point=_end_point(metadata),
                topology_epoch=metadata.get("topologyEpoch"),
                is_classic=metadata.get("classicMemberMetadata") is not None if self.type == CONSUMER else None,
                releases=streams_protocol_releases(is_static=instance_id is not None, sends_offsets=False)
                if is_streams
                else None,
            ),
        )

    def _label(self, task: Task) -> str:
        if isinstance(task, str):
            return task
        topic, partition = task
        return f"{self.topic_names.get(topic, topic)}-{partition}"

    # -- what a broker would have described --

    def _describe(self, epoch: _Epoch, state: str) -> DescribedGroup:
        """Return the group at the end of an epoch, as a broker would have described it, for the checks of ``group``."""
        return DescribedGroup(
            name=self.group,
            state=state,
            type=self.type,
            protocol_type=self.type,
            members=tuple(self._describe_member(name, metadata, epoch) for name, metadata in epoch.members.items()),
            partition_counts=_least_partitions(epoch),
            broker=BrokerGroup(
                epoch=epoch.number,
                assignment_epoch=self._target_epoch or 0 if epoch.assigned_time is None else epoch.number,
                topology=None if epoch.topology is None else _topology(epoch.topology),
                configs={f"{self.type}.{name}": setting for name, setting in (_settings(epoch) or {}).items()},
            ),
        )

    def _describe_member(self, member_id: str, metadata: _Fields, epoch: _Epoch) -> DescribedGroupMember:
        current, target = epoch.currents.get(member_id), epoch.targets.get(member_id)
        return DescribedGroupMember(
            member_id=member_id,
            group_instance_id=metadata.get("instanceId"),
            client_id=metadata["clientId"],
            host=metadata["clientHost"],
            broker_assignment=BrokerAssignment(
                epoch=None if current is None else current["memberEpoch"],
                current=self._assigned(current),
                target=self._assigned(target),
                is_classic=metadata.get("classicMemberMetadata") is not None,
                process_id=metadata.get("processId", ""),
                topology_epoch=metadata.get("topologyEpoch", 0),
                end_point=_end_point(metadata),
                client_tags={tag["key"]: tag["value"] for tag in metadata.get("clientTags", ())},
            ),
        )

    def _assigned(self, value: _Fields | None) -> Assigned:
        if self.type == STREAMS:
            fields = {role: (value or {}).get(name, ()) for role, name in _TASK_FIELDS.items()}
            tasks = {
                role: in_order(task_id(each["subtopologyId"], number) for each in rows for number in each["partitions"])
                for role, rows in fields.items()
            }
            return Assigned(active=tasks[ACTIVE], standby=tasks["standby"], warm_up=tasks["warm-up"])
        topics = (topic for name in _PARTITION_FIELDS for topic in (value or {}).get(name, ()))
        named = (
            TopicPartition(self.topic_names.get(topic["topicId"], topic["topicId"]), number)
            for topic in topics
            for number in topic["partitions"]
        )
        return Assigned(partitions=tuple(sorted(named)))


def _end_point(metadata: _Fields) -> str:
    end_point = metadata.get("userEndpoint")
    return f"{end_point['host']}:{end_point['port']}" if end_point else ""


def _settings(epoch: _Epoch) -> Mapping[str, str] | None:
    """Return the settings of the last assignment; None if the broker does not write them."""
    pairs = epoch.metadata.get("lastAssignmentConfigs")
    return None if pairs is None else {pair["key"]: pair["value"] for pair in pairs}


def _topology(topology: _Fields) -> DescribedTopology:
    return DescribedTopology(
        epoch=topology["epoch"],
        subtopologies=tuple(
            DescribedSubtopology(
                name=subtopology["subtopologyId"],
                source_topics=tuple(subtopology["sourceTopics"]),
                repartition_sink_topics=tuple(subtopology["repartitionSinkTopics"]),
                changelogs=tuple(InternalTopic(name=topic["name"]) for topic in subtopology["stateChangelogTopics"]),
                repartition_sources=tuple(
                    InternalTopic(name=topic["name"]) for topic in subtopology["repartitionSourceTopics"]
                ),
            )
            for subtopology in topology["subtopologies"]
        ),
    )


def _input_topics(epoch: _Epoch) -> Mapping[str, tuple[str, ...]]:
    """Return the topics that the tasks of each subtopology read."""
    topology = DescribedTopology() if epoch.topology is None else _topology(epoch.topology)
    return {subtopology.name: subtopology.input_topics for subtopology in topology.subtopologies}


def _task_partitions(target: _Fields, topics: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the partitions that active tasks read, as if all topics of a subtopology had equally many."""
    return frozenset(
        f"{topic}-{partition}"
        for tasks in target.get("activeTasks", ())
        for topic in topics.get(tasks["subtopologyId"], ())
        for partition in tasks["partitions"]
    )


def _least_partitions(epoch: _Epoch) -> Mapping[str, int]:
    """Return how many partitions the topics of a streams group have at least: as many as are active tasks of each."""
    numbers = Counter[str]()
    for target in epoch.targets.values():
        for tasks in target.get("activeTasks", ()):
            numbers[tasks["subtopologyId"]] += len(tasks["partitions"])
    return {topic: numbers[name] for name, topics in _input_topics(epoch).items() for topic in topics}


def _has_tasks(target: _Fields) -> bool:
    return bool(target.get("activeTasks"))


def _valid_texts(value: Any) -> Any:
    """Return the fields of a record with text that can be written."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, Mapping):
        return {name: _valid_texts(part) for name, part in value.items()}
    return [_valid_texts(part) for part in value] if isinstance(value, list | tuple) else value


def _server_assignor(epoch: _Epoch) -> str:
    return next((member["serverAssignor"] for member in epoch.members.values() if member.get("serverAssignor")), "")


def _tasks(value: _Fields, name: str) -> frozenset[Task]:
    rows = value.get(name, ())
    return frozenset(f"{tasks['subtopologyId']}_{partition}" for tasks in rows for partition in tasks["partitions"])


def _partitions(value: _Fields, name: str) -> frozenset[tuple[str, int]]:
    rows = value.get(name, ())
    return frozenset((topic["topicId"], partition) for topic in rows for partition in topic["partitions"])


def _put(values: dict[str, _Fields], key: str, value: _Fields | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
