"""The rolls of a cluster with ZooKeeper: the release, then the protocol, then, if there is a new one, the format.

Source: Kafka's upgrade notes, which have said the same in these words since 0.10 ("Upgrading to ... from ...").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from upgrade.brokers.advice import BrokerStep, NoWay, Verdict, WayBack
from upgrade.brokers.config import IBP, LMF, BrokerConfig
from upgrade.brokers.versions import BrokerRelease, ProtocolVersion, version_named
from upgrade.errors import ConfigException

_CONSUMERS: Final = {1: "0.10.0", 2: "0.11.0"}
"""Since which release consumers read a message format without having it converted for them (upgrade notes)."""
_NEW_OFFSETS: Final = version_named("2.1-IV0")


def up(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the steps to a newer release that still has ZooKeeper, from brokers that speak ``level``."""
    pinned = _pinned(target, level)
    if origin.number != target.number:
        yield _binary(origin, target, level, pinned) if level < target.newest else _patch(origin, target)
    if level < target.newest:
        new_format = target.newest.message_format > level.message_format
        format_later = LMF in pinned and new_format and target.number < (3,)
        kept = {LMF: pinned[LMF]} if format_later else {}
        yield _protocol(target, level, kept, remove=LMF in pinned and not kept)
        if format_later:
            yield _message_format(target, level)


def down(origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion) -> Iterator[BrokerStep]:
    """Yield the step to an older release: there is a way as long as the protocol has not been raised beyond it."""
    if level > target.newest:
        raise NoWay(
            f"the brokers speak {level}, which {target} does not know; Kafka's notes rule out a downgrade once {IBP} "
            "has been raised (KIP-778: before 3.0 not supported, though for many versions it can often be done)"
        )
    settings = _pinned(target, level)
    yield BrokerStep(
        do=f"{_set(settings)}bounce every broker to {target}, one by one",
        why=f"the brokers speak {level}, and {target} knows that",
        if_skipped="the cluster stays as it is",
        release=target.name,
        settings=settings,
        way_back=WayBack(Verdict.OPEN, f"bounce the brokers to {origin} again"),
        source=f"upgrade notes of {origin.line}: until the protocol is raised a downgrade is possible",
    )


def _pinned(target: BrokerRelease, level: ProtocolVersion) -> dict[str, str]:
    """Return what must be set so that brokers of ``target`` start, and speak no more than ``level``."""
    settings = {IBP: level.value} if level < target.newest else {}
    try:
        BrokerConfig.of(target, settings)
    except ConfigException:
        settings[LMF] = level.value
    return settings


def _set(settings: Mapping[str, str], more: str = "") -> str:
    told = " and ".join(f"{key}={value}" for key, value in settings.items())
    return f"set {told} on every broker{more}, and " if told else ""


def _patch(origin: BrokerRelease, target: BrokerRelease) -> BrokerStep:
    return BrokerStep(
        do=f"bounce every broker to {target}, one by one",
        why=f"releases of {target.line} speak the same",
        if_skipped="the cluster stays as it is",
        release=target.name,
        way_back=WayBack(Verdict.OPEN, f"bounce the brokers to {origin} again"),
        source="MetadataVersion (ApiVersion): one newest version for all releases of a line",
    )


def _binary(
    origin: BrokerRelease, target: BrokerRelease, level: ProtocolVersion, pinned: Mapping[str, str]
) -> BrokerStep:
    skipped = (
        f"not set, the protocol is the release's newest, {target.newest}: the first broker of {target} speaks it to "
        f"brokers of {origin}, which do not know it"
    )
    if LMF in pinned:
        skipped += f"; with {IBP} alone {target} does not start, because {LMF} would be its newest too"
    keep = "" if LMF in pinned else f" (and keep {LMF}, if it is set)"
    return BrokerStep(
        do=f"{_set(pinned, keep)}bounce every broker to {target}, one by one",
        why=f"the brokers go on speaking {level}, which all of them know, and what they store stays readable",
        if_skipped=skipped,
        release=target.name,
        settings=pinned,
        way_back=WayBack(Verdict.OPEN, f"bounce the brokers to {origin} again"),
        source=f"upgrade notes of {target.line}, KIP-584 (motivation)",
    )


def _protocol(target: BrokerRelease, level: ProtocolVersion, kept: Mapping[str, str], remove: bool) -> BrokerStep:
    settings = {IBP: target.line, **kept}
    at_once = remove and target.number >= (3,)
    closed = f"no downgrade to an older release once brokers speak {target.line}"
    if level < _NEW_OFFSETS <= target.newest:
        closed += "; brokers before 2.1 could not read the offsets any more"
    return BrokerStep(
        do=f"when the cluster has proved itself, set {IBP}={target.line}{f' (and remove {LMF})' if remove else ''} on "
        "every broker, and bounce them, one by one",
        why="every broker knows it now, and what is new in it is switched on"
        + ("; from 3.0 on records are then written in the newest format at once" if at_once else ""),
        if_skipped=f"the cluster goes on speaking {level}, and what needs more of its brokers is not there",
        release=target.name,
        settings=settings,
        way_back=WayBack(Verdict.CLOSED, closed),
        source=f"upgrade notes of {target.line}, KIP-778 (background)" + (", KIP-724" if at_once else ""),
    )


def _message_format(target: BrokerRelease, level: ProtocolVersion) -> BrokerStep:
    reading = _CONSUMERS[target.newest.message_format]
    return BrokerStep(
        do=f"once all or most consumers are of {reading} or later, set {LMF}={target.line} on every broker, and bounce "
        "them, one by one",
        why="records are written in the new format, which those consumers read without a conversion",
        if_skipped=f"records keep the format of {level}: nothing new, but no cost for old consumers either",
        release=target.name,
        settings={IBP: target.line, LMF: target.line},
        way_back=WayBack(Verdict.CLOSED, "the value promises that nothing newer is on disk, so it cannot be lowered"),
        source=f"upgrade notes of {target.line}; description of {LMF}",
    )
