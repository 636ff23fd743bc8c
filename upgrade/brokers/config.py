"""What a broker is told to speak, and what it refuses at start-up, release by release.

Java: ``KafkaConfig`` of 0.10.0, 1.0.0, 1.0.1, 2.1, 2.8, 3.0, 3.3 and 3.9. Only ``persistent.metadata.version`` is not
Kafka's: its KIP was never adopted, and no release has it.

One difference is on purpose: 3.9 takes ``4.0-IV0``, a version that had not been released then; here it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from attrs import frozen

from upgrade.brokers.versions import (
    MESSAGE_FORMATS,
    OLDEST_IN_4,
    OLDEST_KRAFT,
    BrokerRelease,
    Mode,
    ProtocolVersion,
    version_named,
)
from upgrade.errors import ConfigException, UnknownLevel

IBP: Final = "inter.broker.protocol.version"
LMF: Final = "log.message.format.version"
PMV: Final = "persistent.metadata.version"
ROLES: Final = "process.roles"

TOPIC_OVERRIDES: Final[Mapping[str, str]] = {LMF: "message.format.version"}
"""What a single topic may have otherwise. A protocol or a schema of internal topics is the broker's alone."""

_SINCE: Final[Mapping[str, tuple[int, ...]]] = {IBP: (0, 9), LMF: (0, 10), ROLES: (2, 8)}
_GONE_SINCE: Final[Mapping[str, tuple[int, ...]]] = {IBP: (4,), LMF: (4,)}
_BY_FORMAT_SINCE: Final = (1, 0, 1)  # KAFKA-6238; until then the versions themselves had to be in order
_PINNED_SINCE: Final = (3, 3)  # KIP-778
_FORMAT_3_0: Final = version_named("3.0-IV1")  # KIP-724: from this protocol on the message format is always 3.0


@frozen(kw_only=True)
class BrokerConfig:
    """A broker's release and the versions it has been told; what contradicts itself cannot be made.

    ``message_format`` is None where nothing can be said about it: before 0.10, from 4.0 on, and with a protocol of 3.0
    or later, where it is always the newest. ``persistent`` is None in every real Kafka. ``ignored`` names the keys that
    were given and do nothing.
    """

    release: BrokerRelease
    mode: Mode
    protocol: ProtocolVersion
    message_format: ProtocolVersion | None = None
    persistent: ProtocolVersion | None = None
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, release: BrokerRelease, settings: Mapping[str, str] | None = None, *, draft: bool = False) -> Self:
        """Read Kafka's properties with the defaults of this release; ``ConfigException`` for what it refuses.

        Keys of other things do not matter here. ``draft``: the broker knows ``persistent.metadata.version``.

        >>> from upgrade.brokers.versions import broker_release
        >>> BrokerConfig.of(broker_release("2.8"), {"inter.broker.protocol.version": "2.1"}).protocol.name
        '2.1-IV2'
        """
        texts = dict(settings or {})
        keys = {key for key in (IBP, LMF, ROLES) if _has(release, key)} | ({PMV} if draft else set())
        given = {key: _version(key, texts[key], release) for key in (keys - {ROLES}) & texts.keys()}
        mode = _mode(release, texts if ROLES in keys else {})

        protocol = given.get(IBP, release.newest)
        pinned = mode is Mode.KRAFT and release.number >= _PINNED_SINCE
        if pinned:
            _check_kraft(protocol, texts)
            protocol = OLDEST_IN_4 if not _has(release, IBP) else OLDEST_KRAFT
        says_format = LMF in keys and protocol < _FORMAT_3_0
        message_format = given.get(LMF, _default_format(release)) if says_format else None
        if message_format:
            _check_format(release, protocol, message_format, texts)
        persistent = given.get(PMV, message_format or protocol) if draft else None
        if persistent:
            _check_persistent(protocol, message_format, persistent)

        in_use = {IBP: IBP in keys and not pinned, LMF: says_format, PMV: draft}
        ignored = tuple(key for key, used in in_use.items() if key in texts and not used)
        return cls(
            release=release,
            mode=mode,
            protocol=protocol,
            message_format=message_format,
            persistent=persistent,
            ignored=ignored,
        )

    @property
    def writes(self) -> ProtocolVersion:
        """The version whose schemas it writes to internal topics, where it leads.

        Kafka's brokers take the inter-broker protocol; the draft's their ``persistent.metadata.version``, which is why
        there was to be one: "it is no longer possible to downgrade the cluster".
        """
        return self.persistent or self.protocol

    @property
    def writes_format(self) -> int:
        """The format of records that it writes, where it leads: 0, 1 or 2."""
        return (self.message_format or self.protocol).message_format

    def knows(self, version: ProtocolVersion) -> bool:
        """Whether its release can speak this version."""
        return self.release.oldest <= version <= self.release.newest


def _has(release: BrokerRelease, key: str) -> bool:
    return _SINCE[key] <= release.number < _GONE_SINCE.get(key, (9999,))


def _version(key: str, text: str, release: BrokerRelease) -> ProtocolVersion:
    refusal = ConfigException(f"Invalid value {text} for configuration {key}: Version {text} is not a valid version")
    try:
        version = version_named(text)
    except UnknownLevel as unknown:
        raise refusal from unknown
    if version > release.newest:
        raise refusal
    return version


def _mode(release: BrokerRelease, settings: Mapping[str, str]) -> Mode:
    if settings.get(ROLES):
        return Mode.KRAFT
    if Mode.ZOOKEEPER not in release.modes:
        raise ConfigException(f'Missing required configuration "{ROLES}" which has no default value.')
    return Mode.ZOOKEEPER


def _default_format(release: BrokerRelease) -> ProtocolVersion:
    """The binary's own newest, not what the inter-broker protocol is set to: hence most refusals."""
    return min(release.newest, _FORMAT_3_0)


def _check_kraft(protocol: ProtocolVersion, settings: Mapping[str, str]) -> None:
    if protocol < OLDEST_KRAFT:
        raise ConfigException(
            f"A non-KRaft version {settings[IBP]} given for {IBP}. The minimum version is {OLDEST_KRAFT}"
        )


def _check_format(
    release: BrokerRelease, protocol: ProtocolVersion, message_format: ProtocolVersion, settings: Mapping[str, str]
) -> None:
    told = settings.get(LMF, message_format.name)
    if release.number >= _BY_FORMAT_SINCE:
        if protocol.message_format < message_format.message_format:
            first = MESSAGE_FORMATS[message_format.message_format].line
            raise ConfigException(f"{LMF} {told} can only be used when {IBP} is set to version {first} or higher")
    elif protocol < message_format:
        raise ConfigException(f"{LMF} {told} cannot be used when {IBP} is set to {settings[IBP]}")


def _check_persistent(
    protocol: ProtocolVersion, message_format: ProtocolVersion | None, persistent: ProtocolVersion
) -> None:
    if message_format and message_format > persistent:
        raise ConfigException(f"{LMF} {message_format} must not be higher than {PMV}, which is {persistent}")
    # The draft does not say this; its order of steps implies it.
    if persistent > protocol:
        raise ConfigException(f"{PMV} {persistent} must not be higher than {IBP}, which is {protocol}")
