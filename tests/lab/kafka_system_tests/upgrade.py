"""The steps of Kafka's ``streams_upgrade_test.py``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from streams_assignor.codec import LATEST_SUPPORTED_VERSION
from tests.lab.kafka_system_tests.processors import Processor, SystemTestFailed
from tests.lab.kafka_system_tests.system import System

_CLASS: Final = "StreamsUpgradeTest"
_DATA: Final = "processed [0-9]* records from topic=data"
_FK: Final = "processed [0-9]* records from topic=fk"
_CLOSED: Final = "UPGRADE-TEST-CLIENT-CLOSED"
_CANNOT_DECODE: Final = "TaskAssignmentException: unable to decode subscription data: version=2"
_FUTURE: Final = LATEST_SUPPORTED_VERSION + 1
_PROBED: Final = (
    rf"Sent a version {_FUTURE} subscription and got version {LATEST_SUPPORTED_VERSION} assignment back "
    rf"\(successful version probing\)\. Downgrade subscription metadata to commonly supported version "
    rf"{LATEST_SUPPORTED_VERSION} and trigger new rebalance"
)
_END_OF_UPGRADE: Final = (
    rf"Sent a version {LATEST_SUPPORTED_VERSION} subscription and group.s latest commonly supported version is "
    rf"{_FUTURE} \(successful version probing and end of rolling upgrade\)\. Upgrading subscription metadata version "
    rf"to {_FUTURE} for next rebalance"
)
_FOLLOW_UP: Final = "Triggering the followup rebalance scheduled for"
_FUTURE_ASSIGNOR: Final = r"partition.assignment.strategy = \[.*StreamsUpgradeTest\$FutureStreamsPartitionAssignor\]"
_JOIN: Final = "test.run_fk_join"
_TOPICS: Final = {"echo": 5, "data": 5, "fk": 5, "fk-result": 5}
_SYNCHRONIZED_SECONDS: Final = 60


def two_bounces(system: System, *, origin: str, join: bool = False) -> None:
    """``test_rolling_upgrade_with_2_bounces``: first with ``upgrade.from``, then without."""
    settings = {_JOIN: "true"} if join else {}
    _begin(system, origin, settings)
    for upgrade_from in (origin.rpartition(".")[0], None):
        for processor in system.shuffled():
            _bounce(system, processor, system.release, {**settings, "upgrade.from": upgrade_from})
    _end(system)


def state_updater(system: System, *, origin: str, upgrade: bool) -> None:
    """``test_upgrade_downgrade_state_updater``: one bounce, without state on disk."""
    releases = (origin, system.release) if upgrade else (system.release, origin)
    enabled = ("false", "true") if upgrade else ("true", "false")
    _begin(system, releases[0], {"__state.updater.enabled__": enabled[0]})
    for processor in system.shuffled():
        _bounce(system, processor, releases[1], {"__state.updater.enabled__": enabled[1]}, clean=True)
    _end(system)


def version_probing(system: System) -> None:
    """``test_version_probing_upgrade``: one bounce, to a version from the future."""
    _begin(system, system.release, {})
    upgraded: list[Processor] = []
    for processor in system.shuffled():
        upgraded.append(processor)
        _probe(system, processor, last=len(upgraded) == len(system.processors))
    _end(system)


def _begin(system: System, release: str, settings: Mapping[str, str]) -> None:
    """Start driver and processors, one after the other; each time all process records."""
    system.create_topics(_TOPICS)
    system.drive("StreamsSmokeTest", system.release, "run", "disableAutoTerminate")
    system.add_processors(**settings)
    for number, processor in enumerate(system.processors, 1):
        system.use(processor, _CLASS, release)
        marks = [(each, each.mark) for each in system.processors[:number]]
        processor.start()
        _wait_for_version(system, processor, release, marks[-1][1])
        for each, mark in marks:
            each.wait_for(_DATA, mark)
        if settings.get(_JOIN):
            _wait_for_join(system, *marks[-1])


def _wait_for_version(system: System, processor: Processor, release: str, mark: int) -> None:
    # 0.10.0 and 0.10.1 log no version at this level.
    if system.is_python(processor) or not release.startswith(("0.10.0", "0.10.1")):
        processor.wait_for(system.version_line(processor, release), mark)


def _wait_for_join(system: System, processor: Processor, mark: int) -> None:
    """Our member does not compute the join, and the records of one half of it may all be in one of its tasks."""
    if system.python is None:
        processor.wait_for(_FK, mark)


def _bounce(
    system: System, processor: Processor, release: str, settings: Mapping[str, str | None], *, clean: bool = False
) -> None:
    """Stop and start a processor; after both the others process records again."""
    others = system.other_than(processor)
    _stop(system, processor)
    system.use(processor, _CLASS, release)
    processor.set(settings)
    if clean:
        system.clean(processor)
    marks = [(each, each.mark) for each in others]
    mark = processor.start()
    _wait_for_version(system, processor, release, mark)
    for other, other_mark in marks:
        other.wait_for(_DATA, other_mark)
        other.forbid(_CANNOT_DECODE)
    processor.wait_for(_DATA, mark)
    if settings.get(_JOIN):
        _wait_for_join(system, processor, mark)


def _stop(system: System, processor: Processor) -> None:
    marks = [(each, each.mark) for each in system.other_than(processor)]
    mark = processor.mark
    processor.stop()
    for other, other_mark in marks:
        other.wait_for(_DATA, other_mark)
    processor.wait_for(_CLOSED, mark)


def _probe(system: System, processor: Processor, *, last: bool) -> None:
    """Bounce a processor to the future version, and read of probing and of the end of the upgrade."""
    others = system.other_than(processor)
    marks = [(each, each.mark) for each in others]
    processor.stop_until(_CLOSED)
    processor.set({"test.future.metadata": "any_value"})
    mark = processor.start()
    processor.wait_for(system.version_line(processor, system.release), mark)
    if not system.is_python(processor):
        processor.wait_for(_FUTURE_ASSIGNOR, mark)
    if last:
        for other, other_mark in marks:
            other.wait_for(_END_OF_UPGRADE, other_mark)
            other.wait_for(_FOLLOW_UP, other_mark)
    else:
        processor.wait_for(_PROBED, mark)
        processor.wait_for(_FOLLOW_UP, mark)
    _wait_for_one_generation(system)
    if not last:
        for each in system.processors:
            each.forbid(_END_OF_UPGRADE)


def _wait_for_one_generation(system: System) -> None:
    deadline = time.monotonic() + _SYNCHRONIZED_SECONDS
    while len(found := {_last_generation(each) for each in system.processors}) > 1:
        if time.monotonic() > deadline:
            raise SystemTestFailed(f"the processors are in generations {sorted(found)}")
        time.sleep(0.5)


def _last_generation(processor: Processor) -> int:
    found = processor.generations
    return found[-1] if found else 0


def _end(system: System) -> None:
    for driver in system.others:
        driver.kill()
    for processor in system.shuffled():
        processor.stop_until(_CLOSED)
