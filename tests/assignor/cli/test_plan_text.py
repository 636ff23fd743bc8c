"""The text of a plan: one line for each fact, the worst first, on one screen; with -v all."""

import json
from itertools import cycle, islice

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from streams_assignor.cli.plan.text import broker_plan_lines, group_plan_lines, hazard_lines, rest_text
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import as_markdown
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release
from streams_assignor.upgrade.hazards import HAZARDS, Severity
from streams_assignor.upgrade.patch_levels import advise_between
from streams_assignor.upgrade.releases import resolve_release

SCREEN = DisplayOptions(columns=80, rows=50)


def run(*arguments):
    return CliRunner().invoke(plan, list(arguments), terminal_width=100).output


def advised(origin, target):
    return advise_between(resolve_release(origin), resolve_release(target))


def shown(origin, target, view=SCREEN):
    advice = advised(origin, target)
    return view.show(group_plan_lines(advice, view, advice.checked)).splitlines()


@pytest.mark.parametrize(
    "ends", ["2.8 4.4", "2.3 4.4", "0.10.0 4.4", "3.9 4.4", "4.3 4.4", "4.4 2.3", "cp-7.6 4.4", "5.0.0-ccs 5.2.1-ccs"]
)
def test_a_plan_fits_on_one_screen(ends):
    lines = shown(*ends.split())

    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines[-2:]).split()).endswith("(no plan can know these)")


def test_a_hazard_has_one_line_and_with_v_its_remedy_and_its_sources():
    hazards = advised("2.8", "4.4").hazards
    brief = [line for line in run("2.8", "4.4").splitlines() if line.startswith("- ")]
    full = run("2.8", "4.4", "-v")

    assert [f"- {each.brief}" for each in hazards] == brief
    assert "remedy: " not in run("2.8", "4.4")
    for each in hazards:
        assert "\n".join(each.lines()) in full


@pytest.mark.parametrize("form", ["--json", "-v"])
def test_the_worst_hazards_come_first_in_every_form(form):
    hazards = json.loads(run("2.3", "4.4", "--json"))["hazards"]

    assert sorted(hazards, key=lambda each: [kind.value for kind in Severity].index(each["severity"])) == hazards
    texts = [run("2.3", "4.4", form).find(json.dumps(each["remedy"])[1:-1]) for each in hazards]
    assert min(texts) > 0


def test_a_runbook_has_the_severity_and_the_remedy_of_every_hazard():
    text, hazards = run("2.8", "4.4", "-o", "markdown"), json.loads(run("2.8", "4.4", "--json"))["hazards"]

    for each in hazards:
        shown = {key: as_markdown(each[key]) for key in ("severity", "remedy", "source")}
        assert "  - severity: {severity}\n  - remedy: {remedy}\n  - source: {source}; ".format_map(shown) in text


def test_the_verdict_is_about_the_metadata_if_hazards_decide_the_rest():
    """It said "safe" of 4.3 to 4.4, although shared StoreBuilders can end members."""
    first, found = run("4.3", "4.4").splitlines()[0], json.loads(run("4.3", "4.4", "--json"))
    number, stops = len(found["hazards"]), found["beyond_metadata"]["stops"]

    assert first.startswith("4.3.1 to 4.4.0: safe for the metadata: one rolling bounce, no configuration; ")
    assert f"; {number} things of your application and brokers decide the rest ({stops} can stop members" in first
    assert "safe" == found["verdict"]
    assert number == sum(found["beyond_metadata"].values())


def test_without_hazards_the_verdict_is_plain():
    assert run("2.0.1", "simulated-4").startswith("2.0.1 to simulated-4: safe: one rolling bounce, no configuration\n")
    assert "" == rest_text({each.value: 0 for each in Severity})
    assert "1 thing of your application and brokers decides the rest" == rest_text(
        {"stops": 0, "loses": 0, "waits": 1, "changes": 0}
    )


def test_the_verdict_says_for_which_release_an_unknown_patch_level_was_taken():
    first = run("5.0.0-ccs", "5.2.1-ccs").splitlines()[0]

    assert "; 5.2.1-ccs can be any release from 2.2.0 to 2.2.2, which differ for this plan: " in first
    assert json.loads(run("5.0.0-ccs", "5.2.1-ccs", "--json"))["patch_levels"][0] in first
    assert "- 5.2.1-ccs can be any release" in run("5.0.0-ccs", "5.2.1-ccs", "-o", "markdown")


@pytest.mark.parametrize("arguments", [("2.8", "4.4"), ("4.4", "2.8"), ("4.2", "4.3", "--to-protocol", "streams")])
def test_the_last_line_names_the_guides_and_what_no_plan_can_know(arguments):
    last = run(*arguments).splitlines()[-1]

    assert last.startswith("checked: metadata versions, ")
    assert "Kafka's upgrade guides of Streams and of clients and brokers after " in last
    assert "; not checked: your code and configuration, " in last
    assert last.endswith(" (no plan can know these)")
    assert "known bugs of both releases" not in last


def test_more_hazards_than_fit_are_counted_by_severity():
    many = tuple(islice(cycle(HAZARDS), 60))
    lines = list(hazard_lines(many, SCREEN, ["a line"] * 20))

    assert 50 == len(lines) + 20 + 1
    assert lines[-1].startswith(f"- and {60 - (len(lines) - 2)} more (stops ")
    assert 61 == len(list(hazard_lines(many, DisplayOptions(), ["a line"] * 20)))
    assert 6 >= len(list(hazard_lines(many, SCREEN, ["a line"] * 90))) > 3


def test_a_cut_line_ends_at_a_word():
    assert "- one two three" == DisplayOptions(columns=15).fact("- one two three")
    assert "- one two ..." == DisplayOptions(columns=14).fact("- one two three")
    assert "- one two three" == DisplayOptions(verbose=True, columns=14).fact("- one two three")


def test_a_plan_of_brokers_has_the_same_form():
    advice = advise_brokers(broker_release("2.8"), broker_release("4.4"), MetadataMode.ZOOKEEPER)
    brief, full = (list(broker_plan_lines(advice, view)) for view in (DisplayOptions(), DisplayOptions(verbose=True)))

    assert "   way back:   lossy: metadata.version cannot be lowered from 4.4-IV2 to 3.9-IV0" in brief
    assert any(
        line.startswith("   way back:   lossy: metadata.version cannot be lowered from 4.4-IV2") for line in full
    )
    assert len(brief) == len(full)
    assert brief[-1] == str(advice.checked)
    assert "after 2.8 up to 4.4 (" in brief[-1]
    assert brief[-1].endswith("how long a roll takes (no plan can know these)")
    assert advice.as_json()["not_checked"] == list(advice.checked.not_checked)
    assumed = evolve(advice, assumed=("4.9 is assumed to behave like 4.4",)).checked
    assert str(assumed).startswith("not checked: 4.9 is assumed to behave like 4.4, protocol versions, ")
