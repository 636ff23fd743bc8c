"""Describes groups as raw bytes through confluent-kafka, where kafka-python is not installed.

``AdminClient.list_groups`` is its only call that returns the bytes of members. It has neither instance ids nor types of
groups, leaves out the groups that the user may not describe, and fails if one broker does not answer. Therefore
``list_consumer_groups`` is called as well: it returns names, states and types, as far as brokers answer. Groups of
KIP-848 are described by ``describe_consumer_groups``, which has their members with current and target assignment, and
no epochs or subscriptions. A missing part is the ``error`` of a group.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from attrs import evolve, field, frozen

from streams_assignor.clients._interrupts import interruptible
from streams_assignor.codec import TopicPartition as Partition
from streams_assignor.formats.text import count
from streams_assignor.groups import (
    Assigned,
    BrokerAssignment,
    ClusterGroups,
    DescribedGroup,
    DescribedGroupMember,
    NoSuchGroup,
    topics_of,
    with_topic_metadata,
)
from streams_assignor.groups.described_group import (
    CONSUMER,
    DEAD,
    EMPTY,
    LOOKUP_TIMEOUT_SECONDS,
    MAX_MESSAGE_BYTES_KEY,
    OFFSETS_TOPIC,
    UNKNOWN_TYPE,
)
from streams_assignor.groups.offsets import ChangelogSizes, GroupOffsets, OffsetRequest
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable, unreachable
from streams_assignor.upgrade.cluster.client.node_address import node_address
from streams_assignor.upgrade.errors import quote_input
from streams_assignor.upgrade.extras import importing
from streams_assignor.upgrade.input_values import InvalidInput, parse_number
from streams_assignor.upgrade.redaction import hide

with importing("confluent_kafka"):
    from confluent_kafka import (
        Consumer,
        ConsumerGroupType,
        KafkaError,
        KafkaException,
        TopicPartition,
    )
    from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType  # type: ignore[attr-defined]  # has both

    from streams_assignor.clients.confluent import _private_api

_SHORTEST_CALL: Final = 0.1  # librdkafka refuses a time limit of 0
_STATES: Final[Mapping[str, str]] = {
    # name in confluent-kafka: name in Kafka
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "UNKNOWN": "",
}

_LIBRDKAFKA_KEYS: Final[Mapping[str, str]] = {
    # name in kafka-python, as in a ``CommandConfig``: name in librdkafka
    "client_id": "client.id",
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanisms",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
    "sasl_kerberos_service_name": "sasl.kerberos.service.name",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_password": "ssl.key.password",
}


_OF_NO_TOPIC: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION, KafkaError.TOPIC_AUTHORIZATION_FAILED}
)
"""Errors of a topic that does not exist, or that the user may not see; another one is no answer."""
_MOVED: Final = frozenset({KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE})
_REMEDY: Final = "use --client kafka-python"
_OTHER_TYPE: Final = (
    "confluent-kafka cannot tell whether this is a streams group (KIP-1071) or a share group (KIP-932), and shows no "
    f"members of either: {_REMEDY}"
)
_NOT_SHOWN: Final = (
    "confluent-kafka shows neither the epochs nor the subscribed topics of a consumer group (KIP-848), nor which "
    f"members are classic: {_REMEDY}"
)
_UNNAMED: Final = (
    "the broker describes topics by ids without names; confluent-kafka shows no partitions then, and neither epochs "
    f"nor subscribed topics of a consumer group (KIP-848): {_REMEDY}"
)


_T = TypeVar("_T")


@frozen
class GroupLookup:
    """Describes the groups of one cluster, as ``GroupLookup`` of kafka-python does, with its settings."""

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    timeout_seconds: float = LOOKUP_TIMEOUT_SECONDS

    def group(self, name: str) -> DescribedGroup:
        """Return a group, with the partition counts of its topics and the limit of its record; ``NoSuchGroup``."""
        return self._interruptible(lambda admin: self._group(admin, name))

    def groups(self) -> ClusterGroups:
        """Return all groups of the cluster that the user may list, as far as brokers answer, sorted by name."""
        return self._interruptible(self._groups)

    def names(self) -> tuple[str, ...]:
        """Return the names of the groups that the user may list, as far as brokers answer."""
        return self._interruptible(lambda admin: tuple(group.name for group in self._overview(admin).groups))

    def _interruptible(self, call: Callable[[_RecordingAdminClient], _T]) -> _T:
        """Call with a client; a signal ends the call, and an answer that is not readable is ``Unreachable``."""

        def called() -> _T:
            with readable_answers(self.bootstrap_servers):
                return call(self._admin())

        return interruptible(called)

    def _group(self, admin: _RecordingAdminClient, name: str) -> DescribedGroup:
        as_classic = [group for group in self._list_groups(admin, name) if group.name == name]
        is_classic = any(member.subscription for group in as_classic for member in group.members)
        listed = () if is_classic else [group for group in self._overview(admin).groups if group.name == name]
        for group in self._described(admin, listed, as_classic):
            return self._with_topic_metadata([group], admin)[0]
        self._check_allowed(admin, name)
        raise NoSuchGroup(
            f"no group {name!r} at {self.bootstrap_servers} that the user may describe and confluent-kafka can show"
        )

    def _check_allowed(self, admin: _RecordingAdminClient, name: str) -> None:
        """Raise that this user may not describe a group: it is left out of lists, as one that does not exist."""
        (answer,) = admin.describe_consumer_groups([name], request_timeout=self.timeout_seconds / 2).values()
        try:
            answer.result(self.timeout_seconds)
        except KafkaException as error:
            if error.args and error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                code = error.args[0]
                raise ApiError(code.code(), code.name(), code.str()) from None
        except TimeoutError as error:
            raise Unreachable(f"{self.bootstrap_servers}: {_error_text(error)}") from None

    def _groups(self, admin: _RecordingAdminClient) -> ClusterGroups:
        overview = self._overview(admin)
        failures = overview.failures
        try:
            as_classic = self._list_groups(admin)
        except Unreachable as error:
            if not overview.groups:
                raise
            as_classic, failures = [], (*failures, str(error))  # one broker is enough
        groups = self._described(admin, overview.groups, as_classic)
        try:
            groups = self._with_topic_metadata(groups, admin)
        except Unreachable as error:
            failures = (*failures, f"the topics of the groups are not known: {error}")
        return ClusterGroups(groups=tuple(groups), failures=failures)

    def _described(
        self, admin: _RecordingAdminClient, listed: Sequence[DescribedGroup], as_classic: Sequence[DescribedGroup]
    ) -> list[DescribedGroup]:
        """Return groups as those of their type, sorted by name.

        Args:
            admin: The client.
            listed: Groups with their types, without those of KIP-1071, KIP-932 and of brokers that did not answer.
            as_classic: Groups as DescribeGroups describes them; what it says of other types depends on the broker.
        """
        overview = {group.name: group for group in listed}
        classic = {**overview, **{group.name: group for group in as_classic}}
        consumers = self._consumer_groups(
            admin, [name for name, group in classic.items() if _may_be_consumers(overview.get(name), group)]
        )
        return [_of_its_type(overview.get(name), group, consumers.get(name)) for name, group in sorted(classic.items())]

    def offsets(
        self, requests: Sequence[OffsetRequest], report: Callable[[str], object] = lambda _line: None
    ) -> Mapping[str, GroupOffsets]:
        """Return committed and end offsets of groups, by name, as far as brokers answer; one request for each group."""
        try:
            return self._interruptible(lambda admin: self._offsets(admin, requests, report))
        except Unreachable as error:
            return {request.group: GroupOffsets(failures=(str(error),)) for request in requests}

    def changelog_sizes(self, group: str, report: Callable[[str], object] = lambda _line: None) -> ChangelogSizes:  # noqa: ARG002 - as kafka-python's
        """Return that sizes are not known: librdkafka has no DescribeLogDirs."""
        return ChangelogSizes(failures=(f"confluent-kafka cannot ask for sizes of partitions: {_REMEDY}",))

    def _offsets(
        self, admin: _RecordingAdminClient, requests: Sequence[OffsetRequest], report: Callable[[str], object]
    ) -> Mapping[str, GroupOffsets]:
        report(f"committed offsets: {count(len(requests), 'group')}")
        if not requests:
            return {}
        deadline, committed = time.monotonic() + self.timeout_seconds, dict[str, GroupOffsets]()
        there, failures = self._partitions(admin, deadline)
        for request in requests:
            offsets = self._committed(request.group, request.partitions | there, deadline)
            committed[request.group] = evolve(offsets, failures=(*offsets.failures, *failures))
        wanted = {request.group: {*request.partitions, *committed[request.group].committed} for request in requests}
        for request in requests:
            if request.reads_changelogs:
                wanted[request.group].update(each for each in there if request.is_changelog(each.topic))
        partitions = set[Partition]().union(*wanted.values())
        report(f"end offsets: {count(len(partitions), 'partition')}")
        ends, not_told = self._ends(admin, partitions, deadline)
        return {
            group: evolve(
                offsets,
                ends={partition: ends[partition] for partition in wanted[group] if partition in ends},
                failures=(*offsets.failures, *not_told),
            )
            for group, offsets in committed.items()
        }

    def _partitions(
        self, admin: _RecordingAdminClient, deadline: float
    ) -> tuple[frozenset[Partition], tuple[str, ...]]:
        """Return the partitions of all topics, or why they are not known."""
        try:
            topics = admin.list_topics(timeout=_left(deadline) / 3).topics
        except KafkaException as error:
            return frozenset(), (f"partitions of topics: {_error_text(error)}",)
        return frozenset(Partition(name, number) for name, topic in topics.items() for number in topic.partitions), ()

    def _committed(self, group: str, partitions: Iterable[Partition], deadline: float) -> GroupOffsets:
        """Return what a group has committed, of these partitions.

        ``AdminClient.list_consumer_group_offsets`` needs none, and ends the process if the coordinator has moved.
        """
        asked = [TopicPartition(*partition) for partition in sorted(partitions) if _may_be_there(partition)]
        try:
            listed = self._asked_of_coordinator(group, asked, time.monotonic() + _left(deadline) / 2) if asked else []
        except KafkaException as error:
            return GroupOffsets(failures=(f"committed offsets: {_error_text(error)}",))
        return GroupOffsets(
            committed={
                Partition(partition.topic, partition.partition): partition.offset
                for partition in listed
                if partition.offset >= 0
            },
            failures=tuple(
                dict.fromkeys(
                    f"{partition.topic}: {_error_text(partition.error)}" for partition in listed if partition.error
                )
            ),
        )

    def _asked_of_coordinator(self, group: str, asked: list[TopicPartition], until: float) -> list[TopicPartition]:
        consumer = self._consumer(group)
        try:
            while True:
                try:
                    return consumer.committed(asked, timeout=_left(until))
                except KafkaException as error:
                    if error.args[0].code() not in _MOVED or time.monotonic() > until:
                        raise
                time.sleep(_SHORTEST_CALL)
        finally:
            consumer.close()

    def _consumer(self, group: str) -> Consumer:
        """Return a consumer that never joins the group."""
        config = {"bootstrap.servers": self.bootstrap_servers, "group.id": group, "enable.auto.commit": False}
        return Consumer({**config, **librdkafka_config(self.settings)}, logger=silent_logger())

    def _ends(
        self, admin: _RecordingAdminClient, partitions: Iterable[Partition], deadline: float
    ) -> tuple[dict[Partition, int], tuple[str, ...]]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the library declares no type
        ends, seconds = dict[Partition, int](), _left(deadline)
        impossible = sorted(partition for partition in partitions if not _may_be_there(partition))
        failures = [
            f"end offset of {quote_input(topic)}, partition {number}: no such topic" for topic, number in impossible
        ]
        asked = {TopicPartition(*partition): latest for partition in partitions if _may_be_there(partition)}
        if not asked:
            return {}, tuple(failures)
        for partition, answer in admin.list_offsets(asked, request_timeout=seconds).items():
            try:
                ends[Partition(partition.topic, partition.partition)] = answer.result(seconds).offset
            except (KafkaException, TimeoutError) as error:
                failures.append(f"end offset of {partition.topic}: {_error_text(error)}")
        return ends, tuple(dict.fromkeys(failures))

    def _overview(self, admin: _RecordingAdminClient) -> ClusterGroups:
        """Return what brokers list: each group with the error that it is not described, unless it is empty."""
        try:
            # A broker without an answer delays the result until the request times out.
            future = admin.list_consumer_groups(request_timeout=self.timeout_seconds / 2)
            answer = future.result(self.timeout_seconds)
        except (KafkaException, TimeoutError) as error:
            return ClusterGroups(failures=(f"{self.bootstrap_servers}: {_error_text(error)}",))
        return ClusterGroups(
            groups=tuple(_listed_group(group) for group in answer.valid),
            failures=tuple(f"a broker of {self.bootstrap_servers}: {_error_text(error)}" for error in answer.errors),
        )

    def _consumer_groups(self, admin: _RecordingAdminClient, names: Sequence[str]) -> dict[str, DescribedGroup]:
        """Describe those of the groups that are of KIP-848; one that a coordinator does not describe has an error."""
        described = dict[str, DescribedGroup]()
        if not names:
            return described
        seconds = self.timeout_seconds / 2
        for name, answer in admin.describe_consumer_groups([*names], request_timeout=seconds).items():
            try:
                group = answer.result(self.timeout_seconds)
            except (KafkaException, TimeoutError) as error:
                described[name] = DescribedGroup(name=name, state="", type=CONSUMER, error=_error_text(error))
                continue
            if group.type is ConsumerGroupType.CONSUMER:
                described[name] = _described_consumer_group(group)
        return described

    def _admin(self) -> _RecordingAdminClient:
        try:
            return _RecordingAdminClient(
                {"bootstrap.servers": self.bootstrap_servers, **librdkafka_config(self.settings)}
            )
        except KafkaException as error:
            raise unreachable(self.bootstrap_servers, error.args[0].str()) from None

    def _list_groups(self, admin: _RecordingAdminClient, *name: str) -> list[DescribedGroup]:
        try:
            groups = _private_api.list_groups(admin, *name, timeout_seconds=self.timeout_seconds)
            return [_described_group(group) for group in groups]
        except KafkaException as error:
            raise unreachable(self.bootstrap_servers, admin.first_error() or error.args[0].str()) from None

    def _with_topic_metadata(
        self, groups: Iterable[DescribedGroup], admin: _RecordingAdminClient
    ) -> list[DescribedGroup]:
        try:
            topics = admin.list_topics(timeout=self.timeout_seconds).topics
        except KafkaException as error:
            # Without them a task without an owner would not be noticed.
            raise Unreachable(f"{self.bootstrap_servers}: {admin.first_error() or error.args[0].str()}") from None
        described = list(groups)
        for name in sorted(set[str]().union(*map(topics_of, described)) & topics.keys()):
            refused = topics[name].error
            if refused is None and not topics[name].partitions:
                raise Unreachable(f"{self.bootstrap_servers}: topic {name}: expected its partitions, got none")
            if refused is not None and refused.code() not in _OF_NO_TOPIC:
                raise Unreachable(f"{self.bootstrap_servers}: topic {name}: {_error_text(refused)}")
        counts = {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}
        return with_topic_metadata(described, counts, self._max_message_bytes(admin))

    def _max_message_bytes(self, admin: _RecordingAdminClient) -> int | None:
        resource = ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC)
        try:
            (answer,) = admin.describe_configs([resource], request_timeout=self.timeout_seconds).values()
            configured = answer.result(self.timeout_seconds).get(MAX_MESSAGE_BYTES_KEY)
            return parse_number(str(configured.value)) if configured else None
        except (KafkaException, TimeoutError, InvalidInput):
            return None


@contextmanager
def readable_answers(servers: str) -> Iterator[None]:
    """Turn what confluent-kafka raises of bytes that are no text, which librdkafka passes on, into ``Unreachable``."""
    try:
        yield
    except UnicodeDecodeError as error:
        expected = "expected an answer of a Kafka broker, got one that confluent-kafka cannot read"
        raise Unreachable(f"{servers}: {expected} ({error})") from None


class _RecordingAdminClient(AdminClient):
    """Stores the connection errors, because a call only raises that its time is over."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._errors: list[KafkaError] = []
        recording: dict[str, Any] = {**config, "error_cb": self._errors.append}
        super().__init__(recording, logger=silent_logger())

    def first_error(self) -> str:
        """Return the text of the first error that states a reason; empty if there is none."""
        self.poll(0)
        return next((error.str() for error in self._errors if error.code() != KafkaError._ALL_BROKERS_DOWN), "")


def _left(deadline: float) -> float:
    return max(_SHORTEST_CALL, deadline - time.monotonic())


def _error_text(error: Any) -> str:
    """Return the text of an error of confluent-kafka, alone or in an exception, or that the time is over."""
    kafka_error = error if isinstance(error, KafkaError) else next(iter(error.args), None)
    return hide(kafka_error.str()) if isinstance(kafka_error, KafkaError) else "no answer in time"


def _state_name(state: Any) -> str:
    """Return Kafka's name of a state; empty for Assigning and Reconciling, which the library lacks."""
    return _STATES.get(state.name, state.name.title().replace("_", ""))


def _may_be_there(partition: Partition) -> bool:
    """Whether a topic can have a partition; the library raises ``ValueError`` when it is asked for another one."""
    return bool(partition.topic) and partition.topic.isprintable() and partition.partition >= 0


def _listed_group(group: Any) -> DescribedGroup:
    state = _state_name(group.state)
    group_type = group.type.name.lower()
    hidden = "" if state in (EMPTY, DEAD) else f"confluent-kafka shows no members of this {group_type} group: {_REMEDY}"
    return DescribedGroup(name=group.group_id, state=state, type=group_type, error=hidden)


def _may_be_consumers(listed: DescribedGroup | None, as_classic: DescribedGroup) -> bool:
    """Whether a group may be one of KIP-848. Brokers before 3.8 list no types.

    librdkafka leaves out of its list the groups of types that it does not know.
    """
    if listed is not None and listed.type != UNKNOWN_TYPE:
        return listed.type == CONSUMER
    return not as_classic.members and as_classic.state != EMPTY


def _of_its_type(
    listed: DescribedGroup | None, as_classic: DescribedGroup, as_consumer: DescribedGroup | None
) -> DescribedGroup:
    """Return the description that fits the type of a group; without one, the group as it is listed, with the reason."""
    if as_consumer is not None and not as_consumer.hides_members:
        return as_consumer
    if listed is not None and listed.type == CONSUMER:
        return evolve(listed, error=as_consumer.error) if as_consumer else listed
    if as_classic.error or as_classic.state not in ("", DEAD):
        return evolve(as_classic, state=as_classic.state or (listed.state if listed else ""))
    return listed or evolve(as_classic, state="", type=UNKNOWN_TYPE, error=_OTHER_TYPE)


def _described_consumer_group(group: Any) -> DescribedGroup:
    state = _state_name(group.state)
    return DescribedGroup(
        name=group.group_id,
        state=state,
        type=CONSUMER,
        protocol_type=CONSUMER,
        protocol=group.partition_assignor or "",
        coordinator=node_address(group.coordinator),
        error="" if state in (EMPTY, DEAD) else _UNNAMED if _has_unnamed_partitions(group) else _NOT_SHOWN,
        members=tuple(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id or None,
                client_id=member.client_id,
                host=member.host,
                broker_assignment=BrokerAssignment(
                    epoch=None,
                    is_classic=None,
                    current=_partitions(member.assignment),
                    target=_partitions(member.target_assignment) if member.target_assignment else None,
                ),
            )
            for member in group.members
        ),
    )


def _has_unnamed_partitions(group: Any) -> bool:
    """Whether topics have no names: a broker of another make describes them by ids, which librdkafka drops."""
    assignments = (each for member in group.members for each in (member.assignment, member.target_assignment) if each)
    return any(not partition.topic for assignment in assignments for partition in assignment.topic_partitions)


def _partitions(assignment: Any) -> Assigned:
    partitions = (
        Partition(partition.topic, partition.partition) for partition in assignment.topic_partitions if partition.topic
    )
    return Assigned(partitions=tuple(sorted(partitions)))


def _described_group(group: Any) -> DescribedGroup:
    return DescribedGroup(
        name=group.id,
        error="" if group.error is None else f"{group.error.name()}: {hide(group.error.str())}",
        state=group.state,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        coordinator=node_address(group.broker),
        members=tuple(
            DescribedGroupMember(
                member_id=member.id,
                client_id=member.client_id,
                host=member.client_host,
                subscription=member.metadata or b"",
                assignment=member.assignment or b"",
            )
            for member in group.members
        ),
    )


def librdkafka_config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of kafka-python, as in a ``CommandConfig``, as those of librdkafka.

    Raises:
        Unreachable: librdkafka does not have the SASL mechanism.
    """
    if settings.get("sasl_mechanism") == "AWS_MSK_IAM":
        raise Unreachable("librdkafka does not have the SASL mechanism AWS_MSK_IAM; kafka-python has")
    config = {_LIBRDKAFKA_KEYS[name]: value for name, value in settings.items() if name in _LIBRDKAFKA_KEYS}
    if settings.get("ssl_check_hostname") is False:
        config["ssl.endpoint.identification.algorithm"] = "none"
    if "ssl_certfile" in settings:
        config["ssl.key.location"] = settings["ssl_certfile"]  # a PEM key store has both
    if oauth := settings.get("oauth"):
        config |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": oauth.endpoint,
            "sasl.oauthbearer.client.id": oauth.client_id,
            "sasl.oauthbearer.client.secret": oauth.client_secret,
            **({"sasl.oauthbearer.scope": oauth.scope} if oauth.scope else {}),
        }
    return config


def silent_logger() -> logging.Logger:
    """Return a logger that drops librdkafka's lines, as errors arrive as exceptions, unless it has a handler."""
    logger = logging.getLogger("streams_assignor.librdkafka")
    if not logger.handlers:
        logger.setLevel(logging.CRITICAL)
    return logger
