"""Describes groups as raw bytes through confluent-kafka, where kafka-python is not installed.

``AdminClient.list_groups`` is its only call that returns the bytes of members. It has neither instance ids nor types of
groups, leaves out the groups that the user may not describe, and fails if one broker does not answer. Therefore
``list_consumer_groups`` is called as well: it returns names, states and types, as far as brokers answer. A group that
only the second call returns has an ``error``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from attrs import evolve, field, frozen

from assignor.clients import naming_the_extra
from assignor.clients._interrupts import interruptible
from assignor.inspect import ClusterGroups, DescribedGroup, DescribedGroupMember, NoSuchGroup, with_topic_metadata
from assignor.inspect.described_group import (
    CLASSIC,
    DEAD,
    EMPTY,
    LOOKUP_TIMEOUT_SECONDS,
    MAX_MESSAGE_BYTES_KEY,
    OFFSETS_TOPIC,
)
from upgrade.features.client.errors import Unreachable, unreachable
from upgrade.features.client.node_address import node_address
from upgrade.input_values import InvalidInput, parse_number
from upgrade.redaction import hide

with naming_the_extra("confluent"):
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]  # has both

    from assignor.clients.confluent import _private_api

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


@frozen
class GroupLookup:
    """Describes the groups of one cluster, as ``kafka_python.describe_groups.GroupLookup`` does, with its settings."""

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    timeout_seconds: float = LOOKUP_TIMEOUT_SECONDS

    def group(self, name: str) -> DescribedGroup:
        """Return a group, with the partition counts of its topics and the limit of its record; ``NoSuchGroup``."""
        return interruptible(partial(self._group, name))

    def groups(self) -> ClusterGroups:
        """Return all groups of the cluster that the user may list, as far as brokers answer, sorted by name."""
        return interruptible(self._groups)

    def names(self) -> tuple[str, ...]:
        """Return the names of the groups that the user may list, as far as brokers answer."""
        return interruptible(lambda: tuple(group.name for group in self._overview(self._admin()).groups))

    def _group(self, name: str) -> DescribedGroup:
        admin = self._admin()
        found = [group for group in self._list_groups(admin, name) if group.name == name]
        for group in found:
            if group.state not in ("", DEAD):
                return self._with_topic_metadata([group], admin)[0]
        for group in self._overview(admin).groups:  # such as one of KIP-848, which the first call describes as dead
            if group.name == name and group.state != DEAD:
                return self._with_topic_metadata([group], admin)[0]
        raise NoSuchGroup(
            f"no group {name!r} at {self.bootstrap_servers} that the user may describe and confluent-kafka can show"
        )

    def _groups(self) -> ClusterGroups:
        admin = self._admin()
        overview = self._overview(admin)
        try:
            described = {group.name: group for group in map(_visible, self._list_groups(admin))}
        except Unreachable as error:
            if not overview.groups:
                raise
            described = {}  # one broker is enough
            overview = evolve(overview, failures=(*overview.failures, str(error)))
        names = {group.name for group in overview.groups}
        found = [
            *(_merged(group, described.get(group.name)) for group in overview.groups),
            # Among these are groups of KIP-1071, which the overview does not have.
            *(group for name, group in described.items() if name not in names),
        ]
        groups, failures = sorted(found, key=lambda group: group.name), overview.failures
        try:
            groups = self._with_topic_metadata(groups, admin)
        except Unreachable as error:
            failures = (*failures, f"the topics of the groups are not known: {error}")
        return ClusterGroups(groups=tuple(groups), failures=failures)

    def _overview(self, admin: _RecordingAdminClient) -> ClusterGroups:
        """Return what brokers list: each group with the error that it is not described, unless it is empty."""
        try:
            # A broker without an answer delays the result until the request times out.
            found = admin.list_consumer_groups(request_timeout=self.timeout_seconds / 2)
            answer = found.result(self.timeout_seconds)
        except (KafkaException, TimeoutError) as error:
            return ClusterGroups(failures=(f"{self.bootstrap_servers}: {_error_text(error)}",))
        return ClusterGroups(
            groups=tuple(_listed_group(each) for each in answer.valid),
            failures=tuple(f"a broker of {self.bootstrap_servers}: {_error_text(each)}" for each in answer.errors),
        )

    def _admin(self) -> _RecordingAdminClient:
        try:
            return _RecordingAdminClient(
                {"bootstrap.servers": self.bootstrap_servers, **librdkafka_config(self.settings)}
            )
        except KafkaException as error:
            raise unreachable(self.bootstrap_servers, error.args[0].str()) from None

    def _list_groups(self, admin: _RecordingAdminClient, *name: str) -> list[DescribedGroup]:
        try:
            found = _private_api.list_groups(admin, *name, timeout_seconds=self.timeout_seconds)
            return [_described_group(each) for each in found]
        except KafkaException as error:
            raise unreachable(self.bootstrap_servers, admin.first_error() or error.args[0].str()) from None

    def _with_topic_metadata(
        self, groups: Iterable[DescribedGroup], admin: _RecordingAdminClient
    ) -> list[DescribedGroup]:
        try:
            known = admin.list_topics(timeout=self.timeout_seconds).topics
        except KafkaException as error:
            # Without them a task without an owner would not be noticed.
            raise Unreachable(f"{self.bootstrap_servers}: {admin.first_error() or error.args[0].str()}") from None
        counts = {name: len(topic.partitions) for name, topic in known.items() if topic.error is None}
        return with_topic_metadata(groups, counts, self._max_message_bytes(admin))

    def _max_message_bytes(self, admin: _RecordingAdminClient) -> int | None:
        resource = ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC)
        try:
            (answer,) = admin.describe_configs([resource], request_timeout=self.timeout_seconds).values()
            configured = answer.result(self.timeout_seconds).get(MAX_MESSAGE_BYTES_KEY)
            return parse_number(str(configured.value)) if configured else None
        except (KafkaException, TimeoutError, InvalidInput):
            return None


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


def _error_text(error: Any) -> str:
    """Return the text of an error of confluent-kafka, alone or in an exception, or that the time is over."""
    found = error if isinstance(error, KafkaError) else next(iter(error.args), None)
    return hide(found.str()) if isinstance(found, KafkaError) else "no answer in time"


def _listed_group(found: Any) -> DescribedGroup:
    state = _STATES.get(found.state.name, found.state.name.title().replace("_", ""))
    group_type = found.type.name.lower() if found.type.name != "UNKNOWN" else CLASSIC
    error = "" if state in (EMPTY, DEAD) else f"confluent-kafka shows no members of this {group_type} group"
    return DescribedGroup(name=found.group_id, state=state, type=group_type, error=error)


def _merged(listed: DescribedGroup, described: DescribedGroup | None) -> DescribedGroup:
    """Return a classic group as it is described; a listed group with an error has the state of the list."""
    if described is None or listed.type != CLASSIC:
        return listed
    return evolve(listed, error=described.error) if described.error else described


def _visible(group: DescribedGroup) -> DescribedGroup:
    """Give a group that is described as dead an error: librdkafka describes every group as a classic one."""
    if group.error or group.state not in ("", DEAD):
        return group
    return evolve(group, error="confluent-kafka describes it as dead, as it does with groups of newer types")


def _described_group(found: Any) -> DescribedGroup:
    return DescribedGroup(
        name=found.id,
        error="" if found.error is None else f"{found.error.name()}: {hide(found.error.str())}",
        state=found.state,
        protocol_type=found.protocol_type,
        protocol=found.protocol,
        coordinator=node_address(found.broker),
        members=tuple(
            DescribedGroupMember(
                member_id=each.id,
                client_id=each.client_id,
                host=each.client_host,
                subscription=each.metadata or b"",
                assignment=each.assignment or b"",
            )
            for each in found.members
        ),
    )


def librdkafka_config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of kafka-python, as in a ``CommandConfig``, as those of librdkafka."""
    found = {_LIBRDKAFKA_KEYS[name]: value for name, value in settings.items() if name in _LIBRDKAFKA_KEYS}
    if settings.get("ssl_check_hostname") is False:
        found["ssl.endpoint.identification.algorithm"] = "none"
    if "ssl_certfile" in settings:
        found["ssl.key.location"] = settings["ssl_certfile"]  # a PEM key store has both
    return found


def silent_logger() -> logging.Logger:
    """Return a logger that drops librdkafka's lines: errors arrive as exceptions."""
    logger = logging.getLogger("streams-assignor.librdkafka")
    logger.setLevel(logging.CRITICAL)
    return logger
