"""Makes the membership of a streams group of the settings of a ``StreamsConsumer``."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID, uuid4

from streams_assignor.clients.confluent._settings import ConsumerSettings, ignored_setting
from streams_assignor.clients.confluent.streams_protocol._membership import StreamsMembership
from streams_assignor.clients.kafka_python.group_coordinator import GroupCoordinator
from streams_assignor.observability import event_log
from streams_assignor.observability.events import Observer, combine_observers
from streams_assignor.rebalance_listener import TaskRebalanceListener
from streams_assignor.streams_group import MemberProfile, StreamsGroupMember, topology_fields
from streams_assignor.topology import Topology
from streams_assignor.upgrade import OURS, ConfigException, StreamsConfig

log = logging.getLogger(__name__)

_MAX_PORT: Final = 0xFFFF  # of the field in the heartbeat; a classic group has ports up to 2^31 - 1


def new_streams_membership(
    settings: ConsumerSettings,
    topology: Topology,
    listener: TaskRebalanceListener,
    *,
    process_id: UUID | None,
    observer: Observer | None,
    without_effect: Iterable[str],
    **common: Any,
) -> StreamsMembership:
    """Return the membership of a consumer with these settings; ``without_effect``: arguments to warn of."""
    config = settings.streams_config
    ignored = [*map(ignored_setting, settings.ignored), *without_effect]
    if ignored:
        log.warning(
            "group %s: the streams protocol ignores %s, as the brokers assign", settings.group_id, ", ".join(ignored)
        )
    profile = MemberProfile(
        group_id=settings.group_id,
        member_id=str(uuid4()),
        process_id=str(process_id or uuid4()),
        rebalance_timeout_ms=int(1000 * settings.max_poll_seconds),
        topology=topology_fields(topology, settings.replication_factor),
        instance_id=config.group_instance_id,
        rack_id=config.client_rack or None,
        endpoint=_end_point(config),
        client_tags=tuple(sorted(config.client_tags.items())),
    )
    identity = {"process_id": profile.process_id, "group_id": profile.group_id}
    return StreamsMembership(
        GroupCoordinator(
            settings.group_id,
            {"client_id": f"{profile.group_id}-{profile.process_id}-consumer", **settings.member_settings},
        ),
        StreamsGroupMember(profile),
        topology,
        listener,
        observe=combine_observers(event_log.log_observer(lambda: identity), *filter(None, [observer])),
        request_seconds=settings.request_seconds,
        **common,
    )


def _end_point(config: StreamsConfig) -> tuple[str, int] | None:
    end_point = config.end_point(OURS)
    if end_point and end_point[1] > _MAX_PORT:
        raise ConfigException(
            f"expected a port of at most {_MAX_PORT} in application.server in a streams group, got {end_point[1]}"
        )
    return end_point
