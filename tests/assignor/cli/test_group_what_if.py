"""``streams-assignor group NAME --what-if``: the forecast as the command shows it."""

import json

import pytest
from click.testing import CliRunner

from streams_assignor.cli.group.command import group
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.groups.offsets import ChangelogSizes
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from tests.spark_sim.forecast.live import described, members_of

ROLLED = "A@2.8.2 B@2.8.2 C@2.8.2 | with standbys=1 | bounce fast A>2.8.2"


@pytest.fixture(name="run")
def fixture_run(monkeypatch):
    alive = Simulation(Scenario.parse(ROLLED)).run()

    class Lookup:
        def __init__(self, *given):
            self.given = given

        def group(self, name):
            return described(name, members_of(alive))

        def changelog_sizes(self, name, report):
            report(f"sizes of {name}")
            return ChangelogSizes(failures=("not authorized",))

    monkeypatch.setattr(group_lookup, "GroupLookup", Lookup)

    def run(*arguments):
        words = ["what-if", "app", *arguments[1:]] if arguments[0] == "--what-if" else ["app", *arguments]
        return CliRunner().invoke(group, [*map(str, words), "--bootstrap-servers", "h:1"])

    return run


def test_it_says_what_a_restart_does(run):
    done = run("--what-if", "restart B")

    assert 0 == done.exit_code, done.output
    lines = done.stdout.splitlines()
    assert "app: restart B (3 instances, 6 tasks)" == lines[0]
    assert "1 rebalance, no move, 2 tasks without an owner for up to 10 s" == lines[2]
    assert (
        "assumed: members that stop are back before their sessions time out, unless they are stopped for good" in lines
    )


@pytest.mark.unmeasured
@pytest.mark.parametrize(("operation", "is_late"), [("restart A", True), ("restart A,B", True), ("stop A", False)])
def test_it_says_what_happens_if_an_instance_is_back_too_late(run, operation, is_late):
    """Only the way in which it is back in time was shown, as an assumption."""
    lines = run("--what-if", operation).stdout.splitlines()
    found = json.loads(run("--what-if", operation, "--json").stdout)

    shown = [number for number, line in enumerate(lines) if line.startswith("if it is back only after the sessions")]
    assert is_late == bool(shown) == bool(found["after_session"])
    for number in shown:
        assert any("rebalance" in line and "move" in line for line in lines[number:]), lines[number:]
        assert found["after_session"] != found["outcomes"]


def test_it_names_what_outcomes_depend_on(run):
    lines = run("--what-if", "upgrade B 3.9.2").stdout.splitlines()

    assert "app: upgrade B 3.9.2 (3 instances, 6 tasks): 2 outcomes are possible" == lines[0]
    assert "if A (A.local) or C (C.local) leads or B (B.local) leads and then A (A.local) or C (C.local):" == lines[2]


def test_a_long_forecast_is_not_cut(run):
    """Its text was shortened in the middle, like a message."""
    lines = run("--what-if", "add", "--state", "ephemeral").stdout.splitlines()

    assert sum(line.startswith(("1 rebalance", "2 rebalances")) for line in lines) == int(
        lines[0].rpartition(": ")[2].split()[0]
    )
    assert [] == [line for line in lines if " ... " in line]


def test_outcomes_that_the_process_id_decides_say_so(run):
    lines = run("--what-if", "add").stdout.splitlines()

    assert "if A (A.local), B (B.local) or C (C.local) leads, by the order of the new process id:" in lines


def test_moved_tasks_are_lines(run):
    lines = run("--what-if", "stop C").stdout.splitlines()

    assert any(line.startswith("- 0_2 moves from C (C.local) to ") for line in lines)


def test_json_has_all_of_it(run):
    found = json.loads(run("--what-if", "restart B", "--json").stdout)

    assert ("app", "restart B", "B (B.local)", 3, 6) == (
        *(found[key] for key in ("group", "step", "process", "processes", "tasks")),
    )
    assert {"0_1": 10.0, "0_4": 10.0} == found["outcomes"][0]["unowned_seconds"]
    assert "outcomes:" in run("--what-if", "restart B", "-o", "yaml").stdout


def test_it_names_the_cheapest_order(run):
    done = run("--what-if", "restart all")

    assert 0 == done.exit_code, done.output
    lines = done.stdout.splitlines()
    assert "app: restart all (3 instances, 6 tasks): the cheapest order" == lines[0]
    assert "3. A (A.local): 1 rebalance, no move, 0 to 1 changes of the leader" == lines[4]


@pytest.mark.unmeasured
def test_json_has_the_order(run):
    found = json.loads(run("--what-if", "upgrade all 3.9.2", "--json").stdout)

    assert ("upgrade all 3.9.2", True, 3) == (found["step"], found["is_cheapest"], len(found["order"]))
    assert {"least", "most"} == {*found["cost"]} == {*found["order"][0]["cost"]}
    assert 3 == found["at_least"]["rebalances"] <= found["cost"]["least"]["rebalances"]


def test_an_order_that_goes_wrong_has_status_1(run):
    assert 1 == run("--what-if", "upgrade all 0.11.0.3").exit_code


def test_sizes_that_are_not_known_are_said(run):
    lines = run("--what-if", "restart B").stdout.splitlines()

    assert "assumed: how many bytes the state has is not known: not authorized" in lines


def test_the_settings_of_the_members_are_read(run, tmp_path):
    settings = tmp_path / "app.properties"
    settings.write_text("num.standby.replicas=1\nclient.id=${POD}\nacceptable.recovery.lag=${LAG}\n")
    assert 0 == run("--what-if", "restart B", "--config", settings).exit_code

    settings.write_text("num.standby.replicas=2\n")
    done = run("--what-if", "restart B", "--config", settings)
    assert (1, True) == (done.exit_code, "no forecast: group app: no release and leader repeats" in done.stderr)

    settings.write_text("num.standby.replicas=many\n")
    done = run("--what-if", "restart B", "--config", settings)
    assert (2, True) == (done.exit_code, "num.standby.replicas" in done.stderr)


def test_a_step_that_ends_badly_has_status_1(run):
    done = run("--what-if", "upgrade B 0.11.0.3")

    assert (1, True) == (done.exit_code, "- UNSAFE: " in done.stdout)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--what-if", "explode B"), "expected one of restart WHICH"),
        (("--what-if", "restart B", "--watch"), "without --watch"),
        (("--what-if", "restart B", "--check"), "without --watch, --wait and --check"),
        (("--what-if", "restart B", "-o", "openmetrics"), "-o table|json|yaml"),
        (("--state", "ephemeral"), "with what-if"),
        (("--session-timeout", "30s"), "--session-timeout with wait"),
    ],
)
def test_wrong_usage_is_refused(run, arguments, why):
    done = run(*arguments)

    assert (2, True) == (done.exit_code, why in done.stderr), done.stderr
