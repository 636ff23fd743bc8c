"""The client: which node it asks, wrong or missing answers, and deadlines."""

import logging
import time
from types import SimpleNamespace

import pytest

from streams_assignor.upgrade.cluster.client import connection, feature_client
from streams_assignor.upgrade.cluster.client.errors import (
    ApiError,
    ClusterError,
    FeatureUpdateFailed,
    NoSuchNode,
    OutcomeUnknown,
    Unreachable,
)
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.features.rpc import FeatureUpdate, Listener
from tests.upgrade.cluster.client.server import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    HANG_UP,
    METADATA,
    SILENCE,
    UPDATE_FEATURES,
    Server,
    recorded,
    results,
    text,
)

BROKER = {API_VERSIONS: recorded("broker 4.3.1 features"), METADATA: recorded("broker 4.3.1 brokers")}
CONTROLLER = {
    API_VERSIONS: recorded("controller 4.3.1 features"),
    DESCRIBE_CLUSTER: recorded("controller 4.3.1 controllers"),
}
DONE = recorded("broker 4.3.1 dry run")
UPDATE = {"metadata.version": FeatureUpdate(26)}
MESSAGE = "The active controller appears to be node 1."
NOT_CONTROLLER = (bytes(5) + (41).to_bytes(2, "big") + text(MESSAGE) + b"\0").hex()
# The answer of a controller during an election: there is no active controller.
ELECTION = recorded("controller 4.3.1 controllers").replace("00000001020000000", "ffffffff020000000", 1)


@pytest.fixture(autouse=True)
def fixture_quiet():
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def to(node, listener=Listener.BROKER, seconds=60):
    return FeatureClient(node.address, listener, timeout_seconds=seconds)


def test_a1_it_asks_any_broker():
    with Server(BROKER) as node:
        described = to(node).describe()

    assert (Listener.BROKER, 33, 21) == (described.listener, described.epoch, described.finalized["metadata.version"])


def test_m3_it_asks_the_active_controller():
    with Server(CONTROLLER) as node:
        described = to(node, Listener.CONTROLLER).describe()

    assert (Listener.CONTROLLER, 3) == (described.listener, described.epoch)


def test_t5_m9_it_asks_one_node_or_every_node():
    with Server(BROKER) as node:
        assert 33 == to(node).describe(2).epoch
        assert [1, 2] == list(to(node).describe_nodes())


OLDER = BROKER | {API_VERSIONS: recorded("broker 3.9.2 features")}


def of_brokers(*ports):
    """The answer to Metadata with these ports of the two brokers."""
    body = recorded("broker 4.3.1 brokers")
    for port in ports:
        body = body.replace("PPPPPPPP", f"{port:08x}", 1)
    return BROKER | {METADATA: body}


def test_g3_it_asks_a_random_broker_and_not_the_bootstrap_server(monkeypatch):
    """All polls went to the first bootstrap server, stale or not."""
    drawn = iter([1, 2])
    monkeypatch.setattr("random.sample", lambda _, number: [next(drawn)][:number])
    with Server(OLDER) as one, Server(BROKER) as other, Server(of_brokers(one.port, other.port)) as bootstrap:
        epochs = [to(bootstrap).describe().epoch for _ in range(2)]

        assert [to(one).describe(1).epoch, 33] == epochs
        asked = [key for key, _, _ in bootstrap.asked]
        assert asked.count(METADATA) == asked.count(API_VERSIONS)  # only what every connection begins with


def test_a_broker_that_cannot_be_reached_is_replaced_by_the_bootstrap_server():
    with Server(of_brokers(1, 1)) as bootstrap:
        assert 33 == to(bootstrap).describe().epoch
        assert 33 == to(bootstrap).describe_newest().epoch


def test_g6_the_newest_answer_of_all_brokers_is_that_of_the_highest_epoch():
    with Server(OLDER) as stale, Server(BROKER) as fresh:
        epochs = {to(stale).describe(1).epoch, to(fresh).describe(1).epoch}
        for ports in ((stale.port, fresh.port), (fresh.port, stale.port), (1, fresh.port)):
            with Server(of_brokers(*ports)) as bootstrap:
                assert max(epochs) == to(bootstrap).describe_newest().epoch


def test_a_node_that_is_not_there_is_no_reason_to_wait():
    with Server(BROKER) as node, pytest.raises(NoSuchNode, match="there is no broker 9 now; there are 1, 2"):
        to(node).describe(9)


@pytest.mark.clock(reason="the silent server has half of the time limit, and the limit is long for a slow machine")
def test_it_takes_the_first_bootstrap_server_that_answers():
    with Server({API_VERSIONS: SILENCE}) as silent, Server(BROKER) as node:
        servers = f"127.0.0.1:1, {silent.address} ,,{node.address}"

        assert 33 == FeatureClient(servers, timeout_seconds=120).describe().epoch


@pytest.mark.parametrize(
    ("bootstrap", "why"), [("127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1: .*; 127.0.0.1:2: "), (" ,", "got none")]
)
def test_if_no_server_answers_the_error_names_the_servers(bootstrap, why):
    with pytest.raises(Unreachable, match=why):
        FeatureClient(bootstrap, timeout_seconds=2).describe()


@pytest.mark.parametrize("listener", Listener)
def test_m2_a_dry_run_is_one(listener):
    with Server((BROKER if listener is Listener.BROKER else CONTROLLER) | {UPDATE_FEATURES: DONE}) as node:
        to(node, listener).update(UPDATE, dry_run=True)
        to(node, listener).update(UPDATE)
        (_, _, tried), (_, _, done) = [asked for asked in node.asked if asked[0] == UPDATE_FEATURES]

    # The last byte but one says whether it is only to be validated.
    assert [1, 0] == [tried[-2], done[-2]]


def test_u17_an_error_for_all_is_the_error_of_each():
    updates = UPDATE | {"nope": FeatureUpdate(1)}
    refuses = BROKER | {UPDATE_FEATURES: recorded("broker 4.3.1 refuses")}
    with Server(refuses) as node, pytest.raises(FeatureUpdateFailed, match="does not support this feature") as refused:
        to(node).update(updates)

    assert dict.fromkeys(updates, 95) == {name: error.code for name, error in refused.value.results.items()}


def test_t5_u5_each_feature_has_its_own_result():
    old = BROKER | {
        API_VERSIONS: recorded("broker 3.9.2 features"),
        METADATA: recorded("broker 3.9.2 brokers"),
        UPDATE_FEATURES: results(("a", 0, "NONE"), ("b", 96, "no")),
    }
    with Server(old) as node, pytest.raises(FeatureUpdateFailed, match="no") as refused:
        to(node).update({"a": FeatureUpdate(1), "b": FeatureUpdate(1)})

    assert refused.value.results["a"] is None


def test_m3_a_node_that_is_no_controller_refuses_every_update():
    with Server(CONTROLLER) as node, pytest.raises(FeatureUpdateFailed, match="The node does not support METADATA"):
        to(node).update(UPDATE)
    with Server(CONTROLLER) as node, pytest.raises(ApiError, match="The node does not support METADATA"):
        to(node).describe()


def test_u3_it_goes_on_to_the_next_controller():
    with Server(CONTROLLER | {UPDATE_FEATURES: [NOT_CONTROLLER, NOT_CONTROLLER, DONE]}) as node:
        to(node, Listener.CONTROLLER).update(UPDATE)

        assert [2, 2, 2] == node.updates


@pytest.fixture(name="advance")
def fixture_advance(monkeypatch):
    """Advances the clock of a client; each of its sleeps advances it by a minute."""
    ahead = []
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + sum(ahead)))
    monkeypatch.setattr(feature_client, "time", SimpleNamespace(sleep=lambda _: ahead.append(60)))
    return ahead.append


@pytest.mark.usefixtures("advance")
def test_u3_but_only_until_the_deadline():
    with Server(CONTROLLER | {UPDATE_FEATURES: NOT_CONTROLLER}) as node:
        with pytest.raises(FeatureUpdateFailed, match=MESSAGE):
            to(node, Listener.CONTROLLER, seconds=120).update(UPDATE)

        assert [2, 2] == node.updates


def test_an_update_is_not_sent_again_at_its_deadline(advance, monkeypatch):
    """It was sent with a timeout of 0 ms, and its outcome was unknown."""
    connect = FeatureClient._connect_to_controller
    with Server(CONTROLLER | {UPDATE_FEATURES: NOT_CONTROLLER}) as node:

        def connect_slowly(client, deadline):
            connected = connect(client, deadline)
            if node.updates:
                advance(120)
            return connected

        monkeypatch.setattr(FeatureClient, "_connect_to_controller", connect_slowly)
        with pytest.raises(FeatureUpdateFailed, match=MESSAGE):
            to(node, Listener.CONTROLLER, seconds=120).update(UPDATE)

        assert [2] == node.updates


def test_an_election_is_waited_for():
    with Server(CONTROLLER | {DESCRIBE_CLUSTER: [ELECTION, CONTROLLER[DESCRIBE_CLUSTER]]}) as node:
        assert 3 == to(node, Listener.CONTROLLER).describe().epoch


def test_the_successor_of_a_controller_that_is_gone_is_waited_for():
    """Until the election ends, the other nodes name the one that is gone: the client gave up at once."""
    gone = CONTROLLER[DESCRIBE_CLUSTER].replace("PPPPPPPP", f"{1:08x}")
    with Server(CONTROLLER | {DESCRIBE_CLUSTER: [gone, CONTROLLER[DESCRIBE_CLUSTER]]}) as node:
        assert 3 == to(node, Listener.CONTROLLER).describe().epoch


def test_a_controller_that_stays_unreachable_is_reported_at_the_deadline(monkeypatch):
    monkeypatch.setattr("streams_assignor.upgrade.cluster.client.feature_client._RETRY_SECONDS", 120)
    gone = CONTROLLER[DESCRIBE_CLUSTER].replace("PPPPPPPP", f"{1:08x}")
    with Server(CONTROLLER | {DESCRIBE_CLUSTER: gone}) as node, pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: "):
        to(node, Listener.CONTROLLER).describe()


def test_an_election_is_waited_for_only_until_the_deadline(monkeypatch):
    """The deadline is long enough for a busy machine to observe the election."""
    monkeypatch.setattr("streams_assignor.upgrade.cluster.client.feature_client._RETRY_SECONDS", 120)
    with Server(CONTROLLER | {DESCRIBE_CLUSTER: ELECTION}) as node, pytest.raises(Unreachable, match="no active"):
        to(node, Listener.CONTROLLER).describe()


def test_u3_a_refusal_is_reported_even_if_its_node_is_gone():
    listening = Server(
        CONTROLLER | {UPDATE_FEATURES: NOT_CONTROLLER, API_VERSIONS: [CONTROLLER[API_VERSIONS]] * 2 + [HANG_UP]}
    )
    with listening as node, pytest.raises(FeatureUpdateFailed, match=MESSAGE):
        to(node, Listener.CONTROLLER).update(UPDATE)


def test_u16_a_lost_answer_leaves_the_outcome_open():
    with Server(BROKER | {UPDATE_FEATURES: HANG_UP}) as node, pytest.raises(OutcomeUnknown):
        to(node).update(UPDATE)


def test_what_was_not_sent_has_no_outcome():
    with pytest.raises(Unreachable):
        FeatureClient("127.0.0.1:1", timeout_seconds=2).update(UPDATE)


def test_a_client_outlives_a_restart():
    with Server(BROKER) as node:
        client = to(node)
        assert 33 == client.describe().epoch
    with pytest.raises(ClusterError):
        client.describe()


def test_secrets_are_not_shown():
    client = FeatureClient("a:1", settings={"sasl_plain_password": "secret"})

    assert "FeatureClient(bootstrap='a:1', listener=<Listener.BROKER: 'broker'>, timeout_seconds=60.0)" == repr(client)
