"""Hazards that the tables of jars and POMs imply: their ranges are those of the tables, for every published release."""

import json
from functools import cache

import pytest

from streams_assignor.upgrade.application.class_file import ABSTRACT
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.dependencies import dependencies_of, java_level, natives_of
from streams_assignor.upgrade.application.environment import environment_of
from streams_assignor.upgrade.application.scala import scala_places
from streams_assignor.upgrade.application.stored import CODE, expand, place_of, stored_text
from streams_assignor.upgrade.hazards import HAZARDS
from streams_assignor.upgrade.releases import RELEASES

KAFKA = sorted((each for each in RELEASES.values() if each.is_released), key=lambda each: each.number)
ROWS = {row.name: row for row in HAZARDS}
STREAMS = "org/apache/kafka/streams/"
DISALLOWED = "org.apache.kafka.disallowed.login.modules"
STRING = "Ljava/lang/String;"
OBJECT = "Ljava/lang/Object;"
INTEGER = "Ljava/lang/Integer;"
RECORD = "Lorg/apache/kafka/clients/consumer/ConsumerRecord;"


def key(config, name):
    return lambda release: configuration_of(release).configs.get(config, {}).get(name)


def default(config, name, *values):
    return lambda release: (known := key(config, name)(release)) is not None and known.default in values


def accepts(config, name, value):
    """Whether a release has a key with a list of values, and a value among them."""

    def answer(release):
        known = key(config, name)(release)
        return bool(known and known.validator and value in known.validator.get("validStrings", ()))

    return answer


def refuses(config, name, value):
    def answer(release):
        known = key(config, name)(release)
        return bool(known and known.validator and value not in known.validator.get("validStrings", (value,)))

    return answer


def passes(client, name, value):
    """Whether Streams sets a key of a client."""
    return lambda release: configuration_of(release).overrides.get(client, {}).get(name) == value


def gone(present):
    """Whether a release lacks what an older one had."""
    return lambda release: not present(release) and any(present(each) for each in KAFKA if each.number < release.number)


@cache
def rows(owner):
    """The rows of a class of Streams as they are stored: member (empty for the class), descriptor, flags, places."""
    header, *lines = stored_text(CODE).split("\n")
    sets = [frozenset(expand(ranges)) for ranges in json.loads(header)]
    first = next(at for at, line in enumerate(lines) if line.startswith(f"{STREAMS}{owner} "))
    found = []
    for line in lines[first:]:
        name, *words, flags, number = line.split(" ")
        if name not in {"", STREAMS + owner}:
            return found
        member, descriptor = ("", "") if name else words
        found.append((member, descriptor, int(flags, 16), sets[int(number)]))
    raise AssertionError(owner)


def has_class(owner):
    return has_member(owner, "")


def has_member(owner, name, descriptor=None, *, abstract=False):
    """Whether a release declares a member, with any descriptor or with one."""

    def answer(release):
        place = place_of(release.name)
        return any(
            place in places
            and member == name
            and descriptor in {None, signature}
            and (not abstract or flags & ABSTRACT)
            for member, signature, flags, places in rows(owner)
        )

    return answer


def needs(artifact, library):
    return lambda release: any(each.name == library for each in dependencies_of(release, artifact))


def rocksdb_since(major):
    def answer(release):
        versions = [each.version for each in dependencies_of(release) if each.artifact == "rocksdbjni"]
        return int(versions[0].partition(".")[0]) >= major

    return answer


def runs_on(platform):
    return lambda release: platform in natives_of(release)["org.rocksdb:rocksdbjni"]


def no(fact):
    return lambda release: not fact(release)


def either(*facts):
    return lambda release: any(fact(release) for fact in facts)


def refuses_module(name):
    """The list of 4.2 and later is in its code, not in a default; it is that of 4.1."""

    def answer(release):
        found = environment_of(release)
        if "org.apache.kafka.allowed.login.modules" in found:
            return True
        return DISALLOWED in found and any(name in each for each in found[DISALLOWED].defaults)

    return answer


def allows_urls_by_list(release):
    found = environment_of(release).get("org.apache.kafka.sasl.oauthbearer.allowed.urls")
    return found is not None and found.defaults == ("",)


GUARANTEE = ("streams", "processing.guarantee")
V2 = accepts(*GUARANTEE, "exactly_once_v2")
TIMEOUT = default("consumer", "session.timeout.ms", "45000")
TARGETS = {
    "exactly-once-removed": refuses(*GUARANTEE, "exactly_once"),
    "exactly-once-v2-unknown": no(either(no(accepts(*GUARANTEE, "exactly_once_beta")), V2)),
    "exactly-once-beta-unknown": no(either(accepts(*GUARANTEE, "exactly_once_beta"), V2)),
    "session-timeout-45-s": TIMEOUT,
    "session-timeout-10-s": no(TIMEOUT),
    "names-removed-in-2.0": gone(key("streams", "key.serde")),
    "names-removed-in-3.0": gone(key("streams", "partition.grouper")),
    "names-removed-in-4.0": gone(key("streams", "retries")),
    "dns-lookup-default": refuses("consumer", "client.dns.lookup", "default"),
    "replication-factor-of-brokers": default("streams", "replication.factor", "-1"),
    "brokers-before-2.4": default("streams", "replication.factor", "-1"),
    "state-dir-of-2.8": lambda release: key("streams", "state.dir")(release).varies,
    "transaction-timeout-10-s": passes("producer (exactly once)", "transaction.timeout.ms", "10000"),
    "warmup-replicas": key("streams", "max.warmup.replicas"),
    "default-serdes-removed": default("streams", "default.key.serde", None),
    "tls-1.0": lambda release: "TLSv1" not in key("consumer", "ssl.enabled.protocols")(release).default,
    "tls-host-names": default("consumer", "ssl.endpoint.identification.algorithm", "https"),
    "zstd-unknown": no(needs("kafka-clients", "com.github.luben:zstd-jni")),
    "login-module-refused": refuses_module("JndiLoginModule"),
    "ldap-login-module-refused": refuses_module("LdapLoginModule"),
    "oauth-urls-refused": allows_urls_by_list,
    "list-values-checked": lambda release: (
        "isEmptyAllowed" in (key("consumer", "bootstrap.servers")(release).validator or {})
    ),
    "application-server-checked": lambda release: (
        (known := key("streams", "application.server")(release)) is not None and known.validator is not None
    ),
    "java-8": lambda release: java_level(release) == 8,
    "java-11": lambda release: java_level(release) == 11,
    "dependencies-of-3.0": gone(needs("kafka-streams", "org.apache.kafka:connect-json")),
    "classes-removed-in-2.0": gone(has_class("kstream/KStreamBuilder")),
    "classes-removed-in-3.0": gone(has_class("kstream/Serialized")),
    "deprecated-methods-removed-in-4.0": gone(has_member("kstream/KStream", "through")),
    "code-of-0.10.0": gone(has_member("kstream/KStream", "aggregateByKey")),
    "code-of-0.10.1": has_member("processor/TimestampExtractor", "extract", f"({RECORD}J)J"),
    "interfaces-of-2.0": gone(has_member("processor/StreamPartitioner", "partition", f"({OBJECT}{OBJECT}I){INTEGER}")),
    "rocksdb-config-setter-of-3.0": has_member(
        "state/RocksDBConfigSetter", "close", f"({STRING}Lorg/rocksdb/Options;)V", abstract=True
    ),
    "rocksdb-config-setter-of-4.0": rocksdb_since(9),
    "internal-task-assignor-class": gone(has_class("processor/internals/assignment/StickyTaskAssignor")),
    "native-library-of-3.0": runs_on("linux-x86_64-musl"),
    "native-library-before-2.6": no(runs_on("linux-aarch64")),
    "native-library-before-3.0": no(runs_on("linux-x86_64-musl")),
    "native-library-before-3.2": no(either(runs_on("linux-s390x"), runs_on("macos-aarch64"))),
    "max-poll-interval-5-min": gone(passes("main.consumer", "max.poll.interval.ms", "2147483647")),
}  # fmt: skip
"""What is a fact of the releases that a row leads to."""
ORIGINS = {
    "exactly-once-v2-unknown": V2,
    "max-poll-interval-5-min": passes("main.consumer", "max.poll.interval.ms", "2147483647"),
    "java-8": lambda release: java_level(release) < 8,
}
"""What is a fact of the releases that a row comes from, if it is not the opposite."""


def names(releases):
    return [each.name for each in releases]


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", TARGETS)
def test_a_row_leads_to_the_releases_of_the_tables(name):
    assert names(each for each in KAFKA if TARGETS[name](each)) == names(
        each for each in KAFKA if each in ROWS[name].targets
    )


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", TARGETS)
def test_a_row_comes_from_the_releases_of_the_tables(name):
    fact = ORIGINS.get(name, no(TARGETS[name]))

    assert names(each for each in KAFKA if fact(each)) == names(each for each in KAFKA if each in ROWS[name].origins)


def test_a_version_of_scala_ends_with_the_row():
    for scala, name in (("2.11", "scala-2.11"), ("2.12", "scala-2.12")):
        having = [KAFKA[place] for version, place in scala_places() if version == scala]
        assert all(each in ROWS[name].origins for each in having)
        assert having[-1].number[:2] < ROWS[name].targets.since
