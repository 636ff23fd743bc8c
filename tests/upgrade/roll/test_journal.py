import json
import re

import pytest
from attrs import evolve

from streams_assignor.upgrade.roll.deviations import DEVIATIONS, DeviationKind, SafeOption
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.journal import (
    CommandEnded,
    CommandIntended,
    DeviationFound,
    JournalError,
    JournalLine,
    PlanRecorded,
    QuestionAnswered,
    RollEnded,
    RollResumed,
    RoundVerified,
    StepBegan,
    StepPassed,
    read_journal,
)
from streams_assignor.upgrade.roll.state import replay
from tests.upgrade.roll.fake_group import Operator


@pytest.fixture(name="finished", scope="module")
def fixture_finished():
    operator = Operator()
    outcome = ExpectedOutcome(versions=(11,), rebalances=1, moved={"0_0": "b"}, unowned_s=1.5, violations=("x",))
    operator.go()
    operator.write(
        DeviationFound(
            step=9,
            kind=DeviationKind.LAG,
            expected="little",
            observed="much",
            likely="it restores",
            options=(SafeOption.WAIT,),
            instances=("a",),
        )
    )
    operator.write(StepBegan(step=9, instances=("a",), expectation=Expectation(outcomes=(outcome,), assumed=("y",))))
    operator.write(CommandEnded(step=9, instance="a", verb="restart", seconds=1, status=None))
    return operator.records


def text_of(records):
    return "".join(JournalLine("2026-11-26T12:00:00+00:00", record).text() for record in records).encode()


def test_what_is_written_is_read_again(finished):
    read = read_journal(text_of(finished))

    assert finished == [line.record for line in read.lines]
    assert not read.is_torn
    assert 1.5 == read.lines[-2].record.expectation.outcomes[0].unowned_s


def test_a_last_line_counts_although_its_end_is_missing(finished):
    whole = text_of(finished)
    read = read_journal(whole.removesuffix(b"\n"))

    assert (finished, len(whole) - 1, False, True) == (
        [line.record for line in read.lines],
        read.whole_bytes,
        read.is_torn,
        read.is_open,
    )


def test_each_record_that_was_changed_is_refused(finished):
    lines = text_of(finished).splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        changed = line.replace(b"2026-11-26", b"2026-11-27")
        for end in (b"", b"\n"):
            content = b"".join([*lines[: number - 1], changed.removesuffix(b"\n") + end])
            with pytest.raises(JournalError, match=rf"line {number}: .* it was changed: its checksum is "):
                read_journal(content)


def test_a_record_without_a_checksum_is_refused(finished):
    lines = text_of(finished).splitlines(keepends=True)
    lines[1] = re.sub(rb',"crc32":"\w+"', b"", lines[1])

    with pytest.raises(JournalError, match="line 2: expected a record of a roll: it has no checksum"):
        read_journal(b"".join(lines))


def test_a_journal_of_before_checksums_is_continued_as_it_is(finished):
    first = evolve(finished[0], format=1)
    old = re.sub(rb',"crc32":"\w+"', b"", text_of([first, *finished[1:3]]))

    assert [first, *finished[1:4]] == [line.record for line in read_journal(old + text_of(finished[3:4])).lines]


@pytest.mark.parametrize(
    "content", [b'{"my":"only copy"}', b"{", b"hello", b"\n", b"\0", b'[1]\n{"record":"plan"', b' {"record":"plan"}\n']
)
def test_a_file_of_somebody_else_is_no_journal(content):
    with pytest.raises(JournalError, match="j, line 1: expected a record of a roll, or an empty file"):
        read_journal(content, "j")


def test_an_incomplete_last_line_is_left_out(finished):
    whole = text_of(finished)

    read = read_journal(whole + b'{"record":"int')

    assert (finished, len(whole), True) == ([line.record for line in read.lines], read.whole_bytes, read.is_torn)


def test_a_first_line_that_is_incomplete_is_no_journal_yet():
    read = read_journal(b'{"record":"plan"')

    assert ((), 0, True) == (read.lines, read.whole_bytes, read.is_torn)


def test_an_empty_file_has_no_records():
    assert () == read_journal(b"").lines


def plan_line(finished, **changes):
    return json.dumps(JournalLine("", finished[0]).as_json() | changes, separators=(",", ":"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "line 2: expected a record of a roll"),
        ("\udcff", "line 2: expected a record of a roll"),
        ("[]", "expected an object with record: plan, resumed"),
        ('{"record": {}}', "expected an object with record: plan, resumed"),
        ('{"record": "other"}', "expected an object with record: plan, resumed"),
        ('{"record": "ended"}', "record: .*outcome"),
        ('{"record": "ended", "outcome": 1}', "record.outcome: expected str, got int"),
        ('{"record": "ended", "outcome": "x", "more": 1}', "record: no key 'more' is known"),
        ('{"record": "ended", "outcome": "x", "at": 1}', "at: expected str, got int"),
        ('{"record": "verified", "round": true}', "record.round: expected int, got bool"),
        ('{"record": "verified", "round": 1, "gates": []}', "record.gates: expected dict, got list"),
        ('{"record": "resumed", "torn": 1}', "record.torn: expected bool, got int"),
        ('{"record": "back", "rounds": 1}', "record.rounds: expected list, got int"),
        ('{"record": "back", "rounds": [1]}', "record.rounds: expected dict, got int"),
        ('{"record": "answer", "about": "x", "option": "dance"}', "record.option: expected one of continue, wait"),
        (
            '{"record": "command", "step": 1, "instance": "a", "verb": "x", "seconds": true}',
            "record.seconds: expected float, got bool",
        ),
    ],
)
def test_a_line_that_is_no_record_is_refused_with_its_place(finished, line, message):
    content = f"{plan_line(finished, format=1)}\n{line}\n".encode(errors="surrogateescape")

    with pytest.raises(JournalError, match=message):
        read_journal(content, "j")


def test_a_journal_of_another_format_is_refused(finished):
    with pytest.raises(JournalError, match=r"j, line 1: .* expected format 2, got 3: another version has written it"):
        read_journal(f"{plan_line(finished, format=3)}\n".encode(), "j")


def test_a_value_of_an_option_of_time_may_be_whole(finished):
    plan = JournalLine("", finished[0]).as_json()["plan"]
    plan["limits"]["timeout_s"] = 60

    read = read_journal(f"{plan_line(finished, plan=plan)}\n".encode())

    assert 60.0 == read.lines[0].record.plan.limits.timeout_s


INTENT = CommandIntended(step=1, instance="a", verb="restart")
CONFIRMED = QuestionAnswered(about="plan", option=SafeOption.CONTINUE)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "j: expected a plan, got nothing"),
        ([RollResumed()], "line 1: expected one plan, on the first line"),
        (["plan", "plan"], "line 2: expected one plan, on the first line"),
        (["plan", INTENT], "line 2: step 1 has not begun"),
        (["plan", CONFIRMED, StepBegan(step=1, instances=("b",)), INTENT], "step 1 has not begun, or not with a"),
        (["plan", CONFIRMED, StepBegan(step=2, instances=("a",)), INTENT], "step 1 has not begun"),
        (
            [
                "plan",
                CONFIRMED,
                StepBegan(step=1, instances=("a",)),
                CommandEnded(step=1, instance="a", verb="restart"),
            ],
            "restart a ends, and was not intended",
        ),
        (
            ["plan", CONFIRMED, *[StepBegan(step=1, instances=("a",))] * 2],
            "step 1 begins before the last one has passed",
        ),
        (["plan", StepBegan(step=1, instances=("a",))], "or before the plan was confirmed"),
        (["plan", StepPassed(step=1)], "step 1 has not begun"),
        (["plan", RoundVerified(round=1)], "round 1 is verified before all of its instances have passed"),
    ],
)
def test_records_that_do_not_follow_from_each_other_are_refused(finished, records, message):
    given = [finished[0] if record == "plan" else record for record in records]

    with pytest.raises(JournalError, match=re.escape(message)):
        replay(given, "j")


def test_a_step_after_the_end_is_refused(finished):
    done = [record for record in finished if not isinstance(record, DeviationFound)][:-2]
    assert isinstance(done[-1], RollEnded)

    with pytest.raises(JournalError, match="begins before"):
        replay([*done, StepBegan(step=7, instances=("a",))])


def test_each_deviation_has_a_meaning_and_a_way_to_stop():
    assert {*DeviationKind} == {*DEVIATIONS}
    assert all(SafeOption.STOP in meaning.options and meaning.likely for meaning in DEVIATIONS.values())


def test_the_first_record_is_a_plan(finished):
    assert isinstance(finished[0], PlanRecorded)
    assert isinstance(finished[1], QuestionAnswered)
