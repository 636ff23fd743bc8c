"""The table that `streams-assignor audit` prints."""

import pytest
from rich.console import Console

from streams_assignor.cli.audit._output import groups_table
from tests.spark_sim.audit.made_up_groups import HOSTILE, estate, finding, rolling_bounce, storm, summary, write_audit

LONG = "payments-prod-eu-west-1-aggregator-with-a-name-that-does-not-fit-into-a-line-v2"


@pytest.fixture
def printed(tmp_path):
    def lines(groups, width):
        console = Console(width=width)
        with console.capture() as captured:
            console.print(groups_table(write_audit(tmp_path, groups), width))
        return [line.rstrip() for line in captured.get().splitlines()]

    return lines


def test_80_columns_have_what_matters_in_full(printed):
    text = "41 rebalances within ten minutes; the most frequent cause is member-timed-out (20)"
    group = summary("billing", storm("billing", 30), [finding("billing", "rebalance-storm", "problem", text)])
    bounced = summary("orders", rolling_bounce("orders"))

    assert [
        "group    rebalances  most frequent cause",
        "billing          30  member-joined (10)",
        " ✗  41 rebalances within ten minutes; the most frequent cause is",
        "    member-timed-out (20)",
        "orders           14  member-restarted (4)",
    ] == printed([(group, storm("billing", 30)), (bounced, rolling_bounce("orders"))], 80)


def test_100_columns_have_room_for_type_and_state(printed):
    head, first, *_ = printed(estate(1), 100)

    assert "group          rebalances  most frequent cause   members  type     state" == head
    assert "billing-00000          11  member-restarted (3)        3  classic  Stable" == first


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_names_are_whole(printed, width):
    rows = storm(LONG, 3)
    lines = printed([(summary(LONG, rows, [finding(LONG, "large", "notice", "x" * 500)]), rows), *estate(20)], width)
    room = lines[0].index("rebalances")

    assert max(map(len, lines)) <= width
    assert LONG in "".join(line[:room].strip() for line in lines)


def test_problems_come_before_notices_and_more_than_three_findings_are_a_number(printed):
    rows = storm("g", 3)
    findings = [finding("g", "large", "notice", f"n{place}") for place in range(4)]
    findings.append(finding("g", "flapping", "problem", "p"))

    assert [" ✗  p", " !  n0", " !  n1", "    2 more findings"] == printed([(summary("g", rows, findings), rows)], 80)[
        2:
    ]


def test_a_name_controls_neither_terminal_nor_table(printed):
    name = HOSTILE + "\x1b[31m\n[bold]"
    rows = storm(name, 3)
    lines = printed([(summary(name, rows), rows)], 200)

    assert 2 == len(lines)
    assert r"\x1b[31m\n[bold]" in lines[1]


def test_no_group_is_an_empty_table(printed):
    assert ["group  rebalances  most frequent cause"] == printed([], 80)
