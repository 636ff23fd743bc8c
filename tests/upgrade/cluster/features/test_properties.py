"""The invariants: random clusters, random steps, random tables of levels."""

from attrs import evolve
from hypothesis import event, given, settings
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, FeatureCatalog, FeatureLevel
from streams_assignor.upgrade.cluster.features.cluster import (
    EventType,
    FeatureCluster,
    FeatureNode,
    raise_minimum_levels,
    unsupported_levels,
)
from streams_assignor.upgrade.cluster.features.dialects import (
    DIALECTS,
    KAFKA_4,
    KIP_584,
    KIP_778,
    DowngradeIntent,
    MinimumLevel,
)
from streams_assignor.upgrade.cluster.features.metadata_log import FeatureLevelRecord as Finalized
from streams_assignor.upgrade.cluster.features.metadata_log import (
    MetadataLoader,
    MetadataRecord,
    RecordField,
    apply_entry,
    decode_record,
    load_from_disk,
    records_at_level,
)
from streams_assignor.upgrade.cluster.features.registration import (
    observe_finalized_levels,
    register_broker,
    start_broker,
    stop_broker,
    unregister_broker,
)
from streams_assignor.upgrade.cluster.features.update_features import UpdateFeaturesRequest, UpdateItem, update_features
from tests.draws import examples

NAMES = ("a", "b", METADATA_VERSION)
BROKERS = (3, 4, 5)


@st.composite
def ranges(draw, lowest):
    """Ranges of a few features; metadata.version among them, as every node of Kafka has it."""
    names = {METADATA_VERSION, *draw(st.sets(st.sampled_from(NAMES)))}
    lows = {name: draw(st.integers(lowest, 2)) for name in sorted(names)}
    return {name: (low, draw(st.integers(max(low, 1), 5))) for name, low in lows.items()}


@st.composite
def catalogs(draw):
    """Levels 1 to 5 of metadata.version; which of them changed the records is random."""
    changed = draw(st.sets(st.integers(2, 5)))
    levels = (
        FeatureLevel(METADATA_VERSION, number, f"V{number}", did_metadata_change=number in changed)
        for number in range(1, 6)
    )
    return FeatureCatalog("random", {METADATA_VERSION: tuple(levels), "a": (), "b": ()})


@st.composite
def clusters(draw, dialect):
    """A cluster with one controller and a few brokers that fit what is finalized."""
    lowest = dialect.lowest_level
    local = FeatureNode(1, dict.fromkeys(NAMES, (lowest, 5)))
    finalized = {
        METADATA_VERSION: draw(st.integers(1, 5)),
        **draw(st.dictionaries(st.sampled_from("ab"), st.integers(1, 5))),
    }
    found = [FeatureNode(number, draw(ranges(lowest))) for number in draw(st.sets(st.sampled_from(BROKERS)))]
    brokers = {node.id: node for node in found if not unsupported_levels(node, finalized)}
    fields = {"dialect": dialect, "catalog": draw(catalogs()), "active": 1, "finalized": finalized}
    if dialect is KIP_584:
        return FeatureCluster(brokers={1: local, **brokers}, minimum=dict.fromkeys(finalized, 1), **fields)
    return FeatureCluster(brokers=brokers, controllers={1: local}, voter_ids={1}, **fields)


updates = st.builds(UpdateItem, st.sampled_from(NAMES), st.integers(-1, 6), st.integers(0, 4))
requests = st.builds(
    UpdateFeaturesRequest,
    st.lists(updates, max_size=3, unique_by=lambda each: each.feature).map(tuple),
    version=st.integers(0, 2),
)


@st.composite
def steps(draw, dialect):
    """The events of a cluster: (event, its subject)."""
    what = draw(st.sampled_from(["update", "start", "register", "learn", "stop", "unregister", "deprecate"]))
    if what == "update":
        return what, draw(requests)
    return what, (draw(st.sampled_from(BROKERS)), draw(ranges(dialect.lowest_level)))


def after(cluster, step):
    """The cluster after a step; one that cannot happen now changes nothing."""
    what, given_ = step
    if what == "update":
        return update_features(cluster, given_).cluster
    if what == "deprecate":
        return raise_minimum_levels(cluster).cluster
    number, supports = given_
    known = {**cluster.brokers, **cluster.registering}
    if what == "start":
        # A broker that starts anew has stopped before.
        cluster = stop_broker(cluster, number) if number in known else cluster
        return start_broker(cluster, number, supports).cluster
    if what == "register":
        return register_broker(cluster, number).cluster if number in cluster.registering else cluster
    if what == "unregister":
        return unregister_broker(cluster, number).cluster if number in cluster.brokers else cluster
    return (
        {
            "learn": lambda: observe_finalized_levels(cluster, number).cluster,
            "stop": lambda: stop_broker(cluster, number),
        }[what]()
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
def test_in_kafka_4_no_registered_node_lacks_what_is_finalized(history):
    cluster, rest = history
    for step in rest:
        cluster = after(cluster, step)

        assert all(not unsupported_levels(node, cluster.finalized) for node in cluster.brokers.values())
        assert not unsupported_levels(cluster.active_controller, cluster.finalized)


@settings(max_examples=examples(60))
@given(st.tuples(clusters(KIP_584), st.lists(steps(KIP_584), max_size=8)))
def test_in_kip_584_no_broker_stays_that_lacks_what_is_finalized(history):
    cluster, rest = history
    for step in rest:
        cluster = after(cluster, step)
        observed = cluster
        for number in (*cluster.brokers, *cluster.registering):
            observed = observe_finalized_levels(observed, number).cluster

        assert all(not unsupported_levels(node, observed.finalized) for node in observed.nodes())
        assert observed.brokers == cluster.brokers  # the controller has registered none of those that exit


@given(clusters(KAFKA_4), requests)
def test_an_atomic_dialect_applies_all_or_nothing(cluster, request):
    answer = update_features(cluster, request)

    if answer.top_level.ok:
        assert {each.feature: max(each.level, 0) for each in request.updates} == {
            each.feature: answer.cluster.level_of(each.feature) for each in request.updates
        }
    else:
        assert (cluster, (), {}) == (answer.cluster, answer.events, answer.results)


@given(st.sampled_from([KIP_584, KIP_778]).flatmap(clusters), requests)
def test_the_others_apply_what_has_no_error_and_nothing_else(cluster, request):
    answer = update_features(cluster, request)

    for each in request.updates:
        wanted = max(each.level, 0) if answer.results[each.feature].ok else cluster.level_of(each.feature)
        assert wanted == answer.cluster.level_of(each.feature)
    untouched = set(NAMES) - {each.feature for each in request.updates}
    assert all(cluster.level_of(name) == answer.cluster.level_of(name) for name in untouched)
    assert (EventType.NOTIFIED in {each.type for each in answer.events}) == any(
        result.ok for result in answer.results.values()
    )


@given(st.sampled_from(DIALECTS).flatmap(clusters), requests)
def test_a_dry_run_has_the_same_answer_and_changes_nothing(cluster, request):
    asked = evolve(request, dry_run=True, version=max(request.version, 1))
    if cluster.dialect.dry_run_from:
        wet, dry = update_features(cluster, evolve(asked, dry_run=False)), update_features(cluster, asked)

        assert (cluster, wet.top_level, wet.results) == (dry.cluster, dry.top_level, dry.results)


@given(st.sampled_from(DIALECTS).flatmap(clusters), requests)
def test_no_level_is_lowered_unless_the_request_allows_it(cluster, request):
    answer = update_features(cluster, request)

    for each in request.updates:
        lower = answer.cluster.level_of(each.feature) < cluster.level_of(each.feature)
        assert not lower or cluster.dialect.downgrade_intent(each.upgrade_type, request.version) in (
            DowngradeIntent.SAFE,
            DowngradeIntent.UNSAFE,
        )


@settings(max_examples=examples(60))
@given(histories)
def test_a_minimum_is_never_above_its_level_and_only_kip_584_has_one(history):
    cluster, rest = history
    for step in rest:
        cluster = after(cluster, step)

        kept = cluster.dialect.minimum is MinimumLevel.KEPT
        assert (cluster.finalized.keys() if kept else set()) == cluster.minimum.keys() & cluster.finalized.keys()
        assert all(1 <= cluster.minimum[name] <= level for name, level in cluster.finalized.items() if kept)


@settings(max_examples=examples(60))
@given(st.tuples(clusters(KIP_584), st.lists(steps(KIP_584), max_size=8)))
def test_no_raised_minimum_ever_falls(history):
    cluster, rest = history
    for step in rest:
        before, cluster = cluster, after(cluster, step)

        assert all(low <= cluster.minimum[name] for name, low in before.minimum.items() if low > 1)


@st.composite
def logs(draw):
    """A table of levels and records that keep its promise: without a change, only tagged fields are new."""
    catalog = draw(catalogs())
    source = draw(st.integers(2, 5))
    levels = st.integers(1, source)
    changing = sorted({1, *(level.number for level in catalog.levels[METADATA_VERSION] if level.did_metadata_change)})
    breaking = st.sampled_from([number for number in changing if number <= source])
    fields = st.one_of(
        st.builds(RecordField, st.sampled_from("xyz"), levels, st.just(True)),
        st.builds(RecordField, st.sampled_from("uvw"), breaking, st.just(False)),
    )
    records = st.builds(
        MetadataRecord,
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
    event(f"safe: {catalog.is_safe_downgrade(source, target)}")
    if catalog.is_safe_downgrade(source, target):
        assert records == records_at_level(records, target)
        assert len(records) == len([decode_record(record, target) for record in records])


@given(logs())
def test_a_lossy_downgrade_loses_exactly_the_newer_records(log):
    _, source, target, records = log
    loader = MetadataLoader(KIP_778, source)
    for entry in (*records, Finalized(METADATA_VERSION, target)):
        loader, _ = apply_entry(loader, entry)

    kept = {key for key, record in ((key_of(each), each) for each in records) if record.since <= target}
    assert kept == loader.state.keys()
    assert len(kept) == len([decode_record(record, target) for record in loader.state.values()])
    assert records == loader.snapshots[0].records
    assert kept == {key_of(record) for record in load_from_disk(loader, target)}


def key_of(record):
    return record.type, record.key
