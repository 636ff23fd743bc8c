"""Tokens of OAUTHBEARER, from a token endpoint on this machine."""

import base64
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs

import pytest

from streams_assignor.upgrade.cluster.client import connection
from streams_assignor.upgrade.cluster.client._oauth import ClientCredentials, TokenSource
from streams_assignor.upgrade.cluster.client.connection import Connection, Deadline
from streams_assignor.upgrade.cluster.client.errors import Unreachable


@contextmanager
def endpoint(*answers):
    """Yield the address of a server that gives each answer once (a status and a text), and what it was asked."""
    left, asked = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append((self.headers["Authorization"], form))
            status, text = left.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token", asked
        server.shutdown()
        thread.join()


def granted(token, **more):
    return 200, json.dumps({"access_token": token, **more})


@pytest.mark.parametrize(("scope", "sent"), [("", None), ("kafka", ["kafka"])])
def test_it_asks_as_java_does(scope, sent):
    """RFC 6749, 2.3.1: name and secret are encoded before they are put together."""
    with endpoint(granted("t", expires_in=60)) as (address, asked):
        assert ("t", 60.0) == ClientCredentials(address, "me:", "se cret", scope).fetch()

    ((login, form),) = asked
    assert "me%3A:se+cret" == base64.b64decode(login.removeprefix("Basic ")).decode()
    assert (["client_credentials"], sent) == (form["grant_type"], form.get("scope"))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((401, "no"), "expected a token, got HTTP status 401 (Unauthorized)"),
        ((200, "no"), "expected a token, got none: Expecting value"),
        ((200, "[]"), "expected a token, got none: the answer has no access_token"),
        (granted(7), "expected a token, got none: the answer has no access_token"),
        (granted(""), "expected a token, got none: the answer has no access_token"),
    ],
)
def test_an_endpoint_without_a_token_is_an_error_without_the_secret(answer, problem):
    with endpoint(answer) as (address, _), pytest.raises(OSError, match=r"^token endpoint ") as failed:
        ClientCredentials(address, "me", "SECRET").fetch()

    assert str(failed.value).startswith(f"token endpoint 127.0.0.1/token: {problem}")
    assert "SECRET" not in str(failed.value)


def test_an_endpoint_that_does_not_answer_is_an_error():
    with endpoint() as (address, _):
        pass
    with pytest.raises(OSError, match=r"^token endpoint .* expected a token, got none: "):
        ClientCredentials(address, "me", "secret").fetch()


def test_a_token_is_used_for_most_of_its_lifetime():
    now = [0.0]
    with endpoint(granted("a", expires_in=100), granted("b"), granted("c")) as (address, _):
        source = TokenSource(ClientCredentials(address, "me", "secret"), lambda: now[0])
        found = []
        for now[0] in (0, 79, 80, 127, 128):
            found.append(source.token())

    assert ["a", "a", "b", "b", "c"] == found
    assert "secret" not in repr(source)


def test_a_connection_is_not_made_without_a_token():
    with endpoint((403, "")) as (address, _), pytest.raises(Unreachable, match="got HTTP status 403"):
        Connection("127.0.0.1:1", {"oauth": ClientCredentials(address, "me", "secret")}, Deadline(60))


def test_a_connection_gets_the_tokens_of_its_client():
    with endpoint(granted("t", expires_in=600)) as (address, asked):
        settings = {"client_id": "x", "oauth": ClientCredentials(address, "shared", "secret")}
        found = [connection.with_token_provider(settings) for _ in range(2)]

    assert [{"client_id", "sasl_oauth_token_provider"}] * 2 == [{*each} for each in found]
    assert ["t", "t"] == [each["sasl_oauth_token_provider"].token() for each in found]
    assert 1 == len(asked)


def test_a_mechanism_without_its_package_is_an_error(monkeypatch):
    monkeypatch.setattr(connection, "find_spec", lambda _name: None)

    with pytest.raises(Unreachable, match="AWS_MSK_IAM needs the Python package botocore, which is not installed"):
        Connection("127.0.0.1:1", {"sasl_mechanism": "AWS_MSK_IAM"}, Deadline(60))
