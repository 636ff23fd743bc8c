"""The end of a sweep, and the matrix for a terminal."""

import re
from io import StringIO

import pytest
from attrs import evolve
from rich.console import Console

from streams_assignor.spark_sim.jobs.engine import WorkProgress
from streams_assignor.spark_sim.search.cell_result import ANY_SIZE, UpgradeResult, from_, up_to
from streams_assignor.spark_sim.sweep.report import progress
from streams_assignor.spark_sim.sweep.report.terminal import (
    cell_state,
    example_lines,
    guide_legend,
    judge,
    legend,
    matrix_table,
    note_lines,
    size_lines,
    unseen_lines,
)
from streams_assignor.spark_sim.sweep.suites import ResultFolderError, read_sweep
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import release_named
from tests.spark_sim.made_up import EXAMPLE, MATRIX

ONE = next(each for each in MATRIX if not each.violations)


def drawn(*things, width=100, colour=False):
    text = StringIO()
    Console(file=text, width=width, force_terminal=colour, color_system="truecolor" if colour else None).print(*things)
    return text.getvalue()


def test_an_unfinished_sweep_says_so(tmp_path):
    with pytest.raises(ResultFolderError, match="no sweep was run there"):
        read_sweep(tmp_path)
    (tmp_path / "units").mkdir()
    with pytest.raises(ResultFolderError, match="not finished"):
        read_sweep(tmp_path)


# -- judgement -------------------------------------------------------------------------------------------------------


def with_changed(index, **changes):
    return [*MATRIX[:index], evolve(MATRIX[index], **changes), *MATRIX[index + 1 :]]


def test_a_sweep_is_good_if_what_is_documented_is_safe_whatever_the_rest_is():
    assert judge(MATRIX).good
    assert "all 28 safe" in judge(MATRIX).text


@pytest.mark.parametrize("index", [i for i, each in enumerate(MATRIX) if each.upgrade.is_documented][::9])
def test_a_documented_plan_that_is_unsafe_is_named(index):
    judgement = judge(with_changed(index, violations=1, example=EXAMPLE))

    assert not judgement.good
    assert MATRIX[index].title in judgement.text


@pytest.mark.parametrize("index", [i for i, each in enumerate(MATRIX) if each.expects_probe])
def test_a_probing_cell_without_a_probe_shows_nothing(index):
    judgement = judge(with_changed(index, probes=0))

    assert not judgement.good
    assert "no probe" in judgement.text


def test_an_empty_sweep_of_undocumented_plans_is_not_called_safe():
    assert "none was asked for" in judge([each for each in MATRIX if not each.upgrade.is_documented]).text


# -- terminal --------------------------------------------------------------------------------------------------------


def test_a_narrow_terminal_gets_every_cell():
    """At 60 columns the table lost its last two columns, and nothing said so."""
    text = drawn(matrix_table(MATRIX), width=60)

    assert len(MATRIX) == sum(text.count(sign) for sign in "✓✗")
    assert ["from \\ to 0.10.1* 0.10.2 0.11.0 1.0 1.1", "from \\ to 2.0 simulated-4*"] == [
        " ".join(line.split()) for line in text.splitlines() if "from" in line
    ]
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_is_whole_and_readable_without_colour(width):
    text = drawn(matrix_table(MATRIX), width=width)
    rows = {line.split()[0]: line for line in text.splitlines() if re.match(r" \d", line)}

    assert ["0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0"] == list(rows)
    assert rows["0.10.0"].split()[1:] == ["1✗(2✓)o✓"] * 7
    assert rows["1.1"].split()[1:] == ["1✗(2✓)o✓"] * 2
    assert rows["2.0"].strip().endswith("(1✓)2✓ o✓")
    assert max(map(len, text.splitlines())) <= width


def test_a_terminal_that_knows_ascii_only_gets_nothing_else():
    """The dots between the signs of a legend were no ASCII: `report` ended with a UnicodeEncodeError."""
    assert drawn(matrix_table(MATRIX, ascii_only=True)).isascii()
    assert str(legend(ascii_only=True)).isascii()
    assert str(guide_legend(ascii_only=True)).isascii()


def test_an_upgrade_is_open_then_running_and_unsafe_as_soon_as_it_is():
    none, some, bad = UpgradeResult(ONE.upgrade), ONE, evolve(ONE, violations=1)
    unfinished = frozenset([ONE.upgrade])

    assert ["open", "running", "unsafe"] == [cell_state(each, unfinished) for each in (none, some, bad)]
    assert ["safe", "unsafe"] == [cell_state(each) for each in (some, bad)]
    assert "1·(2…)o✓" in drawn(
        matrix_table([UpgradeResult(MATRIX[0].upgrade), *MATRIX[1:3]], {MATRIX[0].upgrade, MATRIX[1].upgrade})
    )


def test_colours_tell_the_verdicts_apart():
    text = drawn(matrix_table(MATRIX[:3]), colour=True)

    assert re.search(r"\x1b\[1;31m1✗\x1b\[0m.*\x1b\[32m2✓", text)


def test_examples_are_few_and_each_comes_with_its_command():
    lines = list(example_lines(MATRIX, 2))

    assert [f'  streams-assignor replay "{EXAMPLE}"'] * 2 == lines[1:4:2]
    assert "and 15 more" in lines[-1]
    assert [] == list(example_lines([ONE], 2))


def test_a_documented_plan_that_is_unsafe_is_the_first_example():
    broken = evolve(ONE, violations=1, example=EXAMPLE)
    assert broken.upgrade.is_documented or broken.upgrade.plan is not Plan.ONE_BOUNCE
    documented = next(each for each in reversed(MATRIX) if each.upgrade.is_documented)

    lines = example_lines([*MATRIX[:-3], evolve(documented, violations=1, example=EXAMPLE)], 1)

    assert next(lines).startswith("2.0 to simulated-4 (one bounce)")


def test_it_counts_the_groups_that_verdicts_are_about():
    unsafe = evolve(ONE, violations=1)
    sizes = [(ONE, ANY_SIZE), (ONE, ANY_SIZE), (ONE, up_to(3)), (ONE, None), (unsafe, from_(1)), (unsafe, from_(2))]

    assert [
        "safe: 2 for groups of any size, with any number of crashes and rebalance timeouts, 1 up to 3 members",
        "unsafe: 1 from 1 member on, 1 from 2 members on",
    ] == list(size_lines([evolve(result, group_size=size) for result, size in sizes]))


def test_the_line_that_was_never_released_is_flagged():
    assert any("0.10.1: never released" in note for note in note_lines(MATRIX))
    assert "0.10.1*" in drawn(matrix_table(MATRIX))


def test_bugs_that_need_more_than_the_swept_workload_are_named():
    origin, target = release_named("2.1"), release_named("2.8")

    assert [
        "not seen by a sweep: leaders of 2.6 to 3.0 fail on stateless tasks that members up to 2.3 report: 2.1 to 2.8",
        "not seen by a sweep: leaders up to 2.3.0 that probe assign wrong tasks of several threads or topics "
        "(KAFKA-8649): 2.1 to 2.8",
    ] == list(unseen_lines([UpgradeResult(Upgrade(origin, target, Plan.TWO_BOUNCES, "2.1"))]))


def test_progress_in_a_file_is_a_line_when_it_changes_or_once_a_minute(monkeypatch):
    """A sweep printed "0 of 84 units" 99 times before the first one was done."""
    file, now = StringIO(), [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.show_progress(Console(file=file)) as show:
        for now[0], units in ((6, 0), (12, 0), (61, 0), (63, 1), (67, 1), (70, 2), (73, 3), (90, 3), (140, 3)):
            show(WorkProgress(84, units, None))

    assert [0, 1, 3, 3] == [int(line.split()[0]) for line in file.getvalue().splitlines()]
