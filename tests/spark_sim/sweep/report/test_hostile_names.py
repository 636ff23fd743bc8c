"""Pages with hostile names in a browser: no name becomes an element, and no script of one runs.

    pytest -m exhaustive tests/spark_sim/sweep/report/test_hostile_names.py -s

Each name is in every text of a page of an audit, of sweeps over upgrades and brokers, and of a plan: 88 pages.
"""

import pytest
from attrs import evolve

from streams_assignor.cli.plan.markdown import plan_page
from streams_assignor.spark_sim.audit.report import write_report
from streams_assignor.spark_sim.sweep.report.cells_page import ShownCell, ShownTable, cells_page
from streams_assignor.spark_sim.sweep.report.html import render_html
from streams_assignor.spark_sim.sweep.report.judgement import Judgement
from tests.assignor.cli.named_plan import named_plan
from tests.spark_sim.audit.made_up_groups import HOSTILE, finding, rolling_bounce, summary, write_audit
from tests.spark_sim.audit.test_report import bounce, seen
from tests.spark_sim.made_up import MATRIX

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(3600)]

RUN = "window.owned=1"
NAMES = (
    HOSTILE,
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</SCRIPT ><ScRiPt>{RUN}</sCrIpT>",
    f"<!--<script>{RUN}//",
    f"--><script>{RUN}</script><!--",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"</style><img src=x onerror={RUN}>",
    f"</title></textarea></template><img src=x onerror={RUN}>",
    f"\"><img src=x onerror='{RUN}'>",
    f"' autofocus onfocus={RUN} x='",
    f"\" style=animation:x onanimationstart={RUN} x=\"",
    "<iframe srcdoc='<script>parent.owned=1</script>'>",
    f"<a href=javascript:{RUN}>x</a><base href=javascript:{RUN}//>",
    f"javascript:{RUN}",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    "</script>\u2028\u2029<script>window.owned=1</script>",
    "${window.owned=1}`;window.owned=1;//",
    "{{constructor.constructor('window.owned=1')()}}{% raw %}{{ owned }}",
    "__proto__\\\"];window.owned=1;//\u202e\x00\x1b]0;x\x07",
)  # fmt: skip
FOREIGN = "a, img, iframe, object, embed, base, form, meta, link, svg script, [onload], [onerror], [onfocus]"
CLICK = """
for (let place = 0; place < arguments[1]; place++)
    document.querySelectorAll(arguments[0])[place]?.dispatchEvent(new MouseEvent("click", {bubbles: true}));
"""


def audit_page(name, folder):
    """Write the page of an audit with a name in every text."""
    rows = rolling_bounce(name, static=True)
    for table in rows.values():
        for row in table:
            row |= {key: name for key in ("protocol", "host", "instance_id", "process_id", "releases") if key in row}
            row |= {"detail": f"{name} and {name}"} if "detail" in row else {}
    rows["members"][0]["topics"] = [name]
    group = summary(name, rows, [finding(name, "flapping", "problem", name, about=[name])], last_state=name)
    found = write_audit(folder, [(group, rows)], source=name, problems=[name])
    differs = bounce(name, False, differs_in=2, member=name, fact=name, expected=name, observed=name, reason=name)
    write_report(found, folder, [differs | {"from_releases": name, "to_releases": name}])
    return folder / "report.html"


def sweep_page(name, folder):
    """Write the page of a sweep with a name in every text."""
    results = [
        evolve(each, property=name, message=name) if each.violations else each
        for each in (evolve(each, cell=evolve(each.upgrade, labels=(name, f"{name}2"))) for each in MATRIX[:3])
    ]
    folder.mkdir()
    (folder / "report.html").write_text(render_html(results), encoding="utf-8")
    return folder / "report.html"


def brokers_page(name, folder):
    """Write the page of a sweep over brokers with a name in every text."""
    cells = [
        ShownCell(name, verdict, name, message=name, example=name, facts={name: name}) for verdict in ("safe", "unsafe")
    ]
    tables = [ShownTable(name, name, [name], [(name, name, [cells])]) for _ in "ab"]
    folder.mkdir()
    texts = {"title": "Broker sweep", "heading": name, "lead": name}
    (folder / "report.html").write_text(cells_page(tables, Judgement(False, name), **texts), encoding="utf-8")
    return folder / "report.html"


def plan_as_page(name, folder):
    """Write the page of a plan with a name in every text."""
    folder.mkdir()
    (folder / "report.html").write_text(plan_page(named_plan(name)), encoding="utf-8")
    return folder / "report.html"


def open_all(browser, page, is_audit):
    """Open a page and all that it shows on a click."""
    browser.get("about:blank")
    browser.get(page.as_uri())
    if is_audit:
        seen(browser, ".overview .mark")
        seen(browser, "#rows a")[0].click()
        seen(browser, "#group-title")
    seen(browser, "summary, .mark, [data-cell]")
    browser.execute_script(CLICK, "summary, .mark, [data-cell], [data-plan]", 30)
    return sorted(each.tag_name for each in browser.find_elements("css selector", FOREIGN))


@pytest.mark.parametrize("write", [audit_page, sweep_page, brokers_page, plan_as_page])
def test_no_script_of_a_name_runs(browser, tmp_path, write):
    is_audit = write is audit_page
    plain = open_all(browser, write("plain", tmp_path / "plain"), is_audit)
    for number, name in enumerate(NAMES):
        foreign = open_all(browser, write(name, tmp_path / str(number)), is_audit)

        assert browser.execute_script("return [window.owned, document.title]")[0] is None, name
        assert "owned" != browser.title, name
        assert plain == foreign, name
        assert [] == [each for each in browser.get_log("browser") if each["level"] == "SEVERE"], name
    print(f"{write.__name__}: {len(NAMES)} pages, no script run")
