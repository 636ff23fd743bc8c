"""A file that is a capture is read; for one that is none it is said what was expected, what came, and where."""

import json

import pytest

from spark_sim.conform.capture import Capture, NotACapture

GOOD = {
    "generations": [
        {
            "protocol": "stream",
            "generation": 3,
            "leader": "m",
            "members": [{"member_id": "m", "client_id": "c", "subscription": "0000", "assignment": ""}],
        }
    ],
    "steps": ["2.0.1"],
    "snapshots": [{"step": "2.0.1", "instance": 0, "members": [{"member_id": "m"}], "dead": [1], "settled": False}],
}


def test_a_capture_is_read():
    capture = Capture.parse(json.dumps(GOOD))
    (generation,), (snapshot,) = capture.generations, capture.snapshots

    assert (3, "m", False) == (generation.number, generation.leader, generation.answered)
    assert [("m", "c", None, b"\0\0", b"")] == [
        (each.member_id, each.client_id, each.instance_id, each.subscription, each.assignment)
        for each in generation.seats
    ]
    assert (("2.0.1",), "2.0.1", 0, {"m"}, (1,), False) == (
        capture.steps,
        snapshot.step,
        snapshot.instance,
        snapshot.members,
        snapshot.dead,
        snapshot.settled,
    )


def test_generations_and_member_ids_are_enough():
    capture = Capture.parse('{"generations": [{"generation": 1, "members": [{"member_id": "m"}]}]}')

    assert ((), ()) == (capture.steps, capture.snapshots)
    assert b"" == capture.generations[0].seats[0].subscription


WRONG = [
    ("", "expected JSON"),
    ("[" * 100_000, "expected JSON"),
    ("[]", r"expected an object, got \[\]"),
    ("{}", "expected a list at generations, got nothing"),
    ('{"generations": 7}', "expected a list at generations, got 7"),
    ('{"generations": [7]}', r"expected an object at generations\[0\], got 7"),
    ('{"generations": [{}]}', r"expected a number at generations\[0\].generation, got nothing"),
    ('{"generations": [{"generation": true}]}', r"expected a number at generations\[0\].generation, got true"),
    ('{"generations": [{"protocol": "range"}]}', r"expected 'stream', .* at generations\[0\].protocol, got \"range\""),
    ('{"generations": [{"generation": 1, "leader": 2}]}', r"expected a member id or null at generations\[0\].leader"),
    ('{"generations": [{"generation": 1, "members": [{}]}]}', r"a text at generations\[0\].members\[0\].member_id"),
    (
        '{"generations": [{"generation": 1, "members": [{"member_id": "m", "subscription": "zz"}]}]}',
        r'expected hex at generations\[0\].members\[0\].subscription, got "zz"',
    ),
    ('{"generations": [], "steps": [1]}', r"expected a text at steps\[0\], got 1"),
    ('{"generations": [], "snapshots": [{"instance": 0}]}', r"expected a text at snapshots\[0\].step, got nothing"),
    (
        '{"generations": [], "snapshots": [{"step": "", "instance": 0, "members": [], "dead": ["x"]}]}',
        r'expected a number at snapshots\[0\].dead\[0\], got "x"',
    ),
    (json.dumps({"generations": "x" * 100}), r'got "x{39}…$'),
]


@pytest.mark.parametrize(("text", "why"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_capture_is_told(text, why):
    with pytest.raises(NotACapture, match=why):
        Capture.parse(text)
