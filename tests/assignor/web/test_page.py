"""The views of the page in a real browser, which runs the code of the command line."""

import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from tests.assignor.cli.test_plan_app import FAT, GONE
from tests.upgrade.application.test_archive import jar

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SEGMENTS = ROOT / "tests" / "spark_sim" / "audit" / "segments"
BUG = "B@2.0.1 A@2.0.1 C@2.0.1 | elect newest | bounce A>2.1.1 | bounce B>2.1.1"


def printed(*arguments, cwd="."):
    before = Path.cwd()
    os.chdir(cwd)
    try:
        return CliRunner().invoke(cli, arguments).stdout
    finally:
        os.chdir(before)


class TestUpgrade:
    def test_a_link_is_a_plan_with_the_verdict_first(self, page):
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")

        text = printed("plan", "2.8", "4.3")
        assert page.text("upgrade").startswith(text.splitlines()[0])
        assert all(f"\n{line}\n" in page.text("upgrade") for line in text.splitlines() if line.startswith("or, "))
        assert ["1", "2"] == [line[0] for line in text.splitlines() if re.match(r"\d\. ", line)]
        assert [line[3:] for line in text.splitlines() if re.match(r"\d\. ", line)] == [
            each.text for each in page.all("#upgrade .steps > li > div > strong")
        ]
        assert json.loads(printed("plan", "2.8", "4.3", "--json")) == page.json()
        assert printed("plan", "2.8", "4.3", "-o", "markdown").rstrip() == page.hidden_text("#runbook pre")
        assert "streams-assignor plan 2.8 4.3" == page.hidden_text("#command pre")

    def test_the_form_becomes_a_link(self, page):
        page.open("#upgrade").one("[name=from]").send_keys("3.9")
        page.one("[name=to]").send_keys("4.3")
        page.submit("upgrade").wait("upgrade")

        assert page.browser.current_url.endswith("#upgrade?from=3.9&to=4.3")
        assert "3.9.2 to 4.3.1: safe" in page.text("upgrade")

    def test_a_question_that_no_file_decides_is_answered_in_the_link(self, page):
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        for name in ("foreign-key-joins", "repartitioned-tables"):
            page.browser.execute_script("delete document.getElementById('upgrade').dataset.state")
            page.one(f"#conditions [value={name}]").click()
            page.wait("upgrade")

        assert "2.8.2 to 4.3.1: safe for the metadata" in page.text("upgrade")
        assert page.browser.current_url.endswith("without=foreign-key-joins%2Crepartitioned-tables")
        assert 2 == len(page.all("#conditions input:checked"))
        expected = printed("plan", "2.8", "4.3", "--without", "foreign-key-joins,repartitioned-tables", "--json")
        assert json.loads(expected) == page.json()

    def test_files_say_what_becomes_of_the_application(self, page, tmp_path):
        (tmp_path / "streams.properties").write_text("processing.guarantee=exactly_once\napplication.id=orders\n")
        (tmp_path / "orders.jar").write_bytes(jar(FAT))
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        page.changed("upgrade", lambda: page.choose("upgrade", tmp_path / "streams.properties"))
        page.changed("upgrade", lambda: page.choose("upgrade", tmp_path / "orders.jar"))

        text = page.text("upgrade")
        assert text.startswith("2.8.2 to 4.3.1: unsafe: ")
        assert "refused: processing.guarantee, line 1: Invalid value exactly_once" in text
        assert f"NoClassDefFoundError: {GONE.replace('/', '.')}" in text
        assert "com.example.Orders" in text
        command = page.hidden_text("#command pre")
        assert "streams-assignor plan --config streams.properties --app orders.jar 2.8 4.3" == command
        assert json.loads(printed(*command.split()[1:], "--json", cwd=tmp_path)) == page.json()
        assert "orders" not in page.browser.current_url

    def test_a_folder_of_classes_and_a_topology_are_read(self, page, tmp_path):
        folder = tmp_path / "classes"
        for name, content in FAT.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        topology = tmp_path / "topology.txt"
        topology.write_text((ROOT / "tests/upgrade/topologies/foreign-key-join-2.8.2.txt").read_text())
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        page.changed("upgrade", lambda: page.choose("upgrade", topology))
        page.changed("upgrade", lambda: page.choose_folder("upgrade", folder))

        arguments = ("--topology", "topology.txt", "--app", "classes", "2.8", "4.3", "--json")
        assert json.loads(printed("plan", *arguments, cwd=tmp_path)) == page.json()

    @pytest.mark.parametrize("target", ["9.9", "nonsense", "--help", "<b>x</b>"])
    def test_an_error_is_the_sentence_of_the_command_line(self, page, target):
        page.open(f"#upgrade?from=2.8&to={quote(target)}").wait("upgrade")
        expected = CliRunner().invoke(cli, ["plan", "--", "2.8", target]).stderr.splitlines()[-1]

        assert expected.partition(": ")[2] == page.one("#upgrade [role=alert]").text.partition(": ")[2]

    def test_two_configurations_are_one_too_many(self, page, tmp_path):
        for name in ("a.properties", "b.json"):
            (tmp_path / name).write_text("{}")
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        both = (tmp_path / "a.properties", tmp_path / "b.json")
        page.changed("upgrade", lambda: page.choose("upgrade", *both), "failed")

        assert "expected one configuration, got a.properties and b.json" in page.text("upgrade")
        page.changed("upgrade", page.one("[aria-label='remove b.json']").click)

    def test_a_tab_keeps_its_parameters_and_its_answer(self, page):
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        page.one("nav a[href^='#replay']").click()
        page.until(lambda: page.one("#replay").is_displayed())
        page.one("nav a[href^='#upgrade']").click()
        page.until(lambda: page.one("#upgrade").is_displayed())

        assert page.browser.current_url.endswith("#upgrade?from=2.8&to=4.3")
        assert "2.8" == page.one("#upgrade [name=from]").get_attribute("value")
        assert page.text("upgrade").startswith("2.8.2 to 4.3.1: ")

    def test_an_answer_of_other_values_is_grey_and_says_so(self, page):
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        page.one("#upgrade [name=to]").send_keys("9")

        assert "The answer below is of before: to was 4.3. Press Plan." == page.one("#upgrade .before").text
        assert "0.4" == page.one("#upgrade .result").value_of_css_property("opacity")
        page.one("#upgrade [name=to]").send_keys("\ue003")
        assert "" == page.one("#upgrade .before").text

    def test_hazards_are_found_by_a_text_and_by_a_link(self, page):
        page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
        plain = page.json()
        groups = page.all("#upgrade .hazards")
        assert ["settings", "code", "brokers", "data"] == [each.text.partition(":")[0] for each in groups]
        assert len(plain["hazards"]) == sum(int(re.search(r": (\d+)", each.text)[1]) for each in groups)
        assert not any(each.get_attribute("open") for each in groups)
        page.one("#upgrade input[type=search]").send_keys("jmx.reporter")

        shown = [each for each in page.all("#upgrade .hazard") if each.is_displayed()]
        assert 0 < len(shown) < len(plain["hazards"])
        assert f"{len(shown)} of {len(plain['hazards'])}" == page.one("#upgrade .part [role=status]").text
        shown[0].find_element("css selector", "summary").click()
        shown[0].find_element("css selector", "a").click()
        page.until(lambda: "hazard=" in page.browser.current_url)
        page.open(page.browser.current_url.partition("/#")[2].join(["#", ""])).wait("upgrade")
        page.until(lambda: 1 == len(page.all("#upgrade .hazard[open]")))
        assert page.one("#upgrade .hazard[open]").is_displayed()

    def test_the_sample_is_planned(self, page):
        page.open("#upgrade")
        page.changed("upgrade", page.one("[data-sample=upgrade]").click)

        files = ("--config", "streams.properties", "--topology", "topology.txt", "--app", "orders.jar")
        text = printed("plan", "2.8", "4.3", *files, cwd=ROOT / "docs/tutorials/orders")
        assert page.text("upgrade").startswith(text.splitlines()[0])


class TestReplay:
    def test_members_stand_side_by_side_and_a_violation_is_shown_where_it_happens(self, page):
        page.open(f"#replay?scenario={quote(BUG)}").wait("replay")

        assert page.text("replay").startswith("unsafe: always: no member fails: C: IllegalArgumentException")
        assert json.loads(printed("replay", BUG, "--json")) == page.json("replay")
        assert ["when", "A", "B", "C"] == [each.text for each in page.all(".trace thead th")]
        assert page.one(".trace .row.now .mark.failed").text.startswith("FAILS: IllegalArgumentException")
        assert page.one(".trace .violation.now").text.startswith("✗ C: always: no member fails")

    def test_it_steps_back_and_forward(self, page):
        page.open(f"#replay?scenario={quote('A@2.0 B@2.0 | bounce A>2.3 B>2.3')}").wait("replay")
        rows = len(page.all(".trace .row"))

        def shows(place):
            return page.one(".trace [role=status]").text.startswith(f"{place} of {rows}: generation ")

        assert f"{rows} rows" == page.one(".trace [role=status]").text
        assert [] == page.all(".trace .later")
        page.all(".trace .fields button")[1].click()
        page.until(lambda: shows(rows - 1))
        page.one(".trace .scroll").send_keys("\ue011")
        page.until(lambda: shows(1))

        assert rows - 1 == len(page.all(".trace .row.later")) > 2
        page.one(".trace .scroll").send_keys("\ue014")
        page.until(lambda: shows(2))

    @pytest.mark.parametrize("place", range(1, 7))
    def test_each_example_runs(self, page, place):
        page.open("#replay")
        page.browser.execute_script("delete document.getElementById('replay').dataset.state")
        page.all("#examples option")[place].click()
        page.wait("replay")

        assert page.json("replay")["steps"]

    def test_an_error_is_the_sentence_of_the_command_line(self, page):
        page.open("#replay?scenario=A").wait("replay")

        assert CliRunner().invoke(cli, ["replay", "A"]).stderr.strip().partition(": ")[2] in page.text("replay")


class TestUserdata:
    def test_each_byte_has_its_field(self, page):
        page.open("#userdata").one("[name=bytes]").send_keys("00000001 00000000\n00000000")
        page.submit("userdata").wait("userdata")

        assert "read as assignment" in page.text("userdata")
        assert [["0", "00 00 00 01", "version", "1"]] == [
            [cell.text for cell in row.find_elements("css selector", "td")] for row in page.all(".bytes tbody tr")[:1]
        ]
        assert printed("userdata", "explain", "000000010000000000000000") == page.hidden_text("#userdata #json pre")

    def test_kind_and_version_are_in_the_link(self, page):
        page.open("#userdata?bytes=AAAAAQAAAAAAAAAA&kind=assignment&supported=3").wait("userdata")

        assert "version" in page.text("userdata")
        assert "3" == page.one("[name=supported]").get_attribute("value")

    def test_bytes_that_end_early_say_where(self, page):
        page.open("#userdata?bytes=0000000100000009&kind=assignment").wait("userdata")

        assert page.all("#userdata [role=alert]")
        assert "version" in page.text("userdata")

    @pytest.mark.parametrize("place", range(1, 7))
    def test_each_example_is_decoded_whole(self, page, place):
        page.open("#userdata")
        page.changed("userdata", page.all("#bytes option")[place].click)

        assert page.all(".bytes tbody tr")
        assert not page.all("#userdata [role=alert]")


class TestMatrix:
    def test_its_legend_and_titles_say_what_the_plan_says(self, page):
        page.open("#matrix").wait("matrix")
        signs = {each.text for each in page.all(".matrix td.sign")}

        assert signs == {each.text for each in page.all(".legend .sign")}
        assert "1/2" == page.one("[title^='2.8.2 to 4.3.1:']").text
        assert printed("plan", "2.8", "4.3").splitlines()[0] == page.one("[title^='2.8.2 to 4.3.1:']").get_attribute(
            "title"
        )

    def test_a_click_leads_to_the_plan(self, page):
        page.open("#matrix").wait("matrix")
        lines = len(page.all(".matrix tbody tr"))
        page.one("[title^='2.8.2 to 4.3.1:']").click()
        page.wait("upgrade")

        assert (lines, lines) == (30, len(page.all(".matrix thead th")) - 1)
        assert page.browser.current_url.endswith("#upgrade?from=2.8.2&to=4.3.1")

    def test_the_arrow_keys_move_and_enter_opens(self, page):
        page.open("#matrix").wait("matrix")
        page.one(".matrix td[tabindex='0']").send_keys("\ue014")
        page.browser.switch_to.active_element.send_keys("\ue015")
        page.browser.switch_to.active_element.send_keys("\ue014\ue007")
        page.wait("upgrade")

        assert page.browser.current_url.endswith("#upgrade?from=0.10.1.1&to=0.10.2.2")


class TestAudit:
    def test_a_folder_of_segments_has_findings_and_timelines(self, page, tmp_path):
        page.open("#audit").choose_folder("audit", SEGMENTS)
        page.until(lambda: page.all(".chosen li"))
        page.submit("audit").wait("audit")

        assert page.text("audit").startswith("4 groups, 32 rebalances, ")
        assert "\n37 kB. Checksums: verified.\n" in page.text("audit")
        expected = tmp_path / "out"
        CliRunner().invoke(cli, ["audit", "--processes", "1", "--segments", str(SEGMENTS), "--out", str(expected)])
        assert json.loads((expected / "audit.json").read_text())["groups"] == page.json("audit")["groups"]
        page.one(".group summary").click()
        page.until(lambda: page.all(".group .timeline rect"))
        assert 10 == len(page.all(".group table tbody tr"))

    def test_the_sample_is_audited(self, page):
        page.open("#audit")
        page.changed("audit", page.one("[data-sample=audit]").click)

        assert page.text("audit").startswith("1 group, 9 rebalances, ")

    def test_no_files_and_wrong_files_are_one_sentence(self, page, tmp_path):
        page.open("#audit").submit("audit").wait("audit", "failed")
        assert "got no files" in page.text("audit")
        (tmp_path / "notes.log").write_text("x")
        page.changed("audit", lambda: page.choose("audit", tmp_path / "notes.log"))

        assert "Error: expected __consumer_offsets-N folders with .log files" in page.text("audit")


def test_what_runs_can_be_cancelled_and_python_comes_again(page):
    page.open("#matrix?all=1")
    page.until(lambda: page.all(".matrix tbody tr"))
    page.one("#cancel").click()
    page.wait("matrix", "failed")

    assert "Cancelled." == page.text("matrix")
    assert not page.one("#working").is_displayed()
    page.go("#upgrade?from=2.8&to=4.3")
    assert "2.8.2 to 4.3.1" in page.text("upgrade")
