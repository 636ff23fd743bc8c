"""What must hold whatever happens: random clusters, random steps, random tables of levels."""

from attrs import evolve
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.draws import examples
from upgrade.features.cluster import Cluster, Node, What, lacks
from upgrade.features.deprecation import deprecate
from upgrade.features.dialects import DIALECTS, KAFKA_4, KIP_584, KIP_778, Kind, Minimum
from upgrade.features.levels import METADATA, Catalog, Level
from upgrade.features.metadata import FeatureLevelRecord as Finalised
from upgrade.features.metadata import Field, Loader, Record, as_of, load, read
from upgrade.features.protection import learn, register, start_broker, stop, unregister
from upgrade.features.update import Request, Update, update

NAMES = ("a", "b", METADATA)
BROKERS = (3, 4, 5)


@st.composite
def ranges(draw, lowest):
    """Ranges of a few features; metadata.version among them, as every node of Kafka has it."""
    names = {METADATA, *draw(st.sets(st.sampled_from(NAMES)))}
    lows = {name: draw(st.integers(lowest, 2)) for name in sorted(names)}
    return {name: (low, draw(st.integers(max(low, 1), 5))) for name, low in lows.items()}


@st.composite
def catalogs(draw):
    """Levels 1 to 5 of metadata.version; which of them changed the records is random."""
    changed = draw(st.sets(st.integers(2, 5)))
    levels = (Level(METADATA, number, f"V{number}", changed=number in changed) for number in range(1, 6))
    return Catalog("random", {METADATA: tuple(levels), "a": (), "b": ()})


@st.composite
def clusters(draw, dialect):
    """A cluster with one controller and a few brokers that fit what is finalised."""
    lowest = dialect.lowest_level
    local = Node(1, dict.fromkeys(NAMES, (lowest, 5)))
    finalized = {METADATA: draw(st.integers(1, 5)), **draw(st.dictionaries(st.sampled_from("ab"), st.integers(1, 5)))}
    found = [Node(number, draw(ranges(lowest))) for number in draw(st.sets(st.sampled_from(BROKERS)))]
    brokers = {node.id: node for node in found if not lacks(node, finalized)}
    fields = {"dialect": dialect, "catalog": draw(catalogs()), "active": 1, "finalized": finalized}
    if dialect is KIP_584:
        return Cluster(brokers={1: local, **brokers}, minimum=dict.fromkeys(finalized, 1), **fields)
    return Cluster(brokers=brokers, controllers={1: local}, quorum={1}, **fields)


updates = st.builds(Update, st.sampled_from(NAMES), st.integers(-1, 6), st.integers(0, 4))
requests = st.builds(
    Request, st.lists(updates, max_size=3, unique_by=lambda each: each.feature).map(tuple), version=st.integers(0, 2)
)


@st.composite
def steps(draw, dialect):
    """What may happen to a cluster: (what, with what)."""
    what = draw(st.sampled_from(["update", "start", "register", "learn", "stop", "unregister", "deprecate"]))
    if what == "update":
        return what, draw(requests)
    return what, (draw(st.sampled_from(BROKERS)), draw(ranges(dialect.lowest_level)))


def after(cluster, step):
    """The cluster after a step; one that cannot happen now changes nothing."""
    what, given_ = step
    if what == "update":
        return update(cluster, given_).cluster
    if what == "deprecate":
        return deprecate(cluster)
    number, supports = given_
    known = {**cluster.brokers, **cluster.arriving}
    if what == "start":
        # A broker that starts anew has stopped before.
        cluster = stop(cluster, number) if number in known else cluster
        return start_broker(cluster, number, supports).cluster
    if what == "register":
        return register(cluster, number).cluster if number in cluster.arriving else cluster
    if what == "unregister":
        return unregister(cluster, number).cluster if number in cluster.brokers else cluster
    return (
        {"learn": lambda: learn(cluster, number).cluster, "stop": lambda: stop(cluster, number)}[what]()
        if (number in known)
        else cluster
    )


histories = st.sampled_from(DIALECTS).flatmap(
    lambda dialect: st.tuples(clusters(dialect), st.lists(steps(dialect), max_size=8))
)


@settings(max_examples=examples(60))
@given(histories)
def test_an_epoch_never_goes_back_and_rises_with_every_change(history):
    cluster, rest = history
    for step in rest:
        before, cluster = cluster, after(cluster, step)

        assert before.epoch <= cluster.epoch
        changed = (before.finalized, before.minimum) != (cluster.finalized, cluster.minimum)
        assert before.epoch < cluster.epoch or not changed
        event(f"{step[0]} changed something: {changed}")


@settings(max_examples=examples(60))
@given(st.tuples(clusters(KAFKA_4), st.lists(steps(KAFKA_4), max_size=8)))
def test_in_kafka_4_no_registered_node_lacks_what_is_finalised(history):
    cluster, rest = history
    for step in rest:
        cluster = after(cluster, step)

        assert all(not lacks(node, cluster.finalized) for node in cluster.brokers.values())
        assert not lacks(cluster.local, cluster.finalized)


@settings(max_examples=examples(60))
@given(st.tuples(clusters(KIP_584), st.lists(steps(KIP_584), max_size=8)))
def test_in_kip_584_no_broker_stays_that_lacks_what_is_finalised(history):
    cluster, rest = history
    for step in rest:
        cluster = after(cluster, step)
        told = cluster
        for number in (*cluster.brokers, *cluster.arriving):
            told = learn(told, number).cluster

        assert all(not lacks(node, told.finalized) for node in told.nodes())
        assert told.brokers == cluster.brokers  # the controller knows none that would have to go


@given(clusters(KAFKA_4), requests)
def test_an_atomic_dialect_applies_all_or_nothing(cluster, request):
    answer = update(cluster, request)

    if answer.top.ok:
        assert {each.feature: max(each.level, 0) for each in request.updates} == {
            each.feature: answer.cluster.level_of(each.feature) for each in request.updates
        }
    else:
        assert (cluster, (), {}) == (answer.cluster, answer.events, answer.results)


@given(st.sampled_from([KIP_584, KIP_778]).flatmap(clusters), requests)
def test_the_others_apply_what_has_no_error_and_nothing_else(cluster, request):
    answer = update(cluster, request)

    for each in request.updates:
        wanted = max(each.level, 0) if answer.results[each.feature].ok else cluster.level_of(each.feature)
        assert wanted == answer.cluster.level_of(each.feature)
    untouched = set(NAMES) - {each.feature for each in request.updates}
    assert all(cluster.level_of(name) == answer.cluster.level_of(name) for name in untouched)
    assert (What.NOTIFIED in {each.what for each in answer.events}) == any(
        result.ok for result in answer.results.values()
    )


@given(st.sampled_from(DIALECTS).flatmap(clusters), requests)
def test_a_dry_run_says_the_same_and_changes_nothing(cluster, request):
    asked = evolve(request, dry_run=True, version=max(request.version, 1))
    if cluster.dialect.dry_run:
        wet, dry = update(cluster, evolve(asked, dry_run=False)), update(cluster, asked)

        assert (cluster, wet.top, wet.results) == (dry.cluster, dry.top, dry.results)


@given(st.sampled_from(DIALECTS).flatmap(clusters), requests)
def test_nothing_goes_down_that_was_not_meant_to(cluster, request):
    answer = update(cluster, request)

    for each in request.updates:
        lower = answer.cluster.level_of(each.feature) < cluster.level_of(each.feature)
        assert not lower or cluster.dialect.kind(each.kind, request.version) in (Kind.SAFE, Kind.UNSAFE)


@settings(max_examples=examples(60))
@given(histories)
def test_a_minimum_is_never_above_its_level_and_only_kip_584_has_one(history):
    cluster, rest = history
    for step in rest:
        cluster = after(cluster, step)

        kept = cluster.dialect.minimum is Minimum.KEPT
        assert (cluster.finalized.keys() if kept else set()) == cluster.minimum.keys()
        assert all(1 <= minimum <= cluster.level_of(name) for name, minimum in cluster.minimum.items())


@st.composite
def logs(draw):
    """A table of levels and records that keep its promise: without a change, only tagged fields are new."""
    catalog = draw(catalogs())
    source = draw(st.integers(2, 5))
    levels = st.integers(1, source)
    changing = sorted({1, *(level.number for level in catalog.levels[METADATA] if level.changed)})
    breaking = st.sampled_from([number for number in changing if number <= source])
    fields = st.one_of(
        st.builds(Field, st.sampled_from("xyz"), levels, st.just(True)),
        st.builds(Field, st.sampled_from("uvw"), breaking, st.just(False)),
    )
    records = st.builds(
        Record,
        st.sampled_from(["Foo", "Bar"]),
        st.sampled_from("123"),
        breaking,
        st.lists(fields, max_size=3).map(tuple),
    )
    kept = draw(st.lists(records, max_size=5, unique_by=lambda record: (record.type, record.key)))
    return catalog, source, draw(st.integers(1, source - 1)), tuple(kept)


@given(logs())
def test_a_safe_downgrade_changes_no_record_and_all_can_be_read(log):
    catalog, source, target, records = log
    event(f"safe: {catalog.safe_downgrade(source, target)}")
    if catalog.safe_downgrade(source, target):
        assert records == as_of(records, target)
        assert len(records) == len([read(record, target) for record in records])


@given(logs())
def test_a_lossy_downgrade_loses_exactly_the_newer_records(log):
    _, source, target, records = log
    loader = Loader(KIP_778, source)
    for entry in (*records, Finalised(METADATA, target)):
        loader, _ = load(loader, entry)

    kept = {key for key, record in ((key_of(each), each) for each in records) if record.since <= target}
    assert kept == loader.state.keys()
    assert len(kept) == len([read(record, target) for record in loader.state.values()])
    assert records == loader.snapshots[0].records


def key_of(record):
    return record.type, record.key
