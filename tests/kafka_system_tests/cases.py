"""Every case: which test of kafkatest, with which classes of Kafka, on which release, and with which outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen

from tests.integration.clusters import NEWEST, OLDER
from tests.kafka_system_tests import upgrade


@frozen(kw_only=True)
class Case:
    """One test of kafkatest with its parameters; it runs with Java only and with one processor of ours."""

    file: str
    """Below ``tests/kafkatest/tests/streams``."""
    test: str
    parameters: Mapping[str, Any] = field(factory=dict)
    release: str
    """What Kafka's tests call DEV."""
    classes: tuple[str, ...]
    steps: Callable[..., None]
    brokers: int = 1
    python: int = 1
    """The number of the processor that is ours; the first one to start leads first."""
    java_fails: str = ""
    """Why Java alone fails, if it does."""
    python_fails: str = ""
    """Why it fails with a member of ours, if it does."""

    @property
    def name(self) -> str:
        """Unique among all cases."""
        given = "".join(f", {key} {value}" for key, value in self.parameters.items() if value is not False)
        ours = "" if self.python == 1 else f", ours {self.python}"
        return f"{self.test}, {self.release}{given}{ours}"


_UPGRADE: Final = ("StreamsUpgradeTest", "StreamsSmokeTest")
_BEFORE_PROBING: Final = ("0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1")
_NO_FK_JOIN: Final = ("2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2")
"""Their foreign-key join cannot be upgraded (KAFKA-14646), so it is not in the topology."""
_FK_JOIN: Final = ("3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1")
_SINCE_3_9: Final = ("3.9.2", "4.0.2", "4.1.2", "4.2.1")


def _upgrades() -> Iterator[Case]:
    common: dict[str, Any] = {"file": "streams_upgrade_test.py", "classes": _UPGRADE}
    for release, origins in (
        (OLDER, (*_BEFORE_PROBING, *_NO_FK_JOIN, *_FK_JOIN)),
        (NEWEST, (*_NO_FK_JOIN, *_FK_JOIN, *_SINCE_3_9)),
    ):
        for origin in origins:
            join = origin in (*_FK_JOIN, *_SINCE_3_9)
            yield Case(
                test="test_rolling_upgrade_with_2_bounces",
                parameters={"origin": origin, "join": join},
                release=release,
                steps=upgrade.two_bounces,
                **common,
            )
    for release in (OLDER, NEWEST):
        for python in (1, 2, 3):
            yield Case(
                test="test_version_probing_upgrade",
                release=release,
                steps=upgrade.version_probing,
                python=python,
                **common,
            )
        for origin in ("3.2.3", release):
            for up in (True, False):
                yield Case(
                    test="test_upgrade_downgrade_state_updater",
                    parameters={"origin": origin, "upgrade": up},
                    release=release,
                    steps=upgrade.state_updater,
                    **common,
                )


CASES: Final[Mapping[str, Case]] = {case.name: case for case in _upgrades()}
