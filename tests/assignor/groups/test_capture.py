"""A capture is parsed; the error of another file names the expected value, the actual value and the place."""

import json

import pytest

from streams_assignor.groups.capture import Capture, InvalidCapture

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

    assert (3, "m", False) == (generation.number, generation.leader, generation.has_assignments)
    assert [("m", "c", None, b"\0\0", b"")] == [
        (each.member_id, each.client_id, each.group_instance_id, each.subscription, each.assignment)
        for each in generation.members
    ]
    assert (("2.0.1",), "2.0.1", 0, {"m"}, (1,), False) == (
        capture.steps,
        snapshot.step,
        snapshot.instance,
        snapshot.member_ids,
        snapshot.terminated_instances,
        snapshot.quiescent,
    )


@pytest.mark.parametrize("answer", ["", ', "assignment": null', ', "assignment": ""'])
def test_generations_with_ids_and_subscriptions_are_enough(answer):
    member = f'{{"member_id": "m", "subscription": "0000"{answer}}}'
    capture = Capture.parse(f'{{"generations": [{{"generation": 1, "members": [{member}]}}]}}')

    assert ((), ()) == (capture.steps, capture.snapshots)
    assert (b"\0\0", b"") == (
        capture.generations[0].members[0].subscription,
        capture.generations[0].members[0].assignment,
    )


def test_a_generation_may_be_written_again():
    twice = {"generations": GOOD["generations"] * 2}

    assert [3, 3] == [each.number for each in Capture.parse(json.dumps(twice)).generations]


def numbered(*numbers):
    """A capture of generations with these numbers."""
    return json.dumps({"generations": [{"generation": number, "members": []} for number in numbers]})


def described(*members):
    """A capture of one generation with these members."""
    return json.dumps({"generations": [{"generation": 1, "members": members}]})


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
    (
        described({"member_id": "m", "assignment": "00"}),
        r"expected hex at generations\[0\].members\[0\].subscription, got nothing",
    ),
    (
        described({"member_id": "m", "subscription": ""}, {"member_id": "m", "subscription": ""}),
        r'expected members with different ids at generations\[0\].members, got \["m", "m"\]',
    ),
    (numbered(-1), r"expected a number from 0 to 2147483647 at generations\[0\].generation, got -1"),
    (numbered(2**31), r"expected a number from 0 to 2147483647 at generations\[0\].generation, got 2147483648"),
    (numbered(1, 3, 2), r"expected the oldest generation first, but generations\[2\] is 2 after 3"),
    ('{"generations": [], "steps": [1]}', r"expected a text at steps\[0\], got 1"),
    ('{"generations": [], "snapshots": [{"instance": 0}]}', r"expected a text at snapshots\[0\].step, got nothing"),
    (
        '{"generations": [], "snapshots": [{"step": "", "instance": 0, "members": [], "dead": ["x"]}]}',
        r'expected a number at snapshots\[0\].dead\[0\], got "x"',
    ),
    (json.dumps({"generations": "x" * 100}), r'got "x{39}…$'),
]


@pytest.mark.parametrize(("text", "why"), WRONG, ids=range(len(WRONG)))
def test_the_error_of_a_file_that_is_not_a_capture_names_the_place(text, why):
    with pytest.raises(InvalidCapture, match=why):
        Capture.parse(text)
