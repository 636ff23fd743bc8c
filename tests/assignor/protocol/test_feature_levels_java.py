"""Kafka's own decoders read userdata with levels of features behind it as they read it without (row G9)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams_assignor.codec import LATEST_SUPPORTED_VERSION, encode_assignment, encode_subscription
from streams_assignor.upgrade.cluster.features.carried_levels import Levels, encode_levels
from tests.assignor.protocol.test_feature_levels import some_levels
from tests.draws import examples
from tests.java_oracle import Oracle, as_java_keeps_it
from tests.subscription_codec.strategies import assignments, subscriptions, utf8
from tests.subscription_codec.test_vectors import LATEST
from tests.test_java_oracle import fixture_oracle as fixture_oracle  # the name is how it is found

pytestmark = [pytest.mark.java, pytest.mark.slow]


@st.composite
def of_every_version(draw: Callable[[Any], Any]) -> list[tuple[str, int, bytes]]:
    """A subscription and an assignment of each version: kind, version and bytes."""
    found = []
    for version in range(1, LATEST_SUPPORTED_VERSION + 1):
        subscription = draw(subscriptions(st.just(version), texts=utf8))
        tags = tuple(dict(subscription.client_tags).items())  # Java takes no key twice
        assignment = draw(assignments(st.just(version)))._replace(trailing=b"")
        found.append(
            ("subscription", version, encode_subscription(subscription._replace(client_tags=tags, trailing=b"")))
        )
        found.append(("assignment", version, encode_assignment(assignment)))
    return found


# An example asks about 22 messages, twice two questions each.
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(messages=of_every_version(), levels=some_levels)
def test_g9_kafka_reads_the_same_with_levels_behind_it_and_passes_on_nothing_of_them(
    oracle: Oracle, messages: list[tuple[str, int, bytes]], levels: Levels
) -> None:
    usual, carrying = (
        oracle.ask(
            {"op": op, "kind": kind, "hex": (encoded + tail).hex()}
            for kind, _, encoded in messages
            for op in ("decode", "reencode")
        )
        for tail in (b"", encode_levels(levels))
    )

    assert list(map(fields, usual)) == list(map(fields, carrying))
    for (kind, version, _), answer in zip(messages, carrying[::2], strict=True):
        # A subscription from the future is read up to its two versions, an assignment not at all.
        assert ("fields" in answer) == (version <= LATEST[oracle.release] or kind == "subscription"), answer


def fields(answer: dict[str, Any]) -> dict[str, Any]:
    return as_java_keeps_it(answer["fields"]) if "fields" in answer else answer
