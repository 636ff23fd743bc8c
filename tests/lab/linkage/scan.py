"""What ``plan --app`` reports of a published library, and what Java says: its linker, and a run of the constructors."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.class_file import THROWS, Reference, ReferenceKind
from streams_assignor.upgrade.application.code import Code, classes_of_any_release, code_of
from streams_assignor.upgrade.application.linkage import LinkageReport, check_references
from streams_assignor.upgrade.releases import RELEASES
from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, cache_folder, class_path, java, jvm
from tests.lab.linkage.probes import Probe, probes_of
from tests.lab.releases.artifacts import Artifact, copy_artifacts

TARGETS: Final = ("3.0.2", "3.9.2", "4.0.1", "4.4.0")
ARTIFACTS: Final = (
    "com.bakdata.kafka:streams-bootstrap-core:3.0.1",
    "com.github.jcustenborder.kafka.connect:connect-utils:0.7.177",
    "com.typesafe.akka:akka-stream-kafka_2.13:2.1.1",
    "com.typesafe.akka:akka-stream-kafka_2.13:3.0.1",
    "io.apicurio:apicurio-registry-serdes-avro-serde:2.6.5.Final",
    "io.cloudevents:cloudevents-kafka:2.5.0",
    "io.confluent.parallelconsumer:parallel-consumer-core:0.5.3.0",
    "io.debezium:debezium-core:2.7.3.Final",
    "io.kcache:kcache:4.0.11",
    "io.micrometer:micrometer-core:1.5.17",
    "io.micrometer:micrometer-core:1.9.17",
    "io.micrometer:micrometer-core:1.13.6",
    "io.micronaut.kafka:micronaut-kafka-streams:5.7.0",
    "io.opentelemetry.instrumentation:opentelemetry-kafka-clients-2.6:1.32.0-alpha",
    "io.opentelemetry.instrumentation:opentelemetry-kafka-clients-2.6:2.10.0-alpha",
    "io.opentelemetry.javaagent:opentelemetry-javaagent:2.10.0",
    "io.opentracing.contrib:opentracing-kafka-client:0.1.15",
    "io.opentracing.contrib:opentracing-kafka-streams:0.1.15",
    "io.projectreactor.kafka:reactor-kafka:1.2.5.RELEASE",
    "io.projectreactor.kafka:reactor-kafka:1.3.11",
    "io.projectreactor.kafka:reactor-kafka:1.3.23",
    "io.quarkus:quarkus-kafka-client:2.16.12.Final",
    "io.quarkus:quarkus-kafka-streams:2.16.12.Final",
    "io.quarkus:quarkus-kafka-streams:3.33.2",
    "io.smallrye.reactive:smallrye-reactive-messaging-kafka:3.22.0",
    "io.smallrye.reactive:smallrye-reactive-messaging-kafka:4.25.0",
    "io.strimzi:kafka-oauth-client:0.15.0",
    "io.vertx:vertx-kafka-client:4.2.7",
    "io.vertx:vertx-kafka-client:4.5.10",
    "io.zipkin.brave:brave-instrumentation-kafka-clients:5.12.7",
    "io.zipkin.brave:brave-instrumentation-kafka-clients:5.16.0",
    "io.zipkin.brave:brave-instrumentation-kafka-clients:6.0.3",
    "io.zipkin.brave:brave-instrumentation-kafka-streams:5.12.7",
    "io.zipkin.brave:brave-instrumentation-kafka-streams:6.0.3",
    "org.apache.beam:beam-sdks-java-io-kafka:2.60.0",
    "org.apache.camel:camel-kafka:3.21.0",
    "org.apache.camel:camel-kafka:4.8.1",
    "org.apache.flink:flink-connector-kafka:3.3.0-1.20",
    "org.apache.flink:flink-connector-kafka_2.12:1.14.6",
    "org.apache.logging.log4j:log4j-core:2.17.2",
    "org.apache.pekko:pekko-connectors-kafka_2.13:1.0.0",
    "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.3",
    "org.apache.storm:storm-kafka-client:2.6.0",
    "org.axonframework.extensions.kafka:axon-kafka:4.6.0",
    "org.springframework.cloud:spring-cloud-stream-binder-kafka-streams:3.0.13.RELEASE",
    "org.springframework.cloud:spring-cloud-stream-binder-kafka-streams:3.2.9",
    "org.springframework.cloud:spring-cloud-stream-binder-kafka-streams:4.0.4",
    "org.springframework.cloud:spring-cloud-stream-binder-kafka-streams:5.0.4",
    "org.springframework.integration:spring-integration-kafka:5.5.20",
    "org.springframework.integration:spring-integration-kafka:6.3.5",
    "org.springframework.kafka:spring-kafka:2.2.14.RELEASE",
    "org.springframework.kafka:spring-kafka:2.5.17.RELEASE",
    "org.springframework.kafka:spring-kafka:2.7.14",
    "org.springframework.kafka:spring-kafka:2.8.11",
    "org.springframework.kafka:spring-kafka:2.9.13",
    "org.springframework.kafka:spring-kafka:3.0.17",
    "org.springframework.kafka:spring-kafka:3.3.9",
    "org.springframework.kafka:spring-kafka:4.0.4",
    "org.springframework.kafka:spring-kafka-test:2.8.11",
    "software.amazon.msk:aws-msk-iam-auth:2.2.0",
)
"""Libraries that use Kafka Streams or wrap Kafka's clients, in several versions."""
_SOURCES: Final = tuple(Path(__file__).parent / "java" / f"{name}.java" for name in ("Probes", "Constructors"))
_KAFKA: Final = "org/apache/kafka/"
_SECONDS: Final = 600
_THROWN: Final = "UnsupportedOperationException"
_ABSTRACT: Final = "AbstractMethodError"
_NAME: Final = r"(org\.apache\.kafka\.[\w.$]+?)"
_OWNER: Final = re.compile(
    rf"^{_NAME}$|of interface {_NAME}\.?$|'(?:[^ '(]+ )*{_NAME}\.[\w$<>]+\(|(?:interface|class) {_NAME}[, ]"
)
"""The class of Kafka's in a message: a class that is missing or of another kind, or the owner of a method."""
Failure = tuple[str, str]
"""What fails, and with which error."""


def scan(artifacts: Sequence[str], target: str) -> Iterator[dict[str, Any]]:
    """Yield the result of each artifact on the jars of a release.

    Raises:
        Unavailable: There is no Java, or Maven does not get the jars.
    """
    java()
    folder = cache_folder() / "linkage"
    wanted = [Artifact(*each.split(":")) for each in artifacts]
    copy_artifacts(wanted, folder)
    kafka = class_path(f"org.apache.kafka:kafka-streams:{target}")
    with tempfile.TemporaryDirectory(prefix="linkage-") as name:
        scratch = Path(name)
        libraries = [
            Scanned(each, folder / artifact.file_name, target) for each, artifact in zip(artifacts, wanted, strict=True)
        ]
        for number, each in enumerate(libraries):
            each.write(scratch / str(number), kafka)
        yield from judge(libraries, scratch)


def judge(libraries: Sequence[Scanned], scratch: Path) -> Iterator[dict[str, Any]]:
    """Ask one Java about all probes, and yield the comparison for each library."""
    compile_java(_SOURCES, str(scratch / "java"))
    files = [str(file) for each in libraries for file in (each.questions, each.constructors)]
    # Empty classes in place of unseen libraries do not pass the verifier; the linker does its own checks.
    command = [
        *jvm(str(scratch / "java"), "512m", "off"),
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:-BytecodeVerificationRemote",
        "Probes",
        *files,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, cwd=scratch)
    if done.returncode:
        raise RuntimeError(f"Probes failed: {done.stderr[-2000:]}")
    answers: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in done.stdout.splitlines():
        if line.count("\t") == 2:  # a static initializer may print something
            file, question, answer = line.split("\t")
            answers[file][question] = answer
    for each in libraries:
        yield each.compare(answers[str(each.questions)], answers[str(each.constructors)])


def _needed(artifact: str) -> str:
    """Return the class path of what a library needs besides Kafka; empty if Maven does not get all of it."""
    try:
        return ":".join(jar for jar in class_path(artifact).split(":") if "/org/apache/kafka/" not in jar)
    except Unavailable:
        return ""


def _extended(archives: Archives) -> set[str]:
    """Return the classes that are extended and are not among the files."""
    parents = {found.superclass for name in archives.names if (found := archives.find(name))}
    known = archives.names | classes_of_any_release()
    return {each for each in parents if each not in known and not each.startswith("java/")}


def _owner(message: str) -> str:
    """Return the class of Kafka's that an error of the linker is about; empty if it is about none.

    >>> _owner("'int org.apache.kafka.A.b(org.apache.kafka.C)'"), _owner("org/apache/kafka/A"), _owner("Class a.B")
    ('org/apache/kafka/A', 'org/apache/kafka/A', '')
    >>> _owner("Receiver class a.B does not define the method 'abstract void c()' of interface org.apache.kafka.D.")
    'org/apache/kafka/D'
    """
    match = _OWNER.search(message.replace("/", "."))
    return match[match.lastindex or 0].replace(".", "/") if match else ""


class Scanned:
    """A library: what is reported of it, and the questions about it."""

    def __init__(self, artifact: str, jar: Path, target: str) -> None:
        self.artifact, self.target, self._jar = artifact, target, jar
        self._code: Code = code_of(RELEASES[target])
        self._probes: list[tuple[str, Probe]] = []
        self._lambdas: dict[str, Reference] = {}
        self.questions = self.constructors = Path()

    def write(self, folder: Path, kafka: str) -> None:
        """Write the probes and the questions about a library."""
        folder.mkdir(parents=True)
        self.questions, self.constructors = folder / "questions", folder / "constructors"
        lines = [f"{self._jar}:{folder}:{kafka}"]
        with Archives([self._jar], java=17) as archives:
            self._classes, self._names = archives.classes, archives.names
            lines += (f"extended {each}" for each in sorted(_extended(archives)))
            self.report: LinkageReport = check_references(archives.classes, self._code, self._code, archives.find)
        for number, each in enumerate(self._classes):
            lines += (f"load {each.file.name}", f"throws {each.file.name}")
            references = [reference for reference in each.file.references if self._is_judged(reference)]
            for reference in references:
                if reference.kind is ReferenceKind.LAMBDA:
                    line = f"lambda {reference.owner} {reference.name} {reference.descriptor}"
                    self._lambdas[line] = reference
                    lines.append(line)
            plain = [reference for reference in references if reference.kind is not ReferenceKind.LAMBDA]
            for probe in probes_of(each.file, plain, number, self._code):
                target = folder / f"{probe.name}.class"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(probe.content)
                lines.append(f"run {probe.name} {len(probe.references)}")
                self._probes.append((each.file.name, probe))
        self.questions.write_text("\n".join(lines))
        made = (f"construct {each.file.name}" for each in self._classes)
        self.constructors.write_text("\n".join((f"{self._jar}:{kafka}:{_needed(self.artifact)}", *made)))

    def _is_judged(self, reference: Reference) -> bool:
        """Whether a reference is to a class of the tables: those of Kafka's other artifacts are not looked up."""
        return reference.owner.startswith(_KAFKA) and self._has(reference.owner)

    def _has(self, owner: str) -> bool:
        return owner in self._code or owner in classes_of_any_release()

    def compare(self, answers: dict[str, str], constructed: dict[str, str]) -> dict[str, Any]:
        """Return the counts, and each difference between the report and Java."""
        reported: defaultdict[str, set[Failure]] = defaultdict(set)
        for problem in self.report.problems:
            for each in problem.referred_by:
                reported[each.name].add((f"{problem.owner}#{problem.member}{problem.descriptor}", problem.error))
        seen: defaultdict[str, set[Failure]] = defaultdict(set)
        asked = 0
        differences: list[str] = []
        for name, probe in self._probes:
            for place, reference in enumerate(probe.references):
                asked += 1
                answer = answers.get(f"run {probe.name} {place}", "!no answer")
                if answer.startswith("!"):
                    seen[name].add(self._failure(reference, answer[1:].split(" ")[0], reported[name]))
        for each in self._classes:
            answer = answers.get(f"load {each.file.name}", "!no answer")
            seen[each.file.name] |= set(self._loaded(answer, each.file.name, reported))
            seen[each.file.name] |= set(self._thrown(answers.get(f"throws {each.file.name}", "")))
            for reference in each.file.references:
                if reference.kind is ReferenceKind.LAMBDA and self._is_judged(reference):
                    asked += 1
                    found = answers.get(
                        f"lambda {reference.owner} {reference.name} {reference.descriptor}", "!no answer"
                    )
                    if found.startswith("!"):
                        seen[each.file.name].add(
                            self._failure(reference, found[1:].split(" ")[0], reported[each.file.name])
                        )
        for name in sorted(reported.keys() | seen.keys()):
            differences += (
                f"{name}: reported, and Java has it: {what} {error}"
                for what, error in sorted(reported[name] - seen[name])
            )
            differences += (
                f"{name}: not reported: {what} {error}" for what, error in sorted(seen[name] - reported[name])
            )
        runs = [
            (each.file.name, run)
            for each in self._classes
            for run in constructed.get(f"construct {each.file.name}", "").split("\1")
            if run
        ]
        failed = [(name, run) for name, run in runs if self._is_about_kafka(run)]
        differences += (f"{name}: not reported: constructor: {run}" for name, run in failed if not self._is_known(run))
        return {
            "artifact": self.artifact,
            "target": self.target,
            "classes": len(self._classes),
            "references": asked,
            "reported": sum(map(len, reported.values())),
            "errors": sorted({error for those in reported.values() for _, error in those}),
            "constructors": {"run": len(runs), "made": Counter(run for _, run in runs)["made"], "failed": len(failed)},
            "differences": differences,
        }

    def _is_about_kafka(self, run: str) -> bool:
        """Whether the run of a constructor ended with an error of this library's use of Kafka."""
        error, _, rest = run.partition(" ")
        at, _, message = rest.partition(" ")
        if not (run.startswith("!") and (at.replace(".", "/") in self._names or at.startswith("org.apache.kafka."))):
            return False
        if error == f"!{_THROWN}":
            of_kafka = self._code.get(at.replace(".", "/"))
            members = of_kafka.members.items() if of_kafka else ()
            return any(flags & THROWS for (name, _), flags in members if name == message)
        if error == "!NoSuchFieldError":
            asked = (each.file.references for each in self._classes if each.file.name == at.replace(".", "/"))
            return any(each.name == message and self._is_judged(each) for references in asked for each in references)
        return self._has(_owner(message))

    def _is_known(self, run: str) -> bool:
        """Whether the report has the error with which a constructor ended."""
        error, at, message = run[1:].split(" ", 2)
        named = {at.replace(".", "/"), message, _owner(message)}
        return any(
            problem.error == error and not named.isdisjoint((problem.owner, problem.member))
            for problem in self.report.problems
        )

    def _failure(self, reference: Reference, error: str, reported: Iterable[Failure]) -> Failure:
        """Return what failed in the words of the report: a class that is gone is reported once, not for each member."""
        of_class = f"{reference.owner}#"
        for what, known in reported:
            if what == of_class and reference.name:
                return what, known  # no member of such a class is reached
        return f"{of_class}{reference.name}{reference.descriptor}", error

    def _loaded(self, answer: str, name: str, reported: Mapping[str, set[Failure]]) -> Iterator[Failure]:
        """Yield what a class cannot be loaded for, or which methods it has no code for."""
        own = reported[name]
        if answer.startswith("!"):
            error, _, message = answer[1:].partition(" ")
            yield from (each for each in own if each[1] in {error, _ABSTRACT})  # the methods are not reached
            is_known = any(known == error for _, known in own)
            if not is_known and not (error == "NoClassDefFoundError" and self._is_reported(message, name, reported)):
                yield answer, error
        elif answer != "unseen":
            for member in answer.split():
                known = {what for what, error in own if error == _ABSTRACT and what.endswith(f"#{member}")}
                yield from ((what, _ABSTRACT) for what in known or {f"#{member}"})

    def _thrown(self, answer: str) -> Iterator[Failure]:
        """Yield the default methods that throw where they were called, and that Kafka calls."""
        for text in answer.split():
            owner, _, member = text.partition("#")
            name, bracket, rest = member.partition("(")
            if self._code[owner].members.get((name, bracket + rest), 0) & THROWS:
                yield text, _THROWN

    def _is_reported(self, owner: str, name: str, reported: Mapping[str, set[Failure]]) -> bool:
        """Whether a class that Java misses is reported of a signature, or of a class that this one extends."""
        in_signature = name in {each.name for each in self.report.signatures.get(owner, ())}
        return in_signature or any((f"{owner}#", "NoClassDefFoundError") in each for each in reported.values())
