"""Programs for one release that are started on the jars of another: what fails is what was predicted."""

import os
from pathlib import Path

import pytest

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.class_file import ABSTRACT, FINAL, INTERFACE, PUBLIC
from streams_assignor.upgrade.application.code import JAVA, code_of, is_public
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.linkage import check_references
from streams_assignor.upgrade.application.pinned import mixed_artifacts
from streams_assignor.upgrade.application.setting_files import kafka_settings
from streams_assignor.upgrade.application.setting_forms import Entry
from streams_assignor.upgrade.application.settings import Effect, judge_settings
from streams_assignor.upgrade.releases import RELEASES
from tests.matrix import with_matrix
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_linkage_java import PAIRS
from tests.upgrade.java_program import STARTED, jars_of, lines_of

pytestmark = [pytest.mark.java, pytest.mark.slow]

FAIL = b"\x01\xbf"  # aconst_null, athrow
SETTINGS = {
    "processing.guarantee": ("exactly_once", "exactly_once_beta", "exactly_once_v2", "at_least_once", "sometimes"),
    "upgrade.from": ("2.3", "2.8", "3.4", "4.0", "9.9"),
    "num.stream.threads": ("2", "many"),
    "metrics.recording.level": ("INFO", "TRACE", "LOUD"),
    "security.protocol": ("PLAINTEXT", "NONE"),
    "main.consumer.auto.offset.reset": ("latest", "sometime"),
    "consumer.max.poll.records": ("10", "0"),
    "producer.acks": ("all", "2"),
    "producer.compression.type": ("zstd", "rar"),
    "retries": ("10",),
    "built.in.metrics.version": ("latest", "0.10.0-2.4"),
    "topology.optimization": ("all", "none", "some"),
}


def abstract_methods(code, name):
    """All methods that an interface asks for, of its supertypes too."""
    known = code[name]
    found = {member for member, flags in known.members.items() if flags & ABSTRACT}
    return found.union(*(abstract_methods(code, each) for each in known.interfaces if each in code))


@pytest.mark.parametrize(("origin", "target"), with_matrix(PAIRS, PAIRS[:2], "a further pair of releases"))
def test_an_implementation_of_each_public_interface_misses_what_was_predicted(origin, target, tmp_path):
    """A wrapping consumer of a tracing library is one of them: AbstractMethodError, and of which method."""
    old, new = (code_of(RELEASES[name]) for name in (origin, target))
    lines = []
    for number, (name, known) in enumerate(sorted(old.items())):
        if not known.flags & INTERFACE or known.artifact == JAVA or not (is_public(name) and known.flags & PUBLIC):
            continue
        if any(each not in old for each in known.interfaces):
            continue  # AuthenticateCallbackHandler extends one of javax
        written = ClassBytes(f"I{number}", interfaces=[name])
        written.method(
            "<init>", code=b"\x2a\xb7" + written.member("java/lang/Object", "<init>", "()V").to_bytes(2) + b"\xb1"
        )
        for member, descriptor in sorted(abstract_methods(old, name)):
            written.method(member, descriptor, code=FAIL)
        (tmp_path / f"I{number}.class").write_bytes(written.bytes())
        lines.append(f"I{number} {name.replace('/', '.')}")
    questions = tmp_path / "interfaces"
    questions.write_text("\n".join(lines))
    with Archives([tmp_path]) as archives:
        report = check_references(archives.classes, old, new, archives.find)
    predicted = {
        f"{each.name} {problem.member}{problem.descriptor}"
        for problem in report.problems
        for each in problem.referred_by
        if problem.error == "AbstractMethodError"
    }

    assert len(lines) > 50
    assert predicted == {*lines_of(STARTED, jars_of(target), "implement", questions, beside=[tmp_path])}


@pytest.mark.parametrize(("origin", "target"), with_matrix(PAIRS, PAIRS[:2], "a further pair of releases"))
def test_a_member_refuses_the_settings_that_were_predicted(origin, target, tmp_path):
    lines = [f"{key}={value}" for key, values in SETTINGS.items() for value in values]
    questions = tmp_path / "settings"
    questions.write_text("\n".join(lines))
    old, new = (RELEASES[name] for name in (origin, target))
    predicted, undecided = set(), set()
    for line in lines:
        key, _, value = line.partition("=")
        settings = kafka_settings([Entry(key, value, 1)])
        report = judge_settings(settings, configuration_of(old), configuration_of(new), code_of(new))
        for each in report.findings:
            if each.status is Effect.REFUSED:
                predicted.add(f"{key}={each.text.partition('; ')[0]}")
            elif each.status is Effect.UNDECIDED:
                undecided.add(key)  # Kafka checks topology.optimization with code of its own
    refused = {*lines_of(STARTED, jars_of(target), "settings", questions)}

    assert predicted == {each for each in refused if each.partition("=")[0] not in undecided}
    assert undecided <= {"topology.optimization", "main.consumer.auto.offset.reset"}


MIXED = [("4.4.0", "3.6.2"), ("4.4.0", "3.9.2"), ("4.4.0", "4.0.1"), ("3.9.2", "2.8.2"), ("3.9.2", "3.4.1")]
MIXED += [("3.9.2", "3.9.1"), ("2.8.2", "2.4.1"), ("2.8.2", "3.0.2"), ("3.4.1", "3.9.2"), ("4.0.1", "3.9.2")]
MIXED += [("3.9.2", "4.0.1"), ("4.4.0", "4.3.1")]


@pytest.mark.parametrize(("streams", "clients"), with_matrix(MIXED, MIXED[:2], "a further pair of releases"))
def test_a_member_with_a_pinned_kafka_clients_misses_what_was_predicted(streams, clients):
    """It starts and is closed: the first reference that fails ends it."""
    jars = {
        name: next(each for each in jars_of(release).split(os.pathsep) if f"/{name}-" in each)
        for name, release in (("kafka-streams", streams), ("kafka-clients", clients))
    }
    others = [each for each in jars_of(streams).split(os.pathsep) if "/kafka-" not in each]
    lines = lines_of(STARTED, os.pathsep.join((*jars.values(), *others)), "member")
    with Archives([*map(Path, jars.values())]) as archives:
        predicted = mixed_artifacts(archives).problems
    for line in lines:
        error, _, message = line.partition("\t")
        dotted = message.replace("/", ".")
        assert any(_is_about(each, error, dotted) for each in predicted), line
    assert predicted or not lines


def _is_about(problem, error, message):
    """Whether an error is the one that was predicted; Java may miss a class in the descriptor of a member first."""
    if error == "NoClassDefFoundError" and message in problem.descriptor.replace("/", "."):
        return True
    return error == problem.error and problem.owner.replace("/", ".") in message and problem.member in message


def test_a_class_that_was_extended_and_is_final_now_cannot_be_loaded(tmp_path):
    old, new = (code_of(RELEASES[name]) for name in ("2.8.2", "4.4.0"))
    name = "org/apache/kafka/common/metrics/Metrics"
    (tmp_path / "Mine.class").write_bytes(ClassBytes("Mine", name).bytes())
    with Archives([tmp_path]) as archives:
        (problem,) = check_references(archives.classes, old, new, archives.find).new_problems

    assert (name, "IncompatibleClassChangeError") == (problem.owner, problem.error)
    assert new[name].flags & FINAL
    questions = tmp_path / "interfaces"
    questions.write_text("Mine java.lang.Runnable")
    with pytest.raises(AssertionError, match="class Mine cannot inherit from final class"):
        lines_of(STARTED, jars_of("4.4.0"), "implement", questions, beside=[tmp_path])
