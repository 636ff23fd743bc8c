"""The settings of a member process, and the command line that carries them."""

from __future__ import annotations

from pathlib import Path

from attrs import asdict, frozen

from streams_assignor.upgrade.releases import OURS


@frozen(kw_only=True)
class MemberSettings:
    """The options of ``streams-assignor member``; an attribute is the option of that name."""

    bootstrap_servers: str
    group: str
    topic: tuple[str, ...]
    release: str = OURS.name
    upgrade_from: str | None = None
    standbys: int = 0
    application_server: str = ""
    session_timeout_ms: int = 10_000
    api_version: str | None = None
    command_config: Path | None = None
    """A properties file with Kafka's settings for clients."""

    def command_line_arguments(self) -> list[str]:
        """Write the settings as a command line.

        >>> MemberSettings(bootstrap_servers="b:1", group="g", topic=("t", "u")).command_line_arguments()[4:8]
        ['--topic', 't', '--topic', 'u']
        """
        given = {name: value for name, value in asdict(self).items() if value not in ("", None)}
        return [
            argument
            for name, value in given.items()
            for item in (value if isinstance(value, tuple) else (value,))
            for argument in (f"--{name.replace('_', '-')}", str(item))
        ]
