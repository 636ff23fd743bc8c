"""Arguments of another type, as a beginner passes them: the error names the argument and what was given."""

from pathlib import Path
from typing import Any

import pytest

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.codec import (
    StreamsAssignorError,
    decode_assignment,
    decode_subscription,
    describe,
    encode_assignment,
    encode_subscription,
    explain,
    explain_envelope,
    from_fields,
    to_fields,
    with_topic_dictionary,
)
from streams_assignor.upgrade import PlannedApplication, advise, judge_code, parse_settings, plan_for, release_named

OLD, NEW = release_named("2.8"), release_named("4.3")
ANY: Any = None
TEXT: Any = "2.8"
LEADER = StreamsAssignor(Topology.of(Subtopology(sources=["orders"])))


CASES: list[tuple[Any, str]] = [
    (lambda: advise(TEXT, NEW), r"expected Release as origin, got str '2.8': release_named finds one by its name"),
    (lambda: advise(OLD, ANY), "expected Release as target, got None: release_named"),
    (lambda: advise(OLD, NEW, facts=ANY), "expected TopologyFacts as facts, got None"),
    (lambda: release_named(ANY), "expected str as name, got None: release_named"),
    (lambda: release_named(2.8), "expected str as name, got float 2.8: release_named"),  # type: ignore[arg-type]
    (lambda: plan_for(ANY, "2.8", "4.3"), "expected PlannedApplication as application, got None"),
    (lambda: plan_for(PlannedApplication(), "2.8", ANY), "expected ResolvedRelease or str as target, got None"),
    (lambda: judge_code(ANY, OLD, NEW), "expected Sequence as paths, got None"),
    (lambda: judge_code(["app.jar"], OLD, NEW), "expected Path as a path, got str 'app.jar'"),  # type: ignore[list-item]
    (lambda: judge_code([Path("app.jar")], TEXT, NEW), "expected Release as origin, got str '2.8'"),
    (lambda: parse_settings(ANY, "a.properties"), "expected str as text, got None"),
    (lambda: parse_settings("acks=all", ANY), "expected str as name, got None"),
    (lambda: decode_subscription(TEXT), "expected bytes as userdata, got str"),
    (lambda: decode_assignment(TEXT), "expected bytes as userdata, got str"),
    (lambda: decode_assignment(5), "expected bytes as userdata, got int"),  # type: ignore[call-overload]
    (lambda: encode_subscription(ANY), "expected Subscription as subscription, got None"),
    (lambda: encode_assignment(b"\0"), "expected Assignment as assignment, got bytes"),  # type: ignore[arg-type]
    (lambda: describe(ANY), "expected Subscription or Assignment as record, got None"),
    (lambda: to_fields(ANY), "expected Subscription or Assignment as record, got None"),
    (lambda: from_fields(ANY, {}), "expected subscription or assignment as kind, got None"),
    (lambda: from_fields("subscription", ANY), "expected Mapping as fields, got None"),
    (lambda: explain(TEXT, b""), "expected subscription or assignment as kind, got '2.8'"),
    (lambda: explain("subscription", TEXT), "expected bytes or bytearray or memoryview as userdata, got str '2.8'"),
    (lambda: [*explain_envelope(ANY, b"")], "expected subscription or assignment as kind, got None"),
    (
        lambda: [*explain_envelope("assignment", ANY)],
        "expected bytes or bytearray or memoryview as message, got None",
    ),
    (lambda: with_topic_dictionary(ANY), "expected Assignment as assignment, got None"),
    (lambda: LEADER.assign(ANY, {}), "expected ClusterSnapshot or Mapping as cluster, got None"),
    (lambda: LEADER.assign({}, ANY), "expected Mapping as subscriptions, got None"),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=map(str, range(len(CASES))))
def test_the_error_names_the_argument(call: Any, message: str) -> None:
    """They were an AttributeError of something inside, such as 'NoneType' object has no attribute 'version'."""
    with pytest.raises(StreamsAssignorError, match=message) as raised:
        call()

    assert isinstance(raised.value, TypeError)
