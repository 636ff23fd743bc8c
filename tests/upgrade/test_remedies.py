"""A remedy that is followed helps: a plan that is made again has no such row, up to the release of TO."""

from collections import deque
from itertools import permutations

import pytest
from attrs import evolve

from streams_assignor.upgrade.application.evidence import described_topology
from streams_assignor.upgrade.application.setting_files import parse_settings
from streams_assignor.upgrade.application.settings import Effect
from streams_assignor.upgrade.application_plan import PlannedApplication, plan_for
from streams_assignor.upgrade.hazards import (
    HAZARDS,
    YOURS,
    Answer,
    Application,
    JudgedHazard,
    ReleaseRange,
    RemedyKind,
    Severity,
    judge_hazards,
    with_fixed_releases,
)
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES
from streams_assignor.upgrade.roll.plan import group_rounds
from tests.each import each_measured, each_third

BASE = "application.id=a\nbootstrap.servers=localhost:1\n"


def rows(text, ends):
    known = PlannedApplication(settings=parse_settings(f"{BASE}{text}", ".properties"), settings_source="F")
    plan = plan_for(known, *ends.split())
    concerning = {name for judged in plan.judged if judged.concern.answer is Answer.YES for name in judged.hazard.names}
    return concerning, {finding.key for finding in plan.settings.stopping}


EXACTLY_ONCE = "processing.guarantee=exactly_once"
SASL = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
JNDI, LDAP = (f"com.sun.security.auth.module.{name}LoginModule required;" for name in ("Jndi", "Ldap"))
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required;"
UP = "2.3 4.3"


@pytest.mark.parametrize(
    ("name", "ends", "before", "after"),
    each_measured(
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
            ("application-server-checked", "4.3 4.4", "application.server=:80", "application.server=localhost:80"),
            ("application-server-without-host", UP, "application.server=user@host:80", "application.server=host:80"),
            (
                "bootstrap-servers-with-blanks",
                UP,
                "bootstrap.servers=localhost:1 localhost:2",
                "bootstrap.servers=localhost:1,localhost:2",
            ),
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
            ("login-module-refused", UP, f"{SASL}{JNDI}", f"{SASL}{PLAIN}"),
            ("max-poll-interval-5-min", "1.1 2.8", "", "max.poll.interval.ms=300000"),
            (
                "transaction-timeout-10-s",
                "2.3 2.8",
                EXACTLY_ONCE,
                f"{EXACTLY_ONCE}\nproducer.transaction.timeout.ms=60000",
            ),
            ("task-timeout-5-min", "2.3 2.8", "retries=3", "retries=3\ntask.timeout.ms=300000"),
        ],
        lambda name, *_: name in {"bootstrap-servers-with-blanks", "list-values-checked"},
    ),
)
def test_a_file_that_is_edited_as_the_remedy_says_has_no_such_row(name, ends, before, after):
    (concerning, _), (left, still_stopping) = rows(before, ends), rows(after, ends)

    assert name in concerning
    assert name not in left
    assert not still_stopping


# -- the remedies of a plan, followed from FROM to TO ----------------------------------------------------------------

LINES = [release for release in NEWEST_OF_LINE.values() if release.is_released]
STICKY = "org.apache.kafka.streams.processor.internals.assignment.StickyTaskAssignor"
HAVING = {
    "exactly-once-removed": EXACTLY_ONCE,
    "exactly-once-v2-unknown": f"{EXACTLY_ONCE}_v2",
    "exactly-once-beta-unknown": f"{EXACTLY_ONCE}_v2",
    "dns-lookup-default": "main.consumer.client.dns.lookup=default",
    "login-module-refused": f"{SASL}{JNDI}",
    "ldap-login-module-refused": f"{SASL}{LDAP}",
    "application-server-without-host": "application.server=user@host:80",
    "application-server-checked": "application.server=:80",
    "bootstrap-servers-with-blanks": "bootstrap.servers=localhost:1 localhost:2",
    "in-flight-requests-refused": "max.in.flight.requests.per.connection=6",
    "list-values-checked": "bootstrap.servers=localhost:1,,localhost:2",
    "kafka-7584": f"{EXACTLY_ONCE}\nproducer.max.in.flight.requests.per.connection=5",
    "kafka-15053": "security.protocol=ssl",
    "max-poll-interval-5-min": "",
    "transaction-timeout-10-s": EXACTLY_ONCE,
    "commit-interval-verified": f"{EXACTLY_ONCE}\ncommit.interval.ms=10001",
    "internal-task-assignor-class": f"internal.task.assignor.class={STICKY}",
}
"""A file that has the row, for each row whose remedy is in a file, and which a file decides."""
DECIDED_ELSEWHERE = {
    "brokers-before-2.3",
    "brokers-before-2.4",
    "static-members-of-streams-groups",
    "table-changelogs-of-2.0",
}
CORRECT = {
    "application.server": "host:80",
    "bootstrap.servers": "localhost:1,localhost:2",
    "sasl.jaas.config": PLAIN,
    "security.protocol": "SSL",
}
"""The values that an operator writes where only he knows the value; any other key is removed."""


def values_of(text):
    return dict(line.split("=", 1) for line in f"{BASE}{text}".splitlines())


def planned(values, *ends):
    text = "".join(f"{key}={value}\n" for key, value in values.items())
    return plan_for(PlannedApplication(settings=parse_settings(text, ".properties")), *ends)


def harmful(plan):
    severe = (each.hazard for each in plan.judged if each.concern.answer is Answer.YES)
    return {name for row in severe if row.severity in {Severity.STOPS, Severity.LOSES} for name in row.names}


def apply(remedy, values):
    value = (
        CORRECT.get(remedy.key.split(".", 1)[-1], CORRECT.get(remedy.key)) if remedy.value == YOURS else remedy.value
    )
    assert remedy.is_edit
    if value is None:
        del values[remedy.key]
    else:
        values[remedy.key] = value


def follow(text, origin, target):
    """Make the steps of a plan: no hop is unsafe, and none has what it had not with the file of before.

    Returns the last plan, and the releases and settings with which members are started on the way, FROM first.
    """
    values = values_of(text)
    stops = [(origin, {**values})]
    first = planned(values, origin.name, target.name)
    steps = deque(first.advice.steps)
    for hop in first.advice.guidance.hops:
        ends = hop.origin.name, hop.target.name
        had = harmful(planned(values, *ends))
        while steps[0].remedies:
            for remedy in steps.popleft().remedies:
                apply(remedy, values)
        for _ in range(1 if hop.plan is Plan.ONE_BOUNCE else 2):
            steps.popleft()
        stops.append((hop.target, {**values}))
        again = planned(values, *ends)
        assert not again.reasons, (ends, first.reasons, values)
        assert harmful(again) <= had, (ends, values)
    assert not steps
    assert hop.target is target
    return again, stops


def pairs_of(name):
    """The pairs that a row concerns, those around its limits first."""
    (row,) = (row for row in HAZARDS if row.name == name)
    found = [pair for pair in permutations(LINES, 2) if row.concerns(*pair)]
    return sorted(found, key=lambda pair: abs(LINES.index(pair[0]) - LINES.index(pair[1])))


STOPPING = [row.name for row in HAZARDS if row.is_certain and row.name in HAVING]


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", STOPPING)
def test_a_plan_whose_remedies_are_followed_leads_to_its_release(name):
    last, _ = follow(HAVING[name], *pairs_of(name)[-1])

    assert name not in harmful(last)


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", HAVING)
def test_a_file_that_is_changed_as_the_data_of_a_remedy_say_has_no_such_row(name):
    origin, target = pairs_of(name)[0]
    values = values_of(HAVING[name])
    before = harmful(planned(values, origin.name, target.name))
    for remedy in next(row.remedies for row in HAZARDS if row.name == name):
        key = next((key for key in values if key.endswith(remedy.key.removeprefix("producer."))), remedy.key)
        apply(evolve(remedy, key=key), values)

    assert name in before - harmful(planned(values, origin.name, target.name)) or name == "list-values-checked"


def test_every_remedy_of_a_file_is_followed():
    in_files = {row.name for row in HAZARDS if any(remedy.is_edit for remedy in row.remedies)}

    assert in_files - DECIDED_ELSEWHERE == {*HAVING} - {"list-values-checked"}


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("max-poll-interval-5-min", "max.poll.interval.ms=2147483647"),
        ("transaction-timeout-10-s", "producer.transaction.timeout.ms=60000"),
    ],
)
def test_what_can_stop_members_or_lose_data_by_a_setting_is_changed_before_the_bounce(name, edit):
    """Only what stops members for certain was a step; the remedy of another row stood in a list below."""
    origin, target = pairs_of(name)[0]
    step = planned(values_of(HAVING[name]), origin.name, target.name).advice.steps[0]

    assert edit in str(step.do)


@pytest.mark.unmeasured
@pytest.mark.parametrize("guarantee", ["", f"\n{EXACTLY_ONCE}", f"\n{EXACTLY_ONCE}_v2"])
@pytest.mark.parametrize("name", each_third(STOPPING))
def test_no_setting_that_a_row_has_changed_is_without_effect(name, guarantee):
    """A page said both "Streams sets it itself" and "members do not start" of one key."""
    for origin, target in pairs_of(name)[:2]:
        plan = planned(values_of(f"{HAVING[name]}{guarantee}"), origin.name, target.name)
        changed = {
            remedy.key
            for judged in plan.judged
            if judged.hazard.name == name and judged.concern.answer is Answer.YES
            for remedy in judged.hazard.rows[0].remedies
            if remedy.is_edit
        }
        idle = {each.key for each in plan.settings.findings if each.status is Effect.NO_EFFECT}
        assert not changed & idle, (origin, target)


def test_what_stops_members_for_certain_has_a_remedy_that_a_plan_can_make():
    without = [row.name for row in HAZARDS if row.is_certain and not row.remedies]

    assert without == ["list-values-checked"]  # its key is what the configuration of the release refuses


@pytest.mark.unmeasured
def test_exactly_once_of_the_first_version_reaches_4_x_in_three_rounds():
    """The remedy was the switch that is too early before 2.6, and a second bounce that 4.1 cannot make."""
    too_early = "exactly-once-switched-too-early"
    plan = planned(values_of(EXACTLY_ONCE), "2.5", "4.1")
    last, _ = follow(EXACTLY_ONCE, RELEASES["2.5.1"], RELEASES["4.1.2"])

    assert [
        "before the next step, for members of 3.9.2: producer.transaction.timeout.ms=60000",
        'bounce every member to 3.9.2 with upgrade.from="2.5", one by one',
        "remove upgrade.from and bounce every member again, one by one",
        "bounce every member with processing.guarantee=exactly_once_v2, still as 3.9.2, one by one",
        "bounce every member to 4.1.2, one by one",
    ] == [str(step.do) for step in plan.advice.steps]
    assert ("3.9.2",) == plan.advice.via
    assert not {"exactly-once-removed", too_early} & harmful(last)
    assert "open: bounce every member of 3.9.2 again with the configuration of before" == str(
        plan.advice.steps[3].way_back
    )
    assert [{"kind": "round", "key": "processing.guarantee", "value": "exactly_once_v2"}] == plan.as_json()["steps"][3][
        "remedies"
    ]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("ends", "at"), [("3.5 4.1", ["3.5.2"]), ("2.3 4.1", ["3.9.2"]), ("2.8 4.1", ["3.9.2"]), ("4.3 2.5", ["3.9.2"])]
)
def test_a_round_is_made_on_a_release_of_the_way_or_else_on_the_newest_that_has_both_values(ends, at):
    guarantee = EXACTLY_ONCE if ends.endswith("4.1") else f"{EXACTLY_ONCE}_v2"
    steps = planned(values_of(guarantee), *ends.split()).advice.steps

    rounds = [step.do for step in steps if RemedyKind.ROUND in {remedy.kind for remedy in step.remedies}]

    assert at == [str(do).rpartition("still as ")[2].partition(",")[0] for do in rounds]


def test_a_group_that_stops_needs_no_round_of_its_own():
    application = PlannedApplication(settings=parse_settings(EXACTLY_ONCE, ".properties"))
    steps = plan_for(application, "2.5", "4.1", offline=True).advice.steps

    assert (
        "before the next step, for members of 4.1.2: processing.guarantee=exactly_once_v2, "
        "producer.transaction.timeout.ms=60000"
    ) == str(steps[0].do)
    assert 3 == len(steps)


def test_a_bridge_release_that_refuses_a_setting_is_named_and_the_setting_is_corrected_before_it():
    plan = planned(values_of("application.server=localhost"), "2.3", "4.4")

    assert "members of 3.9.2, a bridge release, do not start with application.server" in plan.reasons
    assert "before the next step, for members of 3.9.2: application.server corrected" == str(plan.advice.steps[0].do)


def test_the_new_name_of_a_value_needs_no_round_of_its_own():
    (step, _, _) = planned(values_of(f"{EXACTLY_ONCE}_beta"), "2.8", "4.1").advice.steps

    assert "before the next step, for members of 4.1.2: processing.guarantee=exactly_once_v2" == str(step.do)


def test_a_setting_that_is_refused_without_a_row_is_corrected_before_the_bounce():
    step = planned(values_of("num.standby.replicas=many"), "3.9", "4.3").advice.steps[0]

    assert "before the next step, for members of 4.3.1: num.standby.replicas corrected" == str(step.do)


def test_a_roll_makes_the_rounds_and_leaves_the_remedies_to_its_operator():
    advice = planned(values_of(EXACTLY_ONCE), "2.5", "4.1").advice

    assert ["3.9.2 with upgrade.from=2.5", "3.9.2", "4.1.2"] == [str(each.config) for each in group_rounds(advice)]
    assert all("exactly_once" not in each.text for each in group_rounds(advice))


# -- bugs: another release ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ends", "names"),
    [
        ("Topologies:\n   ", "2.4 2.8", {"topology-without-sources"}),
        ("Topologies:\n   ", "2.6 2.8", set()),
        (
            "Topologies:\n   Sub-topology: 0 for global store (will not generate tasks)\n"
            "    Source: S (topics: [a])\n      --> P\n    Processor: P (stores: [b])\n      --> none\n      <-- S\n",
            "2.4 2.5.0",
            {"kafka-9127"},
        ),
    ],
)
def test_a_topology_without_source_topics_is_named(text, ends, names):
    """An empty text was refused as another one, and is that of members that do not start."""
    plan = plan_for(PlannedApplication(topology=described_topology("T", text)), *ends.split())

    assert names == harmful(plan) & {"topology-without-sources", "kafka-9127"}
    assert bool(plan.reasons) == ("topology-without-sources" in names)


def remedies_of_bugs(ends, text=""):
    return {each.hazard.name: each.hazard.remedy for each in planned(values_of(text), *ends.split()).judged}


def test_the_remedy_of_a_bug_is_the_next_release_without_it_and_without_further_ones_of_the_application():
    """ "Take 2.8.1 or later" led into KAFKA-14278, which concerns the same applications."""
    found = remedies_of_bugs("2.3 2.4.0", EXACTLY_ONCE)

    assert "take 2.6.2" == found["kafka-10793"]
    assert "take 3.6.0, as 2.8.1 has another bug that concerns you" == found["kafka-12870"]


def test_a_bug_without_a_fixed_release_keeps_its_remedy():
    row = next(row for row in HAZARDS if RemedyKind.RELEASE in {each.kind for each in row.remedies})
    endless = evolve(row, targets=ReleaseRange((0, 1)))
    judged = judge_hazards([endless], [Application()])

    assert judged == with_fixed_releases(judged, [Application()], RELEASES["3.9.2"])
    assert isinstance(judged[0], JudgedHazard)
