"""The page of an audit: what it has of the tables, and what a real browser makes of it."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from itertools import accumulate
from pathlib import Path

import pytest

from streams_assignor.spark_sim.audit import _report_data
from streams_assignor.spark_sim.audit._report_data import GroupData, group_data
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.report import group_json, times_json, write_report
from streams_assignor.spark_sim.audit.sources import segments_source
from tests.spark_sim.audit.made_up_groups import (
    HOSTILE,
    START,
    estate,
    finding,
    generation,
    interval,
    member,
    rolling_bounce,
    storm,
    summary,
    write_audit,
)

GROUPS = 10_000
MOST_BYTES = 4_000_000
"""Of the page of 10,000 groups with 145,000 rebalances: names of one kind compress well."""
ROWS_ON_A_PAGE = 50


class Page(HTMLParser):
    """The facts of a page: where its elements point, its scripts and their text."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.tags, self.blocks, self.table, self._into = [], [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append(tag)
        self.addresses += [named[key] for key in ("src", "href", "action") if key in named]
        if tag == "script":
            takers = {"block": self.blocks.append, "table": self._take}
            self._into = takers.get(named.get("class") or named.get("id"))

    def _take(self, text):
        self.table += text

    def handle_data(self, data):
        if self._into:
            self._into(data)

    def handle_endtag(self, _tag):
        self._into = None


def decoded(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def written(tmp_path, groups, **others):
    write_report(write_audit(tmp_path, groups, **others), tmp_path)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def one(name, rows, findings=(), **others):
    return summary(name, rows, findings, **others), rows


# -- the data of groups ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_rows", [200_000, 300, 1])
def test_each_group_has_its_rows_once_and_in_order(tmp_path, monkeypatch, batch_rows):
    """Rows of groups alternate in the files of partitions; batches of any size show the same."""
    monkeypatch.setattr(_report_data, "_BATCH_ROWS", batch_rows)
    groups = estate(40)
    write_audit(tmp_path, groups, partitions=3)
    found = list(group_data(tmp_path))

    expected = {group["group"]: rows for group, rows in groups if rows["generations"]}
    assert sorted(expected) == sorted(each.group for each in found)
    for each in found:
        rows = expected[each.group]
        assert [row["generation"] for row in rows["generations"]] == each.tables["generations"]["generation"]
        assert {row["member_id"] for row in rows["members"]} == set(each.tables["members"]["member_id"])


def test_a_group_with_many_rebalances_shows_the_last_ones_and_says_how_many_there_are(tmp_path):
    write_audit(tmp_path, [one("storm", storm("storm", 2500)), one("quiet", storm("quiet", 3))])
    quiet, stormy = group_data(tmp_path)

    assert list(range(1501, 2501)) == stormy.tables["generations"]["generation"]
    assert 2500 == stormy.all_rows["generations"]
    assert [1, 2, 3] == quiet.tables["generations"]["generation"]


def test_the_page_has_a_limit_that_takes_from_the_groups_with_the_most(tmp_path):
    write_audit(tmp_path, [one("storm", storm("storm", 900)), one("quiet", storm("quiet", 30))])
    shown = [len(each.tables["generations"]["time"]) for each in group_data(tmp_path, most_rebalances=600)]

    assert [30, 500] == shown


def test_a_group_with_many_members_shows_those_that_left_last(tmp_path):
    members = [member("g", f"c-{place:03}", START, START + place) for place in range(400)]
    members.append(member("g", "c-present", START))
    write_audit(tmp_path, [one("g", {"generations": [], "members": members, "tasks": []})])
    (found,) = group_data(tmp_path)

    assert 300 == len(found.tables["members"]["member_id"])
    assert ["c-399", "c-present"] == found.tables["members"]["member_id"][-2:]


def test_tasks_without_an_owner_for_the_same_time_are_one_interval(tmp_path):
    tasks = [interval("g", f"0_{place}", "unowned", START, START + 50) for place in range(7)]
    tasks += [interval("g", "0_1", "owned-twice", START + 50, None, "a b"), interval("g", "0_2", "active", START, None)]
    write_audit(tmp_path, [one("g", {"generations": [], "members": [], "tasks": tasks})])
    (found,) = group_data(tmp_path)

    assert {
        "role": ["unowned", "owned-twice"],
        "from_generation": [1, 1],
        "from_time": [START, START + 50],
        "until_time": [START + 50, None],
        "owners": ["", "a b"],
        "first": ["0_0", "0_1"],
        "last": ["0_6", "0_1"],
        "tasks": [7, 1],
    } == found.tables["tasks"]


def test_no_more_rows_are_read_at_a_time_than_the_batch_has(tmp_path, monkeypatch):
    monkeypatch.setattr(_report_data, "_BATCH_ROWS", 100)
    monkeypatch.setattr(_report_data, "_SCAN_ROWS", 10)
    write_audit(tmp_path, [one(f"g{place}", storm(f"g{place}", 60)) for place in range(5)])
    sizes, read = [], _report_data._shown_rows

    def watched(view, parts, limit):
        sizes.append(sum(each.num_rows for each in parts))
        return read(view, parts, limit)

    monkeypatch.setattr(_report_data, "_shown_rows", watched)
    list(group_data(tmp_path))

    assert max(sizes) <= 2 * 100 + 10


def test_times_are_exact(tmp_path):
    rows = rolling_bounce("g")
    write_audit(tmp_path, [one("g", rows)])
    (found,) = group_data(tmp_path)
    data = json.loads(json.dumps(group_json(found, [])))

    assert [row["time"] for row in rows["generations"]] == list(
        accumulate(data["generations"]["time"], initial=data["base"])
    )[1:]
    names, places = data["generations"]["cause"]
    assert [row["cause"] for row in rows["generations"]] == [names[place] for place in places]


def test_the_axis_over_all_groups_has_the_second_and_the_cause_of_each_rebalance_and_those_without_members(tmp_path):
    rows = rolling_bounce("g")
    rows["generations"].append(generation("g", 99, START + 10_000_000, members=0, cause="all-members-left"))
    write_audit(tmp_path, [one("g", rows)])
    (found,) = group_data(tmp_path)
    data = times_json([found, GroupData("commits", {}, {})])
    base, deltas, kinds, empty = data["groups"][0]

    assert [row["time"] // 1000 for row in rows["generations"]] == list(accumulate(deltas, initial=base))[1:]
    assert [row["cause"] for row in rows["generations"]] == [data["causes"][kind] for kind in kinds]
    assert [len(rows["generations"]) - 1] == empty
    assert [0, [], [], []] == data["groups"][1]


def test_a_clock_that_goes_back_does_not_on_the_axis():
    group = GroupData("g", {"generations": {"time": [5000, 3000, 9000], "cause": ["a"] * 3, "members": [1] * 3}}, {})

    assert [[5, [0, 0, 4], [0, 0, 0], []]] == times_json([group])["groups"]


# -- the page --------------------------------------------------------------------------------------------------------


def test_it_needs_no_network(tmp_path):
    text = written(tmp_path, estate(10))

    assert ["data:,"] == Page(text).addresses
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)", text)


def test_no_name_breaks_out(tmp_path):
    rows = rolling_bounce(HOSTILE)
    plain = written(tmp_path / "plain", [one("g", rolling_bounce("g"))], problems=["a torn batch"])
    text = written(
        tmp_path / "hostile",
        [one(HOSTILE, rows, [finding(HOSTILE, "flapping", "problem", HOSTILE)])],
        source=HOSTILE,
        problems=[HOSTILE],
    )
    page = Page(text)

    assert Page(plain).tags == page.tags
    assert "owned'</script>" not in text
    assert [HOSTILE] == decoded(page.table)["groups"]["group"]
    assert HOSTILE == decoded(page.blocks[0])[0]["findings"][0][2]


def test_groups_stand_in_the_order_of_attention_with_the_place_of_their_block(tmp_path):
    groups = [
        one("quiet", storm("quiet", 2)),
        one("noticed", storm("noticed", 2), [finding("noticed", "large", "notice", "is large")]),
        one(
            "troubled",
            storm("troubled", 1),
            [finding("troubled", "large", "notice", "n"), finding("troubled", "flapping", "problem", "p")],
        ),
        one("commits", {"generations": [], "members": [], "tasks": []}),
    ]
    page = Page(written(tmp_path, groups))
    columns = decoded(page.table)["groups"]

    assert ["troubled", "noticed", "quiet", "commits"] == columns["group"]
    assert ["p", "is large", "", ""] == columns["text"]
    assert [-1, -1] == columns["place"][-1]
    for name, (block, place) in zip(columns["group"][:3], columns["place"][:3], strict=True):
        assert name in json.dumps(decoded(page.blocks[block])[place])


def test_an_audit_without_groups_has_a_page(tmp_path):
    assert "0 groups with 0 rebalances" in written(tmp_path, [])


def bounce(group, conforms=True, **others):
    """A row of the table ``conformance``."""
    return {
        "group": group,
        "first_generation": 4,
        "last_generation": 8,
        "from_time": START,
        "until_time": START + 20_000,
        "from_releases": "2.0.1",
        "to_releases": "2.1.1",
        "conforms": conforms,
        "reason": "",
        "subscriptions": 8,
        "assignments": 6,
        "differs_in": None,
        "member": "",
        "fact": "",
        "expected": "",
        "observed": "",
    } | others


def test_rolling_bounces_that_differ_come_first_and_then_those_that_cannot_be_compared(tmp_path):
    groups = [one(name, rolling_bounce(name)) for name in "abc"]
    rows = [bounce("a"), bounce("b", None, reason="no message can be compared"), bounce("c", False, differs_in=5)]
    write_report(write_audit(tmp_path, groups), tmp_path, rows)
    found = decoded(Page((tmp_path / "report.html").read_text(encoding="utf-8")).table)["bounces"]

    assert (3, 2, 1) == (found["bounces"], found["comparable"], found["differ"])
    assert ["c", "b", "a"] == [row["group"] for row in found["rows"]]
    assert decoded(Page(written(tmp_path, groups)).table)["bounces"] is None, "they were not compared"


# -- in a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of 10,000 groups, a hostile one, and one with several hundred rebalances."""
    folder = tmp_path_factory.mktemp("audit")
    hostile = one(HOSTILE, rolling_bounce(HOSTILE, static=True), [finding(HOSTILE, "flapping", "problem", HOSTILE)])
    long = one("long", storm("long", 700))
    write_report(write_audit(folder, [*estate(GROUPS), hostile, long], partitions=50), folder)
    return folder / "report.html"


@pytest.fixture
def opened(browser, page):
    """The page, opened from disk without a network."""

    def go(hash_=""):
        browser.get("about:blank")
        browser.get(page.as_uri() + hash_)
        return browser

    yield go
    assert [] == [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def seen(browser, selector, least=1):
    """The elements, as soon as there are so many: groups are decompressed when they are opened."""
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(browser, 60)
    wait.until(lambda _: len(browser.find_elements("css selector", selector)) >= least)
    return browser.find_elements("css selector", selector)


def names(browser):
    return [each.text for each in seen(browser, "#rows .name")]


def choose(browser, id_, value):
    seen(browser, f"#{id_} option[value='{value}']")[0].click()


@pytest.mark.slow
def test_10000_groups_are_a_small_file(page):
    assert page.stat().st_size < MOST_BYTES


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """The page of three groups: one is restarted at the beginning, one at the end, and one is empty from then on."""
    folder = tmp_path_factory.mktemp("night")
    late, ended = rolling_bounce("late", start=START + 3_600_000), rolling_bounce("ended")
    ended["generations"].append(generation("ended", 99, START + 1_200_000, members=0, cause="all-members-left"))
    groups = [one("early", storm("early", 3)), one("late", late), one("ended", ended, last_state="Empty")]
    write_report(write_audit(folder, groups), folder)
    return folder / "report.html"


def focus(browser, node):
    browser.execute_script("arguments[0].focus()", node)
    return browser.switch_to.active_element


@pytest.mark.slow
class TestAxisOfAllGroups:
    def test_a_moment_is_chosen_and_the_page_says_whom_it_concerns(self, browser, night):
        browser.get(night.as_uri())
        marks = seen(browser, ".overview .mark.many", 2)
        assert sum(int(each.text) for each in marks) == 3 + 14 + 15
        focus(browser, marks[-1]).send_keys("\ue007")  # enter

        assert "1 of 3 groups" == seen(browser, "#count")[0].text
        assert ["late"] == names(browser)
        assert "of 1 group" in seen(browser, ".overview .then")[0].text
        assert "at=" in browser.current_url
        browser.refresh()
        seen(browser, ".overview .then li")
        assert ["late"] == names(browser)
        next(each for each in seen(browser, ".then button") if each.text == "all times").click()
        assert 3 == len(names(browser))

    def test_arrows_lead_along_a_row_and_to_the_next_and_enter_opens_the_group(self, browser, night):
        browser.get("about:blank")
        browser.get(night.as_uri())
        first = focus(browser, seen(browser, ".overview .mark.many", 2)[0])
        assert "Choose it to see whom" in first.get_attribute("aria-label")
        first.send_keys("\ue014")  # right
        assert first != browser.switch_to.active_element
        browser.switch_to.active_element.send_keys("\ue015")  # down
        label = browser.switch_to.active_element.get_attribute("aria-label")
        assert "Choose it to open the group" in label
        assert 1 == len(seen(browser, ".overview .mark[tabindex='0']"))
        browser.switch_to.active_element.send_keys("\ue007")  # enter
        assert label.startswith(seen(browser, "#group-title")[0].text)

    def test_a_group_is_grey_where_it_has_no_members(self, browser, night):
        """It was drawn as all others for the rest of the time."""
        browser.get("about:blank")
        browser.get(night.as_uri() + "#q=ended")
        (has,), (none,) = seen(browser, ".overview rect.has"), seen(browser, ".overview rect.none")
        colours = {each.value_of_css_property("fill") for each in (has, none)}

        assert has.rect["x"] < none.rect["x"]
        assert none.rect["width"] > has.rect["width"]
        assert 2 == len(colours)


@pytest.mark.slow
class TestInABrowser:
    def test_it_shows_a_page_of_groups_those_that_need_attention_first(self, opened):
        browser = opened()

        assert ROWS_ON_A_PAGE == len(names(browser))
        assert "10,002 groups" == seen(browser, "#count")[0].text
        assert "✗ 1 problem" in seen(browser, "#rows tr")[0].text
        assert "page 1 of 201" == seen(browser, "#pages span")[0].text
        first = names(browser)[0]
        seen(browser, "[aria-label='last page']")[0].click()
        assert 2 == len(names(browser))
        assert first not in names(browser)
        assert "page=201" in browser.current_url

    def test_search_and_filters_leave_groups_and_survive_in_the_address(self, opened):
        browser = opened()
        seen(browser, "#q")[0].send_keys("Billing-000")
        choose(browser, "finding", "mixed-releases")

        # Of billing-00000 to billing-00096, every fourth, those that are bounced: every twentieth.
        assert {f"billing-{place:05}" for place in range(0, 100, 20)} == set(names(browser))
        choose(browser, "cause", "follow-up")
        opened("#" + browser.current_url.partition("#")[2])
        assert "5 of 10,002 groups" == seen(browser, "#count")[0].text
        choose(browser, "type", "share")
        assert "0 of 10,002 groups" == seen(browser, "#count")[0].text

    def test_a_click_on_a_heading_sorts_and_another_one_reverses(self, opened):
        browser = opened()
        seen(browser, "#heads button")[2].click()
        assert "long" == names(browser)[0]
        assert "descending" == seen(browser, "#heads th")[2].get_attribute("aria-sort")
        browser.switch_to.active_element.click()

        assert "ascending" == seen(browser, "#heads th")[2].get_attribute("aria-sort")
        assert "sort=-rebalances" in browser.current_url

    def test_a_group_opens_with_its_timeline_findings_and_members_and_back_returns(self, opened):
        browser = opened()
        seen(browser, "#q")[0].send_keys("billing-00020")
        seen(browser, "#rows a")[0].send_keys("\ue007")  # enter
        (title,) = seen(browser, "#group-title")

        assert "billing-00020" == title.text
        assert "▲ members support metadata versions 6, 11" in seen(browser, ".findings li")[0].text
        choose_steps(browser)
        assert 29 == len(seen(browser, "#one-group .mark", 29))
        assert {"v6", "v11"} == {each.text for each in seen(browser, "text.inside")}
        assert 10 == len(seen(browser, "rect.band"))
        assert 18 == len(seen(browser, ".members tbody tr"))
        assert "timed-out" in seen(browser, ".members tbody tr")[0].text
        browser.back()
        assert ["billing-00020"] == names(browser)

    def test_a_group_whose_broker_assigns_shows_who_waited_and_how_long(self, browser, tmp_path):
        """A member waits two minutes for two tasks of a frozen one."""
        segments = Path(__file__).parent / "streams_segments"
        run_audit(segments_source(segments), tmp_path / "audit", AuditFilter())
        browser.get("about:blank")
        browser.get((tmp_path / "audit" / "report.html").as_uri() + "#group=%3Dfrozen-d354d3da")

        assert "▲ all members had come to their target assignment after 121 s" in seen(browser, ".findings li")[0].text
        rows = [each.text for each in seen(browser, ".rebalances tbody tr", 3)]
        assert [True, False, True] == [
            "member-joined" in rows[0],
            "pending" in rows[0],
            "NotReady: 0 members" in rows[2],
        ]
        assert {"no owner", "awaited"} <= {each.text for each in seen(browser, "svg text.tick")}
        assert 2 == len(seen(browser, "rect.band"))
        assert "4.1.0 or later" in seen(browser, ".members tbody tr")[0].text
        browser.get((tmp_path / "audit" / "report.html").as_uri() + "#group=%3Dorders-5fad62aa")
        wanted = {"localhost:7001", "Assigning: 1 member pending"}
        assert wanted <= {line for each in seen(browser, ".rows td span.sub", 9) for line in each.text.splitlines()}
        assert [] == [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]

    def test_a_restarted_member_keeps_its_lane(self, opened):
        labels = [each.text for each in seen(opened("#group=%3Dbilling-00020"), "svg text.label")]

        assert [str(place) for place in range(9)] == labels

    def test_a_mark_says_its_cause_to_the_keyboard_and_to_screen_readers(self, opened):
        browser = opened("#group=%3Dbilling-00020&axis=steps")
        mark = seen(browser, "#one-group .mark", 29)[9]
        label = mark.get_attribute("aria-label")
        browser.execute_script("arguments[0].focus()", seen(browser, "#one-group .mark")[8])
        browser.switch_to.active_element.send_keys("\ue014")  # right

        assert label.startswith("generation 10: member-restarted (likely); restarted: billing-00020-0-StreamThread")
        assert label == browser.switch_to.active_element.get_attribute("aria-label")
        assert "generation 10: member-restarted (likely)" in seen(browser, "#tip")[0].text
        assert 1 == len(seen(browser, "#one-group .mark[tabindex='0']"))

    def test_marks_that_would_overlap_are_one_with_a_number_that_opens(self, opened):
        browser = opened("#group=%3Dlong")
        cluster = seen(browser, "#one-group .mark[role=button]")[0]
        assert "rebalances" in cluster.get_attribute("aria-label")
        browser.execute_script("arguments[0].focus()", cluster)
        browser.switch_to.active_element.send_keys("\ue007")  # enter

        assert "of 700" in seen(browser, "#one-group .card .tools span.soft")[0].text
        assert "700 rebalances of 700" != seen(browser, "#one-group .card .tools span.soft")[0].text
        seen(browser, "#one-group [aria-label='all, the whole time']")[0].click()
        assert "700 rebalances of 700" == seen(browser, "#one-group .card .tools span.soft")[0].text

    def test_long_histories_are_paged(self, opened):
        browser = opened("#group=%3Dlong")

        assert ROWS_ON_A_PAGE == len(seen(browser, ".rebalances tbody tr"))
        assert "700" == seen(browser, ".rebalances tbody .name")[0].text

    def test_a_hostile_name_stays_text_wherever_it_is_shown(self, opened):
        browser = opened()
        seen(browser, "#q")[0].send_keys("</script>")
        assert [HOSTILE.replace("\u202e", "")] == [each.replace("\u202e", "") for each in names(browser)]
        seen(browser, "#rows a")[0].click()
        seen(browser, "rect.lane")

        assert seen(browser, "#group-title")[0].text.startswith("</script><script>")
        assert "owned" != browser.title
        assert [] == browser.find_elements("css selector", "img")
        assert browser.execute_script("return document.scripts.length") == len(seen(browser, "script"))

    def test_groups_that_have_no_rebalance_or_do_not_exist_say_so(self, opened):
        assert "no rebalance of this group" in seen(opened("#group=%3Dbilling-00004"), "#one-group .card", 2)[1].text
        assert "This audit has no group absent." == seen(opened("#group=%3Dabsent"), "#one-group p")[0].text

    @pytest.mark.slow  # a browser
    @pytest.mark.parametrize("hash_", ["", "#group=%3Dbilling-00020", "#group=%3Dlong"])
    def test_a_phone_does_not_scroll_sideways(self, browser, page, tmp_path, hash_):
        place, style = page.as_uri() + hash_, "width:390px;height:800px;border:0"
        frame = f"<body style='margin:0'><iframe src='{place}' style='{style}'></iframe>"
        (tmp_path / "phone.html").write_text(frame, encoding="utf-8")
        browser.get((tmp_path / "phone.html").as_uri())
        browser.switch_to.frame(0)
        seen(browser, "rect.lane" if hash_ else "#rows tr")
        width = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        browser.switch_to.default_content()

        assert 390 == width[1] >= width[0]

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_the_colours_are_those_of_the_system(self, opened, scheme):
        browser = opened()
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

        assert {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 21, 27)"}[scheme] == paper


def choose_steps(browser):
    seen(browser, "label[for=axis-steps]")[0].click()


@pytest.mark.slow  # a browser
def test_a_single_rebalance_is_drawn(browser, tmp_path):
    """A time axis from a moment to the same moment has no width."""
    rows = {"generations": [generation("g", 1, START, members=0)], "members": [], "tasks": []}
    written(tmp_path, [one("g", rows)])
    browser.get((tmp_path / "report.html").as_uri() + "#group=%3Dg&axis=steps")

    assert 1 == len(seen(browser, "#one-group .mark"))
    assert [] == [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def version(from_generation, used, supported):
    from_time = START + (from_generation - 1) * 60_000
    return {
        "from_generation": from_generation,
        "from_time": from_time,
        "used_version": used,
        "supported_version": supported,
    }


def bounced():
    """Version probing: the new member a uses the version of b until b is bounced."""
    used = ([6, 11], [6], [6], [11])
    generations = [
        generation("g", number + 1, START + number * 60_000, used_versions=each) for number, each in enumerate(used)
    ]
    members = [
        member("g", "a-1", START, versions=[version(1, 11, 11), version(2, 6, 11), version(4, 11, 11)]),
        member("g", "b-1", START, START + 180_000, used_version=6, supported_version=6, versions=[version(1, 6, 6)]),
    ]
    return {"generations": generations, "members": members, "tasks": []}


@pytest.mark.slow  # a browser
def test_a_lane_has_the_colour_of_the_version_that_the_member_used_then(browser, tmp_path):
    written(tmp_path, [one("g", bounced())])
    browser.get((tmp_path / "report.html").as_uri() + "#group=%3Dg&axis=steps")
    lanes = seen(browser, "rect.lane", 4)
    colours = [each.get_attribute("fill") for each in lanes]

    assert ["v11", "v6", "v11", "v6"] == [each.text for each in seen(browser, "text.inside")]
    assert ["var(--v1)", "var(--v0)", "var(--v1)", "var(--v0)"] == colours
    assert "uses v11, supports v11\nused v11, v6, v11" in seen(browser, ".members tbody")[0].text


@pytest.mark.slow  # a browser
def test_a_lane_is_hatched_where_versions_changed_too_fast_to_show(browser, tmp_path):
    rows = bounced()
    rows["members"][0]["versions"] = [
        {**version(1, (6, 11)[place % 2], 11), "from_time": START + 200 * place} for place in range(500)
    ]
    written(tmp_path, [one("g", rows)])
    browser.get((tmp_path / "report.html").as_uri() + "#group=%3Dg")

    assert seen(browser, ".plot svg > rect[fill='url(#mixed)']")
    assert "hatched" in seen(browser, "#one-group .key")[0].text


@pytest.mark.slow  # a browser
def test_it_says_where_it_leaves_something_out(browser, tmp_path):
    rows = storm("g", 1100)
    rows["members"] = [member("g", f"c-{place}", START, START + 9_000_000 + place) for place in range(310)]
    rows["tasks"] = [interval("g", "0_0", "unowned", START + place, START + place + 1) for place in range(1100)]
    written(tmp_path, [one("g", rows, [finding("g", "offset-moved-back", "notice", "went back")] * 101)])
    browser.get((tmp_path / "report.html").as_uri() + "#group=%3Dg")
    seen(browser, "rect.lane")
    text = seen(browser, "#one-group")[0].text

    for expected in (
        "1 more are in the table findings",
        "1,000 rebalances of 1,000, the last of 1,100",
        "a lane is a member (the last 300 of 310)",
        "Only the last 1,000 intervals of tasks without one owner are drawn",
        "310 members; the last 300 are shown",
        "1,100 rebalances, the last one first; the last 1,000 are shown",
    ):
        assert expected in text


@pytest.mark.slow  # a browser
def test_the_page_shows_what_the_simulator_says_of_rolling_bounces(browser, tmp_path):
    groups = [one(name, rolling_bounce(name)) for name in ("a", HOSTILE)]
    differs = {"differs_in": 5, "member": HOSTILE, "fact": "used version", "expected": "6", "observed": "11"}
    write_report(write_audit(tmp_path, groups), tmp_path, [bounce("a"), bounce(HOSTILE, False, **differs)])
    browser.get((tmp_path / "report.html").as_uri())
    rows = [each.text for each in seen(browser, ".bounces tbody tr", 2)]

    assert "2 rolling bounces; 2 comparable, 1 differ" in browser.find_element("id", "bounces").text
    assert "✗ differs" in rows[0]
    assert "used version: expected 6, observed 11" in rows[0]
    assert "8 subscriptions and 6 assignments compared" in rows[1]
    browser.get((tmp_path / "report.html").as_uri() + "#group=%3Da")
    assert ["✓ agrees"] == [each.text for each in seen(browser, "#one-group .bounces .tag")]
    assert [] == [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
