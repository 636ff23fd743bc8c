"""``plan -o markdown``: the runbook says what the other forms say."""

import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.cli.plan.markdown import runbook
from tests.upgrade.application.class_bytes import ClassBytes


def run(*arguments):
    return CliRunner().invoke(cli, ["plan", *arguments]).output


@pytest.mark.parametrize("arguments", [("2.8", "4.3"), ("2.3", "4.3"), ("--brokers", "3.9", "4.3", "--kraft")])
def test_every_step_is_a_box_with_its_way_back(arguments):
    steps = json.loads(run(*arguments, "--json"))["steps"]
    lines = run(*arguments, "-o", "markdown").replace("\\", "").splitlines()  # what Markdown would read is escaped

    for number, step in enumerate(steps, 1):
        assert f"- [ ] **{number}.** {step['do']}" in lines
        assert f"  - way back: {step['way_back']['verdict']}: {step['way_back']['how']}" in lines


@pytest.mark.parametrize(
    "arguments",
    [
        ("2.8", "3.9"),
        ("2.3", "2.8", "--offline"),
        ("3.9", "3.9"),
        ("4.2", "4.3", "--to-protocol", "streams"),
        ("--brokers", "3.9", "4.3", "--kraft"),
        ("1.1", "4.3"),
    ],
)
def test_headline_and_alternative_are_those_of_the_text(arguments):
    text, found = run(*arguments).splitlines(), json.loads(run(*arguments, "--json"))
    lines = run(*arguments, "-o", "markdown").replace("\\", "").splitlines()

    assert text[0] == found["headline"] == lines[2]
    assert [line for line in text if line.startswith("or, ")] == list(filter(None, [found.get("alternative")]))
    assert [line for line in lines if line.startswith("or, ")] == list(filter(None, [found.get("alternative")]))
    steps = [line for line in text if re.match(r"\d\. ", line)]
    assert [text[0], *steps, *(line for line in text if line.startswith("or, "))] == run(
        *arguments, "--short"
    ).splitlines()


def test_hazards_and_what_was_not_checked_are_boxes():
    text = run("2.8", "4.3", "-o", "markdown")

    assert "- [ ] processing.guarantee=exactly_once or exactly_once_beta: members do not start" in text
    assert "## Not checked\n\n- [ ] " in text


def test_the_runbook_is_in_the_order_of_work(tmp_path):
    """Libraries, then lines of code with what to call instead, then settings, then the bounces."""
    library = ClassBytes("b/B").makes("org/apache/kafka/streams/processor/PartitionGrouper").bytes()
    (tmp_path / "lib").mkdir()
    with ZipFile(tmp_path / "lib/brave-5.12.7.jar", "w") as jar:
        jar.writestr("b/B.class", library)
    root = Path(__file__).parents[3]
    files = ("--app", root / "tests/upgrade/application/in_code/lines.jar", "--app", tmp_path / "lib")
    settings = ("--config", root / "docs/tutorials/orders/streams.properties")
    lines = run("2.8", "4.3", *map(str, (*files, *settings)), "-o", "markdown").splitlines()
    wanted = (
        "- [ ] use another version of library brave 5.12.7, one that is made for Kafka 4.3.1: 1 reference that TO",
        "- [ ] NoSuchMethodError: org.apache.kafka.streams.kstream.KStream#through(String): ",
        "- [ ] refused: line 6: processing.guarantee: ",
        "- [ ] **1.** ",
    )
    at = [next(number for number, line in enumerate(lines) if line.startswith(text)) for text in wanted]

    assert sorted(at) == at
    assert lines[at[1]].endswith("; orders.LinesKt, main (Lines.kt line 24)")
    assert lines[at[1] + 1].startswith("  - use to(topic) and StreamsBuilder#stream(topic), or repartition(); ")


HOSTILE = "a|b`c`<script>alert(1)</script>[x](http://evil)*d*\n# e"
SHOWN = r"a\|b\`c\`\<script\>alert(1)\</script\>\[x\](http://evil)\*d\*\\n# e"


def test_names_are_no_mark_up():
    """Names of files, members and settings are anybody's: an owner of one wrote into the runbook of another."""
    step = {"do": HOSTILE, "why": HOSTILE, "if_skipped": None, "commands": [f"run {HOSTILE}"]}
    member = {"group_instance_id": HOSTILE, "releases": HOSTILE, "label": HOSTILE}
    plain = {
        "from": "2.8.2",
        "to": "3.0.2",
        "headline": "safe",
        "steps": [step],
        "blocked": [HOSTILE],
        "notes": [HOSTILE],
        "live_group": {"group": HOSTILE, "type": "classic", "state": "Stable", "members": [member], "brokers": []},
    }

    lines = runbook(plain).splitlines()

    assert {
        f"- [ ] {SHOWN}",
        f"- [ ] **1.** {SHOWN}",
        f"- group {SHOWN}: classic, Stable; 1 member",
        f"- member {SHOWN}: {SHOWN}, static {SHOWN}",
        f"- {SHOWN}",
        "  - run: `` run " + HOSTILE.replace("\n", " ") + " ``",
    } <= {*lines}
    assert not [line for line in lines if line.startswith("# e")]


SETTINGS = "num.standby.replicas=1\ngroup.instance.id=a\nmax.warmup.replicas=4\nprocessing.guarantee=exactly_once\n"


@pytest.mark.parametrize("config", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        ("2.8", "4.3"),
        ("4.2", "4.3", "--to-protocol", "streams"),
        ("4.2", "4.3", "--to-protocol", "streams", "--broker-release", "4.2.0", "--without", "warm-ups"),
        ("4.4", "4.3", "--to-protocol", "classic"),
    ],
)
def test_a_line_has_one_check_box_at_most(tmp_path, arguments, config):
    (tmp_path / "a.properties").write_text(SETTINGS)
    text = run(*arguments, "-o", "markdown", *(["--config", str(tmp_path / "a.properties")] if config else []))
    boxes = [line for line in text.splitlines() if re.search(r"\[[ x]\]", line)]

    assert boxes
    assert [] == [line for line in boxes if not re.fullmatch(r"- \[[ x]\] (?!-|.*\[[ x]\]).*", line)]
