"""The configured versions of a broker, validated as each release validates them at start-up.

Java: ``KafkaConfig`` of 0.10.0, 1.0.0, 1.0.1, 2.1, 2.8, 3.0, 3.3 and 3.9. Only ``persistent.metadata.version`` is not
Kafka's: its KIP was never adopted, and no release has it.

One difference is deliberate: 3.9 accepts ``4.0-IV0``, a version that had not been released then; it is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from attrs import frozen

from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    MESSAGE_FORMATS,
    OLDEST_IN_4,
    OLDEST_KRAFT,
    BrokerRelease,
    MetadataMode,
    ProtocolVersion,
    version_named,
)
from streams_assignor.upgrade.errors import ConfigException, UnknownLevel

IBP: Final = "inter.broker.protocol.version"
LMF: Final = "log.message.format.version"
PMV: Final = "persistent.metadata.version"
ROLES: Final = "process.roles"

TOPIC_OVERRIDES: Final[Mapping[str, str]] = {LMF: "message.format.version"}
"""The settings that a topic can override. A protocol or a schema of internal topics is set per broker only."""

_SINCE: Final[Mapping[str, tuple[int, ...]]] = {IBP: (0, 9), LMF: (0, 10), ROLES: (2, 8)}
_REMOVED_IN: Final[Mapping[str, tuple[int, ...]]] = {IBP: (4,), LMF: (4,)}
_COMPARES_FORMATS_SINCE: Final = (1, 0, 1)  # KAFKA-6238; until then the versions themselves had to be in order
_KRAFT_IGNORES_IBP_SINCE: Final = (3, 3)  # KIP-778
_FORMAT_3_0: Final = version_named("3.0-IV1")  # KIP-724: from this protocol on the message format is always 3.0


@frozen(kw_only=True)
class BrokerConfig:
    """A broker's release and its configured versions. ``of`` refuses contradictory values."""

    release: BrokerRelease
    mode: MetadataMode
    protocol: ProtocolVersion
    message_format: ProtocolVersion | None = None
    """None before 0.10, from 4.0 on, and with a protocol of 3.0 or later, where it is always the newest."""
    persistent_metadata_version: ProtocolVersion | None = None
    """The level that a draft would persist; None in every release of Kafka."""
    ignored_keys: tuple[str, ...] = ()
    """The keys that were given and have no effect."""

    @classmethod
    def of(cls, release: BrokerRelease, settings: Mapping[str, str] | None = None, *, draft: bool = False) -> Self:
        """Read Kafka's properties with the defaults of this release.

        Args:
            release: The release of the broker.
            settings: Kafka's properties; other keys are ignored.
            draft: The broker knows ``persistent.metadata.version``.

        Raises:
            ConfigException: The release refuses a value or the combination, in Kafka's words.

        >>> from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
        >>> BrokerConfig.of(broker_release("2.8"), {"inter.broker.protocol.version": "2.1"}).protocol.name
        '2.1-IV2'
        """
        texts = dict(settings or {})
        keys = {key for key in (IBP, LMF, ROLES) if _has_key(release, key)} | ({PMV} if draft else set())
        given = {key: _parse_version(key, texts[key], release) for key in (keys - {ROLES}) & texts.keys()}
        mode = _parse_mode(release, texts if ROLES in keys else {})

        protocol = given.get(IBP, release.newest)
        pinned = mode is MetadataMode.KRAFT and release.number >= _KRAFT_IGNORES_IBP_SINCE
        if pinned:
            _check_kraft(protocol, texts)
            protocol = OLDEST_IN_4 if not _has_key(release, IBP) else OLDEST_KRAFT
        says_format = LMF in keys and protocol < _FORMAT_3_0
        message_format = given.get(LMF, _default_format(release)) if says_format else None
        if message_format:
            _check_format(release, protocol, message_format, texts)
        persistent = given.get(PMV, _default_persistent(protocol, message_format)) if draft else None
        if PMV in given:
            _check_persistent(protocol, message_format, given[PMV], configured=LMF in given)

        in_use = {IBP: IBP in keys and not pinned, LMF: says_format, PMV: draft}
        ignored = tuple(key for key, used in in_use.items() if key in texts and not used)
        return cls(
            release=release,
            mode=mode,
            protocol=protocol,
            message_format=message_format,
            persistent_metadata_version=persistent,
            ignored_keys=ignored,
        )

    @property
    def schema_version(self) -> ProtocolVersion:
        """The version whose schemas it writes to internal topics as the leader of a partition.

        Kafka's brokers use the inter-broker protocol. Brokers of the draft use ``persistent.metadata.version``, because
        with the protocol "it is no longer possible to downgrade the cluster".
        """
        return self.persistent_metadata_version or self.protocol

    @property
    def record_format(self) -> int:
        """The format of records that it writes as the leader of a partition: 0, 1 or 2."""
        return (self.message_format or self.protocol).message_format

    def supports(self, version: ProtocolVersion) -> bool:
        """Whether its release can speak this version."""
        return self.release.oldest <= version <= self.release.newest


def _has_key(release: BrokerRelease, key: str) -> bool:
    return _SINCE[key] <= release.number < _REMOVED_IN.get(key, (9999,))


def _parse_version(key: str, text: str, release: BrokerRelease) -> ProtocolVersion:
    refusal = ConfigException(f"Invalid value {text} for configuration {key}: Version {text} is not a valid version")
    try:
        version = version_named(text)
    except UnknownLevel as unknown:
        raise refusal from unknown
    if version > release.newest:
        raise refusal
    return version


def _parse_mode(release: BrokerRelease, settings: Mapping[str, str]) -> MetadataMode:
    if settings.get(ROLES):
        return MetadataMode.KRAFT
    if MetadataMode.ZOOKEEPER not in release.modes:
        raise ConfigException(f'Missing required configuration "{ROLES}" which has no default value.')
    return MetadataMode.ZOOKEEPER


def _default_format(release: BrokerRelease) -> ProtocolVersion:
    """Return the newest version of the binary. It ignores the inter-broker protocol: hence most refusals."""
    return min(release.newest, _FORMAT_3_0)


def _check_kraft(protocol: ProtocolVersion, settings: Mapping[str, str]) -> None:
    if protocol < OLDEST_KRAFT:
        raise ConfigException(
            f"A non-KRaft version {settings[IBP]} given for {IBP}. The minimum version is {OLDEST_KRAFT}"
        )


def _check_format(
    release: BrokerRelease, protocol: ProtocolVersion, message_format: ProtocolVersion, settings: Mapping[str, str]
) -> None:
    configured = settings.get(LMF, message_format.name)
    if release.number >= _COMPARES_FORMATS_SINCE:
        if protocol.message_format < message_format.message_format:
            first = MESSAGE_FORMATS[message_format.message_format].line
            raise ConfigException(f"{LMF} {configured} can only be used when {IBP} is set to version {first} or higher")
    elif protocol < message_format:
        raise ConfigException(f"{LMF} {configured} cannot be used when {IBP} is set to {settings[IBP]}")


def _default_persistent(protocol: ProtocolVersion, message_format: ProtocolVersion | None) -> ProtocolVersion:
    """Return the message format, as in the draft, but no version above the protocol.

    The default of the message format is the newest version of the binary. Without the limit, a broker that starts today
    with a pinned protocol would be refused, and the draft promises compatibility with previous versions.
    """
    return min(message_format or protocol, protocol)


def _check_persistent(
    protocol: ProtocolVersion,
    message_format: ProtocolVersion | None,
    persistent: ProtocolVersion,
    *,
    configured: bool,
) -> None:
    """Check a configured version; ``configured``: the message format is configured, too.

    A message format that is not configured is the newest of the binary, so only its number is compared.
    """
    is_higher = message_format is not None and message_format > persistent
    if message_format and is_higher and (configured or message_format.message_format > persistent.message_format):
        raise ConfigException(f"{LMF} {message_format} must not be higher than {PMV}, which is {persistent}")
    # The draft does not say this; its order of steps implies it.
    if persistent > protocol:
        raise ConfigException(f"{PMV} {persistent} must not be higher than {IBP}, which is {protocol}")
