"""Keys whose effect changes while name and value stay: what members of neighbouring releases make of a setting.

Every key of any release is set, alone. `Made.java` prints the configurations and the plugins of each client of a
member. A setting has an effect where they differ from those of a member without it.
"""

from functools import cache
from itertools import pairwise

import pytest

from streams_assignor.upgrade.application.configuration import CONFIGS, configuration_of
from streams_assignor.upgrade.application.setting_names import PREFIXES
from streams_assignor.upgrade.application.settings import Effect
from streams_assignor.upgrade.hazards import HAZARDS, Answer
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES
from tests.upgrade.java_program import STARTED, jars_of, lines_of
from tests.upgrade.test_remedies import BASE, planned

pytestmark = [pytest.mark.java, pytest.mark.slow]

MADE = STARTED.parents[2] / "java/Made.java"
LINES = {line: each.name for line, each in NEWEST_OF_LINE.items() if each.is_released and each.number >= (1, 0)}
KAFKA = "org.apache.kafka."
PARTITIONERS = [f"{KAFKA}clients.producer.{name}" for name in ("RoundRobinPartitioner", "UniformStickyPartitioner")]
CLASSES = {
    "metric.reporters": ["Made$Reporter"],
    "partitioner.class": ["Made$First", *PARTITIONERS, f"{KAFKA}clients.producer.internals.DefaultPartitioner"],
    "default.key.serde": [f"{KAFKA}common.serialization.Serdes$StringSerde"],
    "default.value.serde": [f"{KAFKA}common.serialization.Serdes$StringSerde"],
    "default.list.key.serde.type": ["java.util.ArrayList"],
    "default.deserialization.exception.handler": [f"{KAFKA}streams.errors.LogAndContinueExceptionHandler"],
    "deserialization.exception.handler": [f"{KAFKA}streams.errors.LogAndContinueExceptionHandler"],
    "processing.exception.handler": [f"{KAFKA}streams.errors.LogAndContinueProcessingExceptionHandler"],
    "default.timestamp.extractor": [f"{KAFKA}streams.processor.WallclockTimestampExtractor"],
    "dsl.store.suppliers.class": [f"{KAFKA}streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"],
    "partition.assignment.strategy": [f"{KAFKA}clients.consumer.RoundRobinAssignor"],
}
"""Values of keys that name classes; another such key is not set."""
REFUSED, NONE = "member refused", "(none)"
TOLD = {Effect.REFUSED, Effect.REMOVED, Effect.NO_EFFECT, Effect.MEANING, Effect.NEEDS}
TESTED = {
    "reporters-without-jmx": ("metric.reporters=Made$Reporter", f"{KAFKA}common.metrics.JmxReporter", None, NONE),
    "static-members-of-2.3": ("group.instance.id=x", "group.instance.id", None, "x-1"),
}
"""The setting of a row, and what it changes of the main consumer in both of its releases."""
IN_NO_GROUP = "the restore consumer is in no group"
NAMES = "the restore consumer is named after the state updater, in logs and metrics"
REASONS = {
    ("1.1", "retries"): "Streams has it for its own calls, too",
    ("2.5", "default.api.timeout.ms"): "the admin client has it, too",
    ("2.5", "transactional.id"): "Streams sets it where it is needed; alone it makes a producer idempotent",
    ("2.6", "consumer.group.instance.id"): IN_NO_GROUP,
    ("2.6", "group.instance.id"): IN_NO_GROUP,
    ("2.6", "restore.consumer.group.instance.id"): IN_NO_GROUP,
    ("3.2", "default.dsl.store"): "only a StreamsBuilder with a TopologyConfig reads it",
    ("3.8", "group.protocol"): "a preview of consumers, for which 4.0 sets classic",
    ("4.0", "client.id"): NAMES,
    ("4.0", "metadata.recovery.strategy"): "Streams has it, too, with the values of its clients",
    ("4.0", "num.stream.threads"): NAMES,
    ("4.1", "group.protocol"): "Streams has it, too; classic is its default",
    ("4.4", "client.rack"): "the producer has it, too; partitioner.rack.aware, which reads it, is off by default",
}
"""The keys of which a plan tells nothing, by the first line with another effect, each with the reason."""
OTHERS = (
    "application.id",
    "bootstrap.servers",
    "config.providers",
    "sasl.",
    "security.",
    "ssl.",
    "state.dir",
    "upgrade.",
)
"""Keys that are not set: of the member itself, of connections that nobody makes here, and the rounds of an upgrade."""
WITH_PREFIXES = ("auto.offset.reset", "client.id", "group.instance.id", "interceptor.classes", "isolation.level")
WITH_PREFIXES += ("max.poll.records", "metric.reporters", "partitioner.class", "request.timeout.ms", "retries")


def values_of(config, key, known):
    """Values other than the default: all of a list, or one."""
    if key == "interceptor.classes":
        return [f"Made$Of{config.title()}"]
    allowed = [value for value in (known.validator or {}).get("validStrings", ()) if value is not None]
    if key in CLASSES or allowed:
        return CLASSES.get(key, [value for value in allowed if value != known.default])
    if known.type == "BOOLEAN":
        return ["false" if known.default == "true" else "true"]
    if known.type in {"INT", "LONG", "SHORT", "DOUBLE"}:
        default = known.default if str(known.default).lstrip("-").isdigit() else "7"
        return [str(int(default) // 2 or 2)]
    return [] if known.type == "CLASS" else ["x"]


@cache
def settings():
    found = {}
    for config in CONFIGS:
        for release in reversed(LINES.values()):
            for key, known in configuration_of(RELEASES[release]).configs.get(config, {}).items():
                if not key.startswith(OTHERS):
                    found.setdefault((config, key), values_of(config, key, known))
    plain = [f"{key}={value}" for (_, key), values in found.items() if key != "interceptor.classes" for value in values]
    prefixed = [
        f"{prefix}{key}={value}"
        for (config, key), values in found.items()
        for prefix, client in PREFIXES.items()
        if key in WITH_PREFIXES and client == config
        for value in values
    ]
    return tuple(dict.fromkeys(("", *plain, *prefixed)))


@cache
def made(release, folder):
    """Each setting of a member, by client and name; of no setting all, of another what differs from that."""
    questions = folder / f"settings-{release}"
    questions.write_text("\n".join(settings()) + "\n")
    found = {}
    for line in lines_of(MADE, jars_of(release), questions):
        setting, name, value = line.split("\t")
        found.setdefault(setting, {})[name] = value
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


def differences(setting, before, after):
    """The differences between both releases with a setting, of the values that it changes in one of them."""
    effects, bases = [made.get(setting, {}) for made in (before, after)], [before[""], after[""]]
    clients = [{name.split()[0] for name in base} for base in bases]
    for name in {**effects[0], **effects[1]}:
        values = [effect.get(name, base.get(name, NONE)) for effect, base in zip(effects, bases, strict=True)]
        if values[0] != values[1] and all(name.split()[0] in known for known in clients):
            yield name, *values
    if REFUSED in effects[1]:
        yield REFUSED, NONE, effects[1][REFUSED]


@cache
def concerning(text, *ends):
    """The hazards and reasons of a file, and the keys of which the plan says more than that they are fine."""
    plan = planned(dict(line.split("=", 1) for line in text.splitlines()), *ends)
    names = {name for each in plan.judged if each.concern.answer is Answer.YES for name in each.hazard.names}
    return names | {*plan.reasons}, {finding.key for finding in plan.settings.findings if finding.status in TOLD}


def is_told(setting, *ends):
    names, keys = concerning(f"{BASE}{setting}\n", *ends)
    return bool(names - concerning(BASE, *ends)[0]) or setting.partition("=")[0] in keys


@pytest.mark.parametrize("name", TESTED)
def test_a_row_says_what_a_setting_changes(name, folder):
    (row,) = (row for row in HAZARDS if row.name == name)
    setting, what, *values = TESTED[name]

    assert values == [made(release, folder).get(setting, {}).get(f"main.consumer {what}") for release in row.seen]


@pytest.mark.parametrize(("old", "new"), [*pairwise(LINES)])
def test_a_plan_tells_of_each_setting_whose_effect_changes(old, new, folder):
    ends = LINES[old], LINES[new]
    before, after = (made(release, folder) for release in ends)
    of_both = [each for each in settings()[1:] if REFUSED not in before.get(each, {})]  # a group of FROM can have it
    changed = {each: found for each in of_both if (found := [*differences(each, before, after)])}
    untold = {(new, each.partition("=")[0]): found for each, found in changed.items() if not is_told(each, *ends)}

    assert {place: found for place, found in untold.items() if place not in REASONS} == {}
    assert {place for place in REASONS if place[0] == new} == untold.keys()
