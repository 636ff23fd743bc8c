"""A "no" needs a witness: what is left out, empty or foreign makes none, for any hazard; and each has its proof."""

from itertools import product

import pytest
from attrs import Factory, evolve, fields

from streams_assignor.upgrade.application.evidence import setting_facts
from streams_assignor.upgrade.application.setting_files import combined_settings
from streams_assignor.upgrade.hazards import (
    CONTRADICTIONS,
    HAZARDS,
    KNOWN_BUGS,
    Answer,
    Application,
    ApplicationTopology,
    CodeFacts,
    CodeSettings,
    GroupFacts,
    LoadedFile,
    Setting,
    Subject,
)
from streams_assignor.upgrade.hazards._evidence import contradictions, witnesses
from streams_assignor.upgrade.topology_description import parse_topology_description

NO, UNKNOWN = Answer.NO, Answer.UNKNOWN
TEXT = "Sub-topology: 0\n  Source: S (topics: [in])\n    --> P\n  Processor: P (stores: [s])\n    <-- S\n"
SETTINGS = "application.id=a\nprocessing.guarantee=at_least_once\nnum.stream.threads=1\nacks=all\n"
MANIFEST = "kind: Deployment\nargs: [x]\nenv:\n- {name: SPRING_KAFKA_STREAMS_CLIENT_ID, value: a}\n"
FOREIGN = ("a: 1", "", "<configuration/>", "FROM x")


def settings(*files, of_folder=False):
    return setting_facts("a file", combined_settings(files, of_folder=of_folder))[0]


CODE = CodeFacts(
    "app.jar",
    shown={"aggregations": ("your class A refers to KGroupedStream#count()",)},
    has_libraries=True,
    has_own_classes=True,
    makes_streams=True,
    settings=CodeSettings(),
    java=17,
)
TOPOLOGY = ApplicationTopology("topology.txt", parse_topology_description(TEXT))
GROUP = GroupFacts("orders", False, False, ((4, 0, 0), (4, 0, 0)))
PLAIN = Application(settings=settings(("a.properties", SETTINGS)), code=CODE, topology=TOPOLOGY, group=GROUP)
SPRING = (("application.yml", "spring.kafka.client-id: a"), ("deployment.yml", MANIFEST))
FRAMEWORK = evolve(PLAIN, settings=settings(*SPRING, of_folder=True))
LOADING = evolve(
    PLAIN,
    settings=settings(("a.properties", SETTINGS), ("b.properties", "client.id=a")),
    code=evolve(
        CODE, settings=CodeSettings(loads=(LoadedFile("", "A line 1"), LoadedFile("b.properties", "A line 2")))
    ),
)
NAMED = evolve(PLAIN, libraries=dict.fromkeys(("scala-library", "spring-kafka", "spring-cloud-stream", "java"), "1.0"))
COMPLETE = {"plain": PLAIN, "framework": FRAMEWORK, "loading": LOADING, "named": NAMED}


def without(application):
    """Yield the application without each of its inputs, or with an empty, partly read or foreign one instead."""
    for part in fields(Application):
        empty = part.default.factory() if isinstance(part.default, Factory) else part.default
        yield f"no {part.name}", evolve(application, **{part.name: empty})
    for text in FOREIGN:
        yield f"foreign {text!r}", evolve(application, settings=settings(("a.properties", text)))
        yield f"foreign yaml {text!r}", evolve(application, settings=settings(("logback.xml", text)))
    yield "no own classes", evolve(application, code=evolve(CODE, has_own_classes=False))
    yield "no KafkaStreams", evolve(application, code=evolve(CODE, makes_streams=False))
    yield "another KafkaStreams", evolve(application, code=evolve(CODE, streams_of_libraries=("lib",)))
    yield "no reader", evolve(application, code=evolve(CODE, settings=None))
    yield "partly read", evolve(application, code=evolve(CODE, unread=("x.jar",)))
    yield "no libraries in the files", evolve(application, code=evolve(CODE, has_libraries=False))
    yield "not followed", evolve(application, code=evolve(CODE, settings=CodeSettings(not_followed=("class A",))))
    if application is FRAMEWORK:
        yield "one file", evolve(application, settings=settings(SPRING[0]))
        yield "no folder", evolve(application, settings=settings(*SPRING))
        yield "no manifest", evolve(application, settings=settings(SPRING[0], of_folder=True))
        yield "other manifest", evolve(application, settings=settings(SPRING[0], ("b.yml", "a: 1"), of_folder=True))
    if application is LOADING:
        yield "one file", evolve(application, settings=settings(("a.properties", SETTINGS)))
        other = settings(("a.properties", SETTINGS), ("c.properties", "client.id=a"))
        yield "another file", evolve(application, settings=other)


CONDITIONS = {row.name: row.when for row in HAZARDS} | {bug.issue: bug.when for bug in KNOWN_BUGS if bug.when}
LESS = [(kind, name, less) for kind, complete in COMPLETE.items() for name, less in without(complete)]


@pytest.mark.parametrize(
    ("kind", "less"),
    [(kind, less) for kind, _, less in LESS],
    ids=[f"{kind}: {name}" for kind, name, _ in LESS],
)
def test_less_that_is_known_never_makes_a_no(kind, less):
    """For every hazard: what was unknown, or concerned the application, stays so."""
    before = {row: when.concern(COMPLETE[kind]).answer for row, when in CONDITIONS.items()}
    after = {row: when.concern(less).answer for row, when in CONDITIONS.items()}

    assert [] == [row for row in CONDITIONS if after[row] is NO and before[row] is not NO]


OF_SETTINGS = (" is not set in ", " does not set ")
PROOFS = (
    *OF_SETTINGS,
    " sets ",
    "=",
    " refers to ",
    "is there",
    " does not have ",
    " has no ",
    " has source ",
    "of Java",
    "are of",
)


@pytest.mark.parametrize(("row", "kind"), list(product(CONDITIONS, COMPLETE)))
def test_each_no_has_its_proof(row, kind):
    found = CONDITIONS[row].concern(COMPLETE[kind])
    if found.answer is not NO:
        return

    assert () == found.contradicted_by
    assert found.evidence
    assert all(any(proof in text for proof in PROOFS) for text in found.evidence)
    if any(proof in text for proof in OF_SETTINGS for text in found.evidence):
        assert found.read


def test_a_no_is_possible():
    answers = [when.concern(PLAIN).answer for when in CONDITIONS.values()]

    assert NO is CONDITIONS["exactly-once-removed"].concern(PLAIN).answer
    assert NO is CONDITIONS["exactly-once-removed"].concern(FRAMEWORK).answer
    assert NO is CONDITIONS["exactly-once-removed"].concern(LOADING).answer
    assert answers.count(NO) > 50


def test_what_could_contradict_a_no_is_in_one_table():
    """Each row is open for an application that lacks what the row is about."""
    lacking = [Application(), *(less for _, _, less in LESS)]

    assert len(CONTRADICTIONS) == len({row.name for row in CONTRADICTIONS})
    assert [] == [row.name for row in CONTRADICTIONS if not any([*row.open_in(less)] for less in lacking)]
    for complete, subject in product(COMPLETE.values(), Subject):
        assert () == contradictions(complete, subject)
        assert witnesses(complete, subject)
    assert () == witnesses(Application(), Subject.CODE)


def test_code_that_sets_a_key_counts_beside_the_file():
    made = CodeSettings({"processing.guarantee": (Setting("exactly_once", "your class A, line 3"),)})
    found = CONDITIONS["exactly-once-removed"].concern(evolve(PLAIN, code=evolve(CODE, settings=made)))

    assert (Answer.YES, ("your class A, line 3: processing.guarantee=exactly_once",)) == (found.answer, found.evidence)
    alone = CONDITIONS["exactly-once-removed"].concern(Application(code=evolve(CODE, settings=made)))
    assert Answer.YES is alone.answer
    assert NO is CONDITIONS["exactly-once-removed"].concern(Application(code=CODE)).answer
    of_boot = evolve(CODE, libraries={"spring-boot": "3.2.0"})
    assert UNKNOWN is CONDITIONS["exactly-once-removed"].concern(Application(code=of_boot)).answer
