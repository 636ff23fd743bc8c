"""Every page of one file, in a real browser: screen readers, widths, colours, hostile names."""

import io
import re
import tarfile
import tempfile
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.cli.plan.markdown import plan_page
from streams_assignor.spark_sim.audit.report import write_report
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellResult
from streams_assignor.spark_sim.sweep.report.cells_page import broker_page, history_page
from streams_assignor.spark_sim.sweep.report.html import render_html
from streams_assignor.spark_sim.sweep.report.renderers import judge_brokers, judge_searches
from streams_assignor.spark_sim.sweep.report.replay_page import replay_page
from streams_assignor.spark_sim.sweep.search_units import streams_units
from streams_assignor.spark_sim.sweep.suites import broker_suite, regression_suite
from streams_assignor.spark_sim.sweep.traces import trace_line
from tests.assignor.cli.named_plan import named_plan
from tests.assignor.web.packages import AXE, fetched
from tests.spark_sim.audit.made_up_groups import HOSTILE, estate, finding, rolling_bounce, summary, write_audit
from tests.spark_sim.made_up import MATRIX

pytestmark = pytest.mark.slow

BUG = "B@2.0.1 A@2.0.1 C@2.0.1 | elect newest | bounce A>2.1.1 | bounce B>2.1.1"
CLUSTER = "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3 | finalize 4.3 | bounce 1>3.9"
STREAMS = "A@4.3.1 B@4.3.1 group 4.3.1 tasks=4 standbys=1 | start A | settle | start B | settle | crash A | settle"
BROKERS = [
    BrokerCellResult(key, states=10, schedules=20, completed=place % 3, terminal_states=3, **violated)
    for pair in (("3.9", "4.3"), ("4.0", "4.3"))
    for place, key in enumerate(broker_suite([pair], nodes=1).cells)
    for violated in [{"violations": 1, "property": "p", "message": HOSTILE, "example": CLUSTER} if place == 3 else {}]
]
SEARCHES = [
    unit.search.result(HOSTILE, BUG) if unit.search.affected else unit.search.result(None)
    for unit in regression_suite().units[:4]
]


def hostile_sweep():
    return [
        evolve(each, property=HOSTILE, message=HOSTILE) if each.violations else each
        for each in (evolve(each, cell=evolve(each.upgrade, labels=(HOSTILE, f"{HOSTILE}2"))) for each in MATRIX[:3])
    ]


def audit_page():
    rows = rolling_bounce(HOSTILE, static=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "audit")
        hostile = summary(HOSTILE, rows, [finding(HOSTILE, "flapping", "problem", HOSTILE)]), rows
        write_report(write_audit(folder, [*estate(300), hostile], source=HOSTILE, problems=[HOSTILE]), folder)
        return (folder / "report.html").read_text("utf-8")


def streams_page():
    results = [unit.result() for unit in streams_units()[:2]]
    return history_page(results, judge_searches(results))


PAGES = {
    "upgrades": lambda: render_html(MATRIX),
    "one pair": lambda: render_html(MATRIX[:3]),
    "hostile pair": lambda: render_html(hostile_sweep()),
    "brokers": lambda: broker_page(BROKERS, judge_brokers(BROKERS)),
    "history": lambda: history_page(SEARCHES, judge_searches(SEARCHES)),
    "streams groups": lambda: streams_page(),
    "replay": lambda: replay_page(trace_line(BUG)),
    "replay of a cluster": lambda: replay_page(trace_line(CLUSTER)),
    "replay of a streams group": lambda: replay_page(trace_line(STREAMS)),
    "plan": lambda: CliRunner().invoke(cli, ["plan", "2.3", "4.3", "-o", "html"]).stdout,
    "plan of brokers": lambda: (
        CliRunner().invoke(cli, ["plan", "--brokers", "3.9", "4.3", "--kraft", "-o", "html"]).stdout
    ),
    "plan of another protocol": lambda: (
        CliRunner().invoke(cli, ["plan", "4.2", "4.3", "--to-protocol", "streams", "-o", "html"]).stdout
    ),
    "hostile plan": lambda: plan_page(named_plan(HOSTILE)),
    "audit": audit_page,
    "audit of a group": audit_page,
}
HASHES = {"audit of a group": "#group=%3Dbilling-00020"}
WIDTHS = (390, 1400)


@pytest.fixture(scope="module")
def axe():
    with tarfile.open(fileobj=io.BytesIO(fetched(AXE))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def looked_at(browser, width, scheme):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def drawn(browser, name):
    """Wait for the page, and open all that it folds."""
    from selenium.webdriver.support.ui import WebDriverWait

    shown = {"audit": ".overview .mark", "audit of a group": "#one-group .mark"}.get(name, "main .verdict, main .trace")
    WebDriverWait(browser, 60).until(lambda _: browser.find_elements("css selector", shown))
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation_and_the_window_never_scrolls_sideways(browser, axe, tmp_path, name):
    (tmp_path / "page.html").write_text(PAGES[name](), encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri() + HASHES.get(name, ""))
    drawn(browser, name)
    browser.execute_script(axe)
    found = {}
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            looked_at(browser, width, scheme)
            result = browser.execute_async_script(
                "const done = arguments[0]; axe.run().then((found) => done(found.violations.map("
                "(each) => [each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])))"
            )
            needed = browser.execute_script("return document.documentElement.scrollWidth")
            found |= {(scheme, width): (result, needed)} if result or needed > width else {}

    assert {} == found
    assert "owned" not in browser.title
    assert [] == browser.find_elements("css selector", "main img, main script, header img")
    assert [] == [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (("2.8", "4.3"), "processing.guarantee=exactly_once\nrocksdb.config.setter=com.example.Setter\n"),
        (("4.2", "4.3", "--to-protocol", "streams"), "group.instance.id=a\nmax.warmup.replicas=4\n"),
        (("4.2", "4.3", "--to-protocol", "streams"), None),
        (("2.3", "4.3"), None),
    ],
)
def test_the_page_of_a_plan_says_what_its_runbook_says(browser, tmp_path, arguments, settings):
    if settings is not None:
        (tmp_path / "a.properties").write_text(settings)
        arguments = (*arguments, "--config", str(tmp_path / "a.properties"))
    runbook = CliRunner().invoke(cli, ["plan", *arguments, "-o", "markdown"]).stdout
    (tmp_path / "page.html").write_text(CliRunner().invoke(cli, ["plan", *arguments, "-o", "html"]).stdout)
    browser.get((tmp_path / "page.html").as_uri())
    drawn(browser, "plan")
    browser.execute_script("for (const each of document.querySelectorAll('script, #runbook, #json')) each.remove()")
    text = browser.execute_script("return document.body.textContent")
    items = re.findall(
        r"^ *- (?:\[.\] )?(?:\*\*\d+\.\*\* )?(?:severity: )?(.*)$",
        runbook.replace("`", "").replace("\\", ""),
        re.MULTILINE,
    )

    assert [] == [part for item in items for part in re.split(r": |[;,] | \(|\)", item) if part not in text]
