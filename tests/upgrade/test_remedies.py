"""A file that is edited as the remedy says, planned again, has no such row."""

import pytest

from streams_assignor.upgrade.application.setting_files import parse_settings
from streams_assignor.upgrade.application_plan import PlannedApplication, plan_for
from streams_assignor.upgrade.hazards import Answer

BASE = "application.id=a\nbootstrap.servers=k:1\n"


def rows(text, ends):
    known = PlannedApplication(settings=parse_settings(f"{BASE}{text}", ".properties"), settings_source="F")
    plan = plan_for(known, *ends.split())
    concerning = {name for judged in plan.judged if judged.concern.answer is Answer.YES for name in judged.hazard.names}
    return concerning, {finding.key for finding in plan.settings.stopping}


EXACTLY_ONCE = "processing.guarantee=exactly_once"
UP = "2.3 4.3"


@pytest.mark.parametrize(
    ("name", "ends", "before", "after"),
    [
        ("exactly-once-removed", UP, EXACTLY_ONCE, f"{EXACTLY_ONCE}_v2"),
        ("exactly-once-v2-unknown", "3.9 2.8", f"{EXACTLY_ONCE}_v2", f"{EXACTLY_ONCE}_beta"),
        ("exactly-once-beta-unknown", "2.8 2.5", f"{EXACTLY_ONCE}_beta", EXACTLY_ONCE),
        ("session-timeout-45-s", UP, "", "session.timeout.ms=10000"),
        ("session-timeout-10-s", "3.9 2.8", "", "session.timeout.ms=45000"),
        ("names-removed-in-2.0", "1.1 2.0", "key.serde=a.B", "default.key.serde=a.B"),
        (
            "names-removed-in-3.0",
            UP,
            "default.windowed.key.serde.inner=a.B",
            "windowed.inner.class.serde=org.apache.kafka.common.serialization.Serdes$StringSerde",
        ),
        ("names-removed-in-4.0", UP, "retries=3", "task.timeout.ms=300000"),
        ("application-server-checked", "4.3 4.4", "application.server=localhost", "application.server=localhost:80"),
        ("application-server-without-host", UP, "application.server=user@host:80", "application.server=host:80"),
        ("bootstrap-servers-with-blanks", UP, "bootstrap.servers=a:1 b:2", "bootstrap.servers=a:1,b:2"),
        ("dns-lookup-default", UP, "client.dns.lookup=default", ""),
        ("dns-lookup-default", UP, "client.dns.lookup=default", "client.dns.lookup=use_all_dns_ips"),
        (
            "in-flight-requests-refused",
            UP,
            "producer.max.in.flight.requests.per.connection=6",
            "producer.max.in.flight.requests.per.connection=5",
        ),
        (
            "in-flight-requests-refused",
            UP,
            "producer.max.in.flight.requests.per.connection=6",
            "producer.max.in.flight.requests.per.connection=6\nproducer.enable.idempotence=false",
        ),
        (
            "internal-task-assignor-class",
            "3.7 3.9",
            "internal.task.assignor.class=a.B",
            "task.assignor.class=org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor",
        ),
        ("list-values-checked", UP, "metric.reporters=a,,b", ""),
        ("login-module-refused", UP, "sasl.jaas.config=com.sun.security.auth.module.JndiLoginModule required;", ""),
        ("max-poll-interval-5-min", "1.1 2.8", "", "max.poll.interval.ms=300000"),
        ("transaction-timeout-10-s", "2.3 2.8", EXACTLY_ONCE, f"{EXACTLY_ONCE}\nproducer.transaction.timeout.ms=60000"),
        ("task-timeout-5-min", "2.3 2.8", "retries=3", "retries=3\ntask.timeout.ms=300000"),
    ],
)
def test_a_file_that_is_edited_as_the_remedy_says_has_no_such_row(name, ends, before, after):
    (concerning, _), (left, still_stopping) = rows(before, ends), rows(after, ends)

    assert name in concerning
    assert name not in left
    assert not still_stopping


def test_exactly_once_of_the_first_version_reaches_4_x_in_three_rounds():
    """The remedy was the switch that is too early before 2.6, and a second bounce that 4.1 cannot make."""
    too_early = "exactly-once-switched-too-early"
    first, second, third = (
        rows(EXACTLY_ONCE, "2.5 3.9"),
        rows(f"{EXACTLY_ONCE}_v2", "3.9.1 3.9.2"),
        rows(f"{EXACTLY_ONCE}_v2", "3.9 4.1"),
    )
    known = PlannedApplication(settings=parse_settings(EXACTLY_ONCE, ".properties"))
    hazards = plan_for(known, "2.5", "4.1").judged
    (judged,) = (judged for judged in hazards if "exactly-once-removed" in judged.hazard.names)

    assert judged.stops_members
    assert judged.hazard.remedy.startswith("go to 3.9 with exactly_once, bounce 3.9 with exactly_once_v2")
    assert not {"exactly-once-removed", too_early} & (first[0] | second[0] | third[0])
    assert [set(), set(), set()] == [first[1], second[1], third[1]]
