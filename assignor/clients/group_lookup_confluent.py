"""confluent-kafka: groups as raw bytes, where kafka-python is not installed; the second choice.

``AdminClient.list_groups`` is the only call of it that shows bytes, and it is deprecated: what is to replace it drops
the metadata of members. It knows neither instance ids nor types of groups, and leaves out what one may not see.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]  # it has both

from assignor.inspect import NoSuchGroup, RawGroup, RawMember, topics_of
from assignor.inspect.raw import DEAD, LIMIT_KEY, OFFSETS_TOPIC, SECONDS
from upgrade.features.rpc import Refused, Unreachable

_NAMES: Final[Mapping[str, str]] = {
    # kafka-python's, which are those of a ``CommandConfig``: librdkafka's
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
    """Where to ask; the same as ``group_lookup.GroupLookup``, with the settings of that one."""

    bootstrap: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    seconds: float = SECONDS

    def group(self, name: str) -> RawGroup:
        """Look a group up, with the partitions of its topics and the limit of its size; ``NoSuchGroup``."""
        admin = self._admin()
        for found in self._listed(admin, name):
            if found.name == name and found.state not in ("", DEAD):
                return self._with_surroundings([found], admin)[0]
        raise NoSuchGroup(f"no group {name!r} at {self.bootstrap} that one may see and confluent-kafka can show")

    def groups(self) -> list[RawGroup]:
        """Look up all groups of the cluster that one may see, sorted by name."""
        admin = self._admin()
        return self._with_surroundings(sorted(self._listed(admin), key=lambda group: group.name), admin)

    def _admin(self) -> _Admin:
        try:
            return _Admin({"bootstrap.servers": self.bootstrap, **_translated(self.settings)})
        except KafkaException as error:
            raise Unreachable(f"{self.bootstrap}: {error.args[0].str()}") from None

    def _listed(self, admin: _Admin, *name: str) -> list[RawGroup]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                return [_group(found) for found in admin.list_groups(*name, timeout=self.seconds)]
        except KafkaException as error:
            raise Unreachable(f"{self.bootstrap}: {admin.why() or error.args[0].str()}") from None

    def _with_surroundings(self, groups: Iterable[RawGroup], admin: _Admin) -> list[RawGroup]:
        found = list(groups)
        try:
            known = admin.list_topics(timeout=self.seconds).topics
        except KafkaException:
            known = {}
        sizes = {name: len(topic.partitions) for name, topic in known.items() if topic.error is None}
        limit = self._limit(admin)
        return [
            evolve(
                group,
                limit=limit,
                partitions={each: sizes[each] for each in topics_of(group.members) if each in sizes},
            )
            for group in found
        ]

    def _limit(self, admin: _Admin) -> int | None:
        resource = ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC)
        try:
            (answer,) = admin.describe_configs([resource], request_timeout=self.seconds).values()
            return int(answer.result(self.seconds)[LIMIT_KEY].value)
        except (KafkaException, TimeoutError):
            return None


class _Admin(AdminClient):
    """One that remembers why it gets no connection: what a call raises is only that the time is over."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._heard: list[KafkaError] = []
        listening: dict[str, Any] = {**config, "error_cb": self._heard.append}
        super().__init__(listening, logger=_silent())

    def why(self) -> str:
        """Return the first thing it has heard that says why, or nothing."""
        self.poll(0)
        return next((error.str() for error in self._heard if error.code() != KafkaError._ALL_BROKERS_DOWN), "")


def _group(found: Any) -> RawGroup:
    if found.error is not None:
        raise Refused(found.error.code(), found.error.name(), found.error.str())
    return RawGroup(
        name=found.id,
        state=found.state,
        protocol_type=found.protocol_type,
        protocol=found.protocol,
        members=tuple(
            RawMember(
                member_id=each.id,
                client_id=each.client_id,
                host=each.client_host,
                subscription=each.metadata or b"",
                assignment=each.assignment or b"",
            )
            for each in found.members
        ),
    )


def _translated(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {_NAMES[name]: value for name, value in settings.items() if name in _NAMES}
    if settings.get("ssl_check_hostname") is False:
        found["ssl.endpoint.identification.algorithm"] = "none"
    if "ssl_certfile" in settings:
        found["ssl.key.location"] = settings["ssl_certfile"]  # a PEM key store has both
    return found


def _silent() -> logging.Logger:
    """Return where librdkafka's log lines end: what matters arrives as an exception."""
    logger = logging.getLogger("streams-assignor.librdkafka")
    logger.setLevel(logging.CRITICAL)
    return logger
