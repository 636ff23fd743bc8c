"""The bytes that a process has to restore, of the sizes that brokers tell."""

import pytest

from streams_assignor.cli.group.what_if import forecast_lines
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups.offsets import ChangelogSizes
from streams_assignor.spark_sim.forecast import forecast, observe, parse_operation
from streams_assignor.spark_sim.forecast.observation import StateSize, size_problems, state_sizes
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.spark_sim.forecast.live import seen


def changelogs(**partitions):
    logs = [TopicPartition(f"app-{store}-changelog", n) for store, number in partitions.items() for n in range(number)]
    return ChangelogSizes(
        sizes={log: 1000 + log.partition for log in logs}, begins=dict.fromkeys(logs, 0), ends=dict.fromkeys(logs, 100)
    )


@pytest.mark.parametrize(
    ("size", "offset_sum", "expected"),
    [
        (StateSize(1000, 0, 200), 150, 250),
        (StateSize(1000, 0, 200), 0, 1000),
        (StateSize(1000, 100, 200), 50, 1000),
        (StateSize(1000, 100, 200), 150, 500),
        (StateSize(1000, 0, 200), 250, 0),
        (StateSize(1000, None, 200), 150, 1000),
        (StateSize(1000, 0, None), 150, 1000),
        (StateSize(0, 0, 0), 0, 0),
    ],
)
def test_a_part_of_the_offsets_is_the_same_part_of_the_bytes(size, offset_sum, expected):
    assert expected == size.bytes_behind(offset_sum)


def test_the_changelogs_of_a_task_are_added():
    sizes = state_sizes(changelogs(counts=2, names=2), {0: 2})

    assert {TaskId(0, 0): StateSize(2000, 0, 200), TaskId(0, 1): StateSize(2002, 0, 200)} == sizes


def test_changelogs_belong_to_the_subtopology_with_as_many_tasks():
    assert {0: 2, 2: 3} == count(state_sizes(changelogs(counts=2, names=3), {0: 2, 2: 3}))


def count(sizes):
    return {
        number: sum(task.subtopology == number for task in sizes) for number in {task.subtopology for task in sizes}
    }


def test_two_subtopologies_of_one_size_have_no_sizes():
    given = changelogs(counts=2, names=2)

    assert {} == state_sizes(given, {0: 2, 1: 2})
    assert "which changelogs subtopology 0, 1 has" in size_problems(given, {0: 2, 1: 2})[0]


def test_a_changelog_of_which_a_size_is_missing_has_none():
    given = ChangelogSizes(sizes={TopicPartition("app-a-changelog", 1): 10}, failures=("no size of app-a-changelog-0",))

    assert {} == state_sizes(given, {0: 2})
    assert ("no size of app-a-changelog-0",) == size_problems(given, {0: 2})


def test_a_group_without_state_has_no_problem():
    assert () == size_problems(ChangelogSizes(failures=("refused",)), {})


def test_unknown_offsets_leave_the_whole_size():
    given = ChangelogSizes(sizes={TopicPartition("app-a-changelog", 0): 10})

    assert {TaskId(0, 0): StateSize(10, None, None)} == state_sizes(given, {0: 1})


def restart_without_state(given):
    scenario = "A@3.9.2 B@3.9.2 C@3.9.2 | with lag standbys=1 partitions=6 | bounce fast A>3.9.2"
    group = seen(Simulation(Scenario.parse(scenario)).run())
    observed = observe(group, StreamsConfig(), changelogs=given)
    return forecast(observed, parse_operation("restart B"), now_ms=0, ephemeral=True)


@pytest.mark.slow
def test_bytes_are_shown_with_their_source():
    found = restart_without_state(changelogs(store=6))
    rows = [row for outcome in found.outcomes for row in outcome.restored]
    lines = "\n".join(forecast_lines(found))

    assert rows
    assert all(row.bytes == 1000 + row.task.partition for row in rows)
    assert "about 1.0 kB" in lines
    assert "assumed: bytes are estimated: the sizes of changelogs at their leaders" in lines
    assert {"process", "task", "offsets", "bytes"} == {*found.as_json()["outcomes"][0]["restored"][0]}


def test_no_figure_is_given_where_nothing_is_known():
    found = restart_without_state(ChangelogSizes(failures=("not authorized",)))

    assert {None} == {row.bytes for outcome in found.outcomes for row in outcome.restored}
    assert "how many bytes the state has is not known: not authorized" in found.assumptions
    assert "about" not in "\n".join(forecast_lines(found))
