"""One connection, over a real socket, to a server that repeats what real brokers and controllers have answered."""

import logging
import socket
import time
from contextlib import suppress
from random import Random
from threading import Thread
from types import SimpleNamespace

import pytest
from kafka.protocol.admin import ListGroupsResponse
from kafka.protocol.metadata import FindCoordinatorResponse

from streams_assignor.upgrade.cluster.client import connection as module
from streams_assignor.upgrade.cluster.client.answer_check import check_answer
from streams_assignor.upgrade.cluster.client.connection import ClusterNodes, Connection, Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError, OutcomeUnknown, Unreachable
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, Listener, UpgradeType
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
)

NEW, OLD, CONTROLLER = "broker 4.3.1 features", "broker 3.9.2 features", "controller 4.3.1 features"
RANGES = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}
UPDATE = {"metadata.version": FeatureUpdate(26)}


@pytest.fixture(autouse=True)
def fixture_quiet():
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def server(features=NEW, **answers):
    keys = {"brokers": METADATA, "controllers": DESCRIBE_CLUSTER, "update": UPDATE_FEATURES}
    hello = recorded(features) if features in {NEW, OLD, CONTROLLER} else features
    return Server({API_VERSIONS: hello} | {keys[name]: given for name, given in answers.items()})


def connect(to, seconds=60, **settings):
    return Connection(to.address, settings, Deadline(seconds))


@pytest.mark.parametrize(
    ("name", "listener", "expected"),
    [
        (NEW, Listener.BROKER, FeatureMetadata(Listener.BROKER, 33, RANGES, {"metadata.version": 21})),
        (CONTROLLER, Listener.CONTROLLER, FeatureMetadata(Listener.CONTROLLER, 3, RANGES, {"metadata.version": 21})),
        (
            OLD,
            Listener.BROKER,
            FeatureMetadata(
                Listener.BROKER, 33, {"kraft.version": (0, 1), "metadata.version": (1, 21)}, {"metadata.version": 21}
            ),
        ),
    ],
)
def test_a1_it_reads_what_a_node_supports_and_what_is_finalized(name, listener, expected):
    with server(name) as node, connect(node) as connection:
        assert expected == connection.describe_features(listener, Deadline(60))
        assert [4, 4] == [version for _, version, _ in node.asked]


# Of the recorded answer: the three tagged fields at its end, the epoch (tag 1) as an int64.
EPOCH = "0108" + f"{33:016x}"


def test_a4_an_epoch_of_minus_1_means_that_nothing_finalized_is_known():
    known = recorded(NEW)
    assert 1 == known.count(EPOCH)
    with server(known.replace(EPOCH, "0108" + "f" * 16)) as node, connect(node) as connection:
        described = connection.describe_features(Listener.BROKER, Deadline(60))

    assert (None, {}) == (described.epoch, dict(described.finalized))
    assert RANGES == described.supported


def test_a4_without_tagged_fields_nothing_is_known():
    known = recorded(NEW)
    apis = int(known[4:6], 16) - 1
    end = 6 + 14 * apis + 8  # error, count, 7 bytes for each, throttle time
    with server(known[:end] + "00") as node, connect(node) as connection:
        assert FeatureMetadata(Listener.BROKER, None, {}, {}) == connection.describe_features(
            Listener.BROKER, Deadline(60)
        )


def test_it_requests_the_brokers_from_a_broker():
    with server(brokers=recorded("broker 4.3.1 brokers")) as node, connect(node) as connection:
        brokers = connection.describe_brokers(Deadline(60))
        assert ClusterNodes({1: node.address, 2: node.address}, 2, "AAAAAAAAAAAAAAAAAAAAAQ") == brokers


def test_it_requests_the_controllers_from_a_controller():
    with server(CONTROLLER, controllers=recorded("controller 4.3.1 controllers")) as node, connect(node) as connection:
        assert ClusterNodes({1: node.address}, 1) == connection.describe_controllers(Deadline(60))


@pytest.fixture
def knowing(monkeypatch):
    """Let a node know no other nodes at first, so many times."""

    def know_none(times):
        answers, request = iter([SimpleNamespace(brokers=[])] * times), Connection._request
        monkeypatch.setattr(
            Connection, "_request", lambda *given, **fields: next(answers, None) or request(*given, **fields)
        )

    return know_none


def test_a_broker_that_knows_no_broker_yet_is_asked_again(knowing):
    """No broker meant no group, with status 0, although each may have some."""
    with server(brokers=recorded("broker 4.3.1 brokers")) as node, connect(node) as connection:
        knowing(2)

        assert [1, 2] == sorted(connection.describe_brokers(Deadline(60)).addresses)


@pytest.mark.parametrize("request_nodes", [Connection.describe_brokers, Connection.describe_controllers])
def test_a_cluster_without_nodes_is_an_error_at_the_deadline(knowing, request_nodes):
    with server() as node, connect(node) as connection:
        knowing(1000)

        with pytest.raises(Unreachable, match="expected the nodes of the cluster, got none"):
            request_nodes(connection, Deadline(0.3))


def test_a_feature_without_a_result_may_not_have_been_changed(monkeypatch):
    """It counted as done."""
    answer = SimpleNamespace(results=[SimpleNamespace(feature="other", error_code=0)])
    with server() as node, connect(node) as connection:
        monkeypatch.setattr(connection, "_request", lambda *_, **__: answer)

        with pytest.raises(OutcomeUnknown, match=f"no result for {next(iter(UPDATE))}"):
            connection.update_features(UPDATE, Deadline(60), dry_run=False)


def test_an_address_of_version_6_has_brackets():
    address = b"127.0.0.1".hex()
    known = recorded("broker 4.3.1 brokers")
    assert address in known
    with server(brokers=known.replace(address, b"fe80::1:1".hex())) as node, connect(node) as connection:
        assert f"[fe80::1:1]:{node.port}" == connection.describe_brokers(Deadline(60)).addresses[1]


def test_a_broker_is_no_controller():
    with (
        server(controllers=recorded("broker 4.3.1 controllers")) as node,
        connect(node) as connection,
        pytest.raises(ApiError) as refused,
    ):
        connection.describe_controllers(Deadline(60))

    assert (114, "MISMATCHED_ENDPOINT_TYPE") == (refused.value.code, refused.value.name)
    assert (
        "org.apache.kafka.common.errors.MismatchedEndpointTypeException: The request was sent to an endpoint of type "
        "BROKER, but we wanted an endpoint of type CONTROLLER"
    ) == refused.value.java_text


def test_a_controller_is_no_broker():
    with (
        server(CONTROLLER) as node,
        connect(node) as connection,
        pytest.raises(ApiError, match="The node does not support METADATA") as refused,
    ):
        connection.describe_brokers(Deadline(60))

    assert (35, "UNSUPPORTED_VERSION") == (refused.value.code, refused.value.name)


def speaking(name, old, new):
    """The APIs of a node, but for one API: key, lowest and highest version in hexadecimal."""
    known = recorded(name)
    assert 1 == known.count(old)
    return known.replace(old, new)


def test_a_controller_before_kip_919_cannot_describe_the_controllers():
    with (
        server(speaking(CONTROLLER, "003c00000002", "003c00000000")) as node,
        connect(node) as connection,
        pytest.raises(ApiError, match="does not support version 1 of DESCRIBE_CLUSTER"),
    ):
        connection.describe_controllers(Deadline(60))


@pytest.mark.parametrize(("name", "version", "answer"), [(NEW, 2, "4.3.1"), (OLD, 1, "3.9.2")])
def test_it_updates_in_the_highest_version_that_both_know(name, version, answer):
    with server(name, update=recorded(f"broker {answer} dry run")) as node, connect(node) as connection:
        assert {"metadata.version": None} == connection.update_features(UPDATE, Deadline(60), dry_run=True)
        assert [version] == node.updates


@pytest.mark.parametrize(("name", "answer"), [(NEW, "4.3.1"), (OLD, "3.9.2")])
def test_u4_an_error_has_kafkas_code_name_and_text(name, answer):
    with (
        server(name, update=recorded(f"broker {answer} refuses")) as node,
        connect(node) as connection,
        pytest.raises(ApiError) as refused,
    ):
        connection.update_features({"nope": FeatureUpdate(1)}, Deadline(60), dry_run=False)

    assert (95, "INVALID_UPDATE_VERSION") == (refused.value.code, refused.value.name)
    assert (
        "The update failed for all features since the following feature had an error: Invalid update version 1 for "
        "feature nope. Local controller 1 does not support this feature."
    ) == str(refused.value)


def test_u5_up_to_version_1_some_may_succeed_and_others_fail():
    answer = results(("a", 0, "NONE"), ("b", 96, "no"), ("c", 31, ""))
    updates = {name: FeatureUpdate(1) for name in "abc"}
    with server(OLD, update=answer) as node, connect(node) as connection:
        found = connection.update_features(updates, Deadline(60), dry_run=False)

    assert {"a": None} == {name: error for name, error in found.items() if not error}
    assert ("FEATURE_UPDATE_FAILED", "no") == (found["b"].name, found["b"].message)
    # Without words of its own an error has those of its kind.
    assert "not authorized" in found["c"].message


@pytest.mark.parametrize(
    ("kind", "allow"),
    [(UpgradeType.UPGRADE, b"\0"), (UpgradeType.SAFE_DOWNGRADE, b"\1"), (UpgradeType.UNSAFE_DOWNGRADE, b"\1")],
)
def test_m2_version_0_only_knows_whether_a_lower_level_is_meant(kind, allow):
    with server(speaking(NEW, "003900000002", "003900000000"), update=results()) as node, connect(node) as connection:
        connection.update_features({"a": FeatureUpdate(1, kind)}, Deadline(60), dry_run=False)
        ((_, _, body),) = [asked for asked in node.asked if asked[0] == UPDATE_FEATURES]

    assert [0] == node.updates
    assert body.endswith(b"\x02a\0\1" + allow + b"\0\0")


def test_u1_the_controller_may_take_as_long_as_the_client_waits():
    """With a timeout of a millisecond a controller gives up before it has an answer."""
    with server(speaking(NEW, "003900000002", "003900000000"), update=results()) as node, connect(node) as connection:
        connection.update_features({"a": FeatureUpdate(1)}, Deadline(100_000), dry_run=False)
        ((_, _, body),) = [asked for asked in node.asked if asked[0] == UPDATE_FEATURES]

    timeout_ms = int.from_bytes(body.removesuffix(b"\x02\x02a\0\1\0\0\0")[-4:], "big")
    assert 90_000_000 < timeout_ms <= 100_000_000


def test_m2_version_0_would_do_what_a_dry_run_asks_for_so_nothing_is_sent():
    with server(speaking(NEW, "003900000002", "003900000000"), update=results()) as node, connect(node) as connection:
        with pytest.raises(ApiError, match="does not support version 1 of UPDATE_FEATURES"):
            connection.update_features(UPDATE, Deadline(60), dry_run=True)

        assert [] == node.updates


@pytest.mark.parametrize("answer", [SILENCE, HANG_UP])
def test_u16_without_an_answer_the_outcome_is_unknown(answer):
    with server(update=answer) as node, connect(node) as connection:
        with pytest.raises(OutcomeUnknown, match=node.address):
            connection.update_features(UPDATE, Deadline(0.3), dry_run=False)

        assert [2] == node.updates


@pytest.mark.parametrize("answer", [SILENCE, HANG_UP])
def test_a_question_without_an_answer_ends(answer):
    with (
        server(brokers=answer) as node,
        connect(node) as connection,
        pytest.raises(Unreachable, match=node.address),
    ):
        connection.describe_brokers(Deadline(0.3))


@pytest.mark.parametrize("hello", [SILENCE, HANG_UP])
def test_a_server_that_does_not_say_hello_is_not_waited_for(hello):
    with server(hello) as node, pytest.raises(Unreachable, match=node.address):
        connect(node, seconds=0.3)


def test_a_server_whose_apis_are_null_is_an_error():
    """It was a traceback: kafka-python does not look for null."""
    with server("00" * 60) as node, pytest.raises(Unreachable, match="expected an answer of a Kafka broker, got one"):
        connect(node)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no.such.host.invalid:9092", "localhost:x"])
def test_an_address_without_a_server_is_an_error(address):
    with pytest.raises(Unreachable, match=address):
        Connection(address, {}, Deadline(2))


def test_a_file_that_is_not_there_says_so():
    with server() as node, pytest.raises(Unreachable, match="No such file"):
        connect(node, security_protocol="SSL", ssl_cafile="/no/such/file")


def test_a_login_that_fails_has_a_hint_and_keeps_its_secret():
    settings = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }
    with Server({API_VERSIONS: recorded(NEW), 17: HANG_UP}) as node, pytest.raises(Unreachable) as failed:
        connect(node, **settings)

    assert "are the mechanism, the name and the password right?" in str(failed.value)
    assert "secret" not in repr(failed.value)


def test_kerberos_without_its_library_says_so(monkeypatch):
    """kafka-python would only hang up."""
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(Unreachable, match="needs the Python package gssapi, which is not installed"):
        Connection("127.0.0.1:1", {"sasl_mechanism": "GSSAPI"}, Deadline(2))


def test_a_server_that_hangs_up_may_want_another_protocol():
    with server(HANG_UP) as node, pytest.raises(Unreachable, match=r"is the security protocol right\?"):
        connect(node)


def test_a_server_without_tls_hints_at_another_security_protocol():
    def hang_up():
        with listener.accept()[0] as connection:
            connection.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        other = Thread(target=hang_up)
        other.start()
        with pytest.raises(Unreachable, match=r"is the security protocol right\?"):
            Connection(f"127.0.0.1:{listener.getsockname()[1]}", {"security_protocol": "SSL"}, Deadline(60))
        other.join()


def test_a_deadline_ends_and_can_be_shared():
    deadline = Deadline(100_000)

    assert 49_000 < deadline.share(2).remaining <= 50_000
    assert 0 == Deadline(0).remaining
    before = deadline.remaining
    while time.monotonic() == time.monotonic():  # until the clock moves
        pass
    assert deadline.remaining < before


def test_a_peer_that_sends_without_end_is_refused_at_its_first_prefix():
    """kafka-python (3.0.12) read 1.7 GB of it before it looked at the length of 2 GB."""
    sent = []

    def send_without_end(listener):
        with listener.accept()[0] as peer:
            peer.recv(4096)
            with suppress(OSError):
                peer.sendall(b"\x7f\xff\xff\xff")
                while len(sent) < 1000:
                    peer.sendall(bytes(1 << 20))
                    sent.append(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = Thread(target=send_without_end, args=(listener,))
        sender.start()
        with pytest.raises(Unreachable, match=r"Invalid frame length|disconnected"):
            Connection(f"127.0.0.1:{listener.getsockname()[1]}", {}, Deadline(60))
        sender.join()

    assert len(sent) < 100


def test_a_socket_in_parts_seems_empty_only_where_nothing_waits_in_it():
    class Tls:
        waiting = 5

        def pending(self):
            return self.waiting

        def recv(self, size):
            return bytes(size)

    tls = Tls()
    parts = module._SocketInParts(tls)
    assert 1 << 20 == len(parts.recv(1 << 20)) == len(parts.recv(1 << 20))
    tls.waiting = 0
    with pytest.raises(BlockingIOError):
        parts.recv(1)
    assert b"\0" == parts.recv(1)


def test_a_port_at_which_nothing_listens_is_a_sentence():
    """It was ``KafkaConnectionError: 111 ECONNREFUSED``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(Unreachable) as refused:
        Connection(address, {}, Deadline(60))
    assert f"{address}: connection refused: does a broker listen at {address}?" == str(refused.value)


def group_id_of(name):
    return ListGroupsResponse.ListedGroup(group_id=name, protocol_type="", group_state="Stable", group_type="classic")


def test_an_answer_with_null_where_the_schema_has_a_value_is_an_error():
    """kafka-python decodes null everywhere; a coordinator without a host ended in a TypeError."""
    answer = FindCoordinatorResponse(version=2, host=None, port=1, node_id=1)

    with pytest.raises(ValueError, match=r"expected a value in FindCoordinatorResponse\.host, got null"):
        check_answer(answer)


@pytest.mark.parametrize(
    ("groups", "why"),
    [(None, r"groups, got null"), ([None], r"expected no null in .*groups"), ([group_id_of(None)], "group_id")],
)
def test_null_inside_an_answer_is_an_error(groups, why):
    with pytest.raises(ValueError, match=why):
        check_answer(ListGroupsResponse(version=5, error_code=0, throttle_time_ms=0, groups=groups))


def test_null_is_allowed_where_the_schema_allows_it():
    check_answer(FindCoordinatorResponse(version=2, error_message=None, host="a", port=1, node_id=1))
    check_answer(ListGroupsResponse(version=5, error_code=0, throttle_time_ms=0, groups=[group_id_of("g")]))


@pytest.mark.slow
def test_any_damage_of_an_answer_is_an_error_of_the_connection():
    """300 answers with other bytes, or cut: each is read, or refused."""
    random = Random(37)
    whole = bytes.fromhex(recorded("broker 4.3.1 brokers").replace("PPPPPPPP", "00002384"))
    for _ in range(300):
        damaged = bytearray(whole[: random.randrange(len(whole))] if random.random() < 0.3 else whole)
        for _ in range(random.choice((1, 1, 3, 9)) if damaged else 0):
            damaged[random.randrange(len(damaged))] = random.choice((0, 127, 128, 255, random.randrange(256)))
        with server(brokers=damaged.hex()) as to, connect(to) as connection, suppress(ClusterError):
            connection.describe_brokers(Deadline(1))
