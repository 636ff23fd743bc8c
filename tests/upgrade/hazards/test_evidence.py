"""A "no" needs a witness: what is left out, empty or foreign makes none, for any hazard; and each has its proof."""

import ast
import re
from itertools import product
from pathlib import Path

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
    Ask,
    CodeFacts,
    CodeSettings,
    GroupFacts,
    LoadedFile,
    Setting,
    Subject,
)
from streams_assignor.upgrade.hazards._evidence import contradictions, witnesses
from streams_assignor.upgrade.hazards._wrappers import wrapper_hazards
from streams_assignor.upgrade.hazards.conditions import AllOf, Always, AnyOf, FirstKnown, NotThat, Observes
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.streams_protocol import Protocol, Reliance
from streams_assignor.upgrade.streams_protocol.requirements import Facts, judge
from streams_assignor.upgrade.topology_description import parse_topology_description
from tests.each import each_third, for_each

BINDER = "spring-cloud-stream-binder-kafka-streams"
ROOT = Path(__file__).parents[3]
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
    builds_topology=True,
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
STATELESS = "Sub-topology: 0\n  Source: S (topics: [in])\n    --> none\n"
MORE = "state.dir=/s\nreplication.factor=2\ndefault.key.serde=K\ndefault.value.serde=V\nenable.metrics.push=false\n"
OTHER = Application(
    settings=settings(
        (
            "a.properties",
            SETTINGS.replace("at_least", "exactly") + MORE + "session.timeout.ms=1\nmax.poll.interval.ms=1\n",
        )
    ),
    code=evolve(
        CODE,
        shown={"new-uncaught-exception-handler": ("your class A refers to its handler",)},
        settings=CodeSettings(loads=(LoadedFile("", "A line 1"),)),
    ),
    topology=ApplicationTopology("topology.txt", parse_topology_description(STATELESS)),
    group=GroupFacts("orders", False, False, ((2, 8, 0), (2, 8, 0)), False, lacks_topics=False),
    libraries={BINDER: "5.0"},
)
COMPLETE = {"plain": PLAIN, "framework": FRAMEWORK, "loading": LOADING, "named": NAMED, "other": OTHER}


def without(application):
    """Yield the application without each of its inputs, or with an empty, partly read or foreign one instead."""
    for part in fields(Application):
        empty = part.default.factory() if isinstance(part.default, Factory) else part.default
        yield f"no {part.name}", evolve(application, **{part.name: empty})
    for text in FOREIGN:
        yield f"foreign {text!r}", evolve(application, settings=settings(("a.properties", text)))
        yield f"foreign xml {text!r}", evolve(application, settings=settings(("a.xml", f"<a><![CDATA[{text}]]></a>")))
    yield "no own classes", evolve(application, code=evolve(application.code, has_own_classes=False))
    yield "no KafkaStreams", evolve(application, code=evolve(application.code, makes_streams=False))
    yield "no class that builds a topology", evolve(application, code=evolve(application.code, builds_topology=False))
    yield "another KafkaStreams", evolve(application, code=evolve(application.code, streams_of_libraries=("lib",)))
    yield "no reader", evolve(application, code=evolve(application.code, settings=None))
    yield "partly read", evolve(application, code=evolve(application.code, unread=("x.jar",)))
    yield "no libraries in the files", evolve(application, code=evolve(application.code, has_libraries=False))
    yield (
        "not followed",
        evolve(application, code=evolve(application.code, settings=CodeSettings(not_followed=("class A",)))),
    )
    yield "foreign topology", evolve(application, topology=OTHER.topology)
    if application is FRAMEWORK:
        yield "one file", evolve(application, settings=settings(SPRING[0]))
        packed = ("a.jar!/application.yml", "a.jar!/config/application.yml")
        yield "files in archives", evolve(application, code=evolve(application.code, setting_files=packed))
        yield "no folder", evolve(application, settings=settings(*SPRING))
        yield "no manifest", evolve(application, settings=settings(SPRING[0], of_folder=True))
        yield "other manifest", evolve(application, settings=settings(SPRING[0], ("b.yml", "a: 1"), of_folder=True))
    if application is LOADING:
        yield "one file", evolve(application, settings=settings(("a.properties", SETTINGS)))
        other = settings(("a.properties", SETTINGS), ("c.properties", "client.id=a"))
        yield "another file", evolve(application, settings=other)


OF_TABLES = {row.name: row.when for row in HAZARDS} | {bug.issue: bug.when for bug in KNOWN_BUGS if bug.when}
WRAPPED = Application(libraries={BINDER: "1.0", "spring-kafka": "2.6.0"})
CONDITIONS = OF_TABLES | {row.name: row.when for row in wrapper_hazards([WRAPPED], release_named("4.3"))}
LESS = [(kind, name, less) for kind, complete in COMPLETE.items() for name, less in without(complete)]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("kind", "less"),
    each_third((kind, less) for kind, _, less in LESS),
    ids=[f"{kind}: {name}" for kind, name, _ in LESS],
)
def test_less_that_is_known_never_makes_a_no(kind, less):
    """For every hazard: what was unknown, or concerned the application, stays so."""
    before = {row: when.concern(COMPLETE[kind]).answer for row, when in OF_TABLES.items()}
    after = {row: when.concern(less).answer for row, when in OF_TABLES.items()}

    assert [] == [row for row in OF_TABLES if after[row] is NO and before[row] is not NO]


def lacking(**parts):
    """Return what takes parts away from the classes, or all of them."""
    return lambda application: evolve(application, code=evolve(application.code, **parts) if parts else None)


def grouped(**parts):
    return lambda application: evolve(application, group=evolve(application.group, **parts) if parts else None)


NOT_FOLLOWED = lacking(settings=CodeSettings(not_followed=("class A",)))
PART = lacking(unread=("x.jar",))
NO_OWN = lacking(has_own_classes=False)
NO_LIBRARIES = lacking(has_libraries=False)
COULD_SET_IT = (NOT_FOLLOWED, PART, NO_OWN, lacking(), lacking(streams_of_libraries=("lib",)), lacking(settings=None))


def without_topology(application):
    return evolve(application, topology=None)


def without_libraries(application):
    return PART(evolve(application, libraries=dict.fromkeys(application.libraries, "of-a-branch")))


PROOFS = (
    ("conditions.Sets._unset", r"\S+( or \S+)* is not set in (a file|app\.jar)", COULD_SET_IT),
    ("conditions.Sets._of", r"a(\.properties| file) line \d+ does not set \S+ ", COULD_SET_IT),
    ("conditions.Uses.look", r"none of your classes in app\.jar refers to ", (lacking(), NO_OWN, PART)),
    ("conditions.Uses.look", r"nothing in app\.jar refers to ", (lacking(), NO_OWN, PART, NO_LIBRARIES)),
    ("conditions.Lacks.look", r"all of this that app\.jar refers to is still there", (lacking(), PART, NO_LIBRARIES)),
    ("conditions.RunsOnJavaBefore.look", r"app\.jar has classes of Java 17", (lacking(), lacking(java=0))),
    ("conditions.HasLibrary.look", r"\S+ 5\.0 is there", (without_libraries, PART)),
    ("conditions.HasLibrary.look", r"app\.jar does not have ", (lacking(), NO_LIBRARIES, PART)),
    ("conditions.Brokers.look", r"the brokers are of ", (grouped(), grouped(brokers=None))),
    (
        "conditions.InGroup.look",
        r"group orders has no ",
        (grouped(), grouped(has_static_members=None, has_standbys=None, is_streams_group=None, lacks_topics=None)),
    ),
    ("conditions.InTopology.look", r"topology\.txt has no ", (without_topology,)),
    (
        "conditions.NotThat.look",
        r"your class A refers to |topology\.txt has source |a(\.properties| file) line \d+( sets |: )",
        (lambda application: evolve(application, settings=None, code=None, topology=None),),
    ),
)
"""Each place that says no: the text that proves it, and inputs without which it is no proof."""
OF_REQUIREMENTS = (
    *("requirements._judge_level", "requirements._judge_application"),
    *("consumers._judge", "consumers._policy", "consumers._userdata"),
)


def places_that_say_no():
    """Yield the functions of the product that make a "no" of what they see."""
    for folder in ("upgrade/application", "upgrade/hazards", "upgrade/streams_protocol", "assignor/cli/plan"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from _places(ast.parse(path.read_text()), path.stem)


def _places(node, where):
    for child in ast.iter_child_nodes(node):
        inside = f"{where}.{child.name}" if isinstance(child, ast.ClassDef | ast.FunctionDef) else where
        is_made = isinstance(child, ast.Call) and re.match(r"Concern\(Answer\.NO\b", ast.unparse(child))
        if is_made or (
            isinstance(child, ast.Name) and child.id in {"_no", "_OPPOSITE"} and isinstance(child.ctx, ast.Load)
        ):
            yield inside
        yield from _places(child, inside)


@pytest.mark.unmeasured
def test_each_place_that_says_no_has_its_proofs_in_the_table():
    of_parts = {"conditions._no", "conditions._combined"}  # what others prove
    places = [place for place in places_that_say_no() if place not in of_parts]

    assert sorted(places) == sorted([place for place, _, _ in PROOFS] + [*OF_REQUIREMENTS])


NOES = [
    (row, kind, text)
    for (row, when), (kind, complete) in product(CONDITIONS.items(), COMPLETE.items())
    if (found := when.concern(complete)).answer is NO
    for text in found.evidence or ("",)
]


@pytest.mark.parametrize(("words", "turns"), [proof[1:] for proof in PROOFS], ids=[proof[1] for proof in PROOFS])
def test_a_no_is_none_without_the_input_that_proves_it(words, turns):
    """For every hazard that is denied by such a text."""
    proven = [(row, kind, text) for row, kind, text in NOES if re.match(words, text)]

    assert proven
    for (row, kind, text), turn in product(proven, turns):
        found = CONDITIONS[row].concern(turn(COMPLETE[kind]))
        assert found.answer is not NO or text not in found.evidence, (row, kind, text)


def may_be(condition, answer):
    """Whether a condition can have an answer, as far as its kind tells."""
    match condition:
        case Always():
            return answer is Answer.YES
        case Ask() | Observes():
            return False
        case NotThat(part):
            return may_be(part, NO if answer is Answer.YES else Answer.YES)
        case AllOf(parts) | AnyOf(parts):
            alone = NO if isinstance(condition, AllOf) else Answer.YES
            return (any if answer is alone else all)(may_be(part, answer) for part in parts)
        case FirstKnown(parts):
            return any(may_be(part, answer) for part in parts)
    return True


@pytest.mark.unmeasured
@for_each(CONDITIONS)
def test_each_hazard_that_can_be_denied_is_denied_by_proofs_of_the_table(row):
    """A new hazard needs an application that it does not concern, and a text that says why."""
    texts = [text for denied, _, text in NOES if denied == row]
    concerns = [CONDITIONS[row].concern(complete) for complete in COMPLETE.values()]

    assert [] == [concern for concern in concerns if concern.answer is NO and concern.contradicted_by]
    assert bool(texts) is may_be(CONDITIONS[row], NO)
    assert [] == [text for text in texts if not any(re.match(words, text) for _, words, _ in PROOFS)]


def test_a_requirement_is_met_only_by_a_level_that_was_seen_or_by_what_the_user_says():
    def met(**facts):
        target = release_named("4.3")
        return {
            each.requirement.name: each.concern.evidence
            for each in judge(target, Protocol.STREAMS, Facts(**facts))
            if each.concern.answer is NO
        }

    assert {"streams-version": ("streams.version is 1",)} == met(streams_version=1)
    assert {"warm-ups": ("--without warm-ups",)} == met(absent=frozenset({Reliance.WARM_UPS}))
    assert {} == met() == met(streams_version=0)


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


def test_of_very_many_contradictions_the_first_ones_are_named():
    """A public application had 3,888 of them in each of 17 hazards: 15 MB of JSON."""
    made = CodeSettings(not_followed=tuple(f"class {number}" for number in range(3_888)))
    found = CONDITIONS["exactly-once-removed"].concern(evolve(PLAIN, code=evolve(CODE, settings=made)))

    assert UNKNOWN is found.answer
    assert "your code could set it: class 49" in found.decided_by
    assert (51, "3,838 more like these could set it") == (len(found.decided_by), found.decided_by[-1])


def test_code_that_sets_a_key_counts_beside_the_file():
    made = CodeSettings({"processing.guarantee": (Setting("exactly_once", "your class A, line 3"),)})
    found = CONDITIONS["exactly-once-removed"].concern(evolve(PLAIN, code=evolve(CODE, settings=made)))

    assert (Answer.YES, ("your class A, line 3: processing.guarantee=exactly_once",)) == (found.answer, found.evidence)
    alone = CONDITIONS["exactly-once-removed"].concern(Application(code=evolve(CODE, settings=made)))
    assert Answer.YES is alone.answer
    assert NO is CONDITIONS["exactly-once-removed"].concern(Application(code=CODE)).answer
    of_boot = evolve(CODE, libraries={"spring-boot": "3.2.0"})
    assert UNKNOWN is CONDITIONS["exactly-once-removed"].concern(Application(code=of_boot)).answer
