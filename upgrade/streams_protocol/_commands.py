"""The command lines of a migration, with Kafka's own tools and with ``streams-assignor group``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from attrs import frozen

from streams_assignor.upgrade.streams_protocol._settings import CarriedSetting


@frozen
class Target:
    """The group and the cluster that the commands name."""

    group: str = "GROUP"
    servers: str = "HOST:PORT"
    command_config: str | None = None
    members: int | None = None
    """How many members the group has; None if it is not known."""

    def configure(self, settings: Iterable[CarriedSetting]) -> str:
        """Set the group configurations."""
        return self._kafka_configs("--add-config", ",".join(setting.pair for setting in settings))

    def remove(self, settings: Iterable[CarriedSetting]) -> str:
        """Remove the group configurations, so that those of the brokers apply."""
        return self._kafka_configs("--delete-config", ",".join(setting.configuration.name for setting in settings))

    def show_configurations(self) -> str:
        """Show the group configurations."""
        return self._line("kafka-configs", "--describe", "--entity-type", "groups", "--entity-name", self.group)

    def wait_until_empty(self) -> str:
        """Wait until the group has no members."""
        return self._wait("empty")

    def wait_until_stable(self) -> str:
        """Wait until the group is stable with as many members as it had; without their number a wait is refused."""
        return self._wait("stable", "--members", str(self.members or "NUMBER"))

    def _wait(self, *condition: str) -> str:
        words = [self.group, *condition, "--bootstrap-servers", self.servers, *self._config()]
        return shlex.join(["streams-assignor", "group", "wait", *words])

    def show_offsets(self, tool: str) -> str:
        """Show committed offsets and lags."""
        return self._line(tool, "--describe", "--group", self.group, "--offsets")

    def show_members(self) -> str:
        """Show the members of a group of consumers, with the protocol of each."""
        return self._line("kafka-consumer-groups", "--describe", "--group", self.group, "--members", "--verbose")

    def _kafka_configs(self, option: str, pairs: str) -> str:
        entity = ("--alter", "--entity-type", "groups", "--entity-name", self.group)
        return self._line("kafka-configs", *entity, option, pairs)

    def _line(self, tool: str, *words: str) -> str:
        return shlex.join([tool, "--bootstrap-server", self.servers, *self._config(), *words])

    def _config(self) -> list[str]:
        return ["--command-config", self.command_config] if self.command_config else []
