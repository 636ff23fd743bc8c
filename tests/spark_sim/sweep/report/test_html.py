"""The page of a sweep: its data, and what a real browser makes of it."""

import json
import re
from html.parser import HTMLParser

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.scenario import Scenario, ScenarioError
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.search.release_roles import ROLES
from streams_assignor.spark_sim.sweep.report.html import page_data, render_html
from streams_assignor.spark_sim.sweep.report.judgement import Judgement
from streams_assignor.spark_sim.sweep.report.terminal import judge
from streams_assignor.spark_sim.sweep.traces import trace, trace_rows
from streams_assignor.upgrade.plans import kip_268_plans
from streams_assignor.upgrade.releases import RELEASES
from tests.spark_sim.made_up import EXAMPLE, MATRIX, everything

RELEASED = sum(release.is_released for release in RELEASES.values())
PAIRS = RELEASED * (RELEASED - 1)

MOST_BYTES = 5_000_000


class Page(HTMLParser):
    """The facts of a page: where its elements point, its data."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.data, self._in_data = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.addresses += [named[key] for key in ("src", "href", "action") if key in named]
        self._in_data = tag == "script" and named.get("type") == "application/json"

    def handle_data(self, data):
        if self._in_data:
            self.data += data

    def handle_endtag(self, _tag):
        self._in_data = False


@pytest.fixture(scope="module")
def text():
    return render_html(MATRIX)


@pytest.fixture(scope="module")
def text_of_all():
    """The page of every pair of releases, which takes seconds."""
    return render_html(everything())


def test_it_needs_no_network(text):
    assert ["data:,"] == Page(text).addresses
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text)


def test_its_data_is_that_of_the_results_and_text_stays_text(text):
    data = json.loads(Page(text).data)

    assert {**json.loads(json.dumps(page_data(MATRIX))), "judgement": judge(MATRIX).as_json()} == data
    assert "B: </script> & <b>" in {each["message"] for each in data["verdicts"]}
    assert 28 == len(data["cells"])


@pytest.mark.parametrize(
    ("group_size", "words"), [("any", "for groups of any size"), ("from 2", "from 2 members on"), (None, "")]
)
def test_it_says_which_groups_a_verdict_is_about(group_size, words):
    (verdict,) = page_data([evolve(MATRIX[0], group_size=group_size)])["verdicts"]

    assert verdict["groups"].startswith(words)
    assert bool(verdict["groups"]) == bool(words)


def test_an_example_is_shown_with_signs_for_the_releases_of_its_cell():
    data = page_data([each for each in MATRIX if each.upgrade.display_names == ("1.1", "2.0")])
    unsafe = next(each for each in data["verdicts"] if each["verdict"] == "unsafe")
    story = data["stories"][unsafe["story"]]
    output = json.dumps(story, ensure_ascii=False)

    assert EXAMPLE.replace("1.1.1", ROLES.origin.name).replace("2.0.1", ROLES.target.name) == unsafe["scenario"]
    assert [*unsafe["scenario"].split(" | "), "the end"] == [step["step"] for step in story["steps"]]
    assert any(
        kind == "failed" for step in story["steps"] for row in step["rows"] for kind, _ in row["cells"].get("C", ())
    )
    assert "2.0.1" not in output
    assert "1.1.1" not in output


def test_an_example_that_members_cannot_play_has_no_trace():
    impossible = evolve(next(each for each in MATRIX if each.example), example="A@2.0 B@2.0 | hold | lead B")

    assert [{"lanes": [], "steps": []}] == page_data([impossible])["stories"]


@pytest.mark.parametrize(
    ("kind", "values"), [("joined", "[1]"), ("joined", '["a", "b"]'), ("nonsense", "[]"), ("assigned", "7")]
)
def test_a_damaged_trace_is_an_error_that_says_what_was_expected(kind, values):
    result = next(each for each in MATRIX if each.example)
    rows = trace_rows(trace(Scenario.parse(EXAMPLE)).steps)
    event = next(event for event in rows[0]["events"] if event["kind"] == "joined")
    event |= {"kind": kind, "values": values}

    with pytest.raises(ScenarioError, match=r"^expected "):
        page_data([evolve(result, example=EXAMPLE)], [(result.upgrade, EXAMPLE, rows)])


def test_a_safe_plan_shows_a_run_of_its_own():
    for result in MATRIX:
        data = page_data([result])
        if result.verdict == "safe":
            line = data["verdicts"][0]["scenario"]
            for sign, release in (
                (ROLES.origin.name, result.upgrade.origin),
                (ROLES.target.name, result.upgrade.target),
            ):
                line = line.replace(sign, release.name)
            simulation = Simulation(Scenario.parse(line.replace("\ue002", result.upgrade.upgrade_from or ""))).run()

            assert {result.upgrade.target} == {process.instance.release for process in simulation.running_members}


def test_upgrades_that_differ_in_names_only_share_one_result():
    """From each of three releases to each of three others."""
    upgrades = [each for each in everything() if ("3.7", "3.6") == (each.upgrade.origin.line, each.upgrade.target.line)]

    assert 27 == len(upgrades)
    assert 3 == len(page_data(upgrades)["verdicts"])


@pytest.mark.slow
def test_runs_that_upgrades_share_are_counted_once(text):
    """The page of KIP-268's 84 upgrades boasted of 3,360 runs; 1,200 had been made, 40 of each of 30 kinds."""
    assert 84 == len(MATRIX)
    assert "84 upgrades of 30 kinds" in text
    assert "; 3,000 runs of groups" in text


@pytest.mark.slow
def test_all_releases_make_a_light_page(text_of_all):
    assert PAIRS * 3 == len(everything())
    assert len(text_of_all.encode()) < MOST_BYTES


def test_every_page_forbids_itself_to_load_or_send_anything(text):
    """The page of a sweep had no such policy."""
    head, _, _ = text.partition("<title>")

    assert (
        'http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;; script-src &#x27;sha256-' in head
    )
    assert "unsafe-inline" not in head


def test_a_plan_that_depends_on_the_topology_is_not_green():
    """A tick in green stood beside "0 safe"."""
    results = [UpgradeResult(each) for each in kip_268_plans(RELEASES["2.0.1"], RELEASES["2.1.1"])]
    judgement = judge([each for each in results if each.is_documented])

    assert Judgement(True, "plans of Kafka's guide: 1 safe-if; others: 0 of 0 unsafe", "safe-if") == judgement
    assert "safe-if" == judgement.verdict


def test_a_sweep_without_a_documented_plan_is_neither_good_nor_bad():
    undocumented = [each for each in MATRIX if not each.is_documented]

    assert "unknown" == judge(undocumented).verdict
    assert judge(undocumented).good


# -- in a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(text, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(text, encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def opened(browser, small):
    """The page, opened from disk without a network."""

    def go(hash_=""):
        browser.get("about:blank")
        browser.get(small + hash_)
        return browser

    yield go
    assert [] == [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


@pytest.fixture(autouse=True)
def fixture_width(request):
    """The width of one test is not that of the next."""
    yield
    if "browser" in request.fixturenames:
        request.getfixturevalue("browser").execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def resized(browser, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def seen(browser, selector):
    return browser.find_elements("css selector", selector)


@pytest.mark.slow
class TestInABrowser:
    def test_it_draws_a_button_for_each_cell_that_says_its_verdicts(self, opened):
        labels = {each.get_attribute("data-cell"): each.accessible_name for each in seen(opened(), ".cell")}

        assert 28 == len(labels)
        assert (
            "1.1 to 2.0: one bounce unsafe, two bounces with 1.1 safe (Kafka's guide), offline safe; "
            'simplest safe way: two bounces with upgrade.from="1.1" to 2.0.1'
        ) == labels["1.1-to-2.0"]

    def test_it_opens_with_a_pair_and_another_can_be_chosen_by_name(self, opened):
        browser = opened()
        assert "1.1 to simulated-4" == seen(browser, "#drill h2")[0].text
        seen(browser, "#pair-to option[value='2.0']")[0].click()

        assert "1.1 to 2.0" == seen(browser, "#drill h2")[0].text
        assert "streams-assignor plan 1.1.1 2.0.1" in seen(browser, ".way")[0].text
        seen(browser, "#pair-from option[value='2.0']")[0].click()
        assert "not part of this sweep" == seen(browser, "#no-pair")[0].text
        assert "1.1 to simulated-4" == seen(opened("#no-such-pair/"), "#drill h2")[0].text

    @pytest.mark.slow  # a browser
    def test_a_condition_is_amber_and_in_the_key(self, browser, tmp_path):
        names = (RELEASES["2.8.2"], RELEASES["3.9.2"])
        file = tmp_path / "conditional.html"
        results = [UpgradeResult(each) for each in kip_268_plans(*names)]
        file.write_text(render_html([*MATRIX, *results]), encoding="utf-8")
        browser.get(file.as_uri() + "#2.8-to-3.9/")

        assert "safe-if" in seen(browser, ".way.conditional .is.safe-if")[0].text
        assert "if the topology has no foreign-key joins and no repartitioned tables" in seen(browser, ".way")[0].text
        assert "◐ safe-if" in seen(browser, "#key")[0].text
        assert 1 == len(seen(browser, ".plan.safe-if"))

    def test_a_single_pair_has_its_trace_and_no_filters(self, browser, tmp_path):
        file = tmp_path / "single.html"
        names = (RELEASES["2.8.2"], RELEASES["3.9.2"])
        file.write_text(render_html([UpgradeResult(each) for each in kip_268_plans(*names)]), encoding="utf-8")
        browser.get(file.as_uri())

        assert "2.8 to 3.9" == seen(browser, "#pair-title")[0].text
        assert seen(browser, ".trace .row")
        assert [] == seen(browser, "input, select, #matrix")

    def test_the_trace_comes_first_and_is_as_wide_as_the_page(self, opened):
        """It stood in half of the window, and its third member beyond the edge."""
        browser = opened("#1.1-to-2.0/one_bounce")
        resized(browser, 1400)
        trace, matrix = (seen(browser, selector)[0].rect for selector in (".trace table", "#matrix"))

        assert trace["y"] < matrix["y"]
        assert trace["width"] > 1300
        assert ["when", "A", "B", "C"] == [each.text for each in seen(browser, ".trace thead th")]
        resized(browser, 390)
        inner = browser.execute_script(
            "const it = document.querySelector('.trace .scroll'); return it.scrollWidth - it.clientWidth"
        )
        assert 0 == inner

    def test_on_a_phone_the_first_columns_of_the_matrix_are_seen(self, opened):
        """The page had scrolled to the chosen pair, at the end of its row."""
        browser = opened()
        resized(browser, 390)
        opened()

        assert [0, 0] == browser.execute_script(
            "const it = document.getElementById('matrix'); return [it.scrollLeft, it.scrollTop]"
        )

    @pytest.mark.slow  # a browser
    def test_a_phone_scrolls_the_matrix_and_not_the_page(self, browser, text_of_all, tmp_path):
        (tmp_path / "all.html").write_text(text_of_all, encoding="utf-8")
        browser.get((tmp_path / "all.html").as_uri())
        resized(browser, 390)

        assert 390 >= browser.execute_script("return document.documentElement.scrollWidth")

    def test_a_click_shows_the_plans_and_the_trace_of_the_example(self, opened):
        browser = opened()
        (cell,) = seen(browser, "[data-cell='1.1-to-2.0']")
        cell.click()

        assert "true" == cell.get_attribute("aria-pressed")
        assert ["one_bounce", "two_bounces=1.1", "offline"] == [
            each.get_attribute("data-plan") for each in seen(browser, ".choice")
        ]
        assert f'streams-assignor replay "{EXAMPLE}"' == seen(browser, "#drill .replay pre")[0].text
        marks = {each.text for each in seen(browser, ".trace .mark")}
        assert {"starts as 2.0.1", "sends v3, supports v3", "gets v2", "leader"} <= marks
        assert "bounce A>2.0.1" in {each.text for each in seen(browser, ".trace .step code")}
        assert any(each.startswith("FAILS: TaskAssignmentException") for each in marks)
        assert "B: </script> & <b>" in seen(browser, ".violated")[0].text
        assert browser.current_url.endswith("#1.1-to-2.0/")

    def test_another_plan_of_the_cell_is_one_click_away_and_stands_in_the_address(self, opened):
        browser = opened("#1.1-to-2.0/one_bounce")
        seen(browser, "[data-plan='two_bounces=1.1']")[0].click()

        assert "true" == seen(browser, "[data-plan='two_bounces=1.1']")[0].get_attribute("aria-selected")
        assert "upgrade.from=1.1" in seen(browser, "#drill .replay pre")[0].text
        assert browser.current_url.endswith("#1.1-to-2.0/two_bounces=1.1")

    def test_filters_leave_rows_and_dim_cells_and_survive_in_the_address(self, opened):
        browser = opened()
        seen(browser, "#from")[0].send_keys("1.")
        seen(browser, "#only option[value=one]")[0].click()

        assert ["1.0", "1.1"] == [each.text for each in seen(browser, ".matrix tbody th")]
        assert "4 of 28 pairs" == seen(browser, "#count")[0].text
        assert 5 == len(seen(browser, ".cell"))
        assert 1 == len(seen(browser, ".cell.other"))
        opened("#" + browser.current_url.partition("#")[2])
        assert "4 of 28 pairs" == seen(browser, "#count")[0].text

    def test_the_view_of_the_simplest_safe_way_says_it_in_every_cell(self, opened):
        browser = opened()
        seen(browser, "label[for=view-guide]")[0].click()

        assert {"1", "2"} == {each.text for each in seen(browser, ".cell b")}

    def test_the_key_explains_the_signs_of_the_view_and_no_others(self, opened):
        """It had the colours of another view, plans in the order of the alphabet, and nothing about the frames."""
        browser = opened()
        (key,) = seen(browser, "#key")

        assert key.text.startswith("1 one bounce · 2 two bounces · o offline")
        assert "plan of Kafka's guide" in key.text
        assert "bridge" not in key.text
        seen(browser, "label[for=view-guide]")[0].click()
        assert "bridge" in key.text
        assert "plan of Kafka's guide" not in key.text

    def test_a_command_that_cannot_be_copied_says_so(self, opened):
        """Where a page has no clipboard, as from a server without TLS, the button did nothing."""
        browser = opened("#1.1-to-2.0/one_bounce")
        browser.execute_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        (copy,) = seen(browser, "#drill .replay button")
        copy.click()

        assert "Not allowed" == copy.text

    def test_arrows_lead_from_cell_to_cell(self, opened):
        browser = opened()
        cell = seen(browser, "[data-cell='0.10.0-to-1.1']")[0]
        cell.send_keys("\ue015")  # down
        browser.switch_to.active_element.send_keys("\ue014")  # right

        assert "0.10.1-to-2.0" == browser.switch_to.active_element.get_attribute("data-cell")

    @pytest.mark.slow  # a browser
    def test_all_releases_are_drawn(self, browser, text_of_all, tmp_path):
        file = tmp_path / "all.html"
        file.write_text(text_of_all, encoding="utf-8")
        browser.get(file.as_uri() + "#2.3.1-to-4.3.1/one_bounce")
        browser.execute_script("document.querySelector('[data-cell=\"1.1.1-to-2.0.1\"]').click()")

        assert PAIRS == len(seen(browser, ".cell"))
        assert "1.1.1 to 2.0.1" == seen(browser, "#drill h2")[0].text
        assert seen(browser, ".trace .row")
