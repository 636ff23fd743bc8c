"""Predicted errors beside those of Java: classes compiled against one release are run on the jars of another."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.linkage import check_references
from streams_assignor.upgrade.releases import RELEASES
from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm
from tests.matrix import with_matrix

pytestmark = [pytest.mark.java, pytest.mark.slow]

LINKER = Path(__file__).parent / "java" / "Linker.java"
HEAD = """\
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;
import org.apache.kafka.streams.state.*;
"""
SNIPPETS = {
    "Through": "KStream<Object, Object> s = null; s.through(null);",
    "Transform": "KStream<Object, Object> s = null; ValueTransformerSupplier<Object, Object> t = null; "
    "s.transformValues(t);",
    "Branch": "KStream<Object, Object> s = null; s.branch();",
    "Grouping": "KStream<Object, Object> s = null; s.groupByKey();",
    "Handler": "KafkaStreams s = null; s.setUncaughtExceptionHandler((Thread.UncaughtExceptionHandler) null);",
    "Close": "KafkaStreams s = null; s.close();",
    "Offsets": "Producer<Object, Object> p = null; p.sendOffsetsToTransaction(null, (String) null);",
    "Poll": "org.apache.kafka.clients.consumer.Consumer<Object, Object> c = null; c.poll(1L);",
    "Commit": "org.apache.kafka.clients.consumer.Consumer<Object, Object> c = null; c.commitSync();",
    "Checksum": "ConsumerRecord<Object, Object> r = null; r.timestamp(); Object o = r.offset();",
    "Constant": 'Object o = StreamsConfig.class; String s = new String("" + Topology.AutoOffsetReset.EARLIEST);',
    "Joined": "TimeWindows.of(java.time.Duration.ofMillis(1)).size();",
    "Record": 'new ConsumerRecord<>("t", 0, 0L, null, null);',
    "Serde": "Serdes.String();",
    "Lambda": "KStream<Object, Object> s = null; Predicate<Object, Object> p = (k, v) -> true; p.test(1, 2);",
    "Field": "Object o = new TaskId(0, 0).partition;",
    "Mapper": "ValueMapper<Object, Object> m = v -> v; m.apply(1);",
}
TYPES = {
    "Extractor": "implements TimestampExtractor { public long extract(ConsumerRecord<Object, Object> r, long t) "
    "{ return 0; }",
    "Setter": "implements RocksDBConfigSetter { public void setConfig(String n, org.rocksdb.Options o, "
    "Map<String, Object> c) { }",
    "Listener": "implements ConsumerRebalanceListener { public void onPartitionsRevoked(Collection<"
    "org.apache.kafka.common.TopicPartition> p) { } public void onPartitionsAssigned(Collection<"
    "org.apache.kafka.common.TopicPartition> p) { }",
    "Partitioned": "implements StreamPartitioner<Object, Object> { public Integer partition(String t, Object k, "
    "Object v, int n) { return 0; }",
    "Mocked": "extends MockConsumer<Object, Object> { public Mocked() { super(OffsetResetStrategy.EARLIEST); }",
}
PAIRS = [("2.8.2", "4.3.1"), ("2.8.2", "3.0.2"), ("2.4.1", "2.8.2"), ("3.4.1", "4.0.1"), ("3.9.2", "4.0.1")]
PAIRS += [("3.9.2", "4.4.0"), ("2.4.1", "4.4.0"), ("3.0.2", "3.9.2"), ("2.6.3", "3.2.3"), ("4.4.0", "3.9.2")]
PAIRS += [("3.2.3", "4.3.1"), ("2.8.2", "2.4.1")]
LEFT_OUT = {
    "4.4.0": {
        "Field",
        "Through",
        "Transform",
        "Branch",
        "Handler",
        "Offsets",
        "Poll",
        "Joined",
        "Setter",
        "Partitioned",
    }
}
"""What a release cannot compile."""


@pytest.mark.parametrize(("origin", "target"), with_matrix(PAIRS, PAIRS[:2], "a further pair of releases"))
def test_java_raises_what_was_predicted_and_nothing_else(origin, target, tmp_path):
    try:
        java()
        jars, others = (class_path(f"org.apache.kafka:kafka-streams:{name}") for name in (origin, target))
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    left_out = LEFT_OUT.get(origin, {"Setter"} if origin.startswith("3.") else set())
    sources, names = [], []
    for name, body in {**SNIPPETS, **TYPES}.items():
        if name not in left_out:
            text = (
                f"{{ public static void run() {{ {body} }} }}"
                if name in SNIPPETS
                else f"{body} public static void run() {{ }} }}"
            )
            sources.append(tmp_path / f"{name}.java")
            sources[-1].write_text(f"{HEAD}public class {name} {text}\n")
            names.append(name)
    classes = tmp_path / "classes"
    compile_java(sources, str(classes), jars)
    compile_java([LINKER], str(tmp_path / "linker"))
    command = jvm(os.pathsep.join((str(tmp_path / "linker"), str(classes), others)), "256m", "off")
    done = subprocess.run([*command, "Linker", *names], capture_output=True, text=True, timeout=300)
    assert 0 == done.returncode, done.stderr
    with Archives([classes]) as archives:
        old, new = (code_of(RELEASES[name]) for name in (origin, target))
        report = check_references(archives.classes, old, new, archives.find)
    predicted = {
        (each.name.partition("$")[0], problem.error, in_message(problem))
        for problem in report.problems
        for each in problem.referred_by
    }

    said = (line.split("\t", 2) for line in done.stdout.splitlines())
    assert {(name, error, named_by_java(error, message)) for name, error, message in said} == predicted


def in_message(problem):
    """Java names the class that is missing, of a field its name alone, and of a method its class too."""
    owner = problem.owner.replace("/", ".")
    if problem.error == "NoSuchFieldError":
        return problem.member
    return f"{owner}.{problem.member}" if problem.member else owner


def named_by_java(error, message):
    if error == "NoClassDefFoundError":
        return message.replace("/", ".")
    if error == "IllegalAccessError" and (field := re.search(r"tried to access \w+ field ([\w.$]+)", message)):
        return field[1]
    called = re.search(r"([\w.$]+\.[\w$<>]+)\(", message)
    return called[1] if called else message
