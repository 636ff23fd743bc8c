"""Readers of texts and records from outside: twice the worst input is about twice the work."""

import io

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.codec import decode_assignment, decode_subscription
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.upgrade.application.api_diff import member_text
from streams_assignor.upgrade.application.bytecode import callers_lines
from streams_assignor.upgrade.application.setting_forms import parse_dockerfile
from streams_assignor.upgrade.application.value_flow import signature
from tests.assignor.groups.history.segments import GZIP, NONE, Pair, batch
from tests.lab.fuzz.files import READERS
from tests.work import growth

LINEAR = 2.3
PLAN = READERS["journal"].seeds[0]


def repeated(text, before=b""):
    return lambda count: before + text * count


def anchors(count):
    """Each line has the one before it twice: what it is worth doubles."""
    lines = ["a0: &a0 [x]", *(f"a{line}: &a{line} [*a{line - 1}, *a{line - 1}]" for line in range(1, count))]
    return "\n".join(lines).encode()


def keys(count):
    return "".join(f"spring.kafka.streams.properties.a{key}: ${{a{key + 1}:x}}\n" for key in range(count)).encode()


def documents(count):
    return b"".join(
        b"---\nspring.config.activate.on-profile: p%d\nkafka-streams.a: 1\n" % number for number in range(count)
    )


def nested(count):
    return b"[" * count + b"]" * count


def nodes(count):
    names = ", ".join(f"topic-{number}" for number in range(count))
    return f"Topologies:\n Sub-topology: 0\n  Source: S (topics: [{names}])\n   --> none\n".encode()


def dangling(count):
    return b"Topologies:\n Sub-topology: 0\n" + b"  Source: S (topics: [t])\n   --> a, b\n" * count


SUBSCRIPTION = b"\0\0\0\3\0\0\0\3" + bytes(16)


def tasks(count):
    return SUBSCRIPTION + count.to_bytes(4, "big") + bytes(8) * count + bytes(8)


def stated(count):
    """Counts far above what there is."""
    return SUBSCRIPTION + b"\x7f\xff\xff\xff" + bytes(8) * count


def records(codec):
    return lambda count: batch([Pair(b"k", b"v")] * count, codec=codec)


def gaps(count):
    return (batch([Pair(b"k", b"v")]) + b"\0junk") * count


def read_segment(content):
    return [*SegmentReader().records(io.BytesIO(content))]


YAML, PROPERTIES, TOPOLOGY, JOURNAL = (READERS[name].read for name in ("yaml", "properties", "topology", "journal"))
CASES = {
    "anchors": (YAML, anchors, 20),
    "keys of YAML": (YAML, keys, 40),
    "documents": (YAML, documents, 10),
    "brackets of YAML": (YAML, nested, 40),
    "indented documents": (YAML, repeated(b"a:\n" + b" " * 20 + b"b: 1\n---\n"), 20),
    "continued lines": (PROPERTIES, repeated(b"\\\n", b"a="), 200),
    "blanks": (PROPERTIES, repeated(b" \t", b"a"), 200),
    "escapes": (PROPERTIES, repeated(b"\\u0041", b"a="), 200),
    "nested placeholders": (PROPERTIES, repeated(b"${a:", b"kafka-streams.acks="), 40),
    "keys of properties": (PROPERTIES, keys, 40),
    "topics": (TOPOLOGY, nodes, 40),
    "nodes": (TOPOLOGY, dangling, 40),
    "records of a journal": (JOURNAL, repeated(b'{"record":"resumed"}\n', PLAN), 40),
    "brackets of a journal": (JOURNAL, repeated(b"[", PLAN), 100),
    "tasks": (decode_subscription, tasks, 200),
    "more tasks than bytes": (decode_subscription, stated, 200),
    "more assigned than bytes": (decode_assignment, stated, 200),
    "records": (read_segment, records(NONE), 60),
    "compressed records": (read_segment, records(GZIP), 60),
    "gaps": (read_segment, gaps, 60),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", CASES)
def test_the_work_grows_with_the_bytes(case):
    assert growth(*CASES[case]) < LINEAR


def of_settings(text):
    def read(folder):
        (folder / "c.properties").write_text(text)
        return CliRunner().invoke(cli, ["plan", "3.9", "4.3", "--config", str(folder / "c.properties")]).exit_code < 2

    return read


LONG = 100_000
OF_PATTERNS = {
    "digits of a number": of_settings(f"producer.sasl.login.refresh.window.factor={'1' * LONG}x\n"),
    "blanks in a list": of_settings(f"bootstrap.servers=a{' ' * LONG}b\n"),
    "an address": of_settings(f"processing.guarantee={'://' * LONG}\n"),
    "a placeholder without an end": lambda _: PROPERTIES(b"kafka-streams.acks=${" + b"a" * LONG),
    "a variable without a value": lambda _: [*parse_dockerfile(f"FROM x\nENV {'a' * LONG}")],
    "continued lines of an image": lambda _: [*parse_dockerfile("FROM x\n" + "ENV a=\\\n" * LONG)],
    "lines of Kotlin": lambda _: [] == callers_lines(f"*S KotlinDebug\n*F\n*L\n{'1' * LONG}\n*E"),
    "parts of Kotlin": lambda _: [] == callers_lines("*S KotlinDebug\n*F\n" * LONG),
    "brackets of a type": lambda _: "f()" == member_text("f", f"({'[' * LONG})V"),
    "names of types": lambda _: "f(" == member_text("f", f"({'L' * LONG})V")[:2],
    "brackets of a signature": lambda _: () == signature(f"({'[' * LONG})V").parameters,
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", OF_PATTERNS)
def test_a_pattern_reads_a_long_text_once(case, tmp_path):
    """No counter sees the work of patterns: each took minutes, or hours, when it began anew at each character."""
    assert OF_PATTERNS[case](tmp_path)
