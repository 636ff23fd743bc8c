"""The pages of sweeps over brokers and known bugs: their cells, and what each shows."""

import json

from streams_assignor.spark_sim.search.cell_result import SAFE, UNKNOWN, UNSAFE
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellResult
from streams_assignor.spark_sim.sweep.report.cells_page import broker_page, history_page
from streams_assignor.spark_sim.sweep.report.renderers import judge_brokers, judge_searches
from streams_assignor.spark_sim.sweep.suites import broker_suite, regression_suite

CLUSTER = "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3"
DOES_NOT_START = "A@3.4.0 | bounce A>3.5.0,upgrade.from=3.4"


def data_of(page):
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


def cells_of(data):
    return [cell for table in data["tables"] for row in table["rows"] for some in row["cells"] for cell in some]


def test_a_broker_cell_that_never_completes_is_not_green_and_shows_such_a_run():
    first, second, third = broker_suite([("3.9", "4.3")], nodes=1).cells[:3]
    results = [
        BrokerCellResult(first, completed=3, terminal_states=3),
        BrokerCellResult(second, completed=0, terminal_states=3, refused_requests=1, stalled_example=CLUSTER),
        BrokerCellResult(third, completed=1, violations=1, property="p", message="m", example=CLUSTER),
    ]
    data = data_of(broker_page(results, judge_brokers(results)))

    assert [SAFE, UNKNOWN, UNSAFE] == [cell["verdict"] for cell in cells_of(data)]
    assert [None, 0, 0] == [cell.get("trace") for cell in cells_of(data)]
    assert 1 == len(data["traces"])
    assert [*CLUSTER.split(" | "), "the end"][1:] == [step["step"] for step in data["traces"][0]["steps"]][1:]


def test_each_pair_of_releases_is_a_table_of_its_own():
    cells = broker_suite([("3.9", "4.3"), ("4.0", "4.3")], nodes=1).cells
    results = [BrokerCellResult(cell, completed=1, terminal_states=1) for cell in cells]
    data = data_of(broker_page(results, judge_brokers(results)))

    assert ["3.9 to 4.3", "4.0 to 4.3"] == [table["title"] for table in data["tables"]]
    assert len(cells) == len(cells_of(data))


def test_a_bug_that_is_found_where_kafka_has_it_is_as_expected():
    affected, fixed = (unit.search for unit in regression_suite().units[:2])
    results = [affected.result("m", "A@2.0 B@2.0"), fixed.result("m", "A@2.0 B@2.0")]
    data = data_of(history_page(results, judge_searches(results)))
    (row,) = data["tables"][0]["rows"]

    assert [[SAFE], [UNSAFE]] == [[cell["verdict"] for cell in some] for some in row["cells"]]
    assert "unsafe" == data["judgement"]["verdict"]
    assert "B1 KAFKA-6054" == row["name"]


def test_an_example_whose_members_do_not_start_has_no_trace():
    """Known bugs B14 and B15 ended the sweep with the error of that member."""
    search = regression_suite().units[0].search
    results = [search.result("the member does not start", DOES_NOT_START)]

    assert [{"lanes": [], "steps": []}] == data_of(history_page(results, judge_searches(results)))["traces"]
