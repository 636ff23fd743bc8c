"""Pytest plugin for aiokafka's tests: our assignor as the default, and a broker that is there already.

The environment has ``GROUP_TESTS_BROKER``, its address.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import wraps
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.group_coordinator import GroupCoordinator
from group_tests import MODE, Counted, Mode, topology_of

from streams_assignor.clients.aiokafka import StreamsPartitionAssignor

NOT_SUBSCRIBED = "not-subscribed-yet"
_CANARY_SECONDS = 20
"""Instead of two minutes: most of its tests wait for an assignment that does not come."""


class CountedAssignor(Counted, StreamsPartitionAssignor):
    """The adapter for one consumer."""


def _plug_into_consumers() -> None:
    default = AIOKafkaConsumer.__init__.__kwdefaults__["partition_assignment_strategy"]
    start = AIOKafkaConsumer.start

    async def starting(self: AIOKafkaConsumer) -> None:
        if self._group_id is not None and self._partition_assignment_strategy == default:
            streams = CountedAssignor(topology_of(self.subscription() or [NOT_SUBSCRIBED]))
            self._partition_assignment_strategy = [streams]
            streams.bind(self)
            await self.start()  # that of the adapter, which ends here
        else:
            await start(self)

    AIOKafkaConsumer.start = starting


def _plug_into_coordinators() -> None:
    """Some tests have a coordinator and no consumer; the adapter gets an object with the attributes of one."""
    original = GroupCoordinator.__init__
    defaults = original.__kwdefaults__

    @wraps(original)
    def init(self: GroupCoordinator, client: Any, subscription: Any, **settings: Any) -> None:
        if "assignors" not in settings:
            streams = CountedAssignor(topology_of([NOT_SUBSCRIBED]))
            given = {**defaults, **settings}
            consumer = SimpleNamespace(
                _auto_offset_reset="earliest",
                _client=client,
                _coordinator=self,
                _group_instance_id=given["group_instance_id"],
                # Many of these tests never send a heartbeat, with an interval that `bind` refuses.
                _heartbeat_interval_ms=given["session_timeout_ms"] / 3,
                _partition_assignment_strategy=[streams],
                _session_timeout_ms=given["session_timeout_ms"],
                _subscription=subscription,
                **dict.fromkeys(("start", "stop", "getone", "getmany"), _nothing),
            )
            streams.bind(consumer)
            settings["assignors"] = [streams]
            self.start_of_adapter = asyncio.get_running_loop().create_task(consumer.start())
        original(self, client, subscription, **settings)

    GroupCoordinator.__init__ = init


async def _nothing(*_: Any, **__: Any) -> None:
    pass


if MODE is not Mode.CONTROL:
    _plug_into_consumers()
    _plug_into_coordinators()


# -- fixtures ----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_plugin_registered(plugin: object) -> None:
    """Replace fixtures of their ``conftest.py`` before pytest looks for them."""
    if isinstance(plugin, ModuleType) and hasattr(plugin, "KafkaServer"):
        host, port = os.environ["GROUP_TESTS_BROKER"].split(":")
        server = plugin.KafkaServer(host, int(port), *[0] * 3, container=None)
        for name, value in {
            "docker": None,
            "kafka_server": server,
            "kerberos_utils": None,
            "ssl_folder": Path("no-ssl-folder"),
        }.items():
            setattr(plugin, name, _fixture(name, value))
        if MODE is Mode.CANARY:
            utilities = sys.modules[f"{plugin.__package__}._testutil"]
            utilities.KafkaIntegrationTestCase.TEST_TIMEOUT = _CANARY_SECONDS


def _fixture(name: str, value: object) -> object:
    def fixed() -> object:
        return value

    return pytest.fixture(fixed, name=name, scope="session")
