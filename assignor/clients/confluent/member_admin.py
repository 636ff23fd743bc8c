"""The admin client of a member: one that connects when its member leads for the first time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from kafka.errors import KafkaError

from assignor.clients.kafka_python_admin import TIMEOUT_MS, KafkaPythonAdmin
from assignor.clients.looking_up import LookupFailed
from assignor.internal_topics import NewTopic
from subscription_codec import TopicPartition


class MemberAdmin:
    """An ``Admin`` (see ``clients.looking_up``) on a ``KafkaPythonAdmin`` with the member's own security settings."""

    def __init__(self, group: str, settings: Mapping[str, Any]) -> None:
        self._group = group
        self._settings = settings
        self._admin: KafkaPythonAdmin | None = None
        self._lock = Lock()

    def close(self) -> None:
        """Close the connections, if there are any."""
        with self._lock:
            if self._admin:
                self._admin.close()

    def partitions(self, topics: Iterable[str]) -> Mapping[str, int]:
        """See ``Admin``."""
        return self._connected().partitions(topics)

    def create(self, topics: Sequence[NewTopic]) -> None:
        """See ``Admin``."""
        self._connected().create(topics)

    def racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """See ``Admin``."""
        return self._connected().racks(topics)

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        return self._connected().ends(partitions)

    def committed(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        return self._connected().committed(partitions)

    def _connected(self) -> KafkaPythonAdmin:
        with self._lock:
            if self._admin is None:
                try:
                    self._admin = KafkaPythonAdmin(self._group, bootstrap_timeout_ms=TIMEOUT_MS, **self._settings)
                except KafkaError as error:
                    raise LookupFailed(f"{type(error).__name__}: {error}") from error
            return self._admin
