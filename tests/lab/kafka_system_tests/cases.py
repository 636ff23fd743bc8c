"""Every case: which test of kafkatest, with which classes of Kafka, on which release, and with which outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen

from tests.lab.integration.clusters import NEWEST, OLDER
from tests.lab.kafka_system_tests import (
    application_upgrade,
    broker_bounce,
    broker_down,
    cooperative_upgrade,
    smoke,
    standby_replica,
    static_membership,
    upgrade,
)


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
    isolated: bool = False
    """Whether the controller is a process of its own, as brokers come and go."""
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
_SMOKE: Final = ("3.2.3", "3.3.2", *_FK_JOIN)
"""The ``SmokeTestClient`` of their test jars has today's topology."""


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


def _cooperative_upgrades() -> Iterator[Case]:
    """Kafka 4.0 has no eager rebalancing."""
    for origin in ("1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1"):
        yield Case(
            file="streams_cooperative_rebalance_upgrade_test.py",
            test="test_upgrade_to_cooperative_rebalance",
            parameters={"upgrade_from": origin},
            release=OLDER,
            classes=("StreamsUpgradeToCooperativeRebalanceTest",),
            steps=cooperative_upgrade.two_bounces,
        )


def _of_one_release(file: str, name: str, steps: Mapping[str, Callable[..., None]], **how: Any) -> Iterator[Case]:
    """The coordinator of 3.9 is the old one of kafkatest's ``use_new_coordinator``, that of 4.x the new one."""
    for test, each in steps.items():
        for release in (OLDER, NEWEST):
            yield Case(file=file, test=test, release=release, classes=(name,), steps=each, **how)


def _broker_bounces() -> Iterator[Case]:
    common: dict[str, Any] = {
        "file": "streams_broker_bounce_test.py",
        "classes": (smoke.CLASS,),
        "brokers": 3,
        "isolated": True,
    }
    for release in (OLDER, NEWEST):
        for failure in broker_bounce.FAILURES:
            for threads in (1, 3):
                yield Case(
                    test="test_broker_type_bounce",
                    parameters={"failure": failure, "threads": threads},
                    release=release,
                    steps=broker_bounce.one_broker,
                    **common,
                )
            yield Case(
                test="test_many_brokers_bounce",
                parameters={"failure": failure},
                release=release,
                steps=broker_bounce.many_brokers,
                **common,
            )


def _application_upgrades() -> Iterator[Case]:
    for release, origins in ((OLDER, _SMOKE), (NEWEST, (*_SMOKE, *_SINCE_3_9))):
        for origin in origins:
            yield Case(
                file="streams_application_upgrade_test.py",
                test="test_app_upgrade",
                parameters={"origin": origin},
                release=release,
                classes=(smoke.CLASS,),
                steps=application_upgrade.full_bounce,
            )


CASES: Final[Mapping[str, Case]] = {
    case.name: case
    for case in (
        *_upgrades(),
        *_cooperative_upgrades(),
        *_of_one_release(
            "streams_static_membership_test.py",
            "StaticMemberTestClient",
            {
                "test_rolling_bounces_will_not_trigger_rebalance_under_static_membership": (
                    static_membership.rolling_bounces
                )
            },
        ),
        *_of_one_release(
            "streams_standby_replica_test.py",
            "StreamsStandByReplicaTest",
            {"test_standby_tasks_rebalance": standby_replica.rebalances},
        ),
        *_of_one_release(
            "streams_broker_down_resilience_test.py",
            "StreamsBrokerDownResilienceTest",
            {
                "test_streams_resilient_to_broker_down": broker_down.resilient,
                "test_streams_runs_with_broker_down_initially": broker_down.down_initially,
                "test_streams_should_scale_in_while_brokers_down": broker_down.scale_in,
                "test_streams_should_failover_while_brokers_down": broker_down.fail_over,
            },
            isolated=True,
        ),
        *_broker_bounces(),
        *_application_upgrades(),
    )
}
