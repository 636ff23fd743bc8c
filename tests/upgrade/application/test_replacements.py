"""The table of replacements beside what the jars have lost."""

from itertools import pairwise

import pytest

from streams_assignor.upgrade.application.api_diff import compare_api
from streams_assignor.upgrade.application.class_file import DEPRECATED
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.replacements import _PATTERNS, NUMBERS_KEPT, overloads, replacement
from streams_assignor.upgrade.application.scala import scala_versions
from streams_assignor.upgrade.releases import RELEASES

STREAMS = "org.apache.kafka.streams."
RELEASES_WITH_REMOVALS = ["1.1.1", "2.4.1", "2.8.2", "3.9.2", "4.4.0"]


def everything(release):
    return code_of(release, "2.13" if "2.13" in scala_versions(release) else "", with_tests=True)


@pytest.mark.unmeasured
def test_every_deprecated_member_that_a_release_removed_has_a_row():
    without, used = [], set()
    for before, after in pairwise(RELEASES_WITH_REMOVALS):
        old, new = (everything(RELEASES[name]) for name in (before, after))
        for each in compare_api(old, new):
            if each.change == "removed":
                known = old[each.owner]
                flags = known.members[each.member, each.descriptor] if each.member else 0
                used.add(replacement(each.text))
                if (flags | known.flags) & DEPRECATED and not replacement(each.text):
                    without.append((after, each.text))

    assert [] == without
    assert {found for _, found in _PATTERNS} <= used


@pytest.mark.parametrize(
    ("member", "instead"),
    [
        ("kstream.KStream#through(String)", "to(topic) and StreamsBuilder#stream(topic), or repartition()"),
        ("kstream.KStream#transformValues(ValueTransformerSupplier, String[])", "processValues"),
        ("kstream.KStream#transform(TransformerSupplier, String[])", "process(api.ProcessorSupplier)"),
        ("kstream.KStream#groupBy(KeyValueMapper, Serialized)", "Grouped"),
        ("kstream.KGroupedStream#count(Windows, String)", "Materialized"),
        ("processor.ProcessorSupplier", "the types of streams.processor.api"),
        ("KafkaStreams#close(long, TimeUnit)", "close(Duration)"),
        ("scala.Serdes", "streams.scala.serialization.Serdes"),
        ("scala.Serdes$#String()", "streams.scala.serialization.Serdes"),
        ("scala.kstream.KStream#branch(Seq)", "split().branch(...)"),
        ("scala.kstream.KStream#through(String, Produced)", "to(topic) and StreamsBuilder#stream(topic)"),
        ("scala.kstream.KStream#transform(TransformerSupplier, Seq)", "process(api.ProcessorSupplier)"),
        ("scala.kstream.KStream#transformValues(ValueTransformerSupplier, Named, Seq)", "processValues"),
        ("TopologyTestDriver#pipeInput(ConsumerRecord)", "createInputTopic(...) and TestInputTopic#pipeInput"),
        ("test.ConsumerRecordFactory#create(Object, Object)", "TopologyTestDriver#createInputTopic(...)"),
        ("processor.MockProcessorContext#forward(Object, Object, int)", "forward(key, value, To.child(name))"),
    ],
)
def test_a_removed_member_has_its_replacement(member, instead):
    found = replacement(STREAMS + member)

    assert found.instead.startswith(instead)
    assert found.source.startswith("KIP-")


def test_the_text_says_what_becomes_of_numbers():
    found = replacement(f"{STREAMS}kstream.KStream#branch(Predicate[])")

    assert f"use split().branch(...); {NUMBERS_KEPT}, with as many branches" == found.text
    assert {
        "instead": "split().branch(...)",
        "numbers": f"{NUMBERS_KEPT}, with as many branches",
        "also": None,
        "source": "KIP-418",
    } == found.as_json()


def test_what_is_not_known_has_none():
    assert replacement("org.apache.kafka.streams.KafkaStreams#start()") is None


def test_methods_with_the_same_name_are_candidates():
    code = code_of(RELEASES["4.4.0"])

    assert "close(Duration)" in [*overloads(code, "org/apache/kafka/streams/KafkaStreams", "close")]
    assert [] == [*overloads(code, "org/apache/kafka/Gone", "close")]
