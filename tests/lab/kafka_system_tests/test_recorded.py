"""What is recorded of Kafka's system tests fits the cases, without running any."""

from collections import Counter
from typing import Final

from tests.lab.kafka_system_tests.cases import CASES
from tests.lab.kafka_system_tests.measure import SIDES, recorded

PASSED: Final[dict[str, tuple[int, int]]] = {
    "test_rolling_upgrade_with_2_bounces": (38, 38),
    "test_version_probing_upgrade": (2, 6),
    "test_upgrade_downgrade_state_updater": (5, 5),
    "test_upgrade_to_cooperative_rebalance": (1, 1),
    "test_rolling_bounces_will_not_trigger_rebalance_under_static_membership": (1, 1),
    "test_standby_tasks_rebalance": (1, 1),
    "test_streams_should_scale_in_while_brokers_down": (1, 1),
    "test_streams_should_failover_while_brokers_down": (1, 1),
    "test_broker_type_bounce": (0, 1),
    "test_app_upgrade": (1, 1),
}
"""How many cases of each test have passed, with Java only and with a member of ours; more may come."""


def test_every_recorded_case_is_a_case():
    assert recorded().keys() <= CASES.keys()


def test_a_case_that_failed_has_a_reason():
    for name, each in recorded().items():
        for side in SIDES:
            assert bool(each.get(side, {}).get("outcome")) == bool(getattr(CASES[name], f"{side}_fails")), (name, side)


def test_no_case_that_passed_is_lost():
    passed = Counter(
        (each["test"], side)
        for each in recorded().values()
        for side in SIDES
        if each.get(side, {}).get("outcome") == ""
    )

    lost = {
        (test, side)
        for test, least in PASSED.items()
        for side, number in zip(SIDES, least, strict=True)
        if passed[test, side] < number
    }
    assert set() == lost


def test_our_member_leads_a_generation_of_each_test():
    led = Counter()
    for each in recorded().values():
        if "python" in each:
            led[each["test"]] += each["python"]["led"]

    assert all(led.values())
