"""The facts of checks beside the description of a group: partition counts, the record limit, the group's settings.

Facts that the user may not see are left out; that an answer is missing is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve
from kafka.errors import for_code

from streams_assignor.clients.kafka_python._private_api import DescribeConfigsRequest, MetadataRequest
from streams_assignor.clients.kafka_python.broker_connection import BrokerConnection
from streams_assignor.groups import DescribedGroup, topics_of, with_topic_metadata
from streams_assignor.groups.described_group import (
    CONSUMER,
    MAX_MESSAGE_BYTES_KEY,
    OFFSETS_TOPIC,
    SHARE,
    STREAMS,
    with_topic_names,
)
from streams_assignor.upgrade.cluster.client.connection import Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError, Unreachable
from streams_assignor.upgrade.group_configurations import CONSUMER_SETTINGS, GROUP_CONFIGURATIONS, MIGRATION_POLICY
from streams_assignor.upgrade.input_values import InvalidInput, parse_number

_TOPIC_RESOURCE: Final = 2  # DescribeConfigs' types of resources
_BROKER_RESOURCE: Final = 4
_GROUP_RESOURCE: Final = 32
_MISSING_TOPIC: Final = frozenset({3, 17})  # UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION
_SAID_OF_TOPICS: Final = _MISSING_TOPIC | {0, 29}  # TOPIC_AUTHORIZATION_FAILED
_GROUPS_PER_REQUEST: Final = 100
_WITH_CONFIGS: Final = (CONSUMER, STREAMS)
_WITH_PARTITIONS: Final = (CONSUMER, SHARE)


def with_facts(groups: Iterable[DescribedGroup], node: BrokerConnection, deadline: Deadline) -> list[DescribedGroup]:
    """Add partition counts, missing topics, the record limit and settings, as far as the user may describe them.

    Raises:
        ClusterError: The topics cannot be requested: without them a task without an owner would not be noticed.
    """
    described = list(groups)
    topics = set[str]().union(*map(topics_of, described))
    metadata = _topics(node, sorted(topics), deadline) if topics else ()
    counts = {topic.name: len(topic.partitions) for topic in metadata if not topic.error_code}
    missing = {topic.name for topic in metadata if topic.error_code in _MISSING_TOPIC}
    names = {str(topic.topic_id): topic.name for topic in metadata if topic.name in counts}
    described = [with_topic_names(group, names) if group.type in _WITH_PARTITIONS else group for group in described]
    configs = dict(_group_configs(node, [group for group in described if group.type in _WITH_CONFIGS], deadline))
    described = [
        evolve(group, broker=evolve(group.broker, configs=configs[group.name]))
        if group.broker and group.name in configs
        else group
        for group in described
    ]
    return with_topic_metadata(described, counts, _max_message_bytes(node, deadline), missing)


def group_settings(node: BrokerConnection, broker: int, deadline: Deadline) -> Mapping[str, str]:
    """Return the limits of configurations of groups and the policy of KIP-848 at a broker, if the user may see them."""
    rows = (*GROUP_CONFIGURATIONS, *CONSUMER_SETTINGS.values())
    names = {name for row in rows for name in (row.minimum_name, row.maximum_name) if name}
    results = _configs(node, _BROKER_RESOURCE, [str(broker)], sorted({*names, MIGRATION_POLICY}), deadline)
    return {config.name: config.value for result in results for config in result.configs if config.value is not None}


def offline_partitions(node: BrokerConnection, deadline: Deadline) -> Iterator[str]:
    """Report partitions of the offsets topic without a leader: no broker lists their groups.

    Nothing is reported if the user may not describe that topic.
    """
    try:
        topics = _topics(node, [OFFSETS_TOPIC], deadline)
    except ClusterError as error:
        yield f"whether all partitions of {OFFSETS_TOPIC} have a leader is not known: {error}"
        return
    leaders = [partition.leader_id for topic in topics for partition in topic.partitions]
    if offline := sum(leader < 0 for leader in leaders):
        yield f"{offline} of {len(leaders)} partitions of {OFFSETS_TOPIC} have no leader"


def _topics(node: BrokerConnection, names: Sequence[str], deadline: Deadline) -> Sequence[Any]:
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    answer = node.send(MetadataRequest, deadline, topics=wanted, allow_auto_topic_creation=False)
    for topic in answer.topics:
        if topic.error_code not in _SAID_OF_TOPICS:
            name = for_code(topic.error_code).message
            raise ApiError(topic.error_code, name, f"topic {topic.name}: {name}")
    if missing := set(names) - {topic.name for topic in answer.topics if topic.partitions or topic.error_code}:
        raise Unreachable(f"expected topic {min(missing)} in the answer to Metadata, got none")
    topics: Sequence[Any] = answer.topics
    return topics


def _max_message_bytes(node: BrokerConnection, deadline: Deadline) -> int | None:
    values = [
        config.value
        for result in _configs(node, _TOPIC_RESOURCE, [OFFSETS_TOPIC], [MAX_MESSAGE_BYTES_KEY], deadline)
        for config in result.configs
    ]
    return _number_of(values[0]) if values else None


def _number_of(value: str | None) -> int | None:
    try:
        return parse_number(value or "")
    except InvalidInput:
        return None


def _group_configs(
    node: BrokerConnection, groups: Sequence[DescribedGroup], deadline: Deadline
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the settings of each group that are about its type, with the broker's defaults."""
    types = {group.name: group.type for group in groups}
    names = list(types)
    for start in range(0, len(names), _GROUPS_PER_REQUEST):
        for result in _configs(node, _GROUP_RESOURCE, names[start : start + _GROUPS_PER_REQUEST], None, deadline):
            if (group_type := types.get(result.resource_name)) is not None:
                prefix = f"{group_type}."
                configs = {
                    config.name: config.value or "" for config in result.configs if config.name.startswith(prefix)
                }
                yield result.resource_name, configs


def _configs(
    node: BrokerConnection, resource_type: int, names: Sequence[str], keys: Sequence[str] | None, deadline: Deadline
) -> list[Any]:
    resources = [
        DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=resource_type, resource_name=name, configuration_keys=keys
        )
        for name in names
    ]
    try:
        answer = node.send(DescribeConfigsRequest, deadline, resources=resources)
    except ClusterError:
        return []
    return [result for result in answer.results if not result.error_code]
