"""Rows on their way to disk and back, and what they come to."""

import json

import pytest
from attrs import evolve

from spark_sim.brokers.results import (
    example_lines,
    is_broker_sweep,
    judge,
    matrix_json,
    prepare,
    read_rows,
    write_rows,
)
from spark_sim.brokers.sweep import keys, row_of
from spark_sim.results import ResultsError

SAFE, UNSAFE = (
    next(row_of(key) for key in keys("3.9", "4.3", nodes=1, faults=0) if key.plan == plan)
    for plan in ("upgrade", "at_once")
)


def test_rows_come_back_from_disk(tmp_path):
    write_rows(tmp_path, [SAFE, UNSAFE])

    assert is_broker_sweep(tmp_path)
    assert [SAFE, UNSAFE] == read_rows(tmp_path)


def test_a_row_has_the_keys_that_rows_of_groups_have_too():
    safe, unsafe = json.loads(matrix_json([SAFE, UNSAFE]))

    assert ("3.9", "4.3", "upgrade", "safe", 0, None) == tuple(
        safe[key] for key in ("from", "to", "plan", "verdict", "violations", "example")
    )
    assert "1@3.9 level 3.9-IV0 dialect kip-584 | bounce 1>4.3 | finalise 4.3-IV0 | bounce 1>3.9" == unsafe["example"]
    assert "eventually: every node is in the cluster" == unsafe["property"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "[{}]", "[1]"])
def test_what_is_no_matrix_of_brokers_is_told(tmp_path, text):
    (tmp_path / "matrix.json").write_text(text)

    assert not is_broker_sweep(tmp_path)


def test_a_damaged_matrix_is_told(tmp_path):
    (tmp_path / "matrix.json").write_text('[{"dialect": "x"}]')

    with pytest.raises(ResultsError, match="cannot be read: KeyError"):
        read_rows(tmp_path)


def test_a_folder_may_be_new_or_hold_the_same_kind_of_results(tmp_path):
    for _ in range(2):
        prepare(tmp_path / "out")
        write_rows(tmp_path / "out", [SAFE])

    assert [SAFE] == read_rows(tmp_path / "out")


@pytest.mark.parametrize("name", ["notes.txt", "manifest.json", "matrix.json"])
def test_a_folder_with_something_else_is_refused(tmp_path, name):
    (tmp_path / name).touch()

    with pytest.raises(ResultsError, match="holds something else than a sweep over brokers"):
        prepare(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").touch()

    with pytest.raises(ResultsError, match="is a file"):
        prepare(tmp_path / "out")


def test_a_sweep_is_good_if_all_that_is_documented_is_safe():
    assert (True, "documented plans: all 1 safe; others: 1 of 1 unsafe") == judged(SAFE, UNSAFE)
    good, text = judged(SAFE, evolve(UNSAFE, documented=True))
    assert not good
    assert "documented, and yet unsafe: 3.9 to 4.3, kip-584, nodes 1: at_once" == text


def test_a_cell_in_which_nothing_happened_has_shown_nothing():
    good, text = judged(evolve(SAFE, reached=0))

    assert not good
    assert text.startswith("nothing happened, so nothing is shown")
    assert judged(evolve(SAFE, reached=0, refused=1))[0]


def judged(*rows):
    judgement = judge(rows)
    return judgement.good, judgement.text


def test_documented_examples_come_first_and_the_rest_is_counted():
    first, replay, more = example_lines([SAFE, UNSAFE, evolve(UNSAFE, documented=True, plan="upgrade")], 1)

    assert first.startswith("3.9 to 4.3, kip-584, nodes 1: upgrade (bounce every node, then finalise): eventually")
    assert f'  streams-assignor replay "{UNSAFE.example}"' == replay
    assert "and 1 more unsafe cells, each with an example in matrix.json" == more
