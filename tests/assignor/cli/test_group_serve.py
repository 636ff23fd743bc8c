"""``group list --serve``: an exporter with the numbers of the last look, and its rules, dashboard and limits."""

import json
import re
import shutil
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from streams_assignor.cli.group import _serve
from streams_assignor.cli.group._serve import Exporter, serve
from streams_assignor.cli.group.command import group as command
from streams_assignor.cli.group.watch import Look
from streams_assignor.groups import inspect_group
from streams_assignor.groups.offsets import group_gauges
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from tests.assignor.groups.described_groups import group, member

MONITORING = Path(__file__).parents[3] / "docs/how-to/monitoring"
APP = inspect_group(group(member("a", active="0_0")))
FINE, LOST = Look(groups=(APP,)), Look(error=Unreachable("no broker answers"))


def samples(text):
    return {each.name: each.value for family in text_string_to_metric_families(text) for each in family.samples}


@pytest.fixture(name="now")
def fixture_now():
    """Seconds of the clock, which a test sets."""
    return [0.0]


@pytest.fixture(name="exporter")
def fixture_exporter(now):
    """An exporter that looks each 30 seconds."""
    return Exporter(30.0, clock=lambda: now[0])


def test_before_the_first_look_it_is_not_healthy(exporter):
    assert (503, "no look yet\n") == exporter.answer("/health")[::2]
    assert "# EOF\n" == exporter.answer("/metrics")[2]


def test_a_look_that_fails_leaves_no_number_of_a_group(exporter):
    assert "" == exporter.update(FINE, 0.25)
    seen = samples(exporter.answer("/metrics?x=1")[2])
    assert {"streams_assignor_up": 1, "streams_assignor_look_seconds": 0.25}.items() <= seen.items()
    assert 1 == seen["streams_assignor_group_members"]

    assert exporter.update(LOST, 10.0).startswith("no broker answers")
    seen = samples(exporter.answer("/metrics")[2])
    assert 0 == seen["streams_assignor_up"]
    assert [] == [name for name in seen if "group" in name]
    assert 503 == exporter.answer("/health")[0]


def test_a_broker_that_does_not_answer_is_no_health(exporter):
    exporter.update(Look(groups=(APP,), failures=("broker 2: no answer",)), 1.0)

    assert (503, "broker 2: no answer\n") == exporter.answer("/health")[::2]
    assert 0 == samples(exporter.answer("/metrics")[2])["streams_assignor_up"]


def test_looks_that_do_not_end_are_no_health(exporter, now):
    exporter.update(FINE, 1.0)
    now[0] = 90.0
    assert (200, "ok\n") == exporter.answer("/health")[::2]
    now[0] = 91.0
    assert (503, "the last look ended 91 seconds ago\n") == exporter.answer("/health")[::2]


def test_another_path_is_not_found(exporter):
    assert 404 == exporter.answer("/")[0]


def test_requests_get_the_last_look_and_start_none(capfd):
    """The looks wait for the requests, so each request meets a known one."""
    answered, begun, got = threading.Event(), [], {}

    def look():
        begun.append(1)
        if len(begun) == 3:
            address = re.search(r"http://127\.0\.0\.1:\d+", said())[0]
            for _ in range(5):
                got["metrics"] = urllib.request.urlopen(f"{address}/metrics").read().decode()
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(f"{address}/health")
            answered.set()
            raise KeyboardInterrupt
        return FINE if len(begun) == 1 else LOST

    def said():
        return capfd.readouterr().err

    serve(look, ("127.0.0.1", 0), 0.0)
    assert answered.is_set()
    assert 3 == len(begun)
    assert 0 == samples(got["metrics"])["streams_assignor_up"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("app", "--serve", "0"), "expected --serve with list"),
        (("list", "--serve", "0", "--watch"), "expected --serve with list"),
        (("list", "--serve", "0", "-o", "json"), "expected --serve with list"),
        (("list", "--serve", "70000"), "expected [HOST:]PORT with a port of 0 to 65535, got '70000'"),
        (("list", "--serve", "here"), "expected [HOST:]PORT"),
    ],
)
def test_wrong_usage_is_an_error(arguments, said):
    done = CliRunner().invoke(command, [*arguments, "--bootstrap-servers", "h:1"])

    assert 2 == done.exit_code
    assert said in " ".join(done.stderr.split())


def test_the_address_is_loopback_unless_it_is_given(monkeypatch):
    served = []

    def stands_in(_look, address, interval):
        served.append((address, interval))

    monkeypatch.setattr(_serve, "serve", stands_in)
    for arguments in (("--serve", "9464"), ("--serve", "[::]:1", "--interval", "5"), ("--serve", "0.0.0.0:2")):
        assert 0 == CliRunner().invoke(command, ["--all", *arguments, "--bootstrap-servers", "h:1"]).exit_code
    assert [(("127.0.0.1", 9464), 30.0), (("::", 1), 5.0), (("0.0.0.0", 2), 30.0)] == served


def test_a_port_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(command, ["list", "--serve", str(port), "--bootstrap-servers", "h:1"])

    assert 1 == done.exit_code
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr


def test_rules_and_dashboard_name_metrics_that_exist():
    own = {f"streams_assignor_{name}" for name in ("up", "look_seconds", "look_timestamp_seconds")}
    there = own | {gauge.name for gauge in group_gauges([])}
    dashboard = json.loads((MONITORING / "grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for text in (*queries, *((MONITORING / name).read_text() for name in ("alerts.yml", "alerts_test.yml"))):
        assert [] == [name for name in re.findall(r"streams_assignor_\w+", text) if name not in there]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool, of Prometheus")
def test_each_rule_fires_for_its_own_group():
    subprocess.run(["promtool", "check", "rules", "alerts.yml"], cwd=MONITORING, check=True)
    subprocess.run(["promtool", "test", "rules", "alerts_test.yml"], cwd=MONITORING, check=True)
